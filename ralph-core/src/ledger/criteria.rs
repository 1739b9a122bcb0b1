//! `criteria.md`: what a session that a person started must bring about before it may end.
//!
//! Sections OBJECTIVE, COMPLETION CRITERIA and CONTEXT, under headings of these names or lines `NAME:`, and `Verify:` lines
//! anywhere in the text. What stands in comments is an example, and binds nobody.

use std::{fs, io, path::Path};

use super::prd_markdown::{
    body::Zones,
    keys::{self, Key, Known, bullet, said, unquote},
    lines::Lines,
    notes::Problem,
    scan::{Scan, ZoneKind, scan},
};

/// The largest file that is read.
const SIZE_MAX: u64 = 1 << 20;

/// What a criteria file says.
///
/// ```
/// use ralph_core::ledger::Criteria;
///
/// let text = "## Objective\nGreet customers by name.\n\n## Completion criteria\n- the name is escaped\n\nVerify: `cargo test`\n";
/// let criteria = Criteria::parse(text, "criteria.md").unwrap();
/// assert_eq!(criteria.objective, ["Greet customers by name."]);
/// assert_eq!(criteria.completion, ["the name is escaped"]);
/// assert_eq!(criteria.verify, ["cargo test"]);
///
/// let error = Criteria::parse("Verfy: cargo test\n", "criteria.md").unwrap_err();
/// assert_eq!(error.to_string(), "criteria.md:1: `Verfy:` is not a key: did you mean `Verify:`?");
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Criteria {
    /// What it is for, a line each.
    pub objective: Vec<String>,
    /// What must hold in the end, a line each.
    pub completion: Vec<String>,
    /// Where to look, a line each.
    pub context: Vec<String>,
    /// The commands that tell whether it holds, in order. Without any, nothing binds.
    pub verify: Vec<String>,
}

/// Why a criteria file could not be read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CriteriaError {
    /// It says something that must not be guessed about. Every finding with its place, one line each.
    #[error("{}", .0.join("\n"))]
    Invalid(Vec<String>),
    /// The file could not be read.
    #[error("{path} could not be read")]
    Io {
        /// The file.
        path: String,
        /// Why.
        #[source]
        source: io::Error,
    },
}

/// The sections that are known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Section {
    Objective,
    Completion,
    Context,
}

impl Criteria {
    /// Reads the file at `path`; `None` where there is none.
    pub fn read(path: &Path) -> Result<Option<Self>, CriteriaError> {
        let name = path.display().to_string();
        let bytes = match bounded(path) {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(source) => return Err(CriteriaError::Io { path: name, source }),
        };
        let text = String::from_utf8(bytes).map_err(|error| {
            let before = &error.as_bytes()[..error.utf8_error().valid_up_to()];
            let line = before.iter().filter(|&&byte| byte == b'\n').count() + 1;
            CriteriaError::Invalid(vec![format!("{name}:{line}: not UTF-8")])
        })?;
        Self::parse(&text, &name).map(Some)
    }

    /// Reads a text; `name` is what places are given in.
    pub fn parse(text: &str, name: &str) -> Result<Self, CriteriaError> {
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        let (found, lines) = (scan(text), Lines::of(text));
        let mut reader = Reader { criteria: Self::default(), problems: Vec::new(), section: None };
        reader.walk(text, &found, &lines);
        if reader.problems.is_empty() {
            return Ok(reader.criteria);
        }
        let told = reader.problems.iter().map(|problem| format!("{name}:{}: {}", problem.line, problem.text));
        Err(CriteriaError::Invalid(told.collect()))
    }
}

struct Reader {
    criteria: Criteria,
    problems: Vec<Problem>,
    section: Option<Section>,
}

impl Reader {
    fn walk(&mut self, text: &str, found: &Scan, lines: &Lines<'_>) {
        let mut zones = Zones::new(&found.zones);
        let mut headings = found.headings.iter().peekable();
        for index in 0..lines.count() {
            let line = lines.text(index);
            let range = lines.range(index);
            if let Some(heading) = headings.next_if(|heading| heading.at <= range.start) {
                self.section = section(&heading.text);
                continue;
            }
            let at = range.start + (line.len() - bullet(line).1.len());
            let zone = zones.at(at.min(text.len())).map(|zone| zone.kind);
            match zone {
                None => self.line(line, index + 1),
                Some(ZoneKind::Comment) => {}
                Some(kind) => self.hidden(line, index + 1, kind),
            }
        }
    }

    fn line(&mut self, line: &str, number: usize) {
        if line.trim_end().ends_with(':')
            && let Some(named) = section(line)
        {
            self.section = Some(named);
            return;
        }
        if let Some(found) = keys::read(line) {
            match found.key {
                Known::Yes(Key::Verify) => match said(found.value) {
                    Some(command) => self.criteria.verify.push(command.to_owned()),
                    None => {
                        let what = "`Verify:` names no command: write it on the same line";
                        self.problems.push(Problem::new(number, what));
                    }
                },
                Known::Near(Key::Verify) => {
                    self.problems.push(Problem::near(number, found.word, Key::Verify.name()));
                }
                Known::Yes(Key::Objective) => self.keep(Some(Section::Objective), found.value),
                Known::Yes(Key::Context) => self.keep(Some(Section::Context), found.value),
                Known::Yes(_) | Known::Near(_) | Known::No => self.keep(self.section, bullet(line).1),
            }
            return;
        }
        self.keep(self.section, bullet(line).1);
    }

    fn keep(&mut self, section: Option<Section>, words: &str) {
        let words = unquote(words.trim());
        let list = match section {
            Some(Section::Objective) => &mut self.criteria.objective,
            Some(Section::Completion) => &mut self.criteria.completion,
            Some(Section::Context) => &mut self.criteria.context,
            None => return,
        };
        // The line below a heading may be its underline.
        if words.bytes().any(|byte| !matches!(byte, b'=' | b'-')) {
            list.push(words.to_owned());
        }
    }

    /// A command where none is read would be lost in silence.
    fn hidden(&mut self, line: &str, number: usize, kind: ZoneKind) {
        let line = line.trim_start_matches([' ', '>']);
        if keys::read(line).is_some_and(|found| matches!(found.key, Known::Yes(Key::Verify) | Known::Near(Key::Verify)))
        {
            let what = format!("`Verify:` {} is not read: write it as a line of the text", kind.place());
            self.problems.push(Problem::new(number, what));
        }
    }
}

fn section(heading: &str) -> Option<Section> {
    match heading.trim().trim_end_matches(':').to_ascii_lowercase().as_str() {
        "objective" => Some(Section::Objective),
        "completion criteria" | "criteria" => Some(Section::Completion),
        "context" => Some(Section::Context),
        _ => None,
    }
}

fn bounded(path: &Path) -> io::Result<Vec<u8>> {
    let found = fs::metadata(path)?;
    // Reading a pipe could wait for ever.
    if !found.is_file() {
        return Err(io::Error::other("it is no file"));
    }
    if found.len() > SIZE_MAX {
        return Err(io::Error::other(format!("it is larger than {} MiB", SIZE_MAX >> 20)));
    }
    fs::read(path)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn parse(text: &str) -> Criteria {
        Criteria::parse(text, "criteria.md").unwrap()
    }

    fn problems(text: &str) -> Vec<String> {
        match Criteria::parse(text, "criteria.md") {
            Err(CriteriaError::Invalid(problems)) => problems,
            other => panic!("{text:?}: {other:?}"),
        }
    }

    #[test]
    fn sections_and_commands() {
        let criteria = parse(
            "\u{feff}# Task\r\nnot read\r\n\r\n## OBJECTIVE\r\nGreet by name.\r\nIn all languages.\r\n\r\n\
             Completion Criteria:\r\n====\r\n1. `escaped`\r\n- tested\r\n  - Verify: cargo test\r\n\r\n## Other\r\nno\r\n\
             ### Context\r\n* docs/greeting.md\r\n**Verify:** `npm test -- x`\r\nNote: mind the gap\r\n",
        );
        assert_eq!(criteria.objective, ["Greet by name.", "In all languages."]);
        assert_eq!(criteria.completion, ["escaped", "tested"]);
        assert_eq!(criteria.context, ["docs/greeting.md", "Note: mind the gap"]);
        assert_eq!(criteria.verify, ["cargo test", "npm test -- x"]);
    }

    #[test]
    fn keys_do_for_sections() {
        let criteria = parse("Objective: greet\nContext: docs/\nVerify: true\nCOMPLETION CRITERIA:\n- all\n");
        assert_eq!(criteria.completion, ["all"]);
        assert_eq!((criteria.objective, criteria.context), (vec!["greet".to_owned()], vec!["docs/".to_owned()]));
        assert_eq!(criteria.verify, ["true"]);
    }

    #[test]
    fn what_is_commented_out_binds_nobody() {
        for text in ["", "# Criteria\n", "<!--\n## OBJECTIVE\nVerify: cargo test\n-->\n", "<!-- Verify: x -->\n"] {
            assert_eq!(parse(text), Criteria::default(), "{text:?}");
        }
        // The control.
        assert_eq!(parse("<!-- x -->\n\nVerify: x\n").verify, ["x"]);
    }

    #[test]
    fn a_command_that_would_be_lost_is_told_with_its_place() {
        for (text, expected) in [
            ("a\n\nVerify:\n", "criteria.md:3: `Verify:` names no command: write it on the same line"),
            ("Verifi: x\n", "criteria.md:1: `Verifi:` is not a key: did you mean `Verify:`?"),
            (
                "```\nVerify: x\n```\n",
                "criteria.md:2: `Verify:` in a code block is not read: write it as a line of the text",
            ),
            (
                "a\n\n> Verify: x\n",
                "criteria.md:3: `Verify:` in a block quote is not read: write it as a line of the text",
            ),
        ] {
            assert_eq!(problems(text), [expected], "{text:?}");
        }
        assert_eq!(problems("Verify:\nVerfy: x\n").len(), 2, "all of them are told");
    }

    #[test]
    fn files() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("criteria.md");
        assert_eq!(Criteria::read(&path).unwrap(), None);
        fs::write(&path, "Verify: x\n").unwrap();
        assert_eq!(Criteria::read(&path).unwrap().unwrap().verify, ["x"]);
        fs::write(&path, b"a\nb\xff\n").unwrap();
        assert!(Criteria::read(&path).unwrap_err().to_string().ends_with("criteria.md:2: not UTF-8"));
        assert!(matches!(Criteria::read(folder.path()), Err(CriteriaError::Io { .. })));
    }

    proptest! {
        #[test]
        fn any_text_is_read_or_refused_with_a_place(text in "(\\PC|[\\r\\n#>`-]|Verify:|<!--|-->|```){0,60}") {
            if let Err(CriteriaError::Invalid(problems)) = Criteria::parse(&text, "f") {
                prop_assert!(!problems.is_empty() && problems.iter().all(|problem| problem.starts_with("f:")));
            }
        }
    }
}
