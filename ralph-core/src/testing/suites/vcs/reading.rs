//! The laws of what is read without a checkout: a revision's files, and how two revisions differ.

use std::{
    fs,
    os::unix::fs::{PermissionsExt, symlink},
};

use super::{VcsFixture, WORK, lost, made, place, snapshot, start, write};
use crate::{Caches, Change, Cx, EntryKind, Revision, VcsError};

async fn changes(fixture: &VcsFixture, base: &Revision, revision: &Revision) -> Vec<Change> {
    let changes = fixture.vcs.changes(base, revision, &Cx::new()).await;
    changes.unwrap_or_else(|error| lost("changes", &crate::chain(&error)))
}

async fn kind(fixture: &VcsFixture, revision: &Revision, path: &[u8]) -> Option<EntryKind> {
    let tree = fixture.vcs.tree(revision, &Cx::new()).await.unwrap_or_else(|error| lost("tree", &error));
    tree.kind(path).await.unwrap_or_else(|error| lost("kind", &error))
}

/// A path, and what it holds before and after.
type Told<'a> = (&'a str, Option<EntryKind>, Option<EntryKind>);

fn told(expected: &[Told<'_>]) -> Vec<Change> {
    let change =
        |(path, before, after): &Told<'_>| Change { path: path.as_bytes().to_vec(), before: *before, after: *after };
    expected.iter().map(change).collect()
}

/// Every path that differs is told once, sorted, with what it held and holds: content, kind and mode count, and a file
/// that became a folder is several paths.
pub async fn changes_name_every_path(fixture: VcsFixture) {
    let (file, program, link) = (Some(EntryKind::File), Some(EntryKind::Executable), Some(EntryKind::Link));
    let start = start(&fixture).await;
    let folder = place(&fixture, WORK, &start).await.folder;
    for path in ["becomes-a-folder", "becomes-a-link", "gone", "mode", "same", "z"] {
        write(&folder.join(path), path);
    }
    let base = snapshot(&fixture, &start, 1).await.revision.unwrap_or_else(|| lost("snapshot", &"it saw no change"));
    let folder = place(&fixture, WORK, &base).await.folder;
    for path in ["becomes-a-folder", "becomes-a-link", "gone"] {
        let _ = fs::remove_file(folder.join(path));
    }
    write(&folder.join("README.md"), "changed\n");
    write(&folder.join("becomes-a-folder/x"), "x");
    // Between the file and what is in the folder of the same name, for whoever sorts by parts.
    write(&folder.join("becomes-a-folder-"), "x");
    write(&folder.join("new\nline"), "x");
    let _ = symlink("z", folder.join("becomes-a-link"));
    let _ = fs::set_permissions(folder.join("mode"), fs::Permissions::from_mode(0o755));
    let revision = snapshot(&fixture, &base, 2).await.revision.unwrap_or_else(|| lost("snapshot", &"it saw no change"));
    let expected = told(&[
        ("README.md", file, file),
        ("becomes-a-folder", file, None),
        ("becomes-a-folder-", None, file),
        ("becomes-a-folder/x", None, file),
        ("becomes-a-link", file, link),
        ("gone", file, None),
        ("mode", file, program),
        ("new\nline", None, file),
    ]);
    assert_eq!(changes(&fixture, &base, &revision).await, expected);
    assert_eq!(changes(&fixture, &revision, &revision).await, []);
    for change in expected {
        let path = String::from_utf8_lossy(&change.path).into_owned();
        assert_eq!(kind(&fixture, &base, &change.path).await, change.before, "what `{path}` was");
        assert_eq!(kind(&fixture, &revision, &change.path).await, change.after, "what `{path}` is");
    }
    assert_eq!(kind(&fixture, &revision, b"becomes-a-folder").await, None, "a folder is nothing of these");
}

/// What two revisions hold is compared, whatever lies between them and whatever stands in the sites.
pub async fn changes_are_between_contents(fixture: VcsFixture) {
    let file = Some(EntryKind::File);
    let base = start(&fixture).await;
    let first = made(&fixture, &base, "a", "a", 1).await;
    let second = made(&fixture, &first, "b", "b", 2).await;
    let other = made(&fixture, &base, "c", "c", 3).await;
    assert_eq!(changes(&fixture, &base, &second).await, told(&[("a", None, file), ("b", None, file)]));
    assert_eq!(changes(&fixture, &second, &base).await, told(&[("a", file, None), ("b", file, None)]));
    assert_eq!(changes(&fixture, &first, &other).await, told(&[("a", file, None), ("c", None, file)]));
    let placed = place(&fixture, WORK, &second).await;
    let _ = fs::remove_file(placed.folder.join("b"));
    let undone = snapshot(&fixture, &second, 4).await.revision.unwrap_or_else(|| lost("snapshot", &"no change"));
    assert_eq!(changes(&fixture, &first, &undone).await, [], "the content is the same");
}

/// Files of a revision are read as they are, whatever stands in the sites.
pub async fn tree_reads_without_a_checkout(fixture: VcsFixture) {
    let base = start(&fixture).await;
    let next = made(&fixture, &base, "d/e", "12345", 1).await;
    place(&fixture, WORK, &base).await;
    let cx = Cx::new();
    let tree = fixture.vcs.tree(&next, &cx).await.unwrap_or_else(|e| lost("tree", &e));
    let read = async |path: &str, max| {
        let bytes = tree.read(path.as_bytes(), max).await;
        bytes.unwrap_or_else(|error| lost("read", &crate::chain(&error)))
    };
    assert_eq!(read("d/e", 100).await.as_deref(), Some(&b"12345"[..]));
    assert_eq!(read("d/e", 3).await.as_deref(), Some(&b"123"[..]), "cut");
    assert_eq!(read("d", 100).await, None, "a folder is no file");
    assert_eq!(read("../d/e", 100).await, None);
    assert_eq!(read("none", 100).await, None);
    let list = async |under: &str| {
        let list = tree.list(under.as_bytes()).await;
        let list = list.unwrap_or_else(|error| lost("list", &crate::chain(&error)));
        list.iter().map(|path| String::from_utf8_lossy(path).into_owned()).collect::<Vec<_>>()
    };
    assert_eq!(list("").await, ["README.md", "d/e"]);
    assert_eq!(list("d").await, ["d/e"]);
    assert_eq!(list("READ").await, [""; 0]);
}

/// A revision that is not there is an error that says so, and no other content.
pub async fn unknown_revisions_are_refused(fixture: VcsFixture) {
    let base = start(&fixture).await;
    place(&fixture, WORK, &base).await;
    for name in ["0123456789012345678901234567890123456789", "--help", "HEAD", ""] {
        let unknown = Revision::new(name);
        let placed = fixture.vcs.place(WORK, &unknown, Caches::Keep, &Cx::new()).await;
        assert!(matches!(placed, Err(VcsError::NoRevision(_))), "place `{name}`: {placed:?}");
        let tree = fixture.vcs.tree(&unknown, &Cx::new()).await;
        assert!(matches!(tree, Err(VcsError::NoRevision(_))), "tree `{name}`: {tree:?}");
        for (from, to) in [(&base, &unknown), (&unknown, &base)] {
            let changes = fixture.vcs.changes(from, to, &Cx::new()).await;
            assert!(matches!(changes, Err(VcsError::NoRevision(_))), "changes `{from}` `{to}`: {changes:?}");
        }
    }
}
