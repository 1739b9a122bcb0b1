//! Limits end a run, and only when they are reached.

use std::{
    future::pending,
    time::{Duration, Instant},
};

use ralph_process::{End, Limits, Output, run};

use crate::support::{Place, alive, soon};

const SHORT: Duration = Duration::from_millis(400);

#[tokio::test]
async fn a_process_that_never_ends_is_out_of_time() {
    let place = Place::new();
    let started = Instant::now();
    let script = "echo $$ > leader; for i in $(seq 600); do echo on; sleep 0.05; done";
    let (finished, lines) = place.run(script, &Limits::time(SHORT)).await;
    assert_eq!(finished.end, End::TimedOut);
    assert!(finished.took >= SHORT && soon(started));
    assert!(lines.len() > 1);
    assert!(!alive(place.pid("leader").await));
}

#[tokio::test]
async fn one_that_ends_in_time_is_not() {
    let limits = Limits { idle: Some(Duration::from_secs(15)), ..Limits::time(Duration::from_secs(15)) };
    let (finished, _) = Place::new().run("exit 9", &limits).await;
    assert_eq!(finished.end, End::Exited(9));
}

#[tokio::test]
async fn one_that_ended_before_the_limit_was_seen_is_not() {
    let place = Place::new();
    let script =
        "echo $$ > leader; for n in 1 2 3; do echo $n; until [ -e seen-$n ]; do sleep 0.01; done; done; exit 9";
    // Who watches is kept busy until the process has ended and its time is up; not for so long at a time that it looks
    // as if it had been stopped.
    let started = Instant::now();
    let on_line = |number: &str| {
        std::fs::write(place.path(&format!("seen-{number}")), "").unwrap();
        let leader = place.pid_now("leader").unwrap();
        let at_least = Duration::from_millis(1_400) * number.parse().unwrap();
        while (number == "3" && alive(leader)) || started.elapsed() < at_least {
            std::thread::sleep(Duration::from_millis(10));
            assert!(soon(started));
        }
    };
    let (command, limits) = (place.shell(script), Limits::time(Duration::from_secs(4)));
    let finished = run(&command, &place.output(), &limits, pending(), on_line).await.unwrap();
    assert_eq!(finished.end, End::Exited(9));
    assert!(finished.took > Duration::from_secs(4));
}

#[tokio::test]
async fn time_in_which_this_program_was_stopped_does_not_count() {
    // Who watches does not look for so long, which is what its being stopped comes to.
    let after = async |stopped: Duration, limits: Limits| {
        let place = Place::new();
        let on_line = |line: &str| {
            if line == "up" {
                std::thread::sleep(stopped);
                std::fs::write(place.path("on"), "").unwrap();
            }
        };
        let script = "echo up; until [ -e on ]; do sleep 0.01; done; sleep 0.5; exit 9";
        run(&place.shell(script), &place.output(), &limits, pending(), on_line).await.unwrap()
    };
    let limit = Some(Duration::from_secs(1));
    for limits in [Limits { time: limit, ..Limits::default() }, Limits { idle: limit, ..Limits::default() }] {
        let finished = after(Duration::from_millis(2_500), limits.clone()).await;
        assert_eq!(finished.end, End::Exited(9), "{limits:?}");
        assert!(finished.took < Duration::from_secs(2), "{:?}", finished.took);
        // The control: a pause that is a little late does count.
        let finished = after(Duration::from_millis(1_500), limits).await;
        assert!(matches!(finished.end, End::TimedOut | End::Idle), "{finished:?}");
    }
}

#[tokio::test]
async fn a_silent_start_is_seen() {
    let limits = Limits { first_output: Some(SHORT), ..Limits::default() };
    let started = Instant::now();
    let (finished, _) = Place::new().run("sleep 60; echo late", &limits).await;
    assert_eq!(finished.end, End::NoFirstOutput);
    assert!(soon(started));
}

#[tokio::test]
async fn a_word_on_stderr_counts_as_the_first_output() {
    let limits = Limits { first_output: Some(Duration::from_secs(2)), ..Limits::default() };
    let place = Place::new();
    let command = place.shell("echo early >&2; sleep 2.5; exit 3");
    for output in [place.output(), Output::apart(place.path("out"), place.path("err"))] {
        let finished = run(&command, &output, &limits, pending(), |_| ()).await.unwrap();
        assert_eq!(finished.end, End::Exited(3));
    }
}

#[tokio::test]
async fn silence_after_output_is_seen() {
    let limits = Limits { idle: Some(SHORT), ..Limits::default() };
    let started = Instant::now();
    let (finished, lines) = Place::new().run("echo one; sleep 60; echo two", &limits).await;
    assert_eq!((finished.end, lines), (End::Idle, vec!["one".to_owned()]));
    assert!(soon(started));
}

#[tokio::test]
async fn silence_from_the_start_is_seen_without_a_limit_of_its_own() {
    let limits = Limits { idle: Some(SHORT), ..Limits::default() };
    let (finished, _) = Place::new().run("sleep 60", &limits).await;
    assert_eq!(finished.end, End::Idle);
}

#[tokio::test]
async fn a_process_that_goes_on_printing_is_not_idle() {
    // Prints for longer than the limit, to either stream in turn.
    let limits = Limits { idle: Some(Duration::from_secs(2)), ..Limits::default() };
    let script = "for i in 1 2 3 4 5; do sleep 0.3; echo o; sleep 0.3; echo e >&2; done; exit 4";
    let (finished, _) = Place::new().run(script, &limits).await;
    assert_eq!(finished.end, End::Exited(4));
}

#[tokio::test]
async fn a_flood_is_ended_and_its_file_cut() {
    let place = Place::new();
    // The time is for a broken limit, which would fill the disk.
    let limits = Limits { output_bytes: 100_000, ..Limits::time(Duration::from_secs(5)) };
    let (finished, _) = place.run("echo $$ > leader; exec yes", &limits).await;
    assert_eq!((finished.end, finished.cut), (End::OutputLimit, true));
    assert_eq!(place.log().len(), 100_000);
    assert!(!alive(place.pid("leader").await));
}

#[tokio::test]
async fn output_up_to_the_limit_is_kept() {
    let place = Place::new();
    let limits = Limits { output_bytes: 100_000, ..Limits::default() };
    let (finished, _) = place.run("head -c 100000 /dev/zero", &limits).await;
    assert_eq!((finished.end, finished.cut), (End::Exited(0), false));
    assert_eq!(place.log().len(), 100_000);

    // The limit is for each run, not for the file.
    let (finished, _) = place.run("head -c 100000 /dev/zero", &limits).await;
    assert_eq!((finished.end, finished.cut), (End::Exited(0), false));
    assert_eq!(place.log().len(), 200_000);
}

#[tokio::test]
async fn a_flood_that_ends_by_itself_before_it_is_seen_is_cut_all_the_same() {
    let place = Place::new();
    let limits = Limits { output_bytes: 10, ..Limits::default() };
    let (finished, lines) = place.run("echo 0123456789abc", &limits).await;
    assert!(finished.cut);
    assert_eq!((place.log(), lines), (b"0123456789".to_vec(), vec!["0123456789".to_owned()]));
}
