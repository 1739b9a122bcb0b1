//! The projects of a user, wherever they are: one small file for each, in a folder of the user's.

use std::{
    collections::BTreeSet,
    fs::{self, File},
    io,
    path::{Path, PathBuf},
    sync::{Mutex, PoisonError},
};

use serde::{Deserialize, Serialize};

use super::{
    layout::{Ledger, private_folder},
    plain, replace, time,
};

/// The format that is written.
const FORMAT: u32 = 1;

/// No file of the registry is longer.
const FILE_MAX: u64 = 64 << 10;

/// How many findings are remembered.
const TROUBLE_MAX: usize = 20;

/// How long a project's name may be, in characters.
const NAME_MAX: usize = 60;

/// A project that was registered once.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Known {
    /// Its id, which is also kept in its control folder.
    pub id: String,
    /// Its folder, as it was when it was last registered.
    pub root: PathBuf,
    /// Its control folder.
    pub ledger: Ledger,
    /// Whether it is still there.
    pub state: Presence,
    name: String,
}

impl Known {
    fn of(entry: Entry) -> Self {
        let Entry { format: _, id, name, root, ledger } = entry;
        let ledger = Ledger::at(ledger);
        let here = read_id(&ledger).is_ok_and(|found| found.as_ref() == Ok(&id)) && root.is_dir();
        let state = if here { Presence::Present } else { Presence::Gone };
        Self { id, root, ledger, state, name }
    }

    /// What people call it, as in `web:D-007`: the name of its folder, with a number where another project had that
    /// name first. It was chosen when the project was registered, and does not change while the folder keeps its name.
    pub fn name(&self) -> &str {
        &self.name
    }
}

/// Whether a project is where it was.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Presence {
    /// It is.
    Present,
    /// Nothing is there, or another project. It may be on a disk that is not mounted, so it stays known.
    Gone,
}

/// What is kept of a project.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Entry {
    format: u32,
    id: String,
    name: String,
    root: PathBuf,
    ledger: PathBuf,
}

/// The known projects of a user.
///
/// ```
/// # fn main() -> std::io::Result<()> {
/// # let place = tempfile::tempdir()?;
/// # let place = place.path();
/// use ralph_core::ledger::{Ledger, Registry};
/// let registry = Registry::at(place.join("state/ralph/projects"));
/// let ledger = Ledger::at(place.join("web/ralph-loop"));
/// ledger.create()?;
/// let known = registry.register(&ledger, &place.join("web"))?;
/// assert_eq!(known.name(), "web");
/// assert_eq!(registry.projects()?, [known]);
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct Registry {
    folder: PathBuf,
    trouble: Mutex<Vec<String>>,
}

impl Registry {
    /// The projects that are registered in `folder`, which is the user's. Nothing is touched yet.
    pub fn at(folder: impl Into<PathBuf>) -> Self {
        Self { folder: folder.into(), trouble: Mutex::new(Vec::new()) }
    }

    /// What a person should know: entries that were moved aside or cannot be read by this version.
    pub fn trouble(&self) -> Vec<String> {
        self.trouble.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Makes the project at `root` known, with its control folder, which must exist. One that is known stays as it is; one
    /// that moved is known by its new place; a copy of one that is still there becomes a project of its own.
    pub fn register(&self, ledger: &Ledger, root: &Path) -> io::Result<Known> {
        let (root, ledger) = (fs::canonicalize(root)?, Ledger::at(fs::canonicalize(ledger.root())?));
        let _lock = self.lock()?;
        let entries = self.entries()?;
        let kept = self.id_of(&ledger)?;
        let known = kept.as_ref().and_then(|id| entries.iter().find(|entry| entry.id == *id));
        let known = known.filter(|entry| !is_copied(entry, &ledger));
        // Its own id, unless that is the one of another project.
        let taken = |id: &String| known.is_none() && entries.iter().any(|entry| entry.id == *id);
        let id = kept.clone().filter(|id| !taken(id)).unwrap_or_else(new_id);
        let folder_name = name_of(&root);
        let name = match known {
            Some(entry) if name_of(&entry.root) == folder_name => entry.name.clone(),
            Some(_) | None => free_name(&folder_name, entries.iter().filter(|entry| entry.id != id)),
        };
        let entry = Entry { format: FORMAT, id, name, root, ledger: ledger.root().to_owned() };
        let path = self.path(&entry.id);
        if known.is_none() && path.exists() {
            return Err(io::Error::other(format!("{} is of a newer ralph, or in the way: look at it", path.display())));
        }
        let mut text = serde_json::to_string_pretty(&entry)?;
        text.push('\n');
        // The project's own file comes first: after a crash in between, its id is not yet known and becomes so.
        if kept.as_ref() != Some(&entry.id) {
            private_folder(&ledger.state())?;
            replace::replace(&ledger.project(), format!("{}\n", entry.id).as_bytes())?;
        }
        if known != Some(&entry) {
            replace::replace(&path, text.as_bytes())?;
        }
        Ok(Known::of(entry))
    }

    /// Every known project, by place. Those that are gone stay among them until somebody says [`Self::forget`]. An entry
    /// that cannot be read is moved aside and told, see [`Self::trouble`].
    pub fn projects(&self) -> io::Result<Vec<Known>> {
        Ok(self.entries()?.into_iter().map(Known::of).collect())
    }

    /// Forgets a project; nothing in its own folder is touched. Does nothing where it is not known.
    pub fn forget(&self, id: &str) -> io::Result<()> {
        if !is_id(id) || !self.path(id).exists() {
            return Ok(());
        }
        let _lock = self.lock()?;
        match fs::remove_file(self.path(id)) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
            Ok(()) | Err(_) => replace::sync_folder(&self.folder),
        }
    }

    /// The entries by place, with names of which none occurs twice.
    fn entries(&self) -> io::Result<Vec<Entry>> {
        let files = match fs::read_dir(&self.folder) {
            Ok(files) => files,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(error) => return Err(error),
        };
        let mut entries = Vec::new();
        for file in files {
            let path = file?.path();
            if path.extension().is_some_and(|ending| ending == "json") {
                entries.extend(self.read(&path)?);
            }
        }
        entries.sort_by(|a, b| (&a.root, &a.id).cmp(&(&b.root, &b.id)));
        // Only somebody's hand makes two of one name: then neither is to be taken for the other.
        let mut names = BTreeSet::new();
        let twice: BTreeSet<String> =
            entries.iter().map(|entry| entry.name.to_lowercase()).filter(|name| !names.insert(name.clone())).collect();
        for entry in entries.iter_mut().filter(|entry| twice.contains(&entry.name.to_lowercase())) {
            entry.name = format!("{}-{}", entry.name, entry.id);
        }
        Ok(entries)
    }

    fn read(&self, path: &Path) -> io::Result<Option<Entry>> {
        let why = match plain::read(path, FILE_MAX) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(error),
            Ok(Err(why)) => why,
            Ok(Ok(bytes)) => match understand(&bytes, path) {
                Ok(entry) => return Ok(Some(entry)),
                Err(Unfit::Newer(format)) => {
                    self.tell(format!(
                        "{} has format {format}, and this version reads up to {FORMAT}: use a newer ralph",
                        path.display()
                    ));
                    return Ok(None);
                }
                Err(Unfit::Damaged(why)) => why,
            },
        };
        self.set_aside(path, &why)?;
        Ok(None)
    }

    /// The id that the control folder holds; what is none is moved aside.
    fn id_of(&self, ledger: &Ledger) -> io::Result<Option<String>> {
        match read_id(ledger) {
            Ok(Ok(id)) => Ok(Some(id)),
            Ok(Err(why)) => {
                self.set_aside(&ledger.project(), &why)?;
                Ok(None)
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }

    fn set_aside(&self, path: &Path, why: &str) -> io::Result<()> {
        match replace::set_aside(path, "damaged") {
            Ok(place) => self.tell(format!("{}: {why}; it is now {}", path.display(), place.display())),
            // Somebody else has done so at the same time.
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(error),
        }
        Ok(())
    }

    fn tell(&self, text: String) {
        let mut trouble = self.trouble.lock().unwrap_or_else(PoisonError::into_inner);
        if trouble.len() < TROUBLE_MAX && !trouble.contains(&text) {
            trouble.push(text);
        }
    }

    fn path(&self, id: &str) -> PathBuf {
        self.folder.join(format!("{id}.json"))
    }

    fn lock(&self) -> io::Result<File> {
        private_folder(&self.folder)?;
        let file = plain::for_locking(&self.folder.join("lock"))?;
        file.lock()?;
        Ok(file)
    }
}

/// Why an entry cannot be used.
enum Unfit {
    Damaged(String),
    Newer(u32),
}

fn understand(bytes: &[u8], path: &Path) -> Result<Entry, Unfit> {
    #[derive(Deserialize)]
    struct AnyFormat {
        format: u32,
    }
    let damaged = |error: serde_json::Error| Unfit::Damaged(error.to_string());
    match serde_json::from_slice::<AnyFormat>(bytes).map_err(damaged)?.format {
        FORMAT => {}
        0 => return Err(Unfit::Damaged("no format has the number 0".to_owned())),
        newer => return Err(Unfit::Newer(newer)),
    }
    let mut entry = serde_json::from_slice::<Entry>(bytes).map_err(damaged)?;
    if !is_id(&entry.id) || !path.ends_with(format!("{}.json", entry.id)) {
        return Err(Unfit::Damaged(format!("it holds the project {:?}", entry.id)));
    }
    // It is typed, and shown on terminals.
    entry.name = plain_name(&entry.name);
    Ok(entry)
}

/// The id that a control folder holds. The inner error is for what is none.
fn read_id(ledger: &Ledger) -> io::Result<Result<String, String>> {
    Ok(plain::read(&ledger.project(), FILE_MAX)?.and_then(|bytes| {
        let id = String::from_utf8_lossy(&bytes).trim().to_owned();
        if is_id(&id) { Ok(id) } else { Err("it holds no id of a project".to_owned()) }
    }))
}

fn new_id() -> String {
    format!("{:016x}", time::random())
}

fn is_id(text: &str) -> bool {
    text.len() == 16 && text.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f'))
}

/// Whether the registered project is still where it was, so that the one in `ledger`, with the same id, is its copy. One
/// folder that is reached by two ways is no copy of itself.
fn is_copied(entry: &Entry, ledger: &Ledger) -> bool {
    let registered = Ledger::at(&entry.ledger);
    let holds_it = read_id(&registered).is_ok_and(|found| found.as_ref() == Ok(&entry.id));
    entry.root.is_dir() && holds_it && !is_same(registered.root(), ledger.root())
}

#[cfg(unix)]
fn is_same(one: &Path, two: &Path) -> bool {
    use std::os::unix::fs::MetadataExt as _;
    match (fs::metadata(one), fs::metadata(two)) {
        (Ok(one), Ok(two)) => (one.dev(), one.ino()) == (two.dev(), two.ino()),
        (Ok(_) | Err(_), Ok(_) | Err(_)) => false,
    }
}

#[cfg(not(unix))]
fn is_same(one: &Path, two: &Path) -> bool {
    one == two
}

fn name_of(root: &Path) -> String {
    plain_name(&root.file_name().unwrap_or_default().to_string_lossy())
}

/// `text` as a name that can be typed in front of `:D-007` and does nothing to a terminal.
fn plain_name(text: &str) -> String {
    let fit = |c: char| c.is_alphanumeric() || matches!(c, '-' | '_' | '.');
    let name: String = text.chars().take(NAME_MAX).map(|c| if fit(c) { c } else { '-' }).collect();
    if name.chars().any(char::is_alphanumeric) { name } else { "project".to_owned() }
}

/// `wanted`, or with the first number that makes it free. Names that differ in their case only are the same.
fn free_name<'a>(wanted: &str, others: impl Iterator<Item = &'a Entry>) -> String {
    let taken: BTreeSet<String> = others.map(|entry| entry.name.to_lowercase()).collect();
    let numbered = (2..).map(|number: u64| format!("{wanted}-{number}"));
    let mut names = std::iter::once(wanted.to_owned()).chain(numbered);
    names.find(|name| !taken.contains(&name.to_lowercase())).unwrap_or_else(|| wanted.to_owned())
}
