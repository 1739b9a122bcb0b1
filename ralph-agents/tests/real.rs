//! Any real agent of the Agent Client Protocol. Opt-in, for it is not in the repository and needs a model, or an API that
//! plays one. Claude Code and Codex are run in `ralph-cli/tests/real/`.
//!
//! ```sh
//! RALPH_TEST_ACP="gemini --acp --skip-trust" RALPH_TEST_ACP_ENV="GEMINI_API_KEY" \
//!     cargo test -p ralph-agents real::any_acp -- --ignored
//! ```

use std::{env, fs, process::Command};

use ralph_agents::{Acp, Permissions, ProcessOptions};
use ralph_core::{AgentBackend, Cx, SessionEnd};

use crate::fake::brief;

#[tokio::test]
#[ignore = "needs an agent of the Agent Client Protocol: set RALPH_TEST_ACP"]
async fn any_acp_agent_writes_a_file() {
    let words = |name: &str| -> Vec<String> {
        env::var(name).unwrap_or_default().split_whitespace().map(str::to_owned).collect()
    };
    let command = words("RALPH_TEST_ACP");
    let folder = tempfile::tempdir().unwrap();
    Command::new("git").args(["init", "-q"]).current_dir(folder.path()).status().unwrap();
    let options = ProcessOptions { env: words("RALPH_TEST_ACP_ENV"), ..ProcessOptions::default() };
    let mut brief = brief(folder.path());
    brief.prompt = "Create hello.txt with the text hello and commit it.\n".into();
    let agent = Acp::new(&command[0]).args(&command[1..]).permissions(Permissions::All).options(options);
    let report = agent.run(&brief, &Cx::new().with_live(|line| println!("{line}"))).await.unwrap();
    println!("{report:?}");
    assert_eq!(report.end, SessionEnd::Finished);
    assert!(!report.said.is_empty() && report.session_id.is_some(), "{report:?}");
    assert_eq!(fs::read_to_string(folder.path().join("hello.txt")).unwrap().trim(), "hello");
}
