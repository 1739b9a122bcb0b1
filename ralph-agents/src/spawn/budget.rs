//! The budget: asked before each spawn, by any process.

use std::{
    collections::hash_map::RandomState,
    fmt,
    fs::DirBuilder,
    hash::{BuildHasher as _, Hasher as _},
    io,
    os::unix::fs::DirBuilderExt as _,
    path::{Path, PathBuf},
};

use super::{
    caller::{Caller, DEPTH, ID, ROOT, STATE, cut},
    files::{self, Found, beside},
    tally::{Grant, Limits, Tally, line_of},
};

/// A spawn budget in files that all processes of a session's tree share.
///
/// At the path is the state, a small JSON document that is replaced in one step; beside it `<state>.grants`, to which a
/// line is added durably before anything is granted, `<state>.lock`, and `<state>.log`, which tells people what was
/// repaired. They belong outside of every workspace.
///
/// Nothing that happens to one of the files gives more than the total: it is damaged, cut, deleted, or replaced by an
/// older copy. What cannot be looked at is refused.
///
/// ```
/// use ralph_agents::spawn::{Caller, Limits, Refused, Spawn, SpawnBudget};
///
/// # fn main() -> std::io::Result<()> {
/// # let folder = tempfile::tempdir()?;
/// let limits = Limits { total: 2, children: None, depth: None };
/// let budget = SpawnBudget::create(folder.path().join("state.json"), limits)?;
/// let Spawn::Granted(first) = budget.try_spawn(&Caller::root(), Some("call-1")) else { panic!() };
/// // Asked twice for one call, it is granted once.
/// assert_eq!(budget.try_spawn(&Caller::root(), Some("call-1")), Spawn::Granted(first.clone()));
/// // What a child starts is taken from the same total.
/// assert!(matches!(budget.try_spawn(&Caller::named(&first.id), None), Spawn::Granted(_)));
/// assert_eq!(budget.try_spawn(&Caller::root(), None), Spawn::Refused(Refused::Total(2)));
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct SpawnBudget {
    state: PathBuf,
    known: Option<u32>,
}

/// What was answered to whoever wants to start an agent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Spawn {
    /// It may, once.
    Granted(Granted),
    /// It may not.
    Refused(Refused),
}

/// The leave to start one agent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Granted {
    /// The id of the new agent.
    pub id: String,
    /// How many levels below the root it is.
    pub depth: u32,
    /// How many more may be started after it, by anybody.
    pub left: u32,
    state: PathBuf,
}

impl Granted {
    /// What the new agent's environment says of the budget.
    pub fn env(&self) -> Vec<(String, String)> {
        variables(&self.state, &self.id, self.depth)
    }
}

fn variables(state: &Path, id: &str, depth: u32) -> Vec<(String, String)> {
    vec![
        (STATE.to_owned(), state.display().to_string()),
        (ID.to_owned(), id.to_owned()),
        (DEPTH.to_owned(), depth.to_string()),
    ]
}

/// Why no agent may be started. Reads as an advice to the agent that asks.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Refused {
    /// So many may be started in all, and they are.
    Total(u32),
    /// So many may be started by each, and this one has.
    Children(u32),
    /// So many levels may be below the root.
    Depth(u32),
    /// The budget cannot be looked at, so that nothing is left.
    Unreadable(String),
}

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Total(0) => write!(f, "no agent may be started here")?,
            Self::Total(total) => write!(f, "the spawn budget of this session is used up: {total} agents in all")?,
            Self::Children(children) => write!(f, "each agent may start {children} others, and this one has")?,
            Self::Depth(depth) => write!(f, "agents may be started {depth} levels deep, and this is the last one")?,
            Self::Unreadable(why) => {
                write!(f, "the spawn budget cannot be looked at ({why}), so nothing is left of it")?;
            }
        }
        f.write_str("; do the work yourself, in this session")
    }
}

/// Where a budget stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Standing {
    /// What binds.
    pub limits: Limits,
    /// How many were granted.
    pub spent: u32,
}

impl SpawnBudget {
    /// Makes a budget at `path`, an absolute one, with the folders above it. Where there is one, or what is left of one,
    /// it stays as it is: nothing is ever reset.
    ///
    /// # Errors
    /// The files could not be written.
    pub fn create(path: impl Into<PathBuf>, limits: Limits) -> io::Result<Self> {
        let budget = Self::open(path);
        if let Some(folder) = budget.state.parent() {
            DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
        }
        let _lock = files::lock(&budget.lock())?;
        let (state, grants) = (files::read(&budget.state), files::read(&budget.grants()));
        if matches!((state, grants), (Found::Missing, Found::Missing)) {
            let tally = Tally::new(limits);
            files::append(&budget.grants(), &tally.header()?)?;
            files::replace(&budget.state, &tally.state()?)?;
            files::sync_folder_of(&budget.state)?;
        }
        Ok(budget)
    }

    /// The budget at `path`. Nothing is read yet.
    pub fn open(path: impl Into<PathBuf>) -> Self {
        Self { state: path.into(), known: None }
    }

    /// The same, where the caller knows that so many were granted, from a record of its own. It counts where the files
    /// say less, or cannot be read.
    #[must_use]
    pub fn known(mut self, granted: Option<u32>) -> Self {
        self.known = granted;
        self
    }

    /// Whether any file of a budget is there.
    pub fn exists(&self) -> bool {
        [self.state.clone(), self.grants()].iter().any(|path| path.symlink_metadata().is_ok())
    }

    /// What the session that the budget was made for is given in its environment.
    pub fn root_env(&self) -> Vec<(String, String)> {
        variables(&self.state, ROOT, 0)
    }

    /// Where it stands, without a change.
    pub fn standing(&self) -> Standing {
        let tally = self.look();
        Standing { limits: tally.limits, spent: tally.spent }
    }

    /// Asks for `caller` whether it may start one more agent, and takes one if so. With a `request`, such as the id of a
    /// tool call, the same caller gets the same grant when it asks again.
    pub fn try_spawn(&self, caller: &Caller, request: Option<&str>) -> Spawn {
        match self.take(caller, request.map(cut)) {
            Ok(answer) => answer,
            Err(error) => {
                let why = format!("{}: {error}", self.state.display());
                files::note(&self.log(), &format!("refused: {why}"));
                Spawn::Refused(Refused::Unreadable(why))
            }
        }
    }

    fn take(&self, caller: &Caller, request: Option<String>) -> io::Result<Spawn> {
        let _lock = files::lock(&self.lock())?;
        let mut tally = self.look();
        if let Some(trouble) = &tally.trouble {
            files::note(&self.log(), trouble);
            files::replace(&self.state, &tally.state()?)?;
        }
        let parent = caller.key(&tally);
        let same = |grant: &&Grant| request.is_some() && grant.request == request && grant.parent == parent;
        if let Some(grant) = tally.grants.iter().find(same) {
            return Ok(Spawn::Granted(self.granted(grant, tally.limits.total)));
        }
        let depth = caller.depth(&tally).saturating_add(1);
        if let Some(refused) = refusal(&tally, &parent, depth) {
            return Ok(Spawn::Refused(refused));
        }
        let n = tally.spent.saturating_add(1);
        let grant = Grant { n, id: format!("{n}-{:06x}", random() & 0xff_ffff), parent, depth, request };
        let ahead = self.record(&grant, &tally)?;
        if ahead >= tally.limits.total {
            return Ok(Spawn::Refused(Refused::Total(tally.limits.total)));
        }
        let granted = self.granted(&grant, tally.limits.total);
        tally.spent = ahead + 1;
        tally.grants.push(grant);
        files::replace(&self.state, &tally.state()?)?;
        Ok(Spawn::Granted(granted))
    }

    /// Adds the grant's line. Answers how many were granted before it: the order of the lines decides, so that it does not
    /// matter if somebody took the lock away from under us.
    fn record(&self, grant: &Grant, tally: &Tally) -> io::Result<u32> {
        let line = serde_json::to_string(grant)?;
        let begin = if tally.torn { "\n" } else { "" };
        files::append(&self.grants(), &format!("{begin}{line}\n"))?;
        let at = line_of(&files::read(&self.grants()), &line)
            .ok_or_else(|| io::Error::other("the grants were changed by somebody else"))?;
        let others = (at - 1).saturating_sub(tally.lines);
        Ok(tally.spent.saturating_add(others))
    }

    fn granted(&self, grant: &Grant, total: u32) -> Granted {
        let left = total.saturating_sub(grant.n);
        Granted { id: grant.id.clone(), depth: grant.depth, left, state: self.state.clone() }
    }

    fn look(&self) -> Tally {
        Tally::of(&files::read(&self.state), &files::read(&self.grants()), self.known)
    }

    fn grants(&self) -> PathBuf {
        beside(&self.state, ".grants")
    }

    fn lock(&self) -> PathBuf {
        beside(&self.state, ".lock")
    }

    fn log(&self) -> PathBuf {
        beside(&self.state, ".log")
    }
}

/// Which limit is in the way of one more agent `depth` levels below the root, started by `parent`.
fn refusal(tally: &Tally, parent: &str, depth: u32) -> Option<Refused> {
    let limits = tally.limits;
    if tally.spent >= limits.total {
        return Some(Refused::Total(limits.total));
    }
    if let Some(deepest) = limits.depth.filter(|deepest| depth > *deepest) {
        return Some(Refused::Depth(deepest));
    }
    let own = tally.grants.iter().filter(|grant| grant.parent == parent).count();
    let own = u32::try_from(own).unwrap_or(u32::MAX).saturating_add(tally.lost);
    limits.children.filter(|children| own >= *children).map(Refused::Children)
}

/// A number that nobody else has: the keys of the standard hasher are random. Tells things apart, and keeps no secret.
fn random() -> u64 {
    RandomState::new().build_hasher().finish()
}
