//! Questions of several projects on one desk, and what is an answer to them.

use std::{fs, path::Path};

use super::{
    plans::{listing, same},
    support::{DILIGENT, Scratch, until},
};

const WHICH: &str = r#"{"status": "decision", "question": "Which?", "options": ["Resend", "Postmark"]}"#;

/// A project that waits for an answer about its first item.
fn asking(items: usize) -> Scratch {
    let scratch = Scratch::new(items);
    scratch.agent_asks(&[("R01", WHICH)], DILIGENT);
    scratch.run(&[]).stopped("AWAITING_DECISIONS", 10);
    scratch
}

/// Makes a question as old as if it had been asked so many hours earlier.
fn age(scratch: &Scratch, id: &str, hours: u64) {
    let path = format!("ralph-loop/state/decisions/{id}.json");
    let mut queued: serde_json::Value = serde_json::from_str(&scratch.read(&path)).unwrap();
    let asked = &mut queued["decision"]["asked"]["secs_since_epoch"];
    *asked = (asked.as_u64().unwrap() - hours * 3600).into();
    scratch.write(&path, queued.to_string());
}

/// Four projects of one user, which wait for everything that there is to wait for.
fn desk() -> [Scratch; 4] {
    let mut all = [
        Scratch::new(8),
        Scratch::planned(&[(1, &["Manual-Gate: lead looks"])]),
        Scratch::planned(&[(1, &["Auto-Gate: test -e never"])]),
        Scratch::planned(&[(1, &["Auto-Gate: true"]), (1, &["Auto-Gate: true"])]),
    ];
    let user = all[0].user.clone();
    all.iter_mut().for_each(|scratch| scratch.user.clone_from(&user));
    let [many, manual, auto, checkpoint] = &all;
    many.edit_prd("- [ ] R08: make the file 8\n  Verify: test -s R08.txt", "- [ ] R08: be there\n  Verify: true");
    many.settings("[policy]\npublic_api = [\"src/lib.rs\"]\n");
    let report = r#"{"status": "done", "proposed": [{"title": "More", "verify": "true"}]}"#;
    many.agent_asks(
        &[("R01", WHICH)],
        &format!(
            "put() {{ mkdir -p \"$(dirname $1)\" && echo \"$2\" >$1; }}
             case $RALPH_ITEM_ID in
             R02) put src/auth/login.rs x ;;
             R03) put db/migrations/1.sql x ;;
             R04) put package.json '{{\"dependencies\": {{\"left-pad\": \"1.0.0\"}}}}' ;;
             R05) put src/lib.rs x ;;
             R06) put .github/workflows/ci.yml x ;;
             R07) printf '\\n```ralph\\n%s\\n```\\n' '{report}' ;;
             R08) exit ;;
             esac\n{DILIGENT}"
        ),
    );
    many.run(&[]).stopped("AWAITING_DECISIONS", 10);
    manual.run(&[]).stopped("MANUAL_GATE", 10);
    auto.run(&[]).stopped("AUTO_GATE_FAILED", 11);
    checkpoint.run(&["--set", "budget.checkpoint_every=1"]).stopped("CHECKPOINT", 10);
    all
}

#[test]
fn the_most_urgent_question_of_all_projects_comes_first() {
    let all = desk();
    let [many, manual, auto, checkpoint] = &all;
    let short = |scratch: &Scratch| {
        let shown = |asked: &super::plans::Asked| format!("{}:{} {}", asked.project, asked.id, asked.kind);
        scratch.pending().iter().map(shown).collect::<Vec<_>>()
    };
    let asked = [
        "operator:D-002 security",
        "operator:D-003 database",
        "operator:D-001 choice",
        "operator:D-004 dependency",
        "operator:D-005 public-api",
        "operator:D-006 protected",
        "operator:D-007 scope",
        "operator:D-008 already-done",
        "operator-2:D-001 manual-gate",
        "operator-3:D-001 auto-gate",
        "operator-4:D-001 checkpoint",
    ];
    assert_eq!(short(auto), asked, "the same from wherever one asks");
    assert_eq!(short(many), asked);
    // Eight hours of waiting count as one, security and database as ten.
    age(manual, "D-001", 7 * 8);
    age(many, "D-006", 7 * 8 + 7);
    age(checkpoint, "D-001", 11 * 8);
    age(auto, "D-001", 9 * 8);
    let order: Vec<String> = short(checkpoint).into_iter().take(6).collect();
    let expected = [
        "operator-4:D-001 checkpoint",
        "operator:D-002 security",
        "operator:D-003 database",
        "operator-3:D-001 auto-gate",
        "operator:D-006 protected",
        "operator-2:D-001 manual-gate",
    ];
    assert_eq!(order, expected, "of equal ones the oldest comes first");
    let page = manual.ralph(&["btw"]).stdout;
    assert!(page.contains("11 questions wait for you.") && page.contains("waiting for 88 h"), "{page}");

    // Answering one project's question touches no byte of the others.
    let others = [manual, auto, checkpoint].map(|scratch| listing(&scratch.root));
    let said = auto.btw(&["operator:D-005=reject: not yet", "operator:D-004=yes"]).stdout;
    assert!(said.contains("operator:D-005 P1/R05: reject: not yet"), "{said}");
    for (scratch, before) in [manual, auto, checkpoint].into_iter().zip(&others) {
        same(before, &listing(&scratch.root));
    }
    assert_eq!(many.marks(), "???  ?x?");
    assert_eq!(short(auto).len(), 9);
}

#[test]
fn work_that_was_parked_is_accepted_without_another_session() {
    let all = desk();
    let many = &all[0];
    let sessions = many.sessions().len();
    many.btw(&["D-002=approve", "D-003=approve", "D-004=approve", "D-005=approve", "D-006=approve", "D-008=approve"]);
    many.btw(&["D-007=reject"]);
    many.run(&[]).stopped("AWAITING_DECISIONS", 10);
    assert_eq!((many.marks().as_str(), many.sessions().len()), ("?xxxxxxx", sessions));
    let files = many.files(many.branch);
    for file in ["src/auth/login.rs", "db/migrations/1.sql", "package.json", "src/lib.rs", ".github/workflows/ci.yml"] {
        assert!(files.contains(&file.to_owned()), "{file}: {files:?}");
    }
}

#[test]
fn what_is_no_answer_is_refused_and_changes_nothing() {
    let (scratch, elsewhere) = (asking(2), tempfile::tempdir().unwrap());
    let before = scratch.everything();
    let outside = elsewhere.path().to_str().unwrap();
    for (args, words) in [
        (&["--answer", "D-009=Resend"][..], &["operator: there is no decision `D-009`"][..]),
        (&["--answer", "D-1=Resend"], &["no decision"]),
        (&["--answer", "../D-001=Resend"], &["no decision"]),
        (&["--answer", "D-001"], &["D-007=Resend"]),
        (&["--answer", "D-001="], &["one of the options"]),
        (&["--answer", "D-001=C"], &["`C` is no answer", "A to B"]),
        (&["--answer", "D-001=approve"], &["`approve` is no answer"]),
        (&["--answer", "D-001=other:"], &["no answer"]),
        (&["--answer", "D-001=other: a\u{1b}[2Jb"], &["no answer"]),
        (&["--answer", "web:D-001=A"], &["no known project `web`", "operator"]),
        (&["--answer", "D-001=A", "--by", ""], &["no name"]),
        (&["--answer", "D-001=A", "--by", "a\nb"], &["no name"]),
        // All are understood before one is given.
        (&["--answer", "D-001=A", "--answer", "D-002=A"], &["no decision `D-002`"]),
        (&["--answer", "D-001=A", "--answer", "D-001=B"], &["D-001", "twice"]),
        (&["--answer", "D-001=A", "--answer", "operator:d-001=A"], &["D-001", "twice"]),
        (&["-C", outside, "--answer", "D-001=A"], &["the project that one stands in", "PROJECT:D-007"]),
        (&["--forget", "web"], &["no known project `web`"]),
    ] {
        scratch.ralph(&[&["btw"], args].concat()).refused(words);
        same(&before, &scratch.everything());
    }
    // The control: from outside by its whole name, in any case of letters; and then it is answered.
    let said = scratch.ralph(&["btw", "-C", outside, "--by", "lead", "--answer", "operator: d-001 = POSTMARK "]);
    assert_eq!(said.status.code(), Some(0), "{}", said.stderr);
    let answered = scratch.everything();
    scratch.ralph(&["btw", "--answer", "D-001=A"]).refused(&["operator: D-001 waits no longer"]);
    same(&answered, &scratch.everything());
    assert!(scratch.read("ralph-loop/PRD-P1.md").contains("): Postmark\n"));
    scratch.run(&[]).stopped("SUCCESS", 0);
}

#[test]
fn answers_are_told_to_machines_too() {
    let scratch = asking(1);
    let said = scratch.ralph(&["btw", "--json", "--by", "lead", "--answer", "D-001=other: SES"]).stdout;
    let said: serde_json::Value = serde_json::from_str(&said).unwrap();
    assert_eq!(said["schema_version"], 1);
    insta::assert_snapshot!(said["answered"][0].to_string(), @r#"{"answer":"SES","by":"lead","id":"D-001","live":false,"place":"P1/R01","project":"operator"}"#);
    let said = scratch.ralph(&["btw", "--json"]).stdout;
    assert_eq!(serde_json::from_str::<serde_json::Value>(&said).unwrap()["pending"], serde_json::json!([]));
    // Resuming does what `ralph run` does, and ends like it.
    let resumed = asking(1);
    let ended = resumed.ralph(&["btw", "--by", "lead", "--answer", "D-001=A", "--resume"]).stopped("SUCCESS", 0);
    assert!(ended.stdout.contains("operator:D-001 P1/R01: Resend"), "{}", ended.stdout);
}

#[test]
fn a_live_run_takes_an_answer_in() {
    let scratch = Scratch::new(2);
    let wait = "echo >\"$NOTES/at-work\"; until test -e \"$NOTES/go\"; do sleep 0.02; done";
    scratch.agent_asks(&[("R01", WHICH)], &format!("test $RALPH_ITEM_ID = R01 || {{ {wait}; }}; {DILIGENT}"));
    let run = scratch.start(&["run"]);
    until("the second session", || scratch.path("notes/at-work").exists());
    let prd = scratch.read("ralph-loop/PRD-P1.md");
    let said = scratch.btw(&["D-001=A"]).stdout;
    assert!(said.contains("takes it in at its next iteration"), "{said}");
    assert_eq!(scratch.read("ralph-loop/PRD-P1.md"), prd, "the plan is the run's to write");
    fs::write(scratch.path("notes/go"), "").unwrap();
    run.end().stopped("SUCCESS", 0);
    assert_eq!((scratch.marks().as_str(), scratch.sessions().len()), ("xx", 3));
    assert_eq!(scratch.read("ralph-loop/PRD-P1.md").matches("Decision D-001 (lead, ").count(), 1);
    assert_eq!(scratch.commits(), ["R02: make the file 2", "R01: make the file 1"]);
}

#[test]
fn a_project_that_moved_is_known_by_its_new_place() {
    let mut scratch = asking(1);
    let place = scratch.path("web");
    fs::rename(&scratch.root, &place).unwrap();
    fs::create_dir(&scratch.root).unwrap();
    let page = scratch.ralph(&["btw"]).stdout;
    assert!(page.contains("operator is no longer at") && page.contains("--forget operator"), "{page}");
    assert!(page.contains("Nothing waits for you."), "{page}");
    fs::remove_dir(&scratch.root).unwrap();
    scratch.root.clone_from(&place);
    // Where one stands is known without a registration, and a run makes it so for everywhere.
    assert_eq!(scratch.waiting(), ["D-001 choice P1/R01"]);
    scratch.run(&[]).stopped("AWAITING_DECISIONS", 10);
    let page = scratch.ralph(&["btw", "-C", "/"]).stdout;
    assert!(page.contains("web:D-001") && !page.contains("no longer"), "{page}");
    scratch.btw(&["web:D-001=A"]);
    scratch.run(&[]).stopped("SUCCESS", 0);
}

/// A copy of a project has no name of its own until it runs.
#[test]
fn a_copy_is_not_answered_under_the_name_of_the_original() {
    let scratch = asking(1);
    let copy = scratch.path("copy/operator");
    fs::create_dir(copy.parent().unwrap()).unwrap();
    assert!(scratch.shell(&format!("cp -R . '{}'", copy.display())).status.success());
    let place = copy.to_str().unwrap();
    let row = |root: &Path| fs::read_to_string(root.join("ralph-loop/PRD-P1.md")).unwrap();
    let page = scratch.ralph(&["btw", "-C", place]).stdout;
    assert!(page.contains("operator:D-001") && page.contains(&format!("{place}:D-001")), "{page}");
    let answer = |name: &str| {
        let said = scratch.ralph(&["btw", "-C", place, "--by", "lead", "--answer", &format!("{name}:D-001=A")]);
        assert_eq!(said.status.code(), Some(0), "{}", said.stderr);
    };
    answer(place);
    assert!(row(&copy).contains("D-001 (lead, ") && !row(&scratch.root).contains("D-001 (lead, "));
    answer("operator");
    assert!(row(&scratch.root).contains("D-001 (lead, "));
}

#[test]
fn a_project_that_is_gone_is_told_until_somebody_forgets_it() {
    let (mut gone, here) = (asking(1), asking(1));
    gone.user.clone_from(&here.user);
    gone.run(&[]).stopped("AWAITING_DECISIONS", 10);
    assert_eq!(here.pending().len(), 2);
    fs::rename(&gone.root, gone.path("away")).unwrap();
    let page = here.ralph(&["btw"]).stdout;
    assert!(page.contains("operator-2 is no longer at") && page.contains("operator:D-001"), "{page}");
    here.ralph(&["btw", "--answer", "operator-2:D-001=A"]).refused(&["no known project `operator-2`"]);
    // It may be on a disk that is not mounted: it comes back as it was.
    fs::rename(gone.path("away"), &gone.root).unwrap();
    assert_eq!(here.pending().len(), 2);
    fs::rename(&gone.root, gone.path("away")).unwrap();
    let before = listing(&gone.path("away"));
    let said = here.ralph(&["btw", "--forget", "operator-2"]);
    assert!(said.status.success() && said.stdout.contains("operator-2 is forgotten"), "{said:?}");
    assert!(!here.ralph(&["btw"]).stdout.contains("operator-2"));
    same(&before, &listing(&gone.path("away")));
    assert!(Path::new(&here.root).exists() && here.pending().len() == 1);
}
