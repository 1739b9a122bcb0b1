//! What a plan is read as, and every refusal with its place.

use super::*;

fn parse(text: &str) -> Result<MasterPlan, Vec<String>> {
    MasterPlan::parse(text.as_bytes(), "MASTER-PLAN.md")
}

fn plan(text: &str) -> MasterPlan {
    parse(text).unwrap_or_else(|problems| panic!("{text:?}: {problems:?}"))
}

/// The plan of the specification's example, in its own words.
const SAMPLE: &str = "\
Approved-By: lead, 2026-05-18

Phase P1 — Privacy and compliance scrub
  PRD: ralph-loop/PRD-P1.md
  Auto-Gate: pnpm verify:privacy && pnpm build && pnpm lint
  Manual-Gate: lead approves privacy policy text
  Items: 12

Phase P2 — Asset SHA-256 enforcement
  PRD: ralph-loop/PRD-P2.md
  Auto-Gate: pnpm verify:assets && pnpm build
  Manual-Gate: —
  Items: 7
";

#[test]
fn the_sample() {
    let plan = plan(SAMPLE);
    assert_eq!(plan.notes, []);
    let Signature::Signed(by) = &plan.signature else { panic!("{:?}", plan.signature) };
    assert_eq!((by.who.as_str(), by.date.as_str(), by.hash.as_deref(), by.line), ("lead", "2026-05-18", None, 1));
    let [one, two] = &plan.phases[..] else { panic!("{:?}", plan.phases) };
    assert_eq!((one.id.as_str(), one.title.as_str(), one.line), ("P1", "Privacy and compliance scrub", 3));
    assert_eq!((one.prd.as_str(), one.prd_line), ("ralph-loop/PRD-P1.md", 4));
    assert_eq!(one.auto_gate.as_deref(), Some("pnpm verify:privacy && pnpm build && pnpm lint"));
    assert_eq!(one.manual_gate.as_deref(), Some("lead approves privacy policy text"));
    assert_eq!((one.items, two.items), (Some((12, 7)), Some((7, 13))));
    assert_eq!((two.title.as_str(), two.manual_gate.as_deref()), ("Asset SHA-256 enforcement", None));
    assert!(plan.text.starts_with("\nPhase P1"), "the signature is not part of what it covers");
}

#[test]
fn a_plan_as_people_write_it() {
    let text = "\u{feff}---\r\ntitle: Plan\r\n---\r\n# The plan\r\n\r\nWe begin with privacy. Phase P9 comes much later.\r\n\
        \r\n**Approved-By:** Doe, Jane, 2026-05-18 (4f2c9ab1)\r\n\r\n## Phase P1: Privacy\r\n\r\nWhy: it is due.\r\n\
        - **PRD:** [PRD-P1](ralph-loop/PRD-P1.md)\r\n- **Auto-Gate**: `make gate`\r\n* Manual-Gate: lead approves\r\n  \
        the policy\r\n- Items: 3 items\r\n- Verify: make test\r\n- Setup: make setup\r\n- Env-Check: make ping\r\n\
        - Max-Blockers: 5\r\n\r\n```\r\nAuto-Gate: an example\r\n```\r\n> Manual-Gate: quoted\r\n<!-- Auto-Gate: off -->\r\n\
        \r\n#### phase p2 - Assets\r\n\r\n\tprd: `ralph-loop/PRD-P2.md`\r\n\tmanual-gate: lead looks\r\n\tAuto-Gate: -\r\n\
        \tSetup:\r\n";
    let plan = plan(text);
    let [one, two] = &plan.phases[..] else { panic!("{:?}", plan.phases) };
    let expected = PlannedPhase {
        id: PhaseId::new("P1"),
        title: "Privacy".to_owned(),
        prd: "ralph-loop/PRD-P1.md".to_owned(),
        prd_line: 13,
        auto_gate: Some("make gate".to_owned()),
        manual_gate: Some("lead approves the policy".to_owned()),
        verify: Some("make test".to_owned()),
        setup: Some("make setup".to_owned()),
        env_check: Some("make ping".to_owned()),
        max_blockers: Some(5),
        items: Some((3, 17)),
        line: 10,
    };
    assert_eq!(*one, expected);
    assert_eq!((two.id.as_str(), two.prd.as_str()), ("p2", "ralph-loop/PRD-P2.md"));
    assert_eq!((two.auto_gate.as_deref(), two.manual_gate.as_deref()), (None, Some("lead looks")));
    let told: Vec<_> = plan.notes.iter().map(|note| format!("{}: {}", note.line, note.text)).collect();
    insta::assert_snapshot!(told.join("\n"), @r"
    12: `Why:` is not a key of ralph and is read as prose
    24: `Auto-Gate:` in a code block is not read
    26: `Manual-Gate:` in a block quote is not read
    27: `Auto-Gate:` in an HTML comment is not read
    34: `Setup:` says nothing
    ");
}

#[test]
fn a_line_that_markdown_takes_for_something_else_is_read() {
    for text in [
        "Phase P1 — It\n\n    PRD: a.md\n    Auto-Gate: make\n",
        "Phase P1 — It\n\n\tPRD: a.md\n\tAuto-Gate: make\n",
        "> a quote\nPhase P1 — It\nPRD: a.md\nAuto-Gate: make\n",
        "Phase P1 — It\n====\nPRD: a.md\nAuto-Gate: make\n---\n",
        "1. Phase P1 — It\n   1. PRD: a.md\n   2. Auto-Gate: make\n",
        "Phase P1 — It\rPRD: a.md\rAuto-Gate: make\r",
    ] {
        let plan = plan(text);
        assert_eq!(plan.phases[0].auto_gate.as_deref(), Some("make"), "{text:?}");
        assert_eq!(plan.notes, [], "{text:?}");
    }
}

#[test]
fn paths_of_prds() {
    for written in ["a b.md", "`a b.md`", "<a b.md>", "\"a b.md\"", "[it](a b.md)", "[it](<a b.md>)", "**a b.md**"] {
        let text = format!("Phase P1 — It\n- PRD: {written}\n- Auto-Gate: make\n");
        let expected = if written.starts_with('*') { written } else { "a b.md" };
        assert_eq!(plan(&text).phases[0].prd, expected, "{written}");
    }
}

/// Cases that are refused or told: above `PRD: a.md`, `Auto-Gate: make` of a phase P1, in it, or alone.
const ALONE: [&str; 8] = [
    "",
    "# A plan\nwithout phases\n",
    "```\nPhase P1 — It\nPRD: a.md\nAuto-Gate: make\n```\n",
    "<!--\nPhase P1 — It\nPRD: a.md\nAuto-Gate: make\n",
    "Phase P1 — It\n",
    "Phase P1 — It\n  Auto-Gate: make\n",
    "Phase P1 — It\n  PRD: a.md\n  Auto-Gate: —\n  Manual-Gate:\n",
    "Phase P1 — It\n  PRD: a.md\n  Auto-Gate: make\nphase p1: Again\n  PRD: b.md\n  Auto-Gate: make\n",
];

const ABOVE: [&str; 16] = [
    "Approvd-By: lead, 2026-05-18\n",
    "Approved: lead, 2026-05-18\n",
    "Approved by: lead, 2026-05-18\n",
    "Approved-By — lead, 2026-05-18\n",
    "Approved-By lead\n",
    "Auto-Gate: make\n",
    "Verify: make\n",
    "Manual-Gat: me\n",
    "Phases P0 — before\n",
    "Phase P0\u{2015}before\n",
    "Phase \u{420}0 — before\n",
    "Phase P0 is long over.\n",
    "Gate: prose\n",
    "---\napproved-by: lead, 2026-05-18\n---\n",
    "<div>\nAuto-Gate: make\n\n",
    "~~Approved-By: lead, 2026-05-18~~\n",
];

const WITHIN: [&str; 31] = [
    "Manual-Gat: lead approves",
    "**Manual Gate:** lead approves",
    "Manual-Gate (lead): approves",
    "Manual-G\u{430}te: lead approves",
    "Manual-\u{200b}Gate: lead approves",
    "Manual-Gate： lead approves",
    "Manual-Gate — lead approves",
    "Manual-Gate lead approves",
    "Manual-Gate: none",
    "Manual-Gate: --",
    "Manual-Gate: lead approves <!-- later -->",
    "~~Manual-Gate: lead approves~~",
    "Gate: lead approves",
    "Release-Gate: lead approves",
    "Auto-Gate: make again",
    "Verify: make a &&\n  make b",
    "Verify: make a\n  && make b",
    "Verify: make \\\n  b",
    "Verify: n/a",
    "Env-Chek: ping",
    "Max-Blockers: three",
    "Max-Blockers: 0",
    "Max-Blockers: 4294967296",
    "Items: some",
    "Setup:",
    "Owner: lead",
    "So it is: Manual-Gate: lead approves",
    "> Manual-Gate: lead approves",
    "<!-- Manual-Gate: lead approves -->",
    "<!-- no --> Manual-Gate: lead approves",
    "```\nManual-Gate: lead approves",
];

#[test]
fn every_refusal_has_a_place() {
    let mut told = String::new();
    let phase = "Phase P1 — It\n  PRD: a.md\n  Auto-Gate: make\n";
    let above = ABOVE.iter().map(|case| (*case, format!("{case}{phase}")));
    let within = WITHIN.iter().map(|case| (*case, format!("{phase}  {case}\n")));
    let alone = ALONE.iter().map(|case| (*case, (*case).to_owned()));
    for (case, text) in alone.chain(above).chain(within) {
        told.push_str(&format!("{}\n", case.escape_debug()));
        let lines = match parse(&text) {
            Ok(plan) => plan.notes.iter().map(|note| format!("note {}: {}", note.line, note.text)).collect(),
            Err(problems) => problems,
        };
        assert!(!lines.is_empty(), "{text:?} is taken in silence");
        lines.iter().for_each(|line| told.push_str(&format!("  {line}\n")));
    }
    insta::assert_snapshot!(told);
}

#[test]
fn problems_come_together() {
    let problems = parse("Auto-Gate: a\nPhase P1 — It\nPRD: a.md\nAuto-Gat: b\nPhase P1 — It\nVerify: none\n");
    let places: Vec<_> = problems.unwrap_err().iter().map(|p| p.split(": ").next().unwrap().to_owned()).collect();
    assert_eq!(places, [1, 2, 4, 5, 5, 5, 6].map(|line| format!("MASTER-PLAN.md:{line}")));
    let utf16 = MasterPlan::parse(b"\xff\xfeP\0", "a").unwrap_err();
    assert_eq!(utf16, ["a:1: the file is UTF-16: save it as UTF-8"]);
}

/// Plans of other projects, which have phases and none of our keys: refused, never an empty plan.
#[test]
fn other_plans_are_refused() {
    for text in [
        "# Master Plan\n\n### Phase 0 — Complete (current state)\n**Goal:** Prove it.\n\n- [x] `engine.rs`\n",
        "# Plan\n\n## Milestone 1: Baseline\n*Objective: Solidify.*\n\n- [x] **Monomorphization**: Refactor\n",
        "# Roadmap\n\n| Phase | Gate |\n|---|---|\n| P1 | make |\n",
    ] {
        assert!(parse(text).is_err(), "{text}");
    }
}

/// Texts made to be slow: 64 KiB each, done in a bounded time.
#[test]
fn hostile_texts_take_a_bounded_time() {
    let units = [
        "Approved-By: a\n",
        "Phase P1 — It\n",
        "Phase P1 — It\nPRD: —\nAuto-Gat: x\n",
        "Manual-Gate: a\n",
        "<!-- Auto-Gate: a\n",
        "a <!-- b --> ",
        "> Auto-Gate: a\n",
        "Auto-Gate:",
        "~",
        "- ",
        "*",
    ];
    for unit in units {
        for above in ["", "```\n", "<!--\n", "Phase P1 — It\n"] {
            let text = format!("{above}{}", unit.repeat((64 << 10) / unit.len()));
            let began = std::time::Instant::now();
            let _ = parse(&text);
            let took = began.elapsed();
            assert!(took.as_secs() < 5, "{above:?} and {unit:?} take {took:?}");
        }
    }
}
