//! What left its group is found.
#![cfg(target_os = "linux")]

use std::{
    future::pending,
    os::unix::process::CommandExt as _,
    process::{Child, Command as StdCommand},
};

use ralph_process::{Command, End, Limits, MARK_VARIABLE, Output, become_subreaper, run, sweep};

use crate::support::{Place, alive, kill, until};

/// A process such as a crash leaves behind, under a mark.
fn orphan(mark: &str) -> Child {
    StdCommand::new("sleep").arg("60").env(MARK_VARIABLE, mark).process_group(0).spawn().unwrap()
}

fn pid(child: &Child) -> i32 {
    child.id().cast_signed()
}

#[tokio::test]
async fn a_recorded_mark_finds_what_a_crash_left_and_nothing_else() {
    let (mark, longer) = ("swept-test/1", "swept-test/12");
    let marks = [mark, "outer:swept-test/1", "swept-test/1:inner", longer, "other"];
    let mut children = marks.map(orphan);
    let pids = children.each_ref().map(pid);
    assert!(pids.iter().all(|&pid| alive(pid)));

    let swept = sweep(mark);
    assert_eq!((swept.killed, swept.clean), (3, true));
    assert_eq!(pids.map(alive), [false, false, false, true, true]);
    assert_eq!((sweep(mark).killed, sweep(mark).clean), (0, true));
    assert_eq!(sweep("").killed, 0);

    kill(pids[3]);
    kill(pids[4]);
    for child in &mut children {
        child.wait().unwrap();
    }
}

/// Starts one of the helpers below in a process of its own and gives what it printed.
pub(crate) fn helper(name: &str, vars: &[(&str, &str)]) -> String {
    let out = StdCommand::new(std::env::current_exe().unwrap())
        .args(["--ignored", "--exact", name, "--nocapture"])
        .envs(vars.iter().copied())
        .output()
        .unwrap();
    let text = String::from_utf8(out.stdout).unwrap();
    assert!(out.status.success(), "{text}\n{}", String::from_utf8_lossy(&out.stderr));
    text
}

#[test]
fn marks_nest() {
    let text = helper("swept::print_marks", &[(MARK_VARIABLE, "outer")]);
    assert!(text.contains("[outer:inner:group-"), "{text}");
}

#[tokio::test]
#[ignore = "run by marks_nest in a process of its own"]
async fn print_marks() {
    let place = Place::new();
    let command = place.shell(&format!("echo [${MARK_VARIABLE}]")).mark("inner");
    let print = |line: &str| println!("{line}");
    run(&command, &place.output(), &Limits::default(), pending(), print).await.unwrap();
}

/// A daemon that left its group and cleared its environment.
const STRANGER: &str = "env -i PATH=$PATH setsid sh -c 'echo $$ > daemon; exec sleep 60' & \
    until [ -s daemon ]; do sleep 0.01; done";

/// The control: by its mark it cannot be found.
#[tokio::test]
async fn without_a_subreaper_a_process_that_cleared_its_environment_escapes() {
    let place = Place::new();
    let (finished, _) = place.run(STRANGER, &Limits::default()).await;
    assert_eq!((finished.end, finished.left_behind), (End::Exited(0), 0));
    let daemon = place.pid("daemon").await;
    assert!(alive(daemon));
    kill(daemon);
    until("it is gone", || !alive(daemon)).await;
}

#[test]
fn a_subreaper_finds_a_process_that_cleared_its_environment() {
    helper("swept::as_subreaper", &[]);
}

#[tokio::test]
#[ignore = "run by a_subreaper_finds_a_process_that_cleared_its_environment in a process of its own"]
async fn as_subreaper() {
    assert!(become_subreaper());
    let place = Place::new();
    let (finished, _) = place.run(STRANGER, &Limits::default()).await;
    assert_eq!((finished.end, finished.left_behind, finished.swept), (End::Exited(0), 1, true));
    assert!(!alive(place.pid("daemon").await));

    // Another run under way: what is marked as its own is left to it, and what is nobody's is not killed either, but
    // not hidden.
    let (busy, other) = (Place::new(), Place::new());
    let script = "(setsid sh -c 'echo $$ > theirs; exec sleep 60' &); echo $$ > leader; sleep 60";
    let (command, output) = (busy.shell(script), busy.output());
    let task = tokio::spawn(async move { run(&command, &output, &Limits::default(), pending(), |_| ()).await });
    let theirs = busy.pid("theirs").await;
    busy.pid("leader").await;
    let (finished, _) = other.run("exit 0", &Limits::default()).await;
    assert_eq!((finished.left_behind, finished.swept), (0, true));
    assert!(alive(theirs));
    let (finished, _) = other.run(STRANGER, &Limits::default()).await;
    assert!(!finished.swept);
    let stranger = other.pid("daemon").await;
    assert!(alive(stranger));

    // The last one to end clears up.
    task.abort();
    assert!(task.await.is_err());
    assert!(!alive(theirs) && !alive(stranger));

    // Zombies are taken away too.
    let output = Output::merged(place.path("log"));
    let command = Command::shell("(true &); (true &); exit 0", place.path(""));
    run(&command, &output, &Limits::default(), pending(), |_| ()).await.unwrap();
    for task in std::fs::read_dir("/proc/self/task").unwrap().flatten() {
        let children = std::fs::read_to_string(task.path().join("children")).unwrap_or_default();
        assert_eq!(children.trim(), "");
    }
}
