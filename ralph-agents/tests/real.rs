//! Real agents. Opt-in, for they are not in the repository and need a model, or an API that plays one:
//!
//! ```sh
//! RALPH_TEST_CLAUDE=claude RALPH_TEST_API=http://127.0.0.1:8080 cargo test -p ralph-agents real -- --ignored
//! ```
//!
//! With `RALPH_TEST_API` a dummy key and a fresh home folder are used, else the login of whoever runs the test.
//!
//! ```sh
//! RALPH_TEST_ACP="gemini --acp --skip-trust" RALPH_TEST_ACP_ENV="GEMINI_API_KEY" \
//!     cargo test -p ralph-agents real::any_acp -- --ignored
//! ```

use std::{env, fs, process::Command};

use ralph_agents::{Acp, ClaudeCode, Permissions, ProcessOptions};
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
