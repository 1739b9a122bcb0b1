//! Loops that are no plan of a person's: a goal, and a prompt at an interval.
//!
//! Each is a PRD of one item that Ralph writes below `state/`, with a file beside it that says how it is walked. From
//! there on it is a plan like others: `ralph run` on it goes on with it, and `status`, `log`, `diff` and `btw` know it.

use std::{
    fs,
    io::{self, Write as _},
    path::{Path, PathBuf},
    time::Duration,
};

use ralph_core::{
    Digest, PhaseId, Prompt,
    ledger::Prd,
    machine::{Every, Mode},
};
use serde::{Deserialize, Serialize};
use tempfile::NamedTempFile;

use crate::{error::CliError, project};

/// How a plan is walked.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Loop {
    /// One item after the other.
    #[default]
    Plan,
    /// One item, until its verifier passes.
    Goal,
    /// A session at an interval.
    Every {
        /// When.
        interval: Every,
        /// What says that it is enough.
        until: Option<String>,
    },
}

impl Loop {
    /// How the plan at `path` is walked.
    pub(crate) fn of(path: &Path) -> Result<Self, CliError> {
        if !is_looped(path) {
            return Ok(Self::Plan);
        }
        let beside = path.with_extension("json");
        let read = fs::read(&beside).and_then(|bytes| serde_json::from_slice(&bytes).map_err(io::Error::from));
        read.map_err(|error| {
            CliError::usage(format!(
                "{}: how this plan is walked is not known ({error}); the `ralph goal` or `ralph every` that it is of writes \
                 it again",
                beside.display()
            ))
        })
    }

    pub(crate) fn mode(&self) -> Mode {
        match self {
            Self::Plan => Mode::Items,
            Self::Goal => Mode::Goal,
            Self::Every { interval, .. } => Mode::Every(*interval),
        }
    }

    /// Whether anything that a session leaves is judged.
    pub(crate) fn verifies(&self) -> bool {
        match self {
            Self::Plan | Self::Goal => true,
            Self::Every { interval, .. } => interval.verified,
        }
    }

    /// The usual template of its prompts.
    pub(crate) fn prompt(&self) -> Prompt {
        match self {
            Self::Plan | Self::Goal => Prompt::default(),
            Self::Every { interval, .. } => Prompt::at_interval(interval),
        }
    }

    /// Writes the plan that this loop walks, below `folder`: the same one where the same is asked for again.
    ///
    /// # Errors
    /// Where the text is none, a command is not one line, or somebody has edited by what that plan is verified.
    pub(crate) fn write(&self, folder: &Path, text: &str, verify: &[String]) -> Result<PathBuf, CliError> {
        let prd = Prd::single(text, verify).map_err(CliError::usage)?;
        let loop_ = serde_json::to_vec_pretty(self).map_err(|error| CliError::failed("the loop", &error))?;
        let digest = Digest::of(&[prd.as_bytes(), &loop_].concat());
        let words: Vec<&str> = text.split_whitespace().take(5).collect();
        let words: String = project::slug(&words.join(" ")).chars().take(40).collect();
        let kind = match self {
            Self::Plan | Self::Goal => "goal",
            Self::Every { .. } => "every",
        };
        let path = folder.join(format!("{kind}-{}-{}.md", words.trim_end_matches('-'), digest.short()));
        let fail = |error: io::Error| CliError::failed(path.display().to_string(), &error);
        fs::create_dir_all(folder).map_err(fail)?;
        put(folder, &path.with_extension("json"), &loop_).map_err(fail)?;
        // Its mark is the record of what came of it: it is not written anew.
        match fs::read(&path) {
            Ok(there) => refuse_another_verifier(&path, &there, verify)?,
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                put(folder, &path, prd.as_bytes()).map_err(fail)?;
            }
            Err(error) => return Err(fail(error)),
        }
        Ok(path)
    }
}

/// Below a control folder, or what stands for one.
const FOLDER: &str = "state/goals";

/// Where the plans of such loops are.
pub(crate) fn folder(control: &Path) -> PathBuf {
    control.join(FOLDER)
}

fn is_looped(plan: &Path) -> bool {
    plan.parent().is_some_and(|folder| folder.ends_with(FOLDER))
}

/// What a person types to go on with `plan`, as the project names it: without a name it would be another one.
pub(crate) fn again(plan: &str) -> String {
    if is_looped(Path::new(plan)) { format!("ralph run {plan}") } else { "ralph run".to_owned() }
}

/// In one step: half a file would be in everybody's way from then on.
fn put(folder: &Path, path: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut file = NamedTempFile::new_in(folder)?;
    file.write_all(bytes)?;
    file.as_file().sync_all()?;
    file.persist(path).map(drop).map_err(|error| error.error)
}

/// What the command says by what it is verified is not passed over in silence. What cannot be read is told by the run.
fn refuse_another_verifier(path: &Path, there: &[u8], verify: &[String]) -> Result<(), CliError> {
    let Ok(read) = Prd::parse(there, "", PhaseId::default()) else { return Ok(()) };
    if read.phase.verify.iter().map(String::as_str).eq(verify.iter().map(|command| command.trim())) {
        return Ok(());
    }
    let path = path.display();
    Err(CliError::usage(format!(
        "{path} was edited since, and is verified by other commands: `ralph run {path}` goes on with it as it is; remove it to \
         begin anew"
    )))
}

/// `10m`, or `5m..2h` where the agent chooses; `verified` as in [`Every`].
pub(crate) fn interval(text: &str, verified: bool) -> Result<Every, CliError> {
    let time = |text: &str| crate::settings::parse_duration(text.trim()).map_err(CliError::usage);
    let ms = |time: Duration| u64::try_from(time.as_millis()).unwrap_or(u64::MAX);
    let (min, max) = match text.split_once("..") {
        Some((min, max)) => (time(min)?, time(max)?),
        None => (time(text)?, time(text)?),
    };
    if min > max {
        return Err(CliError::usage(format!("`{text}`: the shorter time comes first, as in `5m..2h`")));
    }
    if min < Duration::from_secs(1) {
        return Err(CliError::usage(format!("`{text}`: an interval is at least a second")));
    }
    // Where the agent does not say: as seldom as is allowed.
    Ok(Every { usual_ms: ms(max), min_ms: ms(min), max_ms: ms(max), verified })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn intervals() {
        let read = |text: &str| interval(text, false).map(|every| (every.min_ms, every.usual_ms, every.max_ms));
        assert_eq!(read("10m").unwrap(), (600_000, 600_000, 600_000));
        assert_eq!(read("90s .. 2h").unwrap(), (90_000, 7_200_000, 7_200_000));
        for bad in ["", "soon", "2h..5m", "0s", "1ms", "..5m", "5m.."] {
            assert_eq!(read(bad).unwrap_err().code, 2, "{bad}");
        }
    }

    #[test]
    fn the_same_goal_is_the_same_plan() {
        let folder = tempfile::tempdir().unwrap();
        let goals = super::folder(folder.path());
        let verify = ["cargo test".to_owned()];
        let path = Loop::Goal.write(&goals, "Make it pass!", &verify).unwrap();
        fs::write(&path, fs::read_to_string(&path).unwrap().replace("[ ]", "[x]")).unwrap();
        assert_eq!(Loop::Goal.write(&goals, "Make it pass!", &verify).unwrap(), path);
        assert!(fs::read_to_string(&path).unwrap().contains("[x]"), "what came of it stays");
        assert_ne!(Loop::Goal.write(&goals, "Make it pass!", &["true".to_owned()]).unwrap(), path);
        assert_eq!(Loop::of(&path).unwrap(), Loop::Goal);
        let name = path.file_name().unwrap().to_str().unwrap().to_owned();
        assert!(name.starts_with("goal-make-it-pass-"), "{name}");
        // A file of that kind beside somebody's own plan says nothing, whatever its folder is called.
        let own = folder.path().join("goals/PRD-P1.md");
        fs::create_dir(folder.path().join("goals")).unwrap();
        fs::write(own.with_extension("json"), "{\"userStories\": []}").unwrap();
        assert_eq!(Loop::of(&own).unwrap(), Loop::Plan);
        // How a loop's own plan is walked is never guessed.
        for broken in ["{", ""] {
            fs::write(path.with_extension("json"), broken).unwrap();
            let error = Loop::of(&path).unwrap_err();
            assert!(error.code == 2 && error.to_string().contains("ralph goal"), "{error}");
        }
        fs::remove_file(path.with_extension("json")).unwrap();
        assert_eq!(Loop::of(&path).unwrap_err().code, 2);
        assert_eq!(Loop::Goal.write(&goals, "Make it pass!", &verify).unwrap(), path);
        assert_eq!(Loop::of(&path).unwrap(), Loop::Goal);
    }

    #[test]
    fn another_verifier_than_the_one_given_is_not_taken() {
        let folder = tempfile::tempdir().unwrap();
        let goals = super::folder(folder.path());
        let verify = ["cargo test".to_owned(), " cargo clippy ".to_owned()];
        let path = Loop::Goal.write(&goals, "Make it pass", &verify).unwrap();
        let text = fs::read_to_string(&path).unwrap();
        let write = |from: &str, to: &str| fs::write(&path, text.replace(from, to)).unwrap();
        for (from, to) in [("cargo clippy", "true"), ("Verify: cargo clippy\n", ""), ("Verify: ", "")] {
            write(from, to);
            let error = Loop::Goal.write(&goals, "Make it pass", &verify).unwrap_err();
            assert!(error.code == 2 && error.to_string().contains("was edited"), "{from}: {error}");
        }
        // The control: other edits are a person's right.
        write("Make it pass", "Make it pass, soon");
        assert_eq!(Loop::Goal.write(&goals, "Make it pass", &verify).unwrap(), path);
    }
}
