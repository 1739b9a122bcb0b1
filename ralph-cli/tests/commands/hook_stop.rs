//! `ralph hook session-start` and `ralph hook stop`, told what agents were seen to tell their hooks.

use std::{
    fs,
    io::Write as _,
    time::{Duration, Instant},
};

use serde_json::Value;

use super::{
    hook::{event, recorded},
    support::{Said, Scratch},
};

/// The tests pass when `done` is there; each run leaves a line in `runs`.
const VERIFY: &str = "Verify: echo run >>runs; echo looked for done; test -f done\n";

struct Session {
    scratch: Scratch,
    start: Value,
    /// It wants to end, once for the first time and once after a block.
    stops: [Value; 2],
}

impl Session {
    /// A session of Claude Code that has begun in a repository with these criteria and settings.
    fn begun(criteria: &str, settings: &str) -> Self {
        let session = Self::new(criteria, settings);
        let said = session.start("startup");
        assert_eq!((said.code, said.stdout.as_str(), said.stderr.as_str()), (0, "", ""));
        session
    }

    fn new(criteria: &str, settings: &str) -> Self {
        let files = [("ralph-loop/criteria.md", criteria), ("ralph-loop/ralph.toml", settings), ("deep/er/x", "")];
        let scratch = Scratch::repo(&files);
        let mut start = event(&recorded(&scratch, "claude-subagent"), "SessionStart");
        let stops: [Value; 2] = recorded(&scratch, "claude-stop").try_into().unwrap();
        start["session_id"] = stops[0]["session_id"].clone();
        Self { scratch, start, stops }
    }

    fn start(&self, source: &str) -> Said {
        let mut start = self.start.clone();
        start["source"] = source.into();
        self.scratch.hook("session-start", &start.to_string(), &[])
    }

    fn stop(&self) -> Said {
        self.scratch.hook("stop", &self.stops[0].to_string(), &[])
    }

    /// How often the verifier ran.
    fn runs(&self) -> usize {
        fs::read_to_string(self.scratch.path().join("runs")).unwrap_or_default().lines().count()
    }

    fn log(&self) -> String {
        self.scratch.read("ralph-loop/state/hooks/log")
    }
}

/// Why a session goes on.
fn blocked(said: &Said) -> String {
    assert_eq!((said.code, said.stderr.as_str()), (0, ""), "{said:?}");
    let answer: Value = serde_json::from_str(&said.stdout).unwrap_or_else(|error| panic!("{error}: {said:?}"));
    assert_eq!(answer["decision"], "block");
    answer["reason"].as_str().unwrap().to_owned()
}

/// What is said where a session may end all the same.
fn let_go(said: &Said) -> String {
    let answer: Value = serde_json::from_str(&said.stdout).unwrap_or_else(|error| panic!("{error}: {said:?}"));
    assert!(said.code == 0 && answer.get("decision").is_none(), "{said:?}");
    let message = answer["systemMessage"].as_str().unwrap().to_owned();
    assert_eq!(said.stderr, message.replace("ralph: ", "ralph hook: ") + "\n");
    message
}

fn silent(said: &Said) {
    assert_eq!((said.code, said.stdout.as_str(), said.stderr.as_str()), (0, "", ""));
}

#[test]
fn a_session_goes_on_until_its_criteria_hold() {
    let criteria = format!("## OBJECTIVE\nBe done.\n\n## COMPLETION CRITERIA\n- `done` is there\n\n{VERIFY}");
    let session = Session::begun(&criteria, "");
    insta::assert_snapshot!(blocked(&session.stop()));
    let again = session.scratch.hook("stop", &session.stops[1].to_string(), &[]);
    assert!(blocked(&again).contains("(block 2 of 8)"));
    session.scratch.write("done", "");
    silent(&session.stop());
    assert_eq!(session.runs(), 3);
    // After a pass it is counted anew.
    fs::remove_file(session.scratch.path().join("done")).unwrap();
    assert!(blocked(&session.stop()).contains("(block 1 of 8)"));
    let log = session.log();
    let outcomes: Vec<&str> = log.lines().map(|line| line.splitn(3, ' ').nth(2).unwrap()).collect();
    assert!(
        outcomes[0] == "began" && outcomes[1].contains("block 1 of 8") && outcomes[3].starts_with("passed: "),
        "{log}"
    );
}

#[test]
fn it_never_goes_on_for_ever() {
    let session = Session::begun(VERIFY, "[hook]\nmax_blocks = 3\n");
    let answers: Vec<Said> = (0..10).map(|_| session.stop()).collect();
    let (blocks, rest) = answers.split_at(3);
    for said in blocks {
        blocked(said);
    }
    for said in rest {
        assert!(let_go(said).contains("did not hold 3 times in a row, and the session is let go"), "{said:?}");
    }
    assert_eq!(session.runs(), 3, "a spent budget runs nothing");
    // A smaller context is the same session; whoever takes it up again may try again.
    session.start("compact");
    let_go(&session.stop());
    session.start("resume");
    blocked(&session.stop());
}

#[test]
fn a_session_that_is_not_its_own_is_left_alone() {
    let session = Session::new(VERIFY, "");
    silent(&session.stop());
    session.start("startup");
    let mut other = session.stops[0].clone();
    other["session_id"] = "another".into();
    silent(&session.scratch.hook("stop", &other.to_string(), &[]));
    let mut subagent = event(&recorded(&session.scratch, "claude-subagent"), "SubagentStop");
    subagent["session_id"] = session.stops[0]["session_id"].clone();
    silent(&session.scratch.hook("stop", &subagent.to_string(), &[]));
    silent(&session.scratch.hook("stop", &session.stops[0].to_string(), &[("RALPH_RUN_ID", "run-1")]));
    let mut elsewhere = session.stops[0].clone();
    elsewhere["cwd"] = "/".into();
    silent(&session.scratch.hook("stop", &elsewhere.to_string(), &[]));
    assert_eq!(session.runs(), 0);
    // The control.
    blocked(&session.stop());
    assert_eq!(session.runs(), 1);
}

#[test]
fn inside_a_run_nothing_is_remembered() {
    let session = Session::new(VERIFY, "");
    silent(&session.scratch.hook("session-start", &session.start.to_string(), &[("RALPH_RUN_ID", "run-1")]));
    assert!(!session.scratch.path().join("ralph-loop/state").exists());
    session.start("startup");
    assert!(session.scratch.path().join("ralph-loop/state/hooks").exists());
}

#[test]
fn the_session_may_work_in_another_folder_by_then() {
    let session = Session::begun(VERIFY, "");
    let mut deep = session.stops[0].clone();
    deep["cwd"] = session.scratch.path().join("deep/er").to_str().unwrap().into();
    assert!(blocked(&session.scratch.hook("stop", &deep.to_string(), &[])).contains("block 1"));
    deep["cwd"] = "/".into();
    let root = session.scratch.path();
    let vars = [("CLAUDE_PROJECT_DIR", root.to_str().unwrap())];
    assert!(blocked(&session.scratch.hook("stop", &deep.to_string(), &vars)).contains("block 2"));
    assert_eq!(session.runs(), 2, "at the root of the repository");
}

#[test]
fn a_verifier_that_is_broken_lets_go_and_says_so() {
    for (criteria, settings, says) in [
        ("Verify: no-such-command-anywhere\n", "", "no-such-command-anywhere"),
        ("Verify: kill -9 $$\n", "", "signal"),
        ("Verify: sleep 60\n", "[hook]\ntimeout = \"1s\"\n", "after 1."),
        ("Verify: exit 3\n", "[verify]\nbroken_exits = [3]\n", "exit"),
    ] {
        let session = Session::begun(criteria, settings);
        let said = let_go(&session.stop());
        assert!(said.contains("nothing was judged, and the session is let go") && said.contains(says), "{said}");
    }
    // The control.
    blocked(&Session::begun("Verify: exit 3\n", "").stop());
}

#[test]
fn criteria_that_say_nothing_bind_nobody() {
    for (criteria, says) in [
        ("Verfy: test -f done\n", Some("criteria.md:1: `Verfy:` is not a key: did you mean `Verify:`?")),
        ("## Objective\nBe done.\n", Some("no `Verify:` line")),
        ("", None),
        ("<!--\nVerify: test -f done\n-->\n", None),
    ] {
        let said = Session::begun(criteria, "").stop();
        match says {
            Some(says) => assert!(let_go(&said).contains(says), "{said:?}"),
            None => silent(&said),
        }
    }
    let session = Session::begun(VERIFY, "");
    fs::remove_file(session.scratch.path().join("ralph-loop/criteria.md")).unwrap();
    silent(&session.stop());
}

#[test]
fn a_session_that_changes_its_criteria_is_told_of() {
    let session = Session::begun(VERIFY, "");
    session.scratch.write("ralph-loop/criteria.md", "Verify: false\n");
    assert!(blocked(&session.stop()).contains("Note: ralph-loop/criteria.md was changed since the session began."));
    session.scratch.write("ralph-loop/criteria.md", "Verify: true\n");
    assert!(let_go(&session.stop()).contains("was changed since the session began"));
}

#[test]
fn bad_input_and_bad_settings_keep_nobody_in_error() {
    let session = Session::new(VERIFY, "[hook]\nmax_block = 1\n");
    session.start("startup");
    let said = session.stop();
    assert!(said.stderr.contains("ralph.toml:2: ") && said.stderr.contains("the defaults hold"), "{said:?}");
    assert!(said.stdout.contains("(block 1 of 8)"), "{said:?}");
    for bad in ["", "garbage", "[]"] {
        assert!(let_go(&session.scratch.hook("stop", bad, &[])).contains("cannot be read"));
        let said = session.scratch.hook("session-start", bad, &[]);
        assert!(said.code == 1 && said.stderr.contains("not looked after"), "{said:?}");
    }
}

#[test]
fn what_codex_says_is_understood() {
    let session = Session::new(VERIFY, "");
    let inputs = recorded(&session.scratch, "codex-stop");
    silent(&session.scratch.hook("session-start", &event(&inputs, "SessionStart").to_string(), &[]));
    for stop in inputs.iter().filter(|input| input["hook_event_name"] == "Stop") {
        blocked(&session.scratch.hook("stop", &stop.to_string(), &[]));
    }
    assert_eq!(session.runs(), 2);
}

/// A hook that is ended takes its verifier along.
#[test]
fn nothing_lives_on() {
    let session = Session::begun("Verify: echo $$ >pid.tmp; mv pid.tmp pid; sleep 600\n", "");
    let mut hook = session.scratch.start_hook("stop");
    hook.stdin.take().unwrap().write_all(session.stops[0].to_string().as_bytes()).unwrap();
    let pid = session.scratch.path().join("pid");
    until(|| pid.exists());
    let verifier: u32 = fs::read_to_string(pid).unwrap().trim().parse().unwrap();
    let proc = format!("/proc/{verifier}");
    assert!(fs::metadata(&proc).is_ok());
    rustix::process::kill_process(rustix::process::Pid::from_child(&hook), rustix::process::Signal::TERM).unwrap();
    assert_eq!(hook.wait().unwrap().code(), Some(0));
    until(|| fs::metadata(&proc).is_err());
}

fn until(mut condition: impl FnMut() -> bool) {
    let deadline = Instant::now() + Duration::from_secs(30);
    while !condition() {
        assert!(Instant::now() < deadline, "waited in vain");
        std::thread::sleep(Duration::from_millis(5));
    }
}
