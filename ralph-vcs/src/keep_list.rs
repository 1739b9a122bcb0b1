//! Which folders stay between placings.

use std::{ffi::OsStr, os::unix::ffi::OsStrExt, path::Path};

use globset::{GlobBuilder, GlobSet, GlobSetBuilder};
use ralph_core::VcsError;

/// The compiled keep list.
#[derive(Clone, Debug)]
pub(crate) struct KeepList {
    folders: GlobSet,
    anything: GlobSet,
}

impl KeepList {
    /// Compiles patterns that are written as in an ignore file.
    pub(crate) fn new(patterns: &[String]) -> Result<Self, VcsError> {
        let (mut folders, mut anything) = (GlobSetBuilder::new(), GlobSetBuilder::new());
        for pattern in patterns {
            let refuse = |why: String| VcsError::Refused(format!("the keep pattern `{pattern}` is not usable: {why}"));
            let (text, folder) = match pattern.strip_suffix('/') {
                Some(text) => (text, true),
                None => (pattern.as_str(), false),
            };
            if text.trim_matches(['/', '*', ' ']).is_empty() {
                return Err(refuse("it names no folder".to_owned()));
            }
            let text = match text.strip_prefix('/') {
                Some(anchored) => anchored.to_owned(),
                None if text.contains('/') => text.to_owned(),
                None => format!("**/{text}"),
            };
            let glob = GlobBuilder::new(&text).literal_separator(true).build();
            let glob = glob.map_err(|error| refuse(error.to_string()))?;
            if folder {
                folders.add(glob)
            } else {
                anything.add(glob)
            };
        }
        let build =
            |set: GlobSetBuilder| set.build().map_err(|error| VcsError::Refused(format!("the keep list: {error}")));
        Ok(Self { folders: build(folders)?, anything: build(anything)? })
    }

    /// Whether `path` may stay.
    pub(crate) fn matches(&self, path: &[u8], is_folder: bool) -> bool {
        let path = Path::new(OsStr::from_bytes(path));
        (is_folder && self.folders.is_match(path)) || self.anything.is_match(path)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_read_as_in_an_ignore_file() {
        let list = ["target/", "/web/out/", "a/b/", "*.cache"].map(str::to_owned);
        let keep = KeepList::new(&list).unwrap();
        for (path, folder) in
            [("target", true), ("x/target", true), ("web/out", true), ("a/b", true), ("y/z.cache", false)]
        {
            assert!(keep.matches(path.as_bytes(), folder), "{path}");
        }
        for (path, folder) in [("target", false), ("x/web/out", true), ("x/a/b", true), ("targets", true)] {
            assert!(!keep.matches(path.as_bytes(), folder), "{path}");
        }
        for bad in ["", "/", "*/", "**/", "[/"] {
            assert!(KeepList::new(&[bad.to_owned()]).is_err(), "{bad}");
        }
        assert!(KeepList::new(&crate::DEFAULT_KEEP.iter().map(|&it| it.to_owned()).collect::<Vec<_>>()).is_ok());
    }
}
