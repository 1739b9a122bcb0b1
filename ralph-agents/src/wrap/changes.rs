//! What a session changed in a folder, and doing it again.

use std::{
    collections::BTreeMap,
    fs, io,
    os::unix::fs::{PermissionsExt, symlink},
    path::{Component, Path, PathBuf},
    time::SystemTime,
};

use ralph_core::Digest;
use serde::{Deserialize, Serialize};

/// How many files, links and folders are looked at.
const ENTRIES_MAX: usize = 200_000;

/// One change, by the path below the workspace with `/` between its parts.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Change {
    /// A file, link or folder is gone. What was in a folder has changes of its own, before it.
    Delete { path: String },
    /// There is a folder.
    Folder { path: String },
    /// A file has this content and these permissions, in octal.
    Write { path: String, mode: String, content: Content },
    /// A symbolic link leads there.
    Link { path: String, target: String },
}

/// What is in a file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Content {
    /// UTF-8.
    Text(String),
    /// Other bytes, two hexadecimal digits each.
    Hex(String),
}

impl Content {
    fn of(bytes: Vec<u8>) -> Self {
        match String::from_utf8(bytes) {
            Ok(text) => Self::Text(text),
            Err(error) => Self::Hex(error.as_bytes().iter().map(|byte| format!("{byte:02x}")).collect()),
        }
    }

    fn bytes(&self) -> Option<Vec<u8>> {
        match self {
            Self::Text(text) => Some(text.clone().into_bytes()),
            Self::Hex(digits) => {
                let digit = |byte: &u8| char::from(*byte).to_digit(16).and_then(|it| u8::try_from(it).ok());
                let pair = |pair: &[u8]| match pair {
                    [high, low] => Some(digit(high)? << 4 | digit(low)?),
                    _ => None,
                };
                digits.as_bytes().chunks(2).map(pair).collect()
            }
        }
    }
}

/// A folder as it was: relative paths in order.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Seen(BTreeMap<String, Entry>);

#[derive(Debug, PartialEq, Eq)]
enum Entry {
    Folder,
    Link(String),
    File { mode: u32, mark: Mark },
}

/// What tells two contents of a file apart.
#[derive(Debug, PartialEq, Eq)]
enum Mark {
    Digest(Digest),
    /// Too large to be recorded anyway.
    Large(u64, Option<SystemTime>),
}

/// What is recorded, and what not.
#[derive(Clone, Debug)]
pub(super) struct Scope {
    /// Names of files and folders that are left out, wherever they are.
    pub(super) leave_out: Vec<String>,
    /// How many bytes the changed files may have in all.
    pub(super) bytes_max: u64,
}

impl Scope {
    /// Looks at a folder. What is neither file, link nor folder is passed over.
    ///
    /// # Errors
    /// What could not be read, or has no place in a cassette, and where.
    pub(super) fn look(&self, root: &Path) -> Result<Seen, String> {
        let (mut seen, mut folders) = (BTreeMap::new(), vec![String::new()]);
        while let Some(folder) = folders.pop() {
            let place = root.join(&folder);
            for entry in fs::read_dir(&place).map_err(at(&place))? {
                let entry = entry.map_err(at(&place))?;
                let path = entry.path();
                let Some(name) = entry.file_name().to_str().map(str::to_owned) else {
                    return Err(format!("{}: a name that is no text cannot be recorded", path.display()));
                };
                if name == ".git" || self.leave_out.contains(&name) {
                    continue;
                }
                if seen.len() >= ENTRIES_MAX {
                    return Err(format!("there are more than {ENTRIES_MAX} files and folders"));
                }
                let relative = if folder.is_empty() { name } else { format!("{folder}/{name}") };
                if let Some(found) = self.entry(&path).map_err(at(&path))? {
                    if found == Entry::Folder {
                        folders.push(relative.clone());
                    }
                    seen.insert(relative, found);
                }
            }
        }
        Ok(Seen(seen))
    }

    fn entry(&self, path: &Path) -> io::Result<Option<Entry>> {
        let meta = fs::symlink_metadata(path)?;
        Ok(if meta.is_dir() {
            Some(Entry::Folder)
        } else if meta.is_symlink() {
            let target = fs::read_link(path)?.into_os_string().into_string();
            Some(Entry::Link(target.map_err(|_| io::Error::other("a link to what is no text cannot be recorded"))?))
        } else if meta.is_file() {
            let mark = if meta.len() > self.bytes_max {
                Mark::Large(meta.len(), meta.modified().ok())
            } else {
                Mark::Digest(Digest::of(&fs::read(path)?))
            };
            Some(Entry::File { mode: meta.permissions().mode() & 0o777, mark })
        } else {
            None
        })
    }

    /// What is different in `root` now from what was `before`, in an order in which it can be done again.
    ///
    /// # Errors
    /// What could not be read or is too large, and where.
    pub(super) fn changes(&self, root: &Path, before: &Seen) -> Result<Vec<Change>, String> {
        let Seen(now) = self.look(root)?;
        let gone = before.0.keys().rev().filter(|path| !now.contains_key(*path));
        let mut changes: Vec<Change> = gone.map(|path| Change::Delete { path: path.clone() }).collect();
        let mut left = self.bytes_max;
        for (path, entry) in now {
            if before.0.get(&path) == Some(&entry) {
                continue;
            }
            changes.push(match entry {
                Entry::Folder => Change::Folder { path },
                Entry::Link(target) => Change::Link { path, target },
                Entry::File { mode, mark } => {
                    let too_much = || format!("{path}: the changed files have more than {} bytes", self.bytes_max);
                    if let Mark::Large(..) = mark {
                        return Err(too_much());
                    }
                    let bytes = fs::read(root.join(&path)).map_err(at(Path::new(&path)))?;
                    left = left.checked_sub(bytes.len() as u64).ok_or_else(too_much)?;
                    Change::Write { path, mode: format!("{mode:o}"), content: Content::of(bytes) }
                }
            });
        }
        Ok(changes)
    }
}

fn at(path: &Path) -> impl Fn(io::Error) -> String {
    let path = path.display().to_string();
    move |error| format!("{path}: {error}")
}

impl Change {
    fn path(&self) -> &str {
        match self {
            Self::Delete { path } | Self::Folder { path } | Self::Write { path, .. } | Self::Link { path, .. } => path,
        }
    }

    /// Does it again below `root`, and nowhere else.
    ///
    /// # Errors
    /// That the folder is not as it was, or that the path leads out of it.
    pub(super) fn apply(&self, root: &Path) -> Result<(), String> {
        let place = inside(root, self.path())?;
        self.write(&place).map_err(at(Path::new(self.path())))
    }

    fn write(&self, place: &Path) -> io::Result<()> {
        let invalid = |why: &str| io::Error::new(io::ErrorKind::InvalidData, why);
        match self {
            Self::Delete { .. } => clear(place, false),
            Self::Folder { .. } => {
                clear(place, true)?;
                fs::create_dir(place)
            }
            Self::Link { target, .. } => {
                clear(place, true)?;
                symlink(target, place)
            }
            Self::Write { mode, content, .. } => {
                let mode = u32::from_str_radix(mode, 8).map_err(|_| invalid("permissions that are not octal"))?;
                let bytes = content.bytes().ok_or_else(|| invalid("content that is not hexadecimal"))?;
                clear(place, true)?;
                fs::write(place, bytes)?;
                fs::set_permissions(place, fs::Permissions::from_mode(mode & 0o777))
            }
        }
    }
}

/// Removes what is at `place`; a folder only when it is empty, save for what had been left out.
fn clear(place: &Path, may_be_missing: bool) -> io::Result<()> {
    match fs::symlink_metadata(place) {
        Err(error) if may_be_missing && error.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(error) => Err(error),
        Ok(meta) if meta.is_dir() => match fs::remove_dir(place) {
            Err(error) if !may_be_missing && error.kind() == io::ErrorKind::DirectoryNotEmpty => Ok(()),
            removed => removed,
        },
        Ok(_) => fs::remove_file(place),
    }
}

/// The place of a relative path, which no link on the way leads out of.
fn inside(root: &Path, path: &str) -> Result<PathBuf, String> {
    let mut place = root.to_owned();
    let parts: Vec<Component<'_>> = Path::new(path).components().collect();
    for (number, part) in (1..).zip(&parts) {
        let Component::Normal(name) = part else { return Err(format!("{path}: it is not below the workspace")) };
        if *name == ".git" {
            return Err(format!("{path}: `.git` is left alone"));
        }
        place.push(name);
        if number < parts.len() && !fs::symlink_metadata(&place).is_ok_and(|meta| meta.is_dir()) {
            return Err(format!("{path}: `{}` is no folder", name.to_string_lossy()));
        }
    }
    if parts.is_empty() { Err("a change without a path".into()) } else { Ok(place) }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn scope() -> Scope {
        Scope { leave_out: vec!["target".into()], bytes_max: 1 << 20 }
    }

    fn write(root: &Path, path: &str, content: &[u8]) {
        let path = root.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content).unwrap();
    }

    /// Two folders that are the same, one of which then changes.
    fn start() -> (tempfile::TempDir, tempfile::TempDir) {
        let folders = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        for root in [folders.0.path(), folders.1.path()] {
            for (path, content) in [("keep", "k"), ("src/a", "a"), ("src/b", "b"), ("old/deep/x", "x"), ("turn", "t")] {
                write(root, path, content.as_bytes());
            }
            write(root, "swap/inner", b"i");
            symlink("keep", root.join("link")).unwrap();
        }
        folders
    }

    #[test]
    fn what_changed_is_done_again() {
        let (one, other) = start();
        let (root, scope) = (one.path(), scope());
        let before = scope.look(root).unwrap();
        assert_eq!(scope.changes(root, &before).unwrap(), [], "nothing changed");
        write(root, "src/a", b"other");
        write(root, "new/bytes", &[0, 0xff, 10]);
        fs::create_dir(root.join("empty")).unwrap();
        fs::set_permissions(root.join("src/b"), fs::Permissions::from_mode(0o755)).unwrap();
        fs::remove_dir_all(root.join("old")).unwrap();
        // Each kind becomes another.
        fs::remove_file(root.join("turn")).unwrap();
        write(root, "turn/inside", b"t");
        fs::remove_dir_all(root.join("swap")).unwrap();
        write(root, "swap", b"s");
        fs::remove_file(root.join("link")).unwrap();
        symlink("nowhere", root.join("link")).unwrap();
        // Neither is looked at.
        write(root, ".git/config", b"[core]");
        write(root, "src/target/big", b"o");

        let changes = scope.changes(root, &before).unwrap();
        let paths: Vec<&str> = changes.iter().map(Change::path).collect();
        assert!(paths.iter().all(|path| !path.contains(".git") && !path.contains("target")), "{paths:?}");
        assert!(!paths.contains(&"keep"));
        for change in &changes {
            change.apply(other.path()).unwrap();
        }
        assert_eq!(scope.look(other.path()).unwrap(), scope.look(root).unwrap());
        assert_eq!(fs::read(other.path().join("new/bytes")).unwrap(), [0, 0xff, 10]);
        assert!(!other.path().join(".git").exists());
    }

    #[test]
    fn what_is_too_large_is_refused_by_name() {
        let (one, _other) = start();
        let scope = Scope { bytes_max: 10, ..scope() };
        write(one.path(), "was/large", &[b'x'; 11]);
        let before = scope.look(one.path()).unwrap();
        write(one.path(), "six", b"123456");
        assert_eq!(scope.changes(one.path(), &before).unwrap().len(), 1);
        write(one.path(), "four", b"12345");
        let error = scope.changes(one.path(), &before).unwrap_err();
        assert!(error.contains("more than 10 bytes"), "{error}");
        fs::remove_file(one.path().join("four")).unwrap();
        write(one.path(), "large", &[b'x'; 11]);
        assert!(scope.changes(one.path(), &before).unwrap_err().starts_with("large: "));
    }

    #[test]
    fn nothing_is_written_elsewhere() {
        let (one, other) = start();
        let root = one.path();
        symlink(other.path(), root.join("out")).unwrap();
        fs::create_dir(root.join(".git")).unwrap();
        let write = |path: &str| Change::Write { path: path.into(), mode: "644".into(), content: Content::of(vec![1]) };
        for path in ["../x", "/x", "out/x", "src/../../x", "", ".git/hooks", "keep/x", "nowhere/x"] {
            assert!(write(path).apply(root).is_err(), "{path}");
            assert!(Change::Delete { path: path.into() }.apply(root).is_err(), "{path}");
        }
        assert!(!other.path().join("x").exists());
        write("src/x").apply(root).unwrap();
        // A link itself is replaced, not what it leads to.
        write("link").apply(root).unwrap();
        assert_eq!(fs::read(root.join("keep")).unwrap(), b"k");
        let error = Change::Delete { path: "gone".into() }.apply(root).unwrap_err();
        assert!(error.starts_with("gone: "), "{error}");
    }

    proptest! {
        #[test]
        fn content_comes_back(bytes: Vec<u8>) {
            prop_assert_eq!(Content::of(bytes.clone()).bytes(), Some(bytes));
        }

        #[test]
        fn what_is_no_content_is_none(digits in "[0-9a-gäé]{0,9}") {
            let good = digits.len() % 2 == 0 && digits.bytes().all(|byte| byte.is_ascii_hexdigit());
            prop_assert_eq!(Content::Hex(digits).bytes().is_some(), good);
        }
    }
}
