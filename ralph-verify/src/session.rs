//! One call of a verifier: its commands in order, until the first that does not pass.

use std::{
    fs::OpenOptions,
    io::{self, Read as _, Seek as _, SeekFrom, Write as _},
    path::{Path, PathBuf},
    time::Duration,
};

use ralph_core::{Cx, Evidence, Part, Target, Verdict, VerifyError};
use ralph_process::{Command, End, Finished, Limits, Output, run};
use tempfile::NamedTempFile;

use crate::{
    exit::{Judgement, judge},
    runner::{Counter, runners},
    shell::Shell,
    text,
};

/// Runs `commands` in the target's folder, `times` times or until one does not pass.
pub(crate) async fn verdict(
    shell: &Shell,
    commands: &[&str],
    times: u32,
    target: &Target,
    cx: &Cx,
) -> Result<Verdict, VerifyError> {
    if commands.is_empty() {
        return Ok(Verdict::new(true, "nothing to run"));
    }
    let mut session = Session::new(shell, target, cx)?;
    let mut failure = None;
    for time in 1..=times.max(1) {
        failure = session.once(commands).await?;
        if let Some(summary) = &mut failure {
            if time > 1 {
                summary.push_str(&format!(" in run {time} of {times}, after it had passed"));
            }
            break;
        }
    }
    let failed = failure.is_some();
    let mut summary = failure.unwrap_or_else(|| session.success(commands));
    if !failed && times > 1 {
        summary.push_str(&format!(", {times} times in a row"));
    }
    let evidence = session.evidence(summary);
    Ok(if failed { Verdict::Fail(evidence) } else { Verdict::Pass(evidence) })
}

struct Session<'a> {
    shell: &'a Shell,
    target: &'a Target,
    cx: &'a Cx,
    /// What its commands took so far.
    took: Duration,
    log: Log,
    /// The shares of the commands that ran, in the last run.
    parts: Vec<Part>,
    left_behind: u32,
}

/// Where the output goes.
enum Log {
    Kept(PathBuf),
    Temporary(NamedTempFile),
}

impl Log {
    fn path(&self) -> &Path {
        match self {
            Self::Kept(path) => path,
            Self::Temporary(file) => file.path(),
        }
    }
}

impl<'a> Session<'a> {
    fn new(shell: &'a Shell, target: &'a Target, cx: &'a Cx) -> Result<Self, VerifyError> {
        let log = match &target.log {
            Some(path) => Log::Kept(path.clone()),
            None => Log::Temporary(NamedTempFile::new().map_err(other)?),
        };
        Ok(Self { shell, target, cx, took: Duration::ZERO, log, parts: Vec::new(), left_behind: 0 })
    }

    /// Runs all commands once; what failed, if anything did.
    async fn once(&mut self, commands: &[&str]) -> Result<Option<String>, VerifyError> {
        self.parts.clear();
        let before = self.took;
        for command in commands {
            let runners = runners(command);
            let mut counter = Counter::new(&runners);
            let limit = self.time_left(before);
            let finished = self.run(command, limit, &mut counter).await?;
            self.left_behind += finished.left_behind;
            self.took += finished.took;
            let name = text::name(command);
            let passed = match judge(finished.end, &runners, &self.shell.broken_exits) {
                Judgement::Passes => true,
                Judgement::Fails => false,
                Judgement::Cancelled => return Err(VerifyError::Cancelled),
                Judgement::Breaks(why) => {
                    let why = match finished.end {
                        End::TimedOut => format!("{name}: {why} after {:.1?}", finished.took),
                        _ => format!("{name}: {why}"),
                    };
                    let evidence = Box::new(self.evidence(why.clone()));
                    return Err(VerifyError::Broken { why, evidence });
                }
            };
            let tests = counter.passed();
            self.parts.push(Part { name: (*command).to_owned(), passed, tests });
            if !passed {
                return Ok(Some(describe(&name, &finished, tests)));
            }
        }
        Ok(None)
    }

    async fn run(&self, command: &str, limit: Duration, counter: &mut Counter) -> Result<Finished, VerifyError> {
        announce(self.log.path(), command).map_err(other)?;
        let process = Command::shell(command, &self.target.folder)
            .envs(self.shell.environment())
            .envs(self.target.env())
            .mark(self.target.run.as_str());
        let limits = Limits {
            time: Some(limit),
            grace: self.shell.grace,
            output_bytes: self.shell.output_bytes,
            ..Limits::default()
        };
        let output = Output::merged(self.log.path());
        let on_line = |line: &str| {
            counter.line(line);
            self.cx.live(line);
        };
        let cancel = self.cx.cancel().cancelled();
        run(&process, &output, &limits, cancel, on_line).await.map_err(other)
    }

    /// The time for the next command: what is left of this run's, before which `before` was used, and of the whole call's.
    fn time_left(&self, before: Duration) -> Duration {
        let of_run = self.shell.time_limit.saturating_sub(self.took.saturating_sub(before));
        match self.cx.time_limit() {
            Some(limit) => of_run.min(limit.saturating_sub(self.took)),
            None => of_run,
        }
    }

    /// What to say when all passed.
    fn success(&self, commands: &[&str]) -> String {
        let tests = self.parts.iter().filter_map(|part| part.tests).reduce(u64::saturating_add);
        let tests = tests.map(count_tests).unwrap_or_default();
        match commands {
            [command] => format!("{}: exit 0{tests}", text::name(command)),
            commands => format!("{} commands: exit 0{tests}", commands.len()),
        }
    }

    fn evidence(&self, mut summary: String) -> Evidence {
        if self.left_behind > 0 {
            summary.push_str(&format!("; processes left running and ended: {}", self.left_behind));
        }
        let mut evidence = Evidence::line(summary);
        evidence.tail = text::tail(self.log.path());
        evidence.log.clone_from(&self.target.log);
        evidence.parts.clone_from(&self.parts);
        evidence
    }
}

fn describe(name: &str, finished: &Finished, tests: Option<u64>) -> String {
    let tests = tests.map(count_tests).unwrap_or_default();
    match finished.end {
        End::Exited(code) => format!("{name}: exit {code}{tests}"),
        end => format!("{name}: {end:?}{tests}"),
    }
}

fn count_tests(tests: u64) -> String {
    format!(", {tests} test{} passed", if tests == 1 { "" } else { "s" })
}

/// Writes the command above its output, on a line of its own.
fn announce(log: &Path, command: &str) -> io::Result<()> {
    let mut file = OpenOptions::new().create(true).append(true).read(true).open(log)?;
    let mut last = [b'\n'];
    if file.seek(SeekFrom::End(0))? > 0 {
        file.seek(SeekFrom::End(-1))?;
        file.read_exact(&mut last)?;
    }
    let newline = if last == *b"\n" { "" } else { "\n" };
    writeln!(file, "{newline}$ {command}")
}

fn other(error: impl std::error::Error + Send + Sync + 'static) -> VerifyError {
    VerifyError::Other(Box::new(error))
}
