//! Reports about other loops, group GIT (`docs/bug-rows.md`): git and workspaces.

use std::fs;

use super::support::{BRANCH, DILIGENT, Scratch, until};

#[test]
fn git_01_locks_that_are_left_stop_nothing_and_a_strangers_stays() {
    let scratch = Scratch::new(2);
    scratch
        .agent(&format!("{DILIGENT}; touch .git/index.lock .git/HEAD.lock .git/config.lock .git/refs/heads/main.lock"));
    scratch.write(".git/index.lock", "a git that is at work");
    scratch.run(&[]).stopped("SUCCESS", 0);
    assert_eq!(scratch.read(".git/index.lock"), "a git that is at work");
}

#[test]
fn git_02_an_init_over_the_agents_git_folder() {
    let scratch = Scratch::new(2);
    scratch.agent(&format!(
        "{DILIGENT}; GIT_DIR=$PWD/.git git init -q --bare; git config core.bare true; git config core.worktree /"
    ));
    let before = scratch.operator();
    scratch.run(&[]).stopped("SUCCESS", 0);
    scratch.untouched(&before);
    assert_eq!(scratch.git(&["status", "--porcelain"]), "?? ralph-loop/");
}

#[test]
fn git_04_variables_of_git_lead_nowhere() {
    let scratch = Scratch::new(1);
    let elsewhere = scratch.path("elsewhere");
    scratch.git(&["init", "-q", "--template=", elsewhere.to_str().unwrap()]);
    let listing = || walk(&elsewhere);
    let before = listing();
    scratch.agent(&format!("{DILIGENT}; env >\"$NOTES/env\"; git status >/dev/null"));
    let git_dir = elsewhere.join(".git").display().to_string();
    let variables = [
        ("GIT_DIR", git_dir.as_str()),
        ("GIT_WORK_TREE", elsewhere.to_str().unwrap()),
        ("GIT_INDEX_FILE", &format!("{git_dir}/index")),
        ("GIT_OBJECT_DIRECTORY", &format!("{git_dir}/objects")),
    ];
    scratch.start_with(&["run"], &variables).end().stopped("SUCCESS", 0);
    assert_eq!(listing(), before);
    let seen = scratch.note("env");
    assert!(!seen.contains("GIT_DIR") && !seen.contains("GIT_WORK_TREE") && !seen.contains("GIT_INDEX_FILE"), "{seen}");
    assert_eq!(scratch.commits().len(), 1);
}

fn walk(folder: &std::path::Path) -> Vec<String> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).unwrap().map(Result::unwrap) {
        if entry.path().is_dir() {
            found.extend(walk(&entry.path()));
        }
        found.push(entry.path().display().to_string());
    }
    found.sort();
    found
}

#[test]
fn git_09_without_a_workspace_there_is_no_run() {
    let scratch = Scratch::new(1);
    fs::write(scratch.path("state"), "a file in the way").unwrap();
    let before = scratch.operator();
    let ended = scratch.run(&[]);
    assert_ne!(ended.status.code(), Some(0));
    assert!(ended.stderr.contains(scratch.path("state").to_str().unwrap()), "it says where: {}", ended.stderr);
    assert_eq!(scratch.sessions(), [""; 0], "there is no falling back to the checkout");
    scratch.untouched(&before);
}

#[test]
fn git_13_rejecting_work_removes_nothing_of_the_operators() {
    let scratch = Scratch::new(2);
    scratch.write("untracked.txt", "mine\n");
    scratch.write("secret.ignored", "mine too\n");
    scratch.agent("rm -f README.md; echo wrong >untracked.txt; echo wrong >secret.ignored");
    let before = scratch.operator();
    scratch.run(&[]).stopped("ITEMS_BLOCKED", 12);
    scratch.untouched(&before);
}

#[test]
fn git_20_what_the_operator_edits_during_a_run_stays() {
    let scratch = Scratch::new(2);
    scratch.agent(&format!("{DILIGENT}; echo >\"$NOTES/at-work\"; until test -e \"$NOTES/go\"; do sleep 0.02; done"));
    let run = scratch.start(&["run"]);
    until("the session", || scratch.path("notes/at-work").exists());
    scratch.write("README.md", "two hours of work\n");
    scratch.git(&["add", "README.md"]);
    scratch.write("README.md", "and a minute more\n");
    let before = scratch.operator();
    fs::write(scratch.path("notes/go"), "").unwrap();
    run.end().stopped("SUCCESS", 0);
    scratch.untouched(&before);
}

#[test]
fn git_21_reset_and_clean_reach_the_workspace_only() {
    let scratch = Scratch::new(1);
    scratch.write("README.md", "edited\n");
    let before = scratch.operator();
    scratch.agent(&format!("git reset -q --hard; git clean -qfdx; git checkout -q -- .; cd .. ; git reset --hard; git clean -fdx; cd - >/dev/null; {DILIGENT}"));
    scratch.run(&[]).stopped("SUCCESS", 0);
    scratch.untouched(&before);
}

#[test]
fn git_25_the_operators_stash_is_out_of_reach() {
    let scratch = Scratch::new(1);
    scratch.write("README.md", "in the stash\n");
    scratch.git(&["stash", "-q"]);
    let stash = scratch.git(&["rev-parse", "refs/stash"]);
    scratch
        .agent(&format!("git stash list >\"$NOTES/list\"; git stash pop; git stash drop; git stash clear; {DILIGENT}"));
    scratch.run(&[]).stopped("SUCCESS", 0);
    assert_eq!(scratch.note("list"), "");
    assert_eq!(scratch.git(&["rev-parse", "refs/stash"]), stash);
    assert_eq!(scratch.git(&["show", &format!("{BRANCH}:README.md")]), "hello");
}

#[test]
fn git_26_a_repository_with_a_submodule() {
    let scratch = Scratch::new(2);
    let inner = scratch.path("inner");
    let inner = inner.to_str().unwrap();
    scratch.git(&["init", "-q", "--template=", inner]);
    let identity = ["-c", "user.name=I", "-c", "user.email=i@example.org"];
    scratch.git(&[&["-C", inner][..], &identity, &["commit", "-q", "--allow-empty", "-m", "inner"]].concat());
    scratch.git(&["-c", "protocol.file.allow=always", "submodule", "add", "-q", inner, "sub"]);
    scratch.git(&["commit", "-qm", "with a submodule"]);
    scratch.run(&[]).stopped("SUCCESS", 0);
    assert_eq!(scratch.commits().len(), 2);
    let link = |revision: &str| scratch.git(&["ls-tree", revision, "sub"]);
    assert_eq!(link(BRANCH), link("main"));
}
