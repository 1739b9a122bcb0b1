//! One file for each command.

mod approve;
pub(crate) mod btw;
mod check;
mod clean;
mod demo;
mod diff;
mod doctor;
mod goal;
mod hook;
mod init;
mod log;
pub(crate) mod mark;
pub(crate) mod run;
mod status;
mod stop;

use std::time::SystemTime;

use crate::{
    args::{Args, Command},
    error::CliError,
};

/// Runs the command; its exit code.
pub(crate) async fn dispatch(args: Args) -> Result<u8, CliError> {
    let directory = args.directory;
    match args.command {
        Command::Run(args) => run::run(&directory, &args).await,
        Command::Goal(args) => goal::goal(&directory, &args).await,
        Command::Every(args) => goal::every(&directory, &args).await,
        Command::Btw(args) => btw::btw(&directory, &args).await,
        Command::Approve(args) => approve::approve(&directory, &args),
        Command::Status(args) => status::status(&directory, &args).await,
        Command::Log(args) => log::log(&directory, &args),
        Command::Retry(args) => mark::retry(&directory, &args).await,
        Command::Skip(args) => mark::skip(&directory, &args).await,
        Command::Stop(args) => stop::stop(&directory, &args),
        Command::Demo(args) => uncut(demo::demo(&args)).await,
        Command::Diff(args) => diff::diff(&directory, &args).await,
        Command::Check(args) => check::check(&directory, &args).await,
        Command::Doctor(args) => uncut(doctor::doctor(&directory, &args)).await,
        Command::Hook(args) => hook::hook(&directory, &args).await,
        Command::Init(args) => init::init(&directory, &args),
        Command::Clean(args) => clean::clean(&directory, &args).await,
    }
}

/// A point in time, as the wall clock here shows it.
fn time(at: SystemTime) -> String {
    jiff::Timestamp::try_from(at)
        .map(|at| jiff::tz::TimeZone::system().to_datetime(at).strftime("%Y-%m-%d %H:%M:%S").to_string())
        .unwrap_or_default()
}

/// Ends `work` at Ctrl-C in order, so that what it started and made goes with it.
async fn uncut(work: impl Future<Output = Result<u8, CliError>>) -> Result<u8, CliError> {
    tokio::select! {
        done = work => done,
        _ = tokio::signal::ctrl_c() => Err(CliError::cancelled()),
    }
}
