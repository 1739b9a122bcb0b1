//! The demo's script: a repository, a plan, and how everything has to come.

use ralph_core::{ItemStatus, StopReason};

/// The files of the repository before the run.
pub(super) const FILES: &[(&str, &str)] = &[
    ("README.md", "# Corner shop\n\nA few shell scripts for a shop.\n"),
    (".gitignore", "*.cache\n"),
    ("package.json", "{\n  \"name\": \"corner-shop\",\n  \"private\": true\n}\n"),
    ("check.sh", "for file in *.sh; do sh -n \"$file\" || exit 1; done\necho 'every script can be read'\n"),
    (
        "test.sh",
        r#"expect() { [ "$2" = "$3" ] || { echo "$1: expected $2, got ${3:-nothing}"; exit 1; }; }
for part in "$@"; do
  case $part in
  greet) expect 'a greeting' 'Hello, Ada!' "$(sh greet.sh Ada)" ;;
  total)
    expect '3 and 4' 7 "$(printf '3\n4\n' | sh total.sh)"
    expect 'an empty basket' 0 "$(sh total.sh </dev/null)"
    ;;
  hours) expect 'the hours' 'Monday 9-18' "$(sh hours.sh | grep Monday)" ;;
  mail) expect 'the mail' 'Subject: Your receipt' "$(sh mail.sh --dry-run | grep Subject)" ;;
  pay) expect 'the link' 'https://pay.example/7' "$(sh pay.sh 7)" ;;
  poster) expect 'the poster' 'Open daily from 9 to 18' "$(grep Open poster.txt)" ;;
  *) echo "there is no test of $part" && exit 1 ;;
  esac
done
echo "fine: $*"
"#,
    ),
];

/// The plan.
pub(super) const MASTER_PLAN: &str = "\
Phase P1 — Open the shop
  PRD: ralph-loop/PRD-P1.md
  Auto-Gate: sh test.sh greet total hours

Phase P2 — Hand out receipts
  PRD: ralph-loop/PRD-P2.md
  Auto-Gate: sh test.sh mail pay

Phase P3 — Tell the town
  PRD: ralph-loop/PRD-P3.md
  Manual-Gate: you approve the poster
";

/// The items of its phases.
pub(super) const PRDS: &[(&str, &str)] = &[
    (
        "PRD-P1.md",
        "# PRD-P1 — Open the shop\n\nVerify: sh check.sh\n\n\
         - [ ] R01: Greet a customer by name\n  - `sh greet.sh Ada` prints `Hello, Ada!`\n  Verify: sh test.sh greet\n\
         - [ ] R02: Add up the prices in a basket\n  - `total.sh` reads one price a line and prints their sum\n  \
         Verify: sh test.sh total\n\
         - [ ] R03: Show the opening hours\n  - `sh hours.sh` prints a line for each day\n  Verify: sh test.sh hours\n",
    ),
    (
        "PRD-P2.md",
        "# PRD-P2 — Hand out receipts\n\nVerify: sh check.sh\n\n\
         - [ ] R04: Send the receipt by e-mail\n  - `sh mail.sh --dry-run` prints the message\n  Verify: sh test.sh mail\n\
         - [ ] R05: Show a QR code for paying\n  - `sh pay.sh 7` prints the link that the code holds\n  \
         Verify: sh test.sh pay\n",
    ),
    (
        "PRD-P3.md",
        "# PRD-P3 — Tell the town\n\nVerify: sh check.sh\n\n\
         - [ ] R06: Write a poster\n  - `poster.txt` says when the shop is open\n  Verify: sh test.sh poster\n",
    ),
];

/// One iteration of the demo: what is told before and after, and how it has to end.
pub(super) struct Scene {
    pub(super) item: &'static str,
    pub(super) before: &'static str,
    pub(super) after: &'static str,
    pub(super) ends: ItemStatus,
}

/// The iterations, in their order.
pub(super) const SCENES: &[Scene] = &[
    Scene {
        item: "R01",
        before: "An honest piece of work.",
        after: "It passed twice, in the agent's folder and on a clean checkout of the commit. Only then the branch moved.",
        ends: ItemStatus::Done,
    },
    Scene {
        item: "R02",
        before: "A mistake: the agent forgets the empty basket.",
        after: "The second session was a fresh one. It was told what had failed, and put it right.",
        ends: ItemStatus::Done,
    },
    Scene {
        item: "R03",
        before: "A false completion: the agent says \"all done\", but its work needs a file that git ignores.",
        after: "The agent's folder had that file, the clean checkout had not (asked twice, for a flaky check would be \
                another matter). The branch never held this commit; it is kept aside for you.",
        ends: ItemStatus::Blocked,
    },
    Scene { item: "R03", before: "This session reads what you added.", after: "", ends: ItemStatus::Done },
    Scene {
        item: "R04",
        before: "The agent has a question that only a person can answer.",
        after: "Nobody was woken and nobody guessed: the question waits, and the run goes on with the rest.",
        ends: ItemStatus::Decision,
    },
    Scene {
        item: "R05",
        before: "The agent asks nothing, but its work brings a new dependency.",
        after: "The work passed, but whether you want that package is yours to say. It is parked.",
        ends: ItemStatus::Decision,
    },
    Scene { item: "R04", before: "This session reads your answer in its prompt.", after: "", ends: ItemStatus::Done },
    Scene {
        item: "R05",
        before: "The parked work needs no second session: it is carried over to where the branch is now.",
        after: "Your word did not replace the checks: it was verified twice, like any other.",
        ends: ItemStatus::Done,
    },
    Scene { item: "R06", before: "And another honest piece of work.", after: "", ends: ItemStatus::Done },
];

/// What is told of a phase when it is done.
pub(super) const PHASES: &[(&str, &str)] = &[
    (
        "P1",
        "All its items were done, so its gate was tried on a clean checkout of the branch: each item's own check once \
         more, then the Auto-Gate. Only now P2 begins.",
    ),
    ("P2", ""),
    ("P3", ""),
];

/// One call of `ralph run`: how it has to end, and what the operator does then.
pub(super) struct Sitting {
    pub(super) ends: StopReason,
    pub(super) after: &'static str,
    pub(super) turn: Turn,
}

/// What the operator does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Turn {
    /// Says better what an item is about, and gives it another try.
    Repair,
    /// Answers what waits.
    Answer,
    /// Nothing is left to do.
    Rest,
}

/// The calls of `ralph run`, in their order.
pub(super) const SITTINGS: &[Sitting] = &[
    Sitting {
        ends: StopReason::ItemsBlocked,
        after: "A phase with a blocked item does not come to its gate, so the run ends (exit code 12). Now the demo \
                plays you: `ralph log R03` shows what went wrong, you say it in the item, and give it another try:",
        turn: Turn::Repair,
    },
    Sitting {
        ends: StopReason::AwaitingDecisions,
        after: "What could be done without you is done (exit code 10). In the morning you answer all of it at once:",
        turn: Turn::Answer,
    },
    Sitting {
        ends: StopReason::ManualGate,
        after: "P3 has a gate that only a person opens. You read the poster (`ralph diff R06`), and approve:",
        turn: Turn::Answer,
    },
    Sitting { ends: StopReason::Success, after: "", turn: Turn::Rest },
];

/// What the operator is called.
pub(super) const OPERATOR: &str = "you";

/// Where the operator adds what to an item: the PRD, the line below which it stands, and the line.
pub(super) const REPAIR: (&str, &str, &str) = (
    "PRD-P1.md",
    "  - `sh hours.sh` prints a line for each day\n",
    "  - it needs no file that git ignores: the hours stand in hours.sh\n",
);

/// The item that it is about.
pub(super) const REPAIRED: &str = "R03";

/// The operator's answers, by the place of the question.
pub(super) const ANSWERS: &[(&str, &str)] = &[("P2/R04", "Postmark"), ("P2/R05", "approve"), ("P3", "approve")];

#[cfg(test)]
mod tests {
    use std::{collections::BTreeSet, fs};

    use ralph_core::{Plan, ledger::MarkdownPlan};

    use super::*;

    fn plan() -> Plan {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join("ralph-loop")).unwrap();
        for (name, text) in PRDS.iter().chain([&("MASTER-PLAN.md", MASTER_PLAN)]) {
            fs::write(folder.path().join("ralph-loop").join(name), text).unwrap();
        }
        let read = MarkdownPlan::open(folder.path(), "ralph-loop/MASTER-PLAN.md").read().unwrap();
        assert_eq!(read.notes, []);
        read.plan
    }

    #[test]
    fn every_item_and_phase_of_the_plan_has_its_scene() {
        let plan = plan();
        let items: BTreeSet<&str> =
            plan.phases.iter().flat_map(|phase| &phase.items).map(|item| item.id.as_str()).collect();
        assert_eq!(items, SCENES.iter().map(|scene| scene.item).collect());
        let phases: Vec<&str> = plan.phases.iter().map(|phase| phase.id.as_str()).collect();
        assert_eq!(phases, PHASES.iter().map(|(phase, _)| *phase).collect::<Vec<_>>());
        assert!(plan.phases.iter().all(|phase| phase.is_gated()));
    }

    #[test]
    fn the_repair_has_its_place() {
        let (file, below, _) = REPAIR;
        let (_, text) = PRDS.iter().find(|(name, _)| *name == file).unwrap();
        assert_eq!(text.matches(below).count(), 1);
    }
}
