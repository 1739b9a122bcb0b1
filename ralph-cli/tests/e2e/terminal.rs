//! A person at a terminal: a pair of pseudo terminals, of which the program has one end and the test the other.

use std::{
    fs::{File, OpenOptions},
    io::{Read as _, Write as _},
    process::{Child, Stdio},
    sync::{Arc, Mutex},
    thread::{self, JoinHandle},
};

use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};

use super::support::{Scratch, until};

/// The program at a terminal.
pub(crate) struct Terminal {
    child: Child,
    keyboard: File,
    screen: Arc<Mutex<Vec<u8>>>,
    reader: Option<JoinHandle<()>>,
}

impl Scratch {
    /// Starts `ralph` at a terminal that can only print.
    pub(crate) fn at_terminal(&self, args: &[&str]) -> Terminal {
        self.at_terminal_of_kind(args, "dumb")
    }

    /// Starts `ralph` at a terminal of this kind, such as `xterm`.
    pub(crate) fn at_terminal_of_kind(&self, args: &[&str], kind: &str) -> Terminal {
        let ours = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC).unwrap();
        grantpt(&ours).unwrap();
        unlockpt(&ours).unwrap();
        let name = ptsname(&ours, Vec::new()).unwrap().into_string().unwrap();
        let theirs = OpenOptions::new().read(true).write(true).open(name).unwrap();
        let end = || Stdio::from(theirs.try_clone().unwrap());
        let mut command = self.command(args);
        command.stdin(end()).stdout(end()).stderr(end()).env("NO_COLOR", "1").env("TERM", kind);
        let child = command.spawn().unwrap();
        drop((command, theirs));
        let keyboard = File::from(ours);
        let (mut from, screen) = (keyboard.try_clone().unwrap(), Arc::new(Mutex::new(Vec::new())));
        let shared = Arc::clone(&screen);
        let reader = thread::spawn(move || {
            let mut bytes = [0; 4096];
            // An error is the end: nobody has the other end open any more.
            while let Ok(count @ 1..) = from.read(&mut bytes) {
                shared.lock().unwrap().extend_from_slice(&bytes[..count]);
            }
        });
        Terminal { child, keyboard, screen, reader: Some(reader) }
    }
}

impl Terminal {
    /// What is on the screen so far.
    pub(crate) fn screen(&self) -> String {
        String::from_utf8_lossy(&self.screen.lock().unwrap()).replace("\r\n", "\n")
    }

    /// Waits until the screen shows `prompt` for the `nth` time, then types `line`.
    #[track_caller]
    pub(crate) fn says(&mut self, prompt: &str, nth: usize, line: &str) {
        until(prompt, || self.screen().matches(prompt).count() >= nth);
        self.keyboard.write_all(line.as_bytes()).unwrap();
    }

    /// Waits for the end: exit code and screen.
    pub(crate) fn end(mut self) -> (Option<i32>, String) {
        let status = self.child.wait().unwrap();
        self.reader.take().unwrap().join().unwrap();
        (status.code(), self.screen())
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        // A child that was waited for does not get the signal.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
