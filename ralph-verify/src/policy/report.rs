//! What a policy found, put into a question or a refusal.

use ralph_core::{Boundary, DecisionKind, ItemBoundary, Question, Ruling};

use super::Action;

/// How many findings are listed.
const LINES: usize = 20;

/// How long a text may become, in characters.
const LENGTH: usize = 2000;

/// One thing that a policy found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Finding {
    /// A sentence without its end, for where it stands alone.
    pub(super) sentence: String,
    /// The same as one of a list.
    pub(super) line: String,
}

/// How a policy speaks.
#[derive(Clone, Copy, Debug)]
pub(super) struct Words {
    pub(super) kind: DecisionKind,
    /// `new dependencies`: what several findings are called.
    pub(super) several: &'static str,
    /// What the next attempt is told to do instead.
    pub(super) instead: &'static str,
}

/// The ruling on what was found.
pub(super) fn rule(findings: &[Finding], action: Action, words: Words) -> Ruling {
    let text = match findings {
        [] => return Ruling::Open,
        [only] => bounded(only.sentence.clone(), LENGTH - 200),
        several => list(several, words.several),
    };
    let one = findings.len() == 1;
    match action {
        Action::Ask if one => Ruling::Ask(Question::new(words.kind, format!("{text}. Accept it?"))),
        Action::Ask => Ruling::Ask(Question::new(words.kind, format!("{text}\nAccept them?"))),
        Action::Refuse if one => Ruling::Closed(format!("{text}. {}", words.instead)),
        Action::Refuse => Ruling::Closed(format!("{text}\n{}", words.instead)),
    }
}

fn list(findings: &[Finding], several: &str) -> String {
    let mut text = format!("{} {several}:", findings.len());
    // Room for the last line and for what is said after the list.
    let mut room = LENGTH - 200 - text.chars().count();
    for (index, finding) in findings.iter().enumerate() {
        let length = finding.line.chars().count() + 3;
        if index == LINES || length > room {
            text.push_str(&format!("\nand {} more", findings.len() - index));
            break;
        }
        room -= length;
        text.push_str("\n- ");
        text.push_str(&finding.line);
    }
    text
}

fn bounded(mut text: String, most: usize) -> String {
    if let Some((at, _)) = text.char_indices().nth(most) {
        text.truncate(at);
        text.push('…');
    }
    text
}

/// The item at the boundary; for any other boundary the question to ask there.
pub(crate) fn item_of(boundary: &Boundary, policy: &str, kind: DecisionKind) -> Result<ItemBoundary, Ruling> {
    match boundary {
        Boundary::Item(item) => Ok(item.clone()),
        _ => {
            let text = format!("The policy `{policy}` judges the work of an item, and this is none. Go on?");
            Err(Ruling::Ask(Question::new(kind, text)))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const WORDS: Words =
        Words { kind: DecisionKind::Dependency, several: "new dependencies", instead: "Do without them." };

    fn findings(count: usize, length: usize) -> Vec<Finding> {
        let line = |index: usize| format!("{index}{}", "x".repeat(length));
        (0..count).map(|index| Finding { sentence: line(index), line: line(index) }).collect()
    }

    fn text(ruling: Ruling) -> String {
        match ruling {
            Ruling::Ask(question) => {
                assert!(!question.from_agent && question.recommendation.is_none() && question.options.is_empty());
                question.text
            }
            Ruling::Closed(reason) => reason,
            Ruling::Open => String::new(),
        }
    }

    #[test]
    fn one_or_several() {
        assert_eq!(rule(&[], Action::Refuse, WORDS), Ruling::Open);
        assert_eq!(text(rule(&findings(1, 0), Action::Ask, WORDS)), "0. Accept it?");
        assert_eq!(text(rule(&findings(1, 0), Action::Refuse, WORDS)), "0. Do without them.");
        assert_eq!(text(rule(&findings(2, 0), Action::Ask, WORDS)), "2 new dependencies:\n- 0\n- 1\nAccept them?");
    }

    #[test]
    fn however_much_was_found_the_text_is_bounded() {
        for (count, length) in [(21, 1), (500, 10), (3, 5000), (30, 80), (1, 9000)] {
            for action in [Action::Ask, Action::Refuse] {
                let text = text(rule(&findings(count, length), action, WORDS));
                assert!(text.chars().count() <= LENGTH, "{count} {length}");
                assert!(text.lines().count() <= LINES + 3);
                assert!(count == 1 || text.contains(" more\n"), "{text}");
            }
        }
    }
}
