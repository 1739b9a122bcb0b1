//! What can be said about an expression without running it.

use tree_sitter::Node;

use super::{
    Strength,
    walk::{arguments, called, children, last_part, normal, of},
};

/// How deep an expression is followed.
const DEEPEST: usize = 40;

/// A value that is written in the source.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Constant {
    Bool(bool),
    Number(f64),
    Text(String),
    Null,
    /// A list, a tuple or a map, with something in it or not.
    Some(bool),
}

impl Constant {
    /// Whether it is known as a whole, and not only whether there is something in it.
    fn is_plain(&self) -> bool {
        !matches!(self, Self::Some(_))
    }

    /// Whether it counts as true. (Rust and Go know only booleans here.)
    pub(super) fn holds(&self) -> bool {
        match self {
            Self::Bool(value) | Self::Some(value) => *value,
            Self::Number(value) => *value != 0.0,
            Self::Text(value) => !value.is_empty(),
            Self::Null => false,
        }
    }
}

/// The value of an expression that has the same one whatever happens.
pub(super) fn constant(node: Node<'_>, text: &str) -> Option<Constant> {
    eval(node, text, 0)
}

/// What a verifier's process is told by Ralph.
const OURS: &[&str] = &["RALPH_RUN_ID", "RALPH_STAGE", "RALPH_EVIDENCE", "RALPH_ITEM_ID", "RALPH_ATTEMPT"];

/// Whether it asks for one of Ralph's own variables: who does that wants to know whether he is judged.
pub(super) fn asks_ralph(node: Node<'_>, text: &str) -> bool {
    let mut asks = false;
    super::walk::descend(node, &mut |node| {
        let is_text = node.kind().contains("string");
        asks |= is_text && OURS.contains(&of(node, text).trim_matches(['"', '\'', '`']));
        // `process.env.RALPH_STAGE`
        asks |= node.kind() == "property_identifier" && OURS.contains(&of(node, text));
        !asks
    });
    asks
}

/// Whether a condition holds whenever Ralph looks.
pub(super) fn holds_here(node: Node<'_>, text: &str) -> bool {
    constant(node, text).is_some_and(|value| value.holds()) || asks_ralph(node, text)
}

fn eval(node: Node<'_>, text: &str, depth: usize) -> Option<Constant> {
    if depth > DEEPEST {
        return None;
    }
    let parts = children(node);
    let written = of(node, text);
    match node.kind() {
        "true" | "True" => Some(Constant::Bool(true)),
        "false" | "False" => Some(Constant::Bool(false)),
        "boolean_literal" => Some(Constant::Bool(written == "true")),
        "none" | "null" | "nil" | "undefined" => Some(Constant::Null),
        "integer" | "float" | "integer_literal" | "float_literal" | "number" | "int_literal" => number(written),
        "string" | "string_literal" | "interpreted_string_literal" | "raw_string_literal" | "template_string" => {
            let fixed = !parts.iter().any(|part| matches!(part.kind(), "interpolation" | "template_substitution"));
            fixed.then(|| Constant::Text(written.trim_matches(['"', '\'', '`']).to_owned()))
        }
        "tuple" | "list" | "dictionary" | "set" => Some(Constant::Some(!parts.is_empty())),
        // In JavaScript an empty one counts as true as well.
        "array" | "object" => Some(Constant::Some(true)),
        "parenthesized_expression" | "expression_statement" => eval(*parts.first()?, text, depth + 1),
        "not_operator" | "unary_expression" | "unary_operator" => {
            let inner = eval(*parts.last()?, text, depth + 1)?;
            match (written.trim_start().chars().next()?, inner) {
                ('!' | 'n', inner) => Some(Constant::Bool(!inner.holds())),
                ('-', Constant::Number(value)) => Some(Constant::Number(-value)),
                _ => None,
            }
        }
        "binary_expression" | "comparison_operator" | "boolean_operator" | "binary_operator" if parts.len() == 2 => {
            binary(&parts, text, depth)
        }
        _ => None,
    }
}

fn number(written: &str) -> Option<Constant> {
    let plain: String = written.chars().filter(|c| *c != '_').collect();
    let end = plain.find(|c: char| c.is_ascii_alphabetic()).unwrap_or(plain.len());
    // `1e-9` as a whole, `1u8` without its kind.
    plain.parse().or_else(|_| plain[..end].parse()).ok().map(Constant::Number)
}

/// Whether all of it is written out, to the last element.
pub(super) fn literal(node: Node<'_>, text: &str) -> bool {
    match constant(node, text) {
        Some(Constant::Some(_)) => children(node).iter().all(|part| match part.kind() {
            "pair" => children(*part).iter().all(|side| literal(*side, text)),
            _ => literal(*part, text),
        }),
        Some(_) => true,
        None => false,
    }
}

/// The operator between two operands.
pub(super) fn operator<'s>(left: Node<'_>, right: Node<'_>, text: &'s str) -> &'s str {
    text.get(left.end_byte()..right.start_byte()).unwrap_or_default().trim()
}

fn binary(parts: &[Node<'_>], text: &str, depth: usize) -> Option<Constant> {
    let [left, right] = parts else { return None };
    let sign = operator(*left, *right, text);
    let (one, other) = (eval(*left, text, depth + 1), eval(*right, text, depth + 1));
    if matches!(sign, "and" | "&&" | "or" | "||") {
        let or = matches!(sign, "or" | "||");
        let decided = |value: &Option<Constant>| value.as_ref().is_some_and(|value| value.holds() == or);
        return match (&one, &other) {
            _ if decided(&one) || decided(&other) => Some(Constant::Bool(or)),
            (Some(_), Some(_)) => Some(Constant::Bool(!or)),
            _ => None,
        };
    }
    if let (Some(one), Some(other)) = (&one, &other)
        && one.is_plain()
        && other.is_plain()
    {
        return compare(sign, one, other).map(Constant::Bool);
    }
    if same(*left, *right, text) {
        match sign {
            "==" | "===" | "is" | ">=" | "<=" => return Some(Constant::Bool(true)),
            "!=" | "!==" | "is not" | "<" | ">" => return Some(Constant::Bool(false)),
            _ => {}
        }
    }
    // Lengths are not negative.
    let length = of(*left, text);
    let is_length = length.ends_with(".len()") || length.ends_with(".length") || length.starts_with("len(");
    match (sign, other) {
        (">=", Some(Constant::Number(0.0))) if is_length => Some(Constant::Bool(true)),
        (">", Some(Constant::Number(value))) if is_length && value < 0.0 => Some(Constant::Bool(true)),
        _ => None,
    }
}

fn compare(sign: &str, one: &Constant, other: &Constant) -> Option<bool> {
    let order = match (one, other) {
        (Constant::Number(one), Constant::Number(other)) => one.partial_cmp(other),
        (Constant::Text(one), Constant::Text(other)) => Some(one.cmp(other)),
        _ => None,
    };
    Some(match sign {
        "==" | "===" | "is" => one == other,
        "!=" | "!==" | "is not" => one != other,
        "<" => order?.is_lt(),
        "<=" => order?.is_le(),
        ">" => order?.is_gt(),
        ">=" => order?.is_ge(),
        _ => return None,
    })
}

/// Whether both are the same expression, and reading it twice gives the same value.
pub(super) fn same(one: Node<'_>, other: Node<'_>, text: &str) -> bool {
    normal(of(one, text)) == normal(of(other, text)) && is_still(one)
}

/// Whether nothing is called, waited for or made in it.
fn is_still(node: Node<'_>) -> bool {
    let mut still = true;
    super::walk::descend(node, &mut |node| {
        let kind = node.kind();
        still &= !(kind.contains("call") || kind.contains("macro") || kind.contains("await") || kind.contains("new_"));
        still &= !matches!(kind, "update_expression" | "yield" | "generic_function" | "try_expression");
        still
    });
    still
}

/// How much it says that this expression holds.
pub(super) fn strength(node: Node<'_>, text: &str) -> Strength {
    claim(node, text, 0)
}

fn claim(node: Node<'_>, text: &str, depth: usize) -> Strength {
    if depth > DEEPEST {
        return Strength::Loose;
    }
    if constant(node, text).is_some_and(|value| value.holds()) {
        return Strength::Vacuous;
    }
    let parts = children(node);
    match node.kind() {
        "parenthesized_expression"
        | "not_operator"
        | "unary_expression"
        | "unary_operator"
        | "await"
        | "await_expression" => parts.last().map_or(Strength::Loose, |inner| claim(*inner, text, depth + 1)),
        "binary_expression" | "comparison_operator" | "boolean_operator" => {
            let [left, right] = parts[..] else { return Strength::Partial };
            match operator(left, right, text) {
                "and" | "&&" => claim(left, text, depth + 1).max(claim(right, text, depth + 1)),
                "or" | "||" => claim(left, text, depth + 1).min(claim(right, text, depth + 1)).min(Strength::Partial),
                sign => compared(sign, left, right, text, depth),
            }
        }
        "call_expression" | "call" => {
            let name = called(node, text).map_or("", last_part);
            match name {
                "isinstance" | "hasattr" | "callable" | "bool" => Strength::Loose,
                _ if is_equality(name) => Strength::Exact,
                _ if arguments(node).is_empty() => Strength::Loose,
                _ => Strength::Partial,
            }
        }
        "macro_invocation" | "match_expression" | "let_condition" => Strength::Partial,
        _ => Strength::Loose,
    }
}

/// Whether a function of this name says that two values are the same.
pub(super) fn is_equality(name: &str) -> bool {
    let lower = name.to_ascii_lowercase();
    lower.contains("equal") || matches!(lower.as_str(), "eq" | "eql" | "allclose" | "is" | "same" | "deep_eq")
}

fn compared(sign: &str, left: Node<'_>, right: Node<'_>, text: &str, depth: usize) -> Strength {
    let bool_or_null = |node| match constant(node, text) {
        Some(Constant::Bool(_)) => Some(true),
        Some(Constant::Null) => Some(false),
        _ => None,
    };
    match (sign, bool_or_null(left), bool_or_null(right)) {
        // To be true is what the expression says by itself.
        (_, Some(true), _) => claim(right, text, depth + 1),
        (_, _, Some(true)) => claim(left, text, depth + 1),
        ("!=" | "!==" | "is not", Some(false), _) | ("!=" | "!==" | "is not", _, Some(false)) => Strength::Loose,
        ("==" | "===" | "is", _, _) => Strength::Exact,
        _ => Strength::Partial,
    }
}

/// How much it says that two expressions are the same.
pub(super) fn equal(left: Node<'_>, right: Node<'_>, text: &str) -> Strength {
    match (constant(left, text), constant(right, text)) {
        (Some(one), Some(other)) if one.is_plain() && one == other => Strength::Vacuous,
        _ if same(left, right, text) => Strength::Vacuous,
        _ => compared("==", left, right, text, 0),
    }
}
