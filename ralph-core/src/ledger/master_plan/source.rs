//! A Master Plan and its PRDs as one source of work.

use std::{
    collections::HashMap,
    ffi::OsStr,
    fs,
    path::{Component, Path, PathBuf},
    sync::{Arc, Mutex, PoisonError},
};

use async_trait::async_trait;

use super::{MasterPlan, PlannedPhase, notes::Note, notes::NoteKind};
use crate::{
    cx::Cx,
    id::{ItemRef, PhaseId},
    ledger::prd_markdown::{MarkdownPrd, read_bounded},
    plan::{ItemStatus, Marked, Phase, Plan, PlanError, PlanSource, Proposal},
};

/// A Master Plan in a file, and the PRDs that it names.
///
/// Whether it is approved is another matter: see [`ApprovedPlan`](crate::ledger::ApprovedPlan).
///
/// ```
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// use ralph_core::ledger::MarkdownPlan;
///
/// let root = tempfile::tempdir()?;
/// std::fs::write(root.path().join("PLAN.md"), "Phase P1 — Greet\n  PRD: PRD-P1.md\n  Auto-Gate: make\n")?;
/// std::fs::write(root.path().join("PRD-P1.md"), "Verify: make test\n\n- [ ] R01: Say hello\n")?;
/// let read = MarkdownPlan::open(root.path(), "PLAN.md").read()?;
/// assert_eq!(read.plan.phases[0].title, "Greet");
/// assert_eq!(read.plan.phases[0].auto_gate, ["make"]);
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct MarkdownPlan {
    root: PathBuf,
    path: PathBuf,
    known: Arc<Mutex<Known>>,
}

/// What was last read: files are read every time, and parsed again only if they have changed.
#[derive(Debug, Default)]
struct Known {
    last: Option<(Vec<u8>, MasterPlan)>,
    prds: HashMap<(PhaseId, PathBuf), MarkdownPrd>,
}

/// A plan with everything that `ralph check` tells about it.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ReadPlan {
    /// The plan's file.
    pub master: MasterPlan,
    /// The phases with their items.
    pub plan: Plan,
    /// What a person should know, each with the file that it is about; none of it stops a run.
    pub notes: Vec<(PathBuf, Note)>,
}

impl MarkdownPlan {
    /// The plan in the file `path`, in the repository at `root`. Relative paths, those of the plan's PRDs too, count
    /// from the root. Nothing is read yet.
    pub fn open(root: impl Into<PathBuf>, path: impl AsRef<Path>) -> Self {
        let root = root.into();
        let path = root.join(path);
        Self { root, path, known: Arc::default() }
    }

    /// The file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The root of the repository.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// The file as it is named in messages and records: from the root where it lies below it, with `/` between the
    /// parts.
    pub fn name(&self) -> String {
        let path = inside(&self.root, &self.path).unwrap_or_else(|| self.path.clone());
        path.to_string_lossy().replace('\\', "/")
    }

    /// Reads the plan's file alone.
    pub fn master(&self) -> Result<MasterPlan, PlanError> {
        let bytes = read_bounded(&self.path)?;
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, master)) = known.last.as_ref().filter(|(read, _)| *read == bytes) {
            return Ok(master.clone());
        }
        let master = MasterPlan::parse(&bytes, &self.name()).map_err(PlanError::Invalid)?;
        known.last = Some((bytes, master.clone()));
        Ok(master)
    }

    /// Reads the plan and every PRD. The error holds what is wrong with any of them.
    pub fn read(&self) -> Result<ReadPlan, PlanError> {
        let master = self.master()?;
        let (mut problems, mut phases) = (Vec::new(), Vec::new());
        let mut notes: Vec<_> = master.notes.iter().map(|note| (self.path.clone(), note.clone())).collect();
        let mut files: HashMap<PathBuf, &PlannedPhase> = HashMap::new();
        for planned in &master.phases {
            let place = format!("{}:{}", self.name(), planned.prd_line);
            let prd = match self.prd(planned) {
                Ok(prd) => prd,
                Err(why) => {
                    problems.push(format!("{place}: {why}"));
                    continue;
                }
            };
            // Two names of one file are one file.
            let file = fs::canonicalize(prd.path()).unwrap_or_else(|_| prd.path().to_owned());
            if let Some(first) = files.get(&file) {
                problems.push(format!(
                    "{place}: the PRD of phase {} is the one of phase {} (line {}): give each phase its own",
                    planned.id, first.id, first.prd_line
                ));
                continue;
            }
            files.insert(file, planned);
            match self.phase(planned, &prd, &mut notes) {
                Ok(phase) => phases.push(phase),
                Err(PlanError::Invalid(why)) => problems.extend(why),
                Err(error @ (PlanError::Io { .. } | PlanError::NotApproved(_))) => return Err(error),
            }
        }
        if !problems.is_empty() {
            return Err(PlanError::Invalid(problems));
        }
        Ok(ReadPlan { master, plan: Plan::new(phases), notes })
    }

    /// A phase of the plan with what its PRD says.
    fn phase(
        &self,
        planned: &PlannedPhase,
        prd: &MarkdownPrd,
        notes: &mut Vec<(PathBuf, Note)>,
    ) -> Result<Phase, PlanError> {
        let read = prd.read()?;
        notes.extend(read.notes.into_iter().map(|note| (prd.path().to_owned(), note)));
        let mut phase = read.phase;
        if let Some((count, line)) = planned.items.filter(|(count, _)| *count != phase.items.len()) {
            let text = format!("`Items: {count}`, and {} has {}", planned.prd, phase.items.len());
            notes.push((self.path.clone(), Note::new(line, NoteKind::Count, text)));
        }
        phase.title.clone_from(&planned.title);
        phase.auto_gate = planned.auto_gate.iter().cloned().collect();
        phase.manual_gate.clone_from(&planned.manual_gate);
        phase.max_blockers = planned.max_blockers;
        for (own, other) in [
            (&mut phase.verify, &planned.verify),
            (&mut phase.setup, &planned.setup),
            (&mut phase.env_check, &planned.env_check),
        ] {
            if own.is_empty() {
                own.extend(other.clone());
            }
        }
        Ok(phase)
    }

    /// The PRD that a phase names. The error says what is wrong with its path.
    fn prd(&self, planned: &PlannedPhase) -> Result<MarkdownPrd, String> {
        let (written, id) = (&planned.prd, &planned.id);
        let Some(path) = inside(&self.root, Path::new(written)) else {
            return Err(format!("the PRD of phase {id} lies outside of the repository: {written}"));
        };
        if path.extension().and_then(OsStr::to_str).is_some_and(|ending| ending.eq_ignore_ascii_case("json")) {
            return Err(format!("the PRD of phase {id} is JSON, which a phase cannot have yet: {written}"));
        }
        let path = self.root.join(path);
        match fs::metadata(&path) {
            Ok(_) => {}
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                // Written as the plan's neighbour?
                let beside = Path::new(&self.path).parent().map(|folder| folder.join(written));
                let hint =
                    beside.as_deref().filter(|path| self.root.join(path).is_file()).map_or(String::new(), |path| {
                        let path = path.strip_prefix(&self.root).unwrap_or(path);
                        format!("; paths begin at the root of the repository, so that it is `{}`", path.display())
                    });
                return Err(format!("the PRD of phase {id} is not there: {written}{hint}"));
            }
            Err(error) => return Err(format!("the PRD of phase {id} cannot be read: {written}: {error}")),
        }
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        let prd = known.prds.entry((id.clone(), path));
        Ok(prd.or_insert_with_key(|(id, path)| MarkdownPrd::open(path).with_phase(id.clone())).clone())
    }

    /// The PRD that holds the items of `phase`, as far as the plan tells.
    fn prd_of(&self, phase: &PhaseId) -> Result<Option<MarkdownPrd>, PlanError> {
        // A plan that was broken meanwhile must not keep finished work from being marked.
        let master = match self.master() {
            Ok(master) => master,
            Err(error) => {
                let known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
                known.last.as_ref().map(|(_, master)| master.clone()).ok_or(error)?
            }
        };
        let Some(planned) = master.phases.iter().find(|planned| planned.id == *phase) else { return Ok(None) };
        let place = |why| PlanError::Invalid(vec![format!("{}:{}: {why}", self.name(), planned.prd_line)]);
        self.prd(planned).map(Some).map_err(place)
    }
}

#[async_trait]
impl PlanSource for MarkdownPlan {
    async fn load(&self, _cx: &Cx) -> Result<Plan, PlanError> {
        Ok(self.read()?.plan)
    }

    async fn mark(&self, item: &ItemRef, from: ItemStatus, to: ItemStatus, cx: &Cx) -> Result<Marked, PlanError> {
        match self.prd_of(&item.phase)? {
            Some(prd) => prd.mark(item, from, to, cx).await,
            None => Ok(Marked::Refused(None)),
        }
    }

    async fn note(&self, item: &ItemRef, decision: &str, cx: &Cx) -> Result<(), PlanError> {
        match self.prd_of(&item.phase)? {
            Some(prd) => prd.note(item, decision, cx).await,
            None => Ok(()),
        }
    }

    async fn extend(&self, phase: &PhaseId, items: &[Proposal], decision: &str, cx: &Cx) -> Result<(), PlanError> {
        match self.prd_of(phase)? {
            Some(prd) => prd.extend(phase, items, decision, cx).await,
            None => Ok(()),
        }
    }
}

/// `path` as it lies below `root`, without `.` and `..`; `None` where it leaves it. Links are not looked at: the control
/// folder may be one.
fn inside(root: &Path, path: &Path) -> Option<PathBuf> {
    let mut parts = Vec::new();
    let path = if path.is_absolute() { path.strip_prefix(root).ok()? } else { path };
    for part in path.components() {
        match part {
            Component::Normal(name) => parts.push(name),
            Component::CurDir => {}
            Component::ParentDir => {
                parts.pop()?;
            }
            Component::RootDir | Component::Prefix(_) => return None,
        }
    }
    (!parts.is_empty()).then(|| parts.iter().collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_below_the_root() {
        let root = Path::new("/r");
        for (path, expected) in [
            ("a/b.md", Some("a/b.md")),
            ("./a//b.md", Some("a/b.md")),
            ("a/../b.md", Some("b.md")),
            ("/r/a.md", Some("a.md")),
            ("../a.md", None),
            ("a/../../a.md", None),
            ("/etc/passwd", None),
            ("/r/../a.md", None),
            ("/rr/a.md", None),
            (".", None),
        ] {
            assert_eq!(inside(root, Path::new(path)), expected.map(PathBuf::from), "{path}");
        }
    }
}
