//! The queue of decisions in files: `state/decisions/D-001.json` and so on, and the page rendered from them.

use std::{
    fs::{self, File, OpenOptions},
    io,
    path::{Path, PathBuf},
    sync::{Mutex, PoisonError},
    time::SystemTime,
};

use async_trait::async_trait;
use serde::{Deserialize, Serialize};

use super::{
    decisions_page::{self, ANSWER},
    layout::{Ledger, private_folder},
    replace,
};
use crate::{
    clock::millis,
    cx::Cx,
    decision::{Decision, DecisionError, DecisionSink},
    id::{DecisionId, Digest, ItemRef},
};

/// The format that is written.
const FORMAT: u32 = 1;

/// How many findings are remembered.
const TROUBLE_MAX: usize = 20;

/// A decision in the queue.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Queued {
    /// Its name.
    pub id: DecisionId,
    /// What is asked.
    pub decision: Decision,
    /// What a person answered, once one has.
    pub answer: Option<Answered>,
}

/// A person's answer, or that the question no longer stands.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Answered {
    /// The answer.
    pub text: String,
    /// Who gave it.
    pub by: String,
    /// When, in milliseconds since the epoch.
    pub at: u64,
    /// Whether nobody answered: what it was about has changed, and `text` says how.
    #[serde(default)]
    pub withdrawn: bool,
}

/// A decision's file.
#[derive(Serialize, Deserialize)]
struct Stored {
    format: u32,
    #[serde(flatten)]
    queued: Queued,
}

/// Only the part that every format has.
#[derive(Deserialize)]
struct AnyFormat {
    format: u32,
}

/// The queue in the control folder. The files in `state/` are the truth; DECISIONS.md is rendered from them and never
/// read.
///
/// ```
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// use ralph_core::ledger::{FileDecisions, Ledger};
/// # let folder = tempfile::tempdir()?;
/// let queue = FileDecisions::new(Ledger::at(folder.path()));
/// assert!(queue.list()?.is_empty());
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct FileDecisions {
    ledger: Ledger,
    trouble: Mutex<Vec<String>>,
}

impl FileDecisions {
    /// The queue of `ledger`. Nothing is touched yet.
    pub fn new(ledger: Ledger) -> Self {
        Self { ledger, trouble: Mutex::new(Vec::new()) }
    }

    /// What a person should know: files that were moved aside, a page that could not be written.
    pub fn trouble(&self) -> Vec<String> {
        self.trouble.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Every decision, by id. A file that cannot be read is moved aside and told, see [`Self::trouble`].
    pub fn list(&self) -> Result<Vec<Queued>, DecisionError> {
        self.read_all().map_err(|error| failed("looked up", error))
    }

    /// Writes DECISIONS.md anew. A hand-edited one is kept aside and told.
    pub fn render(&self) -> Result<(), DecisionError> {
        let _lock = self.lock().map_err(|error| failed("looked up", error))?;
        let all = self.list()?;
        self.write_page(&all).map_err(|error| failed("recorded", error))
    }

    /// Takes the pending decisions on `item` out of the queue, because of `why`: a person opened the item again, or left
    /// it out. Answers which.
    pub fn withdraw(&self, item: &ItemRef, why: &str, at: SystemTime) -> Result<Vec<DecisionId>, DecisionError> {
        let recording = |error| failed("recorded", error);
        // Most items never had a question: nothing is locked or made for them.
        let is_meant = |queued: &Queued| {
            let asked = &queued.decision;
            queued.answer.is_none() && asked.phase == item.phase && asked.item.as_ref() == Some(&item.item)
        };
        if !self.list()?.iter().any(is_meant) {
            return Ok(Vec::new());
        }
        let _lock = self.lock().map_err(recording)?;
        let (mut all, mut withdrawn) = (self.list()?, Vec::new());
        for queued in all.iter_mut().filter(|queued| is_meant(queued)) {
            let answer = Answered { text: why.to_owned(), by: "ralph".to_owned(), at: millis(at), withdrawn: true };
            queued.answer = Some(answer);
            self.save(queued).map_err(recording)?;
            withdrawn.push(queued.id.clone());
        }
        self.write_page(&all).map_err(recording)?;
        Ok(withdrawn)
    }

    fn submit_now(&self, decision: &Decision) -> Result<DecisionId, DecisionError> {
        let recording = |error| failed("recorded", error);
        let _lock = self.lock().map_err(recording)?;
        let mut all = self.list()?;
        // A step's key is the same on every replay within its run. Another run may ask anew, but not for the mark of an
        // item that is still waiting.
        let step = |asked: &Decision| asked.key.strip_prefix(asked.run.as_str()).map(str::to_owned);
        let known = |queued: &&Queued| {
            let asked = &queued.decision;
            let waits = queued.answer.is_none() && step(asked).is_some_and(|step| step.ends_with("/marked"));
            (asked.key == decision.key && asked.run == decision.run) || (waits && step(asked) == step(decision))
        };
        if let Some(known) = all.iter().find(known) {
            return Ok(known.id.clone());
        }
        let id = self.next_id().map_err(recording)?;
        let queued = Queued { id: id.clone(), decision: decision.clone(), answer: None };
        self.save(&queued).map_err(recording)?;
        all.push(queued);
        // The decision is recorded; a page that could not be written is no reason to ask again.
        if let Err(error) = self.write_page(&all) {
            self.tell(format!("{}: {error}", self.ledger.decisions_page().display()));
        }
        Ok(id)
    }

    fn save(&self, queued: &Queued) -> io::Result<()> {
        let path = self.ledger.decisions().join(format!("{}.json", queued.id));
        let mut text = serde_json::to_string_pretty(&Stored { format: FORMAT, queued: queued.clone() })?;
        text.push('\n');
        replace::replace(&path, text.as_bytes())
    }

    fn read_all(&self) -> io::Result<Vec<Queued>> {
        let mut all = Vec::new();
        for (number, path) in self.files()? {
            // What was set aside earlier has a longer name, and still keeps its number from being used again.
            if path.extension().is_none_or(|ending| ending != "json") {
                continue;
            }
            match read(&path)? {
                Ok(queued) => all.push((number, queued)),
                Err(why) => {
                    let place = replace::set_aside(&path, "damaged")?;
                    self.tell(format!("{}: {why}; it is now {}", path.display(), place.display()));
                }
            }
        }
        all.sort_by_key(|(number, _)| *number);
        Ok(all.into_iter().map(|(_, queued)| queued).collect())
    }

    /// Everything whose name begins like a decision's, with its number.
    fn files(&self) -> io::Result<Vec<(u64, PathBuf)>> {
        let entries = match fs::read_dir(self.ledger.decisions()) {
            Ok(entries) => entries,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(error) => return Err(error),
        };
        let mut files = Vec::new();
        for entry in entries {
            let entry = entry?;
            let name = entry.file_name();
            let digits = name.to_str().and_then(|name| name.strip_prefix("D-"));
            let digits = digits.and_then(|rest| rest.split('.').next());
            if let Some(number) = digits.and_then(|digits| digits.parse().ok()) {
                files.push((number, entry.path()));
            }
        }
        Ok(files)
    }

    /// An id that was never given, even if its file is gone: above all files and above the highest one ever given.
    fn next_id(&self) -> io::Result<DecisionId> {
        let path = self.ledger.decisions().join("last");
        let given: u64 = match fs::read_to_string(&path) {
            Ok(text) => match text.trim().parse() {
                Ok(given) => given,
                Err(_) => {
                    let place = replace::set_aside(&path, "damaged")?;
                    self.tell(format!("{}: it held no number; it is now {}", path.display(), place.display()));
                    0
                }
            },
            Err(error) if error.kind() == io::ErrorKind::NotFound => 0,
            Err(error) => return Err(error),
        };
        let highest = self.files()?.into_iter().map(|(number, _)| number).max().unwrap_or_default();
        let next = given.max(highest).saturating_add(1);
        // Durable before it is used: a crash in between skips a number.
        replace::replace(&path, format!("{next}\n").as_bytes())?;
        Ok(DecisionId::new(format!("D-{next:03}")))
    }

    fn write_page(&self, all: &[Queued]) -> io::Result<()> {
        let path = self.ledger.decisions_page();
        let page = decisions_page::render(all);
        let prints = self.ledger.decisions().join("page");
        let known = fs::read_to_string(&prints).unwrap_or_default();
        let new = Digest::of(page.as_bytes());
        match fs::read(&path) {
            Ok(bytes) => {
                let found = Digest::of(&bytes);
                if found == new && known.trim() == new.as_str() {
                    return Ok(());
                }
                if found != new && !known.lines().any(|line| line == found.as_str()) {
                    let place = replace::set_aside(&path, "edited")?;
                    self.tell(format!(
                        "{} was edited by hand; it is kept as {}. It is not read: {ANSWER}",
                        path.display(),
                        place.display()
                    ));
                }
                // Both are ours until the new page is in place.
                replace::replace(&prints, format!("{found}\n{new}\n").as_bytes())?;
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                replace::replace(&prints, format!("{new}\n").as_bytes())?;
            }
            Err(error) => return Err(error),
        }
        replace::replace(&path, page.as_bytes())?;
        replace::replace(&prints, format!("{new}\n").as_bytes())
    }

    /// Held while the queue is changed: a run and a person's answer may come at the same time.
    fn lock(&self) -> io::Result<File> {
        private_folder(&self.ledger.decisions())?;
        let path = self.ledger.decisions().join("lock");
        let file = OpenOptions::new().write(true).create(true).truncate(false).open(path)?;
        file.lock()?;
        Ok(file)
    }

    fn tell(&self, text: String) {
        let mut trouble = self.trouble.lock().unwrap_or_else(PoisonError::into_inner);
        if trouble.len() < TROUBLE_MAX && !trouble.contains(&text) {
            trouble.push(text);
        }
    }
}

#[async_trait]
impl DecisionSink for FileDecisions {
    async fn submit(&self, decision: &Decision, _cx: &Cx) -> Result<DecisionId, DecisionError> {
        self.submit_now(decision)
    }

    async fn answers(&self, _ids: &[DecisionId], _cx: &Cx) -> Result<Vec<crate::Answer>, DecisionError> {
        Ok(Vec::new())
    }

    async fn close(&self, _id: &DecisionId, _why: &str, _cx: &Cx) -> Result<(), DecisionError> {
        Ok(())
    }
}

/// The inner error is for what cannot be understood.
fn read(path: &Path) -> io::Result<Result<Queued, String>> {
    let bytes = fs::read(path)?;
    let format = match serde_json::from_slice::<AnyFormat>(&bytes) {
        Ok(any) => any.format,
        Err(error) => return Ok(Err(error.to_string())),
    };
    if format > FORMAT {
        // Not damaged, so it stays where it is.
        return Err(io::Error::other(format!(
            "{} has format {format}, and this version reads up to {FORMAT}: use a newer ralph",
            path.display()
        )));
    }
    let stored = serde_json::from_slice::<Stored>(&bytes).map_err(|error| error.to_string());
    Ok(stored.map(|stored| stored.queued))
}

fn failed(operation: &'static str, error: io::Error) -> DecisionError {
    DecisionError::Io { operation, source: error.into() }
}
