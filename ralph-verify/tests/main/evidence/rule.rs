//! What counts of tests do to a verdict.

use ralph_core::{Revision, Stage, Target, Verifier as _};
use ralph_verify::CommandVerifier;

use crate::support::{Place, verify};

/// A command that prints what the file `out` holds.
const COMMAND: &str = "cat out";

struct Runs {
    place: Place,
    verifier: CommandVerifier,
}

impl Runs {
    fn new() -> Self {
        Self { place: Place::new(), verifier: CommandVerifier::default() }
    }

    fn says(&self, ran: u64, ignored: u64) {
        let list = format!("{ran} passed; 0 failed; {ignored} ignored; 0 measured; 0 filtered out");
        let text = format!("running {} tests\ntest result: ok. {list}\n", ran + ignored);
        std::fs::write(self.place.path("out"), text).unwrap();
    }

    fn target(&self, stage: Stage, revision: Option<&str>, base: Option<&str>) -> Target {
        let mut target = self.place.target(&[], &[COMMAND]);
        target.stage = stage;
        target.revision = revision.map(Revision::new);
        target.base = base.map(Revision::new);
        target
    }

    /// The summary of a failure; `None` for a pass.
    async fn against(&self, target: &Target) -> Option<String> {
        let verdict = verify(&self.verifier, target).await;
        (!verdict.passed()).then(|| verdict.evidence().summary.clone())
    }

    async fn base(&self, revision: &str) {
        assert_eq!(self.against(&self.target(Stage::Base, Some(revision), None)).await, None);
    }

    async fn workspace(&self, base: &str) -> Option<String> {
        self.against(&self.target(Stage::Workspace, None, Some(base))).await
    }

    async fn candidate(&self, revision: &str, base: &str) -> Option<String> {
        self.against(&self.target(Stage::Candidate, Some(revision), Some(base))).await
    }
}

#[tokio::test]
async fn fewer_tests_or_more_ignored_ones_fail() {
    let runs = Runs::new();
    runs.says(12, 1);
    runs.base("a").await;
    assert_eq!(runs.workspace("a").await, None);
    runs.says(7, 1);
    assert_eq!(runs.workspace("a").await.as_deref(), Some("cat out: 12 tests ran on the base, 7 now"));
    runs.says(12, 2);
    assert_eq!(runs.workspace("a").await.as_deref(), Some("cat out: 1 test was ignored on the base, 2 now"));
    std::fs::write(runs.place.path("out"), "all is well\n").unwrap();
    let expected = "cat out: 12 tests ran on the base, none now (cargo test)";
    assert_eq!(runs.candidate("b", "a").await.as_deref(), Some(expected));
    // Where the base is not known, nothing is said.
    assert_eq!(runs.workspace("other").await, None);
    assert_eq!(runs.against(&runs.target(Stage::Workspace, None, None)).await, None);
}

#[tokio::test]
async fn the_number_that_passed_is_told() {
    let runs = Runs::new();
    runs.says(12, 1);
    let verdict = verify(&runs.verifier, &runs.target(Stage::Base, Some("a"), None)).await;
    assert_eq!(verdict.evidence().summary, "cat out: exit 0, 12 tests passed");
    runs.says(7, 1);
    let verdict = verify(&runs.verifier, &runs.target(Stage::Workspace, None, Some("a"))).await;
    assert_eq!(
        verdict.evidence().parts.iter().map(|part| (part.passed, part.tests)).collect::<Vec<_>>(),
        [(false, Some(7))]
    );
    assert!(verdict.evidence().tail.contains("7 passed"));
}

#[tokio::test]
async fn an_accepted_candidate_is_the_next_base() {
    let runs = Runs::new();
    runs.says(12, 0);
    runs.base("a").await;
    runs.says(15, 0);
    assert_eq!(runs.candidate("b", "a").await, None);
    runs.says(14, 0);
    assert_eq!(runs.workspace("b").await.as_deref(), Some("cat out: 15 tests ran on the base, 14 now"));
    // Work on the older base is compared with that.
    assert_eq!(runs.workspace("a").await, None);
    // What failed is nobody's base.
    assert!(runs.candidate("c", "b").await.is_some());
    runs.says(1, 0);
    assert_eq!(runs.workspace("c").await, None);
}

#[tokio::test]
async fn clones_share_what_they_know() {
    let runs = Runs::new();
    runs.says(3, 0);
    runs.base("a").await;
    runs.says(2, 0);
    let clone = runs.verifier.clone().named("another");
    assert!(!verify(&clone, &runs.target(Stage::Workspace, None, Some("a"))).await.passed());
}

#[tokio::test]
async fn a_command_that_was_not_asked_in_between_keeps_its_counts() {
    let runs = Runs::new();
    runs.says(12, 0);
    runs.base("a").await;
    let mut other = runs.target(Stage::Candidate, Some("b"), Some("a"));
    let other_phase = runs.place.target(&["true"], &[]).phase;
    other.phase = other_phase;
    other.item = other.phase.items.first().cloned();
    assert!(verify(&runs.verifier, &other).await.passed());
    runs.says(11, 0);
    assert!(runs.workspace("b").await.is_some());

    // Not where the item in between said that its tests are not to be compared.
    let mut item = other.item.as_deref().cloned().unwrap();
    item.checks = vec!["-test-evidence".to_owned()];
    (other.item, other.revision) = (Some(item.into()), Some(Revision::new("c")));
    assert!(verify(&runs.verifier, &other).await.passed());
    assert_eq!(runs.workspace("c").await, None);
}

#[tokio::test]
async fn it_can_be_switched_off() {
    let runs = Runs::new();
    runs.says(12, 0);
    runs.base("a").await;
    runs.says(7, 0);
    let mut target = runs.target(Stage::Candidate, Some("b"), Some("a"));
    assert!(!verify(&runs.verifier, &target).await.passed());
    let blind = runs.verifier.clone().test_evidence(false);
    assert!(verify(&blind, &target).await.passed());
    let mut item = target.item.as_deref().cloned().unwrap();
    item.checks = vec!["-test-evidence".to_owned()];
    target.item = Some(item.into());
    assert!(verify(&runs.verifier, &target).await.passed());
    // What it removed on purpose is not missed afterwards.
    assert_eq!(runs.workspace("b").await, None);
    runs.says(6, 0);
    assert_eq!(runs.workspace("b").await.as_deref(), Some("cat out: 7 tests ran on the base, 6 now"));
}

#[tokio::test]
async fn a_run_that_came_to_no_end_fails_without_a_base() {
    let runs = Runs::new();
    std::fs::write(runs.place.path("out"), "\nrunning 3 tests\ntest a ... ok\n").unwrap();
    let target = runs.target(Stage::Workspace, None, None);
    let expected = "cat out: 1 test run announced, 1 of them without a result";
    assert_eq!(runs.against(&target).await.as_deref(), Some(expected));
    assert!(verify(&runs.verifier.clone().test_evidence(false), &target).await.passed());
}

#[tokio::test]
async fn counts_never_raise_a_verdict() {
    let runs = Runs::new();
    runs.says(12, 0);
    runs.base("a").await;
    runs.says(99, 0);
    let mut target = runs.place.target(&["cat out; exit 1"], &[]);
    target.base = Some(Revision::new("a"));
    assert_eq!(runs.against(&target).await.as_deref(), Some("cat out; exit 1: exit 1, 99 tests passed"));
}

#[tokio::test]
async fn the_base_of_a_failed_command_counts_as_far_as_it_came() {
    let runs = Runs::new();
    let command = "cat out; test -e good";
    let target = |stage, revision: Option<&str>, base: Option<&str>| {
        let mut target = runs.place.target(&[], &[command]);
        (target.stage, target.revision, target.base) = (stage, revision.map(Revision::new), base.map(Revision::new));
        target
    };
    runs.says(5, 0);
    assert!(runs.against(&target(Stage::Base, Some("a"), None)).await.is_some());
    std::fs::write(runs.place.path("good"), "").unwrap();
    runs.says(9, 4);
    assert_eq!(runs.against(&target(Stage::Workspace, None, Some("a"))).await, None);
    runs.says(4, 0);
    assert!(runs.against(&target(Stage::Workspace, None, Some("a"))).await.is_some());
    assert_eq!(runs.verifier.name(), "command");
}

#[tokio::test]
async fn what_is_kept_in_a_file_is_known_to_the_next_process() {
    let mut runs = Runs::new();
    let file = runs.place.path("tests.jsonl");
    let taken_up = || CommandVerifier::default().remember_in(&file);
    runs.verifier = taken_up();
    runs.says(12, 0);
    runs.base("a").await;
    runs.says(15, 0);
    assert_eq!(runs.candidate("b", "a").await, None);

    runs.verifier = taken_up();
    assert_eq!(runs.verifier.trouble(), [""; 0]);
    runs.says(14, 0);
    assert_eq!(runs.workspace("b").await.as_deref(), Some("cat out: 15 tests ran on the base, 14 now"));
    assert_eq!(runs.workspace("a").await, None, "compared with its own base");

    // Nothing is known without the file, or from one that cannot be read; that is told.
    for content in [None, Some("{\"version\":1}\nno")] {
        match content {
            None => std::fs::remove_file(&file).unwrap(),
            Some(text) => std::fs::write(&file, text).unwrap(),
        }
        runs.verifier = taken_up();
        assert_eq!(runs.verifier.trouble().len(), usize::from(content.is_some()));
        assert_eq!(runs.workspace("b").await, None);
    }
}

#[tokio::test]
async fn a_memory_that_cannot_be_kept_is_told_and_judges_all_the_same() {
    let mut runs = Runs::new();
    runs.verifier = CommandVerifier::default().remember_in(runs.place.path("no/such/folder/tests.jsonl"));
    runs.says(12, 0);
    runs.base("a").await;
    runs.base("a").await;
    let trouble = runs.verifier.trouble();
    assert!(trouble.len() == 1 && trouble[0].contains("how many tests ran could not be kept"), "{trouble:?}");
    runs.says(7, 0);
    assert!(runs.workspace("a").await.is_some());
}
