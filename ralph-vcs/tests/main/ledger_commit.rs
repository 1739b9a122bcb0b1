//! The `[Decision]` commit on the operator's own branch.

use std::{
    fs,
    path::{Path, PathBuf},
    time::Duration,
};

use ralph_core::{Cx, Vcs};
use ralph_vcs::{GitOptions, GitVcs, LedgerCommit, LedgerCommitted, decision_subject};

use crate::support::{Repo, program, write};

const FILES: [&str; 4] =
    ["ralph-loop/PRD-P1.md", "ralph-loop/DECISIONS.md", "ralph-loop/PROGRESS.md", "ralph-loop/state/decisions.json"];
const SUBJECT: &str = "[Decision] D-007 R03: Resend";

/// A repository with a ledger that is in git, all but its state.
fn tracked() -> Repo {
    let repo = Repo::new();
    repo.write("ralph-loop/.gitignore", "state/\n");
    repo.write("ralph-loop/PRD-P1.md", "- [?] R03: mail\n");
    repo.commit("ralph-loop/DECISIONS.md", "pending\n");
    repo
}

/// What `ralph btw` writes.
fn answer(root: &Path) {
    write(&root.join("ralph-loop/PRD-P1.md"), "- [ ] R03: mail\n  - Decision D-007 (lead): Resend\n");
    write(&root.join("ralph-loop/DECISIONS.md"), "resolved\n");
    write(&root.join("ralph-loop/PROGRESS.md"), "new\n");
    write(&root.join("ralph-loop/state/decisions.json"), "{}\n");
}

async fn commit_with(options: &GitOptions, files: &[&str]) -> LedgerCommitted {
    let subject = decision_subject(&"D-007".into(), "R03", "Resend");
    let files: Vec<_> = files.iter().map(|&it| it.to_owned()).collect();
    LedgerCommit::open(options).await.unwrap().commit(&subject, &files, &Cx::new()).await.unwrap()
}

async fn commit(repo: &Repo) -> LedgerCommitted {
    commit_with(&repo.options(), &FILES).await
}

#[track_caller]
fn committed(outcome: LedgerCommitted) -> String {
    match outcome {
        LedgerCommitted::Committed { revision, note: None } => revision.to_string(),
        other => panic!("{other:?}"),
    }
}

#[track_caller]
fn skipped(outcome: LedgerCommitted) -> String {
    match outcome {
        LedgerCommitted::Skipped(why) => why,
        other => panic!("{other:?}"),
    }
}

fn status(repo: &Repo) -> String {
    repo.git(&["status", "--porcelain"])
}

/// The paths that the newest commit changes.
fn in_commit(repo: &Repo) -> String {
    repo.git(&["show", "--format=", "--name-only", "HEAD"]).replace('\n', " ")
}

const ALL: &str = "ralph-loop/DECISIONS.md ralph-loop/PRD-P1.md ralph-loop/PROGRESS.md";

#[tokio::test]
async fn just_the_ledgers_files_are_committed_once() {
    let repo = tracked();
    for hook in ["pre-commit", "commit-msg", "post-commit", "reference-transaction", "post-index-change"] {
        program(&repo.root.join(".git/hooks").join(hook), "#!/bin/sh\ntouch hook-ran\nexit 1\n");
    }
    repo.git(&["config", "commit.gpgSign", "true"]);
    repo.git(&["config", "gpg.program", "/nonexistent"]);
    answer(&repo.root);
    repo.write("README.md", "edited\n");
    repo.write("untracked", "x");
    let before = repo.head();
    let revision = committed(commit(&repo).await);
    assert!(!repo.root.join("hook-ran").exists());
    // The control: git's own look at the index runs one of them.
    repo.git(&["status"]);
    fs::remove_file(repo.root.join("hook-ran")).unwrap();
    assert_eq!((repo.head().to_string(), repo.rev("main")), (revision.clone(), revision.clone()));
    assert_eq!(repo.rev("HEAD^"), before.as_str());
    assert_eq!(in_commit(&repo), ALL);
    let message = repo.git(&["show", "-s", "--format=%an <%ae> %cn%n%B", "HEAD"]);
    assert_eq!(message.trim_end(), format!("Operator <operator@example.org> Operator\n{SUBJECT}"));
    assert_eq!(status(&repo), " M README.md\n?? untracked");
    assert_eq!(repo.git(&["reflog", "-1", "--format=%gs"]), format!("commit: {SUBJECT}"));
    assert_eq!(repo.git(&["for-each-ref", "refs/ralph"]), "");
    assert_eq!(commit(&repo).await, LedgerCommitted::Nothing);
    assert_eq!(repo.head().as_str(), revision);
    assert!(!repo.root.join(".git/index.lock").exists());
}

#[tokio::test]
async fn what_is_staged_stays_staged_and_out_of_the_commit() {
    let repo = tracked();
    repo.write("README.md", "staged\n");
    repo.write("new", "staged\n");
    repo.write("ralph-loop/PRD-P1.md", "half of it\n");
    repo.git(&["add", "README.md", "new", "ralph-loop/PRD-P1.md"]);
    repo.git(&["mv", "ralph-loop/DECISIONS.md", "ralph-loop/OLD.md"]);
    repo.write("README.md", "and more\n");
    repo.write("ralph-loop/intended", "x");
    repo.git(&["add", "-N", "ralph-loop/intended"]);
    let staged = || repo.git(&["ls-files", "-s", "README.md", "new", "ralph-loop/PRD-P1.md", "ralph-loop/OLD.md"]);
    let before = staged();
    answer(&repo.root);
    fs::remove_file(repo.root.join("ralph-loop/DECISIONS.md")).unwrap();
    let files = [&FILES[..], &["ralph-loop/intended", "ralph-loop/OLD.md"]].concat();
    committed(commit_with(&repo.options(), &files).await);
    // What is not there is not removed by us, and what was renamed in the index stays so.
    assert_eq!(in_commit(&repo), "ralph-loop/OLD.md ralph-loop/PRD-P1.md ralph-loop/PROGRESS.md ralph-loop/intended");
    assert_eq!(repo.git(&["show", "HEAD:ralph-loop/DECISIONS.md"]), "pending");
    assert_eq!(staged(), before);
    let told: Vec<_> = status(&repo).lines().map(str::to_owned).collect();
    assert_eq!(told, ["MM README.md", "A  new", "D  ralph-loop/DECISIONS.md", "MM ralph-loop/PRD-P1.md"]);
    assert_eq!(commit_with(&repo.options(), &files).await, LedgerCommitted::Nothing);
}

/// The bytes are those that `git add` stores.
#[tokio::test]
async fn line_ends_and_filters_are_as_if_added() {
    let repo = tracked();
    repo.commit(".gitattributes", "PROGRESS.md filter=up\n");
    for (key, value) in [("core.autocrlf", "true"), ("core.safecrlf", "true"), ("filter.up.clean", "tr a-z A-Z")] {
        repo.git(&["config", key, value]);
    }
    answer(&repo.root);
    repo.write("ralph-loop/DECISIONS.md", "one\r\ntwo\r\n");
    committed(commit(&repo).await);
    assert_eq!(repo.git(&["show", "HEAD:ralph-loop/DECISIONS.md"]), "one\ntwo");
    assert_eq!(repo.git(&["show", "HEAD:ralph-loop/PROGRESS.md"]), "NEW");
    assert_eq!(status(&repo), "");
    repo.git(&["-c", "core.safecrlf=false", "add", "--renormalize", "ralph-loop"]);
    assert_eq!(repo.git(&["diff", "--cached", "--name-only"]), "", "git add would have stored other bytes");
}

#[tokio::test]
async fn a_ledger_that_git_does_not_know() {
    let repo = Repo::new();
    answer(&repo.root);
    let head = repo.head();
    assert_eq!(commit(&repo).await, LedgerCommitted::NotTracked);
    repo.write(".git/info/exclude", "ralph-loop/\n");
    assert_eq!(commit(&repo).await, LedgerCommitted::NotTracked);
    // One file was added by force; the others are ignored still.
    repo.git(&["add", "-f", "ralph-loop/PRD-P1.md"]);
    repo.git(&["commit", "-qm", "forced"]);
    repo.write("ralph-loop/PRD-P1.md", "changed\n");
    repo.git(&["add", "-f", "ralph-loop/state/decisions.json"]);
    committed(commit(&repo).await);
    assert_eq!(in_commit(&repo), "ralph-loop/PRD-P1.md");
    assert_ne!(repo.head(), head);
    // Staged by somebody, and still never committed by us.
    assert_eq!(status(&repo), "A  ralph-loop/state/decisions.json");
}

/// Nothing is touched, and it is said why.
#[tokio::test]
async fn whatever_is_under_way_is_left_alone() {
    type Begin = fn(&Repo);
    let cases: [(&str, Begin); 8] = [
        ("a merge", |repo| drop(repo.try_git_in(&repo.root, &["merge", "side"]))),
        ("a rebase", |repo| drop(repo.try_git_in(&repo.root, &["rebase", "side"]))),
        ("a cherry-pick", |repo| drop(repo.try_git_in(&repo.root, &["cherry-pick", "side"]))),
        ("a revert", |repo| drop(repo.try_git_in(&repo.root, &["revert", "--no-edit", "HEAD~1"]))),
        ("a bisection", |repo| drop(repo.git(&["bisect", "start"]))),
        ("another git", |repo| repo.write(".git/index.lock", "")),
        ("detached", |repo| drop(repo.git(&["checkout", "-q", "--detach"]))),
        ("no commit yet", |repo| drop(repo.git(&["checkout", "-q", "--orphan", "new"]))),
    ];
    for (why, begin) in cases {
        let repo = tracked();
        repo.git(&["checkout", "-qb", "side"]);
        repo.commit("README.md", "side\n");
        repo.git(&["checkout", "-q", "main"]);
        repo.commit("README.md", "main\n");
        repo.commit("README.md", "main again\n");
        begin(&repo);
        answer(&repo.root);
        let index = || fs::read(repo.root.join(".git/index")).unwrap();
        let (before, refs) = (index(), repo.git(&["for-each-ref"]));
        let told = skipped(commit(&repo).await);
        assert!(told.contains(why), "{why}: {told}");
        assert_eq!((index() == before, repo.git(&["for-each-ref"])), (true, refs), "{why}");
    }
    let repo = tracked();
    answer(&repo.root);
    let bare = repo.folder.path().join("bare.git");
    repo.git(&["clone", "-q", "--bare", ".", &bare.display().to_string()]);
    let mut options = repo.options();
    options.repository = bare;
    assert!(skipped(commit_with(&options, &FILES).await).contains("bare"));
    options.repository = repo.home();
    assert!(skipped(commit_with(&options, &FILES).await).contains("not in a git repository"));
}

#[tokio::test]
async fn conflicts_that_are_not_resolved() {
    let repo = tracked();
    answer(&repo.root);
    repo.git(&["stash", "-q"]);
    repo.commit("ralph-loop/DECISIONS.md", "other\n");
    repo.try_git_in(&repo.root, &["stash", "pop"]);
    assert!(status(&repo).contains("UU ralph-loop/DECISIONS.md"), "{}", status(&repo));
    let head = repo.head();
    assert!(skipped(commit(&repo).await).contains("not resolved"));
    assert_eq!(repo.head(), head);
}

#[tokio::test]
async fn a_ledger_that_is_elsewhere() {
    let repo = tracked();
    let elsewhere = repo.folder.path().join("elsewhere");
    answer(&repo.root);
    let try_it = async |files: &[&str], why: &str| {
        let told = skipped(commit_with(&repo.options(), files).await);
        assert!(told.contains(why), "{told}");
    };
    for odd in ["README.md", "../x", "ralph-loop/../README.md", "/etc/passwd", "ralph-loop//x", "ralph-loop/.GIT/x", ""]
    {
        try_it(&[odd], "does not lie in the control folder").await;
    }
    std::os::unix::fs::symlink("PRD-P1.md", repo.root.join("ralph-loop/link.md")).unwrap();
    try_it(&["ralph-loop/link.md"], "`ralph-loop/link.md` is a symbolic link").await;
    fs::rename(repo.root.join("ralph-loop"), &elsewhere).unwrap();
    std::os::unix::fs::symlink(&elsewhere, repo.root.join("ralph-loop")).unwrap();
    try_it(&FILES, "`ralph-loop` is a symbolic link").await;
    fs::remove_file(repo.root.join("ralph-loop")).unwrap();
    fs::rename(&elsewhere, repo.root.join("ralph-loop")).unwrap();
    repo.git_in(&repo.root.join("ralph-loop"), &["init", "-q"]);
    try_it(&FILES, "a repository of its own").await;
}

/// A crash after the commit, and an index that could not be written: the next call completes it.
#[tokio::test]
async fn what_was_left_half_done_is_completed() {
    let repo = tracked();
    let lock = repo.root.join(".git/index.lock");
    // A filter that comes in between makes the index one that cannot be written.
    repo.git(&["config", "filter.lock.clean", &format!("touch {}; cat", lock.display())]);
    repo.commit(".gitattributes", "PROGRESS.md filter=lock\n");
    answer(&repo.root);
    repo.write("ralph-loop/PRD-P1.md", "staged\n");
    repo.git(&["add", "ralph-loop/PRD-P1.md"]);
    let _ = fs::remove_file(&lock);
    answer(&repo.root);
    let LedgerCommitted::Committed { revision, note: Some(note) } = commit(&repo).await else { panic!() };
    assert!(note.contains("index"), "{note}");
    fs::remove_file(&lock).unwrap();
    assert!(repo.git(&["diff", "--cached", "--name-only"]).contains("ralph-loop/DECISIONS.md"), "it is a reversal");
    repo.git(&["config", "filter.lock.clean", "cat"]);
    assert_eq!(commit(&repo).await, LedgerCommitted::Nothing);
    assert_eq!(repo.head(), revision);
    assert_eq!(repo.git(&["diff", "--cached", "--name-only"]), "ralph-loop/PRD-P1.md", "what was staged stays so");
    assert_eq!(repo.git(&["for-each-ref", "refs/ralph"]), "");
    // Once the operator has committed, the index is theirs.
    repo.git(&["update-ref", "refs/ralph/ledger/main", "HEAD~1"]);
    repo.git(&["commit", "-qm", "theirs"]);
    repo.git(&["reset", "-q", "HEAD~2", "--", "ralph-loop/DECISIONS.md"]);
    let staged = || repo.git(&["diff", "--cached", "--name-only"]);
    assert_eq!(staged(), "ralph-loop/DECISIONS.md");
    committed(commit(&repo).await);
    assert_eq!(in_commit(&repo), "ralph-loop/PRD-P1.md");
    assert_eq!(
        (staged().as_str(), repo.git(&["for-each-ref", "refs/ralph"]).as_str()),
        ("ralph-loop/DECISIONS.md", "")
    );
}

/// At whatever point it is dropped, doing it again gives one commit and a clean index.
#[tokio::test]
async fn calls_that_are_dropped_can_be_made_again() {
    let repo = tracked();
    let (options, files) = (repo.options(), FILES.map(str::to_owned));
    let ledger = LedgerCommit::open(&options).await.unwrap();
    for round in 0..12_u64 {
        let before = repo.head();
        repo.write("ralph-loop/DECISIONS.md", &format!("round {round}\n"));
        let cx = Cx::new();
        let _ = tokio::time::timeout(Duration::from_millis(4 * round), ledger.commit(SUBJECT, &files, &cx)).await;
        // What was under way may still hold the index for a moment.
        let mut outcome = ledger.commit(SUBJECT, &files, &cx).await.unwrap();
        while let LedgerCommitted::Skipped(why) = &outcome {
            assert!(why.contains("another git"), "{why}");
            tokio::task::yield_now().await;
            outcome = ledger.commit(SUBJECT, &files, &cx).await.unwrap();
        }
        assert_eq!(repo.git(&["rev-list", "--count", &format!("{before}..HEAD")]), "1", "round {round}: {outcome:?}");
        assert_eq!(status(&repo), "", "round {round}: {outcome:?}");
    }
}

#[tokio::test]
async fn linked_worktrees_have_an_index_of_their_own() {
    let repo = tracked();
    let tree = repo.folder.path().join("tree");
    repo.git(&["worktree", "add", "-q", "-b", "side", &tree.display().to_string()]);
    answer(&tree);
    write(&tree.join("staged"), "x");
    repo.git_in(&tree, &["add", "staged"]);
    repo.write("staged-here", "x");
    repo.git(&["add", "staged-here"]);
    let main = repo.rev("main");
    let mut options = repo.options();
    options.repository = tree.join("ralph-loop");
    let revision = committed(commit_with(&options, &FILES).await);
    assert_eq!((repo.rev("side"), repo.rev("main")), (revision, main));
    assert_eq!(repo.git_in(&tree, &["status", "--porcelain"]), "A  staged");
    assert_eq!(status(&repo), "A  staged-here");
}

/// The operator's index keeps its form, and what is not checked out stays so.
#[tokio::test]
async fn sparse_and_split_indexes() {
    let repo = tracked();
    repo.commit("far/away/file", "x\n");
    repo.commit("near/file", "x\n");
    repo.git(&["sparse-checkout", "set", "--cone", "--sparse-index", "near", "ralph-loop"]);
    assert!(!repo.root.join("far").exists());
    answer(&repo.root);
    committed(commit(&repo).await);
    assert_eq!(in_commit(&repo), ALL);
    assert_eq!(status(&repo), "");
    assert!(!repo.root.join("far").exists());
    assert!(repo.git(&["ls-files", "--sparse", "-t"]).contains("S far/"), "the index is sparse no more");
    assert_eq!(repo.git(&["show", "HEAD:far/away/file"]), "x");
    // The ledger itself is not in the part that is checked out, and is there all the same.
    repo.git(&["sparse-checkout", "set", "--cone", "--sparse-index", "near"]);
    repo.write("ralph-loop/DECISIONS.md", "again\n");
    committed(commit(&repo).await);
    assert_eq!(repo.git(&["show", "HEAD:ralph-loop/DECISIONS.md"]), "again");
    assert_eq!(repo.git(&["diff", "--cached", "--name-only"]), "");

    let repo = tracked();
    repo.git(&["config", "core.splitIndex", "true"]);
    repo.git(&["update-index", "--split-index"]);
    let shared = || {
        let names = fs::read_dir(repo.root.join(".git")).unwrap().flatten().map(|it| it.file_name());
        names.filter(|name| name.to_string_lossy().starts_with("sharedindex.")).count()
    };
    assert_eq!(shared(), 1);
    answer(&repo.root);
    committed(commit(&repo).await);
    assert_eq!(status(&repo), "");
    assert!(shared() >= 1 && repo.git(&["rev-parse", "--shared-index-path"]).contains("sharedindex"));
}

#[tokio::test]
async fn submodules_stay_as_they_are() {
    let (module, repo) = (tracked(), tracked());
    let url = module.root.display().to_string();
    repo.git(&["-c", "protocol.file.allow=always", "submodule", "add", "-q", &url, "module"]);
    repo.commit("with-module", "x");
    let inner: PathBuf = repo.root.join("module");
    repo.git_in(&inner, &["config", "user.name", "Inner"]);
    repo.git_in(&inner, &["config", "user.email", "inner@example.org"]);
    write(&inner.join("README.md"), "changed\n");
    answer(&repo.root);
    committed(commit(&repo).await);
    assert_eq!(in_commit(&repo), ALL);
    assert_eq!(status(&repo), " M module");
    // A project that is itself a submodule of another.
    answer(&inner);
    let mut options = repo.options();
    options.repository = inner.clone();
    committed(commit_with(&options, &FILES).await);
    assert_eq!(repo.git_in(&inner, &["show", "-s", "--format=%an %s"]), format!("Inner {SUBJECT}"));
    assert_eq!(repo.git_in(&inner, &["status", "--porcelain"]), " M README.md");
    // The ledger lies in the submodule, and the project is the outer one.
    let options = repo.options().with_ledger("module/ralph-loop");
    let outcome = commit_with(&options, &["module/ralph-loop/PRD-P1.md"]).await;
    assert_eq!(outcome, LedgerCommitted::NotTracked);
}

/// A run that is on at the same time is not disturbed: its branch and its refs are others.
#[tokio::test]
async fn a_run_goes_on_beside_it() {
    let repo = tracked();
    let (vcs, base) = repo.begin().await;
    answer(&repo.root);
    committed(commit(&repo).await);
    let tip = vcs.tip(Some(&base), &Cx::new()).await.unwrap();
    assert_eq!(tip, ralph_core::Tip::At(base));
    let again = GitVcs::open(repo.options()).await.unwrap();
    assert!(again.preflight(&Cx::new()).await.unwrap().refusals.is_empty());
}
