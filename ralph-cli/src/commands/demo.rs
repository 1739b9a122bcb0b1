//! `ralph demo`: the whole loop in seconds, with nothing but git.

use crate::{args, demo, error::CliError};

pub(crate) async fn demo(args: &args::Demo) -> Result<u8, CliError> {
    demo::play(args.keep).await
}
