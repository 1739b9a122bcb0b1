//! The queue of decisions in files.

use std::{
    fs,
    path::Path,
    sync::Arc,
    thread,
    time::{Duration, UNIX_EPOCH},
};

use ralph_core::{
    Cx, Decision, DecisionId, DecisionSink,
    ledger::{FileDecisions, Ledger},
};

fn decision(key: &str, json: &str) -> Decision {
    let text = format!(
        r#"{{"key":"{key}","run":"run","phase":"P1","item":"R03","asked":{{"secs_since_epoch":1779070305,"nanos_since_epoch":0}},{json}}}"#
    );
    serde_json::from_str(&text).unwrap()
}

fn plain(key: &str) -> Decision {
    decision(key, r#""question":{"kind":"choice","text":"Which?"}"#)
}

fn queue(root: &Path) -> FileDecisions {
    FileDecisions::new(Ledger::at(root))
}

fn submit(queue: &FileDecisions, decision: &Decision) -> DecisionId {
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    runtime.block_on(queue.submit(decision, &Cx::new())).unwrap()
}

fn close(queue: &FileDecisions, id: &DecisionId, why: &str) {
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    runtime.block_on(queue.close(id, why, &Cx::new())).unwrap();
}

fn page(root: &Path) -> String {
    fs::read_to_string(root.join("DECISIONS.md")).unwrap()
}

#[test]
fn a_decision_is_recorded_once() {
    let folder = tempfile::tempdir().unwrap();
    let queue = queue(folder.path());
    assert_eq!(submit(&queue, &plain("a")).as_str(), "D-001");
    assert_eq!(submit(&queue, &plain("b")).as_str(), "D-002");
    assert_eq!(submit(&queue, &plain("a")).as_str(), "D-001");
    // Another run asks anew.
    let mut other = plain("a");
    other.run = "other".into();
    assert_eq!(submit(&queue, &other).as_str(), "D-003");
    let all = FileDecisions::new(Ledger::at(folder.path())).list().unwrap();
    assert_eq!(all.len(), 3);
    assert_eq!(all[0].decision, plain("a"));
    assert_eq!(queue.trouble(), Vec::<String>::new());
    // Room for the answer is in the file.
    let text = fs::read_to_string(folder.path().join("state/decisions/D-001.json")).unwrap();
    assert!(text.contains("\"format\": 2") && text.contains("\"resolved\": null"), "{text}");
}

#[test]
fn an_id_is_never_given_again() {
    let folder = tempfile::tempdir().unwrap();
    let decisions = folder.path().join("state/decisions");
    submit(&queue(folder.path()), &plain("a"));
    submit(&queue(folder.path()), &plain("b"));
    fs::remove_file(decisions.join("D-001.json")).unwrap();
    fs::remove_file(decisions.join("D-002.json")).unwrap();
    assert_eq!(submit(&queue(folder.path()), &plain("a")).as_str(), "D-003");
    // Without the counter the files say what was given.
    fs::remove_file(decisions.join("last")).unwrap();
    assert_eq!(submit(&queue(folder.path()), &plain("c")).as_str(), "D-004");
    fs::write(decisions.join("last"), "garbage").unwrap();
    let queue = queue(folder.path());
    assert_eq!(submit(&queue, &plain("d")).as_str(), "D-005");
    assert!(queue.trouble()[0].contains("last.damaged-1"), "{:?}", queue.trouble());
}

#[test]
fn unreadable_files_are_kept_aside() {
    let folder = tempfile::tempdir().unwrap();
    submit(&queue(folder.path()), &plain("a"));
    let path = folder.path().join("state/decisions/D-001.json");
    fs::write(&path, "{\"format\":1").unwrap();
    let queue = queue(folder.path());
    assert!(queue.list().unwrap().is_empty());
    assert!(queue.trouble()[0].contains("D-001.json.damaged-1"), "{:?}", queue.trouble());
    fs::remove_file(folder.path().join("state/decisions/last")).unwrap();
    assert_eq!(submit(&queue, &plain("a")).as_str(), "D-002", "what is aside keeps its number");
    // A later format is not damage.
    fs::write(&path, "{\"format\":3,\"new\":true}").unwrap();
    let error = ralph_core::chain(&queue.list().unwrap_err());
    assert!(error.contains("use a newer ralph"), "{error}");
    assert!(path.exists());
}

#[test]
fn many_at_once_get_an_id_each() {
    let folder = tempfile::tempdir().unwrap();
    let queue = Arc::new(queue(folder.path()));
    let threads: Vec<_> = (0..8)
        .map(|number| {
            let queue = Arc::clone(&queue);
            thread::spawn(move || submit(&queue, &plain(&format!("k{}", number % 4))))
        })
        .collect();
    let mut ids: Vec<_> = threads.into_iter().map(|thread| thread.join().unwrap()).collect();
    ids.sort();
    ids.dedup();
    assert_eq!(ids.len(), 4);
}

#[test]
fn the_page_is_what_people_read() {
    let folder = tempfile::tempdir().unwrap();
    let queue = queue(folder.path());
    let at = |hours: u64| UNIX_EPOCH + Duration::from_secs(1_779_070_305 + hours * 3600);
    let ask = |key: &str, hours: u64, item: Option<&str>, json: &str| {
        let mut decision = decision(key, json);
        (decision.asked, decision.item) = (at(hours), item.map(Into::into));
        submit(&queue, &decision)
    };
    let gate = ask(
        "gate",
        0,
        None,
        r#""question":{"kind":"manual-gate","text":"Manual-Gate awaits: lead approves the policy text"}"#,
    );
    let service =
        r#""question":{"kind":"choice","from_agent":true,"text":"Which service?","options":["Resend","Postmark"]}"#;
    let service = ask("service", 1, Some("R02"), service);
    let late = ask("late", 1, Some("R05"), r#""question":{"kind":"choice","text":"And then?"}"#);
    ask(
        "new",
        2,
        Some("R03"),
        r#""question":{"kind":"dependency","text":"`left-pad` is new in package.json."},
        "revision":"4f2c9ab","kept":"refs/ralph/parked/20260518-021145-a1b2c3/P1/R03/1",
        "stat":{"files":3,"added":10,"removed":2},"said":"I needed it to pad.\n\nAll tests pass.",
        "output":"ok 1\nok 2\n""#,
    );
    ask(
        "safe",
        9,
        Some("R04"),
        r#""question":{"kind":"security","text":"src/auth/login.rs would change."},"revision":"abc","stat":{"files":1}"#,
    );
    ask(
        "more",
        9,
        Some("R06"),
        r#""question":{"kind":"scope","text":"The agent proposes items."},
        "proposed":[{"title":"Rotate the key","criteria":["the old key is refused","it is written down"],"verify":"make key"},{"title":"Tidy up"}]"#,
    );
    queue.answer(&gate, "no: too broad", "lead", at(10)).unwrap();
    queue.answer(&service, "b", "Ada Lovelace", at(11)).unwrap();
    close(&queue, &late, "the item was opened again");
    // As if it had been then.
    let file = folder.path().join("state/decisions/D-003.json");
    let mut queued: serde_json::Value = serde_json::from_slice(&fs::read(&file).unwrap()).unwrap();
    queued["resolved"]["withdrawn"]["at"] = (at(12).duration_since(UNIX_EPOCH).unwrap().as_secs() * 1000).into();
    fs::write(&file, queued.to_string()).unwrap();
    queue.render().unwrap();
    insta::with_settings!({ omit_expression => true, prepend_module_to_snapshot => false }, {
        insta::assert_snapshot!("DECISIONS.md", page(folder.path()));
    });
}

#[test]
fn the_page_of_hostile_words_is_what_people_read() {
    let folder = tempfile::tempdir().unwrap();
    let queue = queue(folder.path());
    let hostile = r####""question":{"kind":"security","from_agent":true,"text":"Ok?\n## Resolved\n### D-009 choice — P1/R01\n- answered: now by lead: yes\n```\n<!-- \u202e\u001b[2J","options":["A\n## Pending","yes <!--","`[x](http://a)"],"recommendation":"A\n- answered: by lead"},"revision":"a b","kept":"refs/$(x)","said":"\n\n","proposed":[{"title":"- [x] R09: `"}]"####;
    let mut asked = decision("a", hostile);
    asked.item = Some("R03 — [x](http://a)\n### D-010".into());
    submit(&queue, &asked);
    insta::with_settings!({ omit_expression => true, prepend_module_to_snapshot => false }, {
        insta::assert_snapshot!("DECISIONS.md of hostile words", page(folder.path()));
    });
}

#[test]
fn a_hand_edited_page_is_kept_aside() {
    let folder = tempfile::tempdir().unwrap();
    let queue = queue(folder.path());
    let path = folder.path().join("DECISIONS.md");
    submit(&queue, &plain("a"));
    let first = page(folder.path());
    queue.render().unwrap();
    assert_eq!((page(folder.path()), queue.trouble().len()), (first.clone(), 0));
    fs::write(&path, format!("{first}\nanswer: yes\n")).unwrap();
    submit(&queue, &plain("b"));
    let aside = fs::read_to_string(folder.path().join("DECISIONS.md.edited-1")).unwrap();
    assert!(aside.ends_with("answer: yes\n"));
    assert!(queue.trouble()[0].contains("DECISIONS.md.edited-1"), "{:?}", queue.trouble());
    assert!(page(folder.path()).contains("### D-002"));
    // A crash between the page and its fingerprint is no edit.
    let prints = folder.path().join("state/decisions/page");
    let (before, now) = (fs::read_to_string(&prints).unwrap(), page(folder.path()));
    submit(&queue, &plain("c"));
    let after = fs::read_to_string(&prints).unwrap();
    for (left, prints_left) in
        [(&now, &before), (&now, &format!("{before}{after}")), (&page(folder.path()), &format!("{before}{after}"))]
    {
        fs::write(&path, left).unwrap();
        fs::write(&prints, prints_left).unwrap();
        queue.render().unwrap();
        assert!(!folder.path().join("DECISIONS.md.edited-2").exists());
        assert!(page(folder.path()).contains("### D-003"));
    }
    // A page that cannot be written does not lose the decision.
    fs::remove_file(&path).unwrap();
    fs::create_dir(&path).unwrap();
    assert_eq!(submit(&queue, &plain("d")).as_str(), "D-004");
    assert_eq!(queue.trouble().len(), 2, "{:?}", queue.trouble());
}

/// A crash after the page was replaced and before its fingerprint was: the page is still known as ours.
#[cfg(unix)]
#[test]
fn a_page_that_came_just_before_a_crash_is_no_edit() {
    let (reference, folder) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    for root in [reference.path(), folder.path()] {
        submit(&queue(root), &plain("a"));
    }
    // A name so long that there is no room for a temporary file beside it: the page cannot be replaced.
    let path = folder.path().join("DECISIONS.md");
    let long = folder.path().join("x".repeat(250));
    fs::rename(&path, &long).unwrap();
    std::os::unix::fs::symlink(&long, &path).unwrap();
    let stopped = queue(folder.path());
    submit(&stopped, &plain("b"));
    assert_eq!(stopped.trouble().len(), 1, "{:?}", stopped.trouble());
    // As if it had been.
    fs::remove_file(&path).unwrap();
    submit(&queue(reference.path()), &plain("b"));
    fs::write(&path, page(reference.path())).unwrap();
    let resumed = queue(folder.path());
    submit(&resumed, &plain("c"));
    assert_eq!(resumed.trouble(), Vec::<String>::new());
}
