//! Where something changed only.

use std::{collections::BTreeSet, sync::Arc};

use async_trait::async_trait;
use globset::{GlobBuilder, GlobSet, GlobSetBuilder};

use crate::{
    cx::Cx,
    vcs::{Tree, VcsError},
    verify::{Target, Verdict, Verifier, VerifyError},
};

/// How much of two files is compared; longer ones count as changed.
const FILE_MAX: usize = 8 << 20;

/// What is no glob.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{glob}` is not a glob: {why}")]
pub struct BadGlob {
    /// As it was given.
    pub glob: String,
    /// What is wrong with it.
    pub why: String,
}

/// Made by [`VerifierExt::on_changed_paths`](super::VerifierExt::on_changed_paths).
#[derive(Clone, Debug)]
pub struct OnChangedPaths<V> {
    verifier: V,
    globs: GlobSet,
}

impl<V: Verifier> OnChangedPaths<V> {
    pub(super) fn new<G: AsRef<str>>(verifier: V, globs: impl IntoIterator<Item = G>) -> Result<Self, BadGlob> {
        let mut set = GlobSetBuilder::new();
        for given in globs {
            let given = given.as_ref().trim();
            let bad = |why: String| BadGlob { glob: given.to_owned(), why };
            let glob = given.strip_prefix("./").or_else(|| given.strip_prefix('/')).unwrap_or(given);
            let glob = glob.strip_suffix('/').unwrap_or(glob);
            if glob.is_empty() {
                return Err(bad("it is empty, and matches nothing".to_owned()));
            }
            // What names a folder names all that is in it.
            for glob in [glob, &format!("{glob}/**")] {
                let built = GlobBuilder::new(glob).literal_separator(true).case_insensitive(true).build();
                set.add(built.map_err(|error| bad(error.kind().to_string()))?);
            }
        }
        let bad = |error: globset::Error| BadGlob { glob: "all of them together".to_owned(), why: error.to_string() };
        Ok(Self { verifier, globs: set.build().map_err(bad)? })
    }

    /// Whether the trees differ at a path that is named.
    async fn differ(&self, before: &Arc<dyn Tree>, after: &Arc<dyn Tree>) -> Result<bool, VcsError> {
        let named = |paths: Vec<Vec<u8>>| -> BTreeSet<Vec<u8>> {
            paths.into_iter().filter(|path| self.globs.is_match(&*String::from_utf8_lossy(path))).collect()
        };
        let (old, new) = (named(before.list(b"").await?), named(after.list(b"").await?));
        if old != new {
            return Ok(true);
        }
        for path in &new {
            if before.kind(path).await? != after.kind(path).await? {
                return Ok(true);
            }
            let (old, new) = (before.read(path, FILE_MAX).await?, after.read(path, FILE_MAX).await?);
            if old != new || new.is_some_and(|content| content.len() >= FILE_MAX) {
                return Ok(true);
            }
        }
        Ok(false)
    }
}

#[async_trait]
impl<V: Verifier> Verifier for OnChangedPaths<V> {
    fn name(&self) -> &str {
        self.verifier.name()
    }

    async fn verify(&self, target: &Target, cx: &Cx) -> Result<Verdict, VerifyError> {
        let differ = match (&target.base_tree, &target.tree) {
            (Some(before), Some(after)) => self.differ(before, after).await.map_err(VerifyError::other)?,
            // Nobody knows: then it is asked.
            (None, _) | (_, None) => true,
        };
        if differ {
            return self.verifier.verify(target, cx).await;
        }
        Ok(Verdict::new(true, format!("{}: not asked, nothing that concerns it has changed", self.name())))
    }
}
