//! Verifiers that cannot judge, and surroundings that are not fit for work.

use super::support::{DILIGENT, Scratch};

fn with(verify: &str) -> Scratch {
    let scratch = Scratch::new(0);
    scratch.prd(&format!("# Broken\nVerify: {verify}\n\n- [ ] R01: make it so\n"));
    scratch
}

#[test]
fn one_that_cannot_judge_the_base_stops_the_run_before_any_session() {
    for (verify, args) in [
        ("no-such-program-anywhere", &[][..]),
        ("exit 126", &[]),
        ("kill -SEGV $$", &[]),
        ("kill -KILL $$", &[]),
        ("sleep 1000", &["--set", "verify.timeout=300ms"]),
        ("exit 7", &["--set", "verify.broken_exits=[7]"]),
    ] {
        let scratch = with(verify);
        scratch.run(args).stopped("VERIFIER_BROKEN", 15);
        assert_eq!((scratch.marks().as_str(), scratch.sessions().len()), (" ", 0), "{verify}");
        assert_eq!(scratch.outcomes(), [""; 0], "no item is blamed");
        scratch.nothing_lives();
        // Put right, the run goes on.
        scratch.edit_prd(verify, "test -s R01.txt");
        scratch.run(&[]).stopped("SUCCESS", 0);
        assert_eq!(scratch.run_folders().len(), 1, "it is the same run");
    }
}

#[test]
fn one_that_breaks_only_on_the_work_is_the_works_fault() {
    for (breaks, args) in
        [("exit 127", &[][..]), ("kill -KILL $$", &[]), ("sleep 1000", &["--set", "verify.timeout=1s"])]
    {
        let scratch = with(&format!("test ! -e bomb || {breaks}; test -s R01.txt"));
        scratch.agent("touch bomb; touch R01.txt");
        scratch.run(args).stopped("ITEMS_BLOCKED", 12);
        assert_eq!(scratch.marks(), "!");
        assert_eq!(scratch.sessions(), ["R01.1", "R01.2"]);
        assert!(scratch.read("ralph-loop/BLOCKERS.md").contains("breaks on this work"));
        scratch.nothing_lives();
    }
}

#[test]
fn one_that_breaks_in_the_middle_of_a_run_stops_it_and_the_work_is_judged_later() {
    // Broken for everything once the session is over, on the base as well.
    let scratch = Scratch::new(0);
    let flag = scratch.path("notes/broken");
    scratch.prd(&format!(
        "# Middle\nVerify: test ! -e {} || exit 127; test -s R01.txt\n\n- [ ] R01: make it\n",
        flag.display()
    ));
    scratch.agent(&format!("{DILIGENT}; touch \"$NOTES/broken\""));
    scratch.run(&[]).stopped("VERIFIER_BROKEN", 15);
    assert_eq!(scratch.marks(), " ");
    std::fs::remove_file(flag).unwrap();
    scratch.run(&[]).stopped("SUCCESS", 0);
    assert_eq!(scratch.sessions(), ["R01.1"], "its work was judged, and no second session paid for");
}

#[test]
fn what_a_verifier_leaves_is_no_part_of_the_work() {
    let scratch = with("touch litter.txt .git/litter; echo x >>README.md; mkfifo pipe 2>/dev/null; test -s R01.txt");
    scratch.run(&[]).stopped("SUCCESS", 0);
    assert_eq!(scratch.files(super::support::BRANCH), [".gitignore", "R01.txt", "README.md"]);
    assert_eq!(scratch.git(&["show", "ralph/prd-p1:README.md"]), "hello");
}

#[test]
fn a_verifier_that_leaves_a_daemon_behind() {
    let scratch = with("setsid sleep 1000 & (exec sleep 1000) & test -s R01.txt");
    scratch.run(&[]).stopped("SUCCESS", 0);
    scratch.nothing_lives();
}

#[test]
fn a_set_up_that_fails_stops_the_run_and_costs_nothing() {
    let scratch = with("test -s R01.txt");
    scratch.edit_prd("Verify:", "Setup: test -e \"$HOME/fit\"\nVerify:");
    scratch.run(&[]).stopped("ENVIRONMENT", 15);
    assert_eq!((scratch.marks().as_str(), scratch.sessions().len()), (" ", 0));
    std::fs::write(scratch.path("home/fit"), "").unwrap();
    scratch.run(&[]).stopped("SUCCESS", 0);
}

#[test]
fn an_environment_check_that_says_no_stops_the_run_and_costs_nothing() {
    let scratch = with("test -s R01.txt");
    scratch.edit_prd("Verify:", "Env-Check: test -e \"$HOME/fit\"\nVerify:");
    scratch.run(&[]).stopped("ENVIRONMENT", 15);
    assert_eq!((scratch.marks().as_str(), scratch.sessions().len()), (" ", 0));
    std::fs::write(scratch.path("home/fit"), "").unwrap();
    scratch.run(&[]).stopped("SUCCESS", 0);
}

/// The environment goes while the run is on: what was done stays, and no further session is begun.
#[test]
fn an_environment_that_goes_in_the_middle_of_a_run_stops_it_before_the_next_session() {
    let scratch = Scratch::new(3);
    scratch.edit_prd("\n\n", "\n\nEnv-Check: test ! -e \"$HOME/down\"\n\n");
    scratch.agent(&format!("{DILIGENT}; test $RALPH_ITEM_ID != R02 || touch \"$OPERATOR/../home/down\""));
    scratch.run(&[]).stopped("ENVIRONMENT", 15);
    assert_eq!((scratch.marks().as_str(), scratch.sessions().len()), ("xx ", 2));
    // Nobody iterates through it.
    let ended = scratch.run(&[]).stopped("ENVIRONMENT", 15);
    assert!(ended.stderr.contains("the environment check says no"), "{}", ended.stderr);
    assert_eq!((scratch.marks().as_str(), scratch.sessions().len()), ("xx ", 2));
    std::fs::remove_file(scratch.path("home/down")).unwrap();
    scratch.run(&[]).stopped("SUCCESS", 0);
    assert_eq!((scratch.sessions().len(), scratch.run_folders().len()), (3, 1));
}

/// A second attempt is money too.
#[test]
fn an_environment_that_goes_between_two_attempts_stops_the_run_and_takes_none_away() {
    let scratch = Scratch::new(1);
    scratch.edit_prd("\n\n", "\n\nEnv-Check: test ! -e \"$HOME/down\"\n\n");
    scratch.agent(&format!(
        "test -e \"$NOTES/second\" && {{ {DILIGENT}; exit; }}; touch wrong.txt \"$NOTES/second\" \"$OPERATOR/../home/down\""
    ));
    scratch.run(&[]).stopped("ENVIRONMENT", 15);
    assert_eq!((scratch.marks().as_str(), scratch.sessions().len()), (" ", 1));
    assert!(scratch.progress()[0].contains("P1/R01 interrupted attempts=1 "), "{:?}", scratch.progress());
    assert_eq!(scratch.status_json()["items"][0]["attempts"], serde_json::json!(["failed", "lost"]));
    std::fs::remove_file(scratch.path("home/down")).unwrap();
    scratch.run(&[]).stopped("SUCCESS", 0);
    assert_eq!(scratch.sessions().len(), 2);
    assert_eq!(scratch.status_json()["items"][0]["attempts"], serde_json::json!(["failed", "lost", "accepted"]));
}

/// A set-up that fails for the candidate and for the base alike is the surroundings' fault, and the work waits.
#[test]
fn a_set_up_that_fails_for_everything_in_the_middle_of_a_run_stops_it_and_the_work_is_judged_later() {
    let scratch = with("test -s R01.txt");
    scratch.edit_prd("Verify:", "Setup: test ! -e \"$HOME/down\"\nVerify:");
    scratch.agent(&format!("{DILIGENT}; touch \"$OPERATOR/../home/down\""));
    scratch.run(&[]).stopped("ENVIRONMENT", 15);
    assert_eq!((scratch.marks().as_str(), scratch.commits_if_any().len()), (" ", 0));
    scratch.run(&[]).stopped("ENVIRONMENT", 15);
    assert_eq!(scratch.sessions(), ["R01.1"]);
    std::fs::remove_file(scratch.path("home/down")).unwrap();
    scratch.run(&[]).stopped("SUCCESS", 0);
    assert_eq!(scratch.sessions(), ["R01.1"], "its work was judged, and no second session paid for");
}

/// At the second verdict: it breaks on the clean checkout, for the base too; or for the work alone, which is rejected.
#[test]
fn one_that_breaks_on_the_clean_checkout() {
    let scratch = with("test $RALPH_STAGE != candidate || exit 127; test -s R01.txt");
    scratch.run(&[]).stopped("ITEMS_BLOCKED", 12);
    assert_eq!((scratch.marks().as_str(), scratch.sessions().len(), scratch.kept("rejected").len()), ("!", 1, 1));

    let scratch = Scratch::new(0);
    let flag = scratch.path("notes/broken").display().to_string();
    let breaks = format!("test $RALPH_STAGE != candidate || touch {flag}; test ! -e {flag} || exit 127");
    scratch.prd(&format!("# Late\nVerify: {breaks}; test -s R01.txt\n\n- [ ] R01: make it\n"));
    scratch.run(&[]).stopped("VERIFIER_BROKEN", 15);
    assert_eq!((scratch.marks().as_str(), scratch.commits().len()), (" ", 0));
    scratch.edit_prd(&format!("test $RALPH_STAGE != candidate || touch {flag}; "), "");
    scratch.run(&[]).stopped("VERIFIER_BROKEN", 15);
    std::fs::remove_file(flag).unwrap();
    scratch.run(&[]).stopped("SUCCESS", 0);
    assert_eq!(scratch.sessions(), ["R01.1"]);
}

#[test]
fn a_set_up_that_fails_only_on_the_work_is_the_works_fault() {
    let scratch = with("test -s R01.txt");
    scratch.edit_prd("Verify:", "Setup: ! grep -q bad Cargo.lock 2>/dev/null\nVerify:");
    scratch.agent(&format!("{DILIGENT}; echo bad >Cargo.lock"));
    scratch.run(&[]).stopped("ITEMS_BLOCKED", 12);
    assert_eq!(scratch.marks(), "!");
    assert_eq!(scratch.commits(), [""; 0]);
}

#[test]
fn a_pass_has_to_be_confirmed() {
    let scratch = Scratch::new(0);
    // In the workspace: pass, fail, pass, …
    let count = scratch.path("notes/count");
    let verify = format!("test -s R01.txt && echo x >>{0} && test $(($(wc -l <{0}) % 2)) = 1", count.display());
    scratch.prd(&format!("# Flaky\nVerify: {verify}\n\n- [ ] R01: make it\n"));
    scratch.run(&["--set", "verify.confirm=3"]).stopped("ITEMS_BLOCKED", 12);
    assert_eq!((scratch.marks().as_str(), scratch.commits().len()), ("!", 0));
}

#[test]
fn what_a_set_up_leaves_is_no_work_of_the_sessions() {
    let scratch = with("test -s README.md");
    scratch.edit_prd("Verify:", "Setup: echo installed >stamp.txt\nEnv-Check: echo checked >check.txt\nVerify:");
    scratch.agent("echo I did nothing");
    scratch.run(&[]).stopped("AWAITING_DECISIONS", 10);
    assert_eq!((scratch.marks().as_str(), scratch.commits().len()), ("?", 0));
}
