//! A Master Plan and its PRDs as one source of work.

use std::{fs, path::Path};

use ralph_core::{
    Cx, ItemRef, ItemStatus, Marked, PhaseId, PlanError, PlanSource, Proposal,
    ledger::{MarkdownPlan, NoteKind},
};
use tempfile::TempDir;

const PLAN: &str = "\
# The plan

Approved-By: lead, 2026-05-18

## Phase P1 — Privacy scrub
- PRD: ralph-loop/PRD-P1.md
- Auto-Gate: make gate && make lint
- Manual-Gate: lead approves the text
- Items: 2
- Verify: make test
- Setup: make setup
- Env-Check: ping -c1 host
- Max-Blockers: 5

## Phase P2 — Assets
- PRD: `./ralph-loop/../ralph-loop/PRD-P2.md`
- Manual-Gate: lead looks
- Verify: make other
- Items: 3
";

const ONE: &str = "# PRD-P1 — Its own title\nContext: docs/a.md\n\n- [ ] R01: a\n- [ ] R02: b\n  Verify: make b\n";
const TWO: &str = "Verify: make own\n\n- [ ] R01: c\n- [~] R02: d\n";

fn project(plan: &str, one: &str, two: &str) -> (TempDir, MarkdownPlan) {
    let folder = tempfile::tempdir().unwrap();
    fs::create_dir(folder.path().join("ralph-loop")).unwrap();
    for (name, text) in [("MASTER-PLAN.md", plan), ("PRD-P1.md", one), ("PRD-P2.md", two)] {
        fs::write(folder.path().join("ralph-loop").join(name), text).unwrap();
    }
    let plan = MarkdownPlan::open(folder.path(), "ralph-loop/MASTER-PLAN.md");
    (folder, plan)
}

fn problems(folder: &Path, plan: &MarkdownPlan) -> String {
    match plan.read() {
        Err(PlanError::Invalid(problems)) => problems.join("\n").replace(&*folder.to_string_lossy(), "ROOT"),
        other => panic!("{other:?}"),
    }
}

#[test]
fn phases_have_what_the_plan_and_the_prd_say() {
    let (_folder, plan) = project(PLAN, ONE, TWO);
    let read = plan.read().unwrap();
    let [one, two] = &read.plan.phases[..] else { panic!("{:?}", read.plan) };
    assert_eq!((one.id.as_str(), one.title.as_str()), ("P1", "Privacy scrub"));
    assert_eq!(one.auto_gate, ["make gate && make lint"]);
    assert_eq!(one.manual_gate.as_deref(), Some("lead approves the text"));
    assert_eq!(one.max_blockers, Some(5));
    assert_eq!((one.verify.join(","), one.setup.join(",")), ("make test".to_owned(), "make setup".to_owned()));
    assert_eq!((one.env_check.join(","), one.context.join(",")), ("ping -c1 host".to_owned(), "docs/a.md".to_owned()));
    assert_eq!((one.items.len(), one.items[1].verify.join(",")), (2, "make b".to_owned()));
    // The PRD's own counts before the phase's.
    assert_eq!((two.verify.join(","), two.setup.len()), ("make own".to_owned(), 0));
    assert_eq!((two.auto_gate.len(), two.max_blockers), (0, None));
    let notes: Vec<_> =
        read.notes.iter().map(|(file, note)| (file.ends_with("PRD-P2.md"), note.line, note.kind)).collect();
    assert_eq!(notes, [(true, 4, NoteKind::Unknown), (false, 19, NoteKind::Count)]);
    assert_eq!(read.notes[1].1.text, "`Items: 3`, and ./ralph-loop/../ralph-loop/PRD-P2.md has 2");
}

#[test]
fn every_file_is_there_and_its_own() {
    let (folder, plan) = project(PLAN, ONE, "# nothing\n");
    fs::remove_file(folder.path().join("ralph-loop/PRD-P1.md")).unwrap();
    insta::assert_snapshot!(problems(folder.path(), &plan), @r"
    ralph-loop/MASTER-PLAN.md:6: the PRD of phase P1 is not there: ralph-loop/PRD-P1.md
    ROOT/ralph-loop/PRD-P2.md:1: no item is recognised: 1 heading, 0 list items without a box, 1 line; items are written `- [ ] R01: what to do`
    ");
    let phase = |id: &str, prd: &str| format!("Phase {id} — It\n  PRD: {prd}\n  Auto-Gate: make\n");
    let all = [
        phase("P1", "ralph-loop/PRD-P1.md"),
        phase("P2", "ralph-loop/./PRD-P1.md"),
        phase("P3", "../PRD-P1.md"),
        phase("P4", "/etc/hosts"),
        phase("P5", "ralph-loop/prd.json"),
        phase("P6", "ralph-loop"),
    ];
    let (folder, plan) = project(&all.concat(), ONE, TWO);
    insta::assert_snapshot!(problems(folder.path(), &plan), @r"
    ralph-loop/MASTER-PLAN.md:5: the PRD of phase P2 is the one of phase P1 (line 2): give each phase its own
    ralph-loop/MASTER-PLAN.md:8: the PRD of phase P3 lies outside of the repository: ../PRD-P1.md
    ralph-loop/MASTER-PLAN.md:11: the PRD of phase P4 lies outside of the repository: /etc/hosts
    ralph-loop/MASTER-PLAN.md:14: the PRD of phase P5 is JSON, which a phase cannot have yet: ralph-loop/prd.json
    ROOT/ralph-loop: it is no file
    ");
    fs::write(plan.path(), phase("P1", "PRD-P1.md")).unwrap();
    insta::assert_snapshot!(problems(folder.path(), &plan), @"ralph-loop/MASTER-PLAN.md:2: the PRD of phase P1 is not there: PRD-P1.md; paths begin at the root of the repository, so that it is `ralph-loop/PRD-P1.md`");
    // An absolute path is fine where it leads inside.
    let inside = folder.path().join("ralph-loop/PRD-P1.md");
    fs::write(plan.path(), phase("P1", &inside.to_string_lossy())).unwrap();
    assert_eq!(plan.read().unwrap().plan.phases.len(), 1);
    let gone = MarkdownPlan::open(folder.path(), "no/PLAN.md").read();
    assert!(matches!(gone, Err(PlanError::Io { operation: "read", .. })), "{gone:?}");
}

#[cfg(unix)]
#[test]
fn a_prd_under_two_names_is_one() {
    let (folder, plan) = project(PLAN, ONE, TWO);
    fs::remove_file(folder.path().join("ralph-loop/PRD-P2.md")).unwrap();
    std::os::unix::fs::symlink("PRD-P1.md", folder.path().join("ralph-loop/PRD-P2.md")).unwrap();
    assert!(problems(folder.path(), &plan).contains("the PRD of phase P2 is the one of phase P1"));
}

#[tokio::test]
async fn marks_notes_and_new_items_go_to_their_prd() {
    let (folder, plan) = project(PLAN, ONE, TWO);
    let cx = Cx::new();
    let text = |name: &str| fs::read_to_string(folder.path().join("ralph-loop").join(name)).unwrap();
    assert_eq!(plan.load(&cx).await.unwrap().phases.len(), 2);
    // Both PRDs have an item of this name.
    let item = ItemRef::new("P2", "R01");
    assert_eq!(plan.mark(&item, ItemStatus::Open, ItemStatus::Done, &cx).await.unwrap(), Marked::Written);
    plan.note(&item, "D-001 (lead, 2026-05-18): yes", &cx).await.unwrap();
    let items = [Proposal { title: "More".to_owned(), criteria: vec![], verify: None }];
    plan.extend(&PhaseId::new("P2"), &items, "D-002 (lead, 2026-05-18): approve", &cx).await.unwrap();
    assert_eq!(text("PRD-P1.md"), ONE);
    assert_eq!(
        text("PRD-P2.md"),
        "Verify: make own\n\n- [x] R01: c\n  - Decision D-001 (lead, 2026-05-18): yes\n- [~] R02: d\n\
         - [ ] R03: More\n  - Decision D-002 (lead, 2026-05-18): approve\n"
    );
    assert_eq!(plan.load(&cx).await.unwrap().phases[1].items[2].id.as_str(), "R03");
    // A phase that is not there.
    let other = ItemRef::new("P9", "R01");
    assert_eq!(plan.mark(&other, ItemStatus::Open, ItemStatus::Done, &cx).await.unwrap(), Marked::Refused(None));
    plan.note(&other, "D-003 (lead, 2026-05-18): yes", &cx).await.unwrap();
    // A plan that is broken meanwhile does not keep finished work from being marked.
    fs::write(plan.path(), "Auto-Gat: x\n").unwrap();
    assert!(plan.load(&cx).await.is_err());
    let item = ItemRef::new("P1", "R01");
    assert_eq!(plan.mark(&item, ItemStatus::Open, ItemStatus::Done, &cx).await.unwrap(), Marked::Written);
    let fresh = MarkdownPlan::open(folder.path(), "ralph-loop/MASTER-PLAN.md");
    assert!(fresh.mark(&item, ItemStatus::Done, ItemStatus::Open, &cx).await.is_err());
}
