//! What every [`Rebase`] must do.

use std::{any::Any, fmt, fs, path::Path, sync::Arc, time::SystemTime};

use crate::{
    Accepted, AttemptId, Caches, Cx, ItemRef, Placed, Rebase, Rebased, Revision, RunId, Seal, Site, Snapshot, Tip, Vcs,
    VcsError,
};

/// A [`Rebase`] under test, with the version control in which its revisions are made. Its start revision holds one
/// file, `README.md` with the line `hello`.
pub struct RebaseFixture {
    /// Where revisions are made and read.
    pub vcs: Arc<dyn Vcs>,
    /// What is tested.
    pub rebase: Arc<dyn Rebase>,
    /// Whatever has to live as long: a temporary folder.
    pub keep_alive: Box<dyn Any + Send>,
}

impl RebaseFixture {
    /// A fixture of `both`, whose surroundings `keep_alive` holds.
    pub fn new(both: impl Vcs + Rebase, keep_alive: impl Any + Send) -> Self {
        let both = Arc::new(both);
        Self { vcs: both.clone(), rebase: both, keep_alive: Box::new(keep_alive) }
    }
}

impl fmt::Debug for RebaseFixture {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RebaseFixture").field("rebase", &self.rebase).finish_non_exhaustive()
    }
}

/// Makes one test of each law of [`Rebase`](crate::Rebase), given an async closure that makes a
/// [`RebaseFixture`](crate::testing::suites::rebase::RebaseFixture). Feature `testing`; give it a `mod` of its own beside
/// other suites.
///
/// ```no_run,test_harness
/// # use ralph_core::testing::{Files, MemoryVcs as MyVcs, suites::rebase::RebaseFixture};
/// ralph_core::rebase_conformance!(async || {
///     let start = Files::from([("README.md".to_owned(), b"hello\n".to_vec())]);
///     RebaseFixture::new(MyVcs::with(start), ())
/// });
/// ```
#[macro_export]
macro_rules! rebase_conformance {
    ($make:expr) => {
        $crate::__conformance! { rebase, $make;
            carried_work_is_one_step_from_the_new_base,
            both_sides_changes_survive,
            rebase_redo_gives_the_same_revision,
            rebase_moves_nothing,
            work_that_is_there_already_adds_nothing,
            a_conflict_names_its_paths,
            nothing_is_resolved_by_guessing,
            work_of_another_line_is_not_carried,
            unknown_revisions_are_refused,
        }
    };
}

const WORK: Site = Site::Work { lane: 0 };

fn seal(number: u32) -> Seal {
    Seal {
        run: RunId::new("run-1"),
        attempt: AttemptId { item: ItemRef::new("P1", "R01"), number },
        message: format!("R01: try {number}\n\nRalph-Item: P1/R01\n"),
        at: SystemTime::UNIX_EPOCH + std::time::Duration::from_secs(1_700_000_000),
        cleanup: false,
    }
}

#[track_caller]
fn lost<T>(what: &str, why: &dyn fmt::Display) -> T {
    panic!("{what}: {why}")
}

async fn start(fixture: &RebaseFixture) -> Revision {
    match fixture.vcs.tip(None, &Cx::new()).await.unwrap_or_else(|e| lost("tip", &e)) {
        Tip::At(revision) => revision,
        other => lost("tip", &format!("{other:?}")),
    }
}

async fn place(fixture: &RebaseFixture, revision: &Revision) -> Placed {
    let placed = fixture.vcs.place(WORK, revision, Caches::Keep, &Cx::new()).await;
    placed.unwrap_or_else(|error| lost("place", &crate::chain(&error)))
}

/// What a path is made to hold; `None` removes it.
type Edit<'a> = (&'a str, Option<&'a str>);

fn edit(folder: &Path, edits: &[Edit<'_>]) {
    for (path, text) in edits {
        let path = folder.join(path);
        // A file may become a folder, and the other way round.
        let _ = fs::remove_file(&path);
        let _ = fs::remove_dir_all(&path);
        if let Some(text) = text {
            let made = fs::create_dir_all(path.parent().unwrap_or(folder)).and_then(|()| fs::write(&path, text));
            made.unwrap_or_else(|error| lost("write", &error));
        }
    }
}

/// A revision on `base` with these edits.
async fn made(fixture: &RebaseFixture, base: &Revision, edits: &[Edit<'_>], number: u32) -> Revision {
    edit(&place(fixture, base).await.folder, edits);
    let snapshot = fixture.vcs.snapshot(WORK, base, &seal(number), &Cx::new()).await;
    let snapshot = snapshot.unwrap_or_else(|error| lost("snapshot", &crate::chain(&error)));
    snapshot.revision.unwrap_or_else(|| lost("snapshot", &"it saw no change"))
}

async fn rebase(fixture: &RebaseFixture, revision: &Revision, onto: &Revision) -> Rebased {
    let rebased = fixture.rebase.rebase(revision, onto, &seal(9), &Cx::new()).await;
    rebased.unwrap_or_else(|error| lost("rebase", &crate::chain(&error)))
}

#[track_caller]
fn onto(rebased: Rebased) -> Snapshot {
    match rebased {
        Rebased::Onto(snapshot) => snapshot,
        Rebased::Conflict(paths) => lost("rebase", &format!("it found a conflict in {paths:?}")),
    }
}

#[track_caller]
fn revision(rebased: Rebased) -> Revision {
    onto(rebased).revision.unwrap_or_else(|| lost("rebase", &"it found nothing to carry"))
}

async fn read(fixture: &RebaseFixture, revision: &Revision, path: &str) -> Option<String> {
    let tree = fixture.vcs.tree(revision, &Cx::new()).await;
    let tree = tree.unwrap_or_else(|error| lost("tree", &crate::chain(&error)));
    let bytes = tree.read(path.as_bytes(), 1 << 20).await;
    bytes
        .unwrap_or_else(|error| lost("read", &crate::chain(&error)))
        .map(|it| String::from_utf8_lossy(&it).into_owned())
}

async fn accept(fixture: &RebaseFixture, revision: &Revision, expected: &Revision) -> Accepted {
    let accepted = fixture.vcs.accept(revision, expected, &Cx::new()).await;
    accepted.unwrap_or_else(|error| lost("accept", &crate::chain(&error)))
}

/// The carried work stands on the new base alone, and the branch takes it from there.
pub async fn carried_work_is_one_step_from_the_new_base(fixture: RebaseFixture) {
    let base = start(&fixture).await;
    let work = made(&fixture, &base, &[("a", Some("a"))], 1).await;
    let tip = made(&fixture, &base, &[("b", Some("b"))], 2).await;
    let tip = [tip.clone(), made(&fixture, &tip, &[("c", Some("c"))], 3).await];
    for (from, to) in [(&base, &tip[0]), (&tip[0], &tip[1])] {
        assert_eq!(accept(&fixture, to, from).await, Accepted::Landed);
    }
    let snapshot = onto(rebase(&fixture, &work, &tip[1]).await);
    assert_eq!(snapshot.stat.files, 1, "one file is new against the new base");
    assert_eq!(snapshot.findings, []);
    let carried = snapshot.revision.unwrap_or_else(|| lost("rebase", &"it found nothing to carry"));
    assert_eq!(place(&fixture, &carried).await.tree, snapshot.tree, "the fingerprint is the content's");
    assert_eq!(accept(&fixture, &carried, &tip[1]).await, Accepted::Landed);
}

/// What the work changed and what came meanwhile are both there: additions, changes and removals.
pub async fn both_sides_changes_survive(fixture: RebaseFixture) {
    let first = start(&fixture).await;
    let old = [("gone-here", Some("x")), ("gone-there", Some("x")), ("theirs", Some("x")), ("ours", Some("x"))];
    let base = made(&fixture, &first, &old, 1).await;
    let ours = [("gone-here", None), ("ours", Some("ours")), ("d/new", Some("new"))];
    let work = made(&fixture, &base, &ours, 2).await;
    let theirs = [("gone-there", None), ("theirs", Some("theirs")), ("d/other", Some("other"))];
    let tip = made(&fixture, &base, &theirs, 3).await;
    let carried = revision(rebase(&fixture, &work, &tip).await);
    for (path, expected) in [
        ("README.md", Some("hello\n")),
        ("gone-here", None),
        ("gone-there", None),
        ("ours", Some("ours")),
        ("theirs", Some("theirs")),
        ("d/new", Some("new")),
        ("d/other", Some("other")),
    ] {
        assert_eq!(read(&fixture, &carried, path).await.as_deref(), expected, "{path}");
    }
}

/// The same work, base and seal are the same revision: after a crash it is simply done again.
pub async fn rebase_redo_gives_the_same_revision(fixture: RebaseFixture) {
    let base = start(&fixture).await;
    let work = made(&fixture, &base, &[("a", Some("a"))], 1).await;
    let tip = made(&fixture, &base, &[("b", Some("b"))], 2).await;
    let first = revision(rebase(&fixture, &work, &tip).await);
    assert_eq!(revision(rebase(&fixture, &work, &tip).await), first);
    let other = made(&fixture, &base, &[("a", Some("other"))], 3).await;
    assert_ne!(revision(rebase(&fixture, &other, &tip).await), first, "other work");
}

/// Neither the branch nor a site's files are others, and the work itself is still there.
pub async fn rebase_moves_nothing(fixture: RebaseFixture) {
    let base = start(&fixture).await;
    let work = made(&fixture, &base, &[("a", Some("a"))], 1).await;
    let tip = made(&fixture, &base, &[("b", Some("b"))], 2).await;
    assert_eq!(accept(&fixture, &tip, &base).await, Accepted::Landed);
    let folder = place(&fixture, &base).await.folder;
    edit(&folder, &[("README.md", Some("in the middle of it"))]);
    revision(rebase(&fixture, &work, &tip).await);
    let now = fixture.vcs.tip(Some(&tip), &Cx::new()).await.unwrap_or_else(|e| lost("tip", &crate::chain(&e)));
    assert_eq!(now, Tip::At(tip), "the branch was moved");
    let text = fs::read_to_string(folder.join("README.md")).unwrap_or_default();
    assert_eq!((text.as_str(), folder.join("a").exists()), ("in the middle of it", false), "a site was touched");
    assert_eq!(read(&fixture, &work, "a").await.as_deref(), Some("a"));
}

/// Where the new base has it all, there is nothing to carry and no revision.
pub async fn work_that_is_there_already_adds_nothing(fixture: RebaseFixture) {
    let base = start(&fixture).await;
    let work = made(&fixture, &base, &[("a", Some("a")), ("README.md", None)], 1).await;
    let same = [("a", Some("a")), ("README.md", None), ("b", Some("b"))];
    let tip = made(&fixture, &base, &same, 2).await;
    let placed = place(&fixture, &tip).await;
    let snapshot = onto(rebase(&fixture, &work, &tip).await);
    assert_eq!((snapshot.revision, snapshot.tree, snapshot.stat.files), (None, placed.tree, 0));
    let next = made(&fixture, &work, &[("c", Some("c"))], 3).await;
    for holds_it in [&work, &next] {
        assert_eq!(onto(rebase(&fixture, &work, holds_it).await).revision, None);
    }
}

/// A conflict says where, and only there, and changes nothing.
pub async fn a_conflict_names_its_paths(fixture: RebaseFixture) {
    let base = start(&fixture).await;
    let work = made(&fixture, &base, &[("README.md", Some("ours\n")), ("a", Some("a"))], 1).await;
    let tip = made(&fixture, &base, &[("README.md", Some("theirs\n")), ("b", Some("b"))], 2).await;
    assert_eq!(accept(&fixture, &tip, &base).await, Accepted::Landed);
    let rebased = rebase(&fixture, &work, &tip).await;
    assert_eq!(rebased, Rebased::Conflict(vec!["README.md".to_owned()]));
    let now = fixture.vcs.tip(Some(&tip), &Cx::new()).await.unwrap_or_else(|e| lost("tip", &crate::chain(&e)));
    assert_eq!(now, Tip::At(tip));
}

/// Removed here and changed there, added by both, a file here and a folder there, moved here and changed there: each is a
/// conflict, whichever side it is.
pub async fn nothing_is_resolved_by_guessing(fixture: RebaseFixture) {
    const TEXT: &str = "a file\nof several lines\nthat has been moved\nand is known again\n";
    const MORE: &str = "a file\nof several lines\nthat has been moved\nand is known again\nand has one more\n";
    let first = start(&fixture).await;
    let base = made(&fixture, &first, &[("old", Some(TEXT))], 1).await;
    let cases: [(&str, &[Edit<'_>], &[Edit<'_>]); 4] = [
        ("removed and changed", &[("old", None)], &[("old", Some(MORE))]),
        ("added by both", &[("new", Some("one\n"))], &[("new", Some("two\n"))]),
        ("a file and a folder", &[("new", Some("one\n"))], &[("new/file", Some("two\n"))]),
        ("moved and changed", &[("old", None), ("moved", Some(TEXT))], &[("old", Some(MORE))]),
    ];
    for (what, one, two) in cases {
        let sides = [made(&fixture, &base, one, 2).await, made(&fixture, &base, two, 3).await];
        for (work, tip) in [(&sides[0], &sides[1]), (&sides[1], &sides[0])] {
            match rebase(&fixture, work, tip).await {
                Rebased::Conflict(paths) => assert!(!paths.is_empty(), "{what}: nobody is told where"),
                Rebased::Onto(_) => lost(what, &"it was resolved"),
            }
        }
    }
}

/// Work whose own base the new one is not built on would bring that base's changes along.
pub async fn work_of_another_line_is_not_carried(fixture: RebaseFixture) {
    let base = start(&fixture).await;
    let left = made(&fixture, &base, &[("left", Some("x"))], 1).await;
    let work = made(&fixture, &left, &[("a", Some("a"))], 2).await;
    let right = made(&fixture, &base, &[("right", Some("x"))], 3).await;
    for elsewhere in [&right, &base] {
        match rebase(&fixture, &work, elsewhere).await {
            Rebased::Conflict(paths) => assert_eq!(paths, ["a"]),
            Rebased::Onto(snapshot) => lost("rebase", &format!("it was carried: {snapshot:?}")),
        }
    }
}

/// A revision that is not there is an error that says so, on either side.
pub async fn unknown_revisions_are_refused(fixture: RebaseFixture) {
    let base = start(&fixture).await;
    let work = made(&fixture, &base, &[("a", Some("a"))], 1).await;
    for name in ["0123456789012345678901234567890123456789", "--help", "HEAD", ""] {
        let unknown = Revision::new(name);
        for (work, tip) in [(&unknown, &base), (&work, &unknown)] {
            let rebased = fixture.rebase.rebase(work, tip, &seal(9), &Cx::new()).await;
            assert!(matches!(rebased, Err(VcsError::NoRevision(_))), "`{work}` onto `{tip}`: {rebased:?}");
        }
    }
}

#[cfg(test)]
mod saboteurs;
