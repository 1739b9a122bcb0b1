//! The `ralph` program: thin. It reads settings, puts the parts together, and shows what happens.

#![expect(clippy::print_stderr, reason = "a program speaks on its streams")]

mod answers;
mod args;
mod commands;
mod commit;
mod crash_point;
mod demo;
mod error;
mod init;
mod looping;
mod operator;
mod output;
mod place;
mod plan;
mod project;
mod report;
mod runs;
mod settings;
mod wire;

use std::process::ExitCode;

use clap::Parser;

use crate::{args::Args, error::CliError};

#[cfg(not(unix))]
compile_error!("ralph needs Linux or macOS: it ends whole process groups, which Windows does not have. Use WSL.");

fn main() -> ExitCode {
    let args = Args::parse();
    args.color.apply();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let done = match runtime {
        Ok(runtime) => runtime.block_on(commands::dispatch(args)),
        Err(error) => Err(CliError::fault(format!("the program could not start its runtime: {error}"))),
    };
    match done {
        Ok(code) => ExitCode::from(code),
        Err(error) => {
            anstream::eprintln!("error: {error}");
            ExitCode::from(error.code)
        }
    }
}
