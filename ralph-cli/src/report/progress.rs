//! Progress on stderr: a moving line on a terminal, plain lines elsewhere.

use std::{
    io::{IsTerminal as _, Write as _},
    sync::{Mutex, PoisonError},
    time::Duration,
};

use indicatif::{ProgressBar, ProgressStyle};
use ralph_core::{Event, Observer, Record, machine::Fact, printable};

use super::{BaselineTeller, Names, awaited, line};

/// Shows what happens, as it happens.
#[derive(Debug)]
pub(crate) struct Progress {
    /// On a terminal: what is under way.
    bar: Option<ProgressBar>,
    names: Names,
    baseline: Option<BaselineTeller>,
    /// What is waited for, once a wait begins, and whether a line has said so.
    awaited: Mutex<(String, bool)>,
}

impl Progress {
    pub(crate) fn new(names: Names) -> Self {
        let bar = std::io::stderr().is_terminal().then(|| {
            let bar = ProgressBar::new_spinner();
            if let Ok(style) = ProgressStyle::with_template("{spinner} {elapsed} {wide_msg}") {
                bar.set_style(style);
            }
            bar.enable_steady_tick(Duration::from_millis(120));
            bar
        });
        Self { bar, names, baseline: None, awaited: Mutex::default() }
    }

    /// The same, saying what the baseline means.
    pub(crate) fn with_baseline(mut self, teller: BaselineTeller) -> Self {
        self.baseline = Some(teller);
        self
    }

    fn awaits(&self, record: &Record, said: bool) {
        if let Some(text) = awaited(&record.fact) {
            *self.awaited.lock().unwrap_or_else(PoisonError::into_inner) = (text, said);
        }
    }

    fn awaited(&self) -> (String, bool) {
        self.awaited.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn say(&self, text: &str) {
        match &self.bar {
            Some(bar) => bar.suspend(|| eprintln!("{text}")),
            None => {
                let time = jiff::ZonedDateTime::now().strftime("%H:%M:%S").to_string();
                // Nobody reads it any more: no reason to stop a run.
                let _ = writeln!(std::io::stderr(), "{time} {text}");
            }
        }
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}

impl Observer for Progress {
    fn on_event(&self, event: &Event) {
        match event {
            Event::Recorded { record, .. } => {
                self.awaits(record, matches!(record.fact, Fact::Ended { .. } | Fact::Reviewed { .. }));
                if let Some(text) = line(&record.fact, self.names) {
                    self.say(&text);
                }
            }
            // A wait that was cut off goes on.
            Event::Replayed { record, .. } => self.awaits(record, false),
            Event::Told { text, .. } => text.lines().for_each(|line| self.say(&printable(line))),
            Event::Began { step, .. } => {
                // A wait is long, and its step's name says nothing.
                let (text, said) = if step.starts_with("wait/") { self.awaited() } else { (printable(step), true) };
                match &self.bar {
                    Some(bar) => {
                        bar.reset_elapsed();
                        bar.set_message(text);
                    }
                    None if !said => self.say(&format!("  {text}")),
                    None => {}
                }
            }
            Event::Live { line, .. } => {
                if let Some(bar) = &self.bar {
                    let shown: String = line.chars().take(200).collect();
                    bar.set_message(printable(&shown));
                }
            }
            _ => {}
        }
        if let Some(told) = self.baseline.as_ref().and_then(|teller| teller.see(event)) {
            told.lines().iter().for_each(|line| self.say(line));
        }
    }
}
