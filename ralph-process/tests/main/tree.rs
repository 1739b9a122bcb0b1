//! Nothing that was started lives on.

use std::{
    future::pending,
    time::{Duration, Instant},
};

use ralph_process::{End, Limits, StopSignal, run};

use crate::support::{Place, alive, kill, soon, state, until};

#[tokio::test]
async fn a_background_process_that_holds_the_output_delays_nothing_and_dies() {
    let place = Place::new();
    let started = Instant::now();
    let script = "sleep 60 & echo $! > child; kill -0 $! && echo up";
    let (finished, lines) = place.run(script, &Limits::default()).await;
    assert_eq!((finished.end, lines), (End::Exited(0), vec!["up".to_owned()]));
    assert!(soon(started));
    assert!(!alive(place.pid("child").await));
    if cfg!(target_os = "linux") {
        assert_eq!((finished.left_behind, finished.swept), (1, true));
    }
}

#[tokio::test]
async fn a_member_of_the_group_without_any_environment_dies_too() {
    let place = Place::new();
    let script = "env -i /bin/sh -c 'echo $$ > child; exec sleep 60' & \
                  until [ -s child ]; do sleep 0.01; done; kill -0 $(cat child) && echo up";
    let (finished, lines) = place.run(script, &Limits::default()).await;
    assert_eq!((finished.end, lines), (End::Exited(0), vec!["up".to_owned()]));
    assert!(!alive(place.pid("child").await));
}

#[tokio::test]
async fn a_tidy_process_leaves_nothing_behind() {
    let (finished, _) = Place::new().run("sleep 0 & wait; exit 3", &Limits::default()).await;
    assert_eq!((finished.end, finished.left_behind), (End::Exited(3), 0));
    assert_eq!(finished.swept, cfg!(target_os = "linux"));
}

/// A daemon with a session of its own; the leader waits until it is up.
#[cfg(target_os = "linux")]
const DAEMON: &str = "setsid sh -c 'echo $$ > daemon; exec sleep 60' & \
    until [ -s daemon ]; do sleep 0.01; done; \
    echo $$ $(cut -d' ' -f5 /proc/$(cat daemon)/stat)";

#[cfg(target_os = "linux")]
#[tokio::test]
async fn a_daemon_in_a_session_of_its_own_is_swept() {
    let place = Place::new();
    let started = Instant::now();
    let (finished, lines) = place.run(DAEMON, &Limits::default()).await;
    let (leader, group) = lines[0].split_once(' ').unwrap();
    assert_ne!(leader, group, "the daemon has left the group");
    assert!(soon(started));
    assert!(!alive(place.pid("daemon").await));
    assert_eq!((finished.end, finished.left_behind), (End::Exited(0), 1));
    assert!(finished.swept);
}

/// Two processes that ignore SIGTERM, as do their own children.
const STUBBORN: &str = "trap '' TERM; \
    sh -c 'trap \"\" TERM; echo $$ > child; sleep 60' & \
    echo $$ > leader; sleep 60";

#[tokio::test]
async fn a_stubborn_tree_is_gone_right_after_the_grace() {
    let grace = Duration::from_millis(200);
    let limits = Limits { grace, ..Limits::default() };
    let mut slowest = Vec::new();
    // On a busy machine one try may be slow; all of them are not.
    for _ in 0..5 {
        let place = Place::new();
        let asked = std::cell::Cell::new(None);
        let cancel = async {
            place.pid("child").await;
            place.pid("leader").await;
            asked.set(Some(Instant::now()));
        };
        let (finished, _) = place.run_until(STUBBORN, &limits, cancel).await;
        let took = asked.get().unwrap().elapsed();
        assert_eq!(finished.end, End::Cancelled);
        assert!(!alive(place.pid("child").await) && !alive(place.pid("leader").await));
        assert!(took >= grace, "it was asked first: {took:?}");
        if took <= grace + Duration::from_millis(50) {
            return;
        }
        slowest.push(took);
    }
    panic!("too slow: {slowest:?}");
}

#[tokio::test]
async fn a_process_that_is_asked_to_end_can_still_report() {
    for (signal, name) in [(StopSignal::Terminate, "TERM"), (StopSignal::Interrupt, "INT")] {
        let place = Place::new();
        let script = "trap 'echo got TERM; exit 7' TERM; trap 'echo got INT; exit 7' INT; \
                      echo $$ > leader; for i in $(seq 3000); do sleep 0.01; done";
        let limits = Limits { stop_signal: signal, grace: Duration::from_secs(15), ..Limits::default() };
        let started = Instant::now();
        let cancel = async {
            place.pid("leader").await;
        };
        let (finished, lines) = place.run_until(script, &limits, cancel).await;
        assert_eq!(finished.end, End::Cancelled);
        // Some shells also say what became of the `sleep`.
        assert_eq!(lines.last().unwrap(), &format!("got {name}"));
        assert!(soon(started), "the grace ends with the process");
    }
}

#[tokio::test]
async fn a_stopped_process_is_continued_to_be_asked_and_dies() {
    let place = Place::new();
    let script = "trap 'echo asked; exit' TERM; echo $$ > leader; kill -STOP $$; \
                  for i in $(seq 3000); do sleep 0.01; done";
    let limits = Limits { grace: Duration::from_secs(15), ..Limits::default() };
    let cancel = async {
        let leader = place.pid("leader").await;
        until("it is stopped", || state(leader).is_some_and(|s| s.starts_with('T'))).await;
    };
    let (finished, lines) = place.run_until(script, &limits, cancel).await;
    assert_eq!(finished.end, End::Cancelled);
    assert_eq!(lines.last().unwrap(), "asked");
    assert!(!alive(place.pid("leader").await));
}

#[tokio::test]
async fn a_stopped_child_dies_with_a_leader_that_ends() {
    let place = Place::new();
    let script = "sh -c 'echo $$ > child; kill -STOP $$; sleep 60' & \
                  until ps -o stat= -p $! | grep -q T; do sleep 0.01; done";
    let (finished, _) = place.run(script, &Limits::default()).await;
    assert_eq!(finished.end, End::Exited(0));
    assert!(!alive(place.pid("child").await));
}

#[tokio::test]
async fn a_process_that_kills_its_whole_group_does_not_reach_us() {
    let (finished, _) = Place::new().run("kill -9 0; sleep 60", &Limits::default()).await;
    assert_eq!(finished.end, End::Signalled(9));
}

#[tokio::test]
async fn dropping_the_future_leaves_nothing() {
    let place = Place::new();
    let daemon = if cfg!(target_os = "linux") {
        "setsid sh -c 'trap \"\" TERM; echo $$ > daemon; sleep 60' &"
    } else {
        "sh -c 'echo $$ > daemon; sleep 60' &"
    };
    let command = place.shell(&format!("{daemon} {STUBBORN}"));
    let (output, limits) = (place.output(), Limits::default());
    let mut running = Box::pin(run(&command, &output, &limits, pending(), |_| ()));
    let up = async {
        for name in ["daemon", "child", "leader"] {
            assert!(alive(place.pid(name).await), "{name}");
        }
    };
    tokio::select! {
        finished = &mut running => panic!("it ended: {finished:?}"),
        () = up => {}
    }
    drop(running);
    for name in ["daemon", "child", "leader"] {
        assert!(!alive(place.pid_now(name).unwrap()), "{name}");
    }
}

#[tokio::test]
async fn aborting_the_task_leaves_nothing() {
    let place = Place::new();
    let (command, output) = (place.shell(STUBBORN), place.output());
    let task = tokio::spawn(async move { run(&command, &output, &Limits::default(), pending(), |_| ()).await });
    let (child, leader) = (place.pid("child").await, place.pid("leader").await);
    assert!(alive(child) && alive(leader));
    task.abort();
    assert!(task.await.unwrap_err().is_cancelled());
    assert!(!alive(child) && !alive(leader));
}

#[tokio::test]
async fn a_run_that_was_cancelled_before_starts_nothing() {
    let place = Place::new();
    let script = "echo $$ > leader";
    let (finished, _) = place.run_until(script, &Limits::default(), async {}).await;
    assert_eq!(finished.end, End::Cancelled);
    assert_eq!(place.pid_now("leader"), None);
    place.run(script, &Limits::default()).await;
    assert!(place.pid_now("leader").is_some());
}

/// What all the tests here rest on: that they would see a process that lives on.
#[tokio::test]
async fn a_process_that_nobody_kills_is_seen() {
    let mut child = std::process::Command::new("sleep").arg("60").spawn().unwrap();
    let pid = child.id().cast_signed();
    assert!(alive(pid));
    kill(pid);
    until("it is gone", || !alive(pid)).await;
    child.wait().unwrap();
}
