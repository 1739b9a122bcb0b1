//! Answers: what a person may say to a question, and what it means.

use std::time::SystemTime;

use jiff::tz::TimeZone;
use serde::{Deserialize, Serialize};

use crate::{
    decision::{DecisionKind, Question},
    id::{DecisionId, ItemId},
};

/// What a person said, understood.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Reply {
    /// Yes.
    Approve,
    /// No, with a reason (may be empty).
    Reject(String),
    /// A checkpoint: go on.
    Continue,
    /// A checkpoint: not yet.
    Stop,
    /// An auto-gate: try it again.
    Retry,
    /// An auto-gate: this item is to be worked on again.
    Reopen(ItemId),
    /// An auto-gate: this item's own verifier no longer counts, because a later item rightly overtook it.
    Retire(ItemId),
    /// One of the options that were given, in full.
    Choice(String),
    /// In the person's own words.
    Text(String),
}

impl Reply {
    /// As it is written into the plan and shown to sessions.
    pub fn text(&self) -> String {
        match self {
            Self::Approve => "approve".to_owned(),
            Self::Reject(why) if why.is_empty() => "reject".to_owned(),
            Self::Reject(why) => format!("reject: {why}"),
            Self::Continue => "continue".to_owned(),
            Self::Stop => "stop".to_owned(),
            Self::Retry => "retry".to_owned(),
            Self::Reopen(item) => format!("reopen {item}"),
            Self::Retire(item) => format!("retire {item}"),
            Self::Choice(text) | Self::Text(text) => text.clone(),
        }
    }
}

/// An answer to a question in the queue.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Answer {
    /// The question.
    pub decision: DecisionId,
    /// What was said.
    pub reply: Reply,
    /// Who said it.
    pub by: String,
    /// When.
    pub at: SystemTime,
}

impl Answer {
    /// `by` answers `decision` with `reply`.
    pub fn new(decision: DecisionId, reply: Reply, by: impl Into<String>, at: SystemTime) -> Self {
        Self { decision, reply, by: by.into(), at }
    }

    /// The line that the plan keeps of it: `D-007 (lead, 2026-05-18): Resend`. The date is that in UTC.
    pub fn line(&self) -> String {
        let day = jiff::Timestamp::try_from(self.at)
            .map(|at| TimeZone::UTC.to_datetime(at).date().to_string())
            .unwrap_or_default();
        let one_line = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
        format!("{} ({}, {day}): {}", self.decision, one_line(&self.by), one_line(&self.reply.text()))
    }
}

/// What was said is no answer to this question. Nothing was changed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{said}` is no answer to this question: say {expected}")]
pub struct BadReply {
    /// What was said.
    pub said: String,
    /// What would be an answer.
    pub expected: String,
}

/// How long an answer may be, in characters.
const ANSWER_MAX: usize = 2_000;

/// What kind of answer a question takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Takes {
    Consent,
    Checkpoint,
    Gate,
    Option,
    Words,
}

impl Question {
    /// Understands `said` as an answer to this question.
    ///
    /// `approve`, `approved` and `yes` are one answer, and so are `reject`, `rejected` and `no`, which may be followed by
    /// `: the reason`. A question with options takes one of them, or its letter; its own words go behind `other:`. A
    /// question without options takes any words. Upper and lower case count the same, but for free text.
    ///
    /// # Errors
    /// [`BadReply`] says what would be an answer.
    ///
    /// ```
    /// use ralph_core::{DecisionKind, Question, Reply};
    /// let colour = Question::new(DecisionKind::Choice, "Which?").with_options(["red", "blue"]);
    /// assert_eq!(colour.reply("b").unwrap(), Reply::Choice("blue".to_owned()));
    /// assert_eq!(colour.reply("other: green").unwrap(), Reply::Text("green".to_owned()));
    /// assert!(colour.reply("green").is_err());
    ///
    /// let policy = Question::new(DecisionKind::Dependency, "`left-pad` is new.");
    /// assert_eq!(policy.reply("Yes").unwrap(), Reply::Approve);
    /// assert!(policy.reply("perhaps").is_err());
    /// ```
    pub fn reply(&self, said: &str) -> Result<Reply, BadReply> {
        let text = said.trim();
        let refused = || Err(BadReply { said: short(text), expected: self.expected() });
        if text.is_empty() || text.chars().count() > ANSWER_MAX || text.chars().any(is_unfit) {
            return refused();
        }
        let (word, rest) = match text.split_once(char::is_whitespace) {
            Some((word, rest)) => (word.to_lowercase(), rest.trim()),
            None => (text.to_lowercase(), ""),
        };
        Ok(match self.takes() {
            Takes::Consent => match consent(text) {
                Some(reply) => reply,
                None => return refused(),
            },
            Takes::Checkpoint => match text.to_lowercase().as_str() {
                "continue" => Reply::Continue,
                "stop" => Reply::Stop,
                _ => return refused(),
            },
            Takes::Gate => match (word.as_str(), rest) {
                ("retry", "") => Reply::Retry,
                ("reopen", item) if is_one_word(item) => Reply::Reopen(ItemId::new(item)),
                ("retire", item) if is_one_word(item) => Reply::Retire(ItemId::new(item)),
                _ => return refused(),
            },
            Takes::Option => match self.option(text) {
                Some(reply) => reply,
                None => return refused(),
            },
            Takes::Words => consent(text)
                .filter(|reply| matches!(reply, Reply::Approve) || reply.text() == "reject")
                .unwrap_or_else(|| Reply::Text(other(text).unwrap_or(text).to_owned())),
        })
    }

    /// What would be an answer, for people.
    pub fn expected(&self) -> String {
        match self.takes() {
            Takes::Consent => "`approve`, `reject` or `reject: the reason`".to_owned(),
            Takes::Checkpoint => "`continue` or `stop`".to_owned(),
            Takes::Gate => "`retry` (try the gate again), `reopen ITEM` (have it worked on again) or `retire ITEM` (its own `Verify:` no longer \
                             counts at the gate)"
                .to_owned(),
            Takes::Option => {
                let last = char::from(b'A' + u8::try_from(self.options.len().clamp(1, 26) - 1).unwrap_or(0));
                format!("one of the options or its letter (A to {last}), or `other: your own words`")
            }
            Takes::Words => "it in your own words".to_owned(),
        }
    }

    fn takes(&self) -> Takes {
        if !self.options.is_empty() {
            return Takes::Option;
        }
        match self.kind {
            DecisionKind::Choice => Takes::Words,
            DecisionKind::Checkpoint => Takes::Checkpoint,
            DecisionKind::AutoGate => Takes::Gate,
            // An agent that asks about such a thing wants to know more than yes or no.
            DecisionKind::Security
            | DecisionKind::Database
            | DecisionKind::Dependency
            | DecisionKind::PublicApi
            | DecisionKind::Protected
                if self.from_agent =>
            {
                Takes::Words
            }
            DecisionKind::Security
            | DecisionKind::Database
            | DecisionKind::Dependency
            | DecisionKind::PublicApi
            | DecisionKind::Protected
            | DecisionKind::Scope
            | DecisionKind::AlreadyDone
            | DecisionKind::ManualGate => Takes::Consent,
        }
    }

    fn option(&self, text: &str) -> Option<Reply> {
        let same = |option: &&String| option.trim().to_lowercase() == text.to_lowercase();
        let by_letter = || {
            let mut chars = text.chars();
            let (letter, None) = (chars.next()?.to_ascii_uppercase(), chars.next()) else { return None };
            let index = usize::try_from(u32::from(letter).checked_sub(u32::from('A'))?).ok()?;
            self.options.get(index).filter(|_| index < 26)
        };
        // The text outweighs the letter: an option may be a letter itself.
        if let Some(option) = self.options.iter().find(same).or_else(by_letter) {
            return Some(Reply::Choice(option.clone()));
        }
        other(text).map(|own| Reply::Text(own.to_owned()))
    }
}

fn consent(text: &str) -> Option<Reply> {
    let (word, why) = match text.split_once([':', ',']) {
        Some((word, why)) => (word.trim(), why.trim()),
        None => (text, ""),
    };
    match word.to_lowercase().as_str() {
        "approve" | "approved" | "yes" if why.is_empty() => Some(Reply::Approve),
        "reject" | "rejected" | "no" => Some(Reply::Reject(why.to_owned())),
        _ => None,
    }
}

/// What stands behind `other:`.
fn other(text: &str) -> Option<&str> {
    let (word, own) = text.split_once(':')?;
    let own = own.trim();
    (word.trim().eq_ignore_ascii_case("other") && !own.is_empty()).then_some(own)
}

fn is_one_word(text: &str) -> bool {
    !text.is_empty() && !text.contains(char::is_whitespace)
}

/// Characters that have no place in an answer: they move the cursor, or hide what is said.
fn is_unfit(c: char) -> bool {
    (c.is_control() && !matches!(c, '\n' | '\t' | '\r')) || crate::text::is_deceptive(c)
}

fn short(text: &str) -> String {
    crate::text::printable(&text.chars().take(60).collect::<String>())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn question(kind: DecisionKind, options: &[&str]) -> Question {
        Question::new(kind, "?").with_options(options.iter().copied())
    }

    #[test]
    fn what_is_an_answer() {
        let gate = question(DecisionKind::AutoGate, &[]);
        let manual = question(DecisionKind::ManualGate, &[]);
        let checkpoint = question(DecisionKind::Checkpoint, &[]);
        let choice = question(DecisionKind::Choice, &["Resend", "b", "Postmark"]);
        let open = question(DecisionKind::Choice, &[]);
        let mut asked = question(DecisionKind::Security, &[]);
        asked.from_agent = true;
        for (question, said, expected) in [
            (&manual, "approve", Some(Reply::Approve)),
            (&manual, " APPROVED ", Some(Reply::Approve)),
            (&manual, "yes", Some(Reply::Approve)),
            (&manual, "no", Some(Reply::Reject(String::new()))),
            (&manual, "reject: too broad", Some(Reply::Reject("too broad".to_owned()))),
            (&manual, "no, not yet", Some(Reply::Reject("not yet".to_owned()))),
            (&manual, "yes, but only on Mondays", None),
            (&manual, "approve it", None),
            (&manual, "yess", None),
            (&manual, "", None),
            (&manual, "continue", None),
            (&manual, "approve\u{202e}", None),
            (&manual, "approve\u{1b}[8m", None),
            (&checkpoint, "Continue", Some(Reply::Continue)),
            (&checkpoint, "stop", Some(Reply::Stop)),
            (&checkpoint, "yes", None),
            (&gate, "retry", Some(Reply::Retry)),
            (&gate, "reopen R03", Some(Reply::Reopen("R03".into()))),
            (&gate, "retire  R03", Some(Reply::Retire("R03".into()))),
            (&gate, "reopen", None),
            (&gate, "reopen R03 R04", None),
            (&gate, "approve", None),
            (&choice, "resend", Some(Reply::Choice("Resend".to_owned()))),
            (&choice, "c", Some(Reply::Choice("Postmark".to_owned()))),
            (&choice, "B", Some(Reply::Choice("b".to_owned()))),
            (&choice, "d", None),
            (&choice, "approve", None),
            (&choice, "Other: SES", Some(Reply::Text("SES".to_owned()))),
            (&choice, "other:", None),
            (&open, "use SES", Some(Reply::Text("use SES".to_owned()))),
            (&open, "no, use SES", Some(Reply::Text("no, use SES".to_owned()))),
            (&open, "Rejected", Some(Reply::Reject(String::new()))),
            (&asked, "yes", Some(Reply::Approve)),
            (&asked, "rotate the key", Some(Reply::Text("rotate the key".to_owned()))),
        ] {
            assert_eq!(question.reply(said).ok(), expected, "{:?} {said:?}", question.kind);
        }
        assert!(open.reply(&"x".repeat(ANSWER_MAX + 1)).is_err());
    }

    #[test]
    fn refusals_say_what_would_do() {
        let error = question(DecisionKind::Choice, &["x", "y"]).reply("z").unwrap_err();
        assert_eq!(
            error.to_string(),
            "`z` is no answer to this question: say one of the options or its letter (A to B), or `other: your own words`"
        );
    }

    #[test]
    fn the_line_is_one_line() {
        let at = std::time::UNIX_EPOCH + std::time::Duration::from_secs(1_779_062_400);
        let answer = Answer::new(DecisionId::new("D-007"), Reply::Text("two\n- [x] lines".to_owned()), "le\nad", at);
        assert_eq!(answer.line(), "D-007 (le ad, 2026-05-18): two - [x] lines");
    }
}
