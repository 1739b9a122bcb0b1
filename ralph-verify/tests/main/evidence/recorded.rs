//! What the real runners printed (`recorded/`), and what people and tests may print in between.

use proptest::prelude::*;
use ralph_verify::evidence::{Counts, Runner, TestReader, Tests};

fn read(command: &str, output: &str) -> Counts {
    let mut reader = TestReader::new(command);
    output.lines().for_each(|line| reader.line(line));
    reader.counts()
}

fn recorded(name: &str) -> String {
    let path = format!("{}/tests/main/evidence/recorded/{name}", env!("CARGO_MANIFEST_DIR"));
    std::fs::read_to_string(path).unwrap()
}

/// Of one runner: passed, failed, ignored; announced and ended runs.
fn one(runner: Runner, counts: [u64; 5]) -> Counts {
    let [passed, failed, ignored, announced, ended] = counts;
    Counts::from([(runner, Tests { ran: passed + failed, passed, failed, ignored, announced, ended })])
}

#[test]
fn what_the_runners_print_is_understood() {
    for (name, command, runner, expected) in [
        ("cargo-test.txt", "cargo test", Runner::Cargo, [6, 0, 1, 3, 3]),
        ("cargo-test.txt", "make", Runner::Cargo, [6, 0, 1, 3, 3]),
        ("cargo-test-quiet.txt", "make", Runner::Cargo, [6, 0, 1, 3, 3]),
        // A test prints `running 7 tests`.
        ("cargo-test-nocapture.txt", "make", Runner::Cargo, [6, 0, 1, 3, 3]),
        // A test prints `test result: ok. 99 passed; …`.
        ("cargo-test-fails.txt", "make", Runner::Cargo, [5, 1, 1, 3, 3]),
        // A test ends its process with 0: what comes after it is inside of a run that has no result.
        ("cargo-test-exits.txt", "make", Runner::Cargo, [3, 0, 1, 3, 2]),
        ("nextest.txt", "make", Runner::Nextest, [5, 0, 1, 1, 1]),
        ("nextest-fails.txt", "make", Runner::Nextest, [4, 1, 1, 1, 1]),
        ("nextest-filtered.txt", "make", Runner::Nextest, [2, 0, 4, 1, 1]),
        ("pytest.txt", "make", Runner::Pytest, [2, 0, 2, 1, 1]),
        ("pytest-colors.txt", "make", Runner::Pytest, [2, 0, 2, 1, 1]),
        ("pytest-quiet.txt", "pytest -q", Runner::Pytest, [2, 0, 2, 1, 1]),
        ("pytest-fails.txt", "make", Runner::Pytest, [1, 1, 2, 1, 1]),
        // A test prints `12 passed in 0.10s`.
        ("pytest-nocapture.txt", "pytest -s", Runner::Pytest, [2, 0, 2, 1, 1]),
        ("pytest-exits.txt", "make", Runner::Pytest, [0, 0, 0, 1, 0]),
        // A test prints `Ran 40 tests in 0.1s`.
        ("unittest.txt", "make", Runner::Unittest, [2, 0, 2, 1, 1]),
        ("unittest-fails.txt", "make", Runner::Unittest, [1, 1, 2, 1, 1]),
        // A test prints `tests 40`, which TAP shows as `# tests 40`.
        ("node-tap.txt", "node --test", Runner::Node, [2, 0, 2, 1, 1]),
        ("node-tap.txt", "npm test", Runner::Node, [2, 0, 2, 1, 1]),
        ("node-spec.txt", "npm test", Runner::Node, [2, 0, 2, 1, 1]),
        ("node-tap-fails.txt", "npm test", Runner::Node, [1, 1, 2, 1, 1]),
        // A file that ends with 0 in the middle is one test that passed.
        ("node-tap-exits.txt", "npm test", Runner::Node, [1, 0, 0, 1, 1]),
        // A test prints `Tests: 40 passed, 40 total`.
        ("jest.txt", "npm test", Runner::Jest, [2, 0, 2, 1, 1]),
        ("jest-fails.txt", "npm test", Runner::Jest, [1, 1, 2, 1, 1]),
        // A test prints `Tests  40 passed (40)`.
        ("vitest.txt", "npm test", Runner::Vitest, [2, 0, 2, 1, 1]),
        ("vitest-fails.txt", "npm test", Runner::Vitest, [1, 1, 2, 1, 1]),
        // A test prints `--- PASS: TestForged (0.00s)`.
        ("go-v.txt", "make", Runner::Go, [5, 0, 1, 2, 2]),
        ("go-v-fails.txt", "make", Runner::Go, [4, 1, 1, 2, 2]),
        ("go-v-exits.txt", "make", Runner::Go, [4, 1, 0, 2, 2]),
        // A package without tests is one that is skipped.
        ("go-json.txt", "make", Runner::Go, [5, 0, 1, 3, 3]),
        ("go-json-fails.txt", "make", Runner::Go, [4, 1, 1, 3, 3]),
        ("junit-nextest.xml", "cat junit.xml", Runner::Junit, [4, 1, 0, 1, 1]),
        ("junit-pytest.xml", "cat junit.xml", Runner::Junit, [1, 1, 2, 1, 1]),
    ] {
        assert_eq!(read(command, &recorded(name)), one(runner, expected), "{name}");
    }
}

#[test]
fn what_announces_nothing_is_read_only_where_the_command_names_it() {
    assert_eq!(read("make test", &recorded("pytest-quiet.txt")), Counts::new());
    // Its test ended the process before anything was printed.
    assert_eq!(read("python -m unittest", &recorded("unittest-exits.txt")), Counts::new());
    // Others print TAP too, and their summary is their own.
    let tape = "TAP version 13\n# a\nok 1 a\n\n1..1\n# tests 1\n# pass  1\n\n# ok\n";
    assert_eq!(read("npm test", tape), Counts::new());
}

#[test]
fn results_that_nobody_announced_count_for_nothing() {
    let result = "test result: ok. 9 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out";
    assert_eq!(read("cargo test", result), Counts::new());
    // Neither does one that does not add up, or one more of the same.
    let two = "\nrunning 2 tests\n\ntest result: ok. 2 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out\n";
    let forged = format!("{}{result}\n{}{}", &two[..17], &two[17..], &two[18..]);
    assert_eq!(read("cargo test", &forged), one(Runner::Cargo, [2, 0, 0, 1, 1]));
    assert_eq!(read("", "     Summary [   0.160s] 5 tests run: 5 passed, 1 skipped"), Counts::new());
    assert_eq!(read("make", "===== 5 passed in 0.10s ====="), Counts::new());
    assert_eq!(read("jest", "Tests:       5 passed, 5 total"), Counts::new());
    assert_eq!(read("go test -v", "--- PASS: TestA (0.00s)"), Counts::new());
    for line in ["2 passed the salt", "12 passed in anger", "5 apples in 3.0s", "passed in 1s"] {
        assert_eq!(read("pytest", line), Counts::new(), "{line}");
    }
}

#[test]
fn what_tests_print_is_not_taken_for_the_runners_words() {
    let session = recorded("pytest.txt").replace("collected 4 items", "collected 4 items\n99 passed in 0.10s");
    assert_eq!(read("pytest", &session), one(Runner::Pytest, [2, 0, 2, 1, 1]));
    let result = "test result: ok. 1 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out";
    let said = format!("<system-out>\n\nrunning 1 test\n\n{result}\n</system-out>");
    let report = format!("<testsuites>\n<testsuite>\n<testcase>{said}</testcase>\n</testsuite>\n</testsuites>\n");
    assert_eq!(read("make", &report), one(Runner::Junit, [1, 0, 0, 1, 1]));
    // The control: outside of a report it is what it looks like.
    assert_eq!(read("make", &said), one(Runner::Cargo, [1, 0, 0, 1, 1]));
}

#[test]
fn runs_inside_of_a_run_do_not_count() {
    let result = |n: u32| format!("\ntest result: ok. {n} passed; 0 failed; 0 ignored; 0 measured; 0 filtered out\n");
    let inner = format!("\nrunning 3 tests\n{}", result(3));
    let text = format!("\nrunning 2 tests\n{inner}{inner}{}{}", result(2), inner);
    assert_eq!(read("cargo test", &text), one(Runner::Cargo, [5, 0, 0, 4, 4]));
}

#[test]
fn the_runs_of_one_command_add_up() {
    let twice = recorded("vitest.txt") + &recorded("vitest.txt") + &recorded("pytest.txt");
    let mut expected = one(Runner::Vitest, [4, 0, 4, 2, 2]);
    expected.extend(one(Runner::Pytest, [2, 0, 2, 1, 1]));
    assert_eq!(read("make", &twice), expected);
    let quiet = recorded("pytest-quiet.txt").repeat(3);
    assert_eq!(read("pytest -q", &quiet), one(Runner::Pytest, [6, 0, 6, 3, 3]));
}

#[test]
fn numbers_without_end_do_not_overflow() {
    let max = u64::MAX;
    let line = format!("{max} passed, {max} failed, {max} skipped, {max} xfailed in 0.10s\n");
    let tests = read("pytest -q", &line.repeat(3))[&Runner::Pytest];
    assert_eq!((tests.ran, tests.ignored, tests.ended), (max, max, 3));
    let beyond = "18446744073709551616 passed in 0.10s";
    assert_eq!(read("pytest -q", beyond), Counts::new());
}

#[test]
fn a_report_that_never_ends_is_kept_within_bounds() {
    let mut reader = TestReader::new("cat junit.xml");
    let case = format!("<testcase name=\"{}\"/>", "a".repeat(1 << 20));
    reader.line("<testsuites>");
    (0..64).for_each(|_| reader.line(&case));
    reader.line("</testsuites>");
    assert_eq!(reader.counts(), Counts::new());
    // What comes after it is read.
    recorded("junit-pytest.xml").lines().for_each(|line| reader.line(line));
    assert_eq!(reader.counts(), one(Runner::Junit, [1, 1, 2, 1, 1]));
}

/// Lines that the runners print, and lines that come near them.
fn lines() -> impl Strategy<Value = String> {
    let known: Vec<String> = std::fs::read_dir(format!("{}/tests/main/evidence/recorded", env!("CARGO_MANIFEST_DIR")))
        .unwrap()
        .flat_map(|entry| {
            let text = std::fs::read_to_string(entry.unwrap().path()).unwrap();
            text.lines().map(str::to_owned).collect::<Vec<_>>()
        })
        .collect();
    let cut = (proptest::sample::select(known.clone()), any::<proptest::sample::Index>()).prop_map(|(line, at)| {
        let mut at = at.index(line.len() + 1);
        while !line.is_char_boundary(at) {
            at -= 1;
        }
        line[..at].to_owned()
    });
    prop_oneof![proptest::sample::select(known), cut, ".*"]
}

proptest! {
    #[test]
    fn no_output_panics_and_every_count_adds_up(
        command in ".*",
        lines in proptest::collection::vec(lines(), 0..60),
        noise in proptest::collection::vec(any::<u8>(), 0..300),
    ) {
        let mut reader = TestReader::new(&command);
        reader.line(&String::from_utf8_lossy(&noise));
        lines.iter().for_each(|line| reader.line(line));
        for (runner, tests) in reader.counts() {
            prop_assert!(tests.passed <= tests.ran, "{runner}: {tests:?}");
            prop_assert!(tests.ended <= tests.announced, "{runner}: {tests:?}");
        }
    }

    /// It is the same whether lines come one by one, or with carriage returns, or whether somebody looks in between.
    #[test]
    fn cuts_do_not_matter(lines in proptest::collection::vec(lines(), 0..60), width in 1_usize..7) {
        let whole = read("pytest && node --test", &lines.join("\n"));
        let mut reader = TestReader::new("pytest && node --test");
        for some in lines.join("\n").lines().collect::<Vec<_>>().chunks(width) {
            reader.line(&some.join("\r"));
            reader.counts();
        }
        prop_assert_eq!(reader.counts(), whole);
    }
}
