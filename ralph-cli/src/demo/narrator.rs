//! Tells the demo: before each item what is going to happen, after it why it ended so.

use std::io::Write as _;

use ralph_core::{
    Event, Observer, Stage,
    machine::{Fact, VerifyOutcome},
    printable,
};

use super::scenes::{SCENES, Scene};
use crate::report::{self, wrap};

/// How wide paragraphs are.
const WIDTH: usize = 84;

/// Prints on stdout: the story is what one asked for.
#[derive(Debug)]
pub(super) struct Narrator;

impl Observer for Narrator {
    fn on_event(&self, event: &Event) {
        let Event::Recorded { record, .. } = event else { return };
        let fact = &record.fact;
        before(fact);
        if let Some(line) = report::line(fact)
            && !matches!(fact, Fact::Stopped { .. })
        {
            let deep = line.len() - line.trim_start().len();
            wrap(&line, WIDTH - 2, &" ".repeat(deep + 2)).iter().for_each(|line| say(&format!("  {line}")));
        }
        after(fact);
    }
}

fn before(fact: &Fact) {
    let text = match fact {
        Fact::Verified { stage: Stage::Base, .. } => {
            "Before anything is spent, the check runs on the untouched repository."
        }
        Fact::Began { attempt } if attempt.charged == 1 => {
            scene(attempt.id.item.item.as_str()).map_or("", |scene| scene.before)
        }
        _ => return,
    };
    say("");
    tell(text);
}

fn after(fact: &Fact) {
    match fact {
        // What the next session is told.
        Fact::Verified { stage: Stage::Workspace, outcome: VerifyOutcome::Fail, tail, .. } => {
            tail.lines().for_each(|line| say(&format!("      | {}", printable(line))));
        }
        Fact::Marked { iteration, .. } => {
            if let Some(scene) = scene(iteration.item.item.as_str()) {
                tell(scene.after);
            }
        }
        _ => {}
    }
}

fn scene(item: &str) -> Option<&'static Scene> {
    SCENES.iter().find(|scene| scene.item == item)
}

/// Prints a paragraph.
pub(super) fn tell(text: &str) {
    for line in wrap(text, WIDTH, "") {
        say(&format!("\x1b[36m{line}\x1b[0m"));
    }
}

/// Prints a line. A reader that went away is no reason to leave the story, which has to clean up behind itself.
pub(super) fn say(line: &str) {
    let _ = writeln!(anstream::stdout(), "{line}");
}
