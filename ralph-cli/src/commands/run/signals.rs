//! Signals while a run is on.

use std::{future::pending, io};

use ralph_core::engine::Switches;
use tokio::signal::unix::{Signal, SignalKind, signal};

use super::note;

/// Listens until it is dropped.
pub(super) struct Listening(tokio::task::JoinHandle<()>);

impl Listening {
    pub(super) fn with(switches: Switches) -> Self {
        Self(tokio::spawn(listen(switches)))
    }
}

impl Drop for Listening {
    fn drop(&mut self) {
        self.0.abort();
    }
}

fn streams() -> [io::Result<Signal>; 3] {
    [SignalKind::interrupt(), SignalKind::terminate(), SignalKind::hangup()].map(signal)
}

/// Waits for Ctrl-C, SIGTERM or SIGHUP; for ever where they cannot be caught, which then end the program by themselves.
pub(crate) async fn any_signal() {
    let [Ok(mut interrupt), Ok(mut terminate), Ok(mut hangup)] = streams() else { return pending().await };
    tokio::select! {
        _ = interrupt.recv() => {}
        _ = terminate.recv() => {}
        _ = hangup.recv() => {}
    }
}

/// Turns signals into switches: the first Ctrl-C ends after the step under way, a second one, SIGTERM and SIGHUP now.
async fn listen(switches: Switches) {
    let [Ok(mut interrupt), Ok(mut terminate), Ok(mut hangup)] = streams() else {
        return note("signals cannot be caught: Ctrl-C will cut the run off, `ralph run` takes it up");
    };
    loop {
        let now = tokio::select! {
            _ = interrupt.recv() => switches.stop.is_cancelled(),
            _ = terminate.recv() => true,
            _ = hangup.recv() => true,
        };
        if now {
            note("ending the step under way");
            switches.now.cancel();
        } else {
            note("stopping after the step under way (a session can be long); Ctrl-C again ends it now");
            switches.stop.cancel();
        }
    }
}
