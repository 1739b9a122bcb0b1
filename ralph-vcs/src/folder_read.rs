//! The content of a folder as something to compare, and copying it without following links.

use std::{
    collections::{BTreeMap, BTreeSet},
    ffi::OsStr,
    fs,
    io::{self, Read},
    os::{
        fd::{AsFd, BorrowedFd},
        unix::{
            ffi::OsStrExt,
            fs::{OpenOptionsExt, symlink},
        },
    },
    path::Path,
};

use ralph_core::{Digest, Finding, FindingKind};
use rustix::fs::{FileType, Mode, OFlags};

use crate::{
    judge::{Findings, Ledger},
    links::{leaves_by_text, leaves_on_the_way},
    walk::{is_git, join, list, open_root},
};

/// Deeper folders are not looked at.
const DEEPEST: usize = 200;

const READ: OFlags = OFlags::RDONLY.union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);

/// What stands at one path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// A file with this content.
    File { program: bool, digest: Digest },
    /// A link with this text.
    Link(Vec<u8>),
}

/// All files and links of a folder.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Content {
    pub(crate) files: BTreeMap<Vec<u8>, Kind>,
}

impl Content {
    /// The fingerprint of it all. Each part has its length in front, so that no two contents read the same.
    pub(crate) fn digest(&self) -> Digest {
        let mut text = Vec::new();
        for (path, kind) in &self.files {
            let (letter, value) = match kind {
                Kind::File { program: false, digest } => (b'f', digest.as_str().as_bytes()),
                Kind::File { program: true, digest } => (b'x', digest.as_str().as_bytes()),
                Kind::Link(to) => (b'l', to.as_slice()),
            };
            text.push(letter);
            for part in [path, value] {
                text.extend_from_slice(&(part.len() as u64).to_be_bytes());
                text.extend_from_slice(part);
            }
        }
        Digest::of(&text)
    }

    /// Which paths are other ones in `after`, sorted.
    pub(crate) fn changed_paths<'a>(&'a self, after: &'a Self) -> Vec<&'a Vec<u8>> {
        let paths: BTreeSet<_> = self.files.keys().chain(after.files.keys()).collect();
        paths.into_iter().filter(|path| self.files.get(*path) != after.files.get(*path)).collect()
    }
}

/// Reads the folder `root` without its ledger and `.git`, and what cannot be part of a content.
pub(crate) fn read_folder(
    root: &Path,
    ledger: &Ledger,
    max_files: usize,
    max_bytes: u64,
) -> io::Result<(Content, Vec<Finding>)> {
    let root = open_root(root)?;
    let mut reading = Reading {
        root: root.as_fd(),
        ledger,
        max_files,
        bytes_left: max_bytes,
        content: Content::default(),
        findings: Findings::default(),
    };
    reading.folder(root.as_fd(), b"", 0);
    Ok((reading.content, reading.findings.into_list()))
}

struct Reading<'a> {
    root: BorrowedFd<'a>,
    ledger: &'a Ledger,
    max_files: usize,
    bytes_left: u64,
    content: Content,
    findings: Findings,
}

impl Reading<'_> {
    fn folder(&mut self, folder: BorrowedFd<'_>, path: &[u8], depth: usize) {
        if depth > DEEPEST {
            return self.findings.add(FindingKind::TooMuch, path);
        }
        let Ok(mut entries) = list(folder) else {
            return self.findings.add(FindingKind::Unreadable, path);
        };
        entries.sort_by(|a, b| a.name.cmp(&b.name));
        for entry in entries {
            let name = entry.name.to_bytes();
            let path = join(path, name);
            if path == b".git" || self.ledger.holds(&path) {
                continue;
            }
            if is_git(name) {
                self.findings.add(FindingKind::NestedRepository, &path);
                continue;
            }
            match entry.kind {
                FileType::Directory => {
                    match rustix::fs::openat(folder, name, READ | OFlags::DIRECTORY, Mode::empty()) {
                        Ok(inner) => self.folder(inner.as_fd(), &path, depth + 1),
                        Err(_) => self.findings.add(FindingKind::Unreadable, &path),
                    }
                }
                FileType::RegularFile => self.file(folder, name, path),
                FileType::Symlink => self.link(folder, name, path),
                _ => self.findings.add(FindingKind::SpecialFile, &path),
            }
        }
    }

    fn file(&mut self, folder: BorrowedFd<'_>, name: &[u8], path: Vec<u8>) {
        let open = rustix::fs::openat(folder, name, READ | OFlags::NONBLOCK, Mode::empty());
        let Ok(file) = open else { return self.findings.add(FindingKind::Unreadable, &path) };
        let Ok(stat) = rustix::fs::fstat(&file) else {
            return self.findings.add(FindingKind::Unreadable, &path);
        };
        let mut bytes = Vec::new();
        let read = fs::File::from(file).take(self.bytes_left.saturating_add(1)).read_to_end(&mut bytes);
        if read.is_err() {
            return self.findings.add(FindingKind::Unreadable, &path);
        }
        let size = bytes.len() as u64;
        if size > self.bytes_left || self.content.files.len() >= self.max_files {
            return self.findings.add(FindingKind::TooMuch, &path);
        }
        self.bytes_left -= size;
        let program = stat.st_mode & 0o100 != 0;
        let kind = Kind::File { program, digest: Digest::of(&bytes) };
        self.content.files.insert(path, kind);
    }

    fn link(&mut self, folder: BorrowedFd<'_>, name: &[u8], path: Vec<u8>) {
        match rustix::fs::readlinkat(folder, name, Vec::new()) {
            Err(_) => self.findings.add(FindingKind::Unreadable, &path),
            Ok(to) if leaves_by_text(&path, to.to_bytes()) || leaves_on_the_way(self.root, &path) => {
                self.findings.add(FindingKind::LinkLeavesTree, &path);
            }
            Ok(to) => {
                self.content.files.insert(path, Kind::Link(to.into_bytes()));
            }
        }
    }
}

/// Copies the files of `content` from the folder `from` into the folder `to`, where none of them is; for good, if
/// `durable`.
pub(crate) fn write_folder(content: &Content, from: &Path, to: &Path, durable: bool) -> io::Result<()> {
    for (path, kind) in &content.files {
        let path = OsStr::from_bytes(path);
        let target = to.join(path);
        if let Some(folder) = target.parent() {
            fs::create_dir_all(folder)?;
        }
        match kind {
            Kind::Link(text) => symlink(OsStr::from_bytes(text), target)?,
            Kind::File { program, .. } => {
                let no_follow = i32::try_from(OFlags::NOFOLLOW.bits()).unwrap_or(0);
                let mut source = fs::File::options().read(true).custom_flags(no_follow).open(from.join(path))?;
                let mode = if *program { 0o755 } else { 0o644 };
                let mut file = fs::File::options().write(true).create_new(true).mode(mode).open(target)?;
                io::copy(&mut source, &mut file)?;
                if durable {
                    file.sync_all()?;
                }
            }
        }
    }
    Ok(())
}
