//! Judges what a session left before a byte of it enters the operator's object store: what is taken in, and what
//! cannot be part of a commit.

use std::{
    collections::BTreeSet,
    ffi::OsStr,
    io,
    os::{
        fd::{AsFd, BorrowedFd},
        unix::ffi::OsStrExt,
    },
    path::Path,
};

use ralph_core::{Finding, FindingKind};
use rustix::fs::{AtFlags, FileType, Mode, OFlags};

use crate::{
    index::Index,
    links::{is_behind_link, leaves_by_text, leaves_on_the_way},
    status::{Changed, Status},
    walk::{is_git, join, list, open_root},
};

/// No more findings than this are told: they are for people and prompts.
const MOST_FINDINGS: usize = 50;
/// Deeper folders are not looked at.
const DEEPEST: usize = 200;

/// What is to be done to the index.
#[derive(Debug, Default)]
pub(crate) struct Judged {
    /// Paths whose state on the disk becomes the index's: `update-index --add --remove --replace`.
    pub(crate) update: Vec<Vec<u8>>,
    /// Paths that go although something is there: `update-index --force-remove`.
    pub(crate) remove: Vec<Vec<u8>>,
    pub(crate) findings: Findings,
}

/// Findings, each once, and not too many.
#[derive(Debug, Default)]
pub(crate) struct Findings(Vec<Finding>);

impl Findings {
    pub(crate) fn add(&mut self, kind: FindingKind, path: &[u8]) {
        let path = path.strip_suffix(b"/").unwrap_or(path);
        // A repository is told by its folder or by its `.git`, which is one thing to people.
        let path = match kind {
            FindingKind::NestedRepository => path.strip_suffix(b"/.git").unwrap_or(path),
            _ => path,
        };
        let finding = Finding { kind, path: String::from_utf8_lossy(path).into_owned() };
        if self.0.len() < MOST_FINDINGS && !self.0.contains(&finding) {
            self.0.push(finding);
        }
    }

    pub(crate) fn into_list(self) -> Vec<Finding> {
        self.0
    }
}

/// The limits of one snapshot.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Limits {
    pub(crate) files: usize,
    pub(crate) bytes: u64,
}

/// Judges `status` of the site at `root`, whose files of the last placing are in `index`.
pub(crate) fn judge(
    root: &Path,
    index: &Index,
    status: &Status,
    ledger: &Ledger,
    limits: Limits,
) -> io::Result<Judged> {
    let root = open_root(root)?;
    let mut judge = Judge {
        root: root.as_fd(),
        index,
        ledger,
        limits,
        files: 0,
        bytes: 0,
        links_changed: false,
        out: Judged::default(),
    };
    let ignored: BTreeSet<&[u8]> = status.ignored.iter().map(|path| path.strip_suffix(b"/").unwrap_or(path)).collect();
    judge.odd(root.as_fd(), b"", &ignored, 0);
    for changed in &status.changed {
        judge.one(changed);
    }
    if judge.links_changed {
        judge.old_links();
    }
    Ok(judge.out)
}

struct Judge<'a> {
    root: BorrowedFd<'a>,
    index: &'a Index,
    ledger: &'a Ledger,
    limits: Limits,
    files: usize,
    bytes: u64,
    links_changed: bool,
    out: Judged,
}

impl Judge<'_> {
    /// Looks for what git does not tell of: pipes, repositories around tracked files, unreadable folders, files inside a
    /// submodule.
    fn odd(&mut self, folder: BorrowedFd<'_>, path: &[u8], ignored: &BTreeSet<&[u8]>, depth: usize) {
        let (Ok(entries), true) = (list(folder), depth < DEEPEST) else {
            let kind = if depth < DEEPEST { FindingKind::Unreadable } else { FindingKind::TooMuch };
            self.out.findings.add(kind, path);
            return;
        };
        for entry in entries {
            let name = entry.name.to_bytes();
            let path = join(path, name);
            if ignored.contains(path.as_slice()) || self.ledger.holds(&path) {
                continue;
            }
            match entry.kind {
                // The agent's own.
                _ if path == b".git" => {}
                _ if name == b".git" => self.out.findings.add(FindingKind::NestedRepository, &path),
                FileType::Directory if is_git(name) => {
                    self.out.findings.add(FindingKind::RefusedName, &path);
                }
                FileType::Directory => {
                    match rustix::fs::openat(
                        folder,
                        &entry.name,
                        OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC,
                        Mode::empty(),
                    ) {
                        Ok(inner) if self.index.is_gitlink(&path) => {
                            // It was left empty.
                            if list(inner.as_fd()).map_or(true, |inside| !inside.is_empty()) {
                                self.out.findings.add(FindingKind::Submodule, &path);
                            }
                        }
                        Ok(inner) => self.odd(inner.as_fd(), &path, ignored, depth + 1),
                        Err(_) => self.out.findings.add(FindingKind::Unreadable, &path),
                    }
                }
                FileType::RegularFile | FileType::Symlink => {
                    if self.index.is_gitlink(&path) {
                        self.out.findings.add(FindingKind::Submodule, &path);
                    }
                }
                _ => self.out.findings.add(FindingKind::SpecialFile, &path),
            }
        }
    }

    fn one(&mut self, changed: &Changed) {
        let path = changed.path.as_slice();
        // What stands where a folder of control files was would take their place in the index.
        if self.ledger.holds(path) || self.ledger.is_below(path) {
            return;
        }
        if path.ends_with(b"/") {
            // Git shows a folder as one path only if it is a repository.
            return self.out.findings.add(FindingKind::NestedRepository, path);
        }
        if self.index.is_gitlink(path) {
            return self.out.findings.add(FindingKind::Submodule, path);
        }
        if path.split(|byte| *byte == b'/').any(is_refused) {
            return self.out.findings.add(FindingKind::RefusedName, path);
        }
        if is_behind_link(self.root, path) {
            if changed.tracked {
                self.out.remove.push(path.to_vec());
            }
            return;
        }
        let name = OsStr::from_bytes(path);
        let stat = match rustix::fs::statat(self.root, name, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(stat) => stat,
            Err(rustix::io::Errno::NOENT | rustix::io::Errno::NOTDIR) => {
                if changed.tracked {
                    self.out.update.push(path.to_vec());
                }
                return;
            }
            Err(_) => return self.out.findings.add(FindingKind::Unreadable, path),
        };
        match FileType::from_raw_mode(stat.st_mode) {
            FileType::Directory => self.out.remove.push(path.to_vec()),
            FileType::Symlink => self.link(path),
            FileType::RegularFile => self.file(path, u64::try_from(stat.st_size).unwrap_or(0)),
            _ => self.out.findings.add(FindingKind::SpecialFile, path),
        }
    }

    fn link(&mut self, path: &[u8]) {
        self.links_changed = true;
        let to = rustix::fs::readlinkat(self.root, OsStr::from_bytes(path), Vec::new());
        match to {
            Err(_) => self.out.findings.add(FindingKind::Unreadable, path),
            Ok(to) if leaves_by_text(path, to.to_bytes()) || leaves_on_the_way(self.root, path) => {
                self.out.findings.add(FindingKind::LinkLeavesTree, path);
            }
            Ok(_) => self.take(path, 0),
        }
    }

    /// A changed link may change where an unchanged one leads.
    fn old_links(&mut self) {
        for path in self.index.symlinks() {
            let to = rustix::fs::readlinkat(self.root, OsStr::from_bytes(path), Vec::new());
            let Ok(to) = to else { continue };
            if !leaves_by_text(path, to.to_bytes()) && leaves_on_the_way(self.root, path) {
                self.out.findings.add(FindingKind::LinkLeavesTree, path);
            }
        }
    }

    fn file(&mut self, path: &[u8], size: u64) {
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        match rustix::fs::openat(self.root, OsStr::from_bytes(path), flags, Mode::empty()) {
            Ok(_) => self.take(path, size),
            Err(_) => self.out.findings.add(FindingKind::Unreadable, path),
        }
    }

    fn take(&mut self, path: &[u8], size: u64) {
        if self.files >= self.limits.files || size > self.limits.bytes.saturating_sub(self.bytes) {
            return self.out.findings.add(FindingKind::TooMuch, path);
        }
        self.files += 1;
        self.bytes += size;
        self.out.update.push(path.to_vec());
    }
}

/// Names that git refuses on some system, and we therefore on all: `.git` in any case, with what Windows or macOS
/// ignore in it, and its short name.
fn is_refused(name: &[u8]) -> bool {
    let lower = name.to_ascii_lowercase();
    let stem = lower.split(|byte| matches!(byte, b':' | b'\\')).next().unwrap_or_default();
    let trimmed: Vec<u8> = match std::str::from_utf8(stem) {
        Ok(text) => text.chars().filter(|c| !hidden_on_macos(*c)).collect::<String>().into_bytes(),
        Err(_) => stem.to_vec(),
    };
    let end = trimmed.iter().rposition(|byte| !matches!(byte, b' ' | b'.')).map_or(0, |at| at + 1);
    matches!(trimmed.get(..end), Some(b".git" | b"git~1"))
}

fn hidden_on_macos(c: char) -> bool {
    matches!(c, '\u{200c}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{206a}'..='\u{206f}' | '\u{feff}')
}

/// What of the repository is control: the ledger's folder, and files like it elsewhere.
#[derive(Clone, Debug)]
pub(crate) struct Ledger {
    paths: Vec<Vec<u8>>,
    ignore_case: bool,
}

impl Ledger {
    pub(crate) fn new(folder: &str, ignore_case: bool) -> Self {
        Self { paths: Vec::new(), ignore_case }.with([folder])
    }

    /// With more files and folders.
    pub(crate) fn with<'a>(mut self, more: impl IntoIterator<Item = &'a str>) -> Self {
        let paths = more.into_iter().map(|path| path.trim_matches('/').as_bytes().to_vec());
        self.paths.extend(paths.filter(|path| !path.is_empty()));
        self
    }

    pub(crate) fn paths(&self) -> &[Vec<u8>] {
        &self.paths
    }

    /// Whether `path` is control or lies in it.
    pub(crate) fn holds(&self, path: &[u8]) -> bool {
        self.paths.iter().any(|own| {
            let (Some(head), rest) = (path.get(..own.len()), path.get(own.len())) else { return false };
            let same = if self.ignore_case { head.eq_ignore_ascii_case(own) } else { head == own.as_slice() };
            same && matches!(rest, None | Some(b'/'))
        })
    }

    /// Whether something of control lies in the folder `path`.
    pub(crate) fn is_below(&self, path: &[u8]) -> bool {
        let folder = Self { paths: vec![path.to_vec()], ignore_case: self.ignore_case };
        self.paths.iter().any(|own| own.len() > path.len() && folder.holds(own))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_git_refuses_somewhere() {
        for bad in
            [".git", ".GIT", ".git ", ".git.", "git~1", "GIT~1", ".git::$INDEX_ALLOCATION", ".g\u{200c}it", ".git\\x"]
        {
            assert!(is_refused(bad.as_bytes()), "{bad}");
        }
        for good in [".gitignore", ".github", "git", "a.git", ".git2", "git~2", "", "..."] {
            assert!(!is_refused(good.as_bytes()), "{good}");
        }
    }

    #[test]
    fn the_ledger_is_a_folder_and_not_a_prefix() {
        let ledger = Ledger::new("a/ralph-loop", false);
        assert!(ledger.holds(b"a/ralph-loop") && ledger.holds(b"a/ralph-loop/x"));
        assert!(!ledger.holds(b"a/ralph-loops") && !ledger.holds(b"a") && !ledger.holds(b"A/Ralph-loop"));
        assert!(Ledger::new("x", true).holds(b"X/y"));
        assert!(!Ledger::new("", true).holds(b"X"));
        let more = Ledger::new("x", false).with(["docs/prd.md"]);
        assert!(more.holds(b"docs/prd.md") && more.holds(b"x/y") && !more.holds(b"docs"));
        assert!(more.is_below(b"docs") && !more.is_below(b"doc") && !more.is_below(b"docs/prd.md"));
    }
}
