//! The journal's file: what a crash, a bad disk or another version may leave of it.

use std::{
    fs,
    path::{Path, PathBuf},
    time::{Instant, UNIX_EPOCH},
};

use ralph_core::{
    Answer, AttemptId, Budget, Cost, Decision, DecisionKind, DiffStat, Digest, ItemRef, ItemStatus, Journal,
    JournalError, KeepKind, Opened, Question, Record, Reply, Revision, RunId, Signal, SignalStatus, Spent, Stage, Stop,
    StopReason, Tip, Tokens, Trouble, Usage, Usd,
    ledger::JsonlJournal,
    machine::{
        Attempt, Carried, CarriedOver, Counts, End, Fact, Iteration, Objection, Origin, Pick, Readiness, Refusal,
        Rules, Spec, VerifyOutcome,
    },
};

struct Place {
    folder: tempfile::TempDir,
    journal: JsonlJournal,
    run: RunId,
}

impl Place {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let journal = JsonlJournal::new(folder.path());
        Self { folder, journal, run: RunId::new("run") }
    }

    fn open(&self) -> Result<Opened, JournalError> {
        block(self.journal.open(&self.run))
    }

    fn path(&self) -> PathBuf {
        self.journal.path(&self.run)
    }

    /// A journal of these records; answers its bytes.
    fn write(&self, records: &[Record]) -> Vec<u8> {
        let mut opened = self.open().unwrap();
        for record in records {
            block(opened.writer.append(record)).unwrap();
        }
        drop(opened);
        fs::read(self.path()).unwrap()
    }
}

fn block<T>(future: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(future)
}

/// One of every fact, and then some.
fn facts() -> Vec<Fact> {
    let item = ItemRef::new("P1", "R03");
    let spec = Spec {
        item: item.clone(),
        title: "Remove the snippet — “quoted”\nline".to_owned(),
        digest: Digest::of(b"row"),
        decisions: 0,
        last: true,
        max_blockers: None,
        require_red: false,
    };
    let answer = Answer::new("D-007".into(), Reply::Choice("Resend".to_owned()), "lead", UNIX_EPOCH);
    let revision = Revision::new("4f2c9ab0");
    let mut signal = Signal::new(SignalStatus::Decision);
    signal.question = Some("Resend or Postmark?".to_owned());
    signal.kind = Some(DecisionKind::Choice);
    signal.learned = vec!["the tests need a database".to_owned()];
    let mut rules = Rules::default();
    rules.budget = Budget::default();
    rules.budget.cost = Some(Usd::from_micros(20_000_000));
    let iteration = |to, why: &str| Iteration {
        number: 7,
        item: item.clone(),
        title: spec.title.clone(),
        to,
        sessions: 2,
        cost: Cost::Reported(Usd::from_micros(410_000)),
        revision: Some(revision.clone()),
        kept: None,
        decision: None,
        why: why.to_owned(),
    };
    let ended = |end| Fact::Ended {
        end,
        usage: Usage::unknown().with_cost(Usd::from_micros(1)).with_tokens(Tokens::default()),
        signal: Some(signal.clone()),
        session_id: Some("s".to_owned()),
        agent: Some("claude".to_owned()),
        resumed: true,
        compactions: 1,
        denied: 2,
        took_ms: 60_000,
    };
    vec![
        Fact::Opened {
            rules,
            carried: Carried {
                finished: vec!["P0".into()],
                since_checkpoint: 1,
                retired: vec![item.clone()],
                unpublished: true,
            },
        },
        Fact::CancelAsked,
        Fact::Looked {
            tip: Tip::At(revision.clone()),
            pick: Pick::Item(spec.clone()),
            counts: Counts { open: 3, ..Counts::default() },
            answers: vec![answer.clone()],
            moot: vec![item.clone()],
            lost: vec!["D-005".into()],
        },
        Fact::Looked {
            tip: Tip::At(revision.clone()),
            pick: Pick::Invalid("PRD.md:3: bad".to_owned()),
            counts: Counts::default(),
            answers: Vec::new(),
            moot: Vec::new(),
            lost: Vec::new(),
        },
        Fact::Began {
            attempt: Attempt {
                id: AttemptId { item: item.clone(), number: 1 },
                spec: spec.clone(),
                iteration: 7,
                origin: Origin::Session,
                charged: 1,
                start: revision.clone(),
                base: revision.clone(),
                reserve: Spent::default(),
                cost_limit: Some(Usd::from_micros(5)),
            },
        },
        Fact::Prepared { readiness: Readiness::Ready(Digest::of(b"tree")), took_ms: 5 },
        Fact::Prepared { readiness: Readiness::Environment("no database".to_owned()), took_ms: 5 },
        ended(End::Finished),
        ended(End::Interrupted),
        ended(End::Unavailable { trouble: Trouble::RateLimit, detail: "429".to_owned(), wait_ms: 1, until: 2 }),
        Fact::Captured {
            revision: None,
            tree: Digest::of(b"tree"),
            stat: DiffStat::default(),
            findings: Vec::new(),
            took_ms: 3,
        },
        Fact::Verified {
            stage: Stage::Candidate,
            revision: Some(revision.clone()),
            own: None,
            outcome: VerifyOutcome::Fail,
            summary: "1 of 3 failed".to_owned(),
            parts: Vec::new(),
            tail: "assertion\u{1b}[31m failed\n".to_owned(),
            took_ms: 900,
        },
        Fact::Judged {
            phase: None,
            ruling: ralph_core::Ruling::Ask(Question::new(DecisionKind::Dependency, "add serde?")),
            by: vec![Objection::new("dependencies", "add serde?")],
            opened: Vec::new(),
            took_ms: 4,
        },
        Fact::Accepted { revision: revision.clone() },
        Fact::NotAccepted { why: Refusal::Overtaken(revision.clone()) },
        Fact::Kept { kind: KeepKind::Rejected, name: "refs/ralph/rejected/run/R03/1".to_owned() },
        Fact::Asked { id: "D-007".into(), item: Some(item.clone()) },
        Fact::TookIn { answer, refused: None },
        Fact::Withdrawn { ids: vec!["D-006".into()] },
        Fact::Rebased {
            onto: Some(CarriedOver {
                revision: revision.clone(),
                tree: Digest::of(b"tree"),
                stat: DiffStat::default(),
            }),
            conflicts: Vec::new(),
        },
        Fact::Judged {
            phase: Some("P1".into()),
            ruling: ralph_core::Ruling::Open,
            by: Vec::new(),
            opened: vec![Objection::new("manual-gate", "approve?")],
            took_ms: 4,
        },
        Fact::NotJudged { phase: "P1".into(), stop: Stop::new(StopReason::VerifierBroken, "exit 127") },
        Fact::PhaseDone { phase: "P1".into(), revision: revision.clone() },
        Fact::Published { revision: revision.clone(), error: Some("no network".to_owned()) },
        Fact::Marked { iteration: iteration(ItemStatus::Done, ""), refused: None },
        Fact::Marked {
            iteration: iteration(ItemStatus::Blocked, "1 of 3 failed"),
            refused: Some("the item is gone".to_owned()),
        },
        Fact::Rounded {
            enough: Some(VerifyOutcome::Fail),
            summary: "exit code 1".to_owned(),
            until: 1_716_000_000_000,
            took_ms: 7,
        },
        Fact::Waited { took_ms: 7 },
        Fact::Stopped { stop: Stop::new(StopReason::ItemsBlocked, "1 item is blocked") },
    ]
}

fn records() -> Vec<Record> {
    let numbered = facts().into_iter().zip(1_u64..);
    numbered.map(|(fact, seq)| Record { seq, at: 1_779_070_305_000 + seq, fact }).collect()
}

/// What is read of a file with these bytes.
fn read(bytes: &[u8]) -> Result<Opened, JournalError> {
    let place = Place::new();
    fs::create_dir_all(place.path().parent().unwrap()).unwrap();
    fs::write(place.path(), bytes).unwrap();
    let opened = place.open();
    drop(place.folder);
    opened
}

#[test]
fn a_journal_cut_anywhere_is_taken_up() {
    let records: Vec<_> = records()
        .into_iter()
        .skip(14)
        .zip(1..)
        .take(3)
        .map(|(mut record, seq)| {
            record.seq = seq;
            record
        })
        .collect();
    let whole = Place::new().write(&records);
    let ends: Vec<usize> = whole.iter().enumerate().filter(|(_, b)| **b == b'\n').map(|(at, _)| at + 1).collect();
    assert_eq!(ends.len(), records.len() + 1);
    for cut in 0..=whole.len() {
        let place = Place::new();
        fs::create_dir_all(place.path().parent().unwrap()).unwrap();
        fs::write(place.path(), &whole[..cut]).unwrap();
        let mut opened = place.open().unwrap();
        let kept = ends.iter().filter(|end| **end <= cut).count().saturating_sub(1);
        assert_eq!(opened.records, records[..kept], "cut at {cut}");
        let torn = cut > 0 && !ends.contains(&cut);
        assert_eq!(opened.repaired.is_some(), torn, "cut at {cut}: {:?}", opened.repaired);
        // And it goes on from there.
        for record in &records[kept..] {
            block(opened.writer.append(record)).unwrap();
        }
        drop(opened);
        assert_eq!(fs::read(place.path()).unwrap(), whole, "cut at {cut}");
    }
}

#[test]
fn zeros_at_the_end_are_cut() {
    let records = records();
    let whole = Place::new().write(&records);
    for zeros in [1, 4096] {
        let mut bytes = whole.clone();
        bytes.extend(std::iter::repeat_n(0, zeros));
        let opened = read(&bytes).unwrap();
        assert_eq!((opened.records.len(), opened.repaired.is_some()), (records.len(), true));
    }
    // The length of the last write is there, its content is not.
    let mut bytes = whole;
    let last = bytes.len() - 40;
    bytes[last..].fill(0);
    assert_eq!(read(&bytes).unwrap().records.len(), records.len() - 1);
    *bytes.last_mut().unwrap() = b'\n';
    assert_eq!(read(&bytes).unwrap().records.len(), records.len() - 1);
}

#[test]
fn every_damaged_byte_inside_is_noticed() {
    let records: Vec<_> = records().into_iter().take(4).collect();
    let whole = Place::new().write(&records);
    let lines: Vec<usize> = whole.iter().enumerate().filter(|(_, b)| **b == b'\n').map(|(at, _)| at).collect();
    let inner = lines[lines.len() - 2];
    let place = Place::new();
    place.write(&records);
    for at in 0..=inner {
        for flip in [0x01, 0x20, 0x80] {
            let mut bytes = whole.clone();
            bytes[at] ^= flip;
            let line = lines.iter().filter(|end| **end < at).count() as u64;
            let begin = if line == 0 { 0 } else { lines[line as usize - 1] + 1 } as u64;
            fs::write(place.path(), &bytes).unwrap();
            match place.journal.read(&place.run) {
                Err(JournalError::Damaged { seq, offset, .. }) => {
                    assert_eq!((seq, offset), (line, begin), "byte {at} ^ {flip:#x}");
                }
                // The end of the last line but one is gone, and the two together are not a whole one.
                other => panic!("byte {at} ^ {flip:#x}: {other:?}"),
            }
        }
    }
    // The last record is damaged too, though it is whole: it was acknowledged, so it is not dropped.
    let mut bytes = whole;
    bytes[inner + 9] ^= 1;
    assert!(matches!(read(&bytes), Err(JournalError::Damaged { .. })));
}

#[test]
fn records_out_of_order_are_damage() {
    let whole = String::from_utf8(Place::new().write(&records())).unwrap();
    let mut lines: Vec<_> = whole.split_inclusive('\n').collect();
    lines.remove(2);
    match read(lines.concat().as_bytes()) {
        Err(JournalError::Damaged { seq: 2, why, .. }) => assert_eq!(why, "it is record 3"),
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_later_format_is_recognised() {
    let body = "{\"format\":2,\"run\":\"run\",\"more\":[1]";
    let line = format!("{body},\"crc\":\"{:08x}\"}}\n", crc(body.as_bytes()));
    match read(line.as_bytes()) {
        Err(JournalError::Newer { found: 2, known: 1, .. }) => {}
        other => panic!("{other:?}"),
    }
}

/// CRC-32 as in zip, written out: the file format does not hang on a library.
fn crc(bytes: &[u8]) -> u32 {
    let mut crc = u32::MAX;
    for byte in bytes {
        crc ^= u32::from(*byte);
        for _ in 0..8 {
            crc = if crc & 1 == 1 { (crc >> 1) ^ 0xedb8_8320 } else { crc >> 1 };
        }
    }
    !crc
}

#[test]
fn a_journal_that_is_removed_while_it_is_written_ends_the_run() {
    let place = Place::new();
    let record = |seq| Record { seq, at: 0, fact: Fact::CancelAsked };
    let mut opened = place.open().unwrap();
    block(opened.writer.append(&record(1))).unwrap();
    fs::remove_file(place.path()).unwrap();
    let error = block(opened.writer.append(&record(2))).unwrap_err();
    assert!(error.to_string().contains("written"), "{error}");
}

#[test]
fn a_writer_takes_only_the_next_record_and_nothing_after_an_error() {
    let place = Place::new();
    let mut opened = place.open().unwrap();
    let records = records();
    block(opened.writer.append(&records[0])).unwrap();
    assert!(block(opened.writer.append(&records[2])).is_err(), "a gap");
    assert!(block(opened.writer.append(&records[1])).is_err(), "after an error it must be opened again");
    drop(opened);
    assert_eq!(place.open().unwrap().records.len(), 1);
}

#[test]
fn names_that_are_no_runs_are_refused() {
    let place = Place::new();
    for name in ["", "..", "a/b", ".hidden"] {
        assert!(block(place.journal.open(&RunId::new(name))).is_err(), "{name:?}");
    }
    assert_eq!(fs::read_dir(place.folder.path()).unwrap().count(), 0);
}

#[test]
fn onlookers_read_while_it_is_written() {
    let place = Place::new();
    let mut opened = place.open().unwrap();
    block(opened.writer.append(&records()[0])).unwrap();
    assert_eq!(place.journal.read(&place.run).unwrap().len(), 1);
    assert!(place.journal.read(&RunId::new("other")).is_err());
}

/// The journal of the first released format is read for ever. `RALPH_WRITE_GOLDEN=1` writes it anew, which is right
/// only before a release.
#[test]
fn the_first_format_is_read() {
    let path = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/golden/journal-v1.jsonl"));
    let records = records();
    if std::env::var_os("RALPH_WRITE_GOLDEN").is_some() {
        fs::write(path, Place::new().write(&records)).unwrap();
    }
    let opened = read(&fs::read(path).unwrap()).unwrap();
    assert_eq!(opened.records, records);
    assert_eq!(opened.repaired, None);
}

/// Prints how long it takes to open a long journal; run with `--release --nocapture` for numbers that mean something.
#[test]
fn ten_thousand_records() {
    let place = Place::new();
    let all = facts();
    let facts = all.iter().cycle().take(10_000);
    let path = place.path();
    drop(place.open().unwrap());
    let mut text = fs::read_to_string(&path).unwrap();
    for (fact, seq) in facts.zip(1_u64..) {
        let mut line = serde_json::to_string(&Record { seq, at: 1, fact: fact.clone() }).unwrap();
        line.pop();
        let crc = crc(line.as_bytes());
        text.push_str(&format!("{line},\"crc\":\"{crc:08x}\"}}\n"));
    }
    fs::write(&path, &text).unwrap();
    let began = Instant::now();
    let opened = place.open().unwrap();
    println!("10,000 records, {} bytes: {:?}", text.len(), began.elapsed());
    assert_eq!(opened.records.len(), 10_000);
}

/// A decision is not a fact, but it is kept as JSON next to them: its form must not change by accident.
#[test]
fn decisions_are_plain_json() {
    let json = r#"{"key":"k","run":"r","phase":"P1","question":{"kind":"choice","text":"t"},"asked":{"secs_since_epoch":1,"nanos_since_epoch":0}}"#;
    let decision: Decision = serde_json::from_str(json).unwrap();
    assert_eq!(decision.question.kind, DecisionKind::Choice);
}
