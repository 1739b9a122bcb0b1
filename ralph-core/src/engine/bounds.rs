//! What keeps facts small, whatever agents, verifiers and gates say (law L11).

use crate::{decision::Question, gate::Ruling, id::Digest, vcs::Finding, verify::Part};

/// How many bytes the paths of a fact have together.
const PATHS_MAX: usize = 8 * 1024;

/// How many paths a fact has.
const PATHS: usize = 100;

/// How many shares of verifiers a fact has.
const PARTS: usize = 64;

/// How many characters the name of a verifier's share has.
const NAME_MAX: usize = 120;

/// How many characters a gate's ruling has, and each of the ways to decide it.
const RULING_MAX: usize = 6_000;
const OPTION_MAX: usize = 500;
const OPTIONS: usize = 20;

/// A line for a fact.
pub(super) fn bounded(text: &str) -> String {
    start(text, 1_000)
}

fn start(text: &str, chars: usize) -> String {
    text.chars().take(chars).collect()
}

/// Paths for a fact: the first ones say enough, and so does the start of a long one.
pub(super) fn paths(paths: &mut Vec<String>) {
    let mut left = PATHS_MAX;
    paths.truncate(PATHS);
    paths.retain_mut(|path| {
        *path = bounded(path);
        let fits = path.len() <= left;
        left = left.saturating_sub(path.len());
        fits
    });
}

/// Findings for a fact.
pub(super) fn findings(findings: Vec<Finding>) -> Vec<Finding> {
    let (kinds, mut places): (Vec<_>, Vec<_>) =
        findings.into_iter().map(|finding| (finding.kind, finding.path)).unzip();
    paths(&mut places);
    kinds.into_iter().zip(places).map(|(kind, path)| Finding { kind, path }).collect()
}

/// Shares for a fact. A name that is too long keeps what tells it from others.
pub(super) fn parts(parts: Vec<Part>) -> Vec<Part> {
    let name = |name: String| {
        if name.chars().count() <= NAME_MAX {
            return name;
        }
        format!("{}… {}", start(&name, NAME_MAX), Digest::of(name.as_bytes()).short())
    };
    parts.into_iter().take(PARTS).map(|part| Part { name: name(part.name), ..part }).collect()
}

/// A gate's ruling for a fact.
pub(super) fn ruling(ruling: Ruling) -> Ruling {
    let cut = |text: String, max| if text.len() > max { start(&text, max) } else { text };
    match ruling {
        Ruling::Open => Ruling::Open,
        Ruling::Closed(why) => Ruling::Closed(cut(why, RULING_MAX)),
        Ruling::Ask(Question { kind, text, options, recommendation, from_agent }) => Ruling::Ask(Question {
            kind,
            text: cut(text, RULING_MAX),
            options: options.into_iter().take(OPTIONS).map(|option| cut(option, OPTION_MAX)).collect(),
            recommendation: recommendation.map(|text| cut(text, OPTION_MAX)),
            from_agent,
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::vcs::FindingKind;

    #[test]
    fn findings_are_bounded_together() {
        let long =
            |index: usize| Finding { kind: FindingKind::SpecialFile, path: format!("{index}{}", "p".repeat(600)) };
        let few = findings((0..200).map(long).collect());
        assert_eq!(few.len(), 13, "of 601 bytes each");
        assert_eq!(few[0], long(0));
        let short: Vec<Finding> = (0..3).map(|index| Finding { path: index.to_string(), ..long(0) }).collect();
        assert_eq!(findings(short.clone()), short);
    }

    #[test]
    fn long_names_of_shares_stay_different() {
        let part = |end: &str| Part::new("n".repeat(500) + end, true);
        let few = parts(vec![part("a"), part("b"), Part { name: "short".to_owned(), ..part("") }]);
        assert_ne!(few[0].name, few[1].name);
        assert!(few[0].name.len() < 200);
        assert_eq!(few[2].name, "short");
        assert_eq!(parts(vec![part("a"); 1000]).len(), PARTS);
    }
}
