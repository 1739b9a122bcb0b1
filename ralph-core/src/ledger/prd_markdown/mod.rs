//! Markdown PRDs: checkbox lists that people write.
//!
//! The reader follows CommonMark by the byte offsets of a Markdown parser, so that a box in a code block, a comment or
//! a quote is never an item. The writer changes one byte, or adds lines and keeps every byte that is there.
//!
//! - `scan` walks the Markdown once: boxes, headings, stretches that are not read.
//! - `marks`, `id`, `keys` and `body` read the parts of an item.
//! - `sections` says which boxes count; `outside` reads what stands around the items; `read` puts it all together.
//! - `single` makes a PRD of one text.
//! - `mark` writes a mark into the file; `grow` adds a decision or whole items, with `literal` for other people's words.

pub(super) mod body;
mod grow;
mod id;
pub(super) mod keys;
pub(super) mod lines;
mod literal;
mod mark;
pub(super) mod marks;
pub(super) mod notes;
mod outside;
mod place;
pub(super) mod read;
pub(super) mod scan;
mod sections;
mod single;

use std::{
    fs, io,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, PoisonError},
};

use async_trait::async_trait;

pub use self::{
    notes::{Note, NoteKind},
    read::Prd,
};
use crate::{
    cx::Cx,
    id::{ItemRef, PhaseId},
    plan::{ItemStatus, Marked, Plan, PlanError, PlanSource, Proposal},
};

/// The largest PRD that is read. The largest one seen in public has a hundredth of it.
const SIZE_MAX: u64 = 16 << 20;

/// A Markdown PRD in a file, as a plan of one phase.
///
/// ```
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// use ralph_core::{Cx, ItemRef, ItemStatus, PlanSource, ledger::MarkdownPrd};
///
/// let folder = tempfile::tempdir()?;
/// let path = folder.path().join("PRD-P1.md");
/// std::fs::write(&path, "Verify: cargo test\n\n- [ ] R01: Greet\r\n- [ ] R02: Part\n")?;
/// let prd = MarkdownPrd::open(&path);
/// # tokio::runtime::Builder::new_current_thread().build()?.block_on(async {
/// let plan = prd.load(&Cx::new()).await?;
/// assert_eq!(plan.phases[0].id.as_str(), "P1");
///
/// prd.mark(&ItemRef::new("P1", "R01"), ItemStatus::Open, ItemStatus::Done, &Cx::new()).await?;
/// let text = std::fs::read_to_string(&path)?;
/// assert_eq!(text, "Verify: cargo test\n\n- [x] R01: Greet\r\n- [ ] R02: Part\n");
/// # Ok(()) })
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct MarkdownPrd {
    path: PathBuf,
    phase: PhaseId,
    last: Arc<Mutex<Option<Last>>>,
}

/// What was last read. The file is read every time, and parsed again only if it has changed: the engine asks several
/// times for each item.
#[derive(Debug)]
struct Last {
    bytes: Vec<u8>,
    prd: Prd,
}

impl MarkdownPrd {
    /// The PRD in the file `path`; its phase is named after the file: `PRD-P1.md` is `P1`. Nothing is read yet.
    pub fn open(path: impl Into<PathBuf>) -> Self {
        let path = path.into();
        let phase = phase_of(&path);
        Self { path, phase, last: Arc::default() }
    }

    /// The same with another phase id, which a Master Plan gives.
    #[must_use]
    pub fn with_phase(mut self, phase: impl Into<PhaseId>) -> Self {
        self.phase = phase.into();
        self.last = Arc::default();
        self
    }

    /// The file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The phase that the file is.
    pub fn phase(&self) -> &PhaseId {
        &self.phase
    }

    /// Reads the file with everything that `ralph check` tells about it.
    pub fn read(&self) -> Result<Prd, PlanError> {
        let bytes = read_bounded(&self.path)?;
        let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = last.as_ref().filter(|known| known.bytes == bytes) {
            return Ok(known.prd.clone());
        }
        let name = self.path.display().to_string();
        let prd = Prd::parse(&bytes, &name, self.phase.clone()).map_err(PlanError::Invalid)?;
        *last = Some(Last { bytes, prd: prd.clone() });
        Ok(prd)
    }
}

#[async_trait]
impl PlanSource for MarkdownPrd {
    async fn load(&self, _cx: &Cx) -> Result<Plan, PlanError> {
        Ok(Plan::new([self.read()?.phase]))
    }

    async fn mark(&self, item: &ItemRef, from: ItemStatus, to: ItemStatus, _cx: &Cx) -> Result<Marked, PlanError> {
        if item.phase != self.phase {
            return Ok(Marked::Refused(None));
        }
        mark::mark(&self.path, &item.item, from, to)
    }

    async fn note(&self, item: &ItemRef, decision: &str, _cx: &Cx) -> Result<(), PlanError> {
        if item.phase != self.phase {
            return Ok(());
        }
        grow::note(&self.path, &item.item, decision)
    }

    async fn extend(&self, phase: &PhaseId, items: &[Proposal], decision: &str, _cx: &Cx) -> Result<(), PlanError> {
        if *phase != self.phase {
            return Ok(());
        }
        grow::extend(&self.path, items, decision)
    }
}

/// `PRD-P1.md` → `P1`; else the name of the file without its ending.
fn phase_of(path: &Path) -> PhaseId {
    let stem = path.file_stem().map(|stem| stem.to_string_lossy().replace('/', "-"));
    let stem = stem.unwrap_or_default();
    let short = stem.strip_prefix("PRD-").or_else(|| stem.strip_prefix("prd-"));
    match short.filter(|short| !short.is_empty()).unwrap_or(&stem) {
        "" => PhaseId::default(),
        name => PhaseId::new(name),
    }
}

pub(in crate::ledger) fn read_bounded(path: &Path) -> Result<Vec<u8>, PlanError> {
    let refuse =
        |source: io::Error| PlanError::Io { operation: "read", source: format!("{}: {source}", path.display()).into() };
    let found = fs::metadata(path).map_err(refuse)?;
    // Reading a pipe could wait for ever, and nothing could end it.
    if !found.is_file() {
        return Err(PlanError::Invalid(vec![format!("{}: it is no file", path.display())]));
    }
    if found.len() > SIZE_MAX {
        let text = format!("{}: larger than {} MiB", path.display(), SIZE_MAX >> 20);
        return Err(PlanError::Invalid(vec![text]));
    }
    fs::read(path).map_err(refuse)
}

#[cfg(test)]
mod grow_tests;
#[cfg(test)]
mod tests;
