//! Rust: the built-in tests and the attributes that make them.

use tree_sitter::Node;

use super::{
    Lang, Skip, Source, Strength, Test, expr,
    walk::{self, Speech, called, children, descend, field, last_part, normal, of},
};

struct Rust;

impl Speech for Rust {
    fn assertion(&self, node: Node<'_>, text: &str, under: Option<Node<'_>>) -> Option<Strength> {
        if node.kind() != "macro_invocation" {
            return None;
        }
        let name = last_part(field(node, "macro", text));
        let plain = name.strip_prefix("debug_").or_else(|| name.strip_prefix("prop_")).unwrap_or(name);
        // Under a condition it says that this does not hold; elsewhere it only ends an arm that nobody expects.
        if matches!(name, "panic" | "unreachable") {
            return under.map(|condition| match expr::constant(condition, text) {
                Some(value) if !value.holds() => Strength::Vacuous,
                _ => Strength::Partial,
            });
        }
        if !plain.starts_with("assert") {
            return None;
        }
        let tokens = children(node).into_iter().find(|child| child.kind() == "token_tree")?;
        let inside = of(tokens, text);
        let inside = inside.get(1..inside.len().saturating_sub(1)).unwrap_or_default();
        with_arguments(inside, |arguments, text| match (plain, arguments) {
            ("assert", [one, ..]) => expr::strength(*one, text),
            ("assert_eq", [one, other, ..]) => expr::equal(*one, *other, text),
            ("assert_ne", [one, other, ..]) if expr::literal(*one, text) && expr::literal(*other, text) => {
                Strength::Vacuous
            }
            ("assert_ne" | "assert_matches" | "assert_contains", _) => Strength::Partial,
            // Snapshots and the like.
            _ => Strength::Exact,
        })
        .or(Some(Strength::Exact))
    }

    /// `let _ = catch_unwind(…)` and the same as a statement.
    fn swallows(&self, node: Node<'_>, text: &str) -> bool {
        let caught = |node: Node<'_>| {
            node.kind() == "call_expression" && called(node, text).is_some_and(|name| last_part(name) == "catch_unwind")
        };
        match node.kind() {
            "let_declaration" => {
                field(node, "pattern", text).starts_with('_') && node.child_by_field_name("value").is_some_and(caught)
            }
            "expression_statement" => children(node).first().copied().is_some_and(caught),
            _ => false,
        }
    }

    fn looped<'t>(&self, node: Node<'t>, _text: &str) -> Option<Option<Node<'t>>> {
        match node.kind() {
            "for_expression" => Some(node.child_by_field_name("value")),
            "while_expression" | "loop_expression" => Some(None),
            _ => None,
        }
    }

    fn branch<'t>(&self, node: Node<'t>) -> Option<(Node<'t>, Node<'t>)> {
        matches!(node.kind(), "if_expression" | "while_expression").then_some(())?;
        let then = node.child_by_field_name("consequence").or_else(|| node.child_by_field_name("body"));
        Some((node.child_by_field_name("condition")?, then?))
    }
}

/// What a macro is given is tokens to the grammar: read as arguments of a call.
fn with_arguments<T>(tokens: &str, judge: impl FnOnce(&[Node<'_>], &str) -> T) -> Option<T> {
    let text = format!("fn f() {{ f({tokens}) }}");
    let tree = Lang::Rust.parse(&text, &mut 1000)?;
    let mut call = None;
    descend(tree.root_node(), &mut |node| {
        if call.is_none() && node.kind() == "call_expression" {
            call = Some(node);
        }
        call.is_none()
    });
    let arguments = walk::arguments(call?);
    Some(judge(&arguments, &text))
}

pub(super) fn read(root: Node<'_>, text: &str) -> Source {
    let mut source = Source::default();
    items(root, text, &[], &mut source);
    source
}

fn items(body: Node<'_>, text: &str, within: &[String], source: &mut Source) {
    if within.len() > 20 {
        return;
    }
    let mut attributes: Vec<Node<'_>> = Vec::new();
    for node in children(body) {
        match node.kind() {
            "attribute_item" => {
                attributes.push(node);
                continue;
            }
            "inner_attribute_item" if is_off(&bare(node, text)) => {
                source.skips.push((within.join("::"), walk::skip(node, text)));
            }
            "mod_item" => {
                let mut within = within.to_vec();
                within.push(field(node, "name", text).to_owned());
                for attribute in attributes.iter().filter(|attribute| is_off(&bare(**attribute, text))) {
                    source.skips.push((within.join("::"), walk::skip(*attribute, text)));
                }
                if let Some(body) = node.child_by_field_name("body") {
                    items(body, text, &within, source);
                }
            }
            "impl_item" => {
                if let Some(body) = node.child_by_field_name("body") {
                    items(body, text, within, source);
                }
            }
            "function_item" => function(node, &attributes, text, within, source),
            _ => {}
        }
        attributes.clear();
    }
}

fn function(node: Node<'_>, attributes: &[Node<'_>], text: &str, within: &[String], source: &mut Source) {
    let (name, Some(body)) = (field(node, "name", text), node.child_by_field_name("body")) else { return };
    let bare: Vec<String> = attributes.iter().map(|attribute| bare(*attribute, text)).collect();
    if !bare.iter().any(|attribute| makes_test(attribute)) {
        source.helpers.insert(name.to_owned(), walk::walk(&Rust, body, text).assertions);
        return;
    }
    let name = within.iter().cloned().chain([name.to_owned()]).collect();
    let mut test: Test = walk::test(&Rust, name, node, body, text);
    for (attribute, bare) in attributes.iter().zip(&bare) {
        let head = bare.split(['(', '=']).next().unwrap_or_default().trim();
        if head == "ignore" || is_off(bare) {
            test.skips.push(walk::skip(*attribute, text));
        }
        if head == "should_panic" {
            // What it asserts is what is to fail now.
            if test.assertions.iter().any(|one| one.strength != Strength::Vacuous) {
                test.skips.push(walk::skip(*attribute, text));
            }
            test.assertions.push(super::Assertion {
                line: walk::line(*attribute),
                text: walk::quote(of(*attribute, text)),
                strength: Strength::Partial,
                weight: 1,
                swallowed: false,
            });
        }
        if head.contains("case") || head.contains("rstest") {
            test.assertions.iter_mut().for_each(|assertion| assertion.weight = walk::MANY);
        }
    }
    let statements = children(body);
    test.empty = test.assertions.is_empty() && statements.iter().all(|statement| is_idle(*statement, text));
    test.skips.extend(stops(&statements, text));
    source.tests.push(test);
}

/// `cfg(any())` of `#[cfg(any())]`.
fn bare(attribute: Node<'_>, text: &str) -> String {
    let inside = of(attribute, text).trim_start_matches(['#', '!']).trim();
    normal(inside.trim_start_matches('[').trim_end_matches(']'))
}

fn makes_test(attribute: &str) -> bool {
    let name = attribute.split(['(', '=']).next().unwrap_or_default().trim();
    matches!(last_part(name), "test" | "rstest" | "test_case" | "wasm_bindgen_test" | "quickcheck" | "proptest")
        || last_part(name).ends_with("_test")
}

/// Whether an attribute takes what it stands at out of every build, or ignores it in every one.
fn is_off(attribute: &str) -> bool {
    let plain: String = attribute.chars().filter(|c| !c.is_whitespace()).collect();
    let never = ["any()", "not(all())", "FALSE", "false", "not(test)"];
    let always = ["all()", "not(any())", "test", "true"];
    never.iter().any(|no| plain == format!("cfg({no})") || plain.starts_with(&format!("cfg(all({no},")))
        || always.iter().any(|yes| plain.starts_with(&format!("cfg_attr({yes},ignore")))
}

fn stops(statements: &[Node<'_>], text: &str) -> Vec<Skip> {
    let mut found = Vec::new();
    for (index, statement) in statements.iter().enumerate() {
        let inner = match statement.kind() {
            "expression_statement" => children(*statement).first().copied(),
            _ => Some(*statement),
        };
        let Some(inner) = inner else { continue };
        let stops = match inner.kind() {
            "return_expression" => index + 1 < statements.len(),
            // It ends the runner's process with it.
            "call_expression" => called(inner, text).is_some_and(|name| name.ends_with("process::exit")),
            "if_expression" => Rust.branch(inner).is_some_and(|(condition, then)| {
                let mut ends = false;
                for node in children(then) {
                    ends |= of(node, text).starts_with("return");
                }
                expr::holds_here(condition, text) && ends
            }),
            _ => false,
        };
        if stops {
            found.push(walk::skip(inner, text));
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
        "empty_statement" | "unit_expression" | "use_declaration" => true,
        "macro_invocation" => {
            let name = last_part(field(inner, "macro", text));
            let quiet = matches!(name, "println" | "eprintln" | "print" | "eprint" | "dbg");
            quiet && of(inner, text).matches('(').count() <= 1
        }
        "let_declaration" => inner.child_by_field_name("value").is_some_and(|value| expr::literal(value, text)),
        "return_expression" => true,
        // `Ok(())`
        "call_expression" => normal(of(inner, text)) == "Ok(())",
        _ => expr::literal(inner, text),
    }
}
