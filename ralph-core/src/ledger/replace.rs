//! Writing whole files so that a crash leaves the old content or the new, and moving unreadable ones aside.

use std::{
    ffi::OsString,
    fs::{self, File, OpenOptions},
    io::{self, Write},
    path::{Path, PathBuf},
    process,
    sync::atomic::{AtomicU32, Ordering},
    time::{Duration, SystemTime},
};

/// How many links in a row are followed.
const LINKS_MAX: u32 = 16;

/// A temporary file that is older than this belongs to nobody: writing one takes moments.
const LEFT_BEHIND: Duration = Duration::from_secs(60);

/// Between the name of a file and what tells its temporary file from others.
const TEMPORARY: &str = ".tmp-";

/// Tells the temporary files of one process apart.
static COUNTER: AtomicU32 = AtomicU32::new(0);

/// Replaces the content of `path` by `bytes`, durably and in one step. Links are followed, so that a link stays one;
/// the mode of an existing file is kept.
pub(crate) fn replace(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let target = resolve(path)?;
    let number = COUNTER.fetch_add(1, Ordering::Relaxed);
    let temp = sibling(&target, &format!("{TEMPORARY}{}-{number}", process::id()));
    let written = write_new(&temp, &target, bytes).and_then(|()| fs::rename(&temp, &target));
    if let Err(error) = written {
        // The error at hand matters more than one of the clean-up.
        let _ = fs::remove_file(&temp);
        return Err(error);
    }
    sync_folder_of(&target)
}

/// Removes from `folder` the temporary files of processes that were killed while they wrote.
pub(super) fn sweep(folder: &Path) -> io::Result<()> {
    let now = SystemTime::now();
    for file in fs::read_dir(folder)? {
        let file = file?;
        let is_old = |found: fs::Metadata| {
            let age = found.modified().ok().and_then(|written| now.duration_since(written).ok());
            found.is_file() && age.is_some_and(|age| age > LEFT_BEHIND)
        };
        if is_temporary(&file.file_name().to_string_lossy()) && file.metadata().is_ok_and(is_old) {
            // One that stays is in nobody's way.
            let _ = fs::remove_file(file.path());
        }
    }
    Ok(())
}

fn is_temporary(name: &str) -> bool {
    let number = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
    let told_apart = name.rsplit_once(TEMPORARY).and_then(|(_, rest)| rest.split_once('-'));
    told_apart.is_some_and(|(process, count)| number(process) && number(count))
}

fn write_new(temp: &Path, target: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut file = OpenOptions::new().write(true).create_new(true).open(temp)?;
    match fs::metadata(target) {
        Ok(old) => file.set_permissions(old.permissions())?,
        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
        Err(error) => return Err(error),
    }
    file.write_all(bytes)?;
    file.sync_all()
}

/// The file that `path` names in the end, which need not exist.
fn resolve(path: &Path) -> io::Result<PathBuf> {
    let mut path = path.to_path_buf();
    for _ in 0..LINKS_MAX {
        match fs::symlink_metadata(&path) {
            Ok(found) if found.file_type().is_symlink() => {
                let target = fs::read_link(&path)?;
                path = path.parent().unwrap_or(Path::new("")).join(target);
            }
            Ok(_) => return Ok(path),
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(path),
            Err(error) => return Err(error),
        }
    }
    Err(io::Error::other(format!("{}: too many links", path.display())))
}

/// Makes the names in the folder of `path` durable.
pub(crate) fn sync_folder_of(path: &Path) -> io::Result<()> {
    match path.parent() {
        Some(folder) if folder.as_os_str().is_empty() => sync_folder(Path::new(".")),
        Some(folder) => sync_folder(folder),
        None => Ok(()),
    }
}

/// Makes the names in `folder` durable.
pub(crate) fn sync_folder(folder: &Path) -> io::Result<()> {
    if cfg!(unix) {
        File::open(folder)?.sync_all()?;
    }
    Ok(())
}

/// Moves `path` out of the way as `<name>.<why>-<n>`, with the first `n` that is free, and says where it is now. For
/// state that cannot be read: it is kept and told, never replaced by a fresh start.
pub fn set_aside(path: &Path, why: &str) -> io::Result<PathBuf> {
    for number in 1_u32.. {
        let place = sibling(path, &format!(".{why}-{number}"));
        if fs::symlink_metadata(&place).is_err() {
            fs::rename(path, &place)?;
            sync_folder_of(&place)?;
            return Ok(place);
        }
    }
    Err(io::Error::other("no name is free"))
}

/// A name in the same folder, made of the file's name and `ending`.
fn sibling(path: &Path, ending: &str) -> PathBuf {
    let mut name: OsString = path.file_name().unwrap_or_default().to_owned();
    name.push(ending);
    path.with_file_name(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_replaced_file_is_new_or_old() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.md");
        replace(&path, b"one").unwrap();
        replace(&path, b"two").unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"two");
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1, "no temporary file is left");
        let error = replace(&folder.path().join("no/a.md"), b"x");
        assert_eq!(error.unwrap_err().kind(), io::ErrorKind::NotFound);
    }

    #[cfg(unix)]
    #[test]
    fn links_and_modes_stay() {
        use std::os::unix::fs::{PermissionsExt as _, symlink};
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join("real")).unwrap();
        let (real, link) = (folder.path().join("real/a.md"), folder.path().join("a.md"));
        symlink("real/a.md", &link).unwrap();
        replace(&link, b"through a dangling link").unwrap();
        fs::set_permissions(&real, fs::Permissions::from_mode(0o640)).unwrap();
        replace(&link, b"again").unwrap();
        assert!(fs::symlink_metadata(&link).unwrap().file_type().is_symlink());
        assert_eq!(fs::read(&real).unwrap(), b"again");
        assert_eq!(fs::metadata(&real).unwrap().permissions().mode() & 0o777, 0o640);
        symlink("loop", folder.path().join("loop")).unwrap();
        assert!(replace(&folder.path().join("loop"), b"x").is_err());
    }

    #[test]
    fn what_a_killed_process_left_is_swept() {
        let folder = tempfile::tempdir().unwrap();
        let old = SystemTime::now() - 2 * LEFT_BEHIND;
        for (name, is_old) in [
            ("a.md.tmp-12-0", true),
            ("b.tmp-x.tmp-3-14", true),
            ("a.md.tmp-12-1", false),
            ("a.md", true),
            ("a.md.tmp-12", true),
            ("a.md.tmp-12-1x", true),
            ("a.md.tmp--1", true),
            ("a.md.damaged-1", true),
        ] {
            let file = File::create(folder.path().join(name)).unwrap();
            if is_old {
                file.set_modified(old).unwrap();
            }
        }
        sweep(folder.path()).unwrap();
        let mut left: Vec<_> = fs::read_dir(folder.path()).unwrap().map(|file| file.unwrap().file_name()).collect();
        left.sort();
        assert_eq!(
            left,
            ["a.md", "a.md.damaged-1", "a.md.tmp--1", "a.md.tmp-12", "a.md.tmp-12-1", "a.md.tmp-12-1x"],
            "one that is being written stays, and so does what is somebody's"
        );
    }

    #[test]
    fn aside_is_numbered() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.json");
        for number in 1..3 {
            fs::write(&path, "x").unwrap();
            let place = set_aside(&path, "damaged").unwrap();
            assert_eq!(place, folder.path().join(format!("a.json.damaged-{number}")));
        }
        assert!(set_aside(&path, "damaged").is_err(), "there is nothing to move");
    }
}
