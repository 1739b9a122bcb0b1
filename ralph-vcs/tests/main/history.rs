//! What is on the branch, told to people.

use ralph_core::{Cx, KeepKind, Revision, Vcs, VcsError};

use ralph_vcs::DiffForm;

use crate::support::{Repo, WORK, accept, place, seal, snap, write};

#[tokio::test]
async fn commits_of_the_branch_with_their_items() {
    let repo = Repo::new();
    let (vcs, base) = repo.begin().await;
    assert_eq!(vcs.log(None, None, &Cx::new()).await.unwrap(), []);
    let mut tip = base.clone();
    for (item, number) in [("R01", 1), ("R02", 3)] {
        let site = place(&vcs, WORK, &tip).await.folder;
        write(&site.join(item), item);
        let seal = seal(item, number);
        let revision = vcs.snapshot(WORK, &tip, &seal, &Cx::new()).await.unwrap().revision.unwrap();
        accept(&vcs, &revision, &tip).await;
        tip = revision;
    }
    let log = vcs.log(None, None, &Cx::new()).await.unwrap();
    let told: Vec<_> = log.iter().map(|it| (it.item.as_deref(), it.attempt, it.subject.as_str())).collect();
    assert_eq!(told, [(Some("R01"), Some(1), "R01: title"), (Some("R02"), Some(3), "R02: title")]);
    assert_eq!(log.last().map(|it| &it.revision), Some(&tip));
    assert!(log.iter().all(|it| it.run.as_deref() == Some("run-1")));
    assert!(log.iter().all(|it| ralph_core::millis(it.at) == 1_700_000_000_000));
    let first = log.first().unwrap().revision.clone();
    assert_eq!(vcs.log(Some(&first), Some(&tip), &Cx::new()).await.unwrap().len(), 1);
    let none = Revision::new("0".repeat(40));
    let unknown = vcs.log(Some(&none), None, &Cx::new()).await;
    assert!(matches!(unknown, Err(VcsError::NoRevision(_))), "{unknown:?}");
    let option = Revision::new("--output=x");
    assert!(vcs.log(Some(&option), None, &Cx::new()).await.is_err());
}

#[tokio::test]
async fn kept_work_is_listed_and_pruned_by_name_only() {
    let repo = Repo::new();
    let (vcs, base) = repo.begin().await;
    let mut names = Vec::new();
    for number in 1..=2 {
        let site = place(&vcs, WORK, &base).await.folder;
        write(&site.join("a"), &number.to_string());
        let work = snap(&vcs, &base).await.revision.unwrap();
        let seal = seal("R01", number);
        let cx = Cx::new();
        names.push(vcs.keep(&work, KeepKind::Rejected, &seal.run, &seal.attempt, &cx).await.unwrap());
    }
    let listed = async |run| {
        let kept = vcs.kept(run, &Cx::new()).await.unwrap();
        kept.into_iter().map(|it| it.name).collect::<Vec<_>>()
    };
    let first = vcs.kept(None, &Cx::new()).await.unwrap().remove(0);
    assert_eq!((first.base, first.item.as_deref()), (Some(base.clone()), Some("R01")));
    assert_eq!(listed(None).await, names);
    assert_eq!(listed(Some("run-1")).await, names);
    assert_eq!(listed(Some("run")).await, [""; 0]);

    let prune = async |names: &[&str], before| {
        let names: Vec<_> = names.iter().map(|&it| it.to_owned()).collect();
        vcs.prune_kept(&names, before, &Cx::new()).await
    };
    for foreign in ["refs/heads/main", "refs/heads/ralph/prd-p1", "refs/ralph/branch/ralph/prd-p1", "x"] {
        assert!(matches!(prune(&[foreign], None).await, Err(VcsError::Refused(_))), "{foreign}");
    }
    let long_ago = Some(std::time::SystemTime::UNIX_EPOCH);
    assert_eq!(prune(&[&names[0]], long_ago).await.unwrap(), [""; 0]);
    assert_eq!(prune(&[&names[0]], None).await.unwrap(), names[..1]);
    assert_eq!(listed(None).await, names[1..]);
}

#[tokio::test]
async fn pins_of_a_run_that_is_over_go() {
    let repo = Repo::new();
    let (vcs, base) = repo.begin().await;
    let site = place(&vcs, WORK, &base).await.folder;
    for number in 1..=2 {
        write(&site.join("a"), &number.to_string());
        vcs.snapshot(WORK, &base, &seal("R01", number), &Cx::new()).await.unwrap();
    }
    let remove = async |run: &str| vcs.remove_pins(&run.into(), &Cx::new()).await.unwrap();
    assert_eq!(remove("run").await, 0);
    assert_eq!(remove("run-1").await, 2);
    assert_eq!(repo.git(&["for-each-ref", "refs/ralph/work"]), "");
    // Work of which no pin is left is still taken, as long as it is there.
    let again = snap(&vcs, &base).await.revision.unwrap();
    accept(&vcs, &again, &base).await;
}

/// Other work under a name that is taken gets another name.
#[tokio::test]
async fn kept_work_is_never_replaced() {
    let repo = Repo::new();
    let (vcs, base) = repo.begin().await;
    let mut names = Vec::new();
    for text in ["one", "two"] {
        let site = place(&vcs, WORK, &base).await.folder;
        write(&site.join("a"), text);
        let work = snap(&vcs, &base).await.revision.unwrap();
        let seal = seal("R01", 1);
        let cx = Cx::new();
        let name = vcs.keep(&work, KeepKind::Parked, &seal.run, &seal.attempt, &cx).await.unwrap();
        assert_eq!(repo.rev(&name), work.as_str());
        names.push(name);
    }
    assert_ne!(names[0], names[1]);
}

/// Nothing that settings or attributes name is run, and no setting changes what is shown.
#[tokio::test]
async fn differences_are_shown_as_they_are() {
    let repo = Repo::new();
    repo.commit(".gitattributes", "* diff=odd\n");
    for (key, value) in [
        ("diff.external", "touch hit; true"),
        ("diff.odd.command", "touch hit; true"),
        ("diff.odd.textconv", "touch hit; true"),
        ("diff.noprefix", "true"),
        ("color.ui", "always"),
    ] {
        repo.git(&["config", key, value]);
    }
    let (vcs, base) = repo.begin().await;
    let site = place(&vcs, WORK, &base).await.folder;
    write(&site.join("a\tb"), "one\ntwo\u{1b}[31m\n");
    let work = snap(&vcs, &base).await.revision.unwrap();
    let patch = vcs.diff(&base, &work, DiffForm::Patch, &Cx::new()).await.unwrap();
    let patch = String::from_utf8(patch).unwrap();
    assert!(patch.starts_with("diff --git \"a/a\\tb\" \"b/a\\tb\"\nnew file mode 100644\n"), "{patch}");
    assert!(patch.ends_with("@@ -0,0 +1,2 @@\n+one\n+two\u{1b}[31m\n"), "{patch}");
    let stat = vcs.diff(&base, &work, DiffForm::Stat, &Cx::new()).await.unwrap();
    assert!(String::from_utf8(stat).unwrap().ends_with(" 1 file changed, 2 insertions(+)\n"));
    assert!(!repo.root.join("hit").exists() && !site.join("hit").exists());
    let option = Revision::new("--output=x");
    assert!(matches!(vcs.diff(&option, &work, DiffForm::Stat, &Cx::new()).await, Err(VcsError::NoRevision(_))));
}
