//! One file for each command.

mod demo;
mod log;
mod mark;
mod run;
mod status;
mod stop;

use crate::{
    args::{Args, Command},
    error::CliError,
};

/// Runs the command; its exit code.
pub(crate) async fn dispatch(args: Args) -> Result<u8, CliError> {
    let directory = args.directory;
    match args.command {
        Command::Run(args) => run::run(&directory, &args).await,
        Command::Status(args) => status::status(&directory, &args),
        Command::Log(args) => log::log(&directory, &args),
        Command::Retry(args) => mark::retry(&directory, &args).await,
        Command::Skip(args) => mark::skip(&directory, &args).await,
        Command::Stop(args) => stop::stop(&directory, &args),
        Command::Demo(args) => demo::demo(&args).await,
        _ => Err(CliError::usage("later")),
    }
}
