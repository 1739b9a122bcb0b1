//! Agents that do harm, by mistake or on purpose: to git, to processes, to output. The item comes to what its
//! verifier says, nothing of theirs runs in the engine, and nothing lives on.

use std::fs;

use super::support::{BRANCH, DILIGENT, Scratch, size};

/// Runs one item with an agent that does this besides its work, which is accepted all the same.
#[track_caller]
fn accepted_all_the_same(harm: &str) -> Scratch {
    let scratch = Scratch::new(1);
    scratch.agent(&format!("{DILIGENT}\n{harm}"));
    let before = scratch.operator();
    scratch.run(&[]).stopped("SUCCESS", 0);
    assert_eq!(scratch.commits(), ["R01: make the file 1"]);
    scratch.untouched(&before);
    scratch.nothing_lives();
    scratch
}

const IDENTITY: &str = "git config user.name A; git config user.email a@example.org";

#[test]
fn one_that_commits_three_times() {
    let scratch = accepted_all_the_same(&format!(
        "{IDENTITY}\nfor n in 1 2 3; do echo $n >part$n; git add -A; git commit -qm part$n || exit 9; done\n\
         touch \"$NOTES/committed\""
    ));
    assert!(scratch.path("notes/committed").exists(), "it could commit");
    assert_eq!(scratch.files(BRANCH), [".gitignore", "R01.txt", "README.md", "part1", "part2", "part3"]);
    assert_eq!(scratch.git(&["log", "-1", "--format=%an <%ae>", BRANCH]), "Operator <operator@example.org>");
}

#[test]
fn one_that_amends_rewrites_and_switches_branches() {
    let scratch = accepted_all_the_same(&format!(
        "{IDENTITY}\ngit add -A; git commit -q --amend -m rewritten; git branch -D main; git checkout -q -b elsewhere\n\
         echo more >more; git add -A; git commit -qm more; git checkout -q --detach; echo even >even; git stash -u -q; git stash pop -q"
    ));
    assert_eq!(scratch.files(BRANCH), [".gitignore", "R01.txt", "README.md", "even", "more"]);
}

#[test]
fn one_that_pushes() {
    let scratch = Scratch::new(1);
    let hub = scratch.path("hub.git");
    scratch.git(&["init", "-q", "--bare", hub.to_str().unwrap()]);
    scratch.git(&["remote", "add", "origin", hub.to_str().unwrap()]);
    scratch.git(&["push", "-q", "origin", "main"]);
    scratch.agent(&format!(
        "{DILIGENT}\n{IDENTITY}\ngit add -A; git commit -qm work\n\
         git push && touch \"$NOTES/pushed\"; git push origin HEAD:main && touch \"$NOTES/pushed\"; git remote -v >\"$NOTES/remotes\""
    ));
    let (before, refs) = (scratch.operator(), fs::read_dir(hub.join("refs/heads")).unwrap().count());
    scratch.run(&[]).stopped("SUCCESS", 0);
    assert!(!scratch.path("notes/pushed").exists());
    assert_eq!(scratch.note("remotes"), "");
    assert_eq!(fs::read_dir(hub.join("refs/heads")).unwrap().count(), refs);
    scratch.untouched(&before);
}

#[test]
fn one_that_deletes_its_git_folder() {
    accepted_all_the_same("rm -rf .git");
    accepted_all_the_same("rm -rf .git; echo 'gitdir: /nowhere' >.git");
    accepted_all_the_same("rm -rf .git; ln -s \"$OPERATOR/.git\" .git");
}

/// Everything by which git runs programs, all of it leading to `$NOTES/ran`.
const PLANT: &str = r##"
printf '#!/bin/sh\necho "$0 $@" >>"%s/ran"\ncat\n' "$NOTES" >"$NOTES/evil"; chmod +x "$NOTES/evil"
mkdir -p .git/hooks .git/info
for hook in pre-commit post-commit commit-msg post-checkout post-index-change reference-transaction \
    fsmonitor-watchman pre-auto-gc post-rewrite prepare-commit-msg post-merge pre-push; do
  cp "$NOTES/evil" .git/hooks/$hook
done
for key in core.fsmonitor core.pager core.editor core.sshCommand diff.external filter.x.clean filter.x.smudge \
    filter.x.process gpg.program credential.helper core.askPass core.gitProxy diff.x.textconv merge.x.driver; do
  git config "$key" "$NOTES/evil"
done
git config filter.x.required true
git config core.hooksPath .git/hooks
git config commit.gpgsign true
git config core.attributesFile "$NOTES/attributes"
echo '* filter=x diff=x merge=x' >"$NOTES/attributes"
cp "$NOTES/attributes" .git/info/attributes
"##;

#[test]
fn what_it_plants_in_its_git_folder_never_runs() {
    let scratch = accepted_all_the_same(&format!(
        "{PLANT}\ngit status >/dev/null; git add -A; mv \"$NOTES/ran\" \"$NOTES/ran-for-the-agent\""
    ));
    assert_eq!(scratch.note("ran"), "", "ran in the engine");
    // The control: it does run where its settings are read.
    assert!(scratch.note("ran-for-the-agent").contains("evil"));
}

#[test]
fn attributes_and_settings_in_the_tree_are_data() {
    let scratch = Scratch::new(1);
    scratch.agent(&format!(
        "{DILIGENT}\n{PLANT}\ncp .git/config .gitconfig; cp \"$NOTES/attributes\" .gitattributes; rm -f \"$NOTES/ran\""
    ));
    // They are protected, so that a person is asked; then they are files like others.
    scratch.run(&[]).stopped("AWAITING_DECISIONS", 10);
    scratch.ralph(&["btw", "--answer", "D-001=approve"]);
    scratch.run(&[]).stopped("SUCCESS", 0);
    assert_eq!(scratch.note("ran"), "");
    assert!(scratch.files(BRANCH).contains(&".gitattributes".to_owned()));
}

#[test]
fn a_nested_repository_and_links_that_leave_fail_the_attempt_by_name() {
    let scratch = Scratch::new(2);
    scratch.agent(&format!(
        "{DILIGENT}\ntest $RALPH_ATTEMPT = 1 || {{ cat >\"$NOTES/told.$RALPH_ITEM_ID\"; echo again >>$RALPH_ITEM_ID.txt; exit; }}\n\
         if test $RALPH_ITEM_ID = R01; then git init -q inner; echo x >inner/x; else ln -s /etc/passwd link; fi"
    ));
    scratch.run(&[]).stopped("SUCCESS", 0);
    assert_eq!(scratch.sessions(), ["R01.1", "R01.2", "R02.1", "R02.2"]);
    assert!(scratch.note("told.R01").contains("inner"), "{}", scratch.note("told.R01"));
    assert!(scratch.note("told.R02").contains("link"), "{}", scratch.note("told.R02"));
    assert_eq!(scratch.files(BRANCH), [".gitignore", "R01.txt", "R02.txt", "README.md"]);
}

#[test]
fn a_daemon_in_a_session_of_its_own_that_holds_the_pipe() {
    let scratch = accepted_all_the_same(
        "setsid sh -c 'echo $$ >\"$NOTES/daemon\"; exec sleep 1000' &\n\
         env -i setsid sleep 1000 &\n(trap '' TERM HUP INT; sleep 1000) &\nuntil test -s \"$NOTES/daemon\"; do :; done",
    );
    // The control: there was one.
    assert_ne!(scratch.note("daemon"), "");
}

#[test]
fn one_that_prints_a_lot() {
    let megabytes = size("RALPH_TEST_FLOOD_MB", 100);
    let flood =
        format!("head -c {}M /dev/zero | tr '\\0' x; echo; printf '\\377\\376 not text \\000\\n'", megabytes / 2);
    let scratch = accepted_all_the_same(&format!("yes a line like many others | head -c {}M\n{flood}", megabytes / 2));
    let log = scratch.run_folders()[0].join("iterations/0001/session.log");
    assert!(fs::metadata(log).unwrap().len() >= megabytes << 20, "the whole output is in a file");
}

#[test]
fn one_that_never_ends() {
    let scratch = Scratch::new(1);
    scratch.agent(&format!("{DILIGENT}\ntrap '' TERM INT HUP\nsleep 1000 & while :; do sleep 1000; done"));
    let started = std::time::Instant::now();
    scratch.run(&["--set", "agent.timeout=500ms"]).stopped("SUCCESS", 0);
    assert!(started.elapsed().as_secs() < 30);
    scratch.nothing_lives();
    let journal = scratch.of_run("journal.jsonl");
    assert!(journal.contains("time limit"), "what it left is judged, and how it ended is recorded");
}

#[test]
fn one_that_is_silent_for_too_long() {
    let scratch = Scratch::new(1);
    scratch.agent(&format!("{DILIGENT}\nexec sleep 1000"));
    scratch.run(&["--set", "agent.idle_timeout=500ms"]).stopped("SUCCESS", 0);
    assert!(scratch.of_run("journal.jsonl").contains("silent"));
    scratch.nothing_lives();
}

#[test]
fn one_that_stops_itself() {
    let scratch = Scratch::new(1);
    scratch.agent(&format!("{DILIGENT}\nkill -STOP $$"));
    scratch.run(&["--set", "agent.timeout=500ms"]).stopped("SUCCESS", 0);
    scratch.nothing_lives();
}

#[test]
fn one_that_reads_stdin_to_its_end() {
    let scratch = accepted_all_the_same("cat >\"$NOTES/stdin\"; cat >\"$NOTES/again\"");
    assert!(scratch.note("stdin").contains("make the file 1"));
    assert_eq!(scratch.note("again"), "");
}

#[test]
fn one_that_kills_its_process_group_and_its_parent() {
    accepted_all_the_same("kill -9 0");
    // A verifier that does it cannot judge.
    let scratch = Scratch::new(1);
    scratch.edit_prd("test -s R01.txt", "kill -9 0");
    scratch.run(&[]).stopped("VERIFIER_BROKEN", 15);
    scratch.nothing_lives();
}

#[test]
fn one_that_wipes_everything_it_finds_in_its_workspace() {
    let scratch = Scratch::new(2);
    scratch.agent(&format!(
        "test $RALPH_ITEM_ID.$RALPH_ATTEMPT = R01.1 && {{ chmod 000 . ; chmod 755 .; rm -rf .[!.]* *; exit; }}\ngit checkout -q -- . ; {DILIGENT}"
    ));
    scratch.run(&[]).stopped("SUCCESS", 0);
    assert_eq!(scratch.commits().len(), 2);
}
