//! The laws of [`Vcs::changes`].

use std::{
    fs,
    os::unix::fs::{PermissionsExt, symlink},
};

use super::{VcsFixture, WORK, lost, made, place, snapshot, start, write};
use crate::{Change, Cx, EntryKind, Revision};

async fn changes(fixture: &VcsFixture, base: &Revision, revision: &Revision) -> Vec<Change> {
    let changes = fixture.vcs.changes(base, revision, &Cx::new()).await;
    changes.unwrap_or_else(|error| lost("changes", &crate::chain(&error)))
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
