//! OpenAI's Responses API, as Codex speaks it.

use serde_json::{Value, json};

use super::{Api, Tool, events, text_of};

pub(super) struct Responses;

impl Api for Responses {
    fn said(&self, body: &Value) -> (String, String) {
        let items = body["input"].as_array().map(Vec::as_slice).unwrap_or_default();
        let by_user = |item: &&Value| item["role"] == "user";
        let result = |item: &&Value| item["type"].as_str().is_some_and(|kind| kind.ends_with("_output"));
        let all = items.iter().filter(by_user).map(text_of).collect::<Vec<_>>().join("\n");
        let last = items.iter().rfind(|item| by_user(item) || result(item));
        (all, last.map(text_of).unwrap_or_default())
    }

    fn offers_tools(&self, body: &Value) -> bool {
        let more = body["input"].as_array().into_iter().flatten().any(|item| item["type"] == "additional_tools");
        more || body["tools"].as_array().is_some_and(|tools| !tools.is_empty())
    }

    fn reply(&self, body: &Value, text: &str, tool: Option<&Tool>) -> String {
        // An id is new within a session: by how many items came before.
        let number = body["input"].as_array().map_or(0, Vec::len);
        let mut output =
            vec![json!({"type": "message", "id": format!("msg_{number}"), "role": "assistant", "status": "completed",
            "content": [{"type": "output_text", "text": text, "annotations": []}]})];
        if let Some(tool) = tool {
            output.push(call(tool, number));
        }
        let response = |status: &str, output: &[Value], usage: Value| {
            json!({"id": "resp_1", "object": "response", "created_at": 0, "status": status,
                "model": body["model"], "output": output, "error": null, "usage": usage})
        };
        let usage = json!({"input_tokens": 1300, "input_tokens_details": {"cached_tokens": 300}, "output_tokens": 50,
            "output_tokens_details": {"reasoning_tokens": 10}, "total_tokens": 1350});
        let created = response("in_progress", &[], Value::Null);
        let mut said = vec![json!({"type": "response.created", "response": created})];
        for (index, item) in output.iter().enumerate() {
            for kind in ["response.output_item.added", "response.output_item.done"] {
                said.push(json!({"type": kind, "output_index": index, "item": item}));
            }
        }
        said.push(json!({"type": "response.completed", "response": response("completed", &output, usage)}));
        events(&said)
    }

    fn error(&self, kind: &str) -> Value {
        json!({"error": {"message": "as the script says", "type": kind, "param": null, "code": kind}})
    }
}

/// The tool in the words of Codex's newest models: they have one, which runs a script that calls all others.
fn call(tool: &Tool, number: usize) -> Value {
    let script = match tool {
        Tool::Write { path, content } => {
            let lines: String = content.lines().map(|line| format!("+{line}\n")).collect();
            let patch = format!("*** Begin Patch\n*** Add File: {path}\n{lines}*** End Patch");
            format!("text(await tools.apply_patch({}));", json!(patch))
        }
        // Codex has none: its last message is the answer.
        Tool::Answer(answer) => format!("text({});", json!(answer.to_string())),
        Tool::Shell(command) => format!("text(await tools.exec_command({}));", json!({"cmd": command})),
    };
    json!({"type": "custom_tool_call", "id": format!("ctc_{number}"), "call_id": format!("call_{number}"), "name": "exec", "namespace": "functions",
        "input": script, "status": "completed"})
}
