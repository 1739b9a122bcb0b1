//! Reports about other loops, group VERIFY (`docs/bug-rows.md`): verifiers that cannot judge, waver, or are litterbugs.

use std::os::unix::fs::PermissionsExt as _;

use super::support::{BRANCH, DILIGENT, Scratch};

fn with(verify: &str) -> Scratch {
    let scratch = Scratch::new(0);
    scratch.prd(&format!("# One\nVerify: {verify}\n\n- [ ] R01: make the file\n"));
    scratch
}

/// Ends of a verifier that are no verdict.
const ENDS: [(&str, &[&str]); 7] = [
    ("exit 126", &[]),
    ("exit 127", &[]),
    ("exit 137", &[]),
    ("exit 139", &[]),
    ("kill -KILL $$", &[]),
    ("kill -SEGV $$", &[]),
    ("sleep 1000", &["--set", "verify.timeout=300ms"]),
];

#[test]
fn verify_01_what_is_no_verdict_is_no_failing_test() {
    for (end, args) in ENDS {
        // It breaks once the session is over, for everything.
        let scratch = with("PLACEHOLDER");
        let flag = scratch.path("notes/broken");
        scratch.edit_prd("PLACEHOLDER", &format!("test ! -e {} || {end}; test -s R01.txt", flag.display()));
        scratch.agent(&format!("{DILIGENT}; touch \"$NOTES/broken\""));
        scratch.run(args).stopped("VERIFIER_BROKEN", 15);
        assert_eq!((scratch.marks().as_str(), scratch.sessions().len()), (" ", 1), "{end}: no item is blamed");
        assert_eq!((scratch.outcomes(), scratch.commits().len()), (vec!["P1/R01 interrupted".to_owned()], 0), "{end}");
        // Nobody iterates through it.
        scratch.run(args).stopped("VERIFIER_BROKEN", 15);
        assert_eq!(scratch.sessions().len(), 1, "{end}");
        // Put right, the work that is there is judged.
        std::fs::remove_file(flag).unwrap();
        scratch.run(args).stopped("SUCCESS", 0);
        assert_eq!(scratch.sessions(), ["R01.1"], "{end}");
        scratch.nothing_lives();

        // The contrast: the work alone breaks it.
        let scratch = with(&format!("test ! -e bomb || {end}; test -s R01.txt"));
        scratch
            .agent(&format!("test $RALPH_ATTEMPT = 2 || touch bomb; test $RALPH_ATTEMPT = 1 || rm bomb; {DILIGENT}"));
        scratch.run(args).stopped("SUCCESS", 0);
        assert_eq!(scratch.sessions(), ["R01.1", "R01.2"], "{end}: a failed attempt like another");
    }
}

#[test]
fn verify_02_a_verdict_is_an_exit_and_not_the_absence_of_a_word() {
    let scratch = with("echo 'all is well'; sleep 1000");
    scratch.run(&["--set", "verify.timeout=300ms"]).stopped("VERIFIER_BROKEN", 15);
    assert_eq!((scratch.marks().as_str(), scratch.sessions().len()), (" ", 0));
    scratch.nothing_lives();

    let scratch = with("exit 1");
    scratch.run(&[]).stopped("ITEMS_BLOCKED", 12);
    assert_eq!(scratch.marks(), "!");

    // The control: one that is silent too, and one that prints what sounds like a failure.
    for verify in ["test -s R01.txt", "echo 'Error: 3 FAILED'; test -s R01.txt"] {
        with(verify).run(&[]).stopped("SUCCESS", 0);
    }
}

#[test]
fn verify_03_one_red_run_in_three_is_no_pass_and_all_three_are_kept() {
    let story = |red: &str| {
        let scratch = with("PLACEHOLDER");
        let count = scratch.path("notes/count");
        let run = format!("n=$(wc -l <{0}); echo \"this is run $n\"; test $n != {red}", count.display());
        scratch.edit_prd("PLACEHOLDER", &format!("test -s R01.txt && echo x >>{} && {run}", count.display()));
        scratch.run(&["--set", "verify.confirm=3", "--set", "run.attempts=1"]);
        scratch
    };
    let scratch = story("3");
    assert_eq!((scratch.marks().as_str(), scratch.commits().len()), ("!", 0));
    let blockers = scratch.read("ralph-loop/BLOCKERS.md");
    assert!(blockers.contains("in run 3 of 3, after it had passed"), "told as what it is: {blockers}");
    let log = scratch.of_run("iterations/0001/verify-workspace.log");
    for run in ["this is run 1", "this is run 2", "this is run 3"] {
        assert!(log.contains(run), "{run} is not in {log}");
    }
    // The control: never red. Three runs in the workspace, three on the clean checkout.
    let scratch = story("never");
    assert_eq!((scratch.marks().as_str(), scratch.note("count").lines().count()), ("x", 6));
}

#[test]
fn verify_05_a_verifier_that_was_not_started_is_told_as_such() {
    let story = |verify: &str| {
        let scratch = with(verify);
        scratch.write("verify.sh", "#!/bin/sh\ntest -s R01.txt\n");
        scratch.git(&["add", "verify.sh"]);
        scratch.git(&["commit", "-qm", "a verifier"]);
        scratch
    };
    for (verify, words) in [
        ("./verify.sh", "exit 126, cannot be executed"),
        ("./not-there.sh", "exit 127, command not found"),
        ("no-such-program-anywhere --all", "exit 127, command not found"),
    ] {
        let scratch = story(verify);
        let ended = scratch.run(&[]).stopped("VERIFIER_BROKEN", 15);
        assert!(ended.stderr.contains(words), "{verify}: {}", ended.stderr);
        assert_eq!((scratch.sessions().len(), scratch.outcomes().len()), (0, 0), "{verify}");
    }
    // The control: it can be executed.
    let scratch = story("./verify.sh");
    let mode = std::fs::Permissions::from_mode(0o755);
    std::fs::set_permissions(scratch.root.join("verify.sh"), mode).unwrap();
    scratch.git(&["commit", "-qam", "executable"]);
    scratch.run(&[]).stopped("SUCCESS", 0);
}

#[test]
fn verify_06_a_git_that_shows_no_new_files_hides_none() {
    let story = |agent: &str| {
        let scratch = with("test -s made.ignored || test -s made.txt");
        for scope in ["--local", "--global"] {
            scratch.git(&["config", scope, "status.showUntrackedFiles", "no"]);
        }
        scratch.agent(&format!("git config status.showUntrackedFiles no; echo real >real.txt; {agent}"));
        scratch
    };
    let scratch = story("echo made >made.ignored");
    scratch.run(&[]).stopped("ITEMS_BLOCKED", 12);
    assert!(scratch.read("ralph-loop/BLOCKERS.md").contains("false completion"));
    assert_eq!((scratch.marks().as_str(), scratch.commits().len()), ("!", 0));
    // The control: a new file that nothing ignores is part of the work.
    let scratch = story("echo made >made.txt");
    scratch.run(&[]).stopped("SUCCESS", 0);
    assert_eq!(scratch.files(BRANCH), [".gitignore", "README.md", "made.txt", "real.txt"]);
}

#[test]
fn verify_08_the_next_verification_does_not_see_what_the_last_one_left() {
    let scratch = Scratch::new(0);
    // It notes what of its own litter it finds, makes some, changes a file, and judges.
    let look = "ls build.out out/x build.ignored 2>/dev/null >>FOUND; grep -q litter README.md && echo changed >>FOUND";
    let litter = "mkdir -p out && touch build.out out/x build.ignored && echo litter >>README.md";
    let found = scratch.path("notes/found").display().to_string();
    let verify = format!(
        "{look}; echo $RALPH_STAGE >>STAGES; {litter}; test -s $RALPH_ITEM_ID.txt || test -z \"$RALPH_ITEM_ID\""
    )
    .replace("FOUND", &found)
    .replace("STAGES", &scratch.path("notes/stages").display().to_string());
    scratch.prd(&format!("# Litter\nVerify: {verify}\n\n- [ ] R01: one\n- [ ] R02: two\n"));
    // The second attempt begins with the first one's work, in the folder where that was judged.
    scratch
        .agent(&format!("test $RALPH_ITEM_ID.$RALPH_ATTEMPT = R02.1 || {DILIGENT}; echo $RALPH_ATTEMPT >>tried.txt"));
    scratch.run(&[]).stopped("SUCCESS", 0);
    assert_eq!(scratch.note("found"), "");
    let stages = ["base", "workspace", "candidate", "workspace", "workspace", "candidate"];
    assert_eq!(scratch.note("stages").lines().collect::<Vec<_>>(), stages, "the control: each of them littered");
    assert_eq!(scratch.files(BRANCH), [".gitignore", "R01.txt", "R02.txt", "README.md", "tried.txt"]);
    assert_eq!(scratch.git(&["show", &format!("{BRANCH}:README.md")]), "hello");
}
