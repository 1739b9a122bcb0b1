//! Who runs inside a session knows it.

use std::{
    env,
    future::pending,
    os::unix::process::parent_id,
    process::{Command as StdCommand, id},
};

use ralph_process::{Limits, MARK_VARIABLE, ancestors, ancestry, inside_session, run};

use crate::support::Place;

/// What a process in a session finds: its session, and the processes above it. It says so of all that it cannot read.
#[test]
#[ignore = "run by the tests here in processes of their own"]
fn tell() {
    let found = ancestry();
    if cfg!(target_os = "linux") {
        let mut unread = found.ancestors.clone();
        unread.retain(|pid| std::fs::read(format!("/proc/{pid}/environ")).is_err());
        let mut told = [found.hidden, found.foreign].concat();
        told.sort_by_key(|pid| found.ancestors.iter().position(|ancestor| ancestor == pid));
        assert_eq!(told, unread);
    }
    assert!(found.whole);
    println!("\nfound {} {:?}", found.session.as_deref().unwrap_or("none"), found.ancestors);
}

/// What [`tell`] said, somewhere in a text.
fn told(text: &str) -> (String, Vec<u32>) {
    let line = text.lines().find_map(|line| line.strip_prefix("found ")).unwrap_or(text);
    let (session, pids) = line.split_once(" [").unwrap();
    (session.to_owned(), pids.trim_end_matches(']').split(", ").map(|pid| pid.parse().unwrap()).collect())
}

/// `tell` in a shell.
fn telling() -> String {
    format!("'{}' --ignored --exact ancestry::tell --nocapture", env::current_exe().unwrap().display())
}

/// Whether the tests themselves run in a session: then nothing below them is outside of one.
fn outside() -> bool {
    env::var_os(MARK_VARIABLE).is_none() && env::var_os("RALPH_RUN_ID").is_none()
}

async fn in_a_session(script: &str) -> (String, Vec<u32>) {
    let place = Place::new();
    let command = place.shell(script).mark("run-7");
    run(&command, &place.output(), &Limits::default(), pending(), |_| ()).await.unwrap();
    told(&String::from_utf8(place.log()).unwrap())
}

/// The control: without a session there is none to be seen.
#[test]
fn outside_of_a_session_there_is_none() {
    assert_eq!(inside_session().is_none(), outside());
    assert_eq!(ancestors().first(), Some(&parent_id()));
    let out = StdCommand::new("sh").args(["-c", &telling()]).output().unwrap();
    let (session, ancestors) = told(&String::from_utf8(out.stdout).unwrap());
    assert_eq!(session == "none", outside());
    assert!(ancestors.contains(&id()), "{ancestors:?}");
}

#[tokio::test]
async fn a_child_of_a_session_is_inside() {
    let (session, ancestors) = in_a_session(&telling()).await;
    assert!(session.contains("run-7") || !outside(), "{session}");
    assert!(ancestors.contains(&id()));
}

#[tokio::test]
async fn a_child_that_cleared_its_environment_is_inside() {
    for clear in
        ["env -i", "env -i setsid -w env -i", "nohup env -i sh -c 'exec \"$@\"' x", "unset $(env | cut -d= -f1);"]
    {
        // `exec` last of all, so that the shell that carries the mark stays above.
        let (session, ancestors) = in_a_session(&format!("({clear} {}); exit", telling())).await;
        assert!(session.contains("run-7") || !outside(), "{clear}: {session}");
        assert!(ancestors.contains(&id()), "{clear}");
    }
}

#[test]
fn the_run_id_alone_is_a_sign() {
    let out = StdCommand::new("sh").args(["-c", &telling()]).env("RALPH_RUN_ID", "20260518-021145-a1b2c3").output();
    assert_eq!(told(&String::from_utf8(out.unwrap().stdout).unwrap()).0, "20260518-021145-a1b2c3");
}

/// Two forks away, in a session of the system's of its own and without an environment, `tell` waits until nobody of the
/// session is above it any more. The leader waits for what it tells.
#[cfg(target_os = "linux")]
const ORPHAN: &str = "(env -i PATH=\"$PATH\" setsid sh -c 'sh ./alone $$ & exit' &) ; \
    until [ -s told ]; do sleep 0.01; done";

#[cfg(target_os = "linux")]
async fn by_an_orphan() -> (String, Vec<u32>) {
    let place = Place::new();
    let alone = format!(
        "until [ \"$(ps -o ppid= -p $$ | tr -d ' ')\" != $1 ]; do sleep 0.01; done\n{} >part\nmv part told\n",
        telling()
    );
    std::fs::write(place.path("alone"), alone).unwrap();
    let command = place.shell(ORPHAN).mark("run-7");
    run(&command, &place.output(), &Limits::default(), pending(), |_| ()).await.unwrap();
    told(&std::fs::read_to_string(place.path("told")).unwrap())
}

#[cfg(target_os = "linux")]
#[test]
fn an_orphan_of_a_session_has_the_run_above_it() {
    crate::swept::helper("ancestry::as_a_run", &[]);
}

#[cfg(target_os = "linux")]
#[tokio::test]
#[ignore = "run by an_orphan_of_a_session_has_the_run_above_it in a process of its own"]
async fn as_a_run() {
    assert!(ralph_process::become_subreaper());
    let (_, ancestors) = by_an_orphan().await;
    // Its shell first, then the run that was given the orphan.
    assert_eq!(ancestors.get(1), Some(&id()), "{ancestors:?}");
}

/// The control, and the limit: nobody who could be asked is above it.
#[cfg(target_os = "linux")]
#[tokio::test]
async fn without_a_subreaper_an_orphan_has_nobody_above_it() {
    let (session, ancestors) = by_an_orphan().await;
    assert_eq!((session == "none", ancestors.contains(&id())), (outside(), false));
}

/// A process that keeps others from looking into it is told, where the system keeps to that.
#[cfg(target_os = "linux")]
#[test]
fn an_ancestor_that_cannot_be_read_is_told() {
    crate::swept::helper("ancestry::as_one_who_hides", &[]);
}

#[cfg(target_os = "linux")]
#[test]
#[ignore = "run by an_ancestor_that_cannot_be_read_is_told in a process of its own"]
fn as_one_who_hides() {
    use rustix::process::{DumpableBehavior, set_dumpable_behavior};
    set_dumpable_behavior(DumpableBehavior::NotDumpable).unwrap();
    let out = StdCommand::new("sh").args(["-c", &telling()]).output().unwrap();
    let (_, ancestors) = told(&String::from_utf8(out.stdout).unwrap());
    assert!(ancestors.contains(&id()), "{ancestors:?}");
}
