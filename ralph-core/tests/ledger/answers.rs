//! Answers in the queue of files.

use std::{
    collections::BTreeMap,
    fs,
    path::Path,
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use ralph_core::{
    Answer, Cx, Decision, DecisionId, DecisionKind, DecisionSink, Question, Reply, RunId, chain,
    ledger::{AnswerError, FileDecisions, Ledger, Queued, Resolved},
};

pub(super) fn at(seconds: u64) -> SystemTime {
    UNIX_EPOCH + Duration::from_secs(1_779_070_305 + seconds)
}

pub(super) fn queue(root: &Path) -> FileDecisions {
    FileDecisions::new(Ledger::at(root))
}

fn run<T>(future: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(future)
}

fn asked(key: &str) -> Decision {
    let question = Question::new(DecisionKind::Choice, "Which?").with_options(["Resend", "Postmark"]);
    Decision::new(key, RunId::new("run"), "P1", question, at(0)).with_item("R03")
}

pub(super) fn submit(queue: &FileDecisions, key: &str) -> DecisionId {
    run(queue.submit(&asked(key), &Cx::new())).unwrap()
}

pub(super) fn answers(queue: &FileDecisions, ids: &[DecisionId]) -> Vec<Answer> {
    run(queue.answers(ids, &Cx::new())).unwrap()
}

fn close(queue: &FileDecisions, id: &DecisionId) {
    run(queue.close(id, "the gate is open now", &Cx::new())).unwrap();
}

/// Everything below a folder: content, and when it was changed.
fn traces(root: &Path) -> BTreeMap<String, (Vec<u8>, SystemTime)> {
    let mut found = BTreeMap::new();
    let mut folders = vec![root.to_owned()];
    while let Some(folder) = folders.pop() {
        let changed = fs::metadata(&folder).unwrap().modified().unwrap();
        found.insert(folder.display().to_string(), (Vec::new(), changed));
        for entry in fs::read_dir(&folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else {
                let changed = fs::metadata(&path).unwrap().modified().unwrap();
                found.insert(path.display().to_string(), (fs::read(&path).unwrap(), changed));
            }
        }
    }
    found
}

#[test]
fn an_answer_is_recorded_and_stays() {
    let folder = tempfile::tempdir().unwrap();
    let id = submit(&queue(folder.path()), "a");
    let other = submit(&queue(folder.path()), "b");
    assert_eq!(answers(&queue(folder.path()), &[id.clone(), other.clone()]), []);
    let answer = queue(folder.path()).answer(&id, " b ", " lead ", at(60)).unwrap();
    assert_eq!(answer, Answer::new(id.clone(), Reply::Choice("Postmark".to_owned()), "lead", at(60)));
    let again = queue(folder.path());
    assert_eq!(answers(&again, &[other.clone(), id.clone(), id.clone()]), std::slice::from_ref(&answer));
    assert_eq!(answers(&again, &[other, "D-009".into(), "../D-001".into()]), []);
    let Some(Resolved::Answered(stored)) = &again.list().unwrap()[0].resolved else { panic!("not answered") };
    assert_eq!((stored.said.as_str(), stored.settled), ("b", false));
    // It stays, whatever comes after.
    close(&again, &id);
    close(&again, &"D-002".into());
    assert!(matches!(again.answer(&id, "a", "lead", at(80)), Err(AnswerError::Resolved { .. })));
    assert_eq!(answers(&again, std::slice::from_ref(&id)), [answer]);
    assert_eq!(submit(&again, "a"), id, "a replay of the step");
    assert_eq!(again.trouble(), Vec::<String>::new());
}

#[test]
fn what_is_refused_leaves_no_trace() {
    let folder = tempfile::tempdir().unwrap();
    let queue = queue(folder.path());
    let nothing = queue.answer(&"D-001".into(), "a", "lead", at(1)).unwrap_err();
    assert_eq!(nothing.to_string(), "there is no decision `D-001`");
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);

    let [open, done, gone] = ["a", "b", "c"].map(|key| submit(&queue, key));
    queue.answer(&done, "Resend", "lead", at(1)).unwrap();
    close(&queue, &gone);
    let damaged = submit(&queue, "d");
    fs::write(folder.path().join("state/decisions/D-004.json"), "{").unwrap();
    let before = traces(folder.path());
    let refused = |id: &DecisionId, said: &str, by: &str| {
        let error = chain(&queue.answer(id, said, by, at(2)).unwrap_err());
        assert_eq!(traces(folder.path()), before, "{error}");
        error
    };
    assert_eq!(refused(&open, "Sendgrid", "lead").split(':').next(), Some("`Sendgrid` is no answer to this question"));
    assert!(refused(&open, "", "lead").contains("is no answer"));
    assert!(refused(&open, "a", " ").contains("is no name"));
    assert!(refused(&open, "a", "le\nad").contains("is no name"));
    assert!(refused(&open, "a", "le\u{202e}ad").contains("is no name"));
    assert_eq!(
        refused(&done, "Resend", "lead"),
        "D-002 waits no longer: lead answered `Resend` at 2026-05-18T02:11:46Z"
    );
    assert!(refused(&gone, "Resend", "lead").contains("taken back"));
    assert!(refused(&gone, "Resend", "lead").ends_with("the gate is open now"));
    assert!(refused(&damaged, "a", "lead").contains("D-004.json"));
    for unknown in ["D-005", "D-1", "D-0001", "d-001", "D-001.json", "../decisions/D-001", "D-+01", "", "\u{1b}[2J"] {
        let error = refused(&unknown.into(), "a", "lead");
        assert!(error.starts_with("there is no decision") && !error.contains('\u{1b}'), "{error}");
    }
    // The control: what is an answer leaves one.
    queue.answer(&open, "a", "lead", at(2)).unwrap();
    assert_ne!(traces(folder.path()), before);
}

#[test]
fn a_closed_question_takes_no_answer() {
    let folder = tempfile::tempdir().unwrap();
    let queue = queue(folder.path());
    // Nothing is made for what nobody asked.
    close(&queue, &"D-001".into());
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
    let id = submit(&queue, "a");
    close(&queue, &id);
    let once = traces(folder.path());
    close(&queue, &id);
    assert_eq!(traces(folder.path()), once, "closing twice is closing once");
    assert_eq!(answers(&queue, std::slice::from_ref(&id)), []);
    assert_eq!(submit(&queue, "a"), id);
    let page = fs::read_to_string(folder.path().join("DECISIONS.md")).unwrap();
    assert!(page.contains("- withdrawn: ") && page.contains("`the gate is open now`"), "{page}");
}

#[test]
fn what_follows_from_an_answer_is_settled_once() {
    let folder = tempfile::tempdir().unwrap();
    let queue = queue(folder.path());
    let [one, two, open, gone] = ["a", "b", "c", "d"].map(|key| submit(&queue, key));
    for id in [&one, &two] {
        queue.answer(id, "a", "lead", at(1)).unwrap();
    }
    close(&queue, &gone);
    let unsettled = || {
        let found = FileDecisions::new(Ledger::at(folder.path())).unsettled().unwrap();
        found.into_iter().map(|queued| queued.id).collect::<Vec<_>>()
    };
    assert_eq!(unsettled(), [one.clone(), two.clone()]);
    queue.settle(&one).unwrap();
    assert_eq!(unsettled(), [two]);
    let before = traces(folder.path());
    for id in [one.clone(), open.clone(), gone, "D-099".into()] {
        queue.settle(&id).unwrap();
    }
    assert_eq!(traces(folder.path()), before, "there was nothing to settle");
    assert_eq!(answers(&queue, &[one, open]).len(), 1);
}

#[test]
fn a_page_that_cannot_be_written_does_not_lose_an_answer() {
    let folder = tempfile::tempdir().unwrap();
    let queue = queue(folder.path());
    let id = submit(&queue, "a");
    let page = folder.path().join("DECISIONS.md");
    fs::remove_file(&page).unwrap();
    fs::create_dir(&page).unwrap();
    queue.answer(&id, "a", "lead", at(1)).unwrap();
    assert!(queue.trouble()[0].contains("DECISIONS.md"), "{:?}", queue.trouble());
    assert_eq!(answers(&queue, &[id]).len(), 1);
    fs::remove_dir(&page).unwrap();
    queue.render().unwrap();
    assert!(fs::read_to_string(&page).unwrap().contains("- answered: "));
}

/// Files that an earlier version wrote.
#[test]
fn format_1_is_read() {
    let folder = tempfile::tempdir().unwrap();
    let decisions = folder.path().join("state/decisions");
    fs::create_dir_all(&decisions).unwrap();
    let golden = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden");
    for (name, file) in [("pending", "D-001"), ("answered", "D-002"), ("withdrawn", "D-003"), ("odd", "D-004")] {
        fs::copy(golden.join(format!("decision-v1-{name}.json")), decisions.join(format!("{file}.json"))).unwrap();
    }
    let queue = queue(folder.path());
    let all = queue.list().unwrap();
    let ids: Vec<DecisionId> = all.iter().map(|queued| queued.id.clone()).collect();
    assert_eq!(all.iter().map(Queued::is_pending).collect::<Vec<_>>(), [true, false, false, false]);
    assert!(matches!(&all[2].resolved, Some(Resolved::Withdrawn(gone)) if gone.why == "the item was opened again"));
    let given = answers(&queue, &ids);
    let continued =
        Answer::new("D-002".into(), Reply::Continue, "lead", UNIX_EPOCH + Duration::from_secs(1_779_080_000));
    assert_eq!(given[0], continued);
    // What was no answer to the question opens nothing.
    assert_eq!((given.len(), &given[1].reply), (2, &Reply::Text("maybe".to_owned())));
    assert!(queue.unsettled().unwrap().is_empty(), "nothing followed from answers then");
    // It is taken up as it is.
    queue.answer(&ids[0], "Resend", "lead", at(1)).unwrap();
    let text = fs::read_to_string(decisions.join("D-001.json")).unwrap();
    assert!(text.contains("\"format\": 2"), "{text}");
    assert_eq!(submit(&queue, "new").as_str(), "D-005");
    assert_eq!(queue.trouble(), Vec::<String>::new());
}

/// The format of today, as it must be read for ever.
#[test]
fn format_2_is_as_it_was() {
    let folder = tempfile::tempdir().unwrap();
    let queue = queue(folder.path());
    let id = submit(&queue, "a");
    queue.answer(&id, "other: SES", "lead", at(1)).unwrap();
    let golden = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden/decision-v2-answered.json");
    let written = fs::read_to_string(folder.path().join("state/decisions/D-001.json")).unwrap();
    assert_eq!(written, fs::read_to_string(golden).unwrap());
}

#[cfg(unix)]
#[test]
fn odd_files_are_neither_followed_nor_waited_for() {
    use std::os::unix::fs::symlink;
    let folder = tempfile::tempdir().unwrap();
    let (root, outside) = (folder.path().join("ledger"), folder.path().join("outside.json"));
    let decisions = root.join("state/decisions");
    let pipe = |path: &Path| assert!(std::process::Command::new("mkfifo").arg(path).status().unwrap().success());
    let id = submit(&queue(&root), "a");
    let text = fs::read_to_string(decisions.join("D-001.json")).unwrap();
    fs::write(&outside, text.replace("D-001", "D-009")).unwrap();
    symlink(&outside, decisions.join("D-009.json")).unwrap();
    fs::create_dir(decisions.join("D-010.json")).unwrap();
    pipe(&decisions.join("D-011.json"));
    fs::write(decisions.join("D-012.json"), &text).unwrap();
    fs::write(decisions.join("D-13.json"), text.replace("D-001", "D-13")).unwrap();
    let before = fs::read(&outside).unwrap();
    let queue = queue(&root);
    for odd in ["D-009", "D-010", "D-011", "D-012"] {
        let error = chain(&queue.answer(&odd.into(), "a", "lead", at(1)).unwrap_err());
        assert!(error.contains(&format!("{odd}.json")), "{error}");
        assert!(fs::symlink_metadata(decisions.join(format!("{odd}.json"))).is_ok(), "an answer sets nothing aside");
    }
    assert_eq!(queue.list().unwrap().len(), 1);
    let told = queue.trouble().join("\n");
    for (odd, why) in [
        ("D-009", "it is a link"),
        ("D-010", "it is a folder"),
        ("D-011", "it is no plain file"),
        ("D-012", "it holds a decision with the id \"D-001\""),
        ("D-13", "it holds a decision with the id \"D-13\""),
    ] {
        assert!(told.contains(&format!("{odd}.json: {why}; it is now ")), "{told}");
        assert!(fs::symlink_metadata(decisions.join(format!("{odd}.json.damaged-1"))).is_ok());
    }
    // The same for the files beside the decisions.
    for name in ["last", "page"] {
        fs::remove_file(decisions.join(name)).unwrap();
        pipe(&decisions.join(name));
    }
    assert_eq!(submit(&queue, "b").as_str(), "D-014", "numbers of what is aside are not given again");
    queue.answer(&id, "a", "lead", at(1)).unwrap();
    assert_eq!(fs::read(&outside).unwrap(), before);
    // A lock that is none is an error that names it.
    fs::remove_file(decisions.join("lock")).unwrap();
    pipe(&decisions.join("lock"));
    let error = chain(&run(queue.submit(&asked("c"), &Cx::new())).unwrap_err());
    assert!(error.contains("lock: it is no plain file; remove it"), "{error}");
    let (page, kept) = (root.join("DECISIONS.md"), folder.path().join("kept"));
    fs::remove_file(decisions.join("lock")).unwrap();
    fs::rename(&page, &kept).unwrap();
    pipe(&page);
    submit(&queue, "c");
    assert!(queue.trouble().iter().any(|told| told.ends_with("it is no file")), "{:?}", queue.trouble());
}
