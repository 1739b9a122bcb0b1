//! Which paths differ between two revisions, beyond what every `Vcs` has to tell.

use ralph_core::{Change, Cx, EntryKind, Revision, Vcs};

use crate::support::{Repo, program};

async fn changes(repo: &Repo, base: &Revision, revision: &Revision) -> Vec<Change> {
    repo.open().await.changes(base, revision, &Cx::new()).await.unwrap()
}

fn change(path: &str, before: Option<EntryKind>, after: Option<EntryKind>) -> Change {
    Change { path: path.into(), before, after }
}

#[tokio::test]
async fn submodules_have_a_kind() {
    let (module, file, link) = (Some(EntryKind::Submodule), Some(EntryKind::File), Some(EntryKind::Link));
    let repo = Repo::new();
    let start = repo.head();
    let stage = |info: &str| {
        repo.git(&["update-index", "--add", "--cacheinfo", info]);
        repo.git(&["commit", "-qm", "stage"]);
        repo.head()
    };
    let added = stage(&format!("160000,{start},sub"));
    let moved = stage(&format!("160000,{added},sub"));
    let blob = repo.rev("HEAD:README.md");
    let to_file = stage(&format!("100644,{blob},sub"));
    let to_link = stage(&format!("120000,{blob},sub"));
    for (from, to, expected) in [
        (&start, &added, change("sub", None, module)),
        (&added, &moved, change("sub", module, module)),
        (&moved, &to_file, change("sub", module, file)),
        (&to_file, &to_link, change("sub", file, link)),
        (&to_link, &start, change("sub", link, None)),
    ] {
        assert_eq!(changes(&repo, from, to).await, [expected]);
    }
    // What the operator's settings hide from `git diff` is told all the same.
    repo.git(&["config", "diff.ignoreSubmodules", "all"]);
    repo.git(&["config", "diff.orderFile", "/nonexistent"]);
    assert_eq!(changes(&repo, &added, &moved).await.len(), 1);
}

#[tokio::test]
async fn a_rename_is_two_paths_and_nothing_that_settings_name_runs() {
    let repo = Repo::new();
    repo.commit(".gitattributes", "* diff=odd filter=odd\n");
    let base = repo.commit("old", "some text\nof several\nlines\n");
    repo.git(&["mv", "old", "new"]);
    repo.git(&["commit", "-qm", "rename"]);
    let revision = repo.commit("README.md", "changed\n");
    let (mark, planted) = (repo.folder.path().join("mark"), repo.folder.path().join("planted.sh"));
    program(&planted, &format!("#!/bin/sh\ntouch {}\n", mark.display()));
    let planted = planted.display().to_string();
    for key in ["diff.odd.textconv", "diff.odd.command", "diff.external", "filter.odd.clean", "filter.odd.smudge"] {
        repo.git(&["config", key, &planted]);
    }
    repo.git(&["config", "diff.renames", "copies"]);
    let file = Some(EntryKind::File);
    let expected = [change("README.md", file, file), change("new", None, file), change("old", file, None)];
    assert_eq!(changes(&repo, &base, &revision).await, expected);
    assert!(!mark.exists(), "something ran");
    repo.git(&["diff", base.as_str(), revision.as_str()]);
    assert!(mark.exists(), "the control did not run");
}
