//! `ralph check`: reads settings and PRD as a run would, and says what is wrong or odd.

mod calibrate;
mod list;
mod sources;

use std::{
    collections::BTreeSet,
    path::{Path, PathBuf},
    sync::Arc,
};

use ralph_core::{Cx, Item, ItemStatus, Phase, PlanError, chain, ledger::NoteKind, printable};
use ralph_vcs::GitVcs;
use ralph_verify::lint::{Lint, lint_command, lint_item};
use serde::Serialize;

pub(crate) use self::calibrate::FOLDER as CALIBRATION;
use self::sources::Sources;
use crate::{
    args,
    error::CliError,
    output,
    plan::{PlanFile, ReadPlan},
    project::Project,
    report::{SCHEMA_VERSION, count},
    settings::{self, Policy, Settings},
    wire,
};

/// All that was found.
#[derive(Debug, Serialize)]
struct Report {
    schema_version: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    plan: Option<String>,
    /// What a person is asked about whatever the agent says.
    #[serde(skip_serializing_if = "Option::is_none")]
    policies: Option<String>,
    /// What a run would be refused for.
    problems: Vec<Found>,
    /// What stops nothing.
    notes: Vec<Found>,
}

/// Something that was found, with its place where it has one.
#[derive(Debug, Serialize)]
struct Found {
    kind: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    file: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    line: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    item: Option<String>,
    text: String,
    /// The items that it is about, where they are several.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    items: Vec<Place>,
}

/// An item, and its line.
#[derive(Debug, Serialize)]
struct Place {
    item: String,
    line: usize,
}

impl Found {
    fn new(kind: &'static str, text: impl Into<String>) -> Self {
        Self { kind, file: None, line: None, item: None, text: text.into(), items: Vec::new() }
    }

    fn at(mut self, file: &str, line: usize) -> Self {
        self.file = Some(file.to_owned());
        self.line = Some(line).filter(|line| *line > 0);
        self
    }

    fn of(mut self, item: &Item) -> Self {
        self.item = Some(item.id.to_string());
        self
    }

    /// `file:line: item: text`
    fn render(&self) -> String {
        let mut text = String::new();
        if let Some(file) = &self.file {
            text.push_str(file);
            if let Some(line) = self.line {
                text.push_str(&format!(":{line}"));
            }
            text.push_str(": ");
        }
        if let Some(item) = &self.item {
            text.push_str(&format!("{item}: "));
        }
        text.push_str(&self.text);
        text.split('\n').map(printable).collect::<Vec<_>>().join("\n    ")
    }
}

pub(crate) async fn check(directory: &Path, args: &args::Check) -> Result<u8, CliError> {
    let project = Project::find(directory)?;
    if args.list {
        return list::list(&project, args);
    }
    if let Some(runs) = args.calibrate {
        return calibrate::calibrate(&project, args, runs).await;
    }
    let mut report =
        Report { schema_version: SCHEMA_VERSION, plan: None, policies: None, problems: Vec::new(), notes: Vec::new() };
    let mut looking = Looking { project: &project, report: &mut report };
    let settings = looking.settings(&args.overrides.set);
    let read = match project.plan(args.plan.as_deref()) {
        Ok(path) => looking.plan(path, settings.as_ref()),
        Err(error) => {
            looking.problem(Found::new("plan", error.to_string()));
            None
        }
    };
    if let Some(settings) = &settings {
        looking.agent(settings);
        looking.policies(settings);
        looking.checks(settings, read.as_ref());
        if let Some((path, read)) = &read {
            looking.git(settings, path, read).await;
        }
    }
    for list in [&mut report.problems, &mut report.notes] {
        // In the order of the files; what has no line comes last.
        list.sort_by(|a, b| {
            let place = |found: &Found| (found.line.is_none(), found.file.clone(), found.line);
            place(a).cmp(&place(b))
        });
    }
    if args.json {
        output::print_json(&report)?;
    } else {
        output::print(&page(&report, read.as_ref().map(|(_, read)| read)))?;
    }
    Ok(if report.problems.is_empty() { 0 } else { 2 })
}

struct Looking<'a> {
    project: &'a Project,
    report: &'a mut Report,
}

impl Looking<'_> {
    fn problem(&mut self, found: Found) {
        self.report.problems.push(found);
    }

    fn note(&mut self, found: Found) {
        self.report.notes.push(found);
    }

    fn settings(&mut self, flags: &[String]) -> Option<Settings> {
        match settings::load(&self.project.settings(), flags) {
            Ok(loaded) => Some(loaded.settings),
            Err(error) => {
                let found = self.placed("settings", &error.to_string(), &self.project.settings());
                self.problem(found);
                None
            }
        }
    }

    /// Reads the plan, with the settings where there are any.
    fn plan(&mut self, path: PathBuf, settings: Option<&Settings>) -> Option<(PathBuf, ReadPlan)> {
        let file = self.project.relative(&path);
        self.report.plan = Some(file.clone());
        let verify = settings.map(|settings| settings.verify.clone()).unwrap_or_default();
        let mut plan = PlanFile::open(self.project, &path, &verify);
        if let Some(settings) = settings {
            plan = match plan.approved(self.project, settings) {
                Ok(plan) => plan,
                Err(error) => {
                    self.problem(Found::new("runs", error.to_string()));
                    return None;
                }
            };
        }
        let read = match plan.read() {
            Ok(read) => read,
            // What the settings would have added cannot be missed.
            Err(PlanError::Invalid(_)) if settings.is_none() => return None,
            Err(PlanError::Invalid(findings)) => {
                for finding in findings {
                    let found = self.placed("plan", &finding, &path);
                    self.problem(found);
                }
                return None;
            }
            Err(error) => {
                let text = self.shorten(&chain(&error));
                self.problem(Found::new("plan", text));
                return None;
            }
        };
        for (of, note) in &read.notes {
            let of = self.project.relative(of);
            self.note(Found::new(note_kind(note.kind), note.text.clone()).at(&of, note.line));
        }
        if let Err(error) = plan.check_approval() {
            let found = self.placed("approval", &chain(&error), &path);
            self.problem(found);
        }
        // Phases may share a command.
        let mut told = BTreeSet::new();
        for phase in &read.plan.phases {
            let prd = plan.prd_of(&phase.id, read.master.as_ref());
            let sources = Sources::of(self.project, &path, Path::new(&prd), phase);
            let prd = self.project.relative(Path::new(&prd));
            for command in &phase.verify {
                let (file, line) = sources.of_verifier(command);
                if !told.insert((file.clone(), line, command)) {
                    continue;
                }
                for lint in lint_command(command) {
                    self.note(Found::new(lint.kind.name(), lint.text).at(&file, line));
                }
            }
            for command in &phase.auto_gate {
                let line = sources.of_gate(command);
                for lint in lint_command(command) {
                    self.note(Found::new(lint.kind.name(), format!("{}: {}", phase.id, lint.text)).at(&file, line));
                }
            }
            for item in phase.items.iter().filter(|item| item.status != ItemStatus::Done) {
                for Lint { kind, text, .. } in lint_item(item) {
                    self.note(Found::new(kind.name(), text).at(&prd, item.line).of(item));
                }
            }
            self.without_own_verifier(phase, &prd);
        }
        Some((path, read))
    }

    fn policies(&mut self, settings: &Settings) {
        if let Err(error) = wire::policies(settings) {
            self.problem(Found::new("settings", error.to_string()));
        }
        self.report.policies = Some(policies(&settings.policy));
    }

    /// Names of checks that are none, in the settings and at items.
    fn checks(&mut self, settings: &Settings, read: Option<&(PathBuf, ReadPlan)>) {
        let checks = match wire::checks(settings) {
            Ok(checks) => checks,
            Err(error) => return self.problem(Found::new("settings", error.to_string())),
        };
        let Some((path, read)) = read else { return };
        let plan = PlanFile::open(self.project, path, &settings.verify);
        for (file, item, why) in wire::bad_checks(&checks, &plan, read) {
            let file = self.project.relative(Path::new(&file));
            self.problem(Found::new("checks", why).at(&file, item.line).of(item));
        }
    }

    /// Under a verifier that is green before any work, any change passes.
    fn without_own_verifier(&mut self, phase: &Phase, file: &str) {
        let open = phase.items.iter().filter(|item| item.status == ItemStatus::Open);
        let without: Vec<&Arc<Item>> = open.filter(|item| item.verify.is_empty()).collect();
        let [first, rest @ ..] = without.as_slice() else { return };
        let named = |item: &&Arc<Item>| format!("{} (line {})", item.id, item.line);
        let names = match rest.len() {
            0 => format!("{} has", first.id),
            1..=5 => format!("{}, {} have", first.id, rest.iter().map(named).collect::<Vec<_>>().join(", ")),
            more => format!("{} and {more} more have", first.id),
        };
        let text = format!(
            "{names} no `Verify:` of {}: if {} passes before any work, any change at all passes",
            if rest.is_empty() { "its own" } else { "their own" },
            quoted(&phase.verify)
        );
        let mut found = Found::new("common-verifier", text).at(file, first.line);
        found.items = without.iter().map(|item| Place { item: item.id.to_string(), line: item.line }).collect();
        self.note(found);
    }

    fn agent(&mut self, settings: &Settings) {
        let looked =
            wire::agent(settings, self.project).and_then(|agent| wire::refuse_what_it_cannot(settings, &*agent.agent));
        if let Err(error) = looked {
            self.problem(Found::new("agent", error.to_string()));
        }
    }

    async fn git(&mut self, settings: &Settings, path: &Path, read: &ReadPlan) {
        let info = crate::commands::run::info(self.project, settings, path, read);
        let opened = match wire::git(settings, self.project, &info.branch) {
            Ok(options) => GitVcs::open(options).await.map_err(|error| chain(&error)),
            Err(error) => Err(error.to_string()),
        };
        let found = match opened {
            Ok(vcs) => vcs.preflight(&Cx::new()).await.map_err(|error| chain(&error)),
            Err(error) => Err(error),
        };
        match found {
            Ok(found) => {
                found.refusals.into_iter().for_each(|text| self.problem(Found::new("git", text)));
                found.notes.into_iter().for_each(|text| self.note(Found::new("git", text)));
            }
            Err(text) => self.problem(Found::new("git", text)),
        }
    }

    /// A finding that begins with its place.
    fn placed(&self, kind: &'static str, text: &str, file: &Path) -> Found {
        let rest = text.strip_prefix(&format!("{}:", file.display()));
        let placed = rest.and_then(|rest| {
            let (line, text) = rest.split_once(": ")?;
            Some(Found::new(kind, text).at(&self.project.relative(file), line.parse().ok()?))
        });
        placed.unwrap_or_else(|| Found::new(kind, self.shorten(text)))
    }

    /// Paths in `text` as people of this project write them.
    fn shorten(&self, text: &str) -> String {
        text.replace(&format!("{}/", self.project.root.display()), "")
    }
}

fn note_kind(kind: NoteKind) -> &'static str {
    match kind {
        NoteKind::NotCounted => "not-counted",
        NoteKind::Unknown => "unknown-mark",
        NoteKind::Disagrees => "disagrees",
        NoteKind::Invisible => "invisible",
        NoteKind::Scaffold => "scaffold",
        NoteKind::Key => "key",
        NoteKind::AllDone => "all-done",
        _ => "note",
    }
}

fn quoted(commands: &[String]) -> String {
    let commands: Vec<String> = commands.iter().map(|command| format!("`{command}`")).collect();
    commands.join(" and ")
}

/// The policies in one line.
fn policies(policy: &Policy) -> String {
    let globs = |globs: &[String]| match globs.len() {
        0 => "none configured".to_owned(),
        some => count(some as u64, "glob"),
    };
    format!(
        "dependencies: {}; security: {}; database: {}; public API: {}; protected: {}",
        policy.dependencies.name(),
        globs(&policy.security),
        globs(&policy.database),
        globs(&policy.public_api),
        match policy.protected.iter().any(|entry| entry == "default") {
            true if policy.protected.len() == 1 => "the default list".to_owned(),
            true => format!("the default list and {}", globs(&policy.protected[1..])),
            false => format!("{} (the default list is off)", globs(&policy.protected)),
        }
    )
}

fn page(report: &Report, read: Option<&ReadPlan>) -> String {
    let mut page = String::new();
    if let (Some(name), Some(read)) = (&report.plan, read) {
        let phases = &read.plan.phases;
        let all = || phases.iter().flat_map(|phase| &phase.items);
        let open = all().filter(|item| item.status == ItemStatus::Open).count();
        let items = count(all().count() as u64, "item");
        let in_phases = match phases.len() {
            1 => String::new(),
            several => format!(" in {several} phases"),
        };
        let common: BTreeSet<&String> = phases.iter().flat_map(|phase| &phase.verify).collect();
        let by = match common.len() {
            0 => String::new(),
            _ => format!(", checked by {}", quoted(&common.into_iter().cloned().collect::<Vec<_>>())),
        };
        page.push_str(&format!("{name}: {items}{in_phases}, {open} open{}\n", printable(&by)));
        let policies = report.policies.as_deref().unwrap_or("unknown");
        page.push_str(&format!("policies: {}\n\n", printable(policies)));
    }
    for (mark, list) in [("✗", &report.problems), ("⚠", &report.notes)] {
        list.iter().for_each(|found| page.push_str(&format!("{mark} {}\n", found.render())));
    }
    let (problems, notes) = (report.problems.len() as u64, report.notes.len() as u64);
    page.push_str(&match (problems, notes) {
        (0, 0) => "✓ Nothing is wrong or odd; `ralph run` would begin.\n".to_owned(),
        (0, notes) => format!("\n{} to think about; `ralph run` would begin.\n", count(notes, "note")),
        (problems, _) => format!("\n{} to put right; `ralph run` would not begin.\n", count(problems, "problem")),
    });
    page
}
