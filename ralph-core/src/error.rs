//! What the errors of all seams share.

use std::{error::Error, time::Duration};

/// Any error, for the `Other` variant of a seam's error.
pub type BoxError = Box<dyn Error + Send + Sync + 'static>;

/// Whether it makes sense to ask a seam again after an error.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Retry {
    /// The same call will fail again.
    Never,
    /// It may work at once.
    Soon,
    /// It may work after this long.
    After(Duration),
}

/// An error with all its causes on one line: `what: why: why that`.
///
/// The `Display` of a seam's error says what failed and never repeats its source, so that this line says each thing
/// once.
pub fn chain(error: &dyn Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        text.push_str(": ");
        text.push_str(&cause.to_string());
        source = cause.source();
    }
    text
}
