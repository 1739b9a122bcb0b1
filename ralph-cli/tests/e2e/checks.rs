//! Work that makes the verifier green by way of its tests.

use super::support::{BRANCH, Scratch};

const HONEST: &str = r#"printf 'def test_answer():\n    assert answer() == 42\n' >tests/test_a.py"#;

/// An agent whose first attempt skips the test, and whose second does the work.
fn story(item: &str, settings: &str) -> Scratch {
    let scratch = Scratch::new(0);
    scratch.settings(settings);
    scratch.prd(&format!("# One\nVerify: test -s tests/test_a.py\n\n- [ ] R01: write the answer\n{item}"));
    scratch.agent(&format!(
        r#"cat >"$NOTES/prompt.$RALPH_ATTEMPT"
           mkdir -p tests
           {HONEST}
           if test "$RALPH_ATTEMPT" = 1; then printf '\ndef test_more():\n    assert True\n' >>tests/test_a.py; fi"#
    ));
    scratch
}

#[test]
fn what_a_check_finds_fails_the_attempt_and_the_next_is_told() {
    let scratch = story("", "");
    scratch.run(&[]).stopped("SUCCESS", 0);
    assert_eq!(scratch.sessions(), ["R01.1", "R01.2"]);
    let told = scratch.note("prompt.2");
    assert!(told.contains("trivial-tests: tests/test_a.py:5"), "{told}");
    assert!(!scratch.git(&["show", &format!("{BRANCH}:tests/test_a.py")]).contains("assert True"));
}

/// Controls: the same work passes where the check is out, for the item or for all.
#[test]
fn a_check_that_is_out_finds_nothing() {
    for (item, settings) in [("  Checks: -trivial-tests\n", ""), ("", "[verify]\nchecks = [\"-trivial-tests\"]\n")] {
        let scratch = story(item, settings);
        scratch.run(&[]).stopped("SUCCESS", 0);
        assert_eq!(scratch.sessions(), ["R01.1"], "{item}{settings}");
        assert!(scratch.git(&["show", &format!("{BRANCH}:tests/test_a.py")]).contains("assert True"));
    }
}
