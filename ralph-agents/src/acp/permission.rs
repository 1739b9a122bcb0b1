//! What is answered to an agent that asks for permission.

use std::collections::HashMap;

use serde_json::{Value, json};

use crate::{json::Object, permissions::Permissions};

/// Kinds of tool calls that touch files, or nothing.
const FILES: [&str; 6] = ["delete", "edit", "move", "read", "search", "think"];

/// How many tool calls are remembered, and how long an id may be. One that is forgotten has no kind.
const CALLS_MAX: usize = 1024;
const ID_MAX: usize = 256;

/// The kinds of the tool calls so far: a request for permission need not repeat it.
#[derive(Debug, Default)]
pub(crate) struct Calls(HashMap<String, String>);

impl Calls {
    /// Notes what a `tool_call`, or an update of one, says of itself.
    pub(crate) fn note(&mut self, call: &Object<'_>) {
        let fits = |text: &String| text.len() <= ID_MAX;
        let (id, kind) = (call.text("toolCallId").filter(fits), call.text("kind").filter(fits));
        if let Some((id, kind)) = id.zip(kind) {
            if self.0.len() >= CALLS_MAX {
                self.0.clear();
            }
            self.0.insert(id, kind);
        }
    }

    fn kind(&self, call: &Object<'_>) -> Option<String> {
        call.text("kind").or_else(|| self.0.get(&call.text("toolCallId")?).cloned())
    }
}

/// An answer to a `session/request_permission`.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) allowed: bool,
    /// The `result`.
    pub(crate) outcome: Value,
}

/// Chooses an option by its kind.
pub(crate) fn answer(params: &Object<'_>, permissions: Permissions, calls: &Calls) -> Answer {
    let kind = params.object("toolCall").and_then(|call| calls.kind(&call));
    let (allowed, wanted): (bool, &[&str]) = match permissions {
        // What is allowed for ever may be written into the agent's settings, so only where there is no other way.
        Permissions::All => (true, &["allow_once", "allow_always"]),
        Permissions::Edits if kind.is_some_and(|kind| FILES.contains(&kind.as_str())) => (true, &["allow_once"]),
        Permissions::Edits => (false, &["reject_once"]),
    };
    let options = params.objects("options");
    let option = wanted.iter().find_map(|wanted| {
        let fitting = options.iter().find(|option| option.text("kind").as_deref() == Some(*wanted))?;
        fitting.text("optionId")
    });
    match option {
        Some(id) => Answer { allowed, outcome: json!({"outcome": {"outcome": "selected", "optionId": id}}) },
        None => Answer { allowed: false, outcome: cancelled() },
    }
}

/// The answer while the session is being ended.
pub(crate) fn cancelled() -> Value {
    json!({"outcome": {"outcome": "cancelled"}})
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chosen(params: &Value, permissions: Permissions, calls: &Calls) -> String {
        let text = params.to_string();
        let outcome = answer(&Object::read(&text).unwrap(), permissions, calls).outcome;
        let outcome = &outcome["outcome"];
        outcome["optionId"].as_str().or(outcome["outcome"].as_str()).unwrap().to_owned()
    }

    fn request(kind: Option<&str>, options: &[&str]) -> Value {
        let options: Vec<Value> = options.iter().map(|kind| json!({"optionId": kind, "kind": kind})).collect();
        json!({"toolCall": {"toolCallId": "t1", "kind": kind}, "options": options})
    }

    const ALL: [&str; 4] = ["allow_always", "reject_always", "allow_once", "reject_once"];

    #[test]
    fn the_kind_of_the_call_decides_and_options_are_known_by_theirs() {
        let none = Calls::default();
        let kinds = ["read", "edit", "delete", "move", "search", "think", "execute", "fetch", "switch_mode", "other"];
        let edits = kinds.map(|kind| chosen(&request(Some(kind), &ALL), Permissions::Edits, &none));
        assert!(edits[..6].iter().all(|chosen| chosen == "allow_once"), "{edits:?}");
        assert!(edits[6..].iter().all(|chosen| chosen == "reject_once"), "{edits:?}");
        assert_eq!(chosen(&request(None, &ALL), Permissions::Edits, &none), "reject_once");
        for kind in kinds.map(Some).into_iter().chain([None]) {
            assert_eq!(chosen(&request(kind, &ALL), Permissions::All, &none), "allow_once");
        }
    }

    #[test]
    fn nothing_is_remembered_for_ever_where_it_need_not_be() {
        let none = Calls::default();
        let always = ["allow_always", "reject_always"];
        assert_eq!(chosen(&request(Some("edit"), &always), Permissions::All, &none), "allow_always");
        assert_eq!(chosen(&request(Some("edit"), &always), Permissions::Edits, &none), "cancelled");
        assert_eq!(chosen(&request(Some("execute"), &always), Permissions::Edits, &none), "cancelled");
        assert_eq!(chosen(&json!({}), Permissions::All, &none), "cancelled");
        assert_eq!(chosen(&json!({"options": "all"}), Permissions::All, &none), "cancelled");
    }

    #[test]
    fn a_kind_that_was_told_before_counts_and_a_newer_one_wins() {
        let mut calls = Calls::default();
        let note = |calls: &mut Calls, call: Value| calls.note(&Object::read(&call.to_string()).unwrap());
        note(&mut calls, json!({"toolCallId": "t1", "kind": "edit"}));
        assert_eq!(chosen(&request(None, &ALL), Permissions::Edits, &calls), "allow_once");
        assert_eq!(chosen(&request(Some("execute"), &ALL), Permissions::Edits, &calls), "reject_once");
        note(&mut calls, json!({"toolCallId": "t1", "kind": "execute"}));
        assert_eq!(chosen(&request(None, &ALL), Permissions::Edits, &calls), "reject_once");
        for number in 0..3 * CALLS_MAX {
            note(&mut calls, json!({"toolCallId": format!("x{number}"), "kind": "edit"}));
        }
        assert!(calls.0.len() <= CALLS_MAX);
    }
}
