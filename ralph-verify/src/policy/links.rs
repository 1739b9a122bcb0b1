//! Symbolic links inside a tree.

use std::sync::Arc;

use ralph_core::{EntryKind, GateError, Tree};

use super::names;

/// How long a link's target may be.
const TARGET: usize = 4096;

/// How many links may lead to one another.
const STEPS: usize = 8;

/// Where `path` may really lie: each place that the links on the way lead to.
pub(super) async fn follow(tree: &Arc<dyn Tree>, path: &str) -> Result<Vec<String>, GateError> {
    let (mut path, mut places) = (path.to_owned(), Vec::new());
    for _ in 0..STEPS {
        let Some(next) = step(tree, &path).await? else { break };
        if next == path || places.contains(&next) {
            break;
        }
        places.push(next.clone());
        path = next;
    }
    Ok(places)
}

/// `path` with the first link in it replaced by what it leads to.
async fn step(tree: &Arc<dyn Tree>, path: &str) -> Result<Option<String>, GateError> {
    for at in names::folders(path).chain([path]) {
        let Some(to) = target(tree, at.as_bytes()).await? else { continue };
        let rest = path[at.len()..].trim_start_matches('/');
        return Ok(names::join(&to, rest));
    }
    Ok(None)
}

/// Where the link at `path` leads, from the root; `None` where there is no link, or it leads outside.
pub(super) async fn target(tree: &Arc<dyn Tree>, path: &[u8]) -> Result<Option<String>, GateError> {
    if tree.kind(path).await.map_err(GateError::other)? != Some(EntryKind::Link) {
        return Ok(None);
    }
    let Some(content) = tree.read(path, TARGET + 1).await.map_err(GateError::other)? else { return Ok(None) };
    if content.is_empty() || content.len() > TARGET || content.iter().any(|byte| matches!(byte, b'\n' | 0)) {
        return Ok(None);
    }
    let path = String::from_utf8_lossy(path);
    Ok(names::join(names::parent(&path), &String::from_utf8_lossy(&content)))
}
