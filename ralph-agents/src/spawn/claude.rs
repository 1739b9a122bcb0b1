//! How Claude Code is told to ask before it starts an agent.

use std::path::Path;

use serde_json::json;

/// The tools by which Claude Code starts agents, as its hooks match them.
const TOOLS: &str = "Task|Agent|Workflow";

/// Settings for `claude --settings` with which each spawn asks `program`, the `ralph` at an absolute path.
///
/// Hooks of Claude Code fail open: what a hook that crashed or is not there would have said counts as leave. Therefore
/// every bad end is made into exit code 2, which refuses.
///
/// ```
/// let settings = ralph_agents::spawn::claude_settings("/opt/ralph's/ralph".as_ref());
/// let settings: serde_json::Value = serde_json::from_str(&settings).unwrap();
/// let hook = &settings["hooks"]["PreToolUse"][0];
/// assert_eq!(hook["matcher"], "Task|Agent|Workflow");
/// assert_eq!(hook["hooks"][0]["command"], r"'/opt/ralph'\''s/ralph' hook pre-tool-use || exit 2");
/// ```
pub fn claude_settings(program: &Path) -> String {
    let program = program.display().to_string().replace('\'', r"'\''");
    let command = format!("'{program}' hook pre-tool-use || exit 2");
    let hook = json!({"type": "command", "command": command, "timeout": 60});
    json!({"hooks": {"PreToolUse": [{"matcher": TOOLS, "hooks": [hook]}]}}).to_string()
}
