//! Who asks, and where the budget is that binds it.

use std::{
    env,
    path::{Path, PathBuf},
};

use super::tally::{Grant, Tally};

/// The variable with the path of the state.
pub const STATE: &str = "RALPH_SPAWN_STATE";
/// The variable with the id of this agent.
pub const ID: &str = "RALPH_SPAWN_ID";
/// The variable with how many levels below the root it is.
pub const DEPTH: &str = "RALPH_SPAWN_DEPTH";

/// The id of the session that a budget was made for.
pub(super) const ROOT: &str = "root";

/// The name of all that are not known, together.
const UNKNOWN: &str = "?";

/// How much of a name that others choose is kept.
const NAME_MAX: usize = 128;

/// Who wants to start an agent.
///
/// One who is not known counts as a child of the root, and shares with all others of the kind what a child may start.
///
/// ```
/// use ralph_agents::spawn::Caller;
/// let session = Caller::named("root");
/// assert_eq!(session, Caller::root());
/// let subagent = session.subagent("a78a44f7092ab3276");
/// assert_ne!(subagent, Caller::root());
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Caller {
    id: Option<String>,
    subagent: Option<String>,
}

impl Caller {
    /// The session that the budget was made for.
    pub fn root() -> Self {
        Self::named(ROOT)
    }

    /// The agent with this id, as [`ID`] has it.
    pub fn named(id: impl AsRef<str>) -> Self {
        Self { id: Some(cut(id.as_ref())), subagent: None }
    }

    /// Somebody who does not say who it is.
    pub fn unknown() -> Self {
        Self { id: None, subagent: None }
    }

    /// An agent that runs in the process of this one, by the name that the process has for it. It was started with a
    /// grant, and nobody could tell it which.
    #[must_use]
    pub fn subagent(mut self, name: impl AsRef<str>) -> Self {
        self.subagent = Some(cut(name.as_ref()));
        self
    }

    /// The name under which its grants are recorded.
    pub(super) fn key(&self, tally: &Tally) -> String {
        let base = match &self.id {
            Some(id) if id == ROOT || grant(tally, id).is_some() => id,
            Some(_) | None => UNKNOWN,
        };
        match &self.subagent {
            Some(subagent) => format!("{base}/{subagent}"),
            None => base.to_owned(),
        }
    }

    /// How many levels below the root it is, or could be.
    pub(super) fn depth(&self, tally: &Tally) -> u32 {
        let base = match self.id.as_deref() {
            Some(ROOT) => 0,
            Some(id) => grant(tally, id).map_or(1, |grant| grant.depth),
            None => 1,
        };
        if self.subagent.is_none() {
            return base;
        }
        let key = self.key(tally);
        if let Some(own) = tally.grants.iter().find(|grant| grant.parent == key) {
            return own.depth.saturating_sub(1);
        }
        // Which grant it was started with is not known: the deepest one of its process could be it.
        let process = Self { id: self.id.clone(), subagent: None }.key(tally);
        let inside = |grant: &&Grant| {
            grant.parent.strip_prefix(&process).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
        };
        tally.grants.iter().filter(inside).map(|grant| grant.depth).max().unwrap_or(base + 1)
    }
}

fn grant<'a>(tally: &'a Tally, id: &str) -> Option<&'a Grant> {
    tally.grants.iter().find(|grant| grant.id == id)
}

/// The beginning of a name that is too long to be one.
pub(super) fn cut(name: &str) -> String {
    name.chars().take(NAME_MAX).collect()
}

/// The budget that binds this process.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Inherited {
    /// Where its state is.
    pub state: PathBuf,
    /// Who this process is in it.
    pub caller: Caller,
}

/// The budget that binds this process, if there is one.
///
/// The outermost process above this one that names a budget decides, since those below it may have been given another
/// environment by an agent. (Where there is no `/proc`, this process' own environment does.) Who this process is only its
/// own environment says.
///
/// ```no_run
/// use ralph_agents::spawn::{Spawn, SpawnBudget, inherited};
///
/// // What a program does that is about to start an agent.
/// if let Some(budget) = inherited() {
///     match SpawnBudget::open(budget.state).try_spawn(&budget.caller, None) {
///         Spawn::Granted(granted) => println!("start it with {:?}", granted.env()),
///         Spawn::Refused(why) => println!("{why}"),
///     }
/// }
/// ```
pub fn inherited() -> Option<Inherited> {
    let own = env::var_os(STATE).map(PathBuf::from);
    let above = ralph_process::ancestors();
    let outermost = above.iter().rev().find_map(|pid| of_process(*pid));
    let state = outermost.or(own).filter(|path| path.is_absolute())?;
    let id = env::var(ID).ok().filter(|id| !id.is_empty());
    Some(Inherited { state, caller: id.map_or_else(Caller::unknown, Caller::named) })
}

/// What the environment that a process was started with says.
fn of_process(pid: u32) -> Option<PathBuf> {
    use std::os::unix::ffi::OsStrExt as _;
    // A process of another user, or a system without `/proc`: nothing is known.
    let vars = std::fs::read(Path::new("/proc").join(pid.to_string()).join("environ")).ok()?;
    let mut values =
        vars.split(|&byte| byte == 0).filter_map(|var| var.strip_prefix(STATE.as_bytes())?.strip_prefix(b"="));
    let value = values.find(|value| !value.is_empty())?;
    Some(PathBuf::from(std::ffi::OsStr::from_bytes(value)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::spawn::Limits;

    fn tally(grants: &[(&str, &str, u32)]) -> Tally {
        let mut tally = Tally::new(Limits::default());
        for (n, (id, parent, depth)) in (1..).zip(grants) {
            let (id, parent) = ((*id).to_owned(), (*parent).to_owned());
            tally.grants.push(Grant { n, id, parent, depth: *depth, request: None });
        }
        tally
    }

    #[test]
    fn who_is_not_known_is_a_child_of_the_root() {
        let tally = tally(&[("1-a", "root", 1), ("2-b", "1-a", 2)]);
        for (caller, key, depth) in [
            (Caller::root(), "root", 0),
            (Caller::named("1-a"), "1-a", 1),
            (Caller::named("2-b"), "2-b", 2),
            (Caller::named("forged"), "?", 1),
            (Caller::named("?"), "?", 1),
            (Caller::named(""), "?", 1),
            (Caller::unknown(), "?", 1),
        ] {
            assert_eq!((caller.key(&tally), caller.depth(&tally)), (key.to_owned(), depth), "{caller:?}");
        }
    }

    #[test]
    fn a_subagent_is_as_deep_as_it_could_be() {
        let nested = Caller::root().subagent("b");
        assert_eq!(nested.depth(&tally(&[])), 1);
        let one = tally(&[("1", "root", 1)]);
        assert_eq!(nested.depth(&one), 1);
        let two = tally(&[("1", "root", 1), ("2", "root/a", 2)]);
        assert_eq!(Caller::root().subagent("a").depth(&two), 1, "it has started one at 2, so that it is at 1");
        assert_eq!(nested.depth(&two), 2);
        assert_eq!(nested.key(&two), "root/b");
        let other = tally(&[("1", "root", 1), ("2", "1", 2), ("3", "rooted/x", 9)]);
        assert_eq!(nested.depth(&other), 1, "what a process below has started is not of this one");
    }
}
