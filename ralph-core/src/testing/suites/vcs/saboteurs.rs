//! For each law a version control that breaks just that law and must fail it.

use super::double::{Break, fixture};

mod honest {
    use super::{Break, fixture};

    crate::vcs_conformance!(async || fixture(Break::Nothing));
}

macro_rules! saboteurs {
    ($($law:ident: $wrong:ident),* $(,)?) => { $(
        #[test]
        #[should_panic]
        fn $law() {
            crate::testing::suites::run_law(crate::testing::suites::vcs::$law(fixture(Break::$wrong)));
        }
    )* };
}

saboteurs! {
    tip_is_where_it_was_left: SnapshotMovesTheBranch,
    place_holds_exactly_the_revision: KeepsTheLastRevisionsFiles,
    place_removes_leftovers: LeavesStrangers,
    place_repairs_the_revisions_files: SkipsWhatIsThere,
    place_writes_through_no_link: WritesThroughLinks,
    place_survives_a_replaced_folder: FollowsTheRoot,
    place_knows_the_content: TellsTheSiteForTheContent,
    snapshot_unchanged_is_none: AlwaysCommits,
    snapshot_takes_everything: ForgetsModes,
    snapshot_redo_gives_the_same_revision: NeverTheSameId,
    snapshot_is_one_step_from_its_base: BuildsOnWhatWasPlaced,
    snapshot_undone_is_none: ComparesWithWhatWasPlaced,
    snapshot_finds_links_that_leave: TakesAllLinks,
    snapshot_of_a_replaced_folder_is_a_finding: ReadsThroughTheRoot,
    accept_moves_once: KnowsNoSecondAccept,
    accept_refuses_another_expectation: IgnoresTheExpectation,
    rejected_work_is_kept_and_the_branch_unmoved: ForgetsRejectedWork,
    kept_work_of_two_attempts_is_apart: HasOneNameForAll,
    clean_site_is_apart: HasOneSite,
    lanes_are_apart: HasOneLane,
    tree_reads_without_a_checkout: ReadsTooMuch,
    changes_name_every_path: ComparesBytesOnly,
    changes_are_between_contents: TellsTheLastStepOnly,
    unknown_revisions_are_refused: PlacesAnything,
}
