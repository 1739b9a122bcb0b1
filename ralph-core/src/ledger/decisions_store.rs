//! The files behind the queue: `D-001.json` and so on, their formats, the last number given, and the page.

use std::{
    fs::{self, File},
    io,
    path::{Path, PathBuf},
    sync::{Mutex, PoisonError},
};

use serde::{Deserialize, Serialize};

use super::{
    decisions::{Answered, Queued, Resolved, Withdrawn},
    decisions_page::{self, ANSWER},
    layout::{Ledger, private_folder},
    plain, replace,
};
use crate::{
    answer::Reply,
    decision::Decision,
    id::{DecisionId, Digest},
};

/// The format that is written. 1 had an answer's words only, and a withdrawn question as one.
const FORMAT: u32 = 2;

/// How many findings are remembered.
const TROUBLE_MAX: usize = 20;

/// No file of the queue is longer: what agents and verifiers add to a decision is bounded.
const FILE_MAX: u64 = 16 << 20;

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

/// A decision's file in format 1.
#[derive(Deserialize)]
struct First {
    id: DecisionId,
    decision: Decision,
    answer: Option<FirstAnswer>,
}

#[derive(Deserialize)]
struct FirstAnswer {
    text: String,
    by: String,
    at: u64,
    #[serde(default)]
    withdrawn: bool,
}

impl First {
    fn upgraded(self) -> Queued {
        let Self { id, decision, answer } = self;
        let resolved = answer.map(|FirstAnswer { text, by, at, withdrawn }| {
            if withdrawn {
                return Resolved::Withdrawn(Withdrawn { why: text, at });
            }
            let reply = decision.question.reply(&text).unwrap_or_else(|_| Reply::Text(text.clone()));
            // Nothing followed from an answer then, so nothing is left to do.
            Resolved::Answered(Answered { reply, said: text, by, at, settled: true })
        });
        Queued { id, decision, resolved }
    }
}

/// What lies where a decision should.
pub(super) enum Found {
    Nothing,
    Whole(Box<Queued>),
    /// Something that is no decision, with where it lies and why.
    Damaged(PathBuf, String),
}

/// The folder of the queue.
#[derive(Debug)]
pub(super) struct Store {
    ledger: Ledger,
    trouble: Mutex<Vec<String>>,
}

impl Store {
    pub(super) fn new(ledger: Ledger) -> Self {
        Self { ledger, trouble: Mutex::new(Vec::new()) }
    }

    pub(super) fn trouble(&self) -> Vec<String> {
        self.trouble.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn tell(&self, text: String) {
        let mut trouble = self.trouble.lock().unwrap_or_else(PoisonError::into_inner);
        if trouble.len() < TROUBLE_MAX && !trouble.contains(&text) {
            trouble.push(text);
        }
    }

    /// Held while the queue is changed: a run and a person's answer may come at the same time.
    pub(super) fn lock(&self) -> io::Result<File> {
        private_folder(&self.ledger.decisions())?;
        let file = plain::for_locking(&self.ledger.decisions().join("lock"))?;
        file.lock()?;
        Ok(file)
    }

    /// Writes a decision as it stands now: in one step, and durably.
    pub(super) fn save(&self, queued: &Queued) -> io::Result<()> {
        let path = self.ledger.decisions().join(file_name(&queued.id));
        let mut text = serde_json::to_string_pretty(&Stored { format: FORMAT, queued: queued.clone() })?;
        text.push('\n');
        replace::replace(&path, text.as_bytes())
    }

    /// What is recorded of one decision. Nothing is touched.
    pub(super) fn look(&self, id: &DecisionId) -> io::Result<Found> {
        // Ids come from arguments: only what we give out is looked for, so that none names a file elsewhere.
        if number(id.as_str()).is_none() {
            return Ok(Found::Nothing);
        }
        read(&self.ledger.decisions().join(file_name(id)))
    }

    /// The same; what is damaged is set aside and told.
    pub(super) fn one(&self, id: &DecisionId) -> io::Result<Option<Queued>> {
        let found = self.look(id)?;
        self.whole(found)
    }

    fn whole(&self, found: Found) -> io::Result<Option<Queued>> {
        match found {
            Found::Nothing => Ok(None),
            Found::Whole(queued) => Ok(Some(*queued)),
            Found::Damaged(path, why) => {
                self.set_aside(&path, "damaged", &why)?;
                Ok(None)
            }
        }
    }

    fn set_aside(&self, path: &Path, ending: &str, why: &str) -> io::Result<()> {
        match replace::set_aside(path, ending) {
            Ok(place) => self.tell(format!("{}: {why}; it is now {}", path.display(), place.display())),
            // Somebody else has done so at the same time.
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(error),
        }
        Ok(())
    }

    /// Every decision, by number.
    pub(super) fn all(&self) -> io::Result<Vec<Queued>> {
        let mut all = Vec::new();
        for (number, path) in self.files()? {
            // What was set aside earlier has a longer name, and still keeps its number from being used again.
            if path.extension().is_some_and(|ending| ending == "json")
                && let Some(queued) = self.whole(read(&path)?)?
            {
                all.push((number, queued));
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
    pub(super) fn next_id(&self) -> io::Result<DecisionId> {
        let path = self.ledger.decisions().join("last");
        let given: u64 = match self.small(&path)? {
            None => 0,
            Some(text) => match text.trim().parse() {
                Ok(given) => given,
                Err(_) => {
                    self.set_aside(&path, "damaged", "it held no number")?;
                    0
                }
            },
        };
        let highest = self.files()?.into_iter().map(|(number, _)| number).max().unwrap_or_default();
        let next = given.max(highest).checked_add(1).ok_or_else(|| io::Error::other("no number is left"))?;
        // Durable before it is used: a crash in between skips a number.
        replace::replace(&path, format!("{next}\n").as_bytes())?;
        Ok(id(next))
    }

    /// The text of a file beside the decisions; what is no such file is set aside.
    fn small(&self, path: &Path) -> io::Result<Option<String>> {
        match plain::read(path, FILE_MAX) {
            Ok(Ok(bytes)) => Ok(Some(String::from_utf8_lossy(&bytes).into_owned())),
            Ok(Err(why)) => {
                self.set_aside(path, "damaged", &why)?;
                Ok(None)
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Renders the page of what is recorded; why that could not be is told, and no more than that: it changes nothing
    /// about what is recorded.
    pub(super) fn show(&self) {
        if let Err(error) = self.all().and_then(|all| self.write_page(&all)) {
            self.tell(format!("{}: {error}", self.ledger.decisions_page().display()));
        }
    }

    /// Writes the page of `all`. A hand-edited one is kept aside and told.
    pub(super) fn write_page(&self, all: &[Queued]) -> io::Result<()> {
        let path = self.ledger.decisions_page();
        let page = decisions_page::render(all);
        let prints = self.ledger.decisions().join("page");
        let known = self.small(&prints)?.unwrap_or_default();
        let new = Digest::of(page.as_bytes());
        match read_page(&path) {
            Ok(bytes) => {
                let found = Digest::of(&bytes);
                if found == new && known.trim() == new.as_str() {
                    return Ok(());
                }
                if found != new && !known.lines().any(|line| line == found.as_str()) {
                    let place = replace::set_aside(&path, "edited")?;
                    self.tell(format!(
                        "{} was edited by hand; it is kept as {}. It is not read: to answer, {ANSWER}",
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
}

/// The page as it lies there; a person may have made it a link.
fn read_page(path: &Path) -> io::Result<Vec<u8>> {
    if !fs::metadata(path)?.is_file() {
        return Err(io::Error::other("it is no file"));
    }
    fs::read(path)
}

fn id(number: u64) -> DecisionId {
    DecisionId::new(format!("D-{number:03}"))
}

/// The number of an id, where it is written as we write it.
fn number(text: &str) -> Option<u64> {
    let number = text.strip_prefix("D-")?.parse().ok()?;
    (id(number).as_str() == text).then_some(number)
}

fn file_name(id: &DecisionId) -> String {
    format!("{id}.json")
}

fn read(path: &Path) -> io::Result<Found> {
    let damaged = |why: String| Ok(Found::Damaged(path.to_owned(), why));
    let bytes = match plain::read(path, FILE_MAX) {
        Ok(Ok(bytes)) => bytes,
        Ok(Err(why)) => return damaged(why),
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Found::Nothing),
        Err(error) => return Err(error),
    };
    let format = match serde_json::from_slice::<AnyFormat>(&bytes) {
        Ok(any) => any.format,
        Err(error) => return damaged(error.to_string()),
    };
    let queued = match format {
        1 => serde_json::from_slice::<First>(&bytes).map(First::upgraded),
        FORMAT => serde_json::from_slice::<Stored>(&bytes).map(|stored| stored.queued),
        0 => return damaged("no format has the number 0".to_owned()),
        // Not damaged, so it stays where it is.
        newer => {
            return Err(io::Error::other(format!(
                "{} has format {newer}, and this version reads up to {FORMAT}: use a newer ralph",
                path.display()
            )));
        }
    };
    match queued {
        Err(error) => damaged(error.to_string()),
        Ok(queued) if number(queued.id.as_str()).is_some() && path.ends_with(file_name(&queued.id)) => {
            Ok(Found::Whole(Box::new(queued)))
        }
        Ok(queued) => damaged(format!("it holds a decision with the id {:?}", queued.id.as_str())),
    }
}
