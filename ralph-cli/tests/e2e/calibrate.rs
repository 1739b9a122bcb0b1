//! `ralph check --calibrate`: in the same surroundings as a run, and out of its way.

use rustix::process::Signal;

use super::support::{BRANCH, Scratch, until};

/// A repository with one item, and these lines above it.
fn with(head: &str) -> Scratch {
    let scratch = Scratch::new(0);
    scratch.prd(&format!("# Measured\n{head}\n\n- [ ] R01: make it so\n"));
    scratch
}

fn outputs(scratch: &Scratch) -> usize {
    let entries = std::fs::read_dir(scratch.root.join("ralph-loop/state")).unwrap().map(Result::unwrap);
    entries.filter(|entry| entry.file_name().to_str().unwrap().starts_with("calibration-")).count()
}

#[test]
fn it_judges_where_and_how_a_run_does() {
    let see = r#"test "$SEEN" = 1 && test -z "$UNSEEN" && test -e made-ready && echo "$RALPH_STAGE $PWD" >>"$HOME/where"; touch litter; test -e .gitignore"#;
    let scratch = with(&format!("Setup: test ! -e litter && touch made-ready\nVerify: {see}"));
    scratch.settings("[verify]\nenv = [\"SEEN\"]\nkeep = [\"made-ready\"]\n");
    scratch.write(".gitignore", "made-ready\n");
    scratch.git(&["add", ".gitignore"]);
    scratch.git(&["commit", "-qm", "ignore"]);
    let before = scratch.operator();
    let ended = scratch.start_with(&["check", "--calibrate", "3"], &[("SEEN", "1"), ("UNSEEN", "1")]).end();
    assert_eq!(ended.status.code(), Some(0), "{}{}", ended.stdout, ended.stderr);
    scratch.untouched(&before);
    let places = std::fs::read_to_string(scratch.path("home/where")).unwrap();
    let sites = scratch.user.join("state/ralph/workspaces");
    assert_eq!(places.lines().count(), 3);
    assert!(places.lines().all(|line| line.starts_with(&format!("base {}/", sites.display()))), "{places}");
    assert_eq!((scratch.sessions().len(), scratch.commits_if_any().len()), (0, 0), "no agent, no branch");
    // The time limit holds as well.
    let scratch = with("Verify: sleep 1000");
    let ended = scratch.ralph(&["check", "--calibrate", "2", "--set", "verify.timeout=200ms"]);
    assert_eq!(ended.status.code(), Some(15), "{}{}", ended.stdout, ended.stderr);
    assert!(ended.stdout.contains("broken, 2 of 2 could not judge"), "{}", ended.stdout);
    scratch.nothing_lives();
}

#[test]
fn it_measures_the_commit_that_a_run_would_begin_with() {
    let scratch = with("Verify: test -s R01.txt");
    let counted = |scratch: &Scratch| {
        let ended = scratch.ralph(&["check", "--calibrate", "2"]);
        assert_eq!(ended.status.code(), Some(0), "red or green, it is steady: {}", ended.stdout);
        ended.stdout
    };
    let said = counted(&scratch);
    assert!(said.contains("red, 2 of 2 failed") && said.contains(&scratch.git(&["rev-parse", "HEAD"])[..10]), "{said}");
    assert!(said.contains("every attempt fails that does not make it green"), "{said}");
    scratch.run(&[]).stopped("SUCCESS", 0);
    let said = counted(&scratch);
    assert!(
        said.contains("green, 2 of 2 passed") && said.contains(&scratch.git(&["rev-parse", BRANCH])[..10]),
        "{said}"
    );
}

#[test]
fn what_cannot_be_made_ready_is_not_measured() {
    for (head, why) in
        [("Setup: exit 3", "set-up does not pass on"), ("Env-Check: exit 3", "the environment check does not pass on")]
    {
        let scratch = with(&format!("{head}\nVerify: echo x >>\"$HOME/judged\""));
        let ended = scratch.ralph(&["check", "--calibrate", "2"]);
        assert_eq!((ended.status.code(), ended.stdout.as_str()), (Some(15), ""), "{}", ended.stderr);
        assert!(ended.stderr.contains(why) && ended.stderr.contains("exit 3"), "{}", ended.stderr);
        assert!(!scratch.path("home/judged").exists());
        assert_eq!(outputs(&scratch), 0);
    }
}

#[test]
fn a_signal_ends_it_and_nothing_is_left() {
    for (signal, code) in [(Signal::INT, 130), (Signal::TERM, 130)] {
        let scratch = with(r#"Verify: echo >"$HOME/judges"; setsid sleep 1000 & sleep 1000"#);
        let calibrating = scratch.start(&["check", "--calibrate", "5"]);
        until("a verifier", || scratch.path("home/judges").exists());
        assert_eq!(outputs(&scratch), 1);
        calibrating.signal(signal);
        let ended = calibrating.end();
        assert_eq!((ended.status.code(), ended.stdout.as_str()), (Some(code), ""), "{}", ended.stderr);
        assert_eq!(outputs(&scratch), 0);
        scratch.nothing_lives();
        // The control folder is free again.
        scratch.prd("# Measured\nVerify: test -s R01.txt\n\n- [ ] R01: make it so\n");
        scratch.run(&[]).stopped("SUCCESS", 0);
    }
}

#[test]
fn it_and_a_run_keep_out_of_each_others_way() {
    let scratch = with("Verify: test -s R01.txt");
    scratch.agent("echo made >R01.txt; echo >\"$NOTES/at-work\"; until test -e \"$NOTES/go\"; do sleep 0.02; done");
    let run = scratch.start(&["run"]);
    until("the session", || scratch.path("notes/at-work").exists());
    let holder = format!("`ralph run ralph-loop/PRD-P1.md` (process {}", run.pid());
    scratch.ralph(&["check", "--calibrate", "2"]).refused(&["is held by", &holder, "ralph stop"]);
    assert_eq!(outputs(&scratch), 0);
    std::fs::write(scratch.path("notes/go"), "").unwrap();
    run.end().stopped("SUCCESS", 0);

    let wait = r#"Verify: echo >"$HOME/judges"; until test -e "$HOME/go"; do sleep 0.02; done"#;
    scratch.prd(&format!("# Measured\n{wait}\n\n- [ ] R01: make it so\n"));
    let calibrating = scratch.start(&["check", "--calibrate", "2"]);
    until("a verifier", || scratch.path("home/judges").exists());
    let holder = format!("`ralph check --calibrate 2` (process {}", calibrating.pid());
    scratch.run(&[]).refused(&["is held by", &holder]);
    std::fs::write(scratch.path("home/go"), "").unwrap();
    assert_eq!(calibrating.end().status.code(), Some(0));
}

#[test]
fn a_person_at_a_terminal_sees_how_far_it_is() {
    let wait =
        r#"Verify: echo x >>"$HOME/n"; test $(wc -l <"$HOME/n") = 1 || until test -e "$HOME/go"; do sleep 0.02; done"#;
    let scratch = with(wait);
    let terminal = scratch.at_terminal_of_kind(&["check", "--calibrate", "3"], "xterm");
    until("the count", || terminal.screen().contains("1/3") && terminal.screen().contains("1 passed, 0 failed"));
    std::fs::write(scratch.path("home/go"), "").unwrap();
    let (code, screen) = terminal.end();
    assert_eq!(code, Some(0), "{screen}");
    assert!(screen.contains("green, 3 of 3 passed"), "{screen}");
}
