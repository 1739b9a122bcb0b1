//! Standard input.

use std::{
    future::pending,
    time::{Duration, Instant},
};

use ralph_process::{End, Limits, Stdin, run};

use crate::support::{Place, soon};

#[tokio::test]
async fn a_reader_of_nothing_sees_the_end_at_once() {
    let started = Instant::now();
    let (finished, lines) = Place::new().run("cat; echo end", &Limits::default()).await;
    assert_eq!((finished.end, lines), (End::Exited(0), vec!["end".to_owned()]));
    assert!(soon(started));
}

#[tokio::test]
async fn all_bytes_arrive_and_then_the_end() {
    let place = Place::new();
    // Much more than a pipe holds.
    let bytes: Vec<u8> = (0..3_000_000_u32).map(|i| (i % 251) as u8).collect();
    let command = place.shell("cat > copy").stdin(Stdin::Bytes(bytes.clone()));
    let finished = run(&command, &place.output(), &Limits::default(), pending(), |_| ()).await.unwrap();
    assert_eq!(finished.end, End::Exited(0));
    assert!(std::fs::read(place.path("copy")).unwrap() == bytes);
}

#[tokio::test]
async fn a_process_that_does_not_read_is_not_waited_for() {
    let place = Place::new();
    let much = Stdin::Bytes(vec![b'x'; 10_000_000]);
    for (script, end) in [
        ("exit 3", End::Exited(3)),
        ("exec <&-; sleep 0.2; exit 4", End::Exited(4)),
        ("head -c 10 > /dev/null; exit 5", End::Exited(5)),
        ("sleep 60", End::TimedOut),
    ] {
        let started = Instant::now();
        let command = place.shell(script).stdin(much.clone());
        let limits = Limits::time(Duration::from_secs(3));
        let finished = run(&command, &place.output(), &limits, pending(), |_| ()).await.unwrap();
        assert_eq!(finished.end, end, "{script}");
        assert!(soon(started), "{script}");
    }
}

#[tokio::test]
async fn no_bytes_are_an_end_at_once_too() {
    let place = Place::new();
    let command = place.shell("cat; exit 6").stdin(Stdin::Bytes(Vec::new()));
    let finished = run(&command, &place.output(), &Limits::default(), pending(), |_| ()).await.unwrap();
    assert_eq!(finished.end, End::Exited(6));
}
