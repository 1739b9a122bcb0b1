//! Makes git look at files that may have changed in the second in which it last noted them.
//!
//! Most builds of git compare whole seconds. A file that is written right after it was placed, with the same size and an
//! old date put back (`cp -p`, `rsync -a`), then looks untouched: a snapshot would miss it, and a placing would leave it.

use std::{
    ffi::OsStr,
    io,
    os::{
        fd::AsFd,
        unix::{ffi::OsStrExt, fs::MetadataExt},
    },
    path::Path,
};

use rustix::fs::{AtFlags, Timespec, Timestamps, UTIME_NOW, UTIME_OMIT};

use crate::{index::Index, links::is_behind_link, walk::open_root};

/// Gives each file that `index` (read from `file`) notes wrongly the current date, by which git sees it.
pub(crate) fn doubt(root: &Path, index: &Index, file: &Path) -> io::Result<()> {
    let Ok(noted_at) = std::fs::metadata(file).map(|data| data.mtime()) else { return Ok(()) };
    let folder = open_root(root)?;
    for (path, seconds, nanoseconds) in index.changed_since(noted_at) {
        let name = OsStr::from_bytes(path);
        let Ok(data) = std::fs::symlink_metadata(root.join(name)) else { continue };
        let noted = (i64::from(seconds), i64::from(nanoseconds));
        if noted == (data.ctime(), data.ctime_nsec()) || is_behind_link(folder.as_fd(), path) {
            continue;
        }
        let now = Timestamps {
            last_access: Timespec { tv_sec: 0, tv_nsec: UTIME_OMIT },
            last_modification: Timespec { tv_sec: 0, tv_nsec: UTIME_NOW },
        };
        rustix::fs::utimensat(&folder, name, &now, AtFlags::SYMLINK_NOFOLLOW)?;
    }
    Ok(())
}
