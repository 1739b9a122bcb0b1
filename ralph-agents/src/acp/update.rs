//! What an agent tells of its session on the way.

use ralph_core::{SessionReport, Usd};

use crate::{
    acp::{permission::Calls, usage},
    json::{Object, end_of, one_line},
};

/// How much of an unfinished line is kept for who watches, in bytes.
const PART_MAX: usize = 4096;

/// What its updates have told since the prompt.
#[derive(Debug, Default)]
pub(crate) struct Told {
    pub(crate) message: Message,
    pub(crate) calls: Calls,
    /// Whether there was any tool call.
    pub(crate) acted: bool,
    /// The cost of the session so far.
    pub(crate) cost: Option<Usd>,
    /// The last state of codex-acp's thread is an error.
    pub(crate) system_error: bool,
}

impl Told {
    /// Takes in an update, and tells `live` what a person who watches would like to see of it.
    pub(crate) fn update(&mut self, update: &Object<'_>, live: &mut dyn FnMut(&str)) {
        match update.text("sessionUpdate").as_deref() {
            Some("agent_message_chunk") => {
                let content = update.object("content");
                let text = content.filter(|content| content.text("type").as_deref() == Some("text"));
                if let Some(text) = text.and_then(|content| content.text("text")) {
                    self.message.push(update.text("messageId"), &text, live);
                }
            }
            Some("tool_call") => {
                self.acted = true;
                self.calls.note(update);
                self.message.pause(live);
                live(&format!("[{}]", one_line(&update.text("title").unwrap_or_default(), 100)));
            }
            Some("tool_call_update") => {
                self.acted = true;
                self.calls.note(update);
                self.message.pause(live);
            }
            Some("usage_update") => self.cost = usage::cost(update).or(self.cost),
            Some("session_info_update") => {
                let thread = update.object("_meta").and_then(|meta| meta.object("codex")?.object("threadStatus"));
                if let Some(status) = thread.and_then(|thread| thread.text("type")) {
                    self.system_error = status == "systemError";
                }
            }
            // Thoughts, plans, commands, and whatever comes to be.
            _ => {}
        }
    }
}

/// The last message of the agent, put together from its chunks.
#[derive(Debug, Default)]
pub(crate) struct Message {
    pub(crate) text: String,
    /// What the adapter last said on its own behalf, one line.
    pub(crate) aside: String,
    id: Option<String>,
    /// Something else came since its last chunk.
    paused: bool,
    /// An unfinished line, for who watches.
    part: String,
}

impl Message {
    fn push(&mut self, id: Option<String>, text: &str, live: &mut dyn FnMut(&str)) {
        // Where messages have ids, what has none is the adapter's own: a warning, an error.
        if id.is_none() && self.id.is_some() {
            self.pause(live);
            self.aside = one_line(text, 300);
            text.lines().for_each(live);
            return;
        }
        if id != self.id || (id.is_none() && self.paused) {
            self.pause(live);
            self.text.clear();
            self.id = id;
        }
        self.paused = false;
        self.text.push_str(text);
        // Cut seldom, so that each byte is moved at most once.
        if self.text.len() > 2 * SessionReport::SAID_MAX {
            self.text = end_of(std::mem::take(&mut self.text), SessionReport::SAID_MAX);
        }
        self.part.push_str(text);
        if let Some((lines, part)) = self.part.rsplit_once('\n') {
            lines.lines().for_each(&mut *live);
            self.part = part.to_owned();
        }
        if self.part.len() > PART_MAX {
            self.flush(live);
        }
    }

    /// Notes that something else came.
    pub(crate) fn pause(&mut self, live: &mut dyn FnMut(&str)) {
        self.paused = true;
        self.flush(live);
    }

    fn flush(&mut self, live: &mut dyn FnMut(&str)) {
        if !self.part.is_empty() {
            live(&std::mem::take(&mut self.part));
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    /// What is said after these updates, and what was seen meanwhile.
    fn read(updates: &[Value]) -> (String, Vec<String>) {
        let (mut told, mut seen) = (Told::default(), Vec::new());
        let mut live = |line: &str| seen.push(line.to_owned());
        for update in updates {
            told.update(&Object::read(&update.to_string()).unwrap(), &mut live);
        }
        told.message.pause(&mut live);
        (told.message.text, seen)
    }

    fn chunk(id: Option<&str>, text: &str) -> Value {
        let content = json!({"type": "text", "text": text});
        json!({"sessionUpdate": "agent_message_chunk", "messageId": id, "content": content})
    }

    #[test]
    fn chunks_of_one_message_belong_together() {
        let tool = json!({"sessionUpdate": "tool_call", "title": "git add\n."});
        let without = [chunk(None, "one"), tool.clone(), chunk(None, "tw"), chunk(None, "o\nthree\n")];
        let (said, seen) = read(&without);
        assert_eq!(said, "two\nthree\n");
        assert_eq!(seen, ["one", "[git add .]", "two", "three"]);
        let with =
            [chunk(Some("a"), "one"), chunk(Some("b"), "tw"), tool, chunk(Some("b"), "o"), chunk(None, "warning")];
        let (said, seen) = read(&with);
        assert_eq!(said, "two");
        assert_eq!(seen, ["one", "tw", "[git add .]", "o", "warning"]);
    }

    #[test]
    fn a_message_without_end_is_kept_from_its_end() {
        let mut told = Told::default();
        let text = chunk(None, &"ä".repeat(1000)).to_string();
        for _ in 0..1000 {
            told.update(&Object::read(&text).unwrap(), &mut |_| ());
            assert!(told.message.text.len() <= 2 * SessionReport::SAID_MAX + 2000);
            assert!(told.message.part.len() <= PART_MAX + 2000);
        }
        assert!(told.message.text.len() >= SessionReport::SAID_MAX);
    }
}
