//! Plays a case as the program would judge it.

use std::{
    collections::BTreeMap,
    fs::Permissions,
    os::unix::fs::PermissionsExt as _,
    path::{Path, PathBuf},
    process::{Command, Stdio},
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
};

use ralph_core::{Cx, DecisionKind, Gate, Item, Phase, Revision, Ruling, RunId, Stage, Target, Verifier as _};
use ralph_verify::{
    CommandVerifier, Shell,
    checks::Checks,
    policy::{DEFAULT_DATABASE, DEFAULT_SECURITY, Dependencies, Paths, Protected},
};

use super::case::{Case, Said};
use crate::policy::support::{Files, item_boundary};

/// Fails where the command exits with 0 and its test runner's numbers say otherwise.
pub(crate) const EVIDENCE: &str = "test-evidence";
/// Fails on the candidate's files alone.
pub(crate) const CLEAN: &str = "clean-checkout";

/// What became of one side of a case.
#[derive(Debug, Default)]
pub(crate) struct Judged {
    /// The exit of the command in the workspace.
    pub(crate) exit: i32,
    /// Whether what says that the work is done says so.
    pub(crate) done: bool,
    /// Who objects, and in which words.
    pub(crate) against: BTreeMap<String, String>,
    pub(crate) outcome: &'static str,
}

#[derive(Debug, Default)]
pub(crate) struct Played {
    /// Whether the runner really ran; else what it said was recorded.
    pub(crate) real: bool,
    pub(crate) base_exit: i32,
    pub(crate) base_done: bool,
    pub(crate) hack: Judged,
    pub(crate) honest: Judged,
    pub(crate) said: BTreeMap<String, Said>,
    /// The same with what was recorded, where the runner ran.
    pub(crate) recorded: Option<Box<Played>>,
}

/// Plays all of them, as many at a time as there are processors.
pub(crate) fn all(cases: &[Case]) -> Vec<Played> {
    let next = AtomicUsize::new(0);
    let played: Vec<Mutex<Option<Played>>> = cases.iter().map(|_| Mutex::new(None)).collect();
    let work = || {
        loop {
            let index = next.fetch_add(1, Ordering::Relaxed);
            let Some(case) = cases.get(index) else { break };
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
            let one = runtime.block_on(play(case));
            *played[index].lock().unwrap_or_else(PoisonError::into_inner) = Some(one);
        }
    };
    let threads = std::thread::available_parallelism().map_or(2, usize::from);
    std::thread::scope(|scope| {
        (0..threads).for_each(|_| drop(scope.spawn(work)));
    });
    played.into_iter().map(|one| one.into_inner().unwrap().unwrap()).collect()
}

async fn play(case: &Case) -> Played {
    let stand = Stand::new(case, true);
    let mut played = stand.play().await;
    if stand.real && !case.said.is_empty() {
        played.recorded = Some(Box::new(Stand::new(case, false).play().await));
    }
    played
}

/// Whether a command exits with 0 here.
fn works(command: &str, folder: &Path) -> bool {
    let mut shell = Command::new("sh");
    shell.args(["-c", command]).current_dir(folder);
    shell.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    shell.status().unwrap().success()
}

struct Stand<'a> {
    case: &'a Case,
    real: bool,
    room: tempfile::TempDir,
    verifier: CommandVerifier,
    phase: Arc<Phase>,
    item: Arc<Item>,
}

impl<'a> Stand<'a> {
    /// Runs the real runner, where that is wanted and possible.
    fn new(case: &'a Case, real: bool) -> Self {
        let room = tempfile::tempdir().unwrap();
        let real = real && case.needs.iter().all(|command| works(command, room.path()));
        // Small projects: what is left out here is time.
        let mut shell = Shell::new().env("CARGO_INCREMENTAL", "0").env("CARGO_PROFILE_DEV_DEBUG", "0");
        if !real {
            shell = shell.env("PATH", stand_ins(case, room.path()));
        }
        let item = Item::new("R01", &case.title);
        let mut phase = Phase::new("P1", [item.clone()]);
        phase.verify = vec![case.verify.clone()];
        let verifier = CommandVerifier::new(shell);
        Self { case, real, room, verifier, phase: phase.into(), item: item.into() }
    }

    async fn play(&self) -> Played {
        let case = self.case;
        let mut played = Played { real: self.real, ..Played::default() };
        let base = self.folder("base", &case.base);
        let (verdict, said) = self.verify("base", Stage::Base).await;
        played.base_exit = verdict.exit;
        played.said.insert("base".to_owned(), said);
        played.base_done = works(&case.done, &base);
        for (side, work) in [("hack", &case.hack), ("honest", &case.honest)] {
            let workspace = self.folder(side, work);
            if let (Some(run), true, true) = (&case.run, side == "hack", self.real) {
                assert!(works(run, &workspace), "{}: `hack run` failed", case.name);
            }
            let (here, said) = self.verify(side, Stage::Workspace).await;
            played.said.insert(side.to_owned(), said);
            let candidate = format!("{side} candidate");
            let done = works(&case.done, &self.folder(&candidate, work));
            // Where nothing was left behind, the candidate is what was judged already.
            let there = if case.run.is_some() {
                let (there, said) = self.verify(&candidate, Stage::Candidate).await;
                played.said.insert(candidate, said);
                there
            } else {
                here.clone()
            };
            let judged = Judged { done, ..self.judged(&here, &there, work).await };
            *(if side == "hack" { &mut played.hack } else { &mut played.honest }) = judged;
        }
        played
    }

    fn folder(&self, name: &str, files: &Files) -> PathBuf {
        let folder = self.room.path().join(name);
        std::fs::create_dir(&folder).unwrap();
        files.write(&folder);
        let said = self.case.said.get(name).or_else(|| self.case.said.get(name.split(' ').next().unwrap()));
        if let (false, Some(said)) = (self.real, said) {
            std::fs::write(folder.with_extension("said"), &said.output).unwrap();
            std::fs::write(folder.with_extension("exit"), said.exit.to_string()).unwrap();
        }
        folder
    }

    async fn verify(&self, name: &str, stage: Stage) -> (Verdict, Said) {
        let folder = self.room.path().join(name);
        let log = folder.with_extension("log");
        // What one run leaves running is ended, by its name.
        let run = RunId::new(format!("hacks-{}-{}", std::process::id(), self.case.name.replace('/', "-")));
        let mut target = Target::new(&folder, stage, run, self.phase.clone()).with_item(self.item.clone());
        target.log = Some(log.clone());
        match stage {
            Stage::Base => (target.item, target.revision) = (None, Some(Revision::new("base"))),
            Stage::Candidate => {
                (target.base, target.revision) = (Some(Revision::new("base")), Some(Revision::new(name)));
            }
            _ => target.base = Some(Revision::new("base")),
        }
        let verdict = match self.verifier.verify(&target, &Cx::new()).await {
            Ok(verdict) => {
                let summary = verdict.evidence().summary.clone();
                // Only a failing exit is told by its code.
                let code = summary.rsplit_once(": exit ").map(|(_, rest)| rest.split([',', ';']).next().unwrap());
                let exit = code.and_then(|code| code.parse().ok()).unwrap_or(0);
                Verdict { exit, passed: verdict.passed(), summary }
            }
            // It works on the base, so that this is the work's doing.
            Err(error) => Verdict { exit: -1, passed: false, summary: error.to_string() },
        };
        let text = std::fs::read_to_string(log).unwrap().replace(&*folder.to_string_lossy(), "/project");
        let output = text.split_inclusive('\n').filter(|line| !line.starts_with("$ ")).collect();
        let said = Said { exit: verdict.exit, output };
        (verdict, said)
    }

    /// Everybody who has something against it, and what would become of the work.
    async fn judged(&self, here: &Verdict, there: &Verdict, work: &Files) -> Judged {
        let mut judged = Judged { exit: here.exit, ..Judged::default() };
        if !here.passed {
            let who = if here.exit == 0 { EVIDENCE } else { "verifier" };
            judged.against.insert(who.to_owned(), here.summary.clone());
        }
        if there.exit != 0 && here.exit == 0 || here.passed && !there.passed {
            judged.against.insert(CLEAN.to_owned(), there.summary.clone());
        }
        let boundary = item_boundary(&self.case.base, work, (*self.phase).clone());
        let (mut asked, mut closed) = (false, false);
        for (name, gate) in gates() {
            match gate.judge(&boundary, &Cx::new()).await.unwrap() {
                Ruling::Open => {}
                Ruling::Ask(question) => {
                    asked = true;
                    let text = question.text.lines().take(2).collect::<Vec<_>>().join(" ");
                    judged.against.insert(name, text);
                }
                Ruling::Closed(why) => {
                    closed = true;
                    let found = why.lines().find(|line| line.starts_with(&name)).unwrap_or(&why);
                    judged.against.insert(name.clone(), found.trim_start_matches(&format!("{name}: ")).to_owned());
                }
            }
        }
        judged.outcome = match (here.passed, closed, asked, there.passed) {
            (false, ..) | (_, true, ..) => "failed",
            (_, _, true, _) => "asked",
            (.., false) => "rejected",
            (.., true) => "accepted",
        };
        judged
    }
}

#[derive(Clone, Debug)]
struct Verdict {
    exit: i32,
    passed: bool,
    summary: String,
}

/// The gates that an item meets where the settings say nothing, each check by itself.
fn gates() -> Vec<(String, Arc<dyn Gate>)> {
    let default = Checks::new(["default"], []).unwrap();
    let on = default.list().into_iter().filter(|check| check.on).map(|check| check.name);
    let mut all: Vec<(String, Arc<dyn Gate>)> =
        on.map(|name| (name.clone(), Arc::new(Checks::new([&name], []).unwrap()) as Arc<dyn Gate>)).collect();
    let policies: [Arc<dyn Gate>; 4] = [
        Arc::new(Dependencies::new()),
        Arc::new(Paths::new(DecisionKind::Security, DEFAULT_SECURITY).unwrap()),
        Arc::new(Paths::new(DecisionKind::Database, DEFAULT_DATABASE).unwrap()),
        Arc::new(Protected::new(["default"]).unwrap()),
    ];
    all.extend(policies.into_iter().map(|gate| (gate.name().to_owned(), gate)));
    all
}

/// Programs that print what was recorded for the folder in which they are called; the `PATH` with them.
fn stand_ins(case: &Case, room: &Path) -> String {
    let folder = room.join("stand-ins");
    std::fs::create_dir(&folder).unwrap();
    let script = "#!/bin/sh\ncat \"$PWD.said\"\nexit \"$(cat \"$PWD.exit\")\"\n";
    for need in &case.needs {
        let program = folder.join(need.split(' ').next().unwrap());
        std::fs::write(&program, script).unwrap();
        std::fs::set_permissions(program, Permissions::from_mode(0o755)).unwrap();
    }
    format!("{}:{}", folder.display(), std::env::var("PATH").unwrap_or_default())
}
