//! Carrying work over to a later tip, beyond what every `Rebase` has to do.

use std::{
    fs,
    sync::atomic::{AtomicU32, Ordering},
};

use ralph_core::{Accepted, Cx, Rebase, Rebased, Revision, Snapshot, Vcs, VcsError};
use ralph_vcs::GitVcs;

use crate::support::{BRANCH, CLEAN, Repo, WORK, accept, files, place, program, read, seal, write};

const TEXT: &str = "1\n2\n3\n4\n5\n6\n7\n8\n9\n";

async fn rebase(vcs: &GitVcs, work: &Revision, onto: &Revision) -> Rebased {
    vcs.rebase(work, onto, &seal("R01", 2), &Cx::new()).await.unwrap()
}

async fn carried(vcs: &GitVcs, work: &Revision, onto: &Revision) -> Snapshot {
    match rebase(vcs, work, onto).await {
        Rebased::Onto(snapshot) => snapshot,
        Rebased::Conflict(paths) => panic!("conflict in {paths:?}"),
    }
}

async fn conflict(vcs: &GitVcs, work: &Revision, onto: &Revision) -> Vec<String> {
    match rebase(vcs, work, onto).await {
        Rebased::Conflict(paths) => paths,
        Rebased::Onto(snapshot) => panic!("{snapshot:?}"),
    }
}

/// Work on `base` in which `change` was done to the agent's folder.
async fn work(vcs: &GitVcs, base: &Revision, change: impl Fn(&std::path::Path)) -> Revision {
    let site = place(vcs, WORK, base).await.folder;
    change(&site);
    // Attempts of their own, so that one does not take the other's pin.
    static NUMBER: AtomicU32 = AtomicU32::new(10);
    let seal = seal("R01", NUMBER.fetch_add(1, Ordering::Relaxed));
    let snapshot = vcs.snapshot(WORK, base, &seal, &Cx::new()).await.unwrap();
    assert_eq!(snapshot.findings, []);
    snapshot.revision.unwrap()
}

#[tokio::test]
async fn a_carried_commit_is_made_of_its_seal_and_pinned() {
    let repo = Repo::new();
    repo.commit("text", TEXT);
    let (vcs, base) = repo.begin().await;
    let ours = work(&vcs, &base, |site| write(&site.join("text"), &TEXT.replace('1', "one"))).await;
    let tip = work(&vcs, &base, |site| write(&site.join("text"), &TEXT.replace('9', "nine"))).await;
    assert_eq!(accept(&vcs, &tip, &base).await, Accepted::Landed);
    let snapshot = carried(&vcs, &ours, &tip).await;
    assert_eq!((snapshot.stat.files, snapshot.stat.added, snapshot.stat.removed), (1, Some(1), Some(1)));
    let revision = snapshot.revision.unwrap();
    let merged = TEXT.replace('1', "one").replace('9', "nine");
    assert_eq!(read(&vcs, &revision, "text").await.as_deref(), Some(merged.as_str()));
    let show = |format: &str| repo.git(&["show", "-s", &format!("--format={format}"), revision.as_str()]);
    assert_eq!(show("%an <%ae> %at %cn %ct"), "Operator <operator@example.org> 1700000000 Operator 1700000000");
    assert_eq!((show("%P"), show("%s")), (tip.to_string(), "R01: title".to_owned()));
    let pinned = || repo.git(&["for-each-ref", "--format=%(refname)", "--points-at", revision.as_str()]);
    assert_eq!(pinned(), format!("refs/ralph/work/run-1/P1/R01/2-on-{}", tip.short()));
    // Nobody's garbage, and the same again in another process, whatever the day.
    repo.git(&["reflog", "expire", "--expire=now", "--all"]);
    repo.git(&["gc", "-q", "--prune=now"]);
    let again = repo.open().await;
    assert_eq!(carried(&again, &ours, &tip).await.revision, Some(revision.clone()));
    // The same content gives the same id as a snapshot of it.
    let site = place(&vcs, WORK, &tip).await.folder;
    write(&site.join("text"), &merged);
    let by_hand = vcs.snapshot(WORK, &tip, &seal("R01", 2), &Cx::new()).await.unwrap();
    assert_eq!((by_hand.revision, by_hand.tree), (Some(revision.clone()), snapshot.tree));
    place(&vcs, CLEAN, &revision).await;
    assert_eq!(accept(&again, &revision, &tip).await, Accepted::Landed);
    assert!(!pinned().contains("-on-"), "{}", pinned());
}

#[tokio::test]
async fn all_kinds_of_conflicts() {
    let repo = Repo::new();
    let id = repo.head();
    repo.git(&["update-index", "--add", "--cacheinfo", &format!("160000,{id},sub")]);
    repo.git(&["commit", "-qm", "sub"]);
    // Without a folder, adding everything would take it out.
    fs::create_dir(repo.root.join("sub")).unwrap();
    repo.commit("text", TEXT);
    std::os::unix::fs::symlink("README.md", repo.root.join("link")).unwrap();
    fs::write(repo.root.join("binary"), b"\0\x01\x02\n").unwrap();
    let base = repo.commit("d/file", "x\n");
    let vcs = repo.open().await;
    let side = |name: &str, change: &dyn Fn()| {
        repo.git(&["checkout", "-qB", name, base.as_str()]);
        change();
        repo.git(&["add", "-A"]);
        repo.git(&["commit", "-qm", name]);
        repo.head()
    };
    let link = |to: &str| {
        let _ = fs::remove_file(repo.root.join("link"));
        std::os::unix::fs::symlink(to, repo.root.join("link")).unwrap();
    };
    let gitlink = |id: &str| {
        repo.git(&["update-index", "--cacheinfo", &format!("160000,{id},sub")]);
    };
    let other = repo.rev("HEAD~1");
    type Change<'a> = &'a dyn Fn();
    let cases: [(&str, &str, Change<'_>, Change<'_>); 9] = [
        ("content", "text", &|| repo.write("text", &TEXT.replace('5', "a")), &|| {
            repo.write("text", &TEXT.replace('5', "b"));
        }),
        ("links", "link", &|| link("text"), &|| link("binary")),
        ("a link and a file", "text", &|| repo.write("text", "changed\n"), &|| {
            fs::remove_file(repo.root.join("text")).unwrap();
            std::os::unix::fs::symlink("README.md", repo.root.join("text")).unwrap();
        }),
        ("bytes", "binary", &|| fs::write(repo.root.join("binary"), b"\0\x02").unwrap(), &|| {
            fs::write(repo.root.join("binary"), b"\0\x03").unwrap();
        }),
        ("submodules", "sub", &|| gitlink(base.as_str()), &|| gitlink(&other)),
        ("a submodule that goes", "sub", &|| gitlink(base.as_str()), &|| {
            fs::remove_dir(repo.root.join("sub")).unwrap();
        }),
        ("a file for a folder", "d", &|| repo.write("d/file", "changed\n"), &|| {
            fs::remove_dir_all(repo.root.join("d")).unwrap();
            repo.write("d", "a file\n");
        }),
        ("renamed to two names", "text", &|| drop(repo.git(&["mv", "text", "one"])), &|| {
            repo.git(&["mv", "text", "two"]);
        }),
        ("renamed to one name", "new", &|| drop(repo.git(&["mv", "text", "new"])), &|| repo.write("new", "other\n")),
    ];
    for (what, path, one, two) in cases {
        let (one, two) = (side("one", one), side("two", two));
        let before = vcs.fingerprint(&Cx::new()).await.unwrap();
        for (ours, onto) in [(&one, &two), (&two, &one)] {
            let paths = conflict(&vcs, ours, onto).await;
            assert!(paths.iter().any(|it| it == path), "{what}: {paths:?}");
            assert!(paths.iter().all(|it| !it.contains('~')), "{what}: {paths:?}");
        }
        let after = vcs.fingerprint(&Cx::new()).await.unwrap();
        assert_eq!(before.difference(&after).to_string(), "nothing changed");
        repo.git(&["checkout", "-qf", "main"]);
    }
    // A mode and a text of one file are two things.
    let mode = side("one", &|| program(&repo.root.join("text"), TEXT));
    let text = side("two", &|| repo.write("text", "changed\n"));
    for (ours, onto) in [(&mode, &text), (&text, &mode)] {
        let both = carried(&vcs, ours, onto).await.revision.unwrap();
        assert!(repo.git(&["ls-tree", both.as_str(), "text"]).starts_with("100755"));
        assert_eq!(read(&vcs, &both, "text").await.as_deref(), Some("changed\n"));
    }
    // A submodule that only the tip has moved is none of the work's.
    let moved = side("two", &|| gitlink(base.as_str()));
    let both = carried(&vcs, &text, &moved).await.revision.unwrap();
    assert!(repo.git(&["ls-tree", both.as_str(), "sub"]).contains(base.as_str()));
}

/// The operator's driver would run for whatever files an agent's attributes name.
#[tokio::test]
async fn nothing_that_settings_and_attributes_name_runs() {
    let repo = Repo::new();
    repo.commit(".gitattributes", "text merge=odd diff=odd filter=odd\nplain diff=odd filter=odd\n");
    repo.commit("plain", TEXT);
    let base = repo.commit("text", TEXT);
    let (mark, planted) = (repo.folder.path().join("mark"), repo.folder.path().join("planted.sh"));
    program(&planted, &format!("#!/bin/sh\necho \"$0 $*\" >>{}\ncat 2>/dev/null\n", mark.display()));
    let command = planted.display().to_string();
    for file in ["text", "plain"] {
        repo.git(&["checkout", "-qB", "ours", base.as_str()]);
        let ours = repo.commit(file, &TEXT.replace('1', "one"));
        repo.git(&["checkout", "-qB", "theirs", base.as_str()]);
        let theirs = repo.commit(file, &TEXT.replace('9', "nine"));
        for key in ["diff.odd.textconv", "diff.odd.command", "filter.odd.smudge", "filter.odd.clean", "diff.external"] {
            repo.git(&["config", key, &command]);
        }
        repo.git(&["config", "merge.odd.driver", &format!("{command} %A")]);
        repo.git(&["config", "merge.renormalize", "true"]);
        repo.git(&["config", "rerere.enabled", "true"]);
        for hook in ["pre-merge-commit", "post-merge", "post-checkout", "reference-transaction", "post-index-change"] {
            program(&repo.root.join(".git/hooks").join(hook), &format!("#!/bin/sh\ntouch {}\n", mark.display()));
        }
        let _ = fs::remove_dir_all(repo.root.join(".git/rr-cache"));
        let _ = fs::remove_file(&mark);
        let vcs = repo.open().await;
        match rebase(&vcs, &ours, &theirs).await {
            Rebased::Conflict(paths) => assert_eq!(paths, [file]),
            Rebased::Onto(snapshot) => {
                assert_eq!(file, "plain");
                let merged = read(&vcs, &snapshot.revision.unwrap(), file).await.unwrap();
                assert_eq!(merged, TEXT.replace('1', "one").replace('9', "nine"));
            }
        }
        assert!(!mark.exists(), "it ran: {}", fs::read_to_string(&mark).unwrap());
        assert!(!repo.root.join(".git/rr-cache").exists());
        // The control: git's own merge runs them.
        repo.try_git_in(&repo.root, &["merge", "--no-edit", ours.as_str()]);
        assert!(mark.exists(), "the control did not run");
        let _ = repo.try_git_in(&repo.root, &["merge", "--abort"]);
        fs::remove_dir_all(repo.root.join(".git/hooks")).unwrap();
        for key in ["diff.external", "filter.odd.smudge", "filter.odd.clean"] {
            repo.git(&["config", "--unset", key]);
        }
        repo.git(&["reset", "-q", "--hard", base.as_str()]);
    }
}

/// Whether two changes of one file are merged is for the tip's attributes to say, and not for the work's.
#[tokio::test]
async fn files_that_are_no_text_are_not_merged() {
    for (attributes, elsewhere) in [("-merge", false), ("binary", false), ("merge=union", false), ("merge=union", true)]
    {
        let repo = Repo::new();
        if elsewhere {
            write(&repo.root.join(".git/info/attributes"), &format!("lock {attributes}\n"));
        } else {
            repo.commit("d/.gitattributes", &format!("lock {attributes}\n"));
        }
        let path = if elsewhere { "lock" } else { "d/lock" };
        repo.commit(path, TEXT);
        let (vcs, base) = repo.begin().await;
        let ours = work(&vcs, &base, |site| {
            write(&site.join(path), &TEXT.replace('1', "one"));
            let _ = fs::remove_file(site.join("d/.gitattributes"));
        })
        .await;
        let tip = work(&vcs, &base, |site| write(&site.join(path), &TEXT.replace('9', "nine"))).await;
        assert_eq!(conflict(&vcs, &ours, &tip).await, [path], "{attributes}");
        // Where only one side has changed it there is nothing to merge.
        let tip = work(&vcs, &base, |site| write(&site.join("other"), "x")).await;
        carried(&vcs, &ours, &tip).await.revision.unwrap();
    }
}

/// The attributes of the work are an agent's: they make nothing easier.
#[tokio::test]
async fn an_agents_attributes_resolve_nothing() {
    let repo = Repo::new();
    repo.commit("text", TEXT);
    let (vcs, base) = repo.begin().await;
    let ours = work(&vcs, &base, |site| {
        write(&site.join("text"), &TEXT.replace('5', "ours"));
        write(&site.join(".gitattributes"), "* merge=union\n");
    })
    .await;
    let tip = work(&vcs, &base, |site| write(&site.join("text"), &TEXT.replace('5', "theirs"))).await;
    assert_eq!(conflict(&vcs, &ours, &tip).await, ["text"]);
}

#[tokio::test]
async fn the_control_files_are_the_tips() {
    let repo = Repo::new();
    repo.commit("docs/plan.md", "- [ ] R01\n");
    repo.commit("ralph-loop/PRD.md", "- [ ] R01\n");
    repo.commit("ralph-loop/old", "old\n");
    let vcs = GitVcs::open(repo.options().with_control(["docs/plan.md"])).await.unwrap();
    let base = crate::support::start(&vcs).await;
    let ours = work(&vcs, &base, |site| {
        write(&site.join("ralph-loop/PRD.md"), "- [x] R01\n");
        write(&site.join("a"), "a");
    })
    .await;
    // Made by somebody else: it has changed the copies, and put a folder's worth of them out.
    repo.git(&["checkout", "-q", "-B", "by-hand", base.as_str()]);
    repo.write("ralph-loop/PRD.md", "- [x] R01\n");
    repo.write("ralph-loop/forged", "forged\n");
    repo.write("docs/plan.md", "- [x] R01\n");
    fs::remove_file(repo.root.join("ralph-loop/old")).unwrap();
    let foreign = repo.commit("a", "a");
    repo.git(&["checkout", "-q", "-B", "tip", base.as_str()]);
    repo.write("docs/plan.md", "- [ ] R01\n- [ ] R02\n");
    let tip = repo.commit("ralph-loop/PRD.md", "- [?] R01\n");
    for work in [&ours, &foreign] {
        let snapshot = carried(&vcs, work, &tip).await;
        assert_eq!(snapshot.stat.files, 1);
        let revision = snapshot.revision.unwrap();
        let changes = vcs.changes(&tip, &revision, &Cx::new()).await.unwrap();
        assert_eq!(changes.iter().map(|it| it.path.as_slice()).collect::<Vec<_>>(), [b"a"]);
    }
    // Nothing but copies: nothing to carry.
    repo.git(&["checkout", "-q", "-B", "by-hand", base.as_str()]);
    let forged = repo.commit("ralph-loop/PRD.md", "- [x] R01\n");
    assert_eq!(carried(&vcs, &forged, &tip).await.revision, None);
    // A file in the place of a folder of control files.
    repo.git(&["checkout", "-q", "-B", "by-hand", base.as_str()]);
    fs::remove_dir_all(repo.root.join("docs")).unwrap();
    let swept = repo.commit("docs", "a file\n");
    assert_eq!(conflict(&vcs, &swept, &tip).await, ["docs"]);
}

/// Two links, each of which stays inside alone.
#[tokio::test]
async fn links_that_leave_the_tree_together() {
    let repo = Repo::new();
    repo.commit("d/e/file", "x\n");
    let (vcs, base) = repo.begin().await;
    let link = |to: &'static str, at: &'static str| {
        move |site: &std::path::Path| std::os::unix::fs::symlink(to, site.join(at)).unwrap()
    };
    let ours = work(&vcs, &base, link("d/up/../x", "out")).await;
    let tip = work(&vcs, &base, link("..", "d/up")).await;
    assert_eq!(conflict(&vcs, &ours, &tip).await, ["out"]);
    assert_eq!(conflict(&vcs, &tip, &ours).await, ["out"]);
    let fine = work(&vcs, &base, link("d/e", "in")).await;
    carried(&vcs, &fine, &tip).await.revision.unwrap();
}

#[tokio::test]
async fn repositories_of_all_kinds() {
    for (options, shallow) in [(&["--object-format=sha256"][..], false), (&[], true)] {
        let repo = Repo::with(options);
        repo.commit("text", TEXT);
        let mut at = repo.options();
        if shallow {
            let from = format!("file://{}", repo.root.display());
            let to = repo.folder.path().join("shallow");
            repo.git(&["clone", "-q", "--depth=1", &from, &to.display().to_string()]);
            at.repository = to;
        }
        let vcs = GitVcs::open(at).await.unwrap();
        let base = crate::support::start(&vcs).await;
        let ours = work(&vcs, &base, |site| write(&site.join("text"), &TEXT.replace('1', "one"))).await;
        let tip = work(&vcs, &base, |site| write(&site.join("text"), &TEXT.replace('9', "nine"))).await;
        carried(&vcs, &ours, &tip).await.revision.unwrap();
    }
}

#[tokio::test]
async fn what_is_not_one_commit_is_refused_and_nothing_is_left_behind() {
    let repo = Repo::new();
    let (vcs, base) = repo.begin().await;
    let ours = work(&vcs, &base, |site| write(&site.join("a"), "a")).await;
    let tip = work(&vcs, &base, |site| write(&site.join("b"), "b")).await;
    repo.git(&["checkout", "-q", "-B", "merged", ours.as_str()]);
    repo.git(&["merge", "-q", "--no-edit", tip.as_str()]);
    for many in [&base, &repo.head()] {
        let refused = vcs.rebase(many, &tip, &seal("R01", 1), &Cx::new()).await.unwrap_err();
        assert!(matches!(&refused, VcsError::Refused(why) if why.contains("not one commit")), "{refused}");
    }
    let (temp, mine) = (repo.folder.path().join("tmp"), files(&repo.root));
    fs::create_dir(&temp).unwrap();
    let mut environment = repo.environment();
    environment.push(("TMPDIR".into(), temp.clone().into()));
    let vcs = GitVcs::open(repo.options().with_environment(environment)).await.unwrap();
    carried(&vcs, &ours, &tip).await.revision.unwrap();
    assert_eq!(fs::read_dir(&temp).unwrap().count(), 0);
    assert_eq!((files(&repo.root), repo.rev(BRANCH)), (mine, base.to_string()));
}
