//! `ralph check`: reads settings and PRD as a run would, and says what is wrong or odd.

use std::path::{Path, PathBuf};

use ralph_core::{
    Cx, Item, ItemStatus, Phase, PlanError, chain,
    ledger::{MarkdownPrd, NoteKind},
    printable,
};
use ralph_vcs::GitVcs;
use ralph_verify::lint::{Lint, lint_command, lint_item};
use serde::Serialize;

use crate::{
    args,
    error::CliError,
    output,
    plan::Configured,
    project::Project,
    report::{SCHEMA_VERSION, count},
    settings::{self, Settings},
    wire,
};

/// All that was found.
#[derive(Debug, Serialize)]
struct Report {
    schema_version: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    plan: Option<String>,
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
}

impl Found {
    fn new(kind: &'static str, text: impl Into<String>) -> Self {
        Self { kind, file: None, line: None, item: None, text: text.into() }
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
    let mut report = Report { schema_version: SCHEMA_VERSION, plan: None, problems: Vec::new(), notes: Vec::new() };
    let mut looking = Looking { project: &project, report: &mut report };
    let settings = looking.settings(&args.overrides.set);
    let read = match project.prd(args.plan.as_deref()) {
        Ok(prd) => looking.plan(prd, settings.as_ref()),
        Err(error) => {
            looking.problem(Found::new("plan", error.to_string()));
            None
        }
    };
    if let Some(settings) = &settings {
        looking.agent(settings);
        if let Some((prd, phase)) = &read {
            looking.git(settings, prd, phase).await;
        }
    }
    for list in [&mut report.problems, &mut report.notes] {
        // In the order of the file; what has no line comes last.
        list.sort_by_key(|found| found.line.unwrap_or(usize::MAX));
    }
    if args.json {
        output::print_json(&report)?;
    } else {
        output::print(&page(&report, read.as_ref().map(|(_, phase)| phase)))?;
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
                let text = self.shorten(&error.to_string());
                self.problem(Found::new("settings", text));
                None
            }
        }
    }

    /// Reads the PRD, with the settings where there are any.
    fn plan(&mut self, prd: PathBuf, settings: Option<&Settings>) -> Option<(PathBuf, Phase)> {
        let file = self.project.relative(&prd);
        self.report.plan = Some(file.clone());
        let source = MarkdownPrd::open(&prd);
        let own_verifier = source.read().is_ok_and(|read| !read.phase.verify.is_empty());
        let read = match settings {
            Some(settings) => Configured::new(source, &settings.verify).read(),
            // What the settings would have added cannot be missed.
            None => source.read().map(|read| (read.phase, read.notes)),
        };
        let (phase, notes) = match read {
            Ok(read) => read,
            Err(PlanError::Invalid(findings)) => {
                for finding in findings {
                    let found = self.placed("plan", &finding, &prd);
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
        for note in notes {
            self.note(Found::new(note_kind(note.kind), note.text).at(&file, note.line));
        }
        let settings_file = self.project.relative(&self.project.settings());
        let place = if own_verifier { &file } else { &settings_file };
        for lint in phase.verify.iter().flat_map(|command| lint_command(command)) {
            self.note(Found::new(lint.kind.name(), lint.text).at(place, 0));
        }
        for item in phase.items.iter().filter(|item| item.status != ItemStatus::Done) {
            for Lint { kind, text, .. } in lint_item(item) {
                self.note(Found::new(kind.name(), text).at(&file, item.line).of(item));
            }
        }
        self.without_own_verifier(&phase, &file);
        Some((prd, phase))
    }

    /// Under a verifier that is green before any work, any change passes.
    fn without_own_verifier(&mut self, phase: &Phase, file: &str) {
        let open = phase.items.iter().filter(|item| item.status == ItemStatus::Open);
        let without: Vec<&str> = open.filter(|item| item.verify.is_empty()).map(|item| item.id.as_str()).collect();
        let [first, rest @ ..] = without.as_slice() else { return };
        let names = match rest.len() {
            0 => format!("{first} has"),
            1..=5 => format!("{}, {} have", first, rest.join(", ")),
            more => format!("{first} and {more} more have"),
        };
        let text = format!(
            "{names} no `Verify:` of {}: if {} passes before any work, any change at all passes",
            if rest.is_empty() { "its own" } else { "their own" },
            quoted(&phase.verify)
        );
        self.note(Found::new("common-verifier", text).at(file, 0));
    }

    fn agent(&mut self, settings: &Settings) {
        let looked =
            wire::agent(settings, self.project).and_then(|agent| wire::refuse_blind_budgets(settings, &*agent));
        if let Err(error) = looked {
            self.problem(Found::new("agent", error.to_string()));
        }
    }

    async fn git(&mut self, settings: &Settings, prd: &Path, phase: &Phase) {
        let info = super::run::info(self.project, settings, prd, phase);
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

fn page(report: &Report, phase: Option<&Phase>) -> String {
    let mut page = String::new();
    if let (Some(plan), Some(phase)) = (&report.plan, phase) {
        let open = phase.items.iter().filter(|item| item.status == ItemStatus::Open).count();
        let items = count(phase.items.len() as u64, "item");
        let by =
            if phase.verify.is_empty() { String::new() } else { format!(", checked by {}", quoted(&phase.verify)) };
        page.push_str(&format!("{plan}: {items}, {open} open{}\n\n", printable(&by)));
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
