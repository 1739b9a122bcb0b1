//! Where a symbolic link of a site leads, without opening anything there.

use std::{
    ffi::OsStr,
    os::{fd::BorrowedFd, unix::ffi::OsStrExt},
};

use rustix::fs::AtFlags;

use crate::walk::{is_git, join};

/// More links on the way than a kernel would follow.
const MOST_LINKS: usize = 40;

/// Whether the target `to` of a link at `path` leaves the tree by its text alone: it is absolute, climbs above the root,
/// or goes into `.git`, which is another one in each checkout.
pub(crate) fn leaves_by_text(path: &[u8], to: &[u8]) -> bool {
    if to.starts_with(b"/") {
        return true;
    }
    let mut depth = path.iter().filter(|byte| **byte == b'/').count();
    for part in to.split(|byte| *byte == b'/') {
        match part {
            b"" | b"." => {}
            b".." if depth == 0 => return true,
            b".." => depth -= 1,
            name if is_git(name) => return true,
            _ => depth += 1,
        }
    }
    false
}

/// Whether a link at `path` leaves the tree when other links on its way are followed: `a/b/../..` does if `a/b` leads
/// to the root.
pub(crate) fn leaves_on_the_way(root: BorrowedFd<'_>, path: &[u8]) -> bool {
    let read = |path: &[u8]| rustix::fs::readlinkat(root, OsStr::from_bytes(path), Vec::new()).ok();
    leaves_among(path, |path| read(path).map(std::ffi::CString::into_bytes))
}

/// The same for links of which `target` tells where they lead; `None` for what is no link.
pub(crate) fn leaves_among(path: &[u8], target: impl Fn(&[u8]) -> Option<Vec<u8>>) -> bool {
    let mut at: Vec<Vec<u8>> = Vec::new();
    let mut ahead: Vec<Vec<u8>> = parts(path);
    let mut links = 0;
    while let Some(part) = ahead.pop() {
        match part.as_slice() {
            b"" | b"." => {}
            b".." => {
                if at.pop().is_none() {
                    return true;
                }
            }
            name if is_git(name) => return true,
            _ => {
                let here = join(&at.join(&b'/'), &part);
                match target(&here) {
                    Some(to) if to.starts_with(b"/") => return true,
                    Some(to) => {
                        links += 1;
                        if links > MOST_LINKS {
                            // Leads nowhere; that is not outside.
                            return false;
                        }
                        ahead.extend(parts(&to));
                    }
                    None => at.push(part),
                }
            }
        }
    }
    false
}

/// The parts of `path`, the first one last.
fn parts(path: &[u8]) -> Vec<Vec<u8>> {
    path.split(|byte| *byte == b'/').rev().map(<[u8]>::to_vec).collect()
}

/// Whether a folder above `path` is a link.
pub(crate) fn is_behind_link(root: BorrowedFd<'_>, path: &[u8]) -> bool {
    let ends = path.iter().enumerate().filter(|(_, byte)| **byte == b'/').map(|(at, _)| at);
    ends.filter_map(|end| path.get(..end)).any(|folder| {
        let stat = rustix::fs::statat(root, OsStr::from_bytes(folder), AtFlags::SYMLINK_NOFOLLOW);
        stat.is_ok_and(|stat| rustix::fs::FileType::from_raw_mode(stat.st_mode).is_symlink())
    })
}

#[cfg(test)]
mod tests {
    use std::os::{fd::AsFd, unix::fs::symlink};

    use super::*;

    #[test]
    fn text_alone_tells_most() {
        for (path, to) in [
            ("a", "/etc"),
            ("a", ".."),
            ("d/a", "../../x"),
            ("a", "b/../../c"),
            ("a", ".git/config"),
            ("d/a", "../.GIT"),
        ] {
            assert!(leaves_by_text(path.as_bytes(), to.as_bytes()), "{path} -> {to}");
        }
        for (path, to) in [("a", "b"), ("d/a", "../b"), ("d/a", ".."), ("d/e/a", "../../x/..")] {
            assert!(!leaves_by_text(path.as_bytes(), to.as_bytes()), "{path} -> {to}");
        }
    }

    #[test]
    fn links_on_the_way_count() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        std::fs::create_dir_all(at("d/e")).unwrap();
        symlink("..", at("d/up")).unwrap();
        symlink("d/up/..", at("out")).unwrap();
        symlink("d/up/d/e", at("in")).unwrap();
        symlink("loop", at("loop")).unwrap();
        let root = crate::walk::open_root(folder.path()).unwrap();
        assert!(!leaves_by_text(b"out", b"d/up/.."));
        assert!(leaves_on_the_way(root.as_fd(), b"out"));
        assert!(!leaves_on_the_way(root.as_fd(), b"in"));
        assert!(!leaves_on_the_way(root.as_fd(), b"loop"));
        assert!(is_behind_link(root.as_fd(), b"d/up/README"));
        assert!(!is_behind_link(root.as_fd(), b"d/up"));
    }
}
