//! Several that ask and answer at the same time, and are killed on the way.

use std::{
    collections::BTreeSet,
    fs,
    io::{BufRead as _, BufReader},
    path::Path,
    process::{Command, Stdio},
    thread,
};

use ralph_core::{Answer, DecisionId, ledger::AnswerError};

use super::answers::{answers, at, queue, submit};

/// Threads with a queue of their own each, on one folder.
#[test]
fn many_ask_and_answer_at_once() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path();
    let shared: Vec<DecisionId> = (0..4).map(|number| submit(&queue(root), &format!("s{number}"))).collect();
    let taken = thread::scope(|scope| {
        let threads: Vec<_> = (0..8_u64)
            .map(|number| {
                let shared = &shared;
                scope.spawn(move || {
                    let queue = queue(root);
                    let own = submit(&queue, &format!("k{}", number % 4));
                    let by = format!("thread {number}");
                    let mut taken: Vec<Answer> = Vec::new();
                    for id in shared.iter().chain([&own]) {
                        match queue.answer(id, if number % 2 == 0 { "a" } else { "b" }, &by, at(number)) {
                            Ok(answer) => taken.push(answer),
                            Err(AnswerError::Resolved { .. }) => {}
                            Err(other) => panic!("{other}"),
                        }
                        queue.settle(id).unwrap();
                    }
                    assert_eq!(queue.trouble(), Vec::<String>::new());
                    taken
                })
            })
            .collect();
        threads.into_iter().flat_map(|thread| thread.join().unwrap()).collect::<Vec<_>>()
    });
    let all = queue(root).list().unwrap();
    assert_eq!(all.len(), 8);
    assert_eq!(taken.len(), 8, "each was taken from one of them");
    let ids: Vec<DecisionId> = all.iter().map(|queued| queued.id.clone()).collect();
    let recorded = answers(&queue(root), &ids);
    assert!(taken.iter().all(|answer| recorded.contains(answer)), "what was taken is what is recorded");
    assert!(queue(root).unsettled().unwrap().is_empty());
    assert_eq!(fs::read_dir(root).unwrap().count(), 2, "state/ and the page");
}

/// What a process does until it is killed: asks, answers, and says so.
#[test]
#[ignore = "run by a_kill_leaves_each_answered_or_pending in a process of its own"]
fn asks_and_answers_for_ever() {
    let Some(root) = std::env::var_os("RALPH_TEST_LEDGER") else { return };
    let (queue, me) = (queue(Path::new(&root)), std::process::id());
    for number in 0.. {
        let id = submit(&queue, &format!("{me}-{number}"));
        println!("\nasked {id}");
        if let Ok(answer) = queue.answer(&id, "a", "lead", at(number)) {
            println!("\nanswered {}", answer.decision);
        }
        // What others asked may be answered by anybody, once.
        for other in queue.list().unwrap().iter().filter(|queued| queued.is_pending()).take(2) {
            if let Ok(answer) = queue.answer(&other.id, "b", "lead", at(number)) {
                println!("\nanswered {}", answer.decision);
            }
        }
    }
}

#[cfg(unix)]
#[test]
fn a_kill_leaves_each_answered_or_pending() {
    let folder = tempfile::tempdir().unwrap();
    let start = || {
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["--ignored", "--exact", "ledger::at_once::asks_and_answers_for_ever", "--nocapture"])
            .env("RALPH_TEST_LEDGER", folder.path())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        (child, lines)
    };
    let (mut asked, mut answered) = (Vec::new(), Vec::new());
    for round in 0..3 {
        let mut workers = [start(), start()];
        // Killed with -9 in the middle of whatever they are at, after a different number of steps each time.
        let said: Vec<Vec<String>> = thread::scope(|scope| {
            let threads: Vec<_> = workers
                .iter_mut()
                .enumerate()
                .map(|(index, (child, lines))| {
                    scope.spawn(move || {
                        let is_said = |line: &String| line.starts_with("asked ") || line.starts_with("answered ");
                        let mut said: Vec<String> = Vec::new();
                        let enough = 5 + 3 * round + index;
                        while said.len() < enough {
                            said.extend(lines.next().map(Result::unwrap).filter(is_said));
                        }
                        child.kill().unwrap();
                        child.wait().unwrap();
                        // What it had said before it died counts too; the last line may be torn.
                        said.extend(
                            lines.map_while(Result::ok).filter(is_said).filter(|line| line.ends_with(char::is_numeric)),
                        );
                        said
                    })
                })
                .collect();
            threads.into_iter().map(|thread| thread.join().unwrap()).collect()
        });
        for line in said.into_iter().flatten() {
            let (list, id) = if let Some(id) = line.strip_prefix("asked ") {
                (&mut asked, id)
            } else {
                (&mut answered, &line["answered ".len()..])
            };
            list.push(DecisionId::new(id));
        }
        let queue = queue(folder.path());
        let all = queue.list().unwrap();
        assert_eq!(queue.trouble(), Vec::<String>::new(), "nothing is half written");
        let is_given = |id: &DecisionId| all.iter().any(|queued| queued.id == *id && queued.answer().is_some());
        assert!(answered.iter().all(is_given), "an answer that was taken is lost");
        assert!(asked.iter().all(|id| all.iter().any(|queued| queued.id == *id)), "a question is lost");
        // What was left in between is told as a page that is ours, and the queue goes on.
        queue.render().unwrap();
        assert_eq!(queue.trouble(), Vec::<String>::new());
    }
    for list in [asked, answered] {
        assert_eq!(list.iter().collect::<BTreeSet<_>>().len(), list.len(), "no id is given, and none answered, twice");
    }
}
