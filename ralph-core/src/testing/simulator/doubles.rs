//! The agent and the verifier of a simulation.

use std::{
    fs,
    path::Path,
    sync::{Arc, atomic::Ordering},
};

use async_trait::async_trait;

use super::{
    Sabotage,
    critics::{LONG, REJECTS, notes, revised},
    world::Shared,
};
use crate::{
    AgentBackend, AgentError, Boundary, Brief, Capabilities, Cx, DecisionKind, Digest, Gate, GateError, MemoryJournal,
    MemoryPlan, Part, Question, Ruling, RunId, SessionEnd, SessionReport, Stage, Target, Tokens, Trouble, Usage, Usd,
    Verdict, Verifier, VerifyError,
    machine::{Fact, Mode},
    testing::{Files, MemoryVcs},
};

/// What the sessions on an item do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Behaviour {
    /// The work, at once.
    Good,
    /// Wrong work first; a session that finds it puts it right.
    SecondTry,
    /// Wrong work every time.
    Bad,
    /// Nothing but words.
    Claims,
    /// A file that git ignores makes the check pass.
    Hidden,
    /// The work is there already, and nothing is done.
    AlreadyDone,
    /// Asks a person.
    Asks,
    /// Gives up.
    Blocks,
    /// Work on which the verifier breaks.
    BreaksVerifier,
    /// A link that leaves the tree.
    Link,
    /// Its provider is down for two sessions, then the work.
    Outage,
    /// Dies after doing the work.
    Crashes,
    /// Changes its row in the plan, as a person would, then the work.
    RowEdited,
    /// Somebody commits on the branch meanwhile, then the work.
    Overtaken,
    /// Somebody commits the same file on the branch meanwhile, then the work.
    Collides,
    /// Asks a person, who answers; then the work.
    AsksAnswered,
    /// Work about which a policy asks; a person approves.
    PolicyApproved,
    /// The same; a person commits on the branch before approving.
    PolicyApprovedLate,
    /// The same; a person commits something that contradicts it before approving.
    PolicyContradicted,
    /// Work about which a policy asks; a person rejects it, and the next session does without.
    PolicyRejected,
    /// The work is there already, and a person says so.
    AlreadyDoneApproved,
    /// The work, and another item, which a person adds.
    Proposes,
}

impl Behaviour {
    /// All of them.
    pub const ALL: [Self; 22] = [
        Self::Good,
        Self::SecondTry,
        Self::Bad,
        Self::Claims,
        Self::Hidden,
        Self::AlreadyDone,
        Self::Asks,
        Self::Blocks,
        Self::BreaksVerifier,
        Self::Link,
        Self::Outage,
        Self::Crashes,
        Self::RowEdited,
        Self::Overtaken,
        Self::Collides,
        Self::AsksAnswered,
        Self::PolicyApproved,
        Self::PolicyApprovedLate,
        Self::PolicyContradicted,
        Self::PolicyRejected,
        Self::AlreadyDoneApproved,
        Self::Proposes,
    ];

    /// The behaviour that an item's title names; items that were added later are good.
    pub(super) fn of(title: &str) -> Self {
        Self::ALL.into_iter().find(|behaviour| format!("{behaviour:?}") == title).unwrap_or(Self::Good)
    }
}

/// What the agent of a simulation can reach, the operator's things included: it plays both.
#[derive(Debug)]
pub(super) struct Parts {
    pub(super) plan: MemoryPlan,
    pub(super) vcs: MemoryVcs,
    pub(super) shared: Arc<Shared>,
    pub(super) mode: Mode,
    /// Whether each work has something to tidy.
    pub(super) notes: bool,
    pub(super) sabotage: Option<Sabotage>,
}

#[derive(Debug)]
pub(super) struct SimAgent {
    pub(super) world: Parts,
}

impl SimAgent {
    fn behaviour(&self, brief: &Brief) -> Behaviour {
        let plan = self.world.plan.plan();
        plan.find(&brief.attempt.item).map_or(Behaviour::Good, |(_, item)| Behaviour::of(&item.title))
    }

    /// Once in the simulation.
    fn commit_by_hand(&self, name: &str, content: &str) {
        if self.world.shared.commits.fetch_add(1, Ordering::SeqCst) == 0 {
            self.world.vcs.commit_by_hand(with_file(self.world.vcs.files(), name, content));
        }
    }

    fn play(&self, behaviour: Behaviour, brief: &Brief) -> std::io::Result<SessionReport> {
        let (workspace, item) = (&brief.workspace, brief.attempt.item.item.as_str());
        let write = |name: &str, content: &str| fs::write(workspace.join(name), content);
        // Every session tries to tick its own item.
        fs::create_dir_all(workspace.join("ralph-loop"))?;
        write("ralph-loop/PRD.md", "- [x] done, says the agent")?;
        let idle = matches!(behaviour, Behaviour::Claims | Behaviour::AlreadyDone | Behaviour::AlreadyDoneApproved);
        if matches!(self.world.mode, Mode::Every(_)) && !idle {
            // Each round has work of its own, also where somebody committed meanwhile.
            let vcs = &self.world.vcs;
            let rounds = vcs.branch().iter().filter(|commit| vcs.message(commit).as_deref() != Some("by hand")).count();
            write("round", &rounds.to_string())?;
        }
        if self.world.notes && !idle {
            write(&notes(item), LONG)?;
        }
        if brief.prompt.contains(REJECTS) && !idle {
            write(&revised(item), "yes")?;
        }
        let finished = |said: &str| SessionReport::new(SessionEnd::Finished).with_said(said);
        let usage = Usage::unknown()
            .with_cost(Usd::from_micros(250_000))
            .with_tokens(Tokens { output: 100, ..Tokens::default() });
        let report = match behaviour {
            Behaviour::Good => {
                write(item, "good")?;
                finished("done")
            }
            Behaviour::SecondTry => {
                let before = workspace.join(item).exists();
                write(item, if before { "good" } else { "bad" })?;
                finished("done")
            }
            Behaviour::Bad => {
                write(item, "bad")?;
                finished("ALL TESTS PASS")
            }
            Behaviour::Claims | Behaviour::AlreadyDone | Behaviour::AlreadyDoneApproved => {
                finished("```ralph\n{\"status\":\"done\"}\n```")
            }
            Behaviour::Hidden => {
                write(&format!("ignored-{item}"), "good")?;
                write(item, "bad")?;
                finished("done")
            }
            Behaviour::Asks => {
                write(item, "good")?;
                finished("```ralph\n{\"status\":\"decision\",\"question\":\"which?\",\"options\":[\"a\",\"b\"]}\n```")
            }
            Behaviour::Blocks => {
                write(item, "half")?;
                finished("```ralph\n{\"status\":\"blocked\",\"summary\":\"no access\"}\n```")
            }
            Behaviour::BreaksVerifier => {
                write(item, "break")?;
                finished("done")
            }
            Behaviour::Link => {
                write(item, "good")?;
                link(&workspace.join("out"))?;
                finished("done")
            }
            Behaviour::Outage if self.world.shared.outages.fetch_add(1, Ordering::SeqCst) < 2 => {
                let detail = "529".to_owned();
                SessionReport::new(SessionEnd::Unavailable { trouble: Trouble::Overload, detail, until: None })
            }
            Behaviour::Outage => {
                write(item, "good")?;
                finished("done")
            }
            Behaviour::Crashes => {
                write(item, "good")?;
                SessionReport::new(SessionEnd::Failed("exit 1".to_owned()))
            }
            Behaviour::RowEdited => {
                let name = brief.attempt.item.clone();
                // Once: the row is then as the person wants it.
                self.world.plan.edit(|plan| {
                    for phase in &mut plan.phases {
                        for row in &mut Arc::make_mut(phase).items {
                            if row.id == name.item && row.criteria.is_empty() {
                                let row = Arc::make_mut(row);
                                row.criteria.push("and more".to_owned());
                                row.digest = Digest::of(b"edited");
                            }
                        }
                    }
                });
                write(item, "good")?;
                if brief.prompt.contains("and more") {
                    write(&format!("{item}-more"), "more")?;
                }
                finished("done")
            }
            Behaviour::Overtaken => {
                self.commit_by_hand("by-hand", "the operator's");
                write(item, "good")?;
                finished("done")
            }
            Behaviour::Collides => {
                self.commit_by_hand(item, "the operator's");
                write(item, "good")?;
                finished("done")
            }
            Behaviour::AsksAnswered if brief.prompt.contains("): use a") => {
                write(item, "good")?;
                finished("done")
            }
            Behaviour::AsksAnswered => {
                write("half", "done")?;
                finished("```ralph\n{\"status\":\"decision\",\"question\":\"which way?\"}\n```")
            }
            Behaviour::PolicyRejected if brief.prompt.contains("reject") => {
                write(item, "good")?;
                finished("done")
            }
            Behaviour::PolicyContradicted if brief.prompt.contains("no longer fits") => {
                write(item, "good")?;
                finished("done")
            }
            Behaviour::PolicyApproved
            | Behaviour::PolicyApprovedLate
            | Behaviour::PolicyContradicted
            | Behaviour::PolicyRejected => {
                write(item, "good")?;
                write(&format!("{item}-dependency"), "left-pad")?;
                finished("nobody needs to look at this: approved")
            }
            Behaviour::Proposes => {
                write(item, "good")?;
                let proposed = "[{\"title\":\"one more\",\"criteria\":[\"it is there\"]}]";
                finished(&format!("```ralph\n{{\"status\":\"done\",\"proposed\":{proposed}}}\n```"))
            }
        };
        if brief.prompt.contains(": reopen ") {
            write(&format!("fixed-{}", brief.attempt.item.phase), "yes")?;
        }
        Ok(report.with_usage(usage))
    }
}

/// `files` with one more.
pub(super) fn with_file(mut files: Files, name: &str, content: &str) -> Files {
    files.insert(name.to_owned(), content.as_bytes().to_vec());
    files
}

#[cfg(unix)]
fn link(at: &Path) -> std::io::Result<()> {
    // The kept work of a first attempt has no link, but a folder that was not emptied may.
    match std::os::unix::fs::symlink("/etc", at) {
        Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => Ok(()),
        other => other,
    }
}

#[async_trait]
impl AgentBackend for SimAgent {
    fn name(&self) -> &str {
        "simulated"
    }

    fn capabilities(&self) -> Capabilities {
        Capabilities::none().with_cost().with_tokens()
    }

    async fn run(&self, brief: &Brief, _cx: &Cx) -> Result<SessionReport, AgentError> {
        if self.world.sabotage == Some(Sabotage::LeavesAlive) {
            self.world.shared.alive.fetch_add(1, Ordering::SeqCst);
        }
        self.play(self.behaviour(brief), brief).map_err(|error| AgentError::Other(error.into()))
    }
}

/// The command of a gate that stays closed until something is worked on again.
pub(super) const REOPENED: &str = "reopened";

/// Asks about work that brings a dependency.
#[derive(Debug)]
pub(super) struct SimPolicy;

#[async_trait]
impl Gate for SimPolicy {
    fn name(&self) -> &str {
        "dependencies"
    }

    async fn judge(&self, boundary: &Boundary, _cx: &Cx) -> Result<Ruling, GateError> {
        let Boundary::Item(at) = boundary else {
            return Ok(Ruling::Ask(Question::new(DecisionKind::Dependency, "a boundary that is not known")));
        };
        let new = at.changes.iter().any(|change| change.path.ends_with(b"-dependency") && change.before.is_none());
        Ok(if new {
            Ruling::Ask(Question::new(DecisionKind::Dependency, format!("{}: a new dependency?", at.item.title)))
        } else {
            Ruling::Open
        })
    }
}

/// Passes where the item's file says `good`, or an ignored one does.
#[derive(Debug)]
pub(super) struct SimVerifier {
    /// Whether the plan's own verifier is the item's, so that the base is judged by it as well.
    pub(super) one_item: bool,
}

#[async_trait]
impl Verifier for SimVerifier {
    fn name(&self) -> &str {
        "simulated"
    }

    async fn verify(&self, target: &Target, _cx: &Cx) -> Result<Verdict, VerifyError> {
        let of_phase = target.phase.items.first().filter(|_| self.one_item && target.stage == Stage::Base);
        let Some(item) = target.item.as_ref().or(of_phase) else {
            // A gate that wants a second look at the phase's first item.
            let wants_more = target.stage == Stage::Gate && target.phase.auto_gate.contains(&REOPENED.to_owned());
            let fixed = target.folder.join(format!("fixed-{}", target.phase.id)).exists();
            return Ok(Verdict::new(!wants_more || fixed, "the phase as a whole"));
        };
        let read = |name: String| fs::read_to_string(target.folder.join(name)).unwrap_or_default();
        let content = read(item.id.to_string());
        if content == "break" {
            return Err(VerifyError::broken("exit 127"));
        }
        let passed = content == "good" || read(format!("ignored-{}", item.id)) == "good";
        let mut verdict = Verdict::new(passed, format!("the file says `{content}`"));
        let (Verdict::Pass(evidence) | Verdict::Fail(evidence)) = &mut verdict;
        evidence.tail.clone_from(&content);
        evidence.parts.push(Part::new("file", passed));
        Ok(verdict)
    }
}

/// What says that a loop at an interval is enough: after so many rounds on record, so that asking again says the same.
#[derive(Debug)]
pub(super) struct SimUntil {
    pub(super) journal: MemoryJournal,
    pub(super) run: RunId,
    pub(super) rounds: usize,
}

#[async_trait]
impl Verifier for SimUntil {
    fn name(&self) -> &str {
        "rounds"
    }

    async fn verify(&self, _target: &Target, _cx: &Cx) -> Result<Verdict, VerifyError> {
        let records = self.journal.records(&self.run);
        let over = records.iter().filter(|record| matches!(record.fact, Fact::Rounded { .. })).count();
        Ok(Verdict::new(over + 1 >= self.rounds, format!("{over} rounds before this one")))
    }
}
