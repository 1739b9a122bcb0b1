//! Setup and environment checks.

use std::sync::Arc;

use ralph_core::{Phase, RunId, Stage, Target, Verifier};
use ralph_verify::{EnvCheck, SetupVerifier, Shell};

use crate::support::{Place, broken, verify};

fn target(place: &Place, setup: &[&str], env_check: &[&str]) -> Target {
    let owned = |list: &[&str]| list.iter().map(|&text| text.to_owned()).collect();
    let mut phase = Phase::new("P1", []);
    phase.setup = owned(setup);
    phase.env_check = owned(env_check);
    Target::new(place.path(""), Stage::Setup, RunId::new("run-1"), Arc::new(phase))
}

#[tokio::test]
async fn nothing_to_do_is_a_pass() {
    let place = Place::new();
    let target = target(&place, &[], &[]);
    for verifier in [&SetupVerifier::default() as &dyn Verifier, &EnvCheck::default()] {
        let verdict = verify(verifier, &target).await;
        assert!(verdict.passed());
        assert_eq!(verdict.evidence().summary, "nothing to run");
    }
}

#[tokio::test]
async fn each_runs_its_own_commands() {
    let place = Place::new();
    let target = target(&place, &["echo $RALPH_STAGE > set-up"], &["test -e set-up"]);
    let (setup, check) = (SetupVerifier::new(Shell::new()), EnvCheck::new(Shell::new()));
    assert!(!verify(&check, &target).await.passed());
    assert!(verify(&setup, &target).await.passed());
    assert_eq!(place.read("set-up"), "setup\n");
    assert!(verify(&check, &target).await.passed());
}

#[tokio::test]
async fn what_cannot_run_is_broken() {
    let place = Place::new();
    let target = target(&place, &["true", "no-such-installer"], &["no-such-check"]);
    let (why, evidence) = broken(&SetupVerifier::default(), &target).await;
    assert_eq!(why, "no-such-installer: exit 127, command not found");
    assert_eq!(evidence.parts.len(), 1);
    let (why, _) = broken(&EnvCheck::default(), &target).await;
    assert_eq!(why, "no-such-check: exit 127, command not found");
}
