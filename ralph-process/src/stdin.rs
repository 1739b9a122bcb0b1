//! Writes a child's input while it runs.

use std::{fmt, future::pending, io};

use tokio::{io::AsyncWriteExt as _, process::ChildStdin};

/// The standard input of a process that is [talked](crate::talk) to: what is written here reaches it soon, in order.
///
/// Writing never waits: what the process has not read yet is kept, and [`Input::waiting`] says how much that is.
#[derive(Default)]
pub struct Input {
    queue: Vec<u8>,
    /// How much of the queue was written already.
    written: usize,
    closed: bool,
}

impl Input {
    /// Writes `bytes`. Nothing happens once the input is closed, or the process does not want more.
    pub fn write(&mut self, bytes: &[u8]) {
        if !self.closed {
            self.queue.extend_from_slice(bytes);
        }
    }

    /// The end of the file, after all that was written before.
    pub fn close(&mut self) {
        self.closed = true;
    }

    /// How many bytes the process has not read yet, save for what the system keeps for it.
    pub fn waiting(&self) -> usize {
        self.queue.len() - self.written
    }

    fn wrote(&mut self, count: usize) {
        self.written += count;
        if self.waiting() == 0 {
            // Freed, not just emptied: what was long once need not be again.
            (self.queue, self.written) = (Vec::new(), 0);
        } else if self.written > self.queue.len() / 2 {
            // Not at every write, so that each byte is moved at most once.
            self.queue.drain(..self.written);
            self.written = 0;
        }
    }

    fn refused(&mut self) {
        (self.queue, self.written, self.closed) = (Vec::new(), 0, true);
    }
}

impl fmt::Debug for Input {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Input").field("waiting", &self.waiting()).field("closed", &self.closed).finish()
    }
}

/// What is still to be written. The pipe is closed when all is written and no more is to come, or when the child does
/// not want more.
pub(crate) struct Feed<'a> {
    pipe: Option<ChildStdin>,
    rest: &'a [u8],
    pub(crate) input: Input,
}

impl<'a> Feed<'a> {
    /// Writes `bytes`, then the end of the file.
    pub(crate) fn new(pipe: Option<std::process::ChildStdin>, bytes: &'a [u8]) -> io::Result<Self> {
        let mut feed = Self::open(pipe, bytes)?;
        feed.input.close();
        Ok(feed)
    }

    /// Writes `bytes`, then what comes by the input, until that is closed.
    pub(crate) fn open(pipe: Option<std::process::ChildStdin>, bytes: &'a [u8]) -> io::Result<Self> {
        let mut input = Input::default();
        if pipe.is_none() {
            input.refused();
        }
        Ok(Self { pipe: pipe.map(ChildStdin::from_std).transpose()?, rest: bytes, input })
    }

    /// Writes on; never ready, so that it can be one branch of a loop. May be dropped and called again at any point.
    pub(crate) async fn run(&mut self) {
        let Self { pipe, rest, input } = self;
        while let Some(open) = pipe {
            let written = if !rest.is_empty() {
                open.write(rest).await.map(|count| *rest = &rest[count..])
            } else if input.waiting() > 0 {
                open.write(&input.queue[input.written..]).await.map(|count| input.wrote(count))
            } else if input.closed {
                *pipe = None;
                break;
            } else {
                // Who writes more lets this future go first, and calls again.
                break;
            };
            // A child that closed its input or ended without reading is its own business.
            if written.is_err() {
                (*rest, *pipe) = (&[], None);
                input.refused();
            }
        }
        pending::<()>().await;
    }
}
