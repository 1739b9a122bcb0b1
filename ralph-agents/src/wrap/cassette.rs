//! One session as a file.
//!
//! The format is in the docs of [`Recorded`](super::Recorded).

use std::{
    fs, io,
    io::Write as _,
    path::{Path, PathBuf},
    time::SystemTime,
};

use ralph_core::{Capabilities, SessionEnd, SessionReport, Tier, Trouble, Usage, from_millis, millis};
use serde::{Deserialize, Serialize};

use crate::{json::Object, wrap::changes::Change};

/// The version of the format.
const VERSION: u32 = 1;

/// A cassette that cannot be played.
#[derive(Debug, thiserror::Error)]
#[error("the cassette {} cannot be played: {why}", path.display())]
#[non_exhaustive]
pub struct CassetteError {
    /// Its file, or the folder where there was to be one.
    pub path: PathBuf,
    /// Why not.
    pub why: String,
}

/// A session.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Cassette {
    ralph_cassette: u32,
    pub(super) agent: String,
    can: Vec<Can>,
    #[serde(default)]
    pub(super) tier: Tier,
    pub(super) prompt: String,
    report: Report,
    pub(super) changes: Vec<Change>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Can {
    Cost,
    Tokens,
    Resume,
    CostLimit,
    Structured,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
struct Report {
    end: End,
    usage: Usage,
    said: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    structured: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    session_id: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    agent: Option<String>,
    #[serde(default)]
    compactions: u32,
    #[serde(default)]
    denied: u32,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
enum End {
    Finished,
    Failed {
        why: String,
    },
    Limit {
        which: String,
    },
    Cancelled,
    Unusable {
        why: String,
    },
    Unavailable {
        trouble: Trouble,
        detail: String,
        /// Milliseconds since the Unix epoch.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        until: Option<u64>,
    },
}

impl Cassette {
    /// A session of `agent`.
    ///
    /// # Errors
    /// That the report holds what this format does not know.
    pub(super) fn new(
        (agent, capabilities): (&str, Capabilities),
        (tier, prompt): (Tier, &str),
        report: &SessionReport,
        changes: Vec<Change>,
    ) -> Result<Self, String> {
        let can = [
            (Can::Cost, capabilities.cost),
            (Can::Tokens, capabilities.tokens),
            (Can::Resume, capabilities.resume),
            (Can::CostLimit, capabilities.cost_limit),
            (Can::Structured, capabilities.structured),
        ];
        let end = match report.end.clone() {
            SessionEnd::Finished => End::Finished,
            SessionEnd::Failed(why) => End::Failed { why },
            SessionEnd::Limit(which) => End::Limit { which },
            SessionEnd::Cancelled => End::Cancelled,
            SessionEnd::Unusable(why) => End::Unusable { why },
            SessionEnd::Unavailable { trouble, detail, until } => {
                End::Unavailable { trouble, detail, until: until.map(millis) }
            }
            end => return Err(format!("the format has no word for the end {end:?}")),
        };
        Ok(Self {
            ralph_cassette: VERSION,
            agent: agent.to_owned(),
            can: can.into_iter().filter_map(|(can, so)| so.then_some(can)).collect(),
            tier,
            prompt: prompt.to_owned(),
            report: Report {
                end,
                usage: report.usage,
                said: report.said.clone(),
                structured: report.structured.clone(),
                session_id: report.session_id.clone(),
                agent: report.agent.clone(),
                compactions: report.compactions,
                denied: report.denied,
            },
            changes,
        })
    }

    /// What its backend could do.
    pub(super) fn capabilities(&self) -> Capabilities {
        let can = |what| self.can.contains(&what);
        let mut all = Capabilities::none();
        all.cost = can(Can::Cost);
        all.tokens = can(Can::Tokens);
        all.resume = can(Can::Resume);
        all.cost_limit = can(Can::CostLimit);
        all.structured = can(Can::Structured);
        all
    }

    /// What came of it.
    pub(super) fn report(&self) -> SessionReport {
        let own = self.report.clone();
        let end = match own.end {
            End::Finished => SessionEnd::Finished,
            End::Failed { why } => SessionEnd::Failed(why),
            End::Limit { which } => SessionEnd::Limit(which),
            End::Cancelled => SessionEnd::Cancelled,
            End::Unusable { why } => SessionEnd::Unusable(why),
            End::Unavailable { trouble, detail, until } => {
                let until: Option<SystemTime> = until.map(from_millis);
                SessionEnd::Unavailable { trouble, detail, until }
            }
        };
        let mut report = SessionReport::new(end).with_said(own.said).with_usage(own.usage);
        report.structured = own.structured;
        report.session_id = own.session_id;
        report.agent = own.agent;
        report.compactions = own.compactions;
        report.denied = own.denied;
        report
    }

    /// Writes it as the next one in `folder`: `0001.json`, `0002.json`, …
    pub(super) fn save(&self, folder: &Path) -> io::Result<PathBuf> {
        fs::create_dir_all(folder)?;
        let mut file = tempfile::NamedTempFile::new_in(folder)?;
        serde_json::to_writer_pretty(&mut file, self)?;
        file.write_all(b"\n")?;
        let last = all(folder)?.into_iter().filter_map(|path| path.file_stem()?.to_str()?.parse().ok()).max();
        let mut number: u32 = last.unwrap_or(0);
        loop {
            number = number.saturating_add(1);
            let path = folder.join(format!("{number:04}.json"));
            match file.persist_noclobber(&path) {
                Ok(_) => return Ok(path),
                // Another session that ended at the same time was faster.
                Err(error) if error.error.kind() == io::ErrorKind::AlreadyExists => file = error.file,
                Err(error) => return Err(error.error),
            }
        }
    }

    /// Reads one.
    pub(super) fn load(path: &Path) -> Result<Self, CassetteError> {
        let bad = |why: String| CassetteError { path: path.to_owned(), why };
        let text = fs::read_to_string(path).map_err(|error| bad(error.to_string()))?;
        match Object::read(&text).and_then(|object| object.get::<u32>("ralph_cassette")) {
            Some(VERSION) => serde_json::from_str(&text).map_err(|error| bad(error.to_string())),
            Some(version) => Err(bad(format!("it has version {version} of the format; here {VERSION} is read"))),
            None => Err(bad("it is none".into())),
        }
    }
}

/// The cassettes of a folder, in order.
pub(super) fn all(folder: &Path) -> io::Result<Vec<PathBuf>> {
    let mut paths = Vec::new();
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.extension().is_some_and(|extension| extension == "json") {
            paths.push(path);
        }
    }
    // By number, also beyond four digits.
    paths.sort_by_key(|path| (path.as_os_str().len(), path.clone()));
    Ok(paths)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use ralph_core::{Tokens, Usd};

    use super::*;
    use crate::wrap::changes::Content;

    fn cassette(end: SessionEnd) -> Cassette {
        let tokens = Tokens { input: 1, output: 2, cache_read: 3, cache_write: 4 };
        let usage = Usage::unknown().with_cost(Usd::from_micros(250_000)).with_tokens(tokens);
        let mut report = SessionReport::new(end).with_said("done").with_usage(usage).with_structured("{}");
        report.session_id = Some("s-1".into());
        let changes = vec![
            Change::Delete { path: "old".into() },
            Change::Folder { path: "src".into() },
            Change::Write { path: "src/a".into(), mode: "644".into(), content: Content::Text("hä\n".into()) },
            Change::Write { path: "src/b".into(), mode: "755".into(), content: Content::Hex("00ff".into()) },
            Change::Link { path: "src/c".into(), target: "a".into() },
        ];
        let can = Capabilities::none().with_cost().with_structured();
        Cassette::new(("claude", can), (Tier::High, "Do it.\n"), &report, changes).unwrap()
    }

    #[test]
    fn it_is_for_people_to_read() {
        let folder = tempfile::tempdir().unwrap();
        let until = Some(SystemTime::UNIX_EPOCH + Duration::from_millis(1_500));
        let end = SessionEnd::Unavailable { trouble: Trouble::RateLimit, detail: "slow down".into(), until };
        let path = cassette(end).save(folder.path()).unwrap();
        insta::assert_snapshot!(fs::read_to_string(path).unwrap());
    }

    #[test]
    fn the_one_in_the_docs_can_be_read() {
        let docs = include_str!("recorded.rs").split("/// ```json\n").nth(1).unwrap();
        let json: String =
            docs.lines().map_while(|line| line.strip_prefix("/// ")).take_while(|it| *it != "```").collect();
        let cassette: Cassette = serde_json::from_str(&json).unwrap();
        assert_eq!((cassette.changes.len(), cassette.report().end), (5, SessionEnd::Finished));
    }

    #[test]
    fn every_end_comes_back() {
        let folder = tempfile::tempdir().unwrap();
        let until = Some(SystemTime::UNIX_EPOCH + Duration::from_secs(1_800_000_000));
        let ends = [
            SessionEnd::Finished,
            SessionEnd::Failed("crashed".into()),
            SessionEnd::Limit("time".into()),
            SessionEnd::Cancelled,
            SessionEnd::Unusable("no credit".into()),
            SessionEnd::Unavailable { trouble: Trouble::NoResult, detail: "gone".into(), until: None },
            SessionEnd::Unavailable { trouble: Trouble::UsageWindow, detail: "full".into(), until },
        ];
        for (number, end) in (1..).zip(ends) {
            let path = cassette(end.clone()).save(folder.path()).unwrap();
            assert_eq!(path, folder.path().join(format!("{number:04}.json")));
            let read = Cassette::load(&path).unwrap();
            let report = read.report();
            assert_eq!((report.end, report.said.as_str()), (end, "done"));
            assert_eq!(report.usage.tokens.unwrap().cache_write, 4);
            assert_eq!(read.capabilities(), Capabilities::none().with_cost().with_structured());
        }
    }

    #[test]
    fn what_is_none_or_of_another_version_is_told() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("0001.json");
        for (text, words) in [
            ("", "it is none"),
            ("{}", "it is none"),
            (r#"{"ralph_cassette": 2}"#, "version 2"),
            (r#"{"ralph_cassette": 1}"#, "missing field"),
        ] {
            fs::write(&path, text).unwrap();
            let error = Cassette::load(&path).unwrap_err().to_string();
            assert!(error.contains(words) && error.contains("0001.json"), "{error}");
        }
    }
}
