//! One call of a verifier: its commands in order, until the first that does not pass.

use std::{
    fs::OpenOptions,
    io::{self, Read as _, Seek as _, SeekFrom, Write as _},
    path::{Path, PathBuf},
    time::Duration,
};

use ralph_core::{Cx, Evidence, Part, Target, Verdict, VerifyError};
use ralph_process::{Command, End, Finished, Limits, Output, run};
use tempfile::{NamedTempFile, TempDir};

use crate::{
    evidence::{
        self, Counts, Runner, TestReader,
        file::{self, Report},
        memory::{Memory, switched_off},
        rule::{Said, objection},
    },
    exit::{Judgement, judge},
    runner::runners,
    shell::Shell,
    text,
};

/// What is to be run.
pub(crate) struct Task<'a> {
    pub(crate) shell: &'a Shell,
    pub(crate) commands: &'a [&'a str],
    /// How many times in a row it has to pass.
    pub(crate) times: u32,
    /// What commands said about their tests elsewhere; `None` where that is not looked at.
    pub(crate) memory: Option<&'a Memory>,
}

/// Runs the commands in the target's folder, the wanted number of times or until one does not pass.
pub(crate) async fn verdict(task: Task<'_>, target: &Target, cx: &Cx) -> Result<Verdict, VerifyError> {
    let Task { shell, commands, times, memory } = task;
    if commands.is_empty() {
        return Ok(Verdict::new(true, "nothing to run"));
    }
    let mut session = Session::new(shell, target, cx)?;
    session.memory = memory;
    let mut failure = None;
    for time in 1..=times.max(1) {
        failure = session.once(commands).await?;
        if let Some(summary) = &mut failure {
            if time > 1 {
                summary.push_str(&format!(" in run {time} of {times}, after it had passed"));
                session.parts.iter_mut().filter(|part| !part.passed).for_each(|part| part.flaky = true);
            }
            break;
        }
    }
    let failed = failure.is_some();
    let mut summary = failure.unwrap_or_else(|| session.success(commands));
    if !failed && times > 1 {
        summary.push_str(&format!(", {times} times in a row"));
    }
    if let Some(memory) = memory {
        memory.keep(target, !failed, std::mem::take(&mut session.said));
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
    memory: Option<&'a Memory>,
    /// What they said about their tests, by command.
    said: Vec<(String, Said)>,
    /// What the last command found, in lines.
    findings: String,
}

/// Where the output goes.
enum Log {
    Kept(PathBuf),
    Temporary(NamedTempFile),
}

/// A folder of its own for what a command says besides its output, outside of the work.
struct Told(TempDir);

impl Told {
    fn new() -> Result<Self, VerifyError> {
        tempfile::Builder::new().prefix("ralph-evidence-").tempdir().map(Self).map_err(other)
    }

    fn path(&self) -> PathBuf {
        self.0.path().join("evidence.json")
    }
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
        let (parts, said, findings) = (Vec::new(), Vec::new(), String::new());
        let took = Duration::ZERO;
        Ok(Self { shell, target, cx, took, log, parts, left_behind: 0, memory: None, said, findings })
    }

    /// Runs all commands once; what failed, if anything did.
    async fn once(&mut self, commands: &[&str]) -> Result<Option<String>, VerifyError> {
        self.parts.clear();
        self.said.clear();
        let before = self.took;
        for command in commands {
            let (runners, name) = (runners(command), text::name(command));
            let (mut reader, told) = (TestReader::new(command), Told::new()?);
            let limit = self.time_left(before);
            let finished = self.run(command, limit, &told, &mut reader).await?;
            self.left_behind += finished.left_behind;
            self.took += finished.took;
            let exit = match judge(finished.end, &runners, &self.shell.broken_exits) {
                Judgement::Passes => true,
                Judgement::Fails => false,
                Judgement::Cancelled => return Err(VerifyError::Cancelled),
                Judgement::Breaks(why) => {
                    return Err(self.broken(match finished.end {
                        End::TimedOut => format!("{name}: {why} after {:.1?}", finished.took),
                        _ => format!("{name}: {why}"),
                    }));
                }
            };
            let report = file::read(&told.path());
            let mut counts = reader.counts();
            if let Ok(Some(Report { tests: Some(tests), .. })) = &report {
                counts.insert(Runner::File, *tests);
            }
            let against = match (&report, exit) {
                (Err(why), true) => return Err(self.broken(format!("{name}: its evidence file is malformed: {why}"))),
                (_, true) => self.against(command, report.as_ref().ok().and_then(Option::as_ref), &counts),
                (_, false) => None,
            };
            let (passed, tests) = (exit && against.is_none(), evidence::passed(&counts));
            self.parts.push(Part::new(*command, passed).with_tests(tests));
            self.said.push(((*command).to_owned(), Said { counts, whole: exit }));
            if let Some(against) = against {
                self.findings = report.ok().flatten().map(|report| report.findings).unwrap_or_default();
                return Ok(Some(format!("{name}: {against}")));
            }
            if !exit {
                let mut summary = describe(&name, &finished, tests);
                match report {
                    Ok(Some(report)) => {
                        summary.extend(report.summary.map(|says| format!(": {says}")));
                        self.findings = report.findings;
                    }
                    Ok(None) => {}
                    Err(why) => summary.push_str(&format!("; its evidence file is malformed: {why}")),
                }
                return Ok(Some(summary));
            }
        }
        Ok(None)
    }

    /// What speaks against a command that exited with 0.
    fn against(&self, command: &str, report: Option<&Report>, counts: &Counts) -> Option<String> {
        if let Some(report) = report {
            let failed = report.tests.map_or(0, |tests| tests.failed);
            if !report.passed || failed > 0 {
                let says = report.summary.clone().unwrap_or_else(|| match failed {
                    0 => "`passed` is false".to_owned(),
                    failed => format!("tests that failed: {failed}"),
                });
                return Some(format!("exit 0, but its evidence says otherwise: {says}"));
            }
        }
        let memory = self.memory.filter(|_| !switched_off(self.target.item.as_deref()))?;
        objection(memory.base(self.target, command).as_ref(), counts)
    }

    fn broken(&self, why: String) -> VerifyError {
        let evidence = Box::new(self.evidence(why.clone()));
        VerifyError::Broken { why, evidence }
    }

    async fn run(
        &self,
        command: &str,
        limit: Duration,
        told: &Told,
        reader: &mut TestReader,
    ) -> Result<Finished, VerifyError> {
        announce(self.log.path(), command).map_err(other)?;
        let process = Command::shell(command, &self.target.folder)
            .envs(self.shell.environment())
            .envs(self.target.env())
            .envs([("RALPH_EVIDENCE", told.path())])
            .mark(self.target.run.as_str());
        let limits = Limits {
            time: Some(limit),
            grace: self.shell.grace,
            output_bytes: self.shell.output_bytes,
            ..Limits::default()
        };
        let output = Output::merged(self.log.path());
        let on_line = |line: &str| {
            reader.line(line);
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
        evidence.tail = text::tail(self.log.path(), text::TAIL_MAX - self.findings.len());
        evidence.tail.push_str(&self.findings);
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
