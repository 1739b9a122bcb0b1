//! Which verdicts on the base are the baseline, and what is told of them.

use std::collections::BTreeSet;

use ralph_core::{
    Revision, RunId, Stage, StopReason, Tip,
    ledger::{Baselines, Summary},
    machine::{Counts, Fact, Pick, VerifyOutcome},
};

use super::story::Story;

const TIP: &str = "0a1b2c3d4e5f";

impl Story {
    fn looked(&mut self, ahead: bool) -> &mut Self {
        let tip = Revision::new(TIP);
        self.fact(Fact::Looked {
            tip: if ahead { Tip::Ahead(tip) } else { Tip::At(tip) },
            pick: Pick::Invalid("not of interest".to_owned()),
            counts: Counts::default(),
            answers: Vec::new(),
            moot: Vec::new(),
            lost: Vec::new(),
        })
    }

    fn base(&mut self, outcome: VerifyOutcome) -> &mut Self {
        self.verified(Stage::Base, outcome, "make: exit 2", "first\n# last\n")
    }

    fn accepted(&mut self) -> &mut Self {
        self.fact(Fact::Accepted { revision: Revision::new(TIP) })
    }

    /// The baselines, and whether each is on good work.
    fn baselines(&self) -> Vec<(VerifyOutcome, bool)> {
        let mut all = Baselines::default();
        let found = self.records.iter().filter_map(|record| all.see(&record.fact));
        found.map(|found| (found.outcome, found.on_good_work)).collect()
    }
}

#[test]
fn a_verdict_on_the_base_is_the_baseline_where_work_was_looked_for() {
    use VerifyOutcome::{Broken, Fail, Pass};
    let mut story = Story::default();
    story.open().looked(false).base(Fail);
    assert_eq!(story.baselines(), [(Fail, false)]);
    // Found out in an attempt whether its work broke the verifier.
    story.began("R01", "x", 1).verified(Stage::Workspace, Broken, "make: killed", "").base(Pass);
    assert_eq!(story.baselines(), [(Fail, false)]);
    // Cut off in between, and taken up again.
    let mut story = Story::default();
    story.open().looked(false).open().fact(Fact::CancelAsked).base(Pass);
    assert_eq!(story.baselines(), [(Pass, false)]);
}

#[test]
fn a_red_commit_on_top_of_good_work_is_told_apart() {
    use VerifyOutcome::{Fail, Pass};
    let of = |tell: fn(&mut Story) -> &mut Story| {
        let mut story = Story::default();
        story.open().looked(false);
        tell(&mut story);
        *story.baselines().last().unwrap()
    };
    assert_eq!(of(|story| story.base(Pass).looked(true).base(Fail)), (Fail, true));
    assert_eq!(of(|story| story.base(Fail).accepted().looked(true).base(Fail)), (Fail, true));
    assert_eq!(of(|story| story.base(Fail).accepted().open().looked(true).base(Fail)), (Fail, true));
    // It was red before; or nobody committed; or a life of the run begins, which knows of nothing good.
    assert_eq!(of(|story| story.base(Fail).looked(true).base(Fail)), (Fail, false));
    assert_eq!(of(|story| story.base(Pass).looked(false).base(Fail)), (Fail, false));
    assert_eq!(of(|story| story.base(Pass).open().looked(true).base(Fail)), (Fail, false));
}

#[test]
fn the_summary_says_what_the_run_began_with() {
    let page = |outcome| {
        let mut story = Story::default();
        story.open().looked(false).base(outcome).stopped(StopReason::Cancelled, "");
        Summary::new(&RunId::new("run"), &story.records, None, &BTreeSet::new()).render()
    };
    let red = page(VerifyOutcome::Fail);
    let told =
        "## Before any work\n\n- it failed: make: exit 2\n- red before any work: every attempt has to make it pass.";
    assert!(red.contains(told) && red.contains("\n      # last\n"), "a heading in the output is none: {red}");
    let green = page(VerifyOutcome::Pass);
    assert!(green.contains("- it passed: make: exit 2\n") && !green.contains("every attempt"), "{green}");
}
