//! Anthropic's Messages API, as Claude Code speaks it.

use serde_json::{Value, json};

use super::{Api, Tool, events, text_of};

pub(super) struct Anthropic;

impl Api for Anthropic {
    fn said(&self, body: &Value) -> (String, String) {
        let messages = body["messages"].as_array().map(Vec::as_slice).unwrap_or_default();
        let is_result = |message: &Value| {
            let parts = message["content"].as_array();
            parts.is_some_and(|parts| parts.iter().any(|part| part["type"] == "tool_result"))
        };
        let mut users = messages.iter().filter(|message| message["role"] == "user");
        let people = users.clone().filter(|message| !is_result(message)).map(|message| text_of(&message["content"]));
        let all = people.collect::<Vec<_>>().join("\n");
        (all, users.next_back().map(|message| text_of(&message["content"])).unwrap_or_default())
    }

    fn offers_tools(&self, body: &Value) -> bool {
        body["tools"].as_array().is_some_and(|tools| !tools.is_empty())
    }

    fn reply(&self, body: &Value, text: &str, tool: Option<&Tool>) -> String {
        // An id is new within a session: by how many messages came before.
        let number = body["messages"].as_array().map_or(0, Vec::len);
        let stop = if tool.is_some() { "tool_use" } else { "end_turn" };
        let usage = json!({"input_tokens": 1000, "output_tokens": 50, "cache_read_input_tokens": 300,
            "cache_creation_input_tokens": 20});
        let message = json!({"id": format!("msg_{number}"), "type": "message", "role": "assistant", "model": body["model"],
            "content": [], "stop_reason": null, "stop_sequence": null, "usage": usage});
        let mut said = vec![json!({"type": "message_start", "message": message})];
        let mut block = |start: Value, delta: Value| {
            let index = usize::from(start["type"] == "tool_use");
            said.push(json!({"type": "content_block_start", "index": index, "content_block": start}));
            said.push(json!({"type": "content_block_delta", "index": index, "delta": delta}));
            said.push(json!({"type": "content_block_stop", "index": index}));
        };
        block(json!({"type": "text", "text": ""}), json!({"type": "text_delta", "text": text}));
        if let Some(tool) = tool {
            let (name, input) = call(tool, body);
            let id = format!("toolu_{number}");
            block(
                json!({"type": "tool_use", "id": id, "name": name, "input": {}}),
                json!({"type": "input_json_delta", "partial_json": input.to_string()}),
            );
        }
        said.push(json!({"type": "message_delta", "usage": usage,
            "delta": {"stop_reason": stop, "stop_sequence": null}}));
        said.push(json!({"type": "message_stop"}));
        events(&said)
    }

    fn error(&self, kind: &str) -> Value {
        json!({"type": "error", "error": {"type": kind, "message": "as the script says"}})
    }
}

/// The tool in Claude Code's words, which wants whole paths.
fn call(tool: &Tool, body: &Value) -> (&'static str, Value) {
    match tool {
        Tool::Answer(answer) => ("StructuredOutput", answer.clone()),
        Tool::Shell(command) => ("Bash", json!({"command": command, "description": "A step of the script"})),
        Tool::Write { path, content } => {
            let said = text_of(&body["system"]) + &text_of(&body["messages"]);
            let (_, rest) = said.split_once("orking directory: ").expect("Claude Code says where it works");
            let folder = rest.lines().next().unwrap_or_default().trim();
            ("Write", json!({"file_path": format!("{folder}/{path}"), "content": content}))
        }
    }
}
