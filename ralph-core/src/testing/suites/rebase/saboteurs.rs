//! For each law a rebase that breaks just that law and must fail it, made of one that keeps them.

use std::sync::{
    Arc,
    atomic::{AtomicU32, Ordering},
};

use super::RebaseFixture;
use crate::{
    Cx, Digest, Rebase, Rebased, Revision, Seal, Site, Snapshot, Vcs, VcsError, async_trait,
    testing::{Files, MemoryVcs},
};

/// What the double does wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Break {
    Nothing,
    LeavesTheWorkWhereItIs,
    TakesTheWorkWhole,
    NeverTheSameId,
    MovesTheBranch,
    AlwaysCommits,
    NamesEverything,
    PrefersTheWork,
    AsksForNoBase,
    TakesTheUnknownForTheTip,
}

#[derive(Debug)]
struct Double {
    honest: MemoryVcs,
    wrong: Break,
    calls: AtomicU32,
}

/// A lane that no law uses.
const SITE: Site = Site::Work { lane: 7 };

impl Double {
    /// Makes a revision on `base` of all files of `revision`.
    async fn whole(&self, revision: &Revision, base: &Revision, seal: &Seal, cx: &Cx) -> Result<Rebased, VcsError> {
        self.honest.place(SITE, revision, crate::Caches::Drop, cx).await?;
        Ok(Rebased::Onto(self.honest.snapshot(SITE, base, seal, cx).await?))
    }
}

#[async_trait]
impl Rebase for Double {
    async fn rebase(&self, revision: &Revision, onto: &Revision, seal: &Seal, cx: &Cx) -> Result<Rebased, VcsError> {
        let mut seal = seal.clone();
        if self.wrong == Break::NeverTheSameId {
            seal.message.push_str(&self.calls.fetch_add(1, Ordering::Relaxed).to_string());
        }
        let honest = self.honest.rebase(revision, onto, &seal, cx).await;
        match (self.wrong, honest) {
            (Break::Nothing | Break::NeverTheSameId, honest) => honest,
            (Break::TakesTheUnknownForTheTip, Err(VcsError::NoRevision(_))) => Ok(Rebased::Conflict(Vec::new())),
            (Break::LeavesTheWorkWhereItIs, Ok(Rebased::Onto(snapshot))) => {
                Ok(Rebased::Onto(Snapshot { revision: Some(revision.clone()), ..snapshot }))
            }
            (Break::TakesTheWorkWhole, Ok(Rebased::Onto(_))) => self.whole(revision, onto, &seal, cx).await,
            (Break::MovesTheBranch, Ok(Rebased::Onto(snapshot))) => {
                if let Some(revision) = &snapshot.revision {
                    self.honest.accept(revision, onto, cx).await?;
                }
                Ok(Rebased::Onto(snapshot))
            }
            (Break::AlwaysCommits, Ok(Rebased::Onto(snapshot))) => {
                let revision = snapshot.revision.unwrap_or_else(|| onto.clone());
                Ok(Rebased::Onto(Snapshot { revision: Some(revision), ..snapshot }))
            }
            (Break::NamesEverything, Ok(Rebased::Conflict(_))) => {
                let files = self.honest.files_of(revision).unwrap_or_default();
                Ok(Rebased::Conflict(files.into_keys().collect()))
            }
            (Break::PrefersTheWork, Ok(Rebased::Conflict(_))) => self.whole(revision, onto, &seal, cx).await,
            (Break::AsksForNoBase, Ok(Rebased::Conflict(paths))) if paths == ["a"] => {
                let (tree, stat) = (Digest::new("x"), crate::DiffStat::default());
                Ok(Rebased::Onto(Snapshot { revision: None, tree, stat, findings: Vec::new() }))
            }
            (_, honest) => honest,
        }
    }
}

fn fixture(wrong: Break) -> RebaseFixture {
    let honest = MemoryVcs::with(Files::from([("README.md".to_owned(), b"hello\n".to_vec())]));
    let double = Double { honest: honest.clone(), wrong, calls: AtomicU32::new(0) };
    RebaseFixture { vcs: Arc::new(honest), rebase: Arc::new(double), keep_alive: Box::new(()) }
}

mod honest {
    use super::{Break, fixture};

    crate::rebase_conformance!(async || fixture(Break::Nothing));
}

macro_rules! saboteurs {
    ($($law:ident: $wrong:ident),* $(,)?) => { $(
        #[test]
        #[should_panic]
        fn $law() {
            crate::testing::suites::run_law(crate::testing::suites::rebase::$law(fixture(Break::$wrong)));
        }
    )* };
}

saboteurs! {
    carried_work_is_one_step_from_the_new_base: LeavesTheWorkWhereItIs,
    both_sides_changes_survive: TakesTheWorkWhole,
    rebase_redo_gives_the_same_revision: NeverTheSameId,
    rebase_moves_nothing: MovesTheBranch,
    work_that_is_there_already_adds_nothing: AlwaysCommits,
    a_conflict_names_its_paths: NamesEverything,
    nothing_is_resolved_by_guessing: PrefersTheWork,
    work_of_another_line_is_not_carried: AsksForNoBase,
    unknown_revisions_are_refused: TakesTheUnknownForTheTip,
}
