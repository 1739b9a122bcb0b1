//! Tests as they stand in source files, parsed by tree-sitter.
//!
//! Parsing never fails: what does not parse is an error node in the tree, and everything around it is read. Nothing here
//! runs or resolves anything. Each language has a file, which says what a test, an assertion and a skip is there.

mod expr;
mod go;
mod python;
mod rust;
mod script;
mod walk;

use std::{
    collections::{BTreeMap, BTreeSet},
    ops::ControlFlow,
};

use tree_sitter::{Node, ParseOptions, ParseState, Parser, Point};

pub(super) use walk::{MANY, normal};

/// A file longer than this is not parsed, in bytes.
pub(super) const LARGEST: usize = 512 * 1024;

/// How deep brackets may nest.
const BRACKETS: usize = 1000;

/// How much an assertion says, from nothing to everything.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Strength {
    /// It holds whatever the code does.
    Vacuous,
    /// That there is something, or that it went well.
    Loose,
    /// Something about the value: a part, an order, a kind.
    Partial,
    /// The value.
    Exact,
}

/// An assertion.
#[derive(Clone, Debug)]
pub(super) struct Assertion {
    pub(super) line: u32,
    pub(super) text: String,
    pub(super) strength: Strength,
    /// How many it stands for: one that is made in a loop is made for each of its cases.
    pub(super) weight: usize,
    /// Whether its failure is caught and forgotten.
    pub(super) swallowed: bool,
}

/// Something that keeps a test from running.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Skip {
    pub(super) line: u32,
    pub(super) text: String,
}

/// A test.
#[derive(Clone, Debug)]
pub(super) struct Test {
    /// Its name, below the names of what it is in.
    pub(super) name: Vec<String>,
    pub(super) line: u32,
    /// Its first line.
    pub(super) text: String,
    /// What it does, a line each, without space around it.
    pub(super) body: Vec<String>,
    pub(super) assertions: Vec<Assertion>,
    /// The functions that it calls by name.
    pub(super) calls: BTreeSet<String>,
    pub(super) skips: Vec<Skip>,
    /// Whether nothing in it could fail: no statement at all, or only such as print.
    pub(super) empty: bool,
}

impl Test {
    /// Its own name.
    pub(super) fn own(&self) -> &str {
        self.name.last().map_or("", String::as_str)
    }
}

/// What a file says.
#[derive(Clone, Debug, Default)]
pub(super) struct Source {
    pub(super) tests: Vec<Test>,
    /// What keeps more than one test from running, with the name of what it stands at.
    pub(super) skips: Vec<(String, Skip)>,
    /// The assertions in functions that are no tests, by name.
    pub(super) helpers: BTreeMap<String, Vec<Assertion>>,
}

/// A language.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Lang {
    Rust,
    Python,
    JavaScript,
    TypeScript,
    Tsx,
    Go,
}

impl Lang {
    /// The language of a path, by its end.
    pub(super) fn of(path: &str) -> Option<Self> {
        let (_, end) = path.rsplit_once('.')?;
        Some(match end {
            "rs" => Self::Rust,
            "py" => Self::Python,
            "js" | "jsx" | "mjs" | "cjs" => Self::JavaScript,
            "ts" | "mts" | "cts" => Self::TypeScript,
            "tsx" => Self::Tsx,
            "go" => Self::Go,
            _ => return None,
        })
    }

    fn grammar(self) -> tree_sitter::Language {
        match self {
            Self::Rust => tree_sitter_rust::LANGUAGE.into(),
            Self::Python => tree_sitter_python::LANGUAGE.into(),
            Self::JavaScript => tree_sitter_javascript::LANGUAGE.into(),
            Self::TypeScript => tree_sitter_typescript::LANGUAGE_TYPESCRIPT.into(),
            Self::Tsx => tree_sitter_typescript::LANGUAGE_TSX.into(),
            Self::Go => tree_sitter_go::LANGUAGE.into(),
        }
    }

    /// Parses `text` in at most so many steps, and takes off those that it took. It is a count and no time, so that the
    /// same text is always read or never.
    fn parse(self, text: &str, steps: &mut usize) -> Option<tree_sitter::Tree> {
        let mut parser = Parser::new();
        parser.set_language(&self.grammar()).ok()?;
        let mut on = |_: &ParseState| match steps.checked_sub(1) {
            Some(left) => {
                *steps = left;
                ControlFlow::Continue(())
            }
            None => ControlFlow::Break(()),
        };
        let options = ParseOptions::new().progress_callback(&mut on);
        let mut bytes = |at: usize, _: Point| text.as_bytes().get(at..).unwrap_or_default();
        parser.parse_with_options(&mut bytes, None, Some(options))
    }
}

/// Whether tests are expected at this path, by the habits of its language.
pub(super) fn is_test_path(path: &str) -> bool {
    let lower = path.to_ascii_lowercase();
    let (folders, name) = lower.rsplit_once('/').unwrap_or(("", &lower));
    let stem = name.rsplit_once('.').map_or(name, |(stem, _)| stem);
    let among = |names: &[&str]| folders.split('/').any(|part| names.contains(&part));
    match Lang::of(&lower) {
        Some(Lang::Rust) => among(&["tests"]) || stem == "tests" || stem.ends_with("_test") || stem.ends_with("_tests"),
        Some(Lang::Python) => {
            stem.starts_with("test") || stem.ends_with("_test") || stem == "conftest" || among(&["test", "tests"])
        }
        Some(Lang::JavaScript | Lang::TypeScript | Lang::Tsx) => {
            [".test", ".spec", "-test", "_test", ".cy", ".e2e"].iter().any(|end| stem.ends_with(end))
                || among(&["test", "tests", "__tests__", "spec", "specs", "e2e", "cypress"])
                || stem == "test"
        }
        Some(Lang::Go) => stem.ends_with("_test"),
        None => false,
    }
}

/// Reads a file; `None` where it is too deep, or would take more than `steps`, from which those are
/// taken that it took.
pub(super) fn read(lang: Lang, path: &str, text: &str, steps: &mut usize) -> Option<Source> {
    if is_too_deep(text) {
        return None;
    }
    let tree = lang.parse(text, steps)?;
    let root: Node<'_> = tree.root_node();
    Some(match lang {
        Lang::Rust => rust::read(root, text),
        Lang::Python if is_test_path(path) => python::read(root, text, path),
        Lang::JavaScript | Lang::TypeScript | Lang::Tsx if is_test_path(path) || script::is_test(text) => {
            script::read(root, text)
        }
        Lang::Go if is_test_path(path) => go::read(root, text),
        Lang::Python | Lang::JavaScript | Lang::TypeScript | Lang::Tsx | Lang::Go => Source::default(),
    })
}

/// What pytest calls or reads by its name in a conftest.py, each as it is written; `None` where that cannot be told.
pub(crate) fn pytest_hooks(text: &str) -> Option<Vec<String>> {
    if text.len() > LARGEST || is_too_deep(text) {
        return None;
    }
    let tree = Lang::Python.parse(text, &mut 50_000)?;
    Some(python::hooks(tree.root_node(), text))
}

/// Whether brackets nest deeper than any source that somebody wrote: parsers take long to find out what that was meant to
/// be. (Brackets in strings and comments count too; that many are never left open there.)
fn is_too_deep(text: &str) -> bool {
    let mut depth = 0_usize;
    text.bytes().any(|byte| {
        match byte {
            b'(' | b'[' | b'{' => depth += 1,
            b')' | b']' | b'}' => depth = depth.saturating_sub(1),
            _ => {}
        }
        depth > BRACKETS
    })
}
