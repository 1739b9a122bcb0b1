//! `go test -json`: one event on each line (`go doc test2json`). What tests print is inside of events.

use serde_json::Value;

use super::Tests;

/// Longer lines are somebody's output.
const LINE_MAX: usize = 64 << 10;

#[derive(Debug, Default)]
pub(super) struct GoJson(Tests);

impl GoJson {
    /// Takes in a line; whether it is an event.
    pub(super) fn line(&mut self, line: &str) -> bool {
        if !line.starts_with('{') || !line.contains("\"Action\":\"") {
            return false;
        }
        if line.contains("\"Action\":\"output\"") || line.len() > LINE_MAX {
            return true;
        }
        let Ok(event) = serde_json::from_str::<Value>(line) else { return false };
        let (Some(action), Some(_)) = (event["Action"].as_str(), event["Package"].as_str()) else { return false };
        let of_a_test = event["Test"].is_string();
        let tests = match (action, of_a_test) {
            ("start", false) => Tests { announced: 1, ..Tests::default() },
            // Versions before 1.20 announce no package.
            ("pass" | "fail" | "skip", false) if self.0.ended >= self.0.announced => {
                Tests { announced: 1, ended: 1, ..Tests::default() }
            }
            ("pass" | "fail" | "skip", false) => Tests { ended: 1, ..Tests::default() },
            ("pass", true) => Tests::new(1, 0, 0),
            ("fail", true) => Tests::new(0, 1, 0),
            ("skip", true) => Tests::new(0, 0, 1),
            _ => return true,
        };
        self.0.add(tests);
        true
    }

    pub(super) fn tests(&self) -> Tests {
        self.0
    }
}
