use super::support::{Scratch, filters};

#[test]
fn work_is_shown_with_where_it_stands() {
    let scratch = Scratch::empty();
    let demo = scratch.ralph_in(&scratch.home(), &["demo", "--keep"]);
    let folder = demo.stdout.lines().find_map(|line| line.trim().strip_prefix("cd ")).unwrap();
    let ralph = |args: &[&str]| scratch.ralph_in(folder.as_ref(), args);
    let mut shown = String::new();
    for args in [
        ["diff", "--stat"].as_slice(),
        &["diff", "R02"],
        &["diff", "DEMO/R03"],
        &["diff", "R05"],
        &["diff", "R01", "--stat", "--color=always"],
    ] {
        let said = ralph(args);
        shown.push_str(&format!("$ ralph {} ({})\n{}{}\n", args.join(" "), said.code, said.stdout, said.stderr));
    }
    insta::with_settings!({filters => filters()}, { insta::assert_snapshot!(shown) });
}

#[test]
fn a_patch_for_a_program_is_as_git_wrote_it_and_one_for_eyes_is_harmless() {
    let scratch = Scratch::repo(&[
        ("ralph-loop/PRD-P1.md", "Verify: true\n- [ ] R01: x\n"),
        (
            "ralph-loop/ralph.toml",
            "agent.backend = \"command\"\nagent.command = [\"sh\", \"-c\", \"printf 'a\\\\033[2J\\\\n' > f\"]\n",
        ),
    ]);
    let none = scratch.ralph(&["diff"]);
    assert_eq!((none.code, none.stderr.as_str()), (2, "error: there is no run yet, and so nothing to review\n"));
    let run = scratch.ralph(&["run"]);
    assert_eq!(run.code, 0, "{}{}", run.stdout, run.stderr);
    let plain = scratch.ralph(&["diff", "R01"]);
    assert!(plain.stdout.ends_with("+a\u{1b}[2J\n"), "{:?}", plain.stdout);
    let coloured = scratch.ralph(&["diff", "R01", "--color", "always"]);
    assert!(coloured.stdout.ends_with("\u{1b}[32m+a\\u{1b}[2J\u{1b}[0m\n"), "{:?}", coloured.stdout);
}
