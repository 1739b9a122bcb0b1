//! Reading small files of ours in places where something else might lie: a link, a pipe, a folder.

use std::{
    fs::{self, File, OpenOptions},
    io::{self, Read as _},
    path::Path,
};

/// Reads the file at `path`, without following a link and without waiting for a pipe's other end. The inner error says
/// what is wrong with what lies there.
pub(super) fn read(path: &Path, max: u64) -> io::Result<Result<Vec<u8>, String>> {
    if let Some(odd) = odd(&fs::symlink_metadata(path)?) {
        return Ok(Err(odd));
    }
    let file = open(path, OpenOptions::new().read(true))?;
    // It may have been exchanged in between.
    if let Some(odd) = odd(&file.metadata()?) {
        return Ok(Err(odd));
    }
    let mut bytes = Vec::new();
    file.take(max.saturating_add(1)).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > max {
        return Ok(Err(format!("it is longer than {max} bytes")));
    }
    Ok(Ok(bytes))
}

/// The file at `path`, for its lock; made where it is missing. Whatever else lies there is an error.
pub(super) fn for_locking(path: &Path) -> io::Result<File> {
    let refuse = |odd: String| Err(io::Error::other(format!("{}: {odd}; remove it", path.display())));
    match fs::symlink_metadata(path) {
        Ok(found) => {
            if let Some(odd) = odd(&found) {
                return refuse(odd);
            }
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
        Err(error) => return Err(error),
    }
    let file = open(path, OpenOptions::new().write(true).create(true).truncate(false))?;
    match odd(&file.metadata()?) {
        Some(odd) => refuse(odd),
        None => Ok(file),
    }
}

fn open(path: &Path, options: &mut OpenOptions) -> io::Result<File> {
    #[cfg(unix)]
    {
        use std::os::unix::fs::OpenOptionsExt as _;

        use rustix::fs::OFlags;
        options.custom_flags((OFlags::NOFOLLOW | OFlags::NONBLOCK).bits().cast_signed());
    }
    options.open(path)
}

/// What it is, where it is no plain file.
fn odd(found: &fs::Metadata) -> Option<String> {
    let kind = found.file_type();
    if kind.is_file() {
        return None;
    }
    let what = if kind.is_symlink() {
        "a link"
    } else if kind.is_dir() {
        "a folder"
    } else {
        "no plain file"
    };
    Some(format!("it is {what}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_plain_files_are_read() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a");
        assert_eq!(read(&path, 9).unwrap_err().kind(), io::ErrorKind::NotFound);
        fs::write(&path, "abc").unwrap();
        assert_eq!(read(&path, 3).unwrap(), Ok(b"abc".to_vec()));
        assert_eq!(read(&path, 2).unwrap(), Err("it is longer than 2 bytes".to_owned()));
        assert_eq!(read(folder.path(), 9).unwrap(), Err("it is a folder".to_owned()));
        assert!(for_locking(&path).is_ok() && for_locking(&folder.path().join("new")).is_ok());
        assert!(for_locking(folder.path()).unwrap_err().to_string().ends_with("it is a folder; remove it"));
    }

    #[cfg(unix)]
    #[test]
    fn links_and_pipes_are_not_followed_nor_waited_for() {
        let folder = tempfile::tempdir().unwrap();
        let (real, link, pipe) = (folder.path().join("real"), folder.path().join("link"), folder.path().join("pipe"));
        fs::write(&real, "abc").unwrap();
        std::os::unix::fs::symlink(&real, &link).unwrap();
        assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
        assert_eq!(read(&link, 9).unwrap(), Err("it is a link".to_owned()));
        assert_eq!(read(&pipe, 9).unwrap(), Err("it is no plain file".to_owned()));
        assert!(for_locking(&link).is_err() && for_locking(&pipe).is_err());
        // Exchanged after the first look: neither is followed, and neither makes us wait.
        assert!(open(&link, OpenOptions::new().read(true)).is_err());
        assert!(open(&pipe, OpenOptions::new().read(true)).is_ok());
    }
}
