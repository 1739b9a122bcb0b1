//! Recorded sessions, played again.

use std::{
    collections::VecDeque,
    fs::OpenOptions,
    io::Write as _,
    path::Path,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use ralph_core::{AgentBackend, AgentError, Brief, Capabilities, Cx, SessionEnd, SessionReport, async_trait};

use super::cassette::{Cassette, CassetteError, all};

/// Plays the cassettes of a folder that [`Recorded`](super::Recorded) wrote, in order, one for each session: does in the
/// workspace what the session did, and reports what it reported. Clones are the same backend.
///
/// It has the name of the first one's backend, and can do what all of their backends could. Changes stay below the
/// workspace; one that does not fit there is an error. A session without a cassette is a session that fails and says so;
/// [`Replay::assert_played`] fails a test in which cassettes are left. See [`Recorded`](super::Recorded) for an example.
#[derive(Clone, Debug)]
pub struct Replay {
    name: String,
    capabilities: Capabilities,
    strict: bool,
    tape: Arc<Mutex<Tape>>,
}

#[derive(Debug)]
struct Tape {
    cassettes: VecDeque<(String, Cassette)>,
    missing: u32,
    strangers: Vec<String>,
}

impl Replay {
    /// Reads all cassettes of `folder`.
    ///
    /// # Errors
    /// That there is none, or one that cannot be read.
    pub fn open(folder: impl AsRef<Path>) -> Result<Self, CassetteError> {
        let folder = folder.as_ref();
        let bad = |why: String| CassetteError { path: folder.to_owned(), why };
        let mut cassettes = VecDeque::new();
        for path in all(folder).map_err(|error| bad(error.to_string()))? {
            let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
            cassettes.push_back((name, Cassette::load(&path)?));
        }
        let Some((_, first)) = cassettes.front() else { return Err(bad("there is none in the folder".into())) };
        let all = cassettes.iter().map(|(_, cassette)| cassette.capabilities());
        Ok(Self {
            name: first.agent.clone(),
            capabilities: all.reduce(Capabilities::and).unwrap_or_default(),
            strict: false,
            tape: Arc::new(Mutex::new(Tape { cassettes, missing: 0, strangers: Vec::new() })),
        })
    }

    /// The same, failing a session whose prompt or tier is another than that of its cassette.
    #[must_use]
    pub fn strict(mut self) -> Self {
        self.strict = true;
        self
    }

    fn lock(&self) -> MutexGuard<'_, Tape> {
        self.tape.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Every cassette was played, and no session was without one that fitted.
    ///
    /// # Panics
    /// Where that is not so.
    #[track_caller]
    pub fn assert_played(&self) {
        let tape = self.lock();
        assert!(tape.cassettes.is_empty(), "{} cassettes were not played", tape.cassettes.len());
        assert!(tape.missing == 0, "{} sessions had no cassette", tape.missing);
        assert!(tape.strangers.is_empty(), "{}", tape.strangers.join("; "));
    }

    /// The cassette for a session, or why there is none.
    fn next(&self, brief: &Brief) -> Result<Cassette, String> {
        let mut tape = self.lock();
        let Some((name, cassette)) = tape.cassettes.pop_front() else {
            tape.missing += 1;
            return Err(format!("no cassette is left for attempt {}", brief.attempt));
        };
        if !self.strict || (cassette.prompt == brief.prompt && cassette.tier == brief.tier) {
            return Ok(cassette);
        }
        let why = match cassette.prompt == brief.prompt {
            true => format!("{name} was recorded for the tier {}, not {}", cassette.tier, brief.tier),
            false => format!(
                "{name} was recorded for another prompt, which differs in line {}",
                different(&cassette.prompt, &brief.prompt)
            ),
        };
        tape.strangers.push(why.clone());
        Err(why)
    }
}

/// The first line, from 1, in which two texts that are not the same differ.
fn different(one: &str, other: &str) -> usize {
    let same = one.split('\n').zip(other.split('\n')).take_while(|(a, b)| a == b);
    same.count() + 1
}

#[async_trait]
impl AgentBackend for Replay {
    fn name(&self) -> &str {
        &self.name
    }

    fn capabilities(&self) -> Capabilities {
        self.capabilities
    }

    async fn run(&self, brief: &Brief, cx: &Cx) -> Result<SessionReport, AgentError> {
        if cx.cancel().is_cancelled() {
            return Ok(SessionReport::new(SessionEnd::Cancelled));
        }
        let cassette = match self.next(brief) {
            Ok(cassette) => cassette,
            Err(why) => return Ok(SessionReport::new(SessionEnd::Failed(why))),
        };
        for change in &cassette.changes {
            change.apply(&brief.workspace).map_err(AgentError::other)?;
        }
        let report = cassette.report();
        if let Some(log) = &brief.log {
            let file = OpenOptions::new().create(true).append(true).open(log);
            let written = file.and_then(|mut file| writeln!(file, "{}", report.said));
            written.map_err(AgentError::other)?;
        }
        report.said.lines().for_each(|line| cx.live(line));
        Ok(report)
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use ralph_core::{
        AttemptId, ItemRef, RunId, Tier,
        testing::{ScriptedAgent, turn},
    };
    use tempfile::{TempDir, tempdir};

    use super::*;
    use crate::wrap::Recorded;

    fn brief(workspace: &Path, prompt: &str) -> Brief {
        let attempt = AttemptId { item: ItemRef::new("P1", "R01"), number: 1 };
        Brief::new(workspace, prompt, RunId::new("run"), attempt)
    }

    /// Two sessions, the second on what the first left, and the workspace after them.
    async fn recorded() -> (TempDir, TempDir) {
        let (work, tapes) = (tempdir().unwrap(), tempdir().unwrap());
        let inner = ScriptedAgent::new([
            turn().writes("src/a", "one\n").writes("b", vec![0xff]).costs("0.10").says("first"),
            turn().writes("src/a", "two\n").removes("b").uses_tokens(7).crashes("gave up"),
        ]);
        let agent = Recorded::new(inner.clone(), tapes.path());
        for prompt in ["Do it.\n", "Do it.\nAgain.\n"] {
            agent.run(&brief(work.path(), prompt), &Cx::new()).await.unwrap();
        }
        inner.assert_played();
        (work, tapes)
    }

    #[tokio::test]
    async fn sessions_are_played_in_order() {
        let (_work, tapes) = recorded().await;
        let replay = Replay::open(tapes.path()).unwrap().strict();
        assert_eq!((replay.name(), replay.capabilities()), ("scripted", ScriptedAgent::new([]).capabilities()));
        let again = tempdir().unwrap();
        let mut first = brief(again.path(), "Do it.\n");
        first.log = Some(tapes.path().join("log"));
        let report = replay.run(&first, &Cx::new()).await.unwrap();
        assert_eq!((report.end, report.said.as_str()), (SessionEnd::Finished, "first"));
        assert_eq!((report.usage.cost, report.usage.tokens), (Some("0.10".parse().unwrap()), None));
        assert_eq!(fs::read(again.path().join("b")).unwrap(), [0xff]);
        assert_eq!(fs::read_to_string(tapes.path().join("log")).unwrap(), "first\n");
        let report = replay.run(&brief(again.path(), "Do it.\nAgain.\n"), &Cx::new()).await.unwrap();
        assert_eq!(report.end, SessionEnd::Failed("gave up".into()));
        assert_eq!((report.usage.cost, report.usage.tokens.unwrap().output), (None, 7));
        assert_eq!(fs::read_to_string(again.path().join("src/a")).unwrap(), "two\n");
        assert!(!again.path().join("b").exists());
        replay.assert_played();
    }

    #[tokio::test]
    async fn another_prompt_or_tier_fails_where_it_is_asked_to() {
        let (_work, tapes) = recorded().await;
        fs::remove_file(tapes.path().join("0002.json")).unwrap();
        for (strict, tier, prompt, words) in [
            (
                true,
                Tier::Standard,
                "Do it.\nNow.\n",
                "0001.json was recorded for another prompt, which differs in line 2",
            ),
            (true, Tier::High, "Do it.\n", "0001.json was recorded for the tier standard, not high"),
            (false, Tier::High, "Do something else.\n", ""),
        ] {
            let (again, replay) = (tempdir().unwrap(), Replay::open(tapes.path()).unwrap());
            let replay = if strict { replay.strict() } else { replay };
            let mut brief = brief(again.path(), prompt);
            brief.tier = tier;
            match replay.run(&brief, &Cx::new()).await.unwrap().end {
                SessionEnd::Failed(why) => assert_eq!(why, words),
                end => assert!(!strict, "{end:?}"),
            }
            assert_eq!(again.path().join("b").exists(), !strict);
            assert_eq!(std::panic::catch_unwind(|| replay.assert_played()).is_err(), strict);
        }
    }

    #[tokio::test]
    async fn a_session_too_many_fails() {
        let (work, tapes) = recorded().await;
        fs::remove_file(tapes.path().join("0002.json")).unwrap();
        let (again, replay) = (tempdir().unwrap(), Replay::open(tapes.path()).unwrap());
        let brief = brief(again.path(), "");
        replay.run(&brief, &Cx::new()).await.unwrap();
        replay.assert_played();
        let report = replay.run(&brief, &Cx::new()).await.unwrap();
        assert!(matches!(&report.end, SessionEnd::Failed(why) if why.contains("no cassette")), "{:?}", report.end);
        let played = std::panic::catch_unwind(|| replay.assert_played());
        assert!(played.is_err());
        // And so does one that does not fit: there is nothing for it to delete.
        let (_work, tapes) = (work, recorded().await.1);
        fs::remove_file(tapes.path().join("0001.json")).unwrap();
        let (again, replay) = (tempdir().unwrap(), Replay::open(tapes.path()).unwrap());
        let error = replay.run(&self::brief(again.path(), ""), &Cx::new()).await.unwrap_err();
        assert!(ralph_core::chain(&error).contains("b: "), "{error:?}");
    }

    #[tokio::test]
    async fn cassettes_that_are_left_or_missing_are_told() {
        let (_work, tapes) = recorded().await;
        let replay = Replay::open(tapes.path()).unwrap();
        assert!(std::panic::catch_unwind(|| replay.assert_played()).is_err());
        let error = Replay::open(tempdir().unwrap().path()).unwrap_err();
        assert!(error.to_string().contains("there is none"), "{error}");
        assert!(Replay::open("/nowhere").is_err());
    }
}
