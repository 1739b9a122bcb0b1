//! Whether a folder holds a revision's files and nothing else.

use std::{
    collections::BTreeMap,
    ffi::OsStr,
    fs::{self, File, Metadata},
    io::{self, ErrorKind, Read as _},
    os::unix::{
        ffi::{OsStrExt as _, OsStringExt as _},
        fs::PermissionsExt as _,
    },
    path::{Path, PathBuf},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};

use globset::{GlobBuilder, GlobSet, GlobSetBuilder};
use ralph_core::{
    Cx, EntryKind, Evidence, Part, Target, Tree, Verdict, Verifier, VerifyError, async_trait, combine::BadGlob,
    printable,
};
use rustix::{
    fs::{Mode, OFlags},
    io::Errno,
};

/// A larger file counts as changed: it would have to be held twice. In bytes.
const LARGEST: usize = 32 << 20;

/// How many differences are named.
const NAMED: usize = 20;

/// How many bytes of a path are shown.
const PATH_MAX: usize = 200;

/// Passes where the target's folder holds exactly the files of its revision ([`Target::tree`]): none changed, added or
/// missing, in content, kind and mode.
///
/// It is the *clean status* that git would tell, without asking a git whose settings, index and ignore files an agent may
/// have written: what is ignored counts too, unless [`without`](Self::without) names it. Behind other verifiers it says
/// whether they left the files as they were: that generated code is up to date, that no test writes into the sources.
///
/// ```
/// use std::sync::Arc;
/// use ralph_core::{Verifier, VerifierExt, combine::all};
/// use ralph_verify::{CleanStatus, CommandVerifier, Shell};
///
/// # fn main() -> Result<(), ralph_core::combine::BadGlob> {
/// let generated = CommandVerifier::new(Shell::new()).only("make generate");
/// // In the workspace no revision is known: there it would be broken.
/// let unchanged = CleanStatus::new().without(["target", "**/node_modules"])?.on_clean_checkout();
/// let up_to_date = all([Arc::new(generated) as Arc<dyn Verifier>, Arc::new(unchanged)]);
/// # Ok(())
/// # }
/// ```
///
/// # What counts
/// The folder's own `.git` and folders without files do not, as no revision has them; the `.git` of a folder in it does.
/// Links are compared and never followed; pipes, sockets and devices are never opened. What cannot be read is a
/// difference, and so is a file of more than 32 MiB.
///
/// # Limits
/// Bytes are compared: a file that git changes when it checks it out (line ends, filters such as LFS) is a difference, and
/// so is what lies in a submodule. Name them with `without`. It reads each file of the revision once, with git by a
/// process for each.
#[derive(Clone, Debug, Default)]
pub struct CleanStatus {
    without: GlobSet,
}

impl CleanStatus {
    /// Looks at all files.
    pub fn new() -> Self {
        Self::default()
    }

    /// The same, and what these globs name does not count, such as the caches of build tools. `*` and `?` stay within a
    /// part of the path, `**` crosses parts, case counts, and a glob that names a folder names all that is in it.
    ///
    /// # Errors
    /// [`BadGlob`] for what is no glob.
    pub fn without<G: AsRef<str>>(mut self, globs: impl IntoIterator<Item = G>) -> Result<Self, BadGlob> {
        let mut set = GlobSetBuilder::new();
        for given in globs {
            let given = given.as_ref();
            let bad = |why: String| BadGlob { glob: given.to_owned(), why };
            let glob = given.strip_suffix('/').unwrap_or(given);
            if glob.is_empty() {
                return Err(bad("it is empty, and matches nothing".to_owned()));
            }
            for glob in [glob, &format!("{glob}/**")] {
                let built = GlobBuilder::new(glob).literal_separator(true).build();
                set.add(built.map_err(|error| bad(error.kind().to_string()))?);
            }
        }
        let bad = |error: globset::Error| BadGlob { glob: "all of them together".to_owned(), why: error.to_string() };
        self.without = set.build().map_err(bad)?;
        Ok(self)
    }

    async fn compare(&self, target: &Target) -> Result<Found, VerifyError> {
        let Some(tree) = &target.tree else {
            return Err(VerifyError::broken("there is no revision to compare the folder with"));
        };
        let mut expected = BTreeMap::new();
        for path in tree.list(b"").await.map_err(VerifyError::other)? {
            if !self.without.is_match(os(&path))
                && let Some(kind) = tree.kind(&path).await.map_err(VerifyError::other)?
            {
                expected.insert(path, kind);
            }
        }
        let stop = Stop(Arc::default());
        let walk = Walk {
            root: target.folder.clone(),
            expected,
            without: self.without.clone(),
            stop: Arc::clone(&stop.0),
            found: Found::default(),
            same: Vec::new(),
        };
        let Walk { mut found, same, .. } = tokio::task::spawn_blocking(|| walk.run())
            .await
            .map_err(VerifyError::other)?
            .map_err(VerifyError::other)?;
        for (path, kind) in same {
            if !same_content(tree, &target.folder, &path, kind).await? {
                found.add("changed", &path);
            }
        }
        Ok(found)
    }
}

#[async_trait]
impl Verifier for CleanStatus {
    fn name(&self) -> &str {
        "clean-status"
    }

    async fn verify(&self, target: &Target, cx: &Cx) -> Result<Verdict, VerifyError> {
        let limit = async {
            match cx.time_limit() {
                Some(limit) => tokio::time::sleep(limit).await,
                None => std::future::pending().await,
            }
        };
        let found = tokio::select! {
            biased;
            () = cx.cancel().cancelled() => return Err(VerifyError::Cancelled),
            () = limit => return Err(VerifyError::broken("out of time")),
            found = self.compare(target) => found?,
        };
        let passed = found.differences == 0;
        let summary = match found.differences {
            0 => "clean-status: the folder is as the revision".to_owned(),
            1 => "clean-status: 1 difference from the revision".to_owned(),
            more => format!("clean-status: {more} differences from the revision"),
        };
        let part = Part::new(self.name(), passed);
        let evidence = Evidence::line(summary).with_tail(found.named).with_parts([part]);
        Ok(if passed { Verdict::Pass(evidence) } else { Verdict::Fail(evidence) })
    }
}

/// Ends the walk when the call is dropped.
struct Stop(Arc<AtomicBool>);

impl Drop for Stop {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

#[derive(Debug, Default)]
struct Found {
    differences: usize,
    /// The first of them, in lines.
    named: String,
}

impl Found {
    fn add(&mut self, what: &str, path: &[u8]) {
        self.differences += 1;
        if self.differences <= NAMED {
            let cut = &path[..path.len().min(PATH_MAX)];
            let dots = if cut.len() < path.len() { "…" } else { "" };
            self.named.push_str(&format!("{what}: {}{dots}\n", printable(&String::from_utf8_lossy(cut))));
        }
    }
}

/// One look at all names in the folder.
struct Walk {
    root: PathBuf,
    /// What the revision has and was not seen yet.
    expected: BTreeMap<Vec<u8>, EntryKind>,
    without: GlobSet,
    stop: Arc<AtomicBool>,
    found: Found,
    /// What is there and of the same kind.
    same: Vec<(Vec<u8>, EntryKind)>,
}

impl Walk {
    fn run(mut self) -> io::Result<Self> {
        let mut folders = vec![Vec::new()];
        while let Some(folder) = folders.pop() {
            self.folder(&folder, &mut folders)?;
        }
        for path in std::mem::take(&mut self.expected).into_keys() {
            self.found.add("missing", &path);
        }
        Ok(self)
    }

    fn folder(&mut self, folder: &[u8], folders: &mut Vec<Vec<u8>>) -> io::Result<()> {
        let entries = match fs::read_dir(self.root.join(os(folder))) {
            Ok(entries) => entries,
            // Without the folder itself there is nothing to judge.
            Err(error) if folder.is_empty() => return Err(error),
            Err(error) => return self.unreadable(folder, error),
        };
        for entry in entries {
            if self.stop.load(Ordering::Relaxed) {
                return Err(io::Error::other("the verifier was ended"));
            }
            let name = match entry {
                Ok(entry) => entry.file_name().into_vec(),
                Err(error) => return self.unreadable(folder, error),
            };
            let path = if folder.is_empty() { name } else { [folder, b"/", &name].concat() };
            if path == b".git" || self.without.is_match(os(&path)) {
                continue;
            }
            match fs::symlink_metadata(self.root.join(os(&path))) {
                Ok(meta) if meta.is_dir() => folders.push(path),
                Ok(meta) => self.entry(path, &meta),
                Err(error) => self.unreadable(&path, error)?,
            }
        }
        Ok(())
    }

    fn entry(&mut self, path: Vec<u8>, meta: &Metadata) {
        let kind = if meta.is_symlink() {
            EntryKind::Link
        } else if !meta.is_file() {
            self.expected.remove(&path);
            return self.found.add("a pipe, socket or device", &path);
        } else if meta.permissions().mode() & 0o100 != 0 {
            EntryKind::Executable
        } else {
            EntryKind::File
        };
        match self.expected.remove(&path) {
            None => self.found.add("added", &path),
            Some(expected) if expected != kind || meta.len() > LARGEST as u64 => self.found.add("changed", &path),
            Some(_) => self.same.push((path, kind)),
        }
    }

    /// Nobody knows what is there. Only a disk that fails is no difference.
    fn unreadable(&mut self, path: &[u8], error: io::Error) -> io::Result<()> {
        match unreadable(error) {
            Ok(()) => {
                let below = [path, b"/"].concat();
                self.expected.retain(|expected, _| expected != path && !expected.starts_with(&below));
                self.found.add("not readable", path);
                Ok(())
            }
            Err(error) => Err(error),
        }
    }
}

/// `Ok` for what a path can be made to answer, as opposed to what is wrong with the machine.
fn unreadable(error: io::Error) -> io::Result<()> {
    match error.kind() {
        ErrorKind::PermissionDenied | ErrorKind::NotFound | ErrorKind::NotADirectory | ErrorKind::InvalidFilename => {
            Ok(())
        }
        // A link in the place of what was a file.
        _ if Errno::from_io_error(&error) == Some(Errno::LOOP) => Ok(()),
        _ => Err(error),
    }
}

/// Whether the file or link at `path` is the revision's.
async fn same_content(tree: &Arc<dyn Tree>, root: &Path, path: &[u8], kind: EntryKind) -> Result<bool, VerifyError> {
    let here = root.join(os(path));
    let read = tokio::task::spawn_blocking(move || match kind {
        EntryKind::Link => fs::read_link(here).map(|to| to.into_os_string().into_vec()),
        EntryKind::File | EntryKind::Executable | EntryKind::Submodule => contents(&here),
    });
    let here = match read.await.map_err(VerifyError::other)? {
        Ok(here) => here,
        Err(error) => return unreadable(error).map(|()| false).map_err(VerifyError::other),
    };
    let there = tree.read(path, LARGEST + 1).await.map_err(VerifyError::other)?;
    Ok(there.is_some_and(|there| there == here))
}

/// What is in a file, up to a byte more than is compared. What has become a link or a pipe meanwhile is not followed.
fn contents(path: &Path) -> io::Result<Vec<u8>> {
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let file = File::from(rustix::fs::open(path, flags, Mode::empty())?);
    let mut bytes = Vec::new();
    file.take(LARGEST as u64 + 1).read_to_end(&mut bytes)?;
    Ok(bytes)
}

fn os(path: &[u8]) -> &Path {
    Path::new(OsStr::from_bytes(path))
}
