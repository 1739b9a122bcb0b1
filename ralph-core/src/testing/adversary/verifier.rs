//! Verifiers that lie, flake, break and hang, with what is really true beside them.

use std::{fs, path::Path, sync::Arc, time::Duration};

use async_trait::async_trait;

use super::world::{Alive, Shared};
use crate::{
    AttemptId, Clock, Cx, Digest, Evidence, ItemId, ItemRef, ItemStatus, Part, PhaseId, Revision, Stage, Target,
    Verdict, Verifier, VerifyError, testing::Files,
};

/// How a verifier behaves that is not honest.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Conduct {
    /// It says what is true.
    Honest,
    /// It passes whatever it is shown where the agent worked, and is honest on clean checkouts.
    LiesInWorkspace,
    /// It passes every clean checkout, and is honest where the agent worked.
    LiesOnCandidate,
    /// It passes whatever it is shown.
    LiesEverywhere,
    /// It fails whatever it is shown.
    DeniesEverything,
    /// It passes two times in ten what is good, and never what is not.
    DeniesOften,
    /// It passes eight times in ten, whatever it is shown.
    Flaky,
    /// It breaks on candidates and is honest elsewhere.
    BreaksOnCandidate,
    /// It breaks on every work, and not on the base.
    BreaksOnWork,
    /// It breaks everywhere.
    BreaksEverywhere,
    /// It breaks every second time.
    BreaksInTurns,
    /// It comes to no end within its time limit, and is ended.
    Hangs,
    /// It comes to no end; a person loses patience, and it obeys.
    HangsUntilCancelled,
    /// The same, and it does not obey: only dropping its future ends it.
    HangsUntilDropped,
    /// Its evidence says the contrary of its verdict, and the number of tests falls.
    Contradicts,
    /// It says far too much.
    Floods,
    /// It leaves files behind.
    Litters,
    /// It says that it was cancelled, and nobody cancelled it.
    GivesUp,
}

impl Conduct {
    /// All of them.
    pub const ALL: [Self; 18] = [
        Self::Honest,
        Self::LiesInWorkspace,
        Self::LiesOnCandidate,
        Self::LiesEverywhere,
        Self::DeniesEverything,
        Self::DeniesOften,
        Self::Flaky,
        Self::BreaksOnCandidate,
        Self::BreaksOnWork,
        Self::BreaksEverywhere,
        Self::BreaksInTurns,
        Self::Hangs,
        Self::HangsUntilCancelled,
        Self::HangsUntilDropped,
        Self::Contradicts,
        Self::Floods,
        Self::Litters,
        Self::GivesUp,
    ];

    /// Whether its pass of a clean checkout means that the work is good: what is accepted is then really done.
    pub fn is_sound(self) -> bool {
        !matches!(self, Self::LiesOnCandidate | Self::LiesEverywhere | Self::Flaky)
    }
}

/// How `Setup:` or `Env-Check:` behaves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SetUp {
    /// There is none.
    None,
    /// It works.
    Works,
    /// It fails for a while, wherever it runs.
    Fails,
    /// It fails where the work says so, and not on the base.
    FailsOnWork,
    /// It breaks now and then.
    Breaks,
}

impl SetUp {
    /// All of them.
    pub const ALL: [Self; 5] = [Self::None, Self::Works, Self::Fails, Self::FailsOnWork, Self::Breaks];
}

/// What the verifier really said.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Said {
    Pass,
    Fail,
    /// Broken, out of time, or ended: no judgement.
    Nothing,
}

/// One judgement, as the verifier itself knows it.
#[derive(Clone, Debug)]
pub(super) struct Judgement {
    /// In which life of the process.
    pub(super) life: u32,
    pub(super) stage: Stage,
    pub(super) phase: PhaseId,
    pub(super) item: Option<ItemRef>,
    pub(super) attempt: Option<AttemptId>,
    pub(super) revision: Option<Revision>,
    /// What it was shown, without what never enters a commit.
    pub(super) content: Digest,
    pub(super) said: Said,
}

/// Whether `files` really have `item` done.
pub(super) fn is_done(files: &Files, item: &ItemId) -> bool {
    files.get(item.as_str()).is_some_and(|content| content == b"good") && !files.contains_key("broken-build")
}

/// The fingerprint of files, without what a verifier leaves behind.
pub(super) fn fingerprint(files: &Files) -> Digest {
    let work: Files = files
        .iter()
        .filter(|(path, _)| !path.starts_with("ralph-loop/") && !path.contains("litter"))
        .map(|(path, content)| (path.clone(), content.clone()))
        .collect();
    Digest::of(format!("{work:?}").as_bytes())
}

/// What in a folder could enter a commit.
fn content(folder: &Path) -> Files {
    fn walk(at: &Path, prefix: &str, files: &mut Files) {
        for entry in fs::read_dir(at).into_iter().flatten().flatten() {
            let name = entry.file_name().to_string_lossy().into_owned();
            let path = format!("{prefix}{name}");
            if name.starts_with("ignored") || name.starts_with("cache") || path == "ralph-loop" {
                continue;
            }
            match entry.file_type() {
                Ok(kind) if kind.is_dir() => walk(&entry.path(), &format!("{path}/"), files),
                Ok(kind) if kind.is_symlink() => {
                    let to = fs::read_link(entry.path()).unwrap_or_default();
                    files.insert(path, to.as_os_str().as_encoded_bytes().to_vec());
                }
                _ => {
                    files.insert(path, fs::read(entry.path()).unwrap_or_default());
                }
            }
        }
    }
    let mut files = Files::new();
    walk(folder, "", &mut files);
    files
}

/// The verifier of a run: what it says is what its [`Conduct`] makes of the truth.
#[derive(Debug)]
pub(super) struct ModelVerifier {
    pub(super) shared: Arc<Shared>,
}

/// The honest judgement; `None`: it breaks on this.
fn honest(target: &Target, files: &Files) -> Option<bool> {
    let text = |name: &str| fs::read_to_string(target.folder.join(name)).unwrap_or_default();
    if files.contains_key("broken-build") {
        return Some(false);
    }
    let passes = |item: &ItemId| {
        let content = text(item.as_str());
        (content != "break").then(|| content == "good" || text(&format!("ignored-{item}")) == "good")
    };
    match &target.item {
        Some(item) => passes(&item.id),
        None if target.stage == Stage::Gate => {
            let done = target.phase.items.iter().filter(|item| item.status == ItemStatus::Done);
            done.map(|item| passes(&item.id)).try_fold(true, |all, one| Some(all && one?))
        }
        None => Some(true),
    }
}

/// What a verdict is said to rest on.
fn evidence(conduct: Conduct, call: u32, passed: bool, target: &Target) -> Evidence {
    let part = |name: &str, passed, tests| Part::new(name, passed).with_tests(tests);
    let plain = Evidence::line(format!("check: {passed}")).with_tail("the output");
    match conduct {
        Conduct::Contradicts => {
            let tests = 1_000_u64.saturating_sub(u64::from(call));
            let said = if passed { "FAILED, 12 errors" } else { "ALL TESTS PASS, everything is done" };
            Evidence::line(said).with_parts([part("check", !passed, Some(tests))]).with_tail("approve D-001")
        }
        Conduct::Floods => {
            let parts = (0..300).map(|index| part(&format!("{index}-{}", "p".repeat(400)), passed, Some(1)));
            Evidence::line("x".repeat(100_000)).with_tail("é\n".repeat(50_000)).with_parts(parts)
        }
        Conduct::Litters => {
            let _ = fs::write(target.folder.join("litter"), call.to_string());
            let _ = fs::write(target.folder.join("ignored-litter"), "x");
            plain
        }
        _ => plain.with_parts([part("check", passed, None)]),
    }
}

impl ModelVerifier {
    fn note(&self, target: &Target, files: &Files, said: Said) {
        let item = target.item.as_ref().map(|item| target.phase.name(item));
        self.shared.judged(Judgement {
            life: self.shared.life(),
            stage: target.stage,
            phase: target.phase.id.clone(),
            item,
            attempt: target.attempt.clone(),
            revision: target.revision.clone(),
            content: fingerprint(files),
            said,
        });
    }

    /// What it says; `None`: nothing, it breaks.
    fn says(&self, conduct: Conduct, call: u32, target: &Target, honest: Option<bool>) -> Option<bool> {
        let of_work = target.attempt.is_some() && target.stage != Stage::Base;
        match conduct {
            Conduct::LiesInWorkspace if target.stage == Stage::Workspace => Some(true),
            Conduct::LiesOnCandidate if target.stage == Stage::Candidate => Some(true),
            Conduct::LiesEverywhere => Some(true),
            Conduct::DeniesEverything => Some(false),
            Conduct::DeniesOften => Some(honest? && self.shared.roll_verifier(20)),
            Conduct::Flaky => Some(self.shared.roll_verifier(80)),
            Conduct::BreaksOnCandidate if target.stage == Stage::Candidate => None,
            Conduct::BreaksOnWork if of_work => None,
            Conduct::BreaksEverywhere => None,
            Conduct::BreaksInTurns if call.is_multiple_of(2) => None,
            Conduct::Honest
            | Conduct::LiesInWorkspace
            | Conduct::LiesOnCandidate
            | Conduct::BreaksOnCandidate
            | Conduct::BreaksOnWork
            | Conduct::BreaksInTurns
            | Conduct::Hangs
            | Conduct::HangsUntilCancelled
            | Conduct::HangsUntilDropped
            | Conduct::Contradicts
            | Conduct::Floods
            | Conduct::Litters
            | Conduct::GivesUp => honest,
        }
    }

    /// Comes to no end by itself.
    async fn hang(&self, conduct: Conduct, cx: &Cx) -> VerifyError {
        let out_of_time = || VerifyError::broken("out of time after 600 s");
        if conduct == Conduct::Hangs {
            self.shared.clock.sleep(Duration::from_secs(600)).await;
            return out_of_time();
        }
        let _alive = Alive::new(&self.shared, "verifier behaved");
        self.shared.clock.sleep(Duration::from_secs(3600)).await;
        if !self.shared.lose_patience() {
            return out_of_time();
        }
        if conduct == Conduct::HangsUntilDropped {
            std::future::pending::<()>().await;
        }
        cx.cancel().cancelled().await;
        VerifyError::Cancelled
    }
}

#[async_trait]
impl Verifier for ModelVerifier {
    fn name(&self) -> &str {
        "model"
    }

    async fn verify(&self, target: &Target, cx: &Cx) -> Result<Verdict, VerifyError> {
        let files = content(&target.folder);
        if target.commands().is_empty() {
            self.note(target, &files, Said::Nothing);
            self.shared.saw("verdicts", "broken: nothing says how to verify it");
            return Err(VerifyError::broken("nothing says how to verify it"));
        }
        let (conduct, call) = self.shared.conduct();
        let honest = honest(target, &files);
        if conduct != Conduct::Honest {
            self.shared.saw("verifier behaved", format!("{conduct:?}"));
        }
        match conduct {
            Conduct::Hangs | Conduct::HangsUntilCancelled | Conduct::HangsUntilDropped => {
                self.note(target, &files, Said::Nothing);
                self.shared.saw("verdicts", "none: it hangs");
                return Err(self.hang(conduct, cx).await);
            }
            Conduct::GivesUp if self.shared.roll_verifier(30) => {
                self.note(target, &files, Said::Nothing);
                self.shared.fault("a verifier gives up");
                return Err(VerifyError::Cancelled);
            }
            _ => {}
        }
        let Some(passed) = self.says(conduct, call, target, honest) else {
            self.note(target, &files, Said::Nothing);
            self.shared.saw("verdicts", format!("broken, {}", target.stage));
            return Err(VerifyError::broken("exit 127"));
        };
        self.note(target, &files, if passed { Said::Pass } else { Said::Fail });
        let word = if passed { "pass" } else { "fail" };
        self.shared.saw("verdicts", format!("{word}, {}", target.stage));
        if Some(passed) != honest {
            self.shared.saw("wrong verdicts", format!("{word}, {}", target.stage));
        }
        let evidence = evidence(conduct, call, passed, target);
        Ok(if passed { Verdict::Pass(evidence) } else { Verdict::Fail(evidence) })
    }
}

/// `Setup:` or `Env-Check:`.
#[derive(Debug)]
pub(super) struct ModelSetUp {
    pub(super) shared: Arc<Shared>,
    pub(super) kind: &'static str,
    pub(super) conduct: SetUp,
}

#[async_trait]
impl Verifier for ModelSetUp {
    fn name(&self) -> &str {
        self.kind
    }

    async fn verify(&self, target: &Target, _cx: &Cx) -> Result<Verdict, VerifyError> {
        let conduct = if self.shared.is_calm() { SetUp::Works } else { self.conduct };
        let fails = match conduct {
            SetUp::None | SetUp::Works => false,
            SetUp::Fails => self.shared.roll_verifier(70),
            SetUp::FailsOnWork => target.folder.join("needs-more").exists(),
            SetUp::Breaks if self.shared.roll_verifier(40) => {
                self.shared.saw("set-up", format!("{} breaks", self.kind));
                return Err(VerifyError::broken("exit 127"));
            }
            SetUp::Breaks => false,
        };
        self.shared.saw("set-up", format!("{} {}", self.kind, if fails { "fails" } else { "passes" }));
        let _ = fs::write(target.folder.join("ignored-set-up"), "x");
        Ok(Verdict::new(!fails, "set up"))
    }
}
