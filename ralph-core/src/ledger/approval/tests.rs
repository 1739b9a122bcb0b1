use std::{sync::Arc, time::UNIX_EPOCH};

use super::*;
use crate::{
    clock::{Clock, Sleep},
    cx::Cx,
    id::PhaseId,
    ledger::MarkdownPlan,
    plan::{PlanSource, Proposal},
};

const PLAN: &str = "# Plan\n\nPhase P1 — Greet\n  PRD: PRD-P1.md\n  Auto-Gate: make\n";
const PRD: &str = "Verify: make test\n\n- [ ] R01: Say hello\n  Verify: make hello\n";

/// 2026-05-18T12:00:00Z
fn noon() -> SystemTime {
    UNIX_EPOCH + Duration::from_secs(1_779_105_600)
}

fn hours(count: u64) -> Duration {
    Duration::from_secs(count * 60 * 60)
}

struct Project {
    folder: tempfile::TempDir,
    plan: MarkdownPlan,
    approvals: Approvals,
}

impl Project {
    fn new(plan: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join("ralph-loop")).unwrap();
        fs::write(folder.path().join("ralph-loop/PLAN.md"), plan).unwrap();
        fs::write(folder.path().join("PRD-P1.md"), PRD).unwrap();
        let plan = MarkdownPlan::open(folder.path(), "ralph-loop/PLAN.md");
        let approvals = Approvals::new(Ledger::at(folder.path().join("ralph-loop")), plan.name());
        Self { folder, plan, approvals }
    }

    fn signed(signature: &str) -> Self {
        Self::new(&format!("{signature}\n{PLAN}"))
    }

    fn covered(&self) -> Coverage {
        Coverage::of(&self.plan.name(), &self.plan.read().unwrap()).with("settings: verify", "make all")
    }

    fn approve(&self, who: &str) -> Result<ApprovedBy, PlanError> {
        self.approvals.approve(self.plan.path(), who, &self.covered(), noon())
    }

    fn check(&self, has_run: bool) -> Approval {
        let signature = self.plan.master().unwrap().signature;
        self.approvals.check(&signature, &self.covered(), noon(), has_run).unwrap()
    }

    fn why(&self, has_run: bool) -> String {
        match self.check(has_run) {
            Approval::NotApproved(why) => why,
            other => panic!("it is {other:?}"),
        }
    }

    fn edit(&self, file: &str, from: &str, to: &str) {
        let path = self.folder.path().join(file);
        let text = fs::read_to_string(&path).unwrap();
        assert!(text.contains(from), "{text}");
        fs::write(path, text.replacen(from, to, 1)).unwrap();
    }

    fn text(&self) -> String {
        fs::read_to_string(self.plan.path()).unwrap()
    }
}

#[test]
fn approving_writes_the_line_and_the_record() {
    let project = Project::new(PLAN);
    let by = project.approve("lead").unwrap();
    let hash = project.covered().hash();
    assert_eq!((by.who.as_str(), by.date.as_str(), by.line), ("lead", "2026-05-18", 2));
    assert_eq!(by.hash.as_deref(), Some(hash.as_str()));
    assert_eq!(
        project.text(),
        PLAN.replacen("# Plan\n", &format!("# Plan\nApproved-By: lead, 2026-05-18 ({hash})\n"), 1)
    );
    let Approval::Valid(record) = project.check(true) else { panic!("{:?}", project.check(true)) };
    assert_eq!((record.origin, record.plan.as_str()), (Origin::Command, "ralph-loop/PLAN.md"));
    assert_eq!((record.who.as_str(), record.at), ("lead", 1_779_105_600_000));
    let names: Vec<_> = record.covered.parts().map(|(name, _)| name.to_owned()).collect();
    assert_eq!(names, ["ralph-loop/PLAN.md", "P1 Verify", "P1/R01 Verify", "settings: verify"]);
    // Rows may change, and so may where the plan's lines end.
    project.edit("PRD-P1.md", "- [ ] R01: Say hello", "- [x] R01: Say hello, world\n  - politely");
    project.edit("PRD-P1.md", "  Verify", "  - [ ] more\n  Verify");
    let crlf = project.text().replace('\n', "\r\n");
    fs::write(project.plan.path(), crlf).unwrap();
    assert!(matches!(project.check(true), Approval::Valid(_)));
    // Again, in somebody else's name.
    project.approve("Doe, Jane").unwrap();
    assert_eq!(project.text().matches("Approved-By").count(), 1);
    assert!(matches!(project.check(true), Approval::Valid(record) if record.who == "Doe, Jane"));
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        let folder = project.approvals.path().parent().unwrap().to_owned();
        assert_eq!(fs::metadata(folder).unwrap().permissions().mode() & 0o777, 0o700);
    }
}

#[test]
fn a_line_by_hand_counts_until_the_first_run_and_stays_valid_from_then_on() {
    let project = Project::signed("Approved-By: lead, 2026-05-18");
    let Approval::ByHand(by) = project.check(false) else { panic!("{:?}", project.check(false)) };
    assert!(project.why(true).contains("written by hand"));
    project.approvals.record_by_hand(&by, &project.covered(), noon()).unwrap();
    for has_run in [false, true] {
        assert!(matches!(project.check(has_run), Approval::Valid(record) if record.origin == Origin::ByHand));
    }
    project.edit("ralph-loop/PLAN.md", "Auto-Gate: make", "Auto-Gate: true");
    assert!(project.why(true).contains("has changed since"));
}

#[test]
fn every_reason_is_named() {
    let mut told = Vec::new();
    let mut tell = |what: &str, project: &Project, has_run: bool| {
        let hash = project.covered().hash();
        told.push(format!("{what}\n  {}", project.why(has_run).replace(&hash, "(now)")));
    };
    tell("missing", &Project::new(PLAN), false);
    for line in [
        "Approved-By:",
        "Approved-By: , 2026-05-18",
        "Approved-By: lead, 2026-02-30",
        "Approved-By: lead, 2026-05-20",
        "Approved-By: a, 2026-05-18\nApproved-By: b, 2026-05-18",
        "Approved-By: lead, 2026-05-18 (01234567)",
    ] {
        tell(line, &Project::signed(line), false);
    }
    tell("by hand, and it has run", &Project::signed("Approved-By: lead, 2026-05-18"), true);

    let approved = || {
        let project = Project::new(PLAN);
        project.approve("lead").unwrap();
        project
    };
    let project = approved();
    fs::remove_file(project.approvals.path()).unwrap();
    tell("state is gone", &project, true);
    for (what, file, from, to) in [
        ("another name", "ralph-loop/PLAN.md", "lead", "boss"),
        ("another day", "ralph-loop/PLAN.md", "2026-05-18", "2026-05-17"),
        ("another hash", "ralph-loop/PLAN.md", " (", " (01234567) ("),
        ("the gate changed", "ralph-loop/PLAN.md", "Auto-Gate: make", "Auto-Gate: true"),
        ("a gate was added", "ralph-loop/PLAN.md", "Auto-Gate: make\n", "Auto-Gate: make\n  Manual-Gate: me\n"),
        ("the PRD's verifier changed", "PRD-P1.md", "make test", "true"),
        ("the item's verifier is gone", "PRD-P1.md", "  Verify: make hello\n", ""),
        ("a setup was added", "PRD-P1.md", "\n\n", "\nSetup: curl x | sh\n\n"),
    ] {
        let project = approved();
        project.edit(file, from, to);
        if what == "another hash" {
            let hash = project.covered().hash();
            project.edit(file, &format!(" ({hash})"), "");
        }
        tell(what, &project, true);
    }
    let project = approved();
    let rows: String = (2..9).map(|n| format!("- [ ] R0{n}: x\n  Verify: make {n}\n")).collect();
    project.edit("PRD-P1.md", "- [ ]", &format!("{rows}- [ ]"));
    tell("many changes", &project, true);
    insta::assert_snapshot!(told.join("\n"));
}

#[test]
fn a_day_is_still_to_come_only_where_it_is_so_everywhere() {
    let project = Project::signed("Approved-By: lead, 2026-05-19");
    let signature = project.plan.master().unwrap().signature;
    let midnight = noon() - hours(12);
    let at = |now| project.approvals.check(&signature, &project.covered(), now, false).unwrap();
    // At ten in the morning in UTC, the next day begins where it begins first.
    assert!(matches!(at(midnight + hours(10)), Approval::ByHand(_)));
    assert!(matches!(at(midnight + hours(10) - Duration::from_secs(1)), Approval::NotApproved(_)));
}

#[test]
fn a_crash_between_line_and_record_is_mended_by_approving_again() {
    let project = Project::new(PLAN);
    project.approve("lead").unwrap();
    let old = fs::read(project.approvals.path()).unwrap();
    project.edit("ralph-loop/PLAN.md", "Auto-Gate: make", "Auto-Gate: make all");
    project.approve("lead").unwrap();
    fs::write(project.approvals.path(), old).unwrap();
    assert!(project.why(true).contains("has changed since"), "the new line with the old record");
    project.approve("lead").unwrap();
    assert!(matches!(project.check(true), Approval::Valid(_)));
}

#[test]
fn nobody_approves_what_they_did_not_see_or_in_no_name() {
    let project = Project::new(PLAN);
    let seen = project.covered();
    project.edit("ralph-loop/PLAN.md", "make", "true");
    let before = project.text();
    let error = project.approvals.approve(project.plan.path(), "lead", &seen, noon()).unwrap_err();
    assert!(error.to_string().contains("was changed meanwhile"), "{error}");
    for who in ["", " ", "a\nb", "a\u{202e}b", "`a`", "—", &"a".repeat(81)] {
        let error = project.approve(who).unwrap_err();
        assert!(error.to_string().contains("cannot stand in `Approved-By:`"), "{error}");
    }
    assert_eq!((project.text(), project.approvals.path().exists()), (before, false));
}

#[test]
fn a_record_that_cannot_be_read() {
    let project = Project::new(PLAN);
    project.approve("lead").unwrap();
    let path = project.approvals.path();
    let good = fs::read_to_string(&path).unwrap();
    for damaged in ["", "{", "{\"format\":1}", &good.replacen("make hello", "true", 1)] {
        fs::write(&path, damaged).unwrap();
        assert!(project.why(true).contains("no record"), "{damaged}");
        assert!(!path.exists(), "it is moved aside");
    }
    assert_eq!(project.approvals.trouble().len(), 4);
    fs::write(&path, good.replacen("\"format\": 1", "\"format\": 2", 1)).unwrap();
    let signature = project.plan.master().unwrap().signature;
    let error = project.approvals.check(&signature, &project.covered(), noon(), true).unwrap_err();
    assert!(error.to_string().ends_with("has format 2, and this version reads up to 1: use a newer ralph"), "{error}");
    assert!(path.exists(), "it is not damaged");
}

#[test]
fn plans_of_one_name_have_records_of_their_own() {
    let path = |plan: &str| Approvals::new(Ledger::at("l"), plan).path().to_string_lossy().replace('\\', "/");
    assert!(path("ralph-loop/MASTER-PLAN.md").starts_with("l/state/approvals/MASTER-PLAN-"));
    assert_ne!(path("a/PLAN.md"), path("b/PLAN.md"));
    assert!(!path("a/../.. x/é.md").contains(".."), "{}", path("a/../.. x/é.md"));
}

#[derive(Debug)]
struct Noon;

impl Clock for Noon {
    fn now(&self) -> SystemTime {
        noon()
    }
    fn monotonic(&self) -> Duration {
        Duration::ZERO
    }
    fn sleep(&self, _duration: Duration) -> Sleep<'_> {
        Box::pin(std::future::ready(()))
    }
}

#[tokio::test]
async fn an_approved_plan_is_read_while_it_is_approved() {
    let project = Project::signed("Approved-By: lead, 2026-05-18");
    let open = |has_run| {
        let ledger = Ledger::at(project.folder.path().join("ralph-loop"));
        let settings = Coverage::default().with("settings: verify", "make all");
        ApprovedPlan::new(project.plan.clone(), ledger, settings, Arc::new(Noon), has_run)
    };
    let cx = Cx::new();
    assert!(matches!(open(true).load(&cx).await, Err(PlanError::NotApproved(_))));
    let source = open(false);
    assert!(!project.approvals.path().exists());
    assert_eq!(source.load(&cx).await.unwrap().phases[0].auto_gate, ["make"]);
    assert_eq!(source.recorded_by_hand().unwrap().who, "lead");
    // What a person approves on the way brings its own commands; anything else does not.
    let decision = "D-009 (lead, 2026-05-18): approve";
    let items = [Proposal { title: "More".to_owned(), criteria: vec![], verify: Some("make more".to_owned()) }];
    for _ in 0..2 {
        source.extend(&PhaseId::new("P1"), &items, decision, &cx).await.unwrap();
        assert_eq!(source.load(&cx).await.unwrap().phases[0].items.len(), 2);
    }
    assert!(matches!(open(true).check().unwrap().1, Approval::Valid(_)));
    project.edit("PRD-P1.md", "make more", "true");
    let other = [Proposal { title: "Other".to_owned(), criteria: vec![], verify: Some("make other".to_owned()) }];
    source.extend(&PhaseId::new("P1"), &other, "D-010 (lead, 2026-05-18): approve", &cx).await.unwrap();
    let Err(PlanError::NotApproved(why)) = source.load(&cx).await else { panic!("it is loaded") };
    assert!(why.contains("P1/R02 Verify: `make more` is now `true`; P1/R03 Verify: `make other` is new"), "{why}");
}
