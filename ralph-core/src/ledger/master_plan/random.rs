//! Laws of the reader and of the signature, tried on random plans in random dialects.

use proptest::{option, prelude::*, sample::select};

use super::*;

fn parse(text: &str) -> Result<MasterPlan, Vec<String>> {
    MasterPlan::parse(text.as_bytes(), "PLAN.md")
}

/// A phase as somebody thinks of it.
#[derive(Clone, Debug, PartialEq)]
struct Model {
    title: String,
    auto: Option<String>,
    manual: Option<String>,
    verify: Option<String>,
    setup: Option<String>,
    env_check: Option<String>,
    max_blockers: Option<u32>,
    items: Option<usize>,
}

/// How somebody writes.
#[derive(Clone, Debug)]
struct Dialect {
    heading: &'static str,
    dash: &'static str,
    bullet: &'static str,
    bold: usize,
    upper: bool,
    none: Option<&'static str>,
    path: usize,
    between: &'static str,
    end: &'static str,
}

fn command() -> impl Strategy<Value = String> {
    select(vec!["make", "pnpm build && pnpm lint", "a `b` | c", "./x.sh --y='z: w'", "test -f a; b > c", "grep '#' d"])
        .prop_map(str::to_owned)
}

fn words() -> impl Strategy<Value = String> {
    "[A-Za-zäéд][a-z]{0,8}( [a-z0-9(),.é]{1,8}){0,3}[a-z]"
        .prop_filter("says something", |text| check::value(key::Key::ManualGate, text, 1).is_none())
}

fn model() -> impl Strategy<Value = Model> {
    let gates = (option::of(command()), option::of(words())).prop_filter("a gate", |(a, m)| a.is_some() || m.is_some());
    let commands = (option::of(command()), option::of(command()), option::of(command()));
    let numbers = (option::of(1..9_u32), option::of(0..90_usize));
    (words(), gates, commands, numbers).prop_map(
        |(title, (auto, manual), (verify, setup, env_check), (max_blockers, items))| Model {
            title,
            auto,
            manual,
            verify,
            setup,
            env_check,
            max_blockers,
            items,
        },
    )
}

fn dialect() -> impl Strategy<Value = Dialect> {
    let heading = select(vec!["", "# ", "## ", "###### ", "- ", "**"]);
    let dash = select(vec![" — ", " – ", " - ", ": ", "—", " : "]);
    let bullet = select(vec!["  ", "", "- ", "* ", "+ ", "  - ", "\t", "    ", "\t- ", "1. ", "- [ ] ", "### "]);
    let none = option::of(select(vec!["—", "-", "–", ""]));
    let between = select(vec!["", "\n", "\nSome prose about it.\n\n", "\n---\n\n", "\n```\nPhase P9 — no\n```\n"]);
    let end = select(vec!["\n", "\r\n", "\r"]);
    ((heading, dash, bullet, 0..4_usize, any::<bool>()), (none, 0..4_usize, between, end)).prop_map(
        |((heading, dash, bullet, bold, upper), (none, path, between, end))| Dialect {
            heading,
            dash,
            bullet,
            bold,
            upper,
            none,
            path,
            between,
            end,
        },
    )
}

/// Writes a plan down; answers it with the lines of its gates.
fn render(phases: &[Model], dialect: &Dialect) -> String {
    let Dialect { heading, dash, bullet, bold, upper, none, path, between, end } = dialect;
    let mut text = format!("# The plan\n\nApproved-By: lead, 2026-05-18\n{between}\n");
    for (number, phase) in phases.iter().enumerate() {
        let close = if *heading == "**" { "**" } else { "" };
        text.push_str(&format!("{heading}Phase P{number}{dash}{}{close}\n{between}", phase.title));
        let mut key = |name: &str, value: Option<String>| {
            let Some(value) = value.or_else(|| none.map(str::to_owned)) else { return };
            let name = if *upper { name.to_uppercase() } else { name.to_owned() };
            text.push_str(&match bold {
                0 => format!("{bullet}{name}: {value}\n"),
                1 => format!("{bullet}**{name}:** {value}\n"),
                2 => format!("{bullet}**{name}**: {value}  \n"),
                _ => format!("{bullet}{name}:{value}\n"),
            });
        };
        let file = format!("ralph-loop/PRD-P{number}.md");
        key(
            "PRD",
            Some(match path {
                0 => file,
                1 => format!("`{file}`"),
                2 => format!("[the PRD]({file})"),
                _ => format!("<{file}>"),
            }),
        );
        key("Auto-Gate", phase.auto.clone());
        key("Manual-Gate", phase.manual.clone());
        key("Items", phase.items.map(|items| items.to_string()));
        key("Verify", phase.verify.clone());
        key("Setup", phase.setup.clone());
        key("Env-Check", phase.env_check.clone());
        key("Max-Blockers", phase.max_blockers.map(|count| count.to_string()));
        text.push_str(if between.is_empty() { "\n" } else { between });
    }
    text.replace('\n', end)
}

fn read_back(plan: &MasterPlan) -> Vec<Model> {
    let model = |phase: &PlannedPhase| Model {
        title: phase.title.clone(),
        auto: phase.auto_gate.clone(),
        manual: phase.manual_gate.clone(),
        verify: phase.verify.clone(),
        setup: phase.setup.clone(),
        env_check: phase.env_check.clone(),
        max_blockers: phase.max_blockers,
        items: phase.items.map(|(count, _)| count),
    };
    plan.phases.iter().map(model).collect()
}

/// Everything about the gates of a plan.
fn gates(plan: &MasterPlan) -> Vec<(Option<String>, Option<String>)> {
    plan.phases.iter().map(|phase| (phase.auto_gate.clone(), phase.manual_gate.clone())).collect()
}

/// A line of a random plan.
fn line() -> impl Strategy<Value = String> {
    prop_oneof![
        3 => "(|# |- |  |\t|> )(\\*\\*)?(Phase|PRD|Auto-Gate|Manual-Gate|Items|Verify|Approved-By)(\\*\\*)?[:—= ]{0,2}\\PC{0,12}",
        1 => "[-#>`~| a-z:<!]{0,12}",
        1 => select(vec!["```", "<!--", "-->", "", "---", "<div>", "    "]).prop_map(str::to_owned),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(192))]

    #[test]
    fn a_plan_in_any_dialect_is_the_same_plan(phases in prop::collection::vec(model(), 1..4), dialect in dialect()) {
        let text = render(&phases, &dialect);
        let plan = parse(&text);
        prop_assert!(plan.is_ok(), "{}\n{:?}", text, plan);
        let plan = plan.unwrap();
        prop_assert_eq!(read_back(&plan), phases, "{}", text);
        for (number, phase) in plan.phases.iter().enumerate() {
            prop_assert_eq!(&phase.prd, &format!("ralph-loop/PRD-P{number}.md"));
        }
        prop_assert!(matches!(&plan.signature, Signature::Signed(by) if by.who == "lead"));
    }

    /// One slip of the pen anywhere in a line that is a gate: the same gates, a refusal, or a note about that line.
    #[test]
    fn no_slip_drops_a_gate_in_silence(
        phases in prop::collection::vec(model(), 1..3),
        dialect in dialect(),
        pick: prop::sample::Index,
        place: prop::sample::Index,
        slip in prop_oneof![
            Just(None),
            "[ -~]".prop_map(Some),
            select(vec!["\u{200b}", "\u{430}", "：", "—", "\u{2011}", ">", "<!--", "`", "\u{202e}"])
                .prop_map(|slip| Some(slip.to_owned())),
        ],
        replace: bool,
    ) {
        let text = render(&phases, &dialect);
        let before = parse(&text).unwrap();
        let lines: Vec<&str> = text.split(dialect.end).collect();
        let gated = |line: &&str| {
            let found = key::read(line).map(|found| (found.known, !found.value.is_empty()));
            [key::Key::AutoGate, key::Key::ManualGate].iter().any(|key| found == Some((key::Known::Yes(*key), true)))
        };
        let chosen: Vec<usize> = (0..lines.len()).filter(|index| gated(&lines[*index])).collect();
        let index = *pick.get(&chosen);
        // In the key and what stands before it: what the value says is the person's own.
        let line = lines[index];
        let end = line.find(':').unwrap() + 1;
        let places: Vec<usize> = (0..end).filter(|at| line.is_char_boundary(*at)).collect();
        let at = *place.get(&places);
        let next = at + line[at..].chars().next().unwrap().len_utf8();
        let rest = if replace || slip.is_none() { &line[next..] } else { &line[at..] };
        let garbled = format!("{}{}{rest}", &line[..at], slip.unwrap_or_default());
        let mut new: Vec<String> = lines.iter().map(|line| (*line).to_owned()).collect();
        new[index].clone_from(&garbled);
        let Ok(after) = parse(&new.join(dialect.end)) else { return Ok(()) };
        let told = after.notes.iter().any(|note| note.line == index + 1);
        let count = |plan: &MasterPlan| gates(plan).iter().map(|(a, m)| a.iter().count() + m.iter().count()).sum::<usize>();
        prop_assert!(told || count(&after) >= count(&before), "{garbled:?}\n{text}");
    }

    /// A signature changes its own line and no other byte, and what it covers stays the same.
    #[test]
    fn a_signature_changes_its_line(
        phases in prop::collection::vec(model(), 1..3),
        dialect in dialect(),
        form in select(vec!["", "Approved-By: lead, 2026-05-18", "- **Approved-By:** —", "## approved-by: x", "Approved-By:"]),
        at_the_end: bool,
        who in "[A-Za-zé][a-zé, .-]{0,12}[a-z]",
    ) {
        let text = render(&phases, &dialect);
        let old = format!("Approved-By: lead, 2026-05-18{}", dialect.end);
        let text = if at_the_end {
            format!("{}{form}", text.replacen(&old, "", 1))
        } else {
            text.replacen(&old, &format!("{form}{}", dialect.end), 1)
        };
        let Ok(before) = parse(&text) else { return Ok(()) };
        let by = ApprovedBy { hash: Some("01234567".to_owned()), ..ApprovedBy::read(&format!("{who}, 2026-05-19"), 1).unwrap() };
        let signed = String::from_utf8(sign(text.as_bytes(), "PLAN.md", &by).unwrap()).unwrap();
        let after = parse(&signed).unwrap();
        prop_assert_eq!(&after.text, &before.text);
        prop_assert_eq!(read_back(&after), read_back(&before));
        let Signature::Signed(found) = &after.signature else { panic!("{:?}", after.signature) };
        prop_assert_eq!((&found.who, &found.date, &found.hash), (&by.who, &by.date, &by.hash));
        // All other lines are there, byte for byte.
        let own = found.line - 1;
        let rest = |text: &str, skip: Option<usize>| -> Vec<String> {
            let lines = text.split(dialect.end).enumerate();
            lines.filter(|(index, _)| Some(*index) != skip).map(|(_, line)| line.to_owned()).collect()
        };
        let there = before.signature != Signature::Missing;
        prop_assert_eq!(rest(&signed, Some(own)), rest(&text, there.then_some(own)));
        // Signing again with the same signature is nothing.
        prop_assert_eq!(sign(signed.as_bytes(), "PLAN.md", &by).unwrap(), signed.as_bytes());
    }

    #[test]
    fn any_lines_are_read_or_refused(lines in prop::collection::vec(line(), 0..16), crlf: bool) {
        let text = lines.join(if crlf { "\r\n" } else { "\n" });
        match parse(&text) {
            Ok(plan) => {
                prop_assert!(!plan.phases.is_empty());
                prop_assert!(plan.phases.iter().all(|p| p.auto_gate.is_some() || p.manual_gate.is_some()));
                prop_assert!(plan.phases.iter().all(|p| !p.prd.is_empty()));
            }
            Err(problems) => prop_assert!(problems.iter().all(|problem| problem.starts_with("PLAN.md:"))),
        }
    }

    #[test]
    fn any_text_is_read_or_refused(text in "(\\PC|[\\n\\r\\t\\[\\] x*>`#|:-]){0,300}") {
        let _ = parse(&text);
    }

    #[test]
    fn any_bytes_are_read_or_refused(bytes: Vec<u8>) {
        let _ = MasterPlan::parse(&bytes, "a");
    }
}
