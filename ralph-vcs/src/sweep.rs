//! Makes a site clean before git writes to it: everything goes that is neither a file which git put there nor a cache
//! that may stay. One walk; nothing is read, and no link is followed.

use std::{
    io,
    os::fd::{AsFd, BorrowedFd},
    path::Path,
    sync::atomic::{AtomicBool, Ordering},
};

use rustix::fs::FileType;

use crate::{
    index::Index,
    keep_list::KeepList,
    walk::{is_git, join, list, open_folder, open_root, remove},
};

/// Sweeps the site at `root`, whose files of the last placing are in `index`. Answers the caches that were left.
///
/// Links go even if they are the revision's own (git writes them again): git believes that a file is there if it finds
/// its like behind a folder that was replaced by a link. `.git` folders go, since git leaves what lies around them alone;
/// pipes, sockets and devices go, since git does not see them; a submodule's folder goes, since git does not look inside.
pub(crate) fn sweep(
    root: &Path,
    index: &Index,
    keep: Option<&KeepList>,
    stop: &AtomicBool,
) -> io::Result<Vec<Vec<u8>>> {
    let root = open_root(root)?;
    let mut sweep = Sweep { index, keep, stop, kept: Vec::new() };
    sweep.folder(root.as_fd(), b"")?;
    Ok(sweep.kept)
}

struct Sweep<'a> {
    index: &'a Index,
    keep: Option<&'a KeepList>,
    stop: &'a AtomicBool,
    kept: Vec<Vec<u8>>,
}

impl Sweep<'_> {
    /// Only folders with files of the revision are gone into, so that the depth is the repository's.
    fn folder(&mut self, folder: BorrowedFd<'_>, path: &[u8]) -> io::Result<()> {
        if self.stop.load(Ordering::Relaxed) {
            return Err(io::ErrorKind::Interrupted.into());
        }
        for entry in list(folder)? {
            let name = entry.name.to_bytes();
            let path = join(path, name);
            match entry.kind {
                FileType::Directory if !is_git(name) && self.index.has_below(&path) => {
                    let inner = open_folder(folder, name)?;
                    self.folder(inner.as_fd(), &path)?;
                }
                FileType::RegularFile if self.index.has(&path) => {}
                FileType::Directory | FileType::RegularFile if self.may_stay(name, &path, entry.kind) => {
                    self.kept.push(path);
                }
                kind => remove(folder, name, kind)?,
            }
        }
        Ok(())
    }

    fn may_stay(&self, name: &[u8], path: &[u8], kind: FileType) -> bool {
        !is_git(name)
            && !self.index.is_gitlink(path)
            && self.keep.is_some_and(|keep| keep.matches(path, kind == FileType::Directory))
    }
}

/// Removes single paths that an earlier sweep had left, parents opened one by one.
pub(crate) fn remove_paths(root: &Path, paths: &[Vec<u8>]) -> io::Result<()> {
    let root = open_root(root)?;
    for path in paths {
        let mut folder = root.try_clone()?;
        let mut parts = path.split(|byte| *byte == b'/').peekable();
        while let Some(part) = parts.next() {
            if parts.peek().is_some() {
                folder = open_folder(folder.as_fd(), part)?;
            } else {
                let kind = crate::walk::kind_of(folder.as_fd(), part)?;
                remove(folder.as_fd(), part, kind)?;
            }
        }
    }
    Ok(())
}
