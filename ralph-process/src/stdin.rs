//! Writes a child's input while it runs.

use std::{future::pending, io};

use tokio::{io::AsyncWriteExt as _, process::ChildStdin};

/// What is still to be written. Closed when all is written or when the child does not want more.
pub(crate) struct Feed<'a> {
    pipe: Option<ChildStdin>,
    rest: &'a [u8],
}

impl<'a> Feed<'a> {
    pub(crate) fn new(pipe: Option<std::process::ChildStdin>, bytes: &'a [u8]) -> io::Result<Self> {
        Ok(Self { pipe: pipe.map(ChildStdin::from_std).transpose()?, rest: bytes })
    }

    /// Writes on; never ready, so that it can be one branch of a loop. May be dropped and called again at any point.
    pub(crate) async fn run(&mut self) {
        while let Some(pipe) = &mut self.pipe
            && !self.rest.is_empty()
        {
            match pipe.write(self.rest).await {
                Ok(written) => self.rest = &self.rest[written..],
                // A child that closed its input or ended without reading is its own business.
                Err(_) => self.rest = &[],
            }
        }
        self.pipe = None;
        pending::<()>().await;
    }
}
