//! The real Claude Code. Opt-in, for it is not in the repository and needs a model, or an API that plays one:
//!
//! ```sh
//! RALPH_TEST_CLAUDE=claude RALPH_TEST_API=http://127.0.0.1:8080 cargo test -p ralph-agents real -- --ignored
//! ```
//!
//! With `RALPH_TEST_API` a dummy key and a fresh home folder are used, else the login of whoever runs the test.

use std::{env, fs, process::Command};

use ralph_agents::{ClaudeCode, ProcessOptions};
use ralph_core::{AgentBackend, Cx, SessionEnd};

use crate::fake::brief;

#[tokio::test]
#[ignore = "needs Claude Code: set RALPH_TEST_CLAUDE"]
async fn it_writes_a_file_and_says_what_it_cost() {
    let program = env::var("RALPH_TEST_CLAUDE").unwrap();
    let (folder, home) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    Command::new("git").args(["init", "-q"]).current_dir(folder.path()).status().unwrap();
    let mut options = ProcessOptions::default();
    if let Ok(api) = env::var("RALPH_TEST_API") {
        let home = home.path().to_str().unwrap();
        for (name, value) in [("ANTHROPIC_BASE_URL", &*api), ("ANTHROPIC_API_KEY", "dummy"), ("HOME", home)] {
            options.set.push((name.into(), value.into()));
        }
    }
    let mut brief = brief(folder.path());
    brief.prompt = "Create hello.txt with the text hello and commit it.\n".into();
    brief.cost_limit = Some("1".parse().unwrap());
    let agent = ClaudeCode::new().program(program).options(options).allowed_tools(["Bash(git *)"]);
    let report = agent.run(&brief, &Cx::new()).await.unwrap();
    assert_eq!(report.end, SessionEnd::Finished);
    assert!(report.usage.cost.is_some() && report.usage.tokens.is_some(), "{report:?}");
    assert!(!report.said.is_empty() && report.session_id.is_some(), "{report:?}");
    assert_eq!(fs::read_to_string(folder.path().join("hello.txt")).unwrap().trim(), "hello");
}
