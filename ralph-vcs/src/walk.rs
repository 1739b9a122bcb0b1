//! Walking an agent's folder: by open folders and single names, so that no link is ever followed.

use std::{
    ffi::{CString, OsStr},
    io,
    os::{
        fd::{AsFd, BorrowedFd, OwnedFd},
        unix::ffi::OsStrExt,
    },
    path::Path,
};

use rustix::fs::{AtFlags, CWD, Dir, FileType, Mode, OFlags};

/// Deeper folders are moved up before they are removed: each level costs an open file.
const DEEPEST: usize = 100;

/// Opens the folder `path`, which must not be a link itself.
pub(crate) fn open_root(path: &Path) -> io::Result<OwnedFd> {
    Ok(rustix::fs::openat(CWD, path, FOLDER, Mode::empty())?)
}

const FOLDER: OFlags = OFlags::RDONLY.union(OFlags::DIRECTORY).union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);

/// What one name of a folder is.
pub(crate) struct Named {
    pub(crate) name: CString,
    pub(crate) kind: FileType,
}

/// The entries of an open folder.
pub(crate) fn list(folder: BorrowedFd<'_>) -> io::Result<Vec<Named>> {
    let mut all = Vec::new();
    for entry in Dir::read_from(folder)? {
        let entry = entry?;
        let name = entry.file_name();
        if matches!(name.to_bytes(), b"." | b"..") {
            continue;
        }
        let kind = match entry.file_type() {
            FileType::Unknown => kind_of(folder, name.to_bytes())?,
            kind => kind,
        };
        all.push(Named { name: name.to_owned(), kind });
    }
    Ok(all)
}

/// What `name` is, a link being a link.
pub(crate) fn kind_of(folder: BorrowedFd<'_>, name: &[u8]) -> io::Result<FileType> {
    let stat = rustix::fs::statat(folder, OsStr::from_bytes(name), AtFlags::SYMLINK_NOFOLLOW)?;
    Ok(FileType::from_raw_mode(stat.st_mode))
}

/// Opens a folder inside another, giving us the right to read and change it where an agent took that away.
pub(crate) fn open_folder(parent: BorrowedFd<'_>, name: &[u8]) -> io::Result<OwnedFd> {
    let name = OsStr::from_bytes(name);
    let open = || rustix::fs::openat(parent, name, FOLDER, Mode::empty());
    let folder = match open() {
        Err(rustix::io::Errno::ACCESS) => {
            // Looked at first: this call would follow a link.
            if kind_of(parent, name.as_bytes())? != FileType::Directory {
                return Err(rustix::io::Errno::NOTDIR.into());
            }
            rustix::fs::chmodat(parent, name, Mode::RWXU, AtFlags::empty())?;
            open()?
        }
        other => other?,
    };
    let mode = Mode::from_raw_mode(rustix::fs::fstat(&folder)?.st_mode);
    if !mode.contains(Mode::RWXU) {
        rustix::fs::fchmod(&folder, mode | Mode::RWXU)?;
    }
    Ok(folder)
}

/// Removes what `name` stands for, whatever it is and however deep it goes.
pub(crate) fn remove(parent: BorrowedFd<'_>, name: &[u8], kind: FileType) -> io::Result<()> {
    if kind != FileType::Directory {
        return Ok(rustix::fs::unlinkat(parent, OsStr::from_bytes(name), AtFlags::empty())?);
    }
    let mut deep = Vec::new();
    remove_folder(parent, name, parent, &mut deep, 0)?;
    while let Some(moved) = deep.pop() {
        remove_folder(parent, &moved, parent, &mut deep, 0)?;
    }
    Ok(())
}

fn remove_folder(
    parent: BorrowedFd<'_>,
    name: &[u8],
    top: BorrowedFd<'_>,
    deep: &mut Vec<Vec<u8>>,
    depth: usize,
) -> io::Result<()> {
    if depth > DEEPEST {
        let mut nth = deep.len();
        let moved = loop {
            let moved = format!(".ralph-removed-{nth}").into_bytes();
            if kind_of(top, &moved).is_err() {
                break moved;
            }
            nth += 1;
        };
        rustix::fs::renameat(parent, OsStr::from_bytes(name), top, OsStr::from_bytes(&moved))?;
        deep.push(moved);
        return Ok(());
    }
    let folder = open_folder(parent, name)?;
    for entry in list(folder.as_fd())? {
        let inner = entry.name.to_bytes();
        if entry.kind == FileType::Directory {
            remove_folder(folder.as_fd(), inner, top, deep, depth + 1)?;
        } else {
            rustix::fs::unlinkat(&folder, OsStr::from_bytes(inner), AtFlags::empty())?;
        }
    }
    Ok(rustix::fs::unlinkat(parent, OsStr::from_bytes(name), AtFlags::REMOVEDIR)?)
}

/// `.git` in any case, which a repository's files can never be called.
pub(crate) fn is_git(name: &[u8]) -> bool {
    name.eq_ignore_ascii_case(b".git")
}

/// `folder/name`.
pub(crate) fn join(folder: &[u8], name: &[u8]) -> Vec<u8> {
    if folder.is_empty() { name.to_vec() } else { [folder, b"/", name].concat() }
}
