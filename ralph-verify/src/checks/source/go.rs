//! Go: the testing package, and testify.

use tree_sitter::Node;

use super::{
    Skip, Source, Strength, Test, expr,
    walk::{self, Speech, arguments, called, children, field, last_part, of},
};

struct Go;

/// Methods of `testing.T` that make a test fail.
const FAILS: &[&str] = &["Error", "Errorf", "Fatal", "Fatalf", "Fail", "FailNow"];

/// What a test is handed, by habit.
const HANDLES: &[&str] = &["t", "tt", "tb", "b", "f", "s.T()", "s", "suite"];

impl Speech for Go {
    fn assertion(&self, node: Node<'_>, text: &str, under: Option<Node<'_>>) -> Option<Strength> {
        if node.kind() != "call_expression" {
            return None;
        }
        let name = called(node, text)?;
        let (of_what, method) = name.rsplit_once('.')?;
        let arguments = arguments(node);
        if HANDLES.contains(&of_what) && FAILS.contains(&method) {
            return Some(under.map_or(Strength::Partial, |condition| denied(condition, text)));
        }
        if !matches!(of_what, "assert" | "require" | "s" | "suite" | "s.Require()" | "s.Assert()" | "is") {
            return None;
        }
        // What follows the handle, where it is handed on.
        let handed = arguments.first().is_some_and(|first| HANDLES.contains(&of(*first, text)));
        let values = if handed { arguments.get(1..).unwrap_or_default() } else { &arguments[..] };
        testify(method.trim_end_matches('f'), values, text)
    }

    fn swallows(&self, _node: Node<'_>, _text: &str) -> bool {
        false
    }

    fn looped<'t>(&self, node: Node<'t>, text: &str) -> Option<Option<Node<'t>>> {
        (node.kind() == "for_statement").then(|| {
            let range = children(node).into_iter().find(|child| child.kind() == "range_clause");
            let over = range.and_then(|range| range.child_by_field_name("right"));
            over.filter(|over| !of(*over, text).is_empty())
        })
    }

    fn branch<'t>(&self, node: Node<'t>) -> Option<(Node<'t>, Node<'t>)> {
        (node.kind() == "if_statement").then_some(())?;
        Some((node.child_by_field_name("condition")?, node.child_by_field_name("consequence")?))
    }
}

/// How much it says that this condition does not hold.
fn denied(condition: Node<'_>, text: &str) -> Strength {
    if expr::constant(condition, text).is_some_and(|value| !value.holds()) {
        return Strength::Vacuous;
    }
    if condition.kind() == "binary_expression"
        && let [left, right] = children(condition)[..]
    {
        let nil = [left, right].iter().any(|side| side.kind() == "nil");
        return match expr::operator(left, right, text) {
            // `err != nil`: that it went well.
            "!=" | "==" if nil => Strength::Loose,
            "!=" => expr::equal(left, right, text),
            "||" => denied(left, text).max(denied(right, text)),
            "&&" => denied(left, text).min(denied(right, text)),
            _ => Strength::Partial,
        };
    }
    expr::strength(condition, text).max(Strength::Loose)
}

fn testify(method: &str, values: &[Node<'_>], text: &str) -> Option<Strength> {
    Some(match (method, values) {
        ("True", [one, ..]) => expr::strength(*one, text),
        ("False", [one, ..]) => match expr::constant(*one, text) {
            Some(value) if !value.holds() => Strength::Vacuous,
            _ => expr::strength(*one, text).max(Strength::Loose),
        },
        ("NotNil" | "NoError" | "NotEmpty" | "NotZero" | "NotPanics" | "IsType" | "Implements", _) => Strength::Loose,
        ("Equal" | "EqualValues" | "Exactly" | "Same", [one, other, ..]) => expr::equal(*one, *other, text),
        ("JSONEq" | "YAMLEq" | "ElementsMatch" | "EqualError" | "ErrorIs" | "Nil" | "InDelta", _) => Strength::Exact,
        (name, _) if name.starts_with(|c: char| c.is_ascii_uppercase()) && name != "T" && name != "Require" => {
            Strength::Partial
        }
        _ => return None,
    })
}

pub(super) fn read(root: Node<'_>, text: &str) -> Source {
    let mut source = Source::default();
    for (index, line) in text.lines().enumerate().take_while(|(_, line)| !line.starts_with("package ")) {
        let words: Vec<&str> = line.split_whitespace().collect();
        let ignored = matches!(words[..], ["//go:build", "ignore", ..] | ["//", "+build", "ignore", ..]);
        if ignored || words == ["//go:build", "never"] {
            let skip = Skip { line: u32::try_from(index).unwrap_or(0) + 1, text: line.trim().to_owned() };
            source.skips.push((String::new(), skip));
        }
    }
    for node in children(root) {
        if !matches!(node.kind(), "function_declaration" | "method_declaration") {
            continue;
        }
        let (name, Some(body)) = (field(node, "name", text), node.child_by_field_name("body")) else { continue };
        let takes = field(node, "parameters", text);
        let plain =
            node.kind() == "function_declaration" && (takes.contains("testing.T") || takes.contains("testing.F"));
        let is_test = (plain || node.kind() == "method_declaration" && takes == "()")
            && (starts(name, "Test") || starts(name, "Fuzz"))
            && name != "TestMain";
        if name == "TestMain" && ends_well(body, text) {
            source.skips.push((String::new(), walk::skip(node, text)));
        }
        if !is_test {
            source.helpers.insert(name.to_owned(), walk::walk(&Go, body, text).assertions);
            continue;
        }
        let receiver = node.child_by_field_name("receiver").map(|node| of(node, text).to_owned());
        let name = receiver.into_iter().chain([name.to_owned()]).collect();
        let mut test: Test = walk::test(&Go, name, node, body, text);
        let statements = statements(body);
        test.empty = test.assertions.is_empty() && statements.iter().all(|statement| is_idle(*statement, text));
        test.skips = stops(&statements, text);
        source.tests.push(test);
    }
    source
}

/// Whether a TestMain runs no tests, or exits with a code that does not come from them.
fn ends_well(body: Node<'_>, text: &str) -> bool {
    let (mut runs, mut forgets, mut exits) = (false, false, false);
    walk::descend(body, &mut |node| {
        match node.kind() {
            "expression_statement" => {
                forgets |= children(node).first().is_some_and(|call| is_run(*call, text));
            }
            "call_expression" => {
                runs |= is_run(node, text);
                // What is handed on may run them.
                runs |= arguments(node).iter().any(|argument| of(*argument, text) == "m");
                let code = arguments(node).into_iter().next();
                exits |= called(node, text) == Some("os.Exit") && code.is_some_and(|code| expr::literal(code, text));
            }
            _ => {}
        }
        true
    });
    !runs || forgets && exits
}

fn is_run(call: Node<'_>, text: &str) -> bool {
    called(call, text).is_some_and(|name| name.ends_with(".Run")) && arguments(call).is_empty()
}

/// `TestX` and `Test_x` are tests, `Testx` is none.
fn starts(name: &str, with: &str) -> bool {
    name.strip_prefix(with).is_some_and(|rest| !rest.starts_with(|c: char| c.is_lowercase()))
}

/// The statements of a block, of which the grammar makes a list within it.
fn statements<'t>(block: Node<'t>) -> Vec<Node<'t>> {
    let inner = children(block);
    match inner[..] {
        [list] if list.kind() == "statement_list" => children(list),
        _ => inner,
    }
}

fn stops(statements: &[Node<'_>], text: &str) -> Vec<Skip> {
    let mut found = Vec::new();
    for (index, statement) in statements.iter().enumerate() {
        let stops = match statement.kind() {
            "return_statement" => index + 1 < statements.len(),
            "expression_statement" => {
                let name = children(*statement).first().and_then(|call| called(*call, text)).unwrap_or_default();
                let (handle, method) = name.rsplit_once('.').unwrap_or(("", ""));
                HANDLES.contains(&handle) && matches!(method, "Skip" | "Skipf" | "SkipNow") || name == "os.Exit"
            }
            "if_statement" => Go.branch(*statement).is_some_and(|(condition, then)| {
                let inner = self::statements(then);
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
    match statement.kind() {
        "return_statement" | "empty_statement" => true,
        "expression_statement" => children(statement).first().is_some_and(|call| {
            let quiet = called(*call, text).is_some_and(|name| {
                matches!(last_part(name), "Log" | "Logf" | "Helper" | "Parallel" | "Println" | "Printf")
            });
            quiet && arguments(*call).iter().all(|argument| !of(*argument, text).contains('('))
        }),
        // `_ = x`: so that the compiler keeps still.
        "assignment_statement" => {
            field(statement, "left", text) == "_" && !field(statement, "right", text).contains('(')
        }
        _ => false,
    }
}
