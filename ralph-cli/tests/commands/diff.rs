use super::support::{Scratch, filters};

/// Work that was accepted at once, after a retry, not at all because git ignores a part of it, and none.
fn worked_on() -> Scratch {
    let agent = "case $RALPH_ITEM_ID in \
                 R01) echo hello >greeting ;; \
                 R02) if [ -e total ]; then echo 0 >>total; else echo 7 >total; fi ;; \
                 R03) echo open >hours; echo Monday >hours.cache ;; \
                 esac";
    let scratch = Scratch::repo(&[
        (".gitignore", "*.cache\n"),
        (
            "ralph-loop/PRD-P1.md",
            "- [ ] R01: Greet\n  Verify: test -s greeting\n\
             - [ ] R02: Add up\n  Verify: grep 0 total\n\
             - [ ] R03: Say when it is open\n  Verify: grep Monday hours.cache\n\
             - [ ] R04: Sing\n  Verify: test -s song\n",
        ),
        (
            "ralph-loop/ralph.toml",
            &format!("agent.backend = \"command\"\nagent.command = [\"sh\", \"-c\", '''{agent}''']\n"),
        ),
    ]);
    let run = scratch.ralph(&["run"]);
    assert_eq!(run.code, 12, "{}{}", run.stdout, run.stderr);
    scratch
}

#[test]
fn work_is_shown_with_where_it_stands() {
    let scratch = worked_on();
    let mut shown = String::new();
    for args in [
        ["diff", "--stat"].as_slice(),
        &["diff", "R02"],
        &["diff", "P1/R03"],
        &["diff", "R04"],
        &["diff", "R01", "--stat", "--color=always"],
    ] {
        let said = scratch.ralph(args);
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
