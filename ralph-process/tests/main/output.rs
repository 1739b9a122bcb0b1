//! Output: in files, and line by line in bounded memory.

use std::future::pending;
#[cfg(target_os = "linux")]
use std::process::Command as StdCommand;

use ralph_process::{CUT_MARK, End, Limits, Output, run};

use crate::support::Place;

#[tokio::test]
async fn both_streams_in_one_file_keep_their_order() {
    let place = Place::new();
    let script = "echo one; echo two >&2; echo three; printf four";
    let (_, lines) = place.run(script, &Limits::default()).await;
    assert_eq!(lines, ["one", "two", "three", "four"]);
    assert_eq!(place.log(), b"one\ntwo\nthree\nfour");
}

#[tokio::test]
async fn streams_apart() {
    let place = Place::new();
    let output = Output::apart(place.path("out"), place.path("err"));
    let mut lines = Vec::new();
    let command = place.shell("echo one; echo two >&2");
    run(&command, &output, &Limits::default(), pending(), |line| lines.push(line.to_owned())).await.unwrap();
    assert_eq!(lines, ["one"]);
    assert_eq!(std::fs::read(output.stdout()).unwrap(), b"one\n");
    assert_eq!(std::fs::read(output.stderr()).unwrap(), b"two\n");
}

#[tokio::test]
async fn a_second_run_goes_on_in_the_same_file_and_hands_on_its_own_lines_only() {
    let place = Place::new();
    place.run("echo one", &Limits::default()).await;
    let (_, lines) = place.run("echo two", &Limits::default()).await;
    assert_eq!(lines, ["two"]);
    assert_eq!(place.log(), b"one\ntwo\n");
}

#[tokio::test]
async fn bytes_that_are_not_text_are_no_trouble() {
    let place = Place::new();
    let (_, lines) = place.run(r"printf 'a\377\376b\nc\000d\n'", &Limits::default()).await;
    assert_eq!(lines, ["a\u{fffd}\u{fffd}b", "c\0d"]);
    assert_eq!(place.log(), b"a\xff\xfeb\nc\0d\n");
}

#[tokio::test]
async fn a_long_line_is_cut_and_the_next_one_is_whole() {
    let place = Place::new();
    let limits = Limits { line_bytes: 1000, ..Limits::default() };
    let script = "head -c 3000000 /dev/zero | tr '\\0' x; echo; echo next";
    let (finished, lines) = place.run(script, &limits).await;
    assert_eq!(lines, ["x".repeat(1000) + CUT_MARK, "next".to_owned()]);
    // The file has all of it.
    assert!(!finished.cut);
    assert_eq!(place.log().len(), 3_000_000 + "\nnext\n".len());
}

#[tokio::test]
async fn lines_come_while_the_process_runs() {
    let place = Place::new();
    // Goes on only when its first line has been seen.
    let command = place.shell("echo one; until [ -e seen ]; do sleep 0.01; done; echo two");
    let mut lines = Vec::new();
    let on_line = |line: &str| {
        std::fs::write(place.path("seen"), "").unwrap();
        lines.push(line.to_owned());
    };
    let limits = Limits::time(std::time::Duration::from_secs(15));
    let finished = run(&command, &place.output(), &limits, pending(), on_line).await.unwrap();
    assert_eq!((finished.end, lines.len()), (End::Exited(0), 2));
}

#[tokio::test]
async fn a_script_that_empties_the_file_through_its_own_name_is_followed_on() {
    let place = Place::new();
    let script = "echo a long first line; sleep 0.3; echo x > /dev/stderr; sleep 0.3; echo y";
    let (finished, lines) = place.run(script, &Limits::default()).await;
    assert_eq!(finished.end, End::Exited(0));
    assert!(lines.contains(&"y".to_owned()), "{lines:?}");
}

/// How many bytes the flood has; more with `RALPH_TEST_FLOOD`.
#[cfg(target_os = "linux")]
fn flood_bytes() -> u64 {
    std::env::var("RALPH_TEST_FLOOD").map_or(200_000_000, |bytes| bytes.parse().unwrap())
}

#[cfg(target_os = "linux")]
#[test]
fn a_flood_costs_little_memory() {
    for kind in ["one line", "many lines"] {
        // In a process of its own, where no other test adds to the peak.
        let out = StdCommand::new(std::env::current_exe().unwrap())
            .args(["--ignored", "--exact", "output::flood", "--nocapture"])
            .env("FLOOD_KIND", kind)
            .output()
            .unwrap();
        let text = String::from_utf8(out.stdout).unwrap();
        assert!(out.status.success(), "{text}");
        let grown = text.split_once("peak grew by ").unwrap().1.split_once(' ').unwrap().0;
        println!("{kind}: {grown} KiB for {} bytes", flood_bytes());
        assert!(grown.parse::<u64>().unwrap() <= 8 << 10, "{kind}: {grown} KiB");
    }
}

#[cfg(target_os = "linux")]
#[test]
#[ignore = "run by a_flood_costs_little_memory in a process of its own"]
fn flood() {
    let bytes = flood_bytes();
    let script = match std::env::var("FLOOD_KIND").as_deref() {
        Ok("many lines") => {
            format!("yes 'a line of some length, as programs print them' | head -c {bytes}")
        }
        _ => format!("head -c {bytes} /dev/zero"),
    };
    let folder = tempfile::tempdir().unwrap();
    let command = ralph_process::Command::shell(script, folder.path()).env("PATH", std::env::var("PATH").unwrap());
    let log = folder.path().join("log");
    let limits = Limits { output_bytes: 4 << 30, ..Limits::default() };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let (before, mut seen) = (peak(), 0);
    let finished = runtime.block_on(run(&command, &Output::merged(&log), &limits, pending(), |_| seen += 1)).unwrap();
    let grown = peak() - before;
    assert_eq!(finished.end, End::Exited(0));
    assert_eq!(std::fs::metadata(&log).unwrap().len(), bytes);
    assert!(seen == 1 || seen > bytes / 100, "{seen}");
    println!("peak grew by {grown} KiB");
}

/// The most memory that this process has had so far, in KiB.
#[cfg(target_os = "linux")]
fn peak() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
    line.trim().strip_suffix(" kB").unwrap().parse().unwrap()
}
