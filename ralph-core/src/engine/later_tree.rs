//! A tree that is opened when somebody reads in it.

use std::{fmt, sync::Arc, sync::OnceLock};

use async_trait::async_trait;

use crate::{
    cx::Cx,
    id::Revision,
    vcs::{EntryKind, Tree, Vcs, VcsError},
};

/// Most verifiers look at the folder only, and opening a tree may mean reading a whole list of files.
pub(super) struct LaterTree {
    vcs: Arc<dyn Vcs>,
    revision: Revision,
    cx: Cx,
    opened: OnceLock<Arc<dyn Tree>>,
}

impl LaterTree {
    /// The files of `revision`, under the switch of `cx`.
    pub(super) fn of(vcs: Arc<dyn Vcs>, revision: &Revision, cx: &Cx) -> Arc<dyn Tree> {
        Arc::new(Self { vcs, revision: revision.clone(), cx: cx.clone(), opened: OnceLock::new() })
    }

    async fn open(&self) -> Result<&dyn Tree, VcsError> {
        if let Some(tree) = self.opened.get() {
            return Ok(&**tree);
        }
        // Two callers may both open it; a revision is the same each time.
        let tree = self.vcs.tree(&self.revision, &self.cx).await?;
        Ok(&**self.opened.get_or_init(|| tree))
    }
}

impl fmt::Debug for LaterTree {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LaterTree").field("revision", &self.revision).finish_non_exhaustive()
    }
}

#[async_trait]
impl Tree for LaterTree {
    async fn read(&self, path: &[u8], max: usize) -> Result<Option<Vec<u8>>, VcsError> {
        self.open().await?.read(path, max).await
    }

    async fn kind(&self, path: &[u8]) -> Result<Option<EntryKind>, VcsError> {
        self.open().await?.kind(path).await
    }

    async fn list(&self, under: &[u8]) -> Result<Vec<Vec<u8>>, VcsError> {
        self.open().await?.list(under).await
    }
}
