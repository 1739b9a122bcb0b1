//! `ralph btw`: the questions of every known project, and the answers to them.

mod ask;
mod desk;
mod page;

use std::{collections::BTreeSet, path::Path};

use ralph_core::DecisionId;
use serde::Serialize;

pub(crate) use self::{desk::place, page::question};

use self::desk::{Desk, Desktop, Given};
use crate::{args, error::CliError, operator, output, report::SCHEMA_VERSION};

pub(crate) async fn btw(directory: &Path, args: &args::Btw) -> Result<u8, CliError> {
    let desk = Desk::open(directory)?;
    if let Some(project) = &args.forget {
        operator::not_from_a_session(desk.ledgers(), "forget a project")?;
        return desk.forget(project);
    }
    let given = if args.answer.is_empty() {
        if args.json || !ask::is_possible() {
            if args.resume {
                operator::not_from_a_session(desk.ledgers(), "resume")?;
            }
            if args.json {
                output::print_json(&page::document(&desk))?;
            } else {
                output::print(&page::page(&desk))?;
            }
            return if args.resume { resume(&desk, &[], args).await } else { Ok(0) };
        }
        operator::not_from_a_session(desk.ledgers(), "answer")?;
        ask::ask(&desk, &operator::name(args.by.as_deref())).await?
    } else {
        operator::not_from_a_session(desk.ledgers(), "answer")?;
        let by = operator::name(args.by.as_deref());
        let meant = args.answer.iter().map(|text| desk.understand(text)).collect::<Result<Vec<_>, _>>()?;
        refuse_twice(&meant)?;
        let mut given = Vec::new();
        for (project, id, said) in meant {
            given.push(desk.answer(project, &id, &said, &by).await?);
        }
        report(&given, args.json)?;
        if !args.json && !args.resume && !ask::is_possible() && given.iter().any(|given| !given.live) {
            let plans: BTreeSet<String> = desk.resumable(&given, false).iter().map(desk::Resumable::again).collect();
            for again in plans {
                output::print(&format!("`{again}` goes on.\n"))?;
            }
        }
        given
    };
    resume(&desk, &given, args).await
}

/// One question has one answer: two of them are refused before either is given.
fn refuse_twice(meant: &[(&Desktop, DecisionId, String)]) -> Result<(), CliError> {
    for (index, (project, id, _)) in meant.iter().enumerate() {
        if meant.iter().take(index).any(|(other, before, _)| other.root == project.root && before == id) {
            return Err(CliError::usage(format!("{}:{id} is answered twice here: say one of the two", project.name)));
        }
    }
    Ok(())
}

/// What was done, as one JSON document or as lines.
fn report(given: &[Given], json: bool) -> Result<(), CliError> {
    #[derive(Serialize)]
    struct Document<'a> {
        schema_version: u32,
        answered: &'a [Given],
    }
    if json {
        return output::print_json(&Document { schema_version: SCHEMA_VERSION, answered: given });
    }
    given.iter().try_for_each(|given| output::print(&given.line()))
}

/// Takes up the runs of the projects that were answered, where that is wanted.
async fn resume(desk: &Desk, given: &[Given], args: &args::Btw) -> Result<u8, CliError> {
    let mut code = 0;
    for resumable in desk.resumable(given, args.resume) {
        let wanted = args.resume || (!args.json && ask::resume(&resumable.project.name)?);
        if wanted {
            anstream::eprintln!("resuming {}", resumable.project.name);
            let how = args::How { json: args.json, ..args::How::default() };
            let run = args::Run { plan: resumable.plan, how, ..args::Run::default() };
            code = Box::pin(super::run::run(&resumable.project.root, &run)).await?;
        }
    }
    Ok(code)
}

/// An id as it is written.
fn id(text: &str) -> DecisionId {
    DecisionId::new(text.trim().to_ascii_uppercase())
}
