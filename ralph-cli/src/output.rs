//! Printing results.

use std::io::{self, IsTerminal as _, Write};

use crate::error::CliError;

/// Prints a result on stdout. A reader that went away (`| head`) is no error.
pub(crate) fn print(text: &str) -> Result<(), CliError> {
    put(&mut anstream::stdout().lock(), text.as_bytes())
}

/// The same without a change of any byte, for other programs.
pub(crate) fn print_bytes(bytes: &[u8]) -> Result<(), CliError> {
    put(&mut io::stdout().lock(), bytes)
}

/// Prints one JSON document on stdout.
pub(crate) fn print_json(document: &impl serde::Serialize) -> Result<(), CliError> {
    let json = serde_json::to_string_pretty(document);
    let json = json.map_err(|error| CliError::failed("the result cannot be written as JSON", &error))?;
    print_bytes(format!("{json}\n").as_bytes())
}

/// Whether stdout shows colours to somebody, who could also be harmed by control characters.
pub(crate) fn is_for_eyes() -> bool {
    io::stdout().is_terminal() || anstream::AutoStream::choice(&io::stdout()) != anstream::ColorChoice::Never
}

fn put(out: &mut impl Write, bytes: &[u8]) -> Result<(), CliError> {
    match out.write_all(bytes).and_then(|()| out.flush()) {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => {
            Err(CliError::failed("the result cannot be printed", &error))
        }
        _ => Ok(()),
    }
}
