//! What every [`Vcs`] must do.

use std::{
    any::Any,
    collections::BTreeMap,
    fmt, fs,
    os::unix::fs::{PermissionsExt, symlink},
    path::Path,
    sync::Arc,
    time::{Duration, SystemTime},
};

use crate::{
    Accepted, AttemptId, Caches, Cx, FindingKind, ItemRef, KeepKind, Placed, Revision, RunId, Seal, Site, Snapshot,
    Tip, Vcs,
};

/// A [`Vcs`] under test. Its start revision holds one file, `README.md` with the line `hello`.
pub struct VcsFixture {
    /// What is tested.
    pub vcs: Arc<dyn Vcs>,
    /// Whatever has to live as long: a temporary folder.
    pub keep_alive: Box<dyn Any + Send>,
}

impl VcsFixture {
    /// A fixture of `vcs`, whose surroundings `keep_alive` holds.
    pub fn new(vcs: impl Vcs, keep_alive: impl Any + Send) -> Self {
        Self { vcs: Arc::new(vcs), keep_alive: Box::new(keep_alive) }
    }
}

impl fmt::Debug for VcsFixture {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("VcsFixture").field("vcs", &self.vcs).finish_non_exhaustive()
    }
}

/// Makes one test of each law of [`Vcs`](crate::Vcs), given an async closure that makes a
/// [`VcsFixture`](crate::testing::suites::vcs::VcsFixture). Feature `testing`; give it a `mod` of its own beside other
/// suites.
///
/// ```no_run,test_harness
/// # use ralph_core::testing::{MemoryVcs, suites::vcs::VcsFixture};
/// # struct MyVcs;
/// # impl MyVcs {
/// #     fn new(_: &std::path::Path) -> MemoryVcs { MemoryVcs::new() }
/// # }
/// ralph_core::vcs_conformance!(async || {
///     let folder = tempfile::tempdir().unwrap();
///     VcsFixture::new(MyVcs::new(folder.path()), folder)
/// });
/// ```
#[macro_export]
macro_rules! vcs_conformance {
    ($make:expr) => {
        $crate::__conformance! { vcs, $make;
            tip_is_where_it_was_left,
            place_holds_exactly_the_revision,
            place_removes_leftovers,
            place_repairs_the_revisions_files,
            place_writes_through_no_link,
            place_survives_a_replaced_folder,
            place_knows_the_content,
            snapshot_unchanged_is_none,
            snapshot_takes_everything,
            snapshot_redo_gives_the_same_revision,
            snapshot_is_one_step_from_its_base,
            snapshot_undone_is_none,
            snapshot_finds_links_that_leave,
            snapshot_of_a_replaced_folder_is_a_finding,
            accept_moves_once,
            accept_refuses_another_expectation,
            rejected_work_is_kept_and_the_branch_unmoved,
            kept_work_of_two_attempts_is_apart,
            clean_site_is_apart,
            lanes_are_apart,
            tree_reads_without_a_checkout,
            changes_name_every_path,
            changes_are_between_contents,
            unknown_revisions_are_refused,
        }
    };
}

const WORK: Site = Site::Work { lane: 0 };
const CLEAN: Site = Site::Clean { lane: 0 };

fn seal(number: u32) -> Seal {
    Seal {
        run: RunId::new("run-1"),
        attempt: AttemptId { item: ItemRef::new("P1", "R01"), number },
        message: format!("R01: try {number}\n\nRalph-Item: P1/R01\n"),
        at: SystemTime::UNIX_EPOCH + Duration::from_secs(1_700_000_000),
        cleanup: false,
    }
}

async fn start(fixture: &VcsFixture) -> Revision {
    match fixture.vcs.tip(None, &Cx::new()).await.unwrap_or_else(|e| lost("tip", &e)) {
        Tip::At(revision) => revision,
        other => lost("tip", &format!("{other:?}")),
    }
}

#[track_caller]
fn lost<T>(what: &str, why: &dyn fmt::Display) -> T {
    panic!("{what}: {why}")
}

async fn place(fixture: &VcsFixture, site: Site, revision: &Revision) -> Placed {
    let placed = fixture.vcs.place(site, revision, Caches::Keep, &Cx::new()).await;
    placed.unwrap_or_else(|error| lost("place", &crate::chain(&error)))
}

async fn snapshot(fixture: &VcsFixture, base: &Revision, number: u32) -> Snapshot {
    let snapshot = fixture.vcs.snapshot(WORK, base, &seal(number), &Cx::new()).await;
    snapshot.unwrap_or_else(|error| lost("snapshot", &crate::chain(&error)))
}

/// A revision in which `file` has the content `text`, made on `base`.
async fn made(fixture: &VcsFixture, base: &Revision, file: &str, text: &str, number: u32) -> Revision {
    let placed = place(fixture, WORK, base).await;
    write(&placed.folder.join(file), text);
    let snapshot = snapshot(fixture, base, number).await;
    assert_eq!(snapshot.findings, [], "an ordinary file is no finding");
    snapshot.revision.unwrap_or_else(|| lost("snapshot", &"it saw no change"))
}

async fn accept(fixture: &VcsFixture, revision: &Revision, expected: &Revision) -> Accepted {
    let accepted = fixture.vcs.accept(revision, expected, &Cx::new()).await;
    accepted.unwrap_or_else(|error| lost("accept", &crate::chain(&error)))
}

async fn tip(fixture: &VcsFixture, since: &Revision) -> Tip {
    let tip = fixture.vcs.tip(Some(since), &Cx::new()).await;
    tip.unwrap_or_else(|error| lost("tip", &crate::chain(&error)))
}

async fn read(fixture: &VcsFixture, revision: &Revision, path: &str) -> Option<String> {
    let tree = fixture.vcs.tree(revision, &Cx::new()).await;
    let tree = tree.unwrap_or_else(|error| lost("tree", &crate::chain(&error)));
    let bytes = tree.read(path.as_bytes(), 1 << 20).await;
    let bytes = bytes.unwrap_or_else(|error| lost("read", &crate::chain(&error)));
    bytes.map(|bytes| String::from_utf8_lossy(&bytes).into_owned())
}

#[track_caller]
fn write(path: &Path, text: &str) {
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder).unwrap_or_else(|error| lost("mkdir", &error));
    }
    fs::write(path, text).unwrap_or_else(|error| lost("write", &error));
}

/// What is in a folder, the agent's own `.git` apart: path to content, a link as `-> target`.
fn files(folder: &Path) -> BTreeMap<String, String> {
    fn walk(folder: &Path, prefix: &str, all: &mut BTreeMap<String, String>) {
        for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
            let path = format!("{prefix}{}", entry.file_name().to_string_lossy());
            let kind = entry.file_type().unwrap_or_else(|error| lost("readdir", &error));
            if kind.is_symlink() {
                let to = fs::read_link(entry.path()).unwrap_or_default();
                all.insert(path, format!("-> {}", to.display()));
            } else if kind.is_dir() && path != ".git" {
                walk(&entry.path(), &format!("{path}/"), all);
            } else if kind.is_file() {
                all.insert(path, fs::read_to_string(entry.path()).unwrap_or_default());
            }
        }
    }
    let mut all = BTreeMap::new();
    walk(folder, "", &mut all);
    all
}

fn listing(pairs: &[(&str, &str)]) -> BTreeMap<String, String> {
    pairs.iter().map(|(path, text)| ((*path).to_owned(), (*text).to_owned())).collect()
}

/// The branch exists once a run has begun, is where it was left, and asking changes nothing.
pub async fn tip_is_where_it_was_left(fixture: VcsFixture) {
    let base = start(&fixture).await;
    assert_eq!(start(&fixture).await, base, "beginning again changes nothing");
    assert_eq!(tip(&fixture, &base).await, Tip::At(base.clone()));
    let next = made(&fixture, &base, "a", "a", 1).await;
    assert_eq!(tip(&fixture, &base).await, Tip::At(base.clone()), "a snapshot moves nothing");
    accept(&fixture, &next, &base).await;
    assert_eq!(tip(&fixture, &next).await, Tip::At(next.clone()));
    assert_eq!(tip(&fixture, &base).await, Tip::Ahead(next.clone()));
    assert_eq!(start(&fixture).await, next, "a later run begins where the branch is");
}

/// A site holds the files of the revision, and no others.
pub async fn place_holds_exactly_the_revision(fixture: VcsFixture) {
    let base = start(&fixture).await;
    let placed = place(&fixture, WORK, &base).await;
    assert_eq!(files(&placed.folder), listing(&[("README.md", "hello\n")]));
    let next = made(&fixture, &base, "d/a", "a", 1).await;
    let placed = place(&fixture, WORK, &next).await;
    assert_eq!(files(&placed.folder), listing(&[("README.md", "hello\n"), ("d/a", "a")]));
    let placed = place(&fixture, WORK, &base).await;
    assert_eq!(files(&placed.folder), listing(&[("README.md", "hello\n")]));
    assert!(!placed.folder.join("d").exists(), "an empty folder is left");
}

/// What an earlier session left is gone: files, folders, read-only ones, repositories, links.
pub async fn place_removes_leftovers(fixture: VcsFixture) {
    let base = start(&fixture).await;
    let folder = place(&fixture, WORK, &base).await.folder;
    write(&folder.join("x"), "x");
    write(&folder.join("deep/er/y"), "y");
    write(&folder.join("repo/.git/HEAD"), "ref: refs/heads/x");
    let _ = symlink("README.md", folder.join("link"));
    let _ = fs::set_permissions(folder.join("deep/er"), fs::Permissions::from_mode(0o500));
    let folder = place(&fixture, WORK, &base).await.folder;
    assert_eq!(files(&folder), listing(&[("README.md", "hello\n")]));
    assert!(!folder.join("repo").exists(), "a repository is left");
}

/// The revision's own files are as they were, whatever a session did to them.
pub async fn place_repairs_the_revisions_files(fixture: VcsFixture) {
    let base = start(&fixture).await;
    let folder = place(&fixture, WORK, &base).await.folder;
    let readme = folder.join("README.md");
    let expected = listing(&[("README.md", "hello\n")]);
    write(&readme, "HELLO\n");
    place(&fixture, WORK, &base).await;
    assert_eq!(files(&folder), expected, "an edit stayed");
    let _ = fs::remove_file(&readme);
    place(&fixture, WORK, &base).await;
    assert_eq!(files(&folder), expected, "a removed file is missing");
    let _ = fs::remove_file(&readme);
    write(&folder.join("README.md/x"), "a folder now");
    place(&fixture, WORK, &base).await;
    assert_eq!(files(&folder), expected, "a folder stands in a file's place");
}

/// Nothing is written or removed through a link that a session left.
pub async fn place_writes_through_no_link(fixture: VcsFixture) {
    let base = start(&fixture).await;
    let next = made(&fixture, &base, "d/a", "a", 1).await;
    let folder = place(&fixture, WORK, &next).await.folder;
    let outside = folder.with_file_name("outside-of-the-site");
    write(&outside.join("a"), "mine");
    write(&outside.join("b"), "mine");
    let _ = fs::remove_dir_all(folder.join("d"));
    let _ = symlink(&outside, folder.join("d"));
    let _ = fs::remove_file(folder.join("README.md"));
    let _ = symlink(outside.join("b"), folder.join("README.md"));
    place(&fixture, WORK, &next).await;
    assert_eq!(files(&folder), listing(&[("README.md", "hello\n"), ("d/a", "a")]));
    assert_eq!(files(&outside), listing(&[("a", "mine"), ("b", "mine")]), "the other folder changed");
}

/// A site whose folder was replaced by a link is made anew, and nothing is touched behind the link.
pub async fn place_survives_a_replaced_folder(fixture: VcsFixture) {
    let base = start(&fixture).await;
    let folder = place(&fixture, WORK, &base).await.folder;
    let outside = folder.with_file_name("another-folder");
    write(&outside.join("mine"), "mine");
    let _ = fs::remove_dir_all(&folder);
    let _ = symlink(&outside, &folder);
    let folder = place(&fixture, WORK, &base).await.folder;
    assert_eq!(files(&folder), listing(&[("README.md", "hello\n")]));
    assert_eq!(files(&outside), listing(&[("mine", "mine")]), "the other folder changed");
}

/// The fingerprint of the content is the same wherever it stands, and another for other content.
pub async fn place_knows_the_content(fixture: VcsFixture) {
    let base = start(&fixture).await;
    let tree = place(&fixture, WORK, &base).await.tree;
    assert_eq!(place(&fixture, CLEAN, &base).await.tree, tree);
    let placed = place(&fixture, WORK, &base).await;
    write(&placed.folder.join("a"), "a");
    let snapshot = snapshot(&fixture, &base, 1).await;
    assert_ne!(snapshot.tree, tree);
    let revision = snapshot.revision.unwrap_or_else(|| lost("snapshot", &"it saw no change"));
    assert_eq!(place(&fixture, CLEAN, &revision).await.tree, snapshot.tree);
}

/// Where nothing was changed there is no revision.
pub async fn snapshot_unchanged_is_none(fixture: VcsFixture) {
    let base = start(&fixture).await;
    let placed = place(&fixture, WORK, &base).await;
    // Touched is not changed.
    write(&placed.folder.join("README.md"), "hello\n");
    let snapshot = snapshot(&fixture, &base, 1).await;
    assert_eq!((snapshot.revision, snapshot.tree), (None, placed.tree));
    assert_eq!((snapshot.stat.files, snapshot.findings), (0, vec![]));
}

/// Added, changed and removed files, modes and links: all of it is in the revision.
pub async fn snapshot_takes_everything(fixture: VcsFixture) {
    let base = start(&fixture).await;
    let first = made(&fixture, &base, "gone", "gone", 1).await;
    let folder = place(&fixture, WORK, &first).await.folder;
    write(&folder.join("README.md"), "changed\n");
    write(&folder.join("new folder/ümlaut\nnewline"), "new");
    write(&folder.join("run.sh"), "#!/bin/sh\n");
    let _ = fs::set_permissions(folder.join("run.sh"), fs::Permissions::from_mode(0o755));
    let _ = symlink("new folder", folder.join("link"));
    let _ = fs::remove_file(folder.join("gone"));
    let snapshot = snapshot(&fixture, &first, 2).await;
    assert_eq!(snapshot.findings, []);
    assert_eq!(snapshot.stat.files, 5);
    let revision = snapshot.revision.unwrap_or_else(|| lost("snapshot", &"it saw no change"));
    let folder = place(&fixture, CLEAN, &revision).await.folder;
    let expected = [
        ("README.md", "changed\n"),
        ("link", "-> new folder"),
        ("new folder/ümlaut\nnewline", "new"),
        ("run.sh", "#!/bin/sh\n"),
    ];
    assert_eq!(files(&folder), listing(&expected));
    let mode = fs::metadata(folder.join("run.sh")).map(|data| data.permissions().mode());
    assert!(mode.is_ok_and(|mode| mode & 0o111 != 0), "the program is no program any more");
}

/// The same seal on the same content is the same revision: after a crash it is simply done again.
pub async fn snapshot_redo_gives_the_same_revision(fixture: VcsFixture) {
    let base = start(&fixture).await;
    let first = made(&fixture, &base, "a", "a", 1).await;
    assert_eq!(snapshot(&fixture, &base, 1).await.revision, Some(first.clone()));
    let again = made(&fixture, &base, "a", "a", 1).await;
    assert_eq!(again, first);
    assert_ne!(made(&fixture, &base, "a", "b", 1).await, first, "other content");
}

/// Work that went on from kept work is still one revision on its base.
pub async fn snapshot_is_one_step_from_its_base(fixture: VcsFixture) {
    let base = start(&fixture).await;
    let first = made(&fixture, &base, "a", "a", 1).await;
    let placed = place(&fixture, WORK, &first).await;
    write(&placed.folder.join("b"), "b");
    let second = snapshot(&fixture, &base, 2).await;
    assert_eq!(second.stat.files, 2, "both files are new against the base");
    let second = second.revision.unwrap_or_else(|| lost("snapshot", &"it saw no change"));
    assert_eq!(read(&fixture, &second, "a").await.as_deref(), Some("a"));
    assert_eq!(accept(&fixture, &second, &base).await, Accepted::Landed);
}

/// Kept work whose changes were all taken back equals its base.
pub async fn snapshot_undone_is_none(fixture: VcsFixture) {
    let base = start(&fixture).await;
    let first = made(&fixture, &base, "a", "a", 1).await;
    let placed = place(&fixture, WORK, &first).await;
    let _ = fs::remove_file(placed.folder.join("a"));
    assert_eq!(snapshot(&fixture, &base, 2).await.revision, None);
}

/// A link that leads out of the tree is told and not taken in.
pub async fn snapshot_finds_links_that_leave(fixture: VcsFixture) {
    let base = start(&fixture).await;
    let folder = place(&fixture, WORK, &base).await.folder;
    let _ = symlink("/etc/passwd", folder.join("absolute"));
    let _ = symlink("../../x", folder.join("relative"));
    let _ = symlink("README.md", folder.join("fine"));
    let snapshot = snapshot(&fixture, &base, 1).await;
    let mut found: Vec<_> = snapshot.findings.iter().map(|it| (it.kind, &*it.path)).collect();
    found.sort_unstable_by_key(|(_, path)| path.to_owned());
    let leaves = FindingKind::LinkLeavesTree;
    assert_eq!(found, [(leaves, "absolute"), (leaves, "relative")]);
    let revision = snapshot.revision.unwrap_or_else(|| lost("snapshot", &"it saw no change"));
    assert_eq!(read(&fixture, &revision, "absolute").await, None);
    assert_eq!(read(&fixture, &revision, "fine").await.as_deref(), Some("README.md"));
}

/// A site's folder that is another one now is a finding; nothing is read through it.
pub async fn snapshot_of_a_replaced_folder_is_a_finding(fixture: VcsFixture) {
    let base = start(&fixture).await;
    let folder = place(&fixture, WORK, &base).await.folder;
    let outside = folder.with_file_name("one-more-folder");
    write(&outside.join("secret"), "secret");
    let _ = fs::remove_dir_all(&folder);
    let _ = symlink(&outside, &folder);
    let snapshot = snapshot(&fixture, &base, 1).await;
    assert_eq!(snapshot.revision, None);
    assert_eq!(snapshot.findings.first().map(|it| it.kind), Some(FindingKind::FolderReplaced));
}

/// The branch moves to the revision; accepting it again changes nothing.
pub async fn accept_moves_once(fixture: VcsFixture) {
    let base = start(&fixture).await;
    let first = made(&fixture, &base, "a", "a", 1).await;
    assert_eq!(accept(&fixture, &first, &base).await, Accepted::Landed);
    assert_eq!(accept(&fixture, &first, &base).await, Accepted::Landed, "told twice");
    assert_eq!(tip(&fixture, &first).await, Tip::At(first.clone()));
    let second = made(&fixture, &first, "b", "b", 2).await;
    assert_eq!(accept(&fixture, &second, &first).await, Accepted::Landed);
    assert_eq!(accept(&fixture, &first, &base).await, Accepted::Landed, "it is on the branch");
    assert_eq!(tip(&fixture, &second).await, Tip::At(second));
}

/// A branch that somebody moved on is left alone.
pub async fn accept_refuses_another_expectation(fixture: VcsFixture) {
    let base = start(&fixture).await;
    let first = made(&fixture, &base, "a", "a", 1).await;
    let other = made(&fixture, &base, "b", "b", 2).await;
    assert_eq!(accept(&fixture, &first, &base).await, Accepted::Landed);
    assert_eq!(accept(&fixture, &other, &base).await, Accepted::Overtaken(first.clone()));
    assert_eq!(tip(&fixture, &first).await, Tip::At(first));
}

/// Work that is not accepted is kept under a name, which is the same when told twice, and can be placed later.
pub async fn rejected_work_is_kept_and_the_branch_unmoved(fixture: VcsFixture) {
    let base = start(&fixture).await;
    let work = made(&fixture, &base, "a", "a", 1).await;
    let seal = seal(1);
    let keep = async || {
        let kept = fixture.vcs.keep(&work, KeepKind::Rejected, &seal.run, &seal.attempt, &Cx::new()).await;
        kept.unwrap_or_else(|error| lost("keep", &crate::chain(&error)))
    };
    let name = keep().await;
    assert_eq!(keep().await, name);
    assert_eq!(tip(&fixture, &base).await, Tip::At(base.clone()));
    place(&fixture, WORK, &base).await;
    let placed = place(&fixture, WORK, &work).await;
    assert_eq!(files(&placed.folder), listing(&[("README.md", "hello\n"), ("a", "a")]));
}

/// Names of kept work are told apart by attempt and by kind.
pub async fn kept_work_of_two_attempts_is_apart(fixture: VcsFixture) {
    let base = start(&fixture).await;
    let mut names = Vec::new();
    for (number, kind) in
        [(1, KeepKind::Rejected), (2, KeepKind::Rejected), (3, KeepKind::Parked), (3, KeepKind::Interrupted)]
    {
        let work = made(&fixture, &base, "a", &number.to_string(), number).await;
        let seal = seal(number);
        let kept = fixture.vcs.keep(&work, kind, &seal.run, &seal.attempt, &Cx::new()).await;
        names.push(kept.unwrap_or_else(|error| lost("keep", &crate::chain(&error))));
    }
    names.sort();
    names.dedup();
    assert_eq!(names.len(), 4, "{names:?}");
}

/// What happens in the agent's site is not seen in the clean one.
pub async fn clean_site_is_apart(fixture: VcsFixture) {
    let base = start(&fixture).await;
    let work = place(&fixture, WORK, &base).await.folder;
    let clean = place(&fixture, CLEAN, &base).await.folder;
    assert_ne!(work, clean);
    assert!(!work.starts_with(&clean) && !clean.starts_with(&work));
    write(&work.join("helper"), "helper");
    write(&work.join("README.md"), "edited");
    assert_eq!(files(&clean), listing(&[("README.md", "hello\n")]));
    let clean = place(&fixture, CLEAN, &base).await.folder;
    assert_eq!(files(&clean), listing(&[("README.md", "hello\n")]));
    assert!(work.join("helper").exists(), "placing one site changed the other");
}

/// Each lane has sites of its own.
pub async fn lanes_are_apart(fixture: VcsFixture) {
    let base = start(&fixture).await;
    let one = place(&fixture, WORK, &base).await.folder;
    let two = place(&fixture, Site::Work { lane: 1 }, &base).await.folder;
    assert_ne!(one, two);
    write(&one.join("x"), "x");
    assert_eq!(files(&two), listing(&[("README.md", "hello\n")]));
}

#[cfg(test)]
mod double;
mod reading;
#[cfg(test)]
mod saboteurs;

pub use reading::{
    changes_are_between_contents, changes_name_every_path, tree_reads_without_a_checkout, unknown_revisions_are_refused,
};
