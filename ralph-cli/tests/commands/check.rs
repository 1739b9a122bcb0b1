use super::support::Scratch;

const AGENT: &str = "[agent]\nbackend = \"command\"\ncommand = [\"sh\", \"-c\", \"true\"]\n";

fn checked(files: &[(&str, &str)], args: &[&str]) -> String {
    let scratch = Scratch::repo(files);
    let said = scratch.ralph(args);
    let status = scratch.git(&["status", "--porcelain"]);
    assert_eq!(status, "", "nothing is changed");
    scratch.stable(&format!("exit {}\n{}{}", said.code, said.stdout, said.stderr))
}

#[test]
fn a_good_plan() {
    let prd = "Verify: sh test.sh\n\n- [ ] R01: Greet\n  Verify: sh greet.sh | grep Hello\n";
    insta::assert_snapshot!(checked(&[("ralph-loop/ralph.toml", AGENT), ("ralph-loop/PRD-P1.md", prd)], &["check"]));
}

#[test]
fn an_odd_plan_is_told_and_may_run() {
    let prd = "# Shop\n\n- [ ] R01: Write tests\n  - write tests that pass\n  Verify: npm test || true\n\
               - [~] R02: Sell\n- [ ] R03: Make the page nicer\n  - it looks good\n\
               - [ ] R04: Add a migration for orders\n- [ ] R05: Total\n- [x] R06: looks good\n\n```\n- [ ] no item\n```\n";
    let settings = format!("{AGENT}[verify]\ncommand = \"npm test | tee log\"\n");
    insta::assert_snapshot!(checked(
        &[("ralph-loop/ralph.toml", &settings), ("ralph-loop/PRD-P1.md", prd)],
        &["check"]
    ));
}

#[test]
fn what_stops_a_run_has_a_place() {
    let good = "Verify: make\n- [ ] R01: Greet\n  Verify: make greet\n";
    let elsewhere = format!("{AGENT}[run]\nbranch = \"main\"\n[budget]\ncost_usd = 5\n");
    let cases = [
        ("", "Verfy: npm test\n\n- [ ] R01: Greet\n- [ ] R01: Part\n"),
        (AGENT, "- [ ] R01: Greet\n  Verify: make\n- [ ] R02: Part\n"),
        ("[agent]\nbackend = \"clade\"\n", good),
        (&elsewhere, good),
    ];
    let mut shown = String::new();
    for (settings, prd) in cases {
        let files = [("ralph-loop/ralph.toml", settings), ("ralph-loop/PRD-P1.md", prd)];
        shown.push_str(&format!("{}\n", checked(&files, &["check"])));
    }
    shown.push_str(&checked(&[("ralph-loop/ralph.toml", AGENT)], &["check"]));
    shown.push_str(&checked(&[("ralph-loop/ralph.toml", AGENT)], &["check", "PRD.txt"]));
    insta::assert_snapshot!(shown);
}

#[test]
fn the_same_for_machines() {
    let prd = "Verify: make\n\n- [ ] R01: Greet\n  - looks good\n- [ ] R01: Part\n";
    insta::assert_snapshot!(checked(
        &[("ralph-loop/ralph.toml", AGENT), ("ralph-loop/PRD-P1.md", prd)],
        &["check", "--json"]
    ));
}

/// LOOP-11: boxes in other sections are no items, and are told with their lines.
#[test]
fn boxes_that_do_not_count_are_listed() {
    let prd = "Verify: sh test.sh\n\n## Overview\n- [ ] read this\n\n## Tasks\n- [ ] R01: Greet\n\n## Success criteria\n\
               - [ ] everybody is happy\n";
    let said = checked(&[("ralph-loop/ralph.toml", AGENT), ("ralph-loop/PRD-P1.md", prd)], &["check"]);
    for line in ["PRD-P1.md:4: a box", "PRD-P1.md:10: a box"] {
        assert!(said.contains(line), "{said}");
    }
    assert!(!said.contains("PRD-P1.md:7: a box"), "the item itself counts: {said}");
}

#[test]
fn checks_are_listed() {
    let settings = format!("{AGENT}[verify]\nchecks = [\"default\", \"-secrets\"]\n");
    insta::assert_snapshot!(checked(&[("ralph-loop/ralph.toml", &settings)], &["check", "--list"]));
}

/// A name that is no check would else take out nothing, or be looked for in vain.
#[test]
fn names_that_are_no_checks_are_refused_with_their_place() {
    let good = "Verify: make\n\n- [ ] R01: Greet\n  Verify: make greet\n  Checks: -weakened-tests, +orphans\n";
    let wrong = good.replace("-weakened", "-weakend");
    let bad = format!("{AGENT}[verify]\nchecks = [\"defaults\"]\n");
    let mut shown = String::new();
    for (settings, prd) in [(AGENT, good), (AGENT, &wrong), (&bad, good)] {
        for command in ["check", "run"] {
            if command == "run" && (settings, prd) == (AGENT, good) {
                continue;
            }
            let files = [("ralph-loop/ralph.toml", settings), ("ralph-loop/PRD-P1.md", prd)];
            shown.push_str(&format!("{command}: {}\n", checked(&files, &[command])));
        }
    }
    insta::assert_snapshot!(shown);
}

/// Each finding has a file and a line, wherever the command that it is about stands, and for machines too.
#[test]
fn commands_of_a_plan_have_a_place() {
    let plan = "Approved-By: lead, 2026-05-18\n\nPhase P1 — One\n  PRD: ralph-loop/PRD-P1.md\n  Auto-Gate: make || true\n\n\
                Phase P2 — Two\n  PRD: ralph-loop/PRD-P2.md\n  Verify: true\n  Auto-Gate: make\n\n\
                Phase P3 — Three\n  PRD: ralph-loop/PRD-P3.md\n  Auto-Gate: make\n";
    let settings = format!("{AGENT}[verify]\ncommand = \"make | tee log\"\n");
    let files = [
        ("ralph-loop/ralph.toml", settings.as_str()),
        ("ralph-loop/MASTER-PLAN.md", plan),
        ("ralph-loop/PRD-P1.md", "# One\n**Verify:** `echo ok`\n\n- [ ] R01: Greet\n  Verify: make greet\n"),
        ("ralph-loop/PRD-P2.md", "- [ ] R02: Part\n- [x] R03: Stay\n- [ ] R04: Stay on\n"),
        ("ralph-loop/PRD-P3.md", "- [ ] R05: Return\n  Verify: exit 0\n"),
    ];
    let mut shown = checked(&files, &["check"]);
    let json = checked(&files, &["check", "--json"]);
    let json: serde_json::Value = serde_json::from_str(json.split_once('\n').unwrap().1).unwrap();
    for note in json["notes"].as_array().unwrap() {
        assert!(note["file"].is_string() && note["line"].as_u64().unwrap() > 0, "{note}");
        shown.push_str(&format!("{note}\n"));
    }
    insta::assert_snapshot!(shown);
}
