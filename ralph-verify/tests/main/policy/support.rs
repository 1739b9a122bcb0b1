//! Two trees at a boundary, with links, modes and submodules.

use std::{
    collections::BTreeMap,
    ffi::OsStr,
    fs::Permissions,
    os::unix::{
        ffi::OsStrExt as _,
        fs::{PermissionsExt as _, symlink},
    },
    path::{Path, PathBuf},
    sync::Arc,
};

use ralph_core::{
    Boundary, Change, Cx, EntryKind, Gate, Item, ItemBoundary, Phase, PhaseBoundary, Revision, Ruling, RunId, Tree,
    VcsError, async_trait,
};

/// What stands at each path.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Files(BTreeMap<Vec<u8>, (EntryKind, Vec<u8>)>);

impl Files {
    pub(crate) fn new() -> Self {
        Self::default()
    }

    pub(crate) fn with(mut self, kind: EntryKind, path: impl AsRef<[u8]>, content: impl AsRef<[u8]>) -> Self {
        self.0.insert(path.as_ref().to_vec(), (kind, content.as_ref().to_vec()));
        self
    }

    pub(crate) fn file(self, path: impl AsRef<[u8]>, content: impl AsRef<[u8]>) -> Self {
        self.with(EntryKind::File, path, content)
    }

    pub(crate) fn link(self, path: impl AsRef<[u8]>, to: impl AsRef<[u8]>) -> Self {
        self.with(EntryKind::Link, path, to)
    }

    pub(crate) fn without(mut self, path: impl AsRef<[u8]>) -> Self {
        self.0.remove(path.as_ref());
        self
    }

    /// Without the folder and all that is in it.
    pub(crate) fn without_folder(mut self, folder: &str) -> Self {
        let inside = |path: &[u8]| path.strip_prefix(folder.as_bytes()).is_some_and(|rest| rest.starts_with(b"/"));
        self.0.retain(|path, _| !inside(path));
        self
    }

    pub(crate) fn get(&self, path: impl AsRef<[u8]>) -> Option<&(EntryKind, Vec<u8>)> {
        self.0.get(path.as_ref())
    }

    /// Writes it all below `folder`.
    pub(crate) fn write(&self, folder: &Path) {
        for (path, (kind, content)) in &self.0 {
            let path = folder.join(OsStr::from_bytes(path));
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            match kind {
                EntryKind::Link => symlink(OsStr::from_bytes(content), path).unwrap(),
                EntryKind::Submodule => std::fs::create_dir(path).unwrap(),
                EntryKind::File => std::fs::write(path, content).unwrap(),
                EntryKind::Executable => {
                    std::fs::write(&path, content).unwrap();
                    std::fs::set_permissions(path, Permissions::from_mode(0o755)).unwrap();
                }
            }
        }
    }

    fn changes(&self, work: &Self) -> Vec<Change> {
        let mut paths: Vec<_> = self.0.keys().chain(work.0.keys()).collect();
        paths.sort();
        paths.dedup();
        let kind = |entry: Option<&(EntryKind, Vec<u8>)>| entry.map(|(kind, _)| *kind);
        let differs = |path: &&&Vec<u8>| self.0.get(**path) != work.0.get(**path);
        let change = |path: &Vec<u8>| Change {
            path: path.clone(),
            before: kind(self.0.get(path)),
            after: kind(work.0.get(path)),
        };
        paths.iter().filter(differs).map(|path| change(path)).collect()
    }
}

/// As git has it: a link's content is its target, a submodule is no file.
#[async_trait]
impl Tree for Files {
    async fn read(&self, path: &[u8], max: usize) -> Result<Option<Vec<u8>>, VcsError> {
        let found = self.0.get(path).filter(|(kind, _)| *kind != EntryKind::Submodule);
        Ok(found.map(|(_, content)| content[..content.len().min(max)].to_vec()))
    }

    async fn kind(&self, path: &[u8]) -> Result<Option<EntryKind>, VcsError> {
        Ok(self.0.get(path).map(|(kind, _)| *kind).filter(|kind| *kind != EntryKind::Submodule))
    }

    async fn list(&self, under: &[u8]) -> Result<Vec<Vec<u8>>, VcsError> {
        let inside =
            |path: &[u8]| under.is_empty() || path.strip_prefix(under).is_some_and(|rest| rest.starts_with(b"/"));
        let files = self.0.iter().filter(|(path, (kind, _))| *kind != EntryKind::Submodule && inside(path));
        Ok(files.map(|(path, _)| path.clone()).collect())
    }
}

/// An item boundary at which `work` stands on `base`, with this `Verify:`.
pub(crate) fn boundary(base: &Files, work: &Files, verify: &str) -> Boundary {
    let mut item = Item::new("R01", "Something");
    item.verify = vec![verify.to_owned()];
    item_boundary(base, work, Phase::new("P1", [item]))
}

/// The same of a phase's first item.
pub(crate) fn item_boundary(base: &Files, work: &Files, phase: Phase) -> Boundary {
    let item = phase.items[0].clone();
    let [base_tree, tree]: [Arc<dyn Tree>; 2] = [Arc::new(base.clone()), Arc::new(work.clone())];
    let (run, revision) = (RunId::new("run"), Revision::new("work"));
    Boundary::Item(ItemBoundary::new(run, phase.into(), item, revision, base_tree, tree, base.changes(work)))
}

/// A boundary that is no item.
pub(crate) fn phase_boundary() -> Boundary {
    let (run, revision, tree) = (RunId::new("run"), Revision::new("tip"), Arc::new(Files::new()));
    Boundary::Phase(PhaseBoundary::new(run, Phase::new("P1", []).into(), revision, tree, PathBuf::from("none")))
}

/// What `gate` says. Everything in memory is ready at once, so that one poll is enough for any of them.
pub(crate) fn judge(gate: &dyn Gate, boundary: &Boundary) -> Ruling {
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    runtime.block_on(gate.judge(boundary, &Cx::new())).unwrap()
}

/// The text of a question of Ralph's own.
pub(crate) fn asked(ruling: Ruling) -> String {
    match ruling {
        Ruling::Ask(question) => {
            assert!(!question.from_agent && question.recommendation.is_none());
            assert!(question.text.chars().count() <= 2000 && question.text.lines().count() <= 23);
            question.text
        }
        other => unreachable!("no question: {other:?}"),
    }
}
