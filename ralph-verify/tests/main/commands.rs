//! The command verifier.

use std::{
    os::unix::fs::PermissionsExt as _,
    sync::Mutex,
    time::{Duration, Instant, SystemTime},
};

use ralph_core::{Cx, Part, Verifier as _, VerifyError};
use ralph_verify::{CommandVerifier, Shell};

use crate::support::{Place, broken, verify};

fn part(name: &str, passed: bool) -> Part {
    Part::new(name, passed)
}

fn program(place: &Place, name: &str, script: &str, mode: u32) {
    std::fs::write(place.path(name), script).unwrap();
    std::fs::set_permissions(place.path(name), std::fs::Permissions::from_mode(mode)).unwrap();
}

#[tokio::test]
async fn no_command_is_broken_and_never_a_pass() {
    let place = Place::new();
    for target in [place.target(&[], &[]), place.target(&[" "], &["\t\n"])] {
        let (why, _) = broken(&CommandVerifier::default(), &target).await;
        assert!(why.starts_with("no verifier"), "{why}");
    }
}

#[tokio::test]
async fn exits_are_three_kinds_of_answer() {
    let place = Place::new();
    program(&place, "plain", "#!/bin/sh\nexit 0\n", 0o644);
    let verifier = CommandVerifier::new(Shell::new().broken_exits([3]));
    assert!(verify(&verifier, &place.target(&["exit 0"], &[])).await.passed());
    for code in [1, 2, 4, 101, 125] {
        let command = format!("exit {code}");
        let verdict = verify(&verifier, &place.target(&[&command], &[])).await;
        assert!(!verdict.passed());
        assert_eq!(verdict.evidence().summary, format!("exit {code}: exit {code}"));
    }
    for (command, words) in [
        ("exit 3", "exit 3"),
        ("./plain", "exit 126"),
        ("no-such-program", "exit 127, command not found"),
        ("kill -9 $$", "killed by signal 9"),
        ("sh -c 'kill -SEGV $$'; exit $?", "killed by signal 11"),
        ("exit 255", "exit 255"),
    ] {
        let (why, _) = broken(&verifier, &place.target(&[command], &[])).await;
        assert!(why.ends_with(words) || why.contains(words), "{command}: {why}");
    }
}

#[tokio::test]
async fn codes_of_a_known_runner_are_understood() {
    let place = Place::new();
    program(&place, "pytest", "#!/bin/sh\nexit $1\n", 0o755);
    program(&place, "other", "#!/bin/sh\nexit $1\n", 0o755);
    let verifier = CommandVerifier::default();
    let (why, _) = broken(&verifier, &place.target(&["./pytest 5"], &[])).await;
    assert_eq!(why, "./pytest 5: exit 5, pytest found no tests");
    assert!(!verify(&verifier, &place.target(&["./pytest 1"], &[])).await.passed());
    assert!(!verify(&verifier, &place.target(&["./other 5"], &[])).await.passed());
}

#[tokio::test]
async fn commands_run_in_order_until_one_fails() {
    let place = Place::new();
    let (own, common) = ("echo own >> order", "echo common >> order");
    let verifier = CommandVerifier::default().also("echo first >> order");
    let verdict = verify(&verifier, &place.target(&[own], &[common])).await;
    assert!(verdict.passed());
    assert_eq!(place.read("order"), "first\nown\ncommon\n");
    assert_eq!(verdict.evidence().summary, "3 commands: exit 0");

    std::fs::remove_file(place.path("order")).unwrap();
    let target = place.target(&[own, "exit 9"], &[common]);
    let verdict = verify(&CommandVerifier::default(), &target).await;
    assert!(!verdict.passed());
    assert_eq!(place.read("order"), "own\n");
    assert_eq!(verdict.evidence().parts, [part(own, true), part("exit 9", false)]);
    assert_eq!(verdict.evidence().summary, "exit 9: exit 9");
}

#[tokio::test]
async fn the_environment_is_told_and_kept_small() {
    let place = Place::new();
    let target = place.target(&["env > seen"], &[]);
    verify(&CommandVerifier::default(), &target).await;
    let seen = place.read("seen");
    for line in ["RALPH_RUN_ID=run-1", "RALPH_ITEM_ID=R03", "RALPH_ATTEMPT=4", "RALPH_STAGE=candidate"] {
        assert!(seen.lines().any(|seen| seen == line), "{line} in {seen}");
    }
    assert!(seen.contains("GIT_TERMINAL_PROMPT=0"));
    // Cargo gives this one to the test; it stands for all that nobody named.
    assert!(std::env::var_os("CARGO_MANIFEST_DIR").is_some());
    assert!(!seen.contains("CARGO_MANIFEST_DIR"));

    let shell = Shell::new().inherit(["CARGO_MANIFEST_DIR"]).env("ONE", "1");
    verify(&CommandVerifier::new(shell), &target).await;
    let seen = place.read("seen");
    assert!(seen.contains("CARGO_MANIFEST_DIR=") && seen.contains("ONE=1"));
}

#[tokio::test]
async fn nothing_waits_for_input() {
    let place = Place::new();
    let started = Instant::now();
    assert!(verify(&CommandVerifier::default(), &place.target(&["cat"], &[])).await.passed());
    assert!(started.elapsed() < Duration::from_secs(15));
}

#[tokio::test]
async fn too_long_and_too_much_are_broken() {
    let place = Place::new();
    let short = Shell::new().time_limit(Duration::from_millis(300));
    let (why, evidence) = broken(&CommandVerifier::new(short), &place.target(&["echo up; sleep 60"], &[])).await;
    assert!(why.contains("out of time after"), "{why}");
    assert!(evidence.tail.contains("up"));

    let few = Shell::new().output_bytes(1000);
    let (why, _) = broken(&CommandVerifier::new(few), &place.target(&["exec yes"], &[])).await;
    assert_eq!(why, "exec yes: printed too much");
}

#[tokio::test]
async fn all_commands_share_one_limit_of_time() {
    let place = Place::new();
    let target = place.target(&["sleep 1.5"], &["sleep 1.6"]);
    let limit = Duration::from_secs(2);
    let by_shell = CommandVerifier::new(Shell::new().time_limit(limit));
    let (why, _) = broken(&by_shell, &target).await;
    assert!(why.starts_with("sleep 1.6: out of time"), "{why}");
    let cx = Cx::new().with_time_limit(limit, SystemTime::now());
    let by_call = CommandVerifier::default().verify(&target, &cx).await;
    assert!(matches!(by_call, Err(VerifyError::Broken { .. })), "{by_call:?}");
}

#[tokio::test]
async fn a_pass_is_confirmed_and_a_failure_is_not_asked_again() {
    let place = Place::new();
    let runs = || place.read("runs").len();
    let verifier = CommandVerifier::default().confirm(3);

    let verdict = verify(&verifier, &place.target(&["printf x >> runs"], &[])).await;
    assert!(verdict.passed());
    assert_eq!(verdict.evidence().summary, "printf x >> runs: exit 0, 3 times in a row");
    assert_eq!((runs(), verdict.evidence().parts.len()), (3, 1));

    std::fs::remove_file(place.path("runs")).unwrap();
    let flaky = place.target(&["printf x >> runs; [ $(wc -c < runs) -ne 3 ]"], &[]);
    let verdict = verify(&verifier, &flaky).await;
    assert!(!verdict.passed());
    let summary = &verdict.evidence().summary;
    assert!(summary.ends_with("exit 1 in run 3 of 3, after it had passed"), "{summary}");

    std::fs::remove_file(place.path("runs")).unwrap();
    let verdict = verify(&verifier, &place.target(&["printf x >> runs; exit 1"], &[])).await;
    assert!(!verdict.passed());
    assert_eq!(runs(), 1);
}

#[tokio::test]
async fn tests_are_counted_where_the_runner_says_how_many() {
    let place = Place::new();
    let list = "12 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out";
    let says = format!("printf '\\nrunning 12 tests\\n\\ntest result: ok. {list}\\n'");
    let result = says.as_str();
    let target = place.target(&[result], &["true"]);
    let verdict = verify(&CommandVerifier::default(), &target).await;
    let tests: Vec<_> = verdict.evidence().parts.iter().map(|part| part.tests).collect();
    assert_eq!(tests, [Some(12), None]);
    assert_eq!(verdict.evidence().summary, "2 commands: exit 0, 12 tests passed");
    // A number is no verdict.
    let target = place.target(&[&format!("{says}; exit 1")], &[]);
    assert!(!verify(&CommandVerifier::default(), &target).await.passed());
}

#[tokio::test]
async fn the_log_has_everything_and_the_tail_is_harmless() {
    let place = Place::new();
    let mut target =
        place.target(&["printf 'one without an end'", "printf '\\033[31mred\\033[0m \\000\\377\\n' >&2; exit 1"], &[]);
    target.log = Some(place.path("log"));
    let evidence = verify(&CommandVerifier::default(), &target).await.evidence().clone();
    assert_eq!(evidence.log, target.log);
    let log = std::fs::read(place.path("log")).unwrap();
    let log = String::from_utf8_lossy(&log).into_owned();
    assert!(log.starts_with("$ printf 'one without an end'\none without an end\n$ printf"), "{log}");
    assert!(log.contains("\u{1b}[31mred"));
    assert!(evidence.tail.ends_with("\nred \u{fffd}\u{fffd}\n"), "{:?}", evidence.tail);

    target = place.target(&["yes | head -n 100000; echo the end; exit 1"], &[]);
    let evidence = verify(&CommandVerifier::default(), &target).await.evidence().clone();
    assert!(evidence.tail.len() <= 4096 && evidence.tail.ends_with("y\nthe end\n"));
    assert_eq!(evidence.log, None);
}

#[tokio::test]
async fn lines_are_shown_live() {
    let place = Place::new();
    let lines = std::sync::Arc::new(Mutex::new(Vec::new()));
    let sink = lines.clone();
    let cx = Cx::new().with_live(move |line| sink.lock().unwrap().push(line.to_owned()));
    let target = place.target(&["echo one; echo two >&2"], &[]);
    CommandVerifier::default().verify(&target, &cx).await.unwrap();
    assert_eq!(*lines.lock().unwrap(), ["one", "two"]);
}

#[tokio::test]
async fn a_folder_that_is_missing_is_no_verdict() {
    let place = Place::new();
    let mut target = place.target(&["true"], &[]);
    target.folder = place.path("none");
    let result = CommandVerifier::default().verify(&target, &Cx::new()).await;
    assert!(matches!(result, Err(VerifyError::Other(_))), "{result:?}");
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn what_is_left_running_is_ended_and_said() {
    let place = Place::new();
    let verdict = verify(&CommandVerifier::default(), &place.target(&["sleep 60 &"], &[])).await;
    let summary = &verdict.evidence().summary;
    assert_eq!(summary, "sleep 60 &: exit 0; processes left running and ended: 1");
}
