//! Whether something that a call started is alive: it makes the file `heartbeat` grow at least every 50 ms.

use std::{
    fs,
    future::Future,
    path::Path,
    time::{Duration, Instant},
};

/// How long a law waits for something that should happen at once. Saboteurs make it wait in vain.
pub(super) const PATIENCE: Duration = Duration::from_secs(if cfg!(test) { 3 } else { 30 });

/// `future`, which should be ready soon.
pub(super) async fn patiently<T>(what: &str, future: impl Future<Output = T>) -> T {
    match tokio::time::timeout(PATIENCE, future).await {
        Ok(value) => value,
        Err(_) => panic!("waited in vain for {what}"),
    }
}

/// How far the heart has beaten in `folder`.
pub(super) fn length(folder: &Path) -> u64 {
    fs::metadata(folder.join("heartbeat")).map(|meta| meta.len()).unwrap_or_default()
}

/// Waits until what the call started is seen to live.
pub(super) async fn beat(folder: &Path) {
    patiently("a heartbeat", async {
        let start = length(folder);
        while length(folder) < start + 2 {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    })
    .await;
}

/// Makes sure that nothing of the call lives: for many times the length of a beat, nothing grows.
pub(super) async fn silence(folder: &Path) {
    let before = length(folder);
    let until = Instant::now() + Duration::from_millis(500);
    while Instant::now() < until {
        assert_eq!(length(folder), before, "something that the call started is still alive");
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}
