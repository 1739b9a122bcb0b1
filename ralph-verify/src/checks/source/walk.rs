//! The way through a syntax tree that all languages share.

use std::collections::BTreeSet;

use tree_sitter::Node;

use super::{Assertion, Skip, Strength, Test, expr};

/// How deep a tree is followed: hostile files nest without end.
const DEEPEST: usize = 300;

/// How many cases a loop stands for that goes over something unknown.
pub(in crate::checks) const MANY: usize = 1000;

/// How long a quoted line becomes, in characters.
const QUOTED: usize = 160;

/// What a language says about its nodes.
pub(super) trait Speech {
    /// The strength of the assertion that `node` is, if it is one. `under` is the nearest condition around it.
    fn assertion(&self, node: Node<'_>, text: &str, under: Option<Node<'_>>) -> Option<Strength>;

    /// Whether a failure inside `node` is caught and forgotten.
    fn swallows(&self, node: Node<'_>, text: &str) -> bool;

    /// What `node` loops over, if it is a loop.
    fn looped<'t>(&self, node: Node<'t>, text: &str) -> Option<Option<Node<'t>>>;

    /// The condition of `node` and what is done where it holds.
    fn branch<'t>(&self, node: Node<'t>) -> Option<(Node<'t>, Node<'t>)>;
}

/// What was met in a body.
#[derive(Debug, Default)]
pub(super) struct Met {
    pub(super) assertions: Vec<Assertion>,
    pub(super) calls: BTreeSet<String>,
}

#[derive(Clone, Copy)]
struct Way<'t> {
    weight: usize,
    swallowed: bool,
    dead: bool,
    under: Option<Node<'t>>,
    depth: usize,
}

/// Everything that `body` asserts and calls.
pub(super) fn walk<'t>(speech: &impl Speech, body: Node<'t>, text: &str) -> Met {
    let mut met = Met::default();
    let way = Way { weight: 1, swallowed: false, dead: false, under: None, depth: 0 };
    step(speech, body, text, way, &mut met);
    met
}

fn step<'t>(speech: &impl Speech, node: Node<'t>, text: &str, mut way: Way<'t>, met: &mut Met) {
    way.depth += 1;
    if way.depth > DEEPEST {
        return;
    }
    if let Some(strength) = speech.assertion(node, text, way.under) {
        met.assertions.push(Assertion {
            line: line(node),
            text: quote(of(node, text)),
            strength: if way.dead { Strength::Vacuous } else { strength },
            weight: way.weight,
            swallowed: way.swallowed,
        });
        return;
    }
    if matches!(node.kind(), "call_expression" | "call" | "macro_invocation")
        && let Some(name) = called(node, text)
    {
        met.calls.insert(last_part(name).to_owned());
    }
    way.swallowed |= speech.swallows(node, text);
    if let Some(over) = speech.looped(node, text) {
        way.weight = way.weight.saturating_mul(over.map_or(MANY, cases)).min(MANY);
    }
    let branch = speech.branch(node);
    for child in children(node) {
        let mut way = way;
        if let Some((condition, _)) = branch.filter(|(_, then)| then.id() == child.id()) {
            way.dead |= expr::constant(condition, text).is_some_and(|value| !value.holds())
                || expr::asks_ralph(condition, text);
            way.under = Some(condition);
        }
        step(speech, child, text, way, met);
    }
}

/// How many cases there are to loop over, as far as can be seen.
fn cases(over: Node<'_>) -> usize {
    match over.kind() {
        "list" | "tuple" | "array" | "array_expression" | "literal_value" | "set" => over.named_child_count(),
        "reference_expression" | "parenthesized_expression" | "composite_literal" => {
            children(over).last().map_or(MANY, |inner| cases(*inner))
        }
        // A list of that name which is written out nearby is not looked for: it is taken for what it seems to be.
        _ => MANY,
    }
}

/// The named children of a node, without comments.
pub(super) fn children<'t>(node: Node<'t>) -> Vec<Node<'t>> {
    let mut cursor = node.walk();
    let found: Vec<_> = node.named_children(&mut cursor).collect();
    found.into_iter().filter(|child| !child.kind().ends_with("comment")).collect()
}

/// Every node below `node` and itself, bounded in depth.
pub(super) fn descend<'t>(node: Node<'t>, each: &mut impl FnMut(Node<'t>) -> bool) {
    fn go<'t>(node: Node<'t>, depth: usize, each: &mut impl FnMut(Node<'t>) -> bool) {
        if depth <= DEEPEST && each(node) {
            children(node).into_iter().for_each(|child| go(child, depth + 1, each));
        }
    }
    go(node, 0, each);
}

/// The text of a node.
pub(super) fn of<'s>(node: Node<'_>, text: &'s str) -> &'s str {
    text.get(node.byte_range()).unwrap_or_default()
}

/// The text of a node's field.
pub(super) fn field<'s>(node: Node<'_>, name: &str, text: &'s str) -> &'s str {
    node.child_by_field_name(name).map_or("", |node| of(node, text))
}

/// The line of a node, from 1.
pub(super) fn line(node: Node<'_>) -> u32 {
    u32::try_from(node.start_position().row).unwrap_or(u32::MAX - 1) + 1
}

/// What is called: `a.b.c` of `a.b.c(1)`.
pub(super) fn called<'s>(node: Node<'_>, text: &'s str) -> Option<&'s str> {
    let function = node.child_by_field_name("function").or_else(|| node.child_by_field_name("macro"))?;
    Some(of(function, text))
}

/// `c` of `a.b.c`, `a::b::c` and `a->c`.
pub(super) fn last_part(name: &str) -> &str {
    name.rsplit(['.', ':', '>', '!']).next().unwrap_or(name).trim()
}

/// The named arguments of a call.
pub(super) fn arguments<'t>(node: Node<'t>) -> Vec<Node<'t>> {
    node.child_by_field_name("arguments").map(children).unwrap_or_default()
}

/// A text without its line breaks and runs of space.
pub(in crate::checks) fn normal(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// One bounded line of it.
pub(super) fn quote(text: &str) -> String {
    let line = normal(text);
    match line.char_indices().nth(QUOTED) {
        Some((at, _)) => format!("{}…", &line[..at]),
        None => line,
    }
}

/// The lines of a body, without space around them, and without empty ones and brackets alone.
pub(super) fn body_lines(node: Node<'_>, text: &str) -> Vec<String> {
    let lines = of(node, text).lines().map(normal);
    lines.filter(|line| line.chars().any(char::is_alphanumeric)).collect()
}

/// A skip at `node`.
pub(super) fn skip(node: Node<'_>, text: &str) -> Skip {
    Skip { line: line(node), text: quote(of(node, text)) }
}

/// The test at `node` with this name and body.
pub(super) fn test(speech: &impl Speech, name: Vec<String>, node: Node<'_>, body: Node<'_>, text: &str) -> Test {
    let met = walk(speech, body, text);
    let first = of(node, text).lines().next().unwrap_or_default();
    Test {
        name,
        line: line(node),
        text: quote(first),
        body: body_lines(body, text),
        assertions: met.assertions,
        calls: met.calls,
        skips: Vec::new(),
        empty: false,
    }
}
