//! Small helpers with their output in memory.

use std::time::{Duration, Instant};

use ralph_process::{End, Stdin, capture};

#[cfg(target_os = "linux")]
use crate::support::kill;
use crate::support::{Place, alive, soon};

const LONG: Duration = Duration::from_secs(15);

#[tokio::test]
async fn both_streams_and_the_exit() {
    let place = Place::new();
    let command = place.shell("cat; echo why >&2; exit 2").stdin(Stdin::Bytes(b"in\n".to_vec()));
    let captured = capture(&command, LONG, 100).await.unwrap();
    assert_eq!(captured.end, End::Exited(2));
    assert!(!captured.success());
    assert_eq!((captured.stdout.as_slice(), captured.stderr.as_slice()), (&b"in\n"[..], &b"why\n"[..]));
}

#[tokio::test]
async fn large_input_and_output_at_once() {
    let place = Place::new();
    let bytes = vec![b'x'; 3_000_000];
    let command = place.shell("cat").stdin(Stdin::Bytes(bytes.clone()));
    let captured = capture(&command, LONG, bytes.len()).await.unwrap();
    assert!(captured.success());
    assert!(captured.stdout == bytes);
}

#[tokio::test]
async fn more_than_allowed_is_not_taken_for_all() {
    let place = Place::new();
    for script in ["yes", "head -c 1001 /dev/zero"] {
        let captured = capture(&place.shell(script), LONG, 1000).await.unwrap();
        assert_eq!((captured.end, captured.stdout.len()), (End::OutputLimit, 1000), "{script}");
    }
    let captured = capture(&place.shell("head -c 1000 /dev/zero"), LONG, 1000).await.unwrap();
    assert_eq!((captured.end, captured.stdout.len()), (End::Exited(0), 1000));
}

#[tokio::test]
async fn of_a_chatty_stderr_the_end_is_kept() {
    let script = "yes warning | head -c 5000000 >&2; echo fatal >&2; exit 1";
    let captured = capture(&Place::new().shell(script), LONG, 10).await.unwrap();
    assert_eq!(captured.end, End::Exited(1));
    assert_eq!(captured.stderr.len(), 64 << 10);
    assert!(captured.stderr.ends_with(b"fatal\n"));
}

#[tokio::test]
async fn one_that_hangs_is_ended_with_its_children() {
    let place = Place::new();
    let started = Instant::now();
    let script = "sleep 60 & echo $! > child; echo some; wait";
    let captured = capture(&place.shell(script), Duration::from_millis(500), 100).await.unwrap();
    assert_eq!((captured.end, captured.stdout.as_slice()), (End::TimedOut, &b"some\n"[..]));
    assert!(soon(started));
    assert!(!alive(place.pid("child").await));
}

#[tokio::test]
async fn a_background_process_that_holds_the_pipe_delays_nothing() {
    let place = Place::new();
    let started = Instant::now();
    let captured = capture(&place.shell("sleep 60 & echo $! > child; echo out"), LONG, 100).await;
    assert_eq!(captured.unwrap().stdout, b"out\n");
    assert!(soon(started));
    assert!(!alive(place.pid("child").await));
}

/// Without a mark nobody looks for it, but nobody waits for it either.
#[cfg(target_os = "linux")]
#[tokio::test]
async fn a_daemon_that_holds_the_pipe_delays_little_and_is_swept_by_its_mark() {
    let place = Place::new();
    let script = "setsid sh -c 'echo $$ > daemon; exec sleep 60' & \
                  until [ -s daemon ]; do sleep 0.01; done; echo out";
    let started = Instant::now();
    let captured = capture(&place.shell(script), LONG, 100).await.unwrap();
    assert_eq!((captured.end, captured.stdout.as_slice()), (End::Exited(0), &b"out\n"[..]));
    assert!(soon(started));
    let unmarked = place.pid("daemon").await;
    assert!(alive(unmarked));
    kill(unmarked);

    let place = Place::new();
    let command = place.shell(script).mark("captured-daemon");
    capture(&command, LONG, 100).await.unwrap();
    assert!(!alive(place.pid("daemon").await));
}

#[tokio::test]
async fn dropping_the_future_leaves_nothing() {
    let place = Place::new();
    let command = place.shell("sleep 60 & echo $! > child; trap '' TERM; echo $$ > leader; wait");
    let up = async { (place.pid("child").await, place.pid("leader").await) };
    let (child, leader) = tokio::select! {
        captured = capture(&command, LONG, 100) => panic!("it ended: {captured:?}"),
        up = up => up,
    };
    assert!(!alive(child) && !alive(leader));
}
