//! The page at the end of a run.

use std::{collections::BTreeSet, fs};

use ralph_core::{
    Item, ItemRef, ItemStatus, Phase, Plan, RunId, StopReason,
    ledger::{Ledger, Summary, accepted},
};

use super::story::{self, Story};

fn plan() -> Plan {
    let item = |id: &str, title: &str, status| {
        let mut item = Item::new(id, title);
        item.status = status;
        item
    };
    Plan::new([Phase::new(
        "P1",
        [
            item("R01", "Remove the snippet", ItemStatus::Done),
            item("R02", "Add a banner", ItemStatus::Blocked),
            item("R03", "Send mail", ItemStatus::Decision),
            item("R04", "From an earlier run", ItemStatus::Done),
            item("R05", "Nobody did this", ItemStatus::Done),
            item("R06", "Half done", ItemStatus::Unknown),
            item("R07", "Not begun\n# forged", ItemStatus::Open),
        ],
    )])
}

#[test]
fn a_night_in_one_page() {
    let (run, records, plan) = (RunId::new("20260518-021145-a1b2c3"), story::night(), plan());
    let earlier = BTreeSet::from([ItemRef::new("P1", "R04")]);
    let summary = Summary::new(&run, &records, Some(&plan), &earlier);
    insta::with_settings!({ omit_expression => true, prepend_module_to_snapshot => false }, {
        insta::assert_snapshot!("summary.md", summary.render());
    });
    let folder = tempfile::tempdir().unwrap();
    let ledger = Ledger::at(folder.path());
    assert!(summary.write(&ledger).is_err(), "there is no folder for it yet");
    fs::create_dir_all(ledger.run(&run)).unwrap();
    let path = summary.write(&ledger).unwrap();
    assert_eq!(fs::read_to_string(path).unwrap(), summary.render());
    assert_eq!(accepted(&records), BTreeSet::from([ItemRef::new("P1", "R01")]));
}

#[test]
fn every_stop_says_what_to_do_next() {
    let run = RunId::new("run");
    let none = BTreeSet::new();
    let mut seen = BTreeSet::new();
    for reason in StopReason::ALL {
        let mut story = Story::default();
        story.open().stopped(reason, "");
        let page = Summary::new(&run, &story.records, None, &none).render();
        assert!(page.starts_with(&format!("# Run run: {reason}\n")), "{page}");
        let next = page.split("## What to do next\n\n").nth(1).unwrap().to_owned();
        assert!(next.len() > 20 && seen.insert(next), "{reason} has words of its own");
        assert!(page.contains("- cost: $0.00"), "nothing was spent: {page}");
    }
    let page = Summary::new(&run, &[], None, &none).render();
    assert!(page.starts_with("# Run run: still running\n"));
}
