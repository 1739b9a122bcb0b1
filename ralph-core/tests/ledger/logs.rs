//! The logs for people, and what a crash at any point leaves of them.

use std::{collections::BTreeMap, fs, path::Path};

use ralph_core::{
    Event, Observer, Record, RunId,
    ledger::{Ledger, Recorder},
};

use super::story;

const FILES: [&str; 3] = ["PROGRESS.md", "BLOCKERS.md", "LEARNINGS.md"];

fn run() -> RunId {
    RunId::new("20260518-021145-a1b2c3")
}

/// Shows these records to a new recorder.
fn record(root: &Path, records: &[Record], replayed: usize) -> Vec<String> {
    let recorder = Recorder::new(Ledger::at(root));
    for (index, record) in records.iter().enumerate() {
        let (run, record) = (run(), record.clone());
        recorder.on_event(&if index < replayed {
            Event::Replayed { run, record }
        } else {
            Event::Recorded { run, record }
        });
    }
    recorder.trouble()
}

/// Everything in the folder that matters here, by name.
fn files(root: &Path) -> BTreeMap<String, Vec<u8>> {
    let cursor = format!("state/runs/{}/logs.json", run());
    let names = FILES.iter().map(|name| (*name).to_owned()).chain([cursor]);
    names.filter_map(|name| Some((name.clone(), fs::read(root.join(&name)).ok()?))).collect()
}

fn restore(root: &Path, files: &BTreeMap<String, Vec<u8>>) {
    for (name, bytes) in files {
        let path = root.join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, bytes).unwrap();
    }
}

fn logs(files: &BTreeMap<String, Vec<u8>>) -> BTreeMap<&str, String> {
    let text = |bytes: &Vec<u8>| String::from_utf8(bytes.clone()).unwrap();
    files.iter().filter(|(name, _)| name.ends_with(".md")).map(|(name, bytes)| (name.as_str(), text(bytes))).collect()
}

#[test]
fn a_night_as_people_read_it() {
    let folder = tempfile::tempdir().unwrap();
    assert_eq!(record(folder.path(), &story::night(), 0), Vec::<String>::new());
    let files = files(folder.path());
    let logs = logs(&files);
    insta::with_settings!({ omit_expression => true, prepend_module_to_snapshot => false }, {
        for name in FILES {
            insta::assert_snapshot!(name, logs[name]);
        }
    });
    // The line of the specification, to the letter.
    assert!(
        logs["PROGRESS.md"]
            .contains("\n- 0001 2026-05-18T02:18:45Z P1/R01 done attempts=1 cost=$0.41 commit=4f2c9ab — removed it\n")
    );
    assert!(logs["PROGRESS.md"].ends_with("\nSTOP_REASON: AWAITING_DECISIONS\n"));
}

/// What agents and verifiers print forges nothing.
#[test]
fn nothing_is_forged() {
    let folder = tempfile::tempdir().unwrap();
    record(folder.path(), &story::night(), 0);
    let files = files(folder.path());
    let logs = logs(&files);
    for (name, text) in &logs {
        assert!(!text.contains(['\u{1b}', '\u{202e}']), "{name}");
        assert_eq!(text.lines().filter(|line| line.starts_with("# ")).count(), 1, "{name}");
    }
    assert_eq!(logs["PROGRESS.md"].matches("\nSTOP_REASON").count(), 2);
    assert_eq!(logs["PROGRESS.md"].matches("\n- 0001").count(), 1);
    assert_eq!(logs["BLOCKERS.md"].matches("\n## ").count(), 1);
}

/// Whatever a crash leaves (any cursor, any torn end), taking the run up gives the same files.
#[test]
fn a_crash_at_any_point_changes_nothing() {
    let records = story::night();
    let reference = tempfile::tempdir().unwrap();
    // Files of the control folder after each record, with the entries of an earlier run and a person's note before.
    let mut states = Vec::new();
    fs::write(reference.path().join("PROGRESS.md"), "# Progress\n\n- 0001 old\nSTOP_REASON: CANCELLED\nmine").unwrap();
    states.push(files(reference.path()));
    for seen in 1..=records.len() {
        record(reference.path(), &records[..seen], seen - 1);
        states.push(files(reference.path()));
    }
    let last = states.last().unwrap();
    let expected = logs(last);
    // The same words as in the earlier run are an entry of their own.
    assert_eq!(expected["PROGRESS.md"].matches("\nSTOP_REASON: CANCELLED\n").count(), 2);
    let mut tried = 0;
    for (now, state) in states.iter().enumerate().skip(1) {
        // The cursor as it was after this or an earlier record.
        let mut cursors: Vec<_> = states[1..=now]
            .iter()
            .map(|state| state.iter().find(|(name, _)| name.ends_with(".json")).unwrap())
            .collect();
        cursors.dedup();
        for (name, cursor) in cursors {
            // The last thing written to PROGRESS.md or BLOCKERS.md may be torn anywhere.
            for log in ["PROGRESS.md", "BLOCKERS.md"] {
                let before = states[now - 1].get(log).map_or(0, Vec::len);
                let Some(whole) = state.get(log) else { continue };
                let step = (whole.len() - before).div_ceil(6).max(1);
                let near_end = whole.len().saturating_sub(1).max(before);
                for cut in (before..whole.len()).step_by(step).chain([near_end, whole.len()]) {
                    if cut < whole.len() && cursor == &state[name] {
                        continue; // the cursor is written after the log is durable
                    }
                    let mut left = state.clone();
                    left.insert(name.clone(), cursor.clone());
                    left.insert(log.to_owned(), whole[..cut].to_vec());
                    let folder = tempfile::tempdir().unwrap();
                    restore(folder.path(), &left);
                    assert_eq!(record(folder.path(), &records, now), Vec::<String>::new());
                    let found = files(folder.path());
                    assert_eq!(logs(&found), expected, "after record {now}, {log} cut at {cut}");
                    tried += 1;
                }
            }
        }
    }
    assert!(tried > 40, "{tried}");
}

/// Taking a run up without a crash writes nothing.
#[test]
fn replaying_writes_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let records = story::night();
    record(folder.path(), &records, 0);
    let before = files(folder.path());
    record(folder.path(), &records, records.len());
    assert_eq!(files(folder.path()), before);
    // Also not after a person shortened or edited the logs.
    for name in FILES {
        fs::write(folder.path().join(name), "mine\n").unwrap();
    }
    record(folder.path(), &records, records.len());
    for name in FILES {
        assert_eq!(fs::read_to_string(folder.path().join(name)).unwrap(), "mine\n");
    }
}

/// What cannot be written is remembered, and written when it can be.
#[test]
fn trouble_is_told_and_made_good() {
    let records = story::night();
    let reference = tempfile::tempdir().unwrap();
    record(reference.path(), &records, 0);
    let folder = tempfile::tempdir().unwrap();
    let progress = folder.path().join("PROGRESS.md");
    let recorder = Recorder::new(Ledger::at(folder.path()));
    for (index, record) in records.iter().enumerate() {
        if index == 2 {
            fs::create_dir(&progress).unwrap();
        }
        if index == 15 {
            fs::remove_dir(&progress).unwrap();
        }
        recorder.on_event(&Event::Recorded { run: run(), record: record.clone() });
    }
    let trouble = recorder.trouble();
    assert!(trouble.len() == 1 && trouble[0].contains("PROGRESS.md"), "{trouble:?}");
    assert_eq!(logs(&files(folder.path())), logs(&files(reference.path())));
}

/// A damaged cursor is kept aside, and nothing is written twice.
#[test]
fn a_damaged_cursor_is_kept_aside() {
    let folder = tempfile::tempdir().unwrap();
    let records = story::night();
    record(folder.path(), &records, 0);
    let before = files(folder.path());
    let cursor = Ledger::at(folder.path()).run(&run()).join("logs.json");
    fs::write(&cursor, "{").unwrap();
    let trouble = record(folder.path(), &records, records.len());
    assert!(trouble[0].contains("logs.json.damaged-1"), "{trouble:?}");
    assert_eq!(files(folder.path()), before);
    assert_eq!(fs::read_to_string(cursor.with_file_name("logs.json.damaged-1")).unwrap(), "{");
}
