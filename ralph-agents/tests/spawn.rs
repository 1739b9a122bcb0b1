//! The spawn budget, asked by trees of real processes.

use std::{
    fs,
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    sync::Arc,
    time::{Duration, SystemTime},
};

use ralph_agents::spawn::{Caller, Granted, Limits, Refused, Spawn, SpawnBudget, SpawnBudgeted, left_behind};
use ralph_core::{AgentBackend, AgentError, Cx, SessionEnd};
use serde_json::{Value, json};

use crate::fake::{Fake, PROGRAM, until};

const TOTAL: u32 = 12;

/// What binds where nothing but the total does.
const ONLY_TOTAL: Limits = Limits { total: TOTAL, children: None, depth: None };

/// A root that begins with `first`, and a tree below it in which every agent down to the third level does the same.
fn tree(first: &Value, steps: &Value) -> Fake {
    let fake = Fake::steps(first);
    for level in 1..=3 {
        write(&fake, &format!("level-{level}.json"), steps);
    }
    for level in 4..=5 {
        write(&fake, &format!("level-{level}.json"), &json!([]));
    }
    fake
}

fn write(fake: &Fake, name: &str, steps: &Value) {
    fs::write(fake.dir().join(name), json!({"stdin": "ignore", "steps": steps}).to_string()).unwrap();
}

/// How many agents ran below the root, and the reasons with which the others did not.
fn ran(fake: &Fake) -> (usize, Vec<String>) {
    let (mut sessions, mut refused) = (0, Vec::new());
    for call in fs::read_dir(fake.dir().join("calls")).unwrap() {
        let call = call.unwrap().path();
        assert!(call.join("done").exists(), "{} did not end well", call.display());
        sessions += 1;
        refused.extend(fs::read_to_string(call.join("refused")).unwrap_or_default().lines().map(str::to_owned));
    }
    (sessions - 1, refused)
}

/// The deepest level at which an agent ran, by its grant.
fn deepest(fake: &Fake, sessions: usize) -> u32 {
    let depth = |number| fake.call(number)["ralph"]["RALPH_SPAWN_DEPTH"].as_str().unwrap().parse().unwrap();
    (1..=u32::try_from(sessions).unwrap()).map(depth).max().unwrap()
}

/// Runs the root as a session with a budget.
async fn session(fake: &Fake, limits: Limits) -> (usize, Vec<String>) {
    let budgets = tempfile::tempdir().unwrap();
    let agent = SpawnBudgeted::new(Arc::new(fake.command()), budgets.path(), limits);
    let report = agent.run(&fake.brief(), &Cx::new()).await.unwrap();
    assert_eq!(report.end, SessionEnd::Finished);
    assert_eq!(fs::read_dir(budgets.path()).unwrap().count(), 0, "its budget is gone with it");
    ran(fake)
}

/// Each of 31 agents on five levels would like to start two.
#[tokio::test]
async fn budget_01_a_tree_that_grows_without_end_is_as_large_as_the_total() {
    let two = json!([{"agents": {"count": 2}}]);
    let fake = tree(&two, &two);
    let (ran, refused) = session(&fake, ONLY_TOTAL).await;
    assert_eq!(ran, TOTAL as usize);
    assert_eq!(deepest(&fake, ran + 1), 4, "the total is one for all levels");
    assert!(refused.iter().all(|why| why.contains("used up: 12 agents in all")), "{refused:?}");
    // The control: the tree would be larger.
    let fake = tree(&two, &two);
    let more = Limits { total: 1000, ..ONLY_TOTAL };
    assert_eq!(session(&fake, more).await, (2 + 4 + 8 + 16, Vec::new()));
}

#[tokio::test]
async fn all_at_once_are_as_many() {
    let six = json!([{"agents": {"count": 6, "at_once": true}}]);
    let fake = tree(&six, &six);
    let (ran, refused) = session(&fake, ONLY_TOTAL).await;
    assert_eq!(ran, TOTAL as usize);
    assert!(!refused.is_empty());
}

#[tokio::test]
async fn children_and_depth_bind_where_they_are_set() {
    let three = json!([{"agents": {"count": 3}}]);
    let fake = tree(&three, &three);
    let (ran, refused) = session(&fake, Limits { total: 100, children: Some(2), depth: None }).await;
    assert_eq!(ran, 2 + 4 + 8 + 16);
    assert!(refused.iter().all(|why| why.contains("each agent may start 2 others")), "{refused:?}");

    let fake = tree(&three, &three);
    let (ran, refused) = session(&fake, Limits { total: 100, children: None, depth: Some(2) }).await;
    assert_eq!(ran, 3 + 9);
    assert!(refused.iter().all(|why| why.contains("2 levels deep")), "{refused:?}");
}

/// What an agent may do to its variables: leave them out, or say something else.
#[cfg(target_os = "linux")] // Elsewhere the processes above it do not tell.
#[tokio::test]
async fn budget_03_who_unsets_or_edits_its_variables_is_still_bounded() {
    let forged = tempfile::tempdir().unwrap();
    let forged = forged.path().join("state.json");
    SpawnBudget::create(&forged, Limits { total: 1000, ..ONLY_TOTAL }).unwrap();
    let all = ["RALPH_SPAWN_STATE", "RALPH_SPAWN_ID", "RALPH_SPAWN_DEPTH"];
    for change in [
        json!({"count": 3, "unset": all}),
        json!({"count": 3, "unset": ["RALPH_SPAWN_ID"]}),
        json!({"count": 3, "set": {"RALPH_SPAWN_STATE": forged}}),
        json!({"count": 3, "set": {"RALPH_SPAWN_STATE": "/nowhere/state.json"}}),
        json!({"count": 3, "set": {"RALPH_SPAWN_STATE": "", "RALPH_SPAWN_ID": ""}}),
        json!({"count": 3, "set": {"RALPH_SPAWN_ID": "root", "RALPH_SPAWN_DEPTH": "0"}}),
        json!({"count": 3, "set": {"RALPH_SPAWN_ID": "../../x\n\u{1b}[2J"}}),
    ] {
        let steps = json!([{"agents": change}]);
        let fake = tree(&steps, &steps);
        let (ran, _) = session(&fake, ONLY_TOTAL).await;
        assert_eq!(ran, TOTAL as usize, "{change}");
    }
    // The control: the forged budget would have given more.
    assert_eq!(SpawnBudget::open(&forged).standing().spent, 0);
}

/// Depth holds for those that are not known, too: they are below the root.
#[tokio::test]
async fn who_is_not_known_is_no_root() {
    let steps = json!([{"agents": {"count": 3, "unset": ["RALPH_SPAWN_ID"]}}]);
    let fake = tree(&steps, &steps);
    assert_eq!(session(&fake, Limits { depth: Some(1), ..ONLY_TOTAL }).await.0, 3);
    let fake = tree(&steps, &steps);
    assert_eq!(session(&fake, Limits { children: Some(2), ..ONLY_TOTAL }).await.0, 2 + 2, "all of them are one");
}

/// One agent in the middle of the tree does something to the files; then the others go on.
#[tokio::test]
async fn no_damage_to_the_files_gives_more() {
    let state = "$RALPH_SPAWN_STATE";
    for (damage, exact) in [
        (format!("echo garbage >{state}"), true),
        (format!(": >{state}"), true),
        (format!("rm {state}"), true),
        (format!("cp $FAKE_AGENT_DIR/old {state}"), true),
        (format!("rm {state} && mkfifo {state}"), true),
        (format!("rm {state}.grants"), true),
        (format!(": >{state}.grants"), true),
        (format!("printf garbage >>{state}.grants"), false),
        (format!("cp $FAKE_AGENT_DIR/old.grants {state}.grants"), true),
        (format!("rm -f {state}.lock"), true),
        (format!("rm {state} {state}.*"), false),
        (format!("rm {state}; : >{state}.grants"), false),
        (format!("rm {state}; head -n 1 $FAKE_AGENT_DIR/old.grants >{state}.grants"), false),
        (format!("rm {state} && mkdir {state}"), false),
        (format!("rm {state}.grants && mkdir {state}.grants"), false),
        (format!("rm -r $(dirname {state})"), false),
        (format!("dd if=/dev/null of={state}.grants bs=1 seek=1073741824 2>/dev/null"), false),
    ] {
        let keep = format!("cp {state} $FAKE_AGENT_DIR/old; cp {state}.grants $FAKE_AGENT_DIR/old.grants");
        let three = json!([{"agents": {"count": 3}}]);
        let fake = tree(&json!([{"sh": keep}, {"agents": {"count": 3}}]), &three);
        // The fifth session is one in the middle, at the bottom: four agents are granted, and eight are not.
        let sabotage = json!({"stdin": "ignore", "steps": [{"sh": damage}, {"agents": {"count": 3}}]});
        fs::write(fake.dir().join("5.json"), sabotage.to_string()).unwrap();
        let (ran, refused) = session(&fake, ONLY_TOTAL).await;
        assert!((4..=TOTAL as usize).contains(&ran), "{damage}: {ran}");
        assert_eq!(ran == TOTAL as usize, exact, "{damage}: {ran}");
        assert!(!refused.is_empty(), "{damage}");
    }
}

/// Eight at once, of which each asks for eight, while somebody takes the lock away.
#[test]
fn processes_that_ask_at_once_get_the_total() {
    for takes_the_lock_away in [false, true] {
        let folder = tempfile::tempdir().unwrap();
        let budget = SpawnBudget::create(folder.path().join("state.json"), ONLY_TOTAL).unwrap();
        let steps = json!([{"wait_for": "go"}, {"agents": {"count": 8}}]);
        let fake = Fake::new(&vec![json!({"stdin": "ignore", "steps": steps}); 8]);
        write(&fake, "level-1.json", &json!([]));
        let mut agents: Vec<Child> = (0..8).map(|_| start(&fake, &budget)).collect();
        fs::write(fake.dir().join("go"), "").unwrap();
        let lock = folder.path().join("state.json.lock");
        loop {
            if takes_the_lock_away {
                let _ = fs::remove_file(&lock);
            }
            if agents.iter_mut().all(|agent| agent.try_wait().unwrap().is_some()) {
                break;
            }
        }
        let sessions = fs::read_dir(fake.dir().join("calls")).unwrap().count();
        if takes_the_lock_away {
            assert!(sessions <= 8 + TOTAL as usize, "{sessions}");
        } else {
            assert_eq!(sessions, 8 + TOTAL as usize);
        }
        assert!(budget.standing().spent >= TOTAL);
    }
}

fn start(fake: &Fake, budget: &SpawnBudget) -> Child {
    let mut command = Command::new(PROGRAM);
    command.current_dir(fake.workspace()).env("FAKE_AGENT_DIR", fake.dir()).envs(budget.root_env());
    command.stdin(Stdio::null()).stdout(Stdio::null()).spawn().unwrap()
}

fn budget(limits: Limits) -> (tempfile::TempDir, PathBuf, SpawnBudget) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("deep/state.json");
    let budget = SpawnBudget::create(&path, limits).unwrap();
    (folder, path, budget)
}

fn granted(answer: Spawn) -> Granted {
    match answer {
        Spawn::Granted(granted) => Ok(granted),
        Spawn::Refused(why) => Err(why),
    }
    .unwrap()
}

fn log(path: &Path) -> String {
    fs::read_to_string(format!("{}.log", path.display())).unwrap_or_default()
}

#[test]
fn a_call_that_is_asked_about_twice_takes_one() {
    let (_folder, _, budget) = budget(ONLY_TOTAL);
    let root = Caller::root();
    let first = granted(budget.try_spawn(&root, Some("toolu_1")));
    for _ in 0..20 {
        assert_eq!(granted(budget.try_spawn(&root, Some("toolu_1"))), first);
    }
    assert_eq!(budget.standing().spent, 1);
    // The control: another call, and the same one of somebody else.
    assert_ne!(granted(budget.try_spawn(&root, Some("toolu_2"))), first);
    assert_ne!(granted(budget.try_spawn(&Caller::named(&first.id), Some("toolu_1"))), first);
    assert_eq!(budget.standing().spent, 3);
}

#[test]
fn a_call_that_is_asked_about_by_many_at_once_takes_one() {
    let (_folder, path, budget) = budget(Limits { children: Some(3), ..ONLY_TOTAL });
    let ask = |request| move |budget: SpawnBudget| budget.try_spawn(&Caller::root(), request);
    let at_once = |ask: &(dyn Fn(SpawnBudget) -> Spawn + Sync)| -> Vec<Spawn> {
        std::thread::scope(|scope| {
            let asked: Vec<_> = (0..16).map(|_| scope.spawn(|| ask(SpawnBudget::open(&path)))).collect();
            asked.into_iter().map(|thread| thread.join().unwrap()).collect()
        })
    };
    let answers = at_once(&ask(Some("toolu_1")));
    assert!(answers.iter().all(|answer| matches!(answer, Spawn::Granted(_)) && *answer == answers[0]), "{answers:?}");
    assert_eq!(budget.standing().spent, 1);
    // The control: calls of their own take one each, up to what one agent may start.
    let more = at_once(&ask(None)).into_iter().filter(|answer| matches!(answer, Spawn::Granted(_))).count();
    assert_eq!((more, budget.standing().spent), (2, 3));
}

#[test]
fn nothing_is_made_anew_where_something_is_left() {
    let (_folder, path, budget) = budget(Limits { total: 2, ..ONLY_TOTAL });
    granted(budget.try_spawn(&Caller::root(), None));
    SpawnBudget::create(&path, ONLY_TOTAL).unwrap();
    assert_eq!((budget.standing().spent, budget.standing().limits.total), (1, 2));
    fs::remove_file(&path).unwrap();
    SpawnBudget::create(&path, ONLY_TOTAL).unwrap();
    granted(budget.try_spawn(&Caller::root(), None));
    assert_eq!(budget.try_spawn(&Caller::root(), None), Spawn::Refused(Refused::Total(2)));
    assert!(
        log(&path).contains("the state is missing; rebuilt from what else is known: 1 of 2 are spent"),
        "{}",
        log(&path)
    );
}

#[test]
fn a_lost_state_is_told_and_what_the_caller_knows_counts() {
    let (_folder, path, budget) = budget(ONLY_TOTAL);
    let grants = format!("{}.grants", path.display());
    for (known, spent) in [(None, TOTAL), (Some(7), 7)] {
        fs::write(&path, "{}").unwrap();
        let _ = fs::remove_file(&grants);
        let budget = budget.clone().known(known);
        let answer = budget.try_spawn(&Caller::root(), None);
        assert_eq!(matches!(answer, Spawn::Granted(_)), known.is_some(), "{answer:?}");
        assert_eq!(budget.standing().spent, spent + u32::from(known.is_some()));
        let log = log(&path);
        assert!(log.contains("the state is damaged (missing field"), "{log}");
        let says = if known.is_some() { "7 of 12 are spent" } else { "nothing is left to spawn" };
        assert!(log.lines().last().unwrap().contains(says), "{log}");
    }
}

#[test]
fn what_a_grant_says_is_who_its_agent_is() {
    let (_folder, path, budget) = budget(ONLY_TOTAL);
    let child = granted(budget.try_spawn(&Caller::root(), None));
    let vars = child.env();
    assert_eq!((child.depth, child.left), (1, 11));
    assert_eq!(vars[0], ("RALPH_SPAWN_STATE".to_owned(), path.display().to_string()));
    assert_eq!(vars[1], ("RALPH_SPAWN_ID".to_owned(), child.id.clone()));
    assert_eq!(vars[2], ("RALPH_SPAWN_DEPTH".to_owned(), "1".to_owned()));
    let grandchild = granted(budget.try_spawn(&Caller::named(&child.id), None));
    assert_eq!((grandchild.depth, grandchild.left), (2, 10));
}

#[tokio::test]
async fn budgets_in_the_workspace_are_refused() {
    let fake = Fake::steps(&json!([]));
    let agent = SpawnBudgeted::new(Arc::new(fake.command()), fake.workspace().join("state"), ONLY_TOTAL);
    let error = agent.run(&fake.brief(), &Cx::new()).await.unwrap_err();
    assert!(matches!(error, AgentError::Refused { .. }), "{error}");
}

#[tokio::test]
async fn what_a_crash_leaves_behind_is_told_from_a_session_that_goes_on() {
    // A copy of its budget, as it would be left: nobody holds a lock there.
    let copy = "cp -r \"$(dirname \"$RALPH_SPAWN_STATE\")\" \"$FAKE_AGENT_CALL/session-left\"";
    let fake = Fake::steps(&json!([{"sh": copy}, {"wait_for": "go"}]));
    let budgets = tempfile::tempdir().unwrap();
    let agent = SpawnBudgeted::new(Arc::new(fake.command()), budgets.path(), ONLY_TOTAL);
    let left = || {
        let later = SystemTime::now() + Duration::from_secs(3600);
        let mut left = left_behind(budgets.path(), later).unwrap();
        left.extend(left_behind(&fake.dir().join("calls/1"), later).unwrap());
        left
    };
    let looks = async {
        let copied = fake.dir().join("calls/1/session-left");
        until("the copy", || copied.join("state.json").exists()).await;
        assert_eq!(fs::read_dir(budgets.path()).unwrap().count(), 1);
        assert_eq!(left(), [copied.as_path()]);
        // Not while it may be in the making.
        assert!(left_behind(copied.parent().unwrap(), SystemTime::now()).unwrap().is_empty());
        fs::write(fake.dir().join("go"), "").unwrap();
    };
    let (brief, cx) = (fake.brief(), Cx::new());
    let (report, ()) = tokio::join!(agent.run(&brief, &cx), looks);
    assert_eq!(report.unwrap().end, SessionEnd::Finished);
    assert_eq!(fs::read_dir(budgets.path()).unwrap().count(), 0);
}
