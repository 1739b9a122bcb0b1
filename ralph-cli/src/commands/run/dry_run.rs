//! `ralph run --dry-run`: what would happen, at no cost.

use std::{path::PathBuf, sync::Arc};

use ralph_core::{ItemStatus, Phase, PromptInput, printable};

use super::{Prepared, note};
use crate::{error::CliError, looping::Loop, output, report, settings, wire};

/// Prints the next item, the prompt, the verifier, the budget and the branch.
pub(super) fn dry_run(prepared: &Prepared) -> Result<(), CliError> {
    let Prepared { settings, read, info, notes, looped, .. } = prepared;
    notes.iter().for_each(|text| note(text));
    let open = |phase: &Arc<Phase>| {
        let item = phase.items.iter().find(|item| item.status == ItemStatus::Open)?;
        Some((Arc::clone(phase), Arc::clone(item)))
    };
    let Some((phase, item)) = read.plan.phases.iter().find_map(open) else {
        return output::print(&format!("No item of {} is open.\n", info.plan));
    };
    let learnings = ralph_core::ledger::learnings(&prepared.project.ledger);
    let mut input = PromptInput::new(&phase, &item);
    input.learnings = &learnings;
    let prompt = wire::prompt(settings, &prepared.project, looped)?;
    let budget = settings.budget();
    let own: PathBuf = wire::sites(settings, &prepared.project)?;
    let mut rows = vec![
        ("next item", format!("{}: {}", item.id, item.title)),
        ("branch", info.branch.clone()),
        ("workspaces", own.display().to_string()),
        (
            "agent",
            format!("{}, {} a session", prepared.agent.agent.name(), settings::show_duration(settings.agent.timeout)),
        ),
        ("tier", settings.agent.tiers.tiering().of(&phase, &item, 1).to_string()),
    ];
    rows.extend(prepared.agent.asides().into_iter().map(|(what, who)| (what, who.to_owned())));
    rows.extend(phase.setup.iter().map(|command| ("set-up", command.clone())));
    rows.extend(phase.env_check.iter().map(|command| ("env check", command.clone())));
    rows.extend(item.verify.iter().chain(&phase.verify).map(|command| ("verifier", command.clone())));
    rows.extend(phase.auto_gate.iter().map(|command| ("auto-gate", command.clone())));
    rows.extend(phase.manual_gate.iter().map(|what| ("manual-gate", what.clone())));
    if let Loop::Every { until: Some(until), .. } = looped {
        rows.push(("until", until.clone()));
    }
    let mut limits = vec![
        report::count(budget.iterations, if *looped == Loop::Plan { "item" } else { "iteration" }),
        report::count(budget.sessions, "session"),
        settings::show_duration(budget.time),
    ];
    limits.extend(budget.cost.map(|cost| cost.to_string()));
    limits.extend(budget.tokens.map(|tokens| report::count(tokens, "token")));
    rows.push(("budget", limits.join(", ")));
    let rows: String = rows.iter().map(|(what, text)| format!("{what:<11} {}\n", printable(text))).collect();
    output::print(&format!("{rows}\n{}\n", printable_lines(&prompt.render(&input))))
}

fn printable_lines(text: &str) -> String {
    text.lines().map(printable).collect::<Vec<_>>().join("\n")
}
