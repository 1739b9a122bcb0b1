//! Plays the person: what one would do with `ralph approve`, `retry` and `btw`, by the same code.

use std::{fs, time::SystemTime};

use ralph_core::{
    ItemStatus, chain,
    ledger::{FileDecisions, Holder, LedgerLock},
};

use super::{
    narrator::{command, output},
    script::{ANSWERS, OPERATOR, REPAIR, REPAIRED},
    stage::Stage,
};
use crate::{
    answers,
    commands::{btw, mark},
    error::CliError,
    plan::PlanFile,
};

/// Signs the plan.
pub(super) fn approve(stage: &Stage) -> Result<(), CliError> {
    command(&format!("ralph approve --by {OPERATOR}"));
    let plan = PlanFile::open(&stage.project, &stage.plan, &stage.settings.verify);
    let plan = plan.approved(&stage.project, &stage.settings)?;
    let Some(approved) = plan.approval() else {
        return Err(CliError::fault("the demo's plan is no Master Plan"));
    };
    let (read, _) = approved.check().map_err(|error| CliError::plan(&error))?;
    let by = approved
        .approvals()
        .approve(plan.path(), OPERATOR, &approved.coverage(&read), SystemTime::now())
        .map_err(|error| CliError::plan(&error))?;
    output(&format!("Approved-By: {}, {} ({})", by.who, by.date, by.hash.unwrap_or_default()));
    Ok(())
}

/// Adds a line to the item that was blocked, and opens it again.
pub(super) async fn repair(stage: &Stage) -> Result<(), CliError> {
    let (file, below, line) = REPAIR;
    let prd = stage.project.ledger.root().join(file);
    command(&format!("edit {}", stage.project.relative(&prd)));
    output(&format!("+ {}", line.trim_start()));
    let fail = |error: std::io::Error| CliError::failed("the demo's PRD", &error);
    let text = fs::read_to_string(&prd).map_err(fail)?;
    fs::write(&prd, text.replacen(below, &format!("{below}{line}"), 1)).map_err(fail)?;

    command(&format!("ralph retry {REPAIRED}"));
    let plan = PlanFile::open(&stage.project, &stage.plan, &stage.settings.verify);
    output(&mark::write(&stage.project, &plan, &[REPAIRED.to_owned()], ItemStatus::Open).await?);
    Ok(())
}

/// Answers every question that waits.
pub(super) async fn answer(stage: &Stage) -> Result<(), CliError> {
    let Stage { project, settings, .. } = stage;
    let decisions = FileDecisions::new(project.ledger.clone());
    let pending = answers::pending(&project.ledger, &decisions, &stage.info.plan)?;
    let name = stage.name();
    command("ralph btw");
    let mut call = "ralph btw".to_owned();
    let mut given = Vec::new();
    for queued in &pending {
        output(&btw::question(&name, queued));
        let place = btw::place(queued);
        let Some((_, said)) = ANSWERS.iter().find(|(known, _)| *known == place) else {
            return Err(CliError::fault(format!("nobody expected the question {} about {place}", queued.id)));
        };
        call.push_str(&format!(" --answer {}={said}", queued.id));
        given.push((queued, place, said));
    }
    command(&call);
    let holder = Holder::this_process("ralph demo", None, SystemTime::now());
    let _lock = LedgerLock::take(&project.ledger, &holder).map_err(|error| CliError::refused(&error))?;
    for (queued, place, said) in given {
        let answer = decisions
            .answer(&queued.id, said, OPERATOR, SystemTime::now())
            .map_err(|error| CliError::fault(format!("{}: {}", queued.id, chain(&error))))?;
        output(&format!("{name}:{} {place}: {}", queued.id, answer.reply.text()));
    }
    let notes = answers::settle(project, settings, &decisions).await?;
    notes.iter().for_each(|note| output(note));
    Ok(())
}
