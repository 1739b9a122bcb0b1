use std::{fs, path::PathBuf};

use super::support::{Scratch, filters};

/// A repository in which one run succeeded, with a rejected attempt on the way.
fn after_a_success() -> Scratch {
    let agent = "[ -f once ] && echo hello > greeting; touch once";
    let scratch = Scratch::repo(&[
        ("ralph-loop/PRD-P1.md", "Verify: grep -s hello greeting\n\n- [ ] R01: Greet\n"),
        (
            "ralph-loop/ralph.toml",
            &format!("agent.backend = \"command\"\nagent.command = [\"sh\", \"-c\", \"{agent}\"]\n"),
        ),
    ]);
    let run = scratch.ralph(&["run"]);
    assert_eq!(run.code, 0, "{}{}", run.stdout, run.stderr);
    scratch
}

fn run_folder(scratch: &Scratch) -> PathBuf {
    let folder = scratch.path().join("ralph-loop/state/runs");
    fs::read_dir(&folder).unwrap().next().unwrap().unwrap().path()
}

fn workspaces(scratch: &Scratch) -> usize {
    fs::read_dir(scratch.home().join(".local/state/ralph/workspaces")).unwrap().count()
}

fn assert_snapshot(name: &str, scratch: &Scratch, text: &str) {
    let mut filters = filters();
    filters.push((r"repo-\[commit\]", "[repo]"));
    insta::with_settings!({filters => filters}, { insta::assert_snapshot!(name, scratch.stable(text)) });
}

#[test]
fn it_says_what_it_removes_and_removes_only_what_is_named() {
    let scratch = after_a_success();
    let everything = ["clean", "--logs", "--rejected", "--runs-older-than", "1d", "--dry-run"];
    let look = scratch.ralph(&everything);
    assert_snapshot("dry_run", &scratch, &format!("exit {}\n{}{}", look.code, look.stdout, look.stderr));

    let nobody = scratch.ralph(&["clean"]);
    assert_eq!((nobody.code, workspaces(&scratch)), (2, 1));
    assert!(nobody.stderr.contains("--yes"), "{}", nobody.stderr);

    let plain = scratch.ralph(&["clean", "-y"]);
    assert_snapshot("plain", &scratch, &format!("exit {}\n{}{}", plain.code, plain.stdout, plain.stderr));
    assert_eq!(workspaces(&scratch), 0);
    assert!(run_folder(&scratch).join("iterations").is_dir());
    assert!(scratch.git(&["for-each-ref", "refs/ralph/rejected"]).contains("R01/1"));

    let more = scratch.ralph(&["clean", "--logs", "--rejected", "-y"]);
    assert_eq!(more.code, 0, "{more:?}");
    assert!(!run_folder(&scratch).join("iterations").exists() && run_folder(&scratch).join("journal.jsonl").exists());
    assert_eq!(scratch.git(&["for-each-ref", "refs/ralph/rejected"]), "");
    assert!(scratch.git(&["log", "--format=%s", "ralph/prd-p1"]).starts_with("R01: Greet\n"), "the branch stays");
    assert_eq!(scratch.ralph(&["clean", "--logs", "--rejected", "-y"]).stdout, "Nothing to remove.\n");
    assert_eq!(scratch.ralph(&["status"]).code, 0);
}

#[test]
fn old_runs_go_whole() {
    let scratch = after_a_success();
    let folder = run_folder(&scratch);
    let said = scratch.ralph(&["clean", "--runs-older-than", "soon", "-y"]);
    assert!(said.code == 2 && said.stderr.contains("--runs-older-than: `soon` is not a time"), "{said:?}");
    assert_eq!(scratch.ralph(&["run"]).code, 0);
    let runs = || fs::read_dir(folder.parent().unwrap()).unwrap().count();
    assert_eq!(runs(), 2);
    std::thread::sleep(std::time::Duration::from_millis(1100));
    let said = scratch.ralph(&["clean", "--runs-older-than", "1s", "-y"]);
    // The last one is what the next one goes on from.
    assert_eq!((said.code, runs()), (0, 1), "{said:?}");
    assert!(said.stdout.contains("the last of ralph-loop/PRD-P1.md on ralph/prd-p1"), "{}", said.stdout);
}

#[test]
fn budgets_of_sessions_that_are_gone_are_removed() {
    let scratch = after_a_success();
    let folder = scratch.home().join(".local/state/ralph/spawn/runs");
    let made = |name: &str, minutes: u64| {
        let path = folder.join(name);
        fs::create_dir(&path).unwrap();
        let alive = fs::File::create(path.join("alive")).unwrap();
        let then = std::time::SystemTime::now() - std::time::Duration::from_secs(minutes * 60);
        fs::File::open(&path).unwrap().set_modified(then).unwrap();
        alive
    };
    let _gone = made("session-gone", 10);
    // Those of a run elsewhere, of one that begins just now, and what is not ours to judge.
    let alive = made("session-alive", 10);
    alive.lock().unwrap();
    made("session-young", 0);
    made("other", 10);
    let there = || {
        let mut names: Vec<_> = fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        names.sort();
        names.into_iter().map(|name| name.into_string().unwrap()).collect::<Vec<_>>()
    };
    let look = scratch.ralph(&["clean", "--dry-run"]);
    assert!(look.stdout.contains("/spawn/runs/session-gone\n"), "{}", look.stdout);
    assert_eq!(there().len(), 4);
    let said = scratch.ralph(&["clean", "-y"]);
    assert_eq!(said.code, 0, "{said:?}");
    assert_eq!(there(), ["other", "session-alive", "session-young"]);
    // Its end makes the other one left behind.
    drop(alive);
    assert_eq!(scratch.ralph(&["clean", "-y"]).code, 0);
    assert_eq!(there(), ["other", "session-young"]);
}

#[test]
fn what_can_go_on_stays() {
    let scratch = Scratch::repo(&[
        ("ralph-loop/PRD-P1.md", "Verify: grep -s hello greeting\n\n- [ ] R01: Greet\n"),
        (
            "ralph-loop/ralph.toml",
            "agent.backend = \"command\"\nagent.command = [\"sh\", \"-c\", \"echo no > greeting\"]\n",
        ),
    ]);
    assert_eq!(scratch.ralph(&["run"]).code, 12);
    let said = scratch.ralph(&["clean", "--logs", "--rejected", "--runs-older-than", "1s", "-y"]);
    assert_snapshot("open", &scratch, &format!("exit {}\n{}{}", said.code, said.stdout, said.stderr));
    assert!(run_folder(&scratch).join("iterations").is_dir());
    assert_ne!(scratch.git(&["for-each-ref", "refs/ralph/rejected"]), "");
}

#[test]
fn a_live_run_is_not_disturbed() {
    let scratch = Scratch::repo(&[
        ("ralph-loop/PRD-P1.md", "Verify: grep -s hello greeting\n\n- [ ] R01: Greet\n"),
        (
            "ralph-loop/ralph.toml",
            "agent.backend = \"command\"\nagent.command = [\"sh\", \"-c\", \"touch ~/at-work; exec sleep 60\"]\n",
        ),
    ]);
    let mut run = scratch.start(&["run"]);
    // Not only the lock: a signal before the run listens would just end it.
    let at_work = || scratch.home().join("at-work").exists();
    for _ in 0..200 {
        if at_work() {
            break;
        }
        std::thread::sleep(std::time::Duration::from_millis(50));
    }
    assert!(at_work(), "the run did not begin");
    for args in [["clean", "-y"], ["clean", "--dry-run"]] {
        let said = scratch.ralph(&args);
        assert!(said.code == 2 && said.stderr.contains("a run is at work: `ralph run"), "{said:?}");
    }
    assert_eq!(scratch.ralph(&["stop", "--now"]).code, 0);
    assert_eq!(run.wait().unwrap().code(), Some(130));
}
