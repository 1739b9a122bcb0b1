//! What is refused before anything is changed: exit code 2, what and where.

use super::support::Scratch;

/// Runs; fails unless it was refused with these words and nothing was changed by it.
#[track_caller]
fn refused(scratch: &Scratch, args: &[&str], words: &[&str]) {
    let before = scratch.operator();
    let plan = scratch.read("ralph-loop/PRD-P1.md");
    scratch.run(args).refused(words);
    scratch.untouched(&before);
    assert_eq!(scratch.read("ralph-loop/PRD-P1.md"), plan);
    assert_eq!(scratch.git(&["for-each-ref", "refs/ralph", "refs/heads/ralph"]), "");
    for name in ["state", "PROGRESS.md", ".gitignore"] {
        assert!(!scratch.root.join("ralph-loop").join(name).exists(), "{name} was made");
    }
    assert!(!scratch.path("state").exists(), "workspaces were made");
    assert_eq!(scratch.sessions(), [""; 0]);
}

#[test]
fn a_plan_that_cannot_be_used() {
    for (prd, words) in [
        ("# Nothing\n\nVerify: true\n\nOnly prose.\n", &["PRD-P1.md:1:", "no item"][..]),
        ("Verify: true\n\n- [ ] R01: a\n- [ ] R02: b\n- [ ] R01: c\n", &["PRD-P1.md:5:", "R01", "3"]),
        ("Verfy: true\n\n- [ ] R01: a\n", &["PRD-P1.md:1:", "Verfy", "Verify"]),
        ("Verify: true\n\n- [ ] R01: a\n  Verfiy: true\n", &["PRD-P1.md:4:", "Verfiy"]),
        ("# P\n\n- [ ] R01: a\n  Verify: true\n- [ ] R02: b\n", &["PRD-P1.md:5:", "R02", "Verify:"]),
    ] {
        let scratch = Scratch::new(0);
        scratch.prd(prd);
        refused(&scratch, &[], words);
    }
    // The control.
    let scratch = Scratch::new(1);
    scratch.run(&[]).stopped("SUCCESS", 0);
}

#[test]
fn settings_that_cannot_be_used() {
    for (more, words) in [
        ("[budget]\niteratons = 3\n", &["ralph.toml:5:", "iteratons", "iterations"][..]),
        ("[bugdet]\niterations = 3\n", &["ralph.toml", "bugdet", "budget"]),
        ("[budget]\niterations = 0\n", &["budget.iterations", "at least 1"]),
        ("[verify]\ntimeout = \"soon\"\n", &["ralph.toml:5:", "soon"]),
    ] {
        let scratch = Scratch::new(1);
        scratch.settings(more);
        refused(&scratch, &[], words);
    }
    let scratch = Scratch::new(1);
    refused(&scratch, &["--set", "budget.iteration=3"], &["--set", "did you mean `iterations`"]);
    scratch.write("ralph-loop/ralph.toml", "[agent]\nbackend = \"clade\"\n");
    refused(&scratch, &[], &["ralph.toml:2:", "claude"]);
    scratch.write("ralph-loop/ralph.toml", "");
    refused(&scratch, &[], &["no agent is set", "ralph.toml"]);
}

#[test]
fn a_budget_that_cannot_be_watched() {
    let scratch = Scratch::new(1);
    refused(&scratch, &["--cost-usd", "5"], &["budget.cost_usd", "does not report"]);
    refused(&scratch, &["--tokens", "5000"], &["budget.tokens", "does not report"]);
}

#[test]
fn a_folder_without_a_repository() {
    let scratch = Scratch::empty();
    scratch.prd("Verify: true\n\n- [ ] R01: a\n");
    scratch.run(&[]).refused(&["no git repository", "git init"]);
    assert!(!scratch.root.join("ralph-loop/state").exists());
    assert_eq!(scratch.sessions(), [""; 0]);
}

#[test]
fn a_repository_without_a_commit() {
    let scratch = Scratch::empty();
    scratch.git(&["init", "-q", "-b", "main"]);
    scratch.prd("Verify: true\n\n- [ ] R01: a\n");
    refused(&scratch, &[], &["no commit yet"]);
}

#[test]
fn a_branch_that_is_not_ralphs() {
    let scratch = Scratch::new(1);
    refused(&scratch, &["--set", "run.branch=main"], &["default branch"]);
    scratch.git(&["branch", "mine"]);
    refused(&scratch, &["--set", "run.branch=mine"], &["`mine`", "not Ralph's"]);
    refused(&scratch, &["--set", "run.branch=--upload-pack=x"], &["not a name"]);
    scratch.git(&["checkout", "-q", "-b", "other"]);
    refused(&scratch, &["--set", "run.branch=other"], &["checked out"]);
}

#[test]
fn workspaces_in_a_checkout() {
    let scratch = Scratch::new(1);
    refused(&scratch, &["--set", "run.workspaces=inside"], &["inside"]);
}

#[test]
fn a_plan_that_is_not_there() {
    let scratch = Scratch::new(1);
    refused(&scratch, &["ralph-loop/PRD-P9.md"], &["PRD-P9.md"]);
    scratch.write("ralph-loop/PRD-P2.md", "Verify: true\n\n- [ ] R01: a\n");
    refused(&scratch, &[], &["PRD-P1.md", "PRD-P2.md"]);
    scratch.run(&["ralph-loop/PRD-P1.md"]).stopped("SUCCESS", 0);
}
