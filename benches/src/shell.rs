//! The careless loop: what people write in a shell. It works in the checkout itself, adds whatever is there, verifies
//! twice in the same folder, syncs nothing and survives no crash.

use std::process::{Command, Stdio};

use crate::stage::{AGENT, Stage, VERIFY};

const LOOP: &str = r#"set -e
sh -c "$AGENT" >ralph-loop/session.log 2>&1 </dev/null
sh -c "$VERIFY" >ralph-loop/verify.log 2>&1
git add --all
git commit --quiet --message="one more"
sh -c "$VERIFY" >>ralph-loop/verify.log 2>&1
sed -i '0,/^- \[ \]/s//- [x]/' ralph-loop/PRD-P1.md
echo "- done" >>ralph-loop/PROGRESS.md
"#;

/// Does one item of the plan.
pub fn item(stage: &Stage) {
    let status = Command::new("sh")
        .args(["-c", LOOP])
        .current_dir(&stage.root)
        .env("AGENT", AGENT)
        .env("VERIFY", VERIFY)
        .stdin(Stdio::null())
        .status()
        .expect("a shell");
    assert!(status.success(), "the loop failed");
}
