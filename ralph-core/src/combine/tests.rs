//! The laws of verifiers on each combinator, what each makes of every answer, and combinators that break the laws.

use std::{
    collections::BTreeMap,
    sync::{
        Arc, Mutex,
        atomic::{AtomicU32, Ordering},
    },
    time::Duration,
};

use async_trait::async_trait;
use proptest::prelude::*;

use super::{VerifierExt as _, all, any, quorum};
use crate::{
    Cancel, Cx, EntryKind, Evidence, Part, Phase, RunId, Stage, Target, Tree, VcsError, Verdict, Verifier, VerifyError,
    testing::suites::{
        run_law,
        verifier::{
            Behaviour, VerifierFixture,
            saboteurs::{Sabotage, judge},
        },
    },
};

fn passes() -> Arc<dyn Verifier> {
    judge(Behaviour::Passes, Sabotage::None)
}

fn fails() -> Arc<dyn Verifier> {
    judge(Behaviour::Fails, Sabotage::None)
}

/// The suite on what `wrap` makes of a verifier that keeps the laws.
fn wrapped(wrap: impl Fn(Arc<dyn Verifier>) -> Arc<dyn Verifier> + Send + Sync + 'static) -> VerifierFixture {
    VerifierFixture::new(tempfile::tempdir().unwrap(), move |behaviour| Some(wrap(judge(behaviour, Sabotage::None))))
}

/// A `mod` with the whole suite for each combinator.
macro_rules! suites {
    ($($name:ident: $wrap:expr;)*) => { $(
        mod $name {
            use super::*;
            crate::verifier_conformance!(async || wrapped($wrap));
        }
    )* };
}

suites! {
    all_after_a_pass: |inner| Arc::new(all([passes(), inner]));
    any_after_a_failure: |inner| Arc::new(any([fails(), inner]));
    quorum_in_the_middle: |inner| Arc::new(quorum(2, [passes(), inner, fails()]));
    not_of_not: |inner| Arc::new(inner.not().not());
    repeated: |inner| Arc::new(inner.repeated(3));
    with_timeout: |inner| Arc::new(inner.with_timeout(Duration::from_secs(60)));
    on_stages: |inner| Arc::new(inner.on_stages([Stage::Workspace]));
    on_clean_checkout: |inner| Arc::new(Moved(inner.on_clean_checkout()));
    on_changed_paths: |inner| Arc::new(inner.on_changed_paths(["src"]).unwrap());
}

/// Has the suite's targets judged as candidates.
#[derive(Debug)]
struct Moved<V>(V);

#[async_trait]
impl<V: Verifier> Verifier for Moved<V> {
    fn name(&self) -> &str {
        self.0.name()
    }

    async fn verify(&self, target: &Target, cx: &Cx) -> Result<Verdict, VerifyError> {
        let mut target = target.clone();
        target.stage = Stage::Candidate;
        self.0.verify(&target, cx).await
    }
}

/// What a combinator can do wrong.
#[derive(Clone, Copy, Debug)]
enum Wrong {
    BrokenFails,
    BrokenPasses,
    ForgetsTime,
    ForgetsCancel,
    Detaches,
    Remembers,
}

#[derive(Debug)]
struct Careless {
    inner: Arc<dyn Verifier>,
    wrong: Wrong,
    first: Mutex<Option<bool>>,
}

#[async_trait]
impl Verifier for Careless {
    fn name(&self) -> &str {
        "careless"
    }

    async fn verify(&self, target: &Target, cx: &Cx) -> Result<Verdict, VerifyError> {
        let cx = match self.wrong {
            Wrong::ForgetsTime => Cx::new().with_cancel(cx.cancel().clone()),
            Wrong::ForgetsCancel => cx.clone().with_cancel(Cancel::new()),
            _ => cx.clone(),
        };
        let (inner, target) = (Arc::clone(&self.inner), target.clone());
        if let Wrong::Detaches = self.wrong {
            return tokio::spawn(async move { inner.verify(&target, &cx).await }).await.unwrap();
        }
        match (self.wrong, inner.verify(&target, &cx).await) {
            (Wrong::BrokenFails, Err(VerifyError::Broken { why, .. })) => Ok(Verdict::new(false, why)),
            (Wrong::BrokenPasses, Err(VerifyError::Broken { why, .. })) => Ok(Verdict::new(true, why)),
            (Wrong::Remembers, Ok(verdict)) => {
                let passed = *self.first.lock().unwrap().get_or_insert(verdict.passed());
                Ok(Verdict::new(passed, "remembered"))
            }
            (_, result) => result,
        }
    }
}

/// One test for each mistake: the suite sees it.
macro_rules! saboteurs {
    ($($name:ident: $wrong:ident breaks $law:ident, $words:literal;)*) => { $(
        #[test]
        #[should_panic(expected = $words)]
        fn $name() {
            let careless = |inner| Arc::new(Careless { inner, wrong: Wrong::$wrong, first: Mutex::default() });
            run_law(crate::testing::suites::verifier::$law(wrapped(move |inner| careless(inner))));
        }
    )* };
}

saboteurs! {
    broken_made_a_failure: BrokenFails breaks broken_is_an_error, "cannot judge gave Ok";
    broken_made_a_pass: BrokenPasses breaks broken_is_an_error, "cannot judge gave Ok";
    a_limit_that_is_not_handed_on: ForgetsTime breaks the_time_limit_binds, "waited in vain";
    a_switch_that_is_not_handed_on: ForgetsCancel breaks cancel_ends_it, "waited in vain";
    a_call_of_its_own: Detaches breaks dropping_leaves_nothing, "still alive";
    a_verdict_that_is_kept: Remembers breaks the_folder_decides, "a failure with `good`";
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Answer {
    Pass,
    Fail,
    Broken,
}

/// Gives one answer, and counts how often it is asked.
#[derive(Debug)]
struct Says {
    name: String,
    answer: Answer,
    asked: AtomicU32,
}

impl Says {
    fn new(name: &str, answer: Answer) -> Arc<Self> {
        Arc::new(Self { name: name.to_owned(), answer, asked: AtomicU32::new(0) })
    }

    fn asked(&self) -> u32 {
        self.asked.load(Ordering::SeqCst)
    }
}

#[async_trait]
impl Verifier for Says {
    fn name(&self) -> &str {
        &self.name
    }

    async fn verify(&self, _: &Target, _: &Cx) -> Result<Verdict, VerifyError> {
        self.asked.fetch_add(1, Ordering::SeqCst);
        let part = |passed| Part::new(format!("part of {}", self.name), passed).with_tests(Some(3));
        let evidence = |passed| Evidence::line(self.name.clone()).with_parts([part(passed)]).with_tail("its tail");
        match self.answer {
            Answer::Pass => Ok(Verdict::Pass(evidence(true))),
            Answer::Fail => Ok(Verdict::Fail(evidence(false))),
            Answer::Broken => Err(VerifyError::broken("gone")),
        }
    }
}

fn target() -> Target {
    Target::new("/nowhere", Stage::Workspace, RunId::new("run"), Phase::new("P1", []).into())
}

fn ask(verifier: &dyn Verifier, target: &Target) -> Result<Verdict, VerifyError> {
    tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap()
        .block_on(verifier.verify(target, &Cx::new()))
}

fn answer(verifier: &dyn Verifier) -> Answer {
    match ask(verifier, &target()) {
        Ok(verdict) if verdict.passed() => Answer::Pass,
        Ok(_) => Answer::Fail,
        Err(VerifyError::Broken { .. }) => Answer::Broken,
        Err(error) => panic!("{error:?}"),
    }
}

fn parts(evidence: &Evidence) -> Vec<(&str, bool, Option<u64>)> {
    evidence.parts.iter().map(|part| (part.name.as_str(), part.passed, part.tests)).collect()
}

/// Up to five answers in every order.
fn answers() -> impl Strategy<Value = Vec<Answer>> {
    proptest::collection::vec(proptest::sample::select(vec![Answer::Pass, Answer::Fail, Answer::Broken]), 0..6)
}

proptest! {
    #[test]
    fn the_first_that_does_not_pass_has_the_word_in_all(answers in answers()) {
        let parts: Vec<_> = answers.iter().map(|answer| Says::new("x", *answer)).collect();
        let whole = all(parts.iter().map(|part| Arc::clone(part) as Arc<dyn Verifier>));
        let first = answers.iter().position(|answer| *answer != Answer::Pass);
        let expected = match first {
            Some(at) => answers[at],
            None if answers.is_empty() => Answer::Broken,
            None => Answer::Pass,
        };
        prop_assert_eq!(answer(&whole), expected);
        for (at, part) in parts.iter().enumerate() {
            prop_assert_eq!(part.asked(), u32::from(first.is_none_or(|first| at <= first)), "{}", at);
        }
    }

    #[test]
    fn a_quorum_is_what_no_broken_part_could_change(answers in answers(), needed in 0_usize..7) {
        let of = |answer: Answer| answers.iter().filter(|given| **given == answer).count();
        let (passed, unknown) = (of(Answer::Pass), of(Answer::Broken));
        let judges = || answers.iter().map(|answer| Says::new("x", *answer) as Arc<dyn Verifier>);
        let expected = match needed.max(1) {
            needed if needed > answers.len() => Answer::Broken,
            needed if passed >= needed => Answer::Pass,
            needed if passed + unknown < needed => Answer::Fail,
            _ => Answer::Broken,
        };
        prop_assert_eq!(answer(&quorum(needed, judges())), expected);
        let expected = match (passed, unknown) {
            (1.., _) => Answer::Pass,
            (0, 0) if !answers.is_empty() => Answer::Fail,
            _ => Answer::Broken,
        };
        prop_assert_eq!(answer(&any(judges())), expected);
    }
}

#[test]
fn not_turns_verdicts_and_their_shares_but_nothing_that_is_broken() {
    assert_eq!(answer(&Says::new("x", Answer::Broken).not()), Answer::Broken);
    let verdict = ask(&Says::new("x", Answer::Pass).not(), &target()).unwrap();
    assert!(!verdict.passed());
    assert_eq!(verdict.evidence().summary, "not (x)");
    assert_eq!(verdict.evidence().tail, "its tail");
    assert_eq!(parts(verdict.evidence()), [("not part of x", false, None)]);
    assert_eq!(answer(&Says::new("x", Answer::Fail).not()), Answer::Pass);
}

#[test]
fn the_shares_of_those_that_were_asked_are_kept() {
    let says = |name, answer| Says::new(name, answer) as Arc<dyn Verifier>;
    let verdict = ask(&all([says("a", Answer::Pass), says("b", Answer::Fail)]), &target()).unwrap();
    assert_eq!(verdict.evidence().summary, "b");
    assert_eq!(parts(verdict.evidence()), [("part of a", true, Some(3)), ("part of b", false, Some(3))]);

    let verdict = ask(&any([says("a", Answer::Fail), says("b", Answer::Broken), says("c", Answer::Pass)]), &target());
    let verdict = verdict.unwrap();
    assert_eq!(verdict.evidence().summary, "c; b is broken: the verifier is broken: gone");
    assert_eq!(parts(verdict.evidence()), [("part of a", false, Some(3)), ("part of c", true, Some(3))]);

    let verdict = ask(&any([says("a", Answer::Fail), says("b", Answer::Fail)]), &target()).unwrap();
    assert_eq!(verdict.evidence().summary, "0 of 2 pass, 1 needed: a; b");
    assert_eq!(verdict.evidence().tail, "--- a\nits tail\n--- b\nits tail\n");

    match ask(&all([says("a", Answer::Pass), says("b", Answer::Broken)]), &target()) {
        Err(VerifyError::Broken { why, evidence }) => {
            assert_eq!((why.as_str(), parts(&evidence)), ("b: gone", vec![("part of a", true, Some(3))]));
        }
        other => panic!("{other:?}"),
    }
    // One that names none has its own.
    let verdict = ask(&all([Arc::new(Says::new("a", Answer::Pass).on_stages([])) as Arc<dyn Verifier>]), &target());
    assert_eq!(parts(verdict.unwrap().evidence()), [("a", true, None)]);
}

#[test]
fn what_many_say_stays_short() {
    let long = "é".repeat(5000);
    let says = (0..50).map(|_| Says::new(&long, Answer::Fail) as Arc<dyn Verifier>);
    let verdict = ask(&any(says), &target()).unwrap();
    assert!(verdict.evidence().summary.len() < 1000 && verdict.evidence().tail.len() <= super::TAILS_MAX);
}

#[test]
fn a_pass_is_repeated_and_a_failure_is_not_asked_again() {
    let inner = Says::new("x", Answer::Pass);
    let verdict = ask(&Arc::clone(&inner).repeated(3), &target()).unwrap();
    assert_eq!((inner.asked(), verdict.evidence().summary.as_str()), (3, "x, 3 times in a row"));
    for answer_of in [Answer::Fail, Answer::Broken] {
        let inner = Says::new("x", answer_of);
        assert_eq!((answer(&Arc::clone(&inner).repeated(3)), inner.asked()), (answer_of, 1));
    }
    // Zero times would be a pass of nothing.
    let inner = Says::new("x", Answer::Fail);
    assert_eq!(answer(&inner.repeated(0)), Answer::Fail);
}

#[test]
fn other_stages_are_passed_by() {
    let inner = Says::new("x", Answer::Broken);
    let verifier = Arc::clone(&inner).on_stages([Stage::Candidate]);
    assert_eq!((answer(&verifier), inner.asked()), (Answer::Pass, 0));
    let mut target = target();
    target.stage = Stage::Candidate;
    assert!(ask(&verifier, &target).is_err());
}

/// Tells the time limit that it is given.
#[derive(Debug, Default)]
struct Limits(Mutex<Vec<Option<Duration>>>);

#[async_trait]
impl Verifier for Limits {
    fn name(&self) -> &str {
        "limits"
    }

    async fn verify(&self, _: &Target, cx: &Cx) -> Result<Verdict, VerifyError> {
        self.0.lock().unwrap().push(cx.time_limit());
        tokio::time::sleep(Duration::from_millis(2)).await;
        Ok(Verdict::new(true, "noted"))
    }
}

#[test]
fn the_smaller_of_two_limits_binds_and_time_is_shared() {
    let seen = |limit: Option<u64>, outer: Option<u64>| {
        let limits = Arc::new(Limits::default());
        let seconds = Duration::from_secs;
        let inner = Arc::clone(&limits).repeated(2);
        let verifier: Arc<dyn Verifier> = match limit {
            Some(limit) => Arc::new(inner.with_timeout(seconds(limit))),
            None => Arc::new(inner),
        };
        let cx = outer.map_or(Cx::new(), |outer| Cx::new().with_time_limit(seconds(outer), std::time::UNIX_EPOCH));
        run_law(async { assert!(verifier.verify(&target(), &cx).await.unwrap().passed()) });
        limits.0.lock().unwrap().clone()
    };
    assert_eq!(seen(None, None), [None, None]);
    for (limit, outer) in [(Some(60), None), (Some(60), Some(90)), (Some(90), Some(60)), (None, Some(60))] {
        let seen = seen(limit, outer);
        let [first, second] = [seen[0].unwrap(), seen[1].unwrap()];
        assert!(first <= Duration::from_secs(60) && first > Duration::from_secs(50), "{first:?}");
        assert!(second < first, "{first:?} {second:?}");
    }
}

#[test]
fn no_time_and_no_will_ask_nobody() {
    let inner = Says::new("x", Answer::Pass);
    let twice = all([Arc::clone(&inner) as Arc<dyn Verifier>]);
    let cx = Cx::new().with_time_limit(Duration::ZERO, std::time::UNIX_EPOCH);
    run_law(async {
        let result = twice.verify(&target(), &cx).await;
        assert!(matches!(result, Err(VerifyError::Broken { .. })), "{result:?}");
        let cx = Cx::new();
        cx.cancel().cancel();
        let result = twice.verify(&target(), &cx).await;
        assert!(matches!(result, Err(VerifyError::Cancelled)), "{result:?}");
    });
    assert_eq!(inner.asked(), 0);
}

/// Files in memory.
#[derive(Clone, Debug, Default)]
struct Files(BTreeMap<Vec<u8>, (EntryKind, Vec<u8>)>);

impl Files {
    fn with(mut self, path: &str, kind: EntryKind, content: &str) -> Self {
        self.0.insert(path.into(), (kind, content.into()));
        self
    }
}

#[async_trait]
impl Tree for Files {
    async fn read(&self, path: &[u8], max: usize) -> Result<Option<Vec<u8>>, VcsError> {
        Ok(self.0.get(path).map(|(_, content)| content[..content.len().min(max)].to_vec()))
    }

    async fn kind(&self, path: &[u8]) -> Result<Option<EntryKind>, VcsError> {
        Ok(self.0.get(path).map(|(kind, _)| *kind))
    }

    async fn list(&self, _: &[u8]) -> Result<Vec<Vec<u8>>, VcsError> {
        Ok(self.0.keys().cloned().collect())
    }
}

#[test]
fn only_what_changed_at_a_named_path_is_asked_about() {
    use EntryKind::{Executable, File};
    let base = Files::default().with("src/api/a.rs", File, "1").with("docs/a.md", File, "1").with("run", File, "1");
    let asked = |globs: &[&str], after: Option<Files>| {
        let inner = Says::new("x", Answer::Fail);
        let verifier = Arc::clone(&inner).on_changed_paths(globs).unwrap();
        let mut target = target();
        target.base_tree = Some(Arc::new(base.clone()));
        target.tree = after.map(|tree| Arc::new(tree) as Arc<dyn Tree>);
        let passed = ask(&verifier, &target).unwrap().passed();
        assert_eq!(passed, inner.asked() == 0);
        inner.asked() == 1
    };
    let changed = |path, kind, content| Some(base.clone().with(path, kind, content));
    let mut gone = base.clone();
    gone.0.remove(&b"src/api/a.rs"[..]);
    for (globs, after, expected) in [
        (&["src"][..], Some(base.clone()), false),
        (&["src"], changed("src/api/a.rs", File, "2"), true),
        (&["src/"], changed("src/new.rs", File, ""), true),
        (&["./src/**"], Some(gone), true),
        (&["SRC/**"], changed("src/new.rs", File, ""), true),
        (&["run"], changed("run", Executable, "1"), true),
        (&["docs/*.md", "run"], changed("src/api/a.rs", File, "2"), false),
        (&["src/*.rs"], changed("src/api/a.rs", File, "2"), false),
        (&[], changed("src/api/a.rs", File, "2"), false),
        // Nobody knows.
        (&["src"], None, true),
    ] {
        assert_eq!(asked(globs, after.clone()), expected, "{globs:?} {after:?}");
    }
}

#[test]
fn what_is_no_glob_is_refused() {
    let refuse = |glob| passes().on_changed_paths([glob]).map(|_| ()).unwrap_err().to_string();
    assert!(refuse("src/{a").starts_with("`src/{a` is not a glob: unclosed alternate group"));
    assert_eq!(refuse(" / "), "`/` is not a glob: it is empty, and matches nothing");
}
