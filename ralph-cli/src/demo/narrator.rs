//! Tells the demo: before each iteration what is going to happen, after it why it ended so.

use std::{
    io::Write as _,
    sync::{Mutex, MutexGuard, PoisonError},
};

use ralph_core::{
    Event, ItemStatus, Observer, Stage,
    machine::{End, Fact, VerifyOutcome},
    printable,
};

use super::script::{PHASES, SCENES, Scene};
use crate::report::{self, Names, wrap};

/// How wide paragraphs are.
const WIDTH: usize = 96;

/// Prints on stdout: the story is what one asked for.
#[derive(Debug, Default)]
pub(super) struct Narrator {
    seen: Mutex<Seen>,
}

/// What came so far.
#[derive(Clone, Debug, Default)]
pub(super) struct Seen {
    /// How each iteration ended.
    pub(super) ended: Vec<(String, ItemStatus)>,
    /// The phases that are done.
    pub(super) phases: Vec<String>,
    /// How many sessions there were.
    pub(super) sessions: usize,
    /// Whether an iteration is under way.
    on: bool,
}

impl Narrator {
    pub(super) fn seen(&self) -> Seen {
        self.lock().clone()
    }

    fn lock(&self) -> MutexGuard<'_, Seen> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Observer for Narrator {
    fn on_event(&self, event: &Event) {
        let Event::Recorded { record, .. } = event else { return };
        let (fact, mut seen) = (&record.fact, self.lock());
        seen.before(fact);
        if !seen.is_dull(fact)
            && let Some(line) = report::line(fact, Names::default())
        {
            let deep = line.len() - line.trim_start().len();
            wrap(&line, WIDTH - 2, &" ".repeat(deep + 2)).iter().for_each(|line| say(&format!("  {line}")));
        }
        seen.after(fact);
    }
}

impl Seen {
    fn before(&mut self, fact: &Fact) {
        match fact {
            Fact::Verified { stage: Stage::Base, .. } if self.ended.is_empty() => {
                tell("Before anything is spent, the check runs on the untouched repository.");
            }
            // The first attempt of an iteration.
            Fact::Began { attempt } if !self.on => {
                self.on = true;
                say("");
                tell(self.scene(attempt.id.item.item.as_str()).map_or("", |scene| scene.before));
            }
            Fact::Ended { .. } => self.sessions += 1,
            _ => {}
        }
    }

    fn after(&mut self, fact: &Fact) {
        match fact {
            // What the next session is told.
            Fact::Verified { stage: Stage::Workspace, outcome: VerifyOutcome::Fail, tail, .. } => {
                tail.lines().for_each(|line| say(&format!("      | {}", printable(line))));
            }
            Fact::Marked { iteration, .. } => {
                let item = iteration.item.item.as_str();
                tell(self.scene(item).map_or("", |scene| scene.after));
                self.on = false;
                self.ended.push((item.to_owned(), iteration.to));
            }
            Fact::PhaseDone { phase, .. } => {
                let told = PHASES.iter().find(|(known, _)| *known == phase.as_str());
                tell(told.map_or("", |(_, told)| told));
                self.phases.push(phase.to_string());
            }
            _ => {}
        }
    }

    /// Whether the story has shown such a thing, or says it itself.
    fn is_dull(&self, fact: &Fact) -> bool {
        match fact {
            Fact::Ended { end: End::Finished, .. } | Fact::Asked { item: None, .. } => true,
            Fact::TookIn { refused, .. } => refused.is_none(),
            Fact::Verified { outcome: VerifyOutcome::Pass, stage, .. } => match stage {
                Stage::Base => !self.ended.is_empty(),
                Stage::Workspace | Stage::Candidate => {
                    SCENES.get(self.ended.len()).is_some_and(|scene| scene.after.is_empty())
                }
                Stage::Setup | Stage::Gate => false,
            },
            _ => false,
        }
    }

    /// The scene that is on, if it is about `item`.
    fn scene(&self, item: &str) -> Option<&'static Scene> {
        SCENES.get(self.ended.len()).filter(|scene| scene.item == item)
    }
}

/// Prints a paragraph; nothing where there is none.
pub(super) fn tell(text: &str) {
    if !text.is_empty() {
        wrap(text, WIDTH, "").iter().for_each(|line| say(&format!("\x1b[36m{line}\x1b[0m")));
    }
}

/// Prints a command as one would type it.
pub(super) fn command(line: &str) {
    say(&format!("\x1b[1m$ {line}\x1b[0m"));
}

/// Prints what a command prints.
pub(super) fn output(text: &str) {
    text.lines().for_each(|line| say(format!("  {line}").trim_end()));
}

/// Prints a line. A reader that went away is no reason to leave the story, which has to clean up behind itself.
pub(super) fn say(line: &str) {
    let _ = writeln!(anstream::stdout(), "{line}");
}
