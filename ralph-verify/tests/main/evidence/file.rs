//! The file that a verify command may write its evidence to.

use ralph_verify::CommandVerifier;

use crate::support::{Place, broken, verify};

/// A command that writes this evidence and exits so.
fn writes(evidence: &str, code: u8) -> String {
    format!("printf '%s' '{evidence}' > \"$RALPH_EVIDENCE\"; exit {code}")
}

/// Whether it passed, what it says after the command's name, and the tail.
async fn judged(evidence: &str, code: u8) -> (bool, String, String) {
    let place = Place::new();
    std::fs::write(place.path("check"), format!("#!/bin/sh\n{}\n", writes(evidence, code))).unwrap();
    let verdict = verify(&CommandVerifier::default(), &place.target(&["sh check"], &[])).await;
    let said = verdict.evidence();
    let summary = said.summary.strip_prefix("sh check: ").unwrap().to_owned();
    (verdict.passed(), summary, said.tail.clone())
}

#[tokio::test]
async fn it_lowers_a_verdict_and_never_raises_one() {
    let no = r#"{"passed": false, "summary": "2 pages differ", "findings": [{"path": "a.html", "line": 3, "text": "differs"}]}"#;
    let (passed, summary, tail) = judged(no, 0).await;
    assert!(!passed);
    assert_eq!(summary, "exit 0, but its evidence says otherwise: 2 pages differ");
    assert!(tail.ends_with("a.html:3: differs\n"), "{tail}");

    let yes = r#"{"passed": true, "summary": "all is well", "tests": {"ran": 5}}"#;
    let (passed, summary, _) = judged(yes, 1).await;
    assert!(!passed);
    assert_eq!(summary, "exit 1, 5 tests passed: all is well");
    assert!(judged(yes, 0).await.0);
    assert_eq!(judged(yes, 0).await.1, "exit 0, 5 tests passed");

    let (passed, summary, _) = judged(r#"{"passed": true, "tests": {"ran": 5, "failed": 1}}"#, 0).await;
    assert!(!passed);
    assert_eq!(summary, "exit 0, but its evidence says otherwise: tests that failed: 1");
}

#[tokio::test]
async fn what_cannot_be_understood_is_no_pass() {
    let place = Place::new();
    let verifier = CommandVerifier::default();
    for (command, why) in [
        (writes("{", 0), "is malformed: EOF"),
        (writes("{}", 0), "is malformed: `passed` is not true or false"),
        ("ln -s /etc/passwd \"$RALPH_EVIDENCE\"".to_owned(), "is malformed: it cannot be opened"),
        ("mkdir \"$RALPH_EVIDENCE\"".to_owned(), "is malformed: it is no file"),
        ("mkfifo \"$RALPH_EVIDENCE\"".to_owned(), "is malformed: it is no file"),
        ("yes | head -c 2000000 > \"$RALPH_EVIDENCE\"".to_owned(), "is malformed: it is larger than 1 MiB"),
    ] {
        let (said, _) = broken(&verifier, &place.target(&[&command], &[])).await;
        assert!(said.contains(why), "{command}: {said}");
    }
    // What fails by its exit fails, and the reader is told.
    let verdict = verify(&verifier, &place.target(&[&writes("{", 1)], &[])).await;
    assert!(!verdict.passed());
    assert!(verdict.evidence().summary.contains("exit 1; its evidence file is malformed"));
}

#[tokio::test]
async fn each_command_has_a_file_of_its_own_outside_of_the_work() {
    let place = Place::new();
    let first = r#"echo "$RALPH_EVIDENCE" >> seen; printf '{"passed": true}' > "$RALPH_EVIDENCE""#;
    let second = r#"echo "$RALPH_EVIDENCE" >> seen; test ! -e "$RALPH_EVIDENCE""#;
    assert!(verify(&CommandVerifier::default(), &place.target(&[first], &[second])).await.passed());
    let seen = place.read("seen");
    let paths: Vec<_> = seen.lines().collect();
    assert_ne!(paths[0], paths[1]);
    for path in paths {
        assert!(!std::path::Path::new(path).starts_with(place.path("")), "{path}");
        assert!(!std::path::Path::new(path).exists(), "{path} is left behind");
    }
}

#[tokio::test]
async fn a_long_list_of_findings_leaves_the_tail_within_its_bounds() {
    let place = Place::new();
    let finding = format!(r#"{{"text": "{}"}}"#, "t".repeat(290));
    let evidence = format!(r#"{{"passed": false, "findings": [{}]}}"#, vec![finding; 40].join(","));
    std::fs::write(place.path("evidence"), evidence).unwrap();
    let command = "yes | head -n 100000; cat evidence > \"$RALPH_EVIDENCE\"";
    let tail = verify(&CommandVerifier::default(), &place.target(&[command], &[])).await.evidence().tail.clone();
    assert!(tail.len() <= 4096 && tail.starts_with("y\n") && tail.ends_with(" more\n"), "{}", tail.len());
}

/// The script that the page about verifiers shows.
#[tokio::test]
async fn the_script_of_the_docs_works() {
    let page = include_str!("../../../../docs/verifiers.md");
    let script = page.split("### In a shell\n\n```sh\n").nth(1).and_then(|rest| rest.split("```").next()).unwrap();
    let place = Place::new();
    std::fs::create_dir(place.path("site")).unwrap();
    std::fs::write(place.path("verify-pages.sh"), script).unwrap();
    std::fs::write(place.path("site/a.html"), "<title>A</title>").unwrap();
    std::fs::write(place.path("site/b.html"), "<p>b").unwrap();
    let target = place.target(&["sh verify-pages.sh"], &[]);
    let verdict = verify(&CommandVerifier::default(), &target).await;
    assert!(!verdict.passed());
    let summary = "sh verify-pages.sh: exit 1, 1 test passed: 1 of 2 pages without a title";
    assert_eq!(verdict.evidence().summary, summary);
    assert!(verdict.evidence().tail.ends_with("site/b.html: no title\n"), "{}", verdict.evidence().tail);

    std::fs::write(place.path("site/b.html"), "<title>B</title>").unwrap();
    let verdict = verify(&CommandVerifier::default(), &target).await;
    assert!(verdict.passed());
    assert_eq!(verdict.evidence().summary, "sh verify-pages.sh: exit 0, 2 tests passed");
}
