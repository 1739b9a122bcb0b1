//! JavaScript and TypeScript: Jest, Vitest, Mocha and Chai, node:test, Bun, Playwright.

use tree_sitter::Node;

use super::{
    Skip, Source, Strength, Test, expr,
    walk::{self, Speech, arguments, called, children, descend, last_part, of},
};

struct Script;

/// Modules whose import makes a file one of tests.
const RUNNERS: &[&str] =
    &["vitest", "node:test", "bun:test", "@jest/globals", "@playwright/test", "from \"mocha\"", "from 'mocha'"];

/// Whether a file that is named like any other has tests.
pub(super) fn is_test(text: &str) -> bool {
    RUNNERS.iter().any(|name| text.contains(name))
}

impl Speech for Script {
    fn assertion(&self, node: Node<'_>, text: &str, under: Option<Node<'_>>) -> Option<Strength> {
        match node.kind() {
            "call_expression" => {
                let name = called(node, text)?;
                let arguments = arguments(node);
                match expected(node, text) {
                    Some((subject, matcher)) => Some(matched(subject, &matcher, &arguments, text)),
                    None => plain(name, &arguments, text),
                }
            }
            // `expect(x).to.be.true;`
            "expression_statement" => {
                let member = children(node).into_iter().next().filter(|member| member.kind() == "member_expression")?;
                let (subject, matcher) = chain(member, text)?;
                Some(matched(Some(subject), &matcher, &[], text))
            }
            "throw_statement" => under.map(|condition| match expr::constant(condition, text) {
                Some(value) if !value.holds() => Strength::Vacuous,
                _ => Strength::Partial,
            }),
            _ => None,
        }
    }

    fn swallows(&self, node: Node<'_>, text: &str) -> bool {
        match node.kind() {
            "try_statement" => node.child_by_field_name("handler").is_some_and(|handler| is_silent(handler, text)),
            // `….catch(() => {})`
            "call_expression" => {
                let arguments = arguments(node);
                called(node, text).is_some_and(|name| name.ends_with(".catch"))
                    && arguments.first().is_some_and(|handler| is_silent(*handler, text))
            }
            _ => false,
        }
    }

    fn looped<'t>(&self, node: Node<'t>, text: &str) -> Option<Option<Node<'t>>> {
        match node.kind() {
            "for_in_statement" => Some(node.child_by_field_name("right")),
            "for_statement" | "while_statement" | "do_statement" => Some(None),
            "call_expression" => {
                let function = node.child_by_field_name("function")?;
                let property = function.child_by_field_name("property")?;
                let each = matches!(of(property, text), "forEach" | "map" | "each");
                each.then(|| function.child_by_field_name("object"))
            }
            _ => None,
        }
    }

    fn branch<'t>(&self, node: Node<'t>) -> Option<(Node<'t>, Node<'t>)> {
        (node.kind() == "if_statement").then_some(())?;
        Some((node.child_by_field_name("condition")?, node.child_by_field_name("consequence")?))
    }
}

/// Whether a handler forgets what it was given.
fn is_silent(handler: Node<'_>, text: &str) -> bool {
    let mut says = false;
    descend(handler, &mut |node| {
        says |= node.kind() == "throw_statement"
            || (node.kind() == "call_expression"
                && called(node, text).is_some_and(|name| {
                    let first = name.split(['.', '(']).next().unwrap_or_default();
                    matches!(first, "expect" | "assert" | "fail" | "done" | "reject" | "t")
                }));
        true
    });
    !says
}

/// What a call such as `expect(x).not.toBe(1)` expects of what.
fn expected<'t>(node: Node<'t>, text: &str) -> Option<(Option<Node<'t>>, String)> {
    let function = node.child_by_field_name("function")?;
    let (subject, matcher) = chain(function, text)?;
    Some((Some(subject), matcher))
}

/// The subject of `expect(subject).a.b` and `a.b`; of `expect(subject)` alone nothing.
fn chain<'t>(member: Node<'t>, text: &str) -> Option<(Node<'t>, String)> {
    let (mut node, mut parts) = (member, Vec::new());
    for _ in 0..20 {
        match node.kind() {
            "member_expression" => {
                parts.push(of(node.child_by_field_name("property")?, text).to_owned());
                node = node.child_by_field_name("object")?;
            }
            // `expect(x).to.have.length(2).and…`
            "call_expression" if called(node, text)? != "expect" => node = node.child_by_field_name("function")?,
            "call_expression" if !parts.is_empty() => {
                parts.reverse();
                return Some((arguments(node).into_iter().next()?, parts.join(".")));
            }
            _ => return None,
        }
    }
    None
}

fn matched(subject: Option<Node<'_>>, matcher: &str, arguments: &[Node<'_>], text: &str) -> Strength {
    let literal = subject.is_some_and(|node| expr::literal(node, text));
    if literal && arguments.iter().all(|argument| expr::literal(*argument, text)) {
        return Strength::Vacuous;
    }
    let negated = matcher.starts_with("not.") || matcher.contains(".not.");
    match (last_part(matcher), subject, arguments) {
        (
            "toBe" | "toEqual" | "toStrictEqual" | "equal" | "equals" | "eql" | "eq" | "deepEqual",
            Some(one),
            [other, ..],
        ) => match expr::equal(one, *other, text) {
            Strength::Vacuous => Strength::Vacuous,
            _ if negated => Strength::Partial,
            strength => strength,
        },
        ("toBeTruthy" | "toBeFalsy" | "ok" | "true" | "false" | "exist", Some(one), _) => {
            expr::strength(one, text).max(Strength::Loose)
        }
        ("toBeDefined" | "toBeInstanceOf" | "toHaveBeenCalled" | "toBeCalled" | "toBeTypeOf" | "a" | "an", ..) => {
            Strength::Loose
        }
        ("toBeNull" | "toBeUndefined" | "toBeNaN", ..) if negated => Strength::Loose,
        ("toBeNull" | "toBeUndefined" | "toBeNaN" | "null" | "undefined", ..) => Strength::Exact,
        (name, ..) if name.ends_with("Snapshot") || name.ends_with("CalledWith") || name.ends_with("ReturnedWith") => {
            Strength::Exact
        }
        _ => Strength::Partial,
    }
}

/// `assert(x)`, `assert.equal(a, b)`, `t.is(a, b)`.
fn plain(name: &str, arguments: &[Node<'_>], text: &str) -> Option<Strength> {
    let (of_what, method) = name.rsplit_once('.').unwrap_or(("", name));
    let bare = of_what.is_empty() && method == "assert" || name == "assert.ok" || name == "console.assert";
    let known = matches!(of_what, "assert" | "assert.strict" | "t" | "t.assert" | "chai.assert");
    if matches!(name, "fail" | "assert.fail" | "t.fail" | "expect.fail") {
        return Some(Strength::Partial);
    }
    match (method, arguments) {
        _ if bare => arguments.first().map(|one| expr::strength(*one, text)),
        ("pass", _) if known => Some(Strength::Vacuous),
        _ if !known || arguments.is_empty() => None,
        (
            "plan" | "timeout" | "log" | "context" | "teardown" | "after" | "before" | "skip" | "todo" | "test"
            | "diagnostic",
            _,
        ) => None,
        _ if arguments.iter().all(|argument| expr::literal(*argument, text)) => Some(Strength::Vacuous),
        ("ok" | "true" | "truthy" | "isTrue" | "isOk" | "exists" | "isDefined", [one, ..]) => {
            Some(expr::strength(*one, text))
        }
        (name, [one, other, ..]) if !name.to_ascii_lowercase().starts_with("not") && expr::is_equality(name) => {
            Some(expr::equal(*one, *other, text))
        }
        _ => Some(Strength::Partial),
    }
}

/// The calls that make a test, and those that hold several.
const TESTS: &[&str] = &["it", "test", "xit", "xtest", "fit", "specify", "Deno.test"];
const SUITES: &[&str] = &["describe", "context", "suite", "xdescribe", "fdescribe"];

pub(super) fn read(root: Node<'_>, text: &str) -> Source {
    let mut source = Source::default();
    below(root, text, &[], &mut source, 0);
    source
}

fn below(node: Node<'_>, text: &str, within: &[String], source: &mut Source, depth: usize) {
    if depth > 200 {
        return;
    }
    if node.kind() == "call_expression" && call(node, text, within, source, depth) {
        return;
    }
    if node.kind() == "function_declaration" || node.kind() == "variable_declarator" {
        helper(node, text, source);
    }
    for child in children(node) {
        below(child, text, within, source, depth + 1);
    }
}

fn helper(node: Node<'_>, text: &str, source: &mut Source) {
    let value = node.child_by_field_name("value");
    let is_function = node.kind() == "function_declaration" || value.is_some_and(|value| is_function(value));
    let body = node.child_by_field_name("body").or_else(|| value?.child_by_field_name("body"));
    if let (true, Some(body)) = (is_function, body) {
        let name = walk::field(node, "name", text).to_owned();
        source.helpers.insert(name, walk::walk(&Script, body, text).assertions);
    }
}

fn is_function(node: Node<'_>) -> bool {
    matches!(node.kind(), "arrow_function" | "function_expression" | "function" | "generator_function")
}

/// Whether the call made a test or held some.
fn call(node: Node<'_>, text: &str, within: &[String], source: &mut Source, depth: usize) -> bool {
    let name = called(node, text).unwrap_or_default();
    // `it.each(table)("…", …)` and `test.skipIf(x)("…", …)`
    let table = name.contains(".each") || name.contains(".for(");
    let head = name.split(['(', '`']).next().unwrap_or_default().trim();
    let base = head.split('.').next().unwrap_or_default();
    let is_test = TESTS.contains(&base) || head == "Deno.test";
    if !is_test && !SUITES.contains(&base) {
        return false;
    }
    let given = arguments(node);
    let title = given.first().filter(|first| matches!(first.kind(), "string" | "template_string"));
    let function = given.iter().rev().find(|argument| is_function(**argument));
    let suite = !is_test || head.starts_with("test.describe");
    let mut skips: Vec<Skip> = Vec::new();
    let first_line = Skip { line: walk::line(node), text: first_line(node, text) };
    let part = |word: &str| head.split('.').skip(1).any(|part| part == word);
    let off = ["skip", "todo", "only", "failing", "fails", "fixme", "fail"].iter().any(|word| part(word))
        || matches!(base, "xit" | "xtest" | "xdescribe" | "fit" | "fdescribe");
    let condition = node.child_by_field_name("function").and_then(|inner| arguments(inner).into_iter().next());
    let when = |word: &str, holds: bool| {
        name.contains(word)
            && condition.is_some_and(|node| {
                expr::constant(node, text).is_some_and(|value| value.holds() == holds) || expr::asks_ralph(node, text)
            })
    };
    let options = given.iter().any(|argument| {
        argument.kind() == "object"
            && children(*argument).iter().any(|pair| {
                let key = walk::field(*pair, "key", text);
                matches!(key, "skip" | "todo" | "only")
                    && pair
                        .child_by_field_name("value")
                        .and_then(|v| expr::constant(v, text))
                        .is_some_and(|v| v.holds())
            })
    });
    let Some(title) = title else {
        // `test.skip()` of Playwright; with a condition it is honest.
        if off && given.first().is_none_or(|first| expr::constant(*first, text).is_some_and(|value| value.holds())) {
            source.skips.push((within.join(" > "), first_line));
            return true;
        }
        return false;
    };
    if off
        || options
        || when(".skipIf", true)
        || when(".runIf", false)
        || (!suite && function.is_none() && given.len() == 1)
    {
        skips.push(first_line);
    }
    let mut name = within.to_vec();
    name.push(of(*title, text).trim_matches(['"', '\'', '`']).to_owned());
    let body = function.and_then(|function| function.child_by_field_name("body"));
    if suite {
        source.skips.extend(skips.into_iter().map(|skip| (name.join(" > "), skip)));
        if let (Some(body), true) = (body, name.len() < 20) {
            below(body, text, &name, source, depth + 1);
        }
        return true;
    }
    let mut test: Test = match body {
        Some(body) => walk::test(&Script, name, node, body, text),
        None => Test { body: Vec::new(), ..walk::test(&Script, name, node, node, text) },
    };
    if table {
        test.assertions.iter_mut().for_each(|assertion| assertion.weight = walk::MANY);
    }
    if let Some(body) = body {
        let statements = if body.kind() == "statement_block" { children(body) } else { vec![body] };
        test.empty = test.assertions.is_empty() && statements.iter().all(|statement| is_idle(*statement, text));
        skips.extend(stops(&statements, text));
    }
    test.skips = skips;
    source.tests.push(test);
    true
}

fn first_line(node: Node<'_>, text: &str) -> String {
    walk::quote(of(node, text).lines().next().unwrap_or_default())
}

fn stops(statements: &[Node<'_>], text: &str) -> Vec<Skip> {
    let mut found = Vec::new();
    for (index, statement) in statements.iter().enumerate() {
        let stops = match statement.kind() {
            "return_statement" => index + 1 < statements.len(),
            "expression_statement" => {
                let call = children(*statement).first().copied();
                let name = call.and_then(|call| called(call, text)).unwrap_or_default();
                let first = call.and_then(|call| arguments(call).into_iter().next());
                let sure = first.is_none_or(|first| expr::constant(first, text).is_some_and(|value| value.holds()));
                name == "process.exit"
                    || matches!(
                        name,
                        "t.skip" | "this.skip" | "ctx.skip" | "context.skip" | "test.skip" | "t.todo" | "test.fixme"
                    ) && sure
            }
            "if_statement" => Script.branch(*statement).is_some_and(|(condition, then)| {
                let inner = if then.kind() == "statement_block" { children(then) } else { vec![then] };
                let ends =
                    inner.iter().any(|node| node.kind() == "return_statement") || !stops(&inner, text).is_empty();
                expr::holds_here(condition, text) && ends
            }),
            _ => false,
        };
        if stops {
            found.push(walk::skip(*statement, text));
        }
    }
    found
}

fn is_idle(statement: Node<'_>, text: &str) -> bool {
    let inner = match statement.kind() {
        "expression_statement" => children(statement).first().copied(),
        _ => Some(statement),
    };
    let Some(inner) = inner else { return true };
    match inner.kind() {
        "empty_statement" => true,
        "return_statement" => children(inner).iter().all(|value| expr::literal(*value, text)),
        "call_expression" => {
            let quiet = called(inner, text).is_some_and(|name| name.starts_with("console.") || name == "done");
            quiet && arguments(inner).iter().all(|argument| !of(*argument, text).contains('('))
        }
        "lexical_declaration" => children(inner)
            .iter()
            .all(|one| one.child_by_field_name("value").is_some_and(|value| expr::literal(value, text))),
        _ => expr::literal(inner, text),
    }
}
