//! Pushing, against real repositories beside the operator's.

use std::{
    fs,
    path::{Path, PathBuf},
    time::{Duration, Instant},
};

use ralph_core::{Cx, Publish, Revision, Vcs, VcsError, chain};
use ralph_vcs::{GitPublish, GitVcs};

use crate::support::{BRANCH, Repo, WORK, accept, place, program, seal, write};

/// A repository with a bare one beside it that is its remote `origin`.
struct Pair {
    repo: Repo,
    bare: PathBuf,
}

impl Pair {
    fn new() -> Self {
        let repo = Repo::new();
        let bare = repo.folder.path().join("remote.git");
        repo.git(&["init", "-q", "--bare", "-b", "main", &bare.display().to_string()]);
        repo.git(&["remote", "add", "origin", &bare.display().to_string()]);
        Self { repo, bare }
    }

    /// Name and id of everything at the remote.
    fn refs(&self) -> Vec<String> {
        let list = self.repo.git_in(&self.bare, &["for-each-ref", "--format=%(refname) %(objectname)"]);
        list.lines().map(str::to_owned).collect()
    }

    fn hook(&self, name: &str, script: &str) {
        program(&self.bare.join("hooks").join(name), &format!("#!/bin/sh\n{script}\n"));
    }
}

/// A branch with one accepted commit.
async fn accepted(repo: &Repo) -> (GitVcs, Revision) {
    let (vcs, base) = repo.begin().await;
    let revision = next(&vcs, &base, "a").await;
    (vcs, revision)
}

async fn next(vcs: &GitVcs, base: &Revision, file: &str) -> Revision {
    let revision = work(vcs, base, file).await;
    accept(vcs, &revision, base).await;
    revision
}

async fn work(vcs: &GitVcs, base: &Revision, file: &str) -> Revision {
    let site = place(vcs, WORK, base).await.folder;
    write(&site.join(file), file);
    vcs.snapshot(WORK, base, &seal(file, 1), &Cx::new()).await.unwrap().revision.unwrap()
}

async fn push(publish: &GitPublish, revision: &Revision) -> Result<(), VcsError> {
    publish.publish(revision, &Cx::new()).await
}

async fn refused(publish: &GitPublish, revision: &Revision) -> String {
    chain(&push(publish, revision).await.unwrap_err())
}

#[tokio::test]
async fn the_branch_and_nothing_else_is_pushed() {
    let pair = Pair::new();
    let (vcs, first) = accepted(&pair.repo).await;
    let publish = GitPublish::open(&vcs, "origin").await.unwrap();
    let before = vcs.fingerprint(&Cx::new()).await.unwrap();
    push(&publish, &first).await.unwrap();
    assert_eq!(pair.refs(), [format!("refs/heads/{BRANCH} {first}")]);
    push(&publish, &first).await.unwrap();
    let second = next(&vcs, &first, "b").await;
    push(&publish, &second).await.unwrap();
    assert_eq!(pair.refs(), [format!("refs/heads/{BRANCH} {second}")]);
    // What is there already is a success, even if more is.
    push(&publish, &first).await.unwrap();
    assert_eq!(pair.refs(), [format!("refs/heads/{BRANCH} {second}")]);
    let after = vcs.fingerprint(&Cx::new()).await.unwrap();
    assert_eq!(before.difference(&after).to_string(), "nothing changed");
    assert_eq!(pair.repo.git(&["status", "--porcelain"]), "");
}

/// Each of these settings makes a person's plain push take more along.
#[tokio::test]
async fn settings_that_push_more() {
    for (key, value, control) in [
        ("remote.origin.mirror", "true", &["push", "origin"][..]),
        ("push.followTags", "true", &["push", "origin", BRANCH]),
        ("remote.origin.push", "refs/heads/*:refs/heads/*", &["push", "origin"]),
        ("remote.origin.push", "+refs/*:refs/*", &["push", "origin"]),
        ("push.default", "current", &["push", "origin"]),
    ] {
        let pair = Pair::new();
        let repo = &pair.repo;
        let (vcs, first) = accepted(repo).await;
        repo.git(&["branch", "other"]);
        repo.git(&["tag", "-a", "-m", "tag", "tag", first.as_str()]);
        repo.git(&["config", key, value]);
        let publish = GitPublish::open(&vcs, "origin").await.unwrap();
        push(&publish, &first).await.unwrap();
        assert_eq!(pair.refs(), [format!("refs/heads/{BRANCH} {first}")], "{key}");
        repo.git(control);
        assert!(pair.refs().len() > 1, "{key}: the control pushed nothing else");
    }
}

#[tokio::test]
async fn settings_that_push_submodules() {
    let (pair, module) = (Pair::new(), Pair::new());
    let repo = &pair.repo;
    module.repo.git(&["push", "-q", "origin", "main"]);
    let url = module.bare.display().to_string();
    repo.git(&["-c", "protocol.file.allow=always", "submodule", "add", "-q", &url, "module"]);
    let inner = repo.root.join("module");
    repo.git_in(&inner, &["config", "user.name", "x"]);
    repo.git_in(&inner, &["config", "user.email", "x@y"]);
    let commit_in_both = |name: &str| {
        write(&inner.join(name), name);
        repo.git_in(&inner, &["add", "-A"]);
        repo.git_in(&inner, &["commit", "-qm", name]);
        repo.commit(name, name);
    };
    commit_in_both("one");
    repo.git(&["config", "push.recurseSubmodules", "on-demand"]);
    let (before, (vcs, first)) = (module.refs(), accepted(repo).await);
    let publish = GitPublish::open(&vcs, "origin").await.unwrap();
    push(&publish, &first).await.unwrap();
    assert_eq!(module.refs(), before);
    commit_in_both("two");
    repo.git(&["push", "-q", "origin", "main"]);
    assert_ne!(module.refs(), before, "the control did not push the submodule");
}

#[tokio::test]
async fn nothing_is_pushed_by_force() {
    let pair = Pair::new();
    let (repo, other) = (&pair.repo, pair.repo.folder.path().join("other"));
    let (vcs, first) = accepted(repo).await;
    repo.git(&["clone", "-q", &pair.bare.display().to_string(), &other.display().to_string()]);
    write(&other.join("theirs"), "theirs");
    for args in [
        &["config", "user.name", "x"][..],
        &["config", "user.email", "x@y"],
        &["checkout", "-q", "-b", BRANCH],
        &["add", "-A"],
        &["commit", "-qm", "theirs"],
        &["push", "-q", "origin", BRANCH],
    ] {
        repo.git_in(&other, args);
    }
    let theirs = pair.refs();
    for (key, value) in [("push.default", "upstream"), ("remote.origin.push", "+refs/heads/*:refs/heads/*")] {
        repo.git(&["config", key, value]);
    }
    let publish = GitPublish::open(&vcs, "origin").await.unwrap();
    for _ in 0..2 {
        let why = refused(&publish, &first).await;
        assert!(why.contains("[rejected]") && why.contains("nothing is pushed by force"), "{why}");
        assert_eq!(pair.refs(), theirs);
        // Known here, and still not on our branch.
        repo.git(&["fetch", "-q", "origin"]);
    }
    // The control: those settings do force a plain push.
    repo.git(&["push", "-q", "origin"]);
    assert_ne!(pair.refs(), theirs);
}

#[tokio::test]
async fn a_remote_that_is_gone_or_refuses_and_comes_back() {
    let pair = Pair::new();
    let (vcs, first) = accepted(&pair.repo).await;
    let publish = GitPublish::open(&vcs, "origin").await.unwrap();
    let away = pair.bare.with_extension("away");
    fs::rename(&pair.bare, &away).unwrap();
    let why = refused(&publish, &first).await;
    assert!(why.contains("`origin`") && why.contains("does not appear to be a git repository"), "{why}");
    fs::rename(&away, &pair.bare).unwrap();

    let ten = "for n in 1 2 3 4 5 6 7 8 9 10; do echo \"line $n \\033[31m\" >&2; done; exit 1";
    pair.hook("pre-receive", ten);
    let why = refused(&publish, &first).await;
    assert!(why.contains("pre-receive hook declined"), "{why}");
    assert!(why.contains("line 10 \\u{1b}[31m") && !why.contains("line 1 "), "{why}");
    assert!(!why.contains('\u{1b}'), "{why:?}");
    fs::remove_file(pair.bare.join("hooks/pre-receive")).unwrap();
    push(&publish, &first).await.unwrap();
    assert_eq!(pair.refs(), [format!("refs/heads/{BRANCH} {first}")]);
}

#[tokio::test]
async fn a_remote_that_hangs_is_left_at_the_deadline() {
    let pair = Pair::new();
    let (vcs, first) = accepted(&pair.repo).await;
    let pids = pair.repo.folder.path().join("pids");
    // One process in the group and one that leaves it.
    let hang = format!(
        "setsid sh -c 'echo $$ >>{0}; exec sleep 600' >/dev/null 2>&1 &\necho $$ >>{0}\necho please wait >&2\nexec sleep 600",
        pids.display()
    );
    pair.hook("pre-receive", &hang);
    let publish = GitPublish::open(&vcs, "origin").await.unwrap().with_deadline(Duration::from_secs(2));
    let began = Instant::now();
    let why = refused(&publish, &first).await;
    assert!(began.elapsed() < Duration::from_secs(20));
    assert!(why.contains("had not ended after 2 s") && why.contains("please wait"), "{why}");
    assert!(pair.refs().is_empty());
    let pids = fs::read_to_string(&pids).unwrap();
    assert_eq!(pids.lines().count(), 2);
    for pid in pids.lines() {
        let state = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
        assert!(state.is_empty() || state.contains(") Z "), "{state} lives on");
    }
    // A caller that has less time, or none any more.
    let cx = Cx::new().with_time_limit(Duration::from_millis(300), std::time::SystemTime::now());
    let patient = GitPublish::open(&vcs, "origin").await.unwrap();
    assert!(matches!(patient.publish(&first, &cx).await, Err(VcsError::Ended(_))));
    fs::remove_file(pair.bare.join("hooks/pre-receive")).unwrap();
    push(&publish.with_deadline(Duration::from_secs(60)), &first).await.unwrap();
    assert_eq!(pair.refs().len(), 1);
}

/// Whatever would ask a person is answered with no at once.
#[tokio::test]
async fn nobody_is_asked() {
    let pair = Pair::new();
    let repo = &pair.repo;
    let (mark, seen) = (repo.folder.path().join("asked"), repo.folder.path().join("seen"));
    let ask = repo.folder.path().join("ask.sh");
    program(&ask, &format!("#!/bin/sh\ntouch {}\necho secret\n", mark.display()));
    // A transport that asks as git's own do, and writes down what it was told.
    let fake = repo.folder.path().join("bin/git-remote-asking");
    program(
        &fake,
        &format!(
            "#!/bin/sh\nenv | grep -E '^(GIT_ASKPASS|SSH_ASKPASS|GIT_TERMINAL_PROMPT|GIT_SSH_COMMAND|GIT_TRACE|MY)' \
             >{}\nprintf 'protocol=https\\nhost=h\\n\\n' | git credential fill >&2\nexit 1\n",
            seen.display()
        ),
    );
    repo.git(&["config", "core.askPass", &ask.display().to_string()]);
    repo.git(&["remote", "add", "asking", "asking://me:hunter2secret@host/x?key=abcdef"]);
    let mut environment = repo.environment();
    let path = format!("{}:{}", fake.parent().unwrap().display(), std::env::var("PATH").unwrap());
    environment.retain(|(name, _)| name != "PATH");
    for (name, value) in [
        ("PATH", path.as_str()),
        ("SSH_ASKPASS", &ask.display().to_string()),
        ("GIT_ASKPASS", &ask.display().to_string()),
        ("GIT_SSH_COMMAND", "ssh -i key"),
        ("GIT_TRACE", "1"),
        ("MY_AGENT", "socket"),
    ] {
        environment.push((name.into(), value.into()));
    }
    let vcs = GitVcs::open(repo.options().with_environment(environment.clone())).await.unwrap();
    let base = crate::support::start(&vcs).await;
    let first = next(&vcs, &base, "a").await;
    let publish = GitPublish::open(&vcs, "asking").await.unwrap();
    let why = refused(&publish, &first).await;
    assert!(!mark.exists(), "somebody was asked");
    // The words are those of git 2.39 and of 2.47.
    let refused = ["terminal prompts disabled", "unable to get password from user"];
    assert!(refused.iter().any(|words| why.contains(words)), "{why}");
    assert!(!why.contains("hunter2") && !why.contains("abcdef"), "{why}");
    assert!(!format!("{publish:?}").contains("hunter2"));
    let seen = fs::read_to_string(seen).unwrap();
    for told in [
        "GIT_ASKPASS=false\n",
        "SSH_ASKPASS=false\n",
        "SSH_ASKPASS_REQUIRE=force\n",
        "GIT_TERMINAL_PROMPT=0\n",
        "GIT_SSH_COMMAND=ssh -i key -o BatchMode=yes -o ControlMaster=no\n",
        "MY_AGENT=socket\n",
    ] {
        assert!(seen.contains(told), "{told}{seen}");
    }
    assert!(!seen.contains("GIT_TRACE"), "{seen}");
    // The control: a plain push does ask, and says the password.
    let mut plain = std::process::Command::new(crate::support::git_program());
    plain.env_clear().envs(environment).args(["push", "asking", BRANCH]).current_dir(&repo.root);
    let said = plain.output().unwrap();
    assert!(mark.exists(), "the control did not ask: {}", String::from_utf8_lossy(&said.stderr));
}

#[tokio::test]
async fn hooks_run_only_where_asked_for() {
    let pair = Pair::new();
    let (vcs, first) = accepted(&pair.repo).await;
    let mark = pair.repo.folder.path().join("mark");
    for hook in ["pre-push", "reference-transaction"] {
        program(&pair.repo.root.join(".git/hooks").join(hook), &format!("#!/bin/sh\ntouch {}\n", mark.display()));
    }
    let publish = GitPublish::open(&vcs, "origin").await.unwrap();
    push(&publish, &first).await.unwrap();
    assert!(!mark.exists());
    let publish = publish.with_hooks(true);
    push(&publish, &first).await.unwrap();
    assert!(mark.exists());
}

#[tokio::test]
async fn remotes_that_are_none() {
    let pair = Pair::new();
    let (vcs, _) = accepted(&pair.repo).await;
    let path = pair.bare.display().to_string();
    for name in ["", "-origin", "--mirror", "upstream", ".", path.as_str(), "https://me:hunter2@host/x"] {
        let error = GitPublish::open(&vcs, name).await.unwrap_err().to_string();
        assert!(error.contains("is not the name of a remote") && error.contains("known: origin"), "{name}: {error}");
        assert!(!error.contains("hunter2"), "{error}");
    }
    let alone = Repo::new();
    let (vcs, _) = accepted(&alone).await;
    let error = GitPublish::open(&vcs, "origin").await.unwrap_err().to_string();
    assert!(error.contains("there is none"), "{error}");
}

#[tokio::test]
async fn only_what_is_on_the_branch() {
    let pair = Pair::new();
    let (vcs, first) = accepted(&pair.repo).await;
    let rejected = work(&vcs, &first, "rejected").await;
    let publish = GitPublish::open(&vcs, "origin").await.unwrap();
    let why = refused(&publish, &rejected).await;
    assert!(why.contains("is not on the branch"), "{why}");
    for name in ["0123456789012345678901234567890123456789", "--mirror", "HEAD", "", "+HEAD"] {
        let unknown = push(&publish, &Revision::new(name)).await;
        assert!(matches!(unknown, Err(VcsError::NoRevision(_))), "{name}: {unknown:?}");
    }
    pair.repo.git(&["update-ref", "-d", &format!("refs/heads/{BRANCH}")]);
    let why = refused(&publish, &first).await;
    assert!(why.contains("is gone"), "{why}");
    assert!(pair.refs().is_empty());
}

/// From a linked worktree as well.
#[tokio::test]
async fn a_linked_worktree() {
    let pair = Pair::new();
    let tree = pair.repo.folder.path().join("tree");
    pair.repo.git(&["worktree", "add", "-q", "-b", "side", &tree.display().to_string()]);
    let mut options = pair.repo.options();
    options.repository = Path::new(&tree).to_owned();
    let vcs = GitVcs::open(options).await.unwrap();
    let base = crate::support::start(&vcs).await;
    let first = next(&vcs, &base, "a").await;
    push(&GitPublish::open(&vcs, "origin").await.unwrap(), &first).await.unwrap();
    assert_eq!(pair.refs(), [format!("refs/heads/{BRANCH} {first}")]);
}
