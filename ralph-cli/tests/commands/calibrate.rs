use super::support::{Scratch, filters};

const AGENT: &str = "[agent]\nbackend = \"command\"\ncommand = [\"sh\", \"-c\", \"true\"]\n";

/// Passes three times of four, by a count outside of the work.
const FLAKY: &str =
    "n=$(cat \"$HOME/n\" || echo 0); echo $((n + 1)) >\"$HOME/n\"; echo \"time $n\"; test $((n % 4)) != 3";

/// One of each kind.
fn mixed() -> Scratch {
    let prd = format!(
        "# Shop\nVerify: test -s README.md\n\n\
         - [x] R01: Begin\n  Verify: test -e begun\n\
         - [ ] R02: Greet\n  Verify: test -e greeting\n\
         - [ ] R03: Part\n  Verify: {FLAKY}\n\
         - [ ] R04: Sell\n  Verify: no-such-program\n\
         - [ ] R05: Buy\n"
    );
    Scratch::repo(&[
        ("ralph-loop/ralph.toml", AGENT),
        ("ralph-loop/.gitignore", "state/\n"),
        ("ralph-loop/PRD-P1.md", &prd),
        ("README.md", "hello\n"),
    ])
}

fn shown(scratch: &Scratch, args: &[&str]) -> String {
    let said = scratch.ralph(args);
    assert_eq!(scratch.git(&["status", "--porcelain"]), "", "nothing of the operator's is changed");
    assert_eq!(scratch.git(&["for-each-ref", "--format=%(refname)"]), "refs/heads/main\n", "no branch is made");
    scratch.stable(&format!("exit {}\n{}{}", said.code, said.stdout, said.stderr))
}

fn assert_snapshot(name: &str, text: &str) {
    let mut filters = filters();
    // Before those of commits, which would take its date.
    filters.insert(0, (r"calibration-\d{8}-\d{6}-\w{6}", "[calibration]"));
    filters.push((r"\d+\.\d s (on average|at most)", "[time] $1"));
    filters.push((r#""(mean|max)_ms": \d+"#, r#""${1}_ms": "[time]""#));
    insta::with_settings!({filters => filters}, { insta::assert_snapshot!(name, text) });
}

/// The outputs that were kept.
fn kept(scratch: &Scratch) -> Vec<String> {
    let entries = std::fs::read_dir(scratch.path().join("ralph-loop/state")).unwrap().map(Result::unwrap);
    let folders = entries.filter(|entry| entry.file_name().to_str().unwrap().starts_with("calibration-"));
    let mut names: Vec<String> = folders
        .flat_map(|folder| std::fs::read_dir(folder.path()).unwrap())
        .map(|file| file.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}

#[test]
fn each_kind_of_verifier_is_told_with_what_it_means() {
    let scratch = mixed();
    assert_snapshot("mixed", &shown(&scratch, &["check", "--calibrate", "8", "--set", "verify.confirm=2"]));
    // The first output of each kind, and those that differ.
    let expected = ["02-0001.log", "03-0001.log", "04-0001.log", "04-0004.log", "04-0008.log", "05-0001.log"];
    assert_eq!(kept(&scratch), expected);
    let folder = scratch.path().join("ralph-loop/state");
    let folder = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let folder = folder.into_iter().find(|path| path.display().to_string().contains("/calibration-")).unwrap();
    let failed = std::fs::read_to_string(folder.join("04-0004.log")).unwrap();
    assert!(failed.starts_with("$ n=") && failed.ends_with("\ntime 3\n"), "{failed}");

    let cleaned = scratch.ralph(&["clean", "--logs", "--yes"]);
    assert!(cleaned.code == 0 && cleaned.stdout.contains("ralph-loop/state/calibration-"), "{cleaned:?}");
    assert_eq!(kept(&scratch), [""; 0]);
}

#[test]
fn the_same_for_machines() {
    let scratch = mixed();
    let said = shown(&scratch, &["check", "--calibrate", "4", "--json"]);
    assert_snapshot("json", &said);
}

#[test]
fn where_all_are_steady_it_is_a_success_and_nothing_is_kept() {
    let prd = "- [ ] R01: Greet\n  Verify: test -s README.md\n";
    let settings = format!("{AGENT}[verify]\ncommand = \"test -d ralph-loop || exit 1\"\n");
    let scratch = Scratch::repo(&[
        ("ralph-loop/ralph.toml", &settings),
        ("ralph-loop/.gitignore", "state/\n"),
        ("ralph-loop/PRD-P1.md", prd),
        ("README.md", "hello\n"),
    ]);
    let said = shown(&scratch, &["check", "--calibrate", "2"]);
    assert!(said.starts_with("exit 0\n") && said.contains("2 verifiers, steady in all runs."), "{said}");
    assert!(said.contains("the common one (ralph-loop/ralph.toml:5)"), "{said}");
    assert_eq!(kept(&scratch), [""; 0]);
    // Control: one fail in many is enough, and so is one run that could not judge.
    for (flaky, told) in
        [("exit 1", "flaky, 6 of 7 passed, 1 failed"), ("exit 127", "flaky, 6 of 7 passed, 1 could not judge")]
    {
        scratch.write(
            "ralph-loop/PRD-P1.md",
            &format!(
                "- [ ] R01: Greet\n  Verify: echo x >>\"$HOME/m\"; test $(grep -c x \"$HOME/m\") != 5 || {flaky}\n"
            ),
        );
        scratch.commit("flaky");
        let said = shown(&scratch, &["check", "--calibrate", "7"]);
        assert!(said.starts_with("exit 15\n") && said.contains(told), "{said}");
        std::fs::remove_file(scratch.home().join("m")).unwrap();
    }
}

#[test]
fn a_number_of_runs_is_from_2_to_1000() {
    let scratch = mixed();
    for number in ["0", "1", "1001", "-3", "many"] {
        let said = scratch.ralph(&["check", &format!("--calibrate={number}")]);
        assert_eq!((said.code, said.stdout.as_str()), (2, ""), "{number}");
        assert!(said.stderr.contains("--calibrate <N>"), "{}", said.stderr);
    }
    assert!(!scratch.path().join("ralph-loop/state").exists());
}
