//! Python: pytest and unittest.

use tree_sitter::Node;

use super::{
    Source, Strength, Test, expr,
    walk::{self, Speech, arguments, called, children, descend, field, last_part, of, quote},
};

struct Python;

/// How far from each other two numbers may be that are the same but for rounding.
const ROUNDING: f64 = 1e-3;

impl Speech for Python {
    fn assertion(&self, node: Node<'_>, text: &str, _under: Option<Node<'_>>) -> Option<Strength> {
        match node.kind() {
            "assert_statement" => {
                let claim = *children(node).first()?;
                let strength = expr::strength(claim, text);
                Some(if is_wide_approx(claim, text) { strength.min(Strength::Partial) } else { strength })
            }
            "raise_statement" => of(node, text).contains("AssertionError").then_some(Strength::Partial),
            "call" => call(called(node, text)?, &arguments(node), text),
            _ => None,
        }
    }

    fn swallows(&self, node: Node<'_>, text: &str) -> bool {
        match node.kind() {
            "try_statement" => {
                children(node).iter().any(|clause| clause.kind() == "except_clause" && forgets(*clause, text))
            }
            "with_statement" => {
                let head = of(node, text).lines().next().unwrap_or_default();
                head.contains("suppress(") && is_broad(head)
            }
            _ => false,
        }
    }

    fn looped<'t>(&self, node: Node<'t>, _text: &str) -> Option<Option<Node<'t>>> {
        match node.kind() {
            "for_statement" => Some(node.child_by_field_name("right")),
            "while_statement" => Some(None),
            _ => None,
        }
    }

    fn branch<'t>(&self, node: Node<'t>) -> Option<(Node<'t>, Node<'t>)> {
        let is_if = matches!(node.kind(), "if_statement" | "while_statement");
        let then = node.child_by_field_name("consequence").or_else(|| node.child_by_field_name("body"));
        is_if.then_some(())?;
        Some((node.child_by_field_name("condition")?, then?))
    }
}

fn call(name: &str, arguments: &[Node<'_>], text: &str) -> Option<Strength> {
    let last = last_part(name);
    if matches!(name, "pytest.fail" | "self.fail" | "pytest.raises" | "pytest.warns") {
        return Some(Strength::Partial);
    }
    if !last.to_ascii_lowercase().starts_with("assert") || last.starts_with("AssertionError") {
        return None;
    }
    // A function of somebody's own, which may assert anything: looked for among the helpers.
    if !name.contains('.') && !expr::is_equality(last) {
        return None;
    }
    // What a mock was called with is about the mock.
    let mocked = ["assert_called", "assert_not_called", "assert_any_call", "assert_has_", "assert_awaited"];
    let mocked = mocked.iter().any(|start| last.starts_with(start));
    if !mocked && !arguments.is_empty() && arguments.iter().all(|argument| expr::literal(*argument, text)) {
        return Some(Strength::Vacuous);
    }
    Some(match (last, arguments) {
        ("assertTrue" | "assert_", [one, ..]) => expr::strength(*one, text),
        // What is denied by itself is nothing.
        ("assertFalse", [one, ..]) => match expr::constant(*one, text) {
            Some(value) if !value.holds() => Strength::Vacuous,
            _ => expr::strength(*one, text).max(Strength::Loose),
        },
        ("assertIsNotNone", [one, ..]) if expr::constant(*one, text).is_some() => Strength::Vacuous,
        ("assertIsNotNone" | "assertIsInstance" | "assert_called", _) => Strength::Loose,
        ("assertIsNone" | "assert_not_called", _) => Strength::Exact,
        ("assert_called_with" | "assert_called_once_with" | "assert_has_calls" | "assert_any_call", _) => {
            Strength::Exact
        }
        ("assertNotEqual" | "assertNotEquals", _) => Strength::Partial,
        ("assertAlmostEqual" | "assertAlmostEquals", [_, _, tolerance, ..]) if is_wide(*tolerance, text) => {
            Strength::Partial
        }
        (name, [one, other, ..]) if expr::is_equality(name) || name == "assertIs" => expr::equal(*one, *other, text),
        (name, _) if expr::is_equality(name) => Strength::Exact,
        _ => Strength::Partial,
    })
}

/// Whether a tolerance is more than what rounding leaves, or cannot be told: `delta=10`, `places=0`.
fn is_wide(tolerance: Node<'_>, text: &str) -> bool {
    let name = field(tolerance, "name", text);
    let value = tolerance.child_by_field_name("value").unwrap_or(tolerance);
    match expr::constant(value, text) {
        Some(expr::Constant::Number(most)) if name == "delta" => most.abs() > ROUNDING,
        Some(expr::Constant::Number(places)) => places < 3.0,
        _ => name != "msg",
    }
}

/// `pytest.approx(3, abs=10)`
fn is_wide_approx(node: Node<'_>, text: &str) -> bool {
    let mut wide = false;
    descend(node, &mut |node| {
        if node.kind() == "call" && called(node, text).is_some_and(|name| last_part(name) == "approx") {
            for argument in arguments(node).into_iter().skip(1) {
                let value = argument.child_by_field_name("value").unwrap_or(argument);
                wide |= match expr::constant(value, text) {
                    Some(expr::Constant::Number(most)) => most.abs() > ROUNDING,
                    _ => false,
                };
            }
        }
        true
    });
    wide
}

/// Whether an `except` takes failed assertions and says nothing of them.
fn forgets(clause: Node<'_>, text: &str) -> bool {
    let head = of(clause, text).lines().next().unwrap_or_default();
    let bare = head.trim_start_matches("except").trim_start().starts_with(':');
    let mut says = false;
    descend(clause, &mut |node| {
        says |= matches!(node.kind(), "raise_statement" | "assert_statement")
            || (node.kind() == "call" && call(called(node, text).unwrap_or_default(), &[], text).is_some());
        true
    });
    (bare || is_broad(head)) && !says
}

fn is_broad(head: &str) -> bool {
    let words = head.split(|c: char| !c.is_alphanumeric() && c != '_');
    words.into_iter().any(|word| matches!(word, "Exception" | "BaseException" | "AssertionError"))
}

pub(super) fn read(root: Node<'_>, text: &str, path: &str) -> Source {
    let mut source = Source::default();
    for statement in children(root) {
        module_skip(statement, text, path, &mut source);
    }
    block(root, text, &[], &mut source);
    source
}

/// What pytest looks for by its name, wherever it stands in the module.
pub(super) fn hooks(root: Node<'_>, text: &str) -> Vec<String> {
    let named = |name: &str| name.starts_with("pytest_") || name.starts_with("collect_ignore");
    let mut found = Vec::new();
    descend(root, &mut |node| {
        let is_hook = match node.kind() {
            "function_definition" => named(field(node, "name", text)),
            "assignment" => named(field(node, "left", text)),
            "import_from_statement" => {
                let words = of(node, text).split(|c: char| !c.is_alphanumeric() && !matches!(c, '_' | '*'));
                words.into_iter().any(|word| word == "*" || named(word))
            }
            _ => false,
        };
        if is_hook {
            found.push(of(node, text).to_owned());
        }
        !is_hook
    });
    found
}

/// What keeps a whole module from running.
fn module_skip(statement: Node<'_>, text: &str, path: &str, source: &mut Source) {
    let written = of(statement, text);
    let marks = written.starts_with("pytestmark") && marks_skip(written.split_once('=').map_or("", |(_, to)| to), None);
    let says_none = written.starts_with("__test__") && written.ends_with("False");
    let ignores = path.ends_with("conftest.py") && written.starts_with("collect_ignore");
    let calls = statement.kind() == "expression_statement"
        && ["pytest.skip(", "os._exit("].iter().any(|start| written.starts_with(start));
    if marks || says_none || ignores || calls {
        source.skips.push((path.to_owned(), walk::skip(statement, text)));
    }
}

fn block(body: Node<'_>, text: &str, within: &[String], source: &mut Source) {
    if within.len() > 20 {
        return;
    }
    for node in children(body) {
        let decorated = node.kind() == "decorated_definition";
        let definition = if decorated { node.child_by_field_name("definition") } else { Some(node) };
        let Some(definition) = definition else { continue };
        let decorators: Vec<Node<'_>> =
            children(node).into_iter().filter(|child| decorated && child.kind() == "decorator").collect();
        match definition.kind() {
            "class_definition" => class(definition, &decorators, text, within, source),
            "function_definition" => function(definition, &decorators, text, within, source),
            "if_statement" => {
                if let Some(then) = definition.child_by_field_name("consequence") {
                    block(then, text, within, source);
                }
            }
            _ => {}
        }
    }
}

fn class(node: Node<'_>, decorators: &[Node<'_>], text: &str, within: &[String], source: &mut Source) {
    let mut within = within.to_vec();
    within.push(field(node, "name", text).to_owned());
    for decorator in decorators.iter().filter(|decorator| is_skip(**decorator, text)) {
        source.skips.push((within.join("."), walk::skip(*decorator, text)));
    }
    let Some(body) = node.child_by_field_name("body") else { return };
    for statement in children(body) {
        let written = of(statement, text);
        if written.starts_with("__test__") && written.ends_with("False") {
            source.skips.push((within.join("."), walk::skip(statement, text)));
        }
    }
    block(body, text, &within, source);
}

fn function(node: Node<'_>, decorators: &[Node<'_>], text: &str, within: &[String], source: &mut Source) {
    let name = field(node, "name", text);
    let Some(body) = node.child_by_field_name("body") else { return };
    if !name.starts_with("test") {
        source.helpers.insert(name.to_owned(), walk::walk(&Python, body, text).assertions);
        return;
    }
    let name = within.iter().cloned().chain([name.to_owned()]).collect();
    let mut test: Test = walk::test(&Python, name, node, body, text);
    for decorator in decorators {
        if is_skip(*decorator, text) {
            test.skips.push(walk::skip(*decorator, text));
        }
        if of(*decorator, text).contains("parametrize") || of(*decorator, text).starts_with("@given") {
            test.assertions.iter_mut().for_each(|assertion| assertion.weight = walk::MANY);
        }
    }
    let statements = children(body);
    test.empty = test.assertions.is_empty() && statements.iter().all(|statement| is_idle(*statement, text));
    test.skips.extend(stops(&statements, text));
    source.tests.push(test);
}

/// What ends a test before its end, whatever happens.
fn stops(statements: &[Node<'_>], text: &str) -> Vec<super::Skip> {
    let mut found = Vec::new();
    for (index, statement) in statements.iter().enumerate() {
        let written = of(*statement, text);
        let rest = index + 1 < statements.len();
        let stops = match statement.kind() {
            "return_statement" => rest,
            "raise_statement" => written.contains("SkipTest"),
            "expression_statement" => {
                let ends = ["pytest.skip(", "self.skipTest(", "pytest.xfail(", "os._exit(", "sys.exit("];
                ends.iter().any(|start| written.starts_with(start))
            }
            "if_statement" => {
                let holds = statement.child_by_field_name("condition").is_some_and(|node| expr::holds_here(node, text));
                let then = statement.child_by_field_name("consequence").map(children).unwrap_or_default();
                let ends = then.iter().any(|node| matches!(node.kind(), "return_statement" | "raise_statement"))
                    || !stops(&then, text).is_empty();
                holds && ends
            }
            _ => false,
        };
        if stops {
            found.push(walk::skip(*statement, text));
        }
    }
    found
}

/// Whether a statement can do nothing but print.
fn is_idle(statement: Node<'_>, text: &str) -> bool {
    let first = children(statement).first().copied();
    match statement.kind() {
        "pass_statement" => true,
        "return_statement" => first.is_none_or(|value| expr::literal(value, text)),
        "expression_statement" => first.is_some_and(|value| match value.kind() {
            "string" | "ellipsis" => true,
            "call" => called(value, text).is_some_and(|name| {
                let args = arguments(value);
                let quiet = name == "print" || name.starts_with("logging.") || name.starts_with("logger.");
                quiet
                    && args.iter().all(|argument| !of(*argument, text).contains('(') || expr::literal(*argument, text))
            }),
            "assignment" => value.child_by_field_name("right").is_some_and(|right| expr::literal(right, text)),
            _ => expr::literal(value, text),
        }),
        _ => false,
    }
}

fn is_skip(decorator: Node<'_>, text: &str) -> bool {
    let Some(inner) = children(decorator).first().copied() else { return false };
    let first = arguments(inner).first().copied();
    let mark = of(decorator, text).trim_start_matches('@');
    marks_skip(mark, first.and_then(|node| expr::constant(node, text)))
        || mark.contains("skip") && first.is_some_and(|node| expr::asks_ralph(node, text))
}

/// Whether `mark` skips whatever happens; `condition` is its first argument, where that is known.
fn marks_skip(mark: &str, condition: Option<expr::Constant>) -> bool {
    let mark = quote(mark);
    let name = mark.split('(').next().unwrap_or_default().trim();
    let holds = condition.map(|value| value.holds());
    match last_part(name) {
        "skip" | "expectedFailure" => true,
        // With a condition that can be seen to vary it is about a platform or a version.
        "xfail" => !mark.contains('(') || holds != Some(false) && !mark.contains("sys.") && !mark.contains("condition"),
        "skipif" | "skipIf" => holds == Some(true) || mark.contains("condition=True"),
        "skipUnless" => holds == Some(false),
        _ => false,
    }
}
