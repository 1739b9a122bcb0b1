//! Reading a revision's files without a checkout.

use std::{collections::BTreeMap, sync::Arc};

use ralph_core::{Cx, EntryKind, Revision, Tree, VcsError, async_trait};
use tokio::sync::OnceCell;

use crate::{GitVcs, git::Git};

/// The files of a commit, straight from the object store.
#[derive(Debug)]
struct GitTree {
    git: Git,
    revision: Revision,
    /// Path to what is there; read once.
    files: OnceCell<BTreeMap<Vec<u8>, Blob>>,
}

#[derive(Debug)]
struct Blob {
    kind: EntryKind,
    id: String,
}

impl GitVcs {
    pub(crate) async fn open_tree(&self, revision: &Revision, cx: &Cx) -> Result<Arc<dyn Tree>, VcsError> {
        self.tree_of(revision, cx).await?;
        Ok(Arc::new(GitTree { git: self.git.clone(), revision: revision.clone(), files: OnceCell::new() }))
    }
}

impl GitTree {
    async fn files(&self) -> Result<&BTreeMap<Vec<u8>, Blob>, VcsError> {
        let read = async || {
            let call = self.git.call("ls-tree").args(["-r", "-z", "--full-tree"]);
            let list = call.arg(self.revision.as_str()).ok(&Cx::new()).await?;
            Ok(parse(&list))
        };
        self.files.get_or_try_init(read).await
    }
}

/// Reads `mode type id TAB path NUL`. A submodule is no file of this revision.
fn parse(list: &[u8]) -> BTreeMap<Vec<u8>, Blob> {
    let mut files = BTreeMap::new();
    for record in list.split(|byte| *byte == 0) {
        let mut halves = record.splitn(2, |byte| *byte == b'\t');
        let (Some(meta), Some(path)) = (halves.next(), halves.next()) else { continue };
        let mut words = meta.split(|byte| *byte == b' ');
        let (Some(mode), Some(b"blob"), Some(id)) = (words.next(), words.next(), words.next()) else { continue };
        let kind = match mode {
            b"120000" => EntryKind::Link,
            b"100755" => EntryKind::Executable,
            _ => EntryKind::File,
        };
        files.insert(path.to_vec(), Blob { kind, id: String::from_utf8_lossy(id).into_owned() });
    }
    files
}

#[async_trait]
impl Tree for GitTree {
    async fn read(&self, path: &[u8], max: usize) -> Result<Option<Vec<u8>>, VcsError> {
        let Some(blob) = self.files().await?.get(path) else { return Ok(None) };
        let call = self.git.call("cat-file").args(["blob", blob.id.as_str()]).most(max);
        let output = call.run(&Cx::new()).await?;
        if !output.success() && !output.cut {
            return Err(output.failed("cat-file"));
        }
        let mut bytes = output.stdout;
        bytes.truncate(max);
        Ok(Some(bytes))
    }

    async fn kind(&self, path: &[u8]) -> Result<Option<EntryKind>, VcsError> {
        Ok(self.files().await?.get(path).map(|blob| blob.kind))
    }

    async fn list(&self, under: &[u8]) -> Result<Vec<Vec<u8>>, VcsError> {
        let under = under.strip_suffix(b"/").unwrap_or(under);
        let inside =
            |path: &&Vec<u8>| under.is_empty() || (path.starts_with(under) && path.get(under.len()) == Some(&b'/'));
        Ok(self.files().await?.keys().filter(inside).cloned().collect())
    }
}
