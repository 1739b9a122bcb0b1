//! What a session is told (SPEC §9.1).

use std::fmt::Write as _;

use crate::{
    machine::{Asked, Every, Failure},
    plan::{Item, Phase},
};

/// The text of [`Prompt::default`]: the part that is the same for every item comes first, so that a provider's cache
/// hits.
const TEMPLATE: &str = include_str!("prompt.md");

/// The same for [`Prompt::at_interval`], with placeholders of its own.
const INTERVAL: &str = include_str!("prompt_interval.md");

/// The same for [`Prompt::cleanup`].
const CLEANUP: &str = include_str!("prompt_cleanup.md");

/// A template for prompts.
///
/// Placeholders: `{{item}}` (the id), `{{title}}`, `{{objective}}`, `{{criteria}}`, `{{verify}}`, `{{context}}`,
/// `{{decisions}}`, `{{failure}}`, `{{learnings}}`, and in a clean-up `{{files}}`. A line that consists of one placeholder is left out where there is
/// nothing to say, together with a heading line right above it. Unknown placeholders are an error.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Prompt {
    template: String,
}

impl Default for Prompt {
    fn default() -> Self {
        Self { template: TEMPLATE.to_owned() }
    }
}

/// What a prompt is made of.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct PromptInput<'a> {
    /// The phase.
    pub phase: &'a Phase,
    /// The item.
    pub item: &'a Item,
    /// Why the attempt before failed.
    pub failure: Option<&'a Failure>,
    /// The questions behind the decisions, as far as they are known.
    pub asked: &'a [Asked],
    /// What earlier sessions learnt; already bounded.
    pub learnings: &'a str,
    /// The files that a clean-up may change.
    pub files: &'a [String],
}

impl<'a> PromptInput<'a> {
    /// A first attempt at `item`.
    pub fn new(phase: &'a Phase, item: &'a Item) -> Self {
        Self { phase, item, failure: None, asked: &[], learnings: "", files: &[] }
    }
}

const PLACEHOLDERS: [&str; 10] =
    ["item", "title", "objective", "criteria", "verify", "context", "decisions", "failure", "learnings", "files"];

impl Prompt {
    /// For sessions at an interval: they may say when they would like to be called again.
    pub fn at_interval(every: &Every) -> Self {
        let minutes = |ms: u64| (ms as f64 / 60_000.0).to_string();
        let choice = if every.min_ms == every.max_ms {
            "When you are called again is fixed; `next_minutes` may be left out.".to_owned()
        } else {
            format!(
                "`next_minutes` says when you would like to be called again, between {} and {}.",
                minutes(every.min_ms),
                minutes(every.max_ms)
            )
        };
        let keeping = if every.verified {
            "An external verifier judges what you leave, here and on a clean checkout; what passes becomes one commit. \
             What you say about it counts for nothing."
        } else {
            "What you change in this folder is not kept."
        };
        let template = INTERVAL
            .replace("{{keeping}}", keeping)
            .replace("{{choice}}", &choice)
            .replace("{{usual}}", &minutes(every.usual_ms));
        Self { template }
    }

    /// For sessions that tidy work which passed twice.
    pub fn cleanup() -> Self {
        Self { template: CLEANUP.to_owned() }
    }

    /// A template of one's own.
    ///
    /// # Errors
    /// Names a placeholder that does not exist, or that `{{item}}` and `{{title}}` are both missing.
    pub fn new(template: impl Into<String>) -> Result<Self, String> {
        let template = template.into();
        let mut rest = template.as_str();
        while let Some((_, after)) = rest.split_once("{{") {
            let (name, after) = after.split_once("}}").ok_or("a placeholder is not closed with `}}`")?;
            if !PLACEHOLDERS.contains(&name) {
                return Err(format!("`{{{{{name}}}}}` is no placeholder; there are {}", PLACEHOLDERS.join(", ")));
            }
            rest = after;
        }
        if !template.contains("{{item}}") && !template.contains("{{title}}") {
            return Err("the template names neither {{item}} nor {{title}}".to_owned());
        }
        Ok(Self { template })
    }

    /// The prompt for one session. Its size does not depend on how many items the phase has.
    pub fn render(&self, input: &PromptInput<'_>) -> String {
        let item = input.item;
        let context: Vec<&String> = input.phase.context.iter().chain(&item.context).collect();
        let verify: Vec<&String> = item.verify.iter().chain(&input.phase.verify).collect();
        let values = [
            ("item", item.id.to_string()),
            ("title", item.title.clone()),
            ("objective", input.phase.objective.clone().unwrap_or_default()),
            ("criteria", bullets(&item.criteria.iter().collect::<Vec<_>>(), false)),
            ("verify", bullets(&verify, true)),
            ("context", bullets(&context, false)),
            ("decisions", decisions(&item.decisions, input.asked)),
            ("failure", input.failure.map(failure).unwrap_or_default()),
            ("learnings", quote(input.learnings)),
            ("files", bullets(&input.files.iter().collect::<Vec<_>>(), true)),
        ];
        let mut out: Vec<String> = Vec::new();
        for line in self.template.lines() {
            let alone = line.trim().strip_prefix("{{").and_then(|rest| rest.strip_suffix("}}"));
            match alone.and_then(|name| values.iter().find(|(known, _)| *known == name)) {
                Some((_, value)) if value.is_empty() => {
                    while out.last().is_some_and(|above| above.is_empty()) {
                        out.pop();
                    }
                    if out.last().is_some_and(|above| above.starts_with('#')) {
                        out.pop();
                    }
                }
                Some((_, value)) => out.push(value.clone()),
                None => out.push(inline(line, &values)),
            }
        }
        let mut text = out.join("\n");
        text.truncate(text.trim_end().len());
        text.push('\n');
        text
    }
}

/// Replaces placeholders within a line, in one pass: what a value holds is never taken for a placeholder.
fn inline(line: &str, values: &[(&str, String)]) -> String {
    let (mut text, mut rest) = (String::new(), line);
    while let Some((before, after)) = rest.split_once("{{") {
        text.push_str(before);
        match after.split_once("}}") {
            Some((name, after)) => {
                text.push_str(values.iter().find(|(known, _)| *known == name).map_or("", |(_, value)| value));
                rest = after;
            }
            None => {
                text.push_str("{{");
                rest = after;
            }
        }
    }
    text.push_str(rest);
    text
}

fn bullets(lines: &[&String], code: bool) -> String {
    let mut text = String::new();
    for line in lines {
        let line = line.trim();
        // Writing to a string cannot fail.
        let _ = if code { writeln!(text, "- `{line}`") } else { writeln!(text, "- {line}") };
    }
    text.truncate(text.trim_end().len());
    text
}

/// Each with the question that it answers, which may be an agent's own words.
fn decisions(lines: &[String], asked: &[Asked]) -> String {
    let mut text = String::new();
    for line in lines {
        let _ = writeln!(text, "- {}", line.trim());
        let is_meant = |asked: &&Asked| line.trim().starts_with(&format!("{} (", asked.id));
        let Some(asked) = asked.iter().find(is_meant) else { continue };
        for (what, words) in [("The question was:", &asked.question), ("The end of the output:", &asked.output)] {
            if !words.trim().is_empty() {
                let quoted = quote(words).replace('\n', "\n  ");
                let _ = writeln!(text, "  {what}\n\n  {quoted}\n");
            }
        }
    }
    text.truncate(text.trim_end().len());
    text
}

fn failure(failure: &Failure) -> String {
    let mut text = format!("Attempt {} failed: {}", failure.attempt, failure.why);
    if !failure.tail.trim().is_empty() {
        text.push_str("\nThe end of the output:\n\n");
        text.push_str(&quote(&failure.tail));
    }
    text
}

/// As a Markdown quote: data, not instructions.
fn quote(text: &str) -> String {
    text.trim().lines().map(|line| format!("> {line}")).collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn item() -> Item {
        let mut item = Item::new("R03", "Remove the analytics snippet");
        item.criteria = vec!["no request leaves for an analytics host".to_owned()];
        item.verify = vec!["pnpm test -- analytics".to_owned()];
        item
    }

    fn phase(items: usize) -> Phase {
        let mut phase = Phase::new("P1", (0..items).map(|n| Item::new(format!("R{n}").as_str(), "x")));
        phase.verify = vec!["pnpm verify".to_owned()];
        phase.context = vec!["docs/privacy.md".to_owned()];
        phase.objective = Some("No tracking.".to_owned());
        phase
    }

    #[test]
    fn first_attempt() {
        let (phase, item) = (phase(1), item());
        insta::assert_snapshot!(Prompt::default().render(&PromptInput::new(&phase, &item)));
    }

    #[test]
    fn second_attempt() {
        let (phase, mut item) = (phase(1), item());
        item.decisions = vec!["D-007 (lead, 2026-05-18): Resend".to_owned()];
        let last = Failure { attempt: 1, why: "exit 101".to_owned(), tail: "# panicked\n{{item}} at x".to_owned() };
        let asked = [Asked { id: "D-007".into(), question: "Which?\n# D-008".to_owned(), output: "exit 1".to_owned() }];
        let input = PromptInput {
            failure: Some(&last),
            asked: &asked,
            learnings: "- use pnpm, not npm",
            ..PromptInput::new(&phase, &item)
        };
        insta::assert_snapshot!(Prompt::default().render(&input));
    }

    #[test]
    fn at_an_interval() {
        let (phase, mut item) = (Phase::new("P1", []), Item::new("G01", "Look after the queue"));
        item.criteria = vec!["answer what is new".to_owned()];
        let mut every = Every { usual_ms: 600_000, min_ms: 90_000, max_ms: 3_600_000, verified: false };
        insta::assert_snapshot!(Prompt::at_interval(&every).render(&PromptInput::new(&phase, &item)));
        (every.min_ms, every.max_ms, every.verified) = (600_000, 600_000, true);
        let fixed = Prompt::at_interval(&every).render(&PromptInput::new(&phase, &item));
        assert!(fixed.contains("is fixed") && fixed.contains("becomes one commit"), "{fixed}");
    }

    #[test]
    fn what_is_the_same_for_every_item_comes_first() {
        let (phase, one) = (phase(1), item());
        let mut other = Item::new("R99", "Something else");
        other.criteria = vec!["else".to_owned()];
        let [one, other] = [one, other].map(|item| Prompt::default().render(&PromptInput::new(&phase, &item)));
        let same = one.bytes().zip(other.bytes()).take_while(|(a, b)| a == b).count();
        assert!(one[..same].ends_with("Item R"), "{}", &one[same.saturating_sub(80)..same]);
        assert!(same > 1_500, "{same}");
    }

    #[test]
    fn the_size_does_not_grow_with_the_plan() {
        let item = item();
        let [few, many] = [10, 10_000].map(|n| Prompt::default().render(&PromptInput::new(&phase(n), &item)).len());
        assert_eq!(few, many);
    }

    #[test]
    fn templates_are_checked() {
        assert!(Prompt::new("Do {{item}}: {{title}}").is_ok());
        assert!(Prompt::new("Do {{itme}}").unwrap_err().contains("itme"));
        assert!(Prompt::new("Do something").is_err());
        assert!(Prompt::new("Do {{item").is_err());
    }
}
