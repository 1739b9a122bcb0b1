//! The demo's script: a small plan, and an agent that plays each kind of session that there is.

use std::{fs, io, path::Path};

use ralph_core::{
    AgentBackend, AgentError, Brief, Capabilities, Cx, ItemStatus, SessionEnd, SessionReport, Usage, Usd, async_trait,
};

/// The files of the repository before the run.
pub(super) const FILES: &[(&str, &str)] = &[
    ("README.md", "# Corner shop\n\nA few shell scripts for a shop.\n"),
    (".gitignore", "*.cache\n"),
    ("check.sh", "for file in *.sh; do sh -n \"$file\" || exit 1; done\necho 'every script can be read'\n"),
    (
        "total-test.sh",
        "expect() { [ \"$2\" = \"$3\" ] || { echo \"$1: expected $2, got ${3:-nothing}\"; exit 1; }; }\n\
         expect '3 and 4' 7 \"$(printf '3\\n4\\n' | sh total.sh)\"\n\
         expect 'an empty basket' 0 \"$(sh total.sh </dev/null)\"\n\
         echo '2 baskets added up'\n",
    ),
];

/// The plan.
pub(super) const PRD: &str = r#"# PRD-DEMO — A corner shop

Verify: sh check.sh

- [ ] R01: Greet a customer by name
  - `sh greet.sh Ada` prints `Hello, Ada!`
  Verify: test "$(sh greet.sh Ada)" = 'Hello, Ada!'
- [ ] R02: Add up the prices in a basket
  - `total.sh` reads one price a line and prints their sum
  Verify: sh total-test.sh
- [ ] R03: Show the opening hours
  - `sh hours.sh` prints a line for each day
  Verify: sh hours.sh | grep Monday
- [ ] R04: Send the receipt by e-mail
  - `sh receipt.sh --dry-run` prints the message
  Verify: sh receipt.sh --dry-run | grep '^Subject:'
- [ ] R05: Greet customers in Klingon too
  - `sh greet.sh --klingon Ada` prints the greeting from the dictionary
  Verify: sh greet.sh --klingon Ada | grep -f klingon.txt
- [ ] R06: Say goodbye
  - `sh goodbye.sh` prints `Goodbye!`
  Verify: test "$(sh goodbye.sh)" = 'Goodbye!'
"#;

/// One item of the demo: what is told before and after, and how it has to end.
pub(super) struct Scene {
    pub(super) item: &'static str,
    pub(super) before: &'static str,
    pub(super) after: &'static str,
    pub(super) ends: ItemStatus,
}

pub(super) const SCENES: &[Scene] = &[
    Scene {
        item: "R01",
        before: "An honest piece of work.",
        after: "It passed twice: where the agent worked, and on a clean checkout of the commit itself. Only then did \
                the branch move.",
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
        after: "The agent's folder had that file, the clean checkout had not (it was asked twice, to tell this from a \
                flaky check). The branch never held this commit; it is kept aside for you to look at.",
        ends: ItemStatus::Blocked,
    },
    Scene {
        item: "R04",
        before: "Something that only a person can decide.",
        after: "Nobody was woken and nobody guessed: the question waits in ralph-loop/DECISIONS.md, and the run goes on \
                with the rest.",
        ends: ItemStatus::Decision,
    },
    Scene {
        item: "R05",
        before: "Something that cannot be done here.",
        after: "The agent said why it could not go on. A blocked item does not end the run; three of them would.",
        ends: ItemStatus::Blocked,
    },
    Scene {
        item: "R06",
        before: "And another honest piece of work.",
        after: "It stands on R01 and R02 only: nothing of what was rejected ever reached the branch.",
        ends: ItemStatus::Done,
    },
];

/// Plays the sessions of [`SCENES`].
#[derive(Debug)]
pub(super) struct Actor;

/// What the second session of R02 finds in its prompt, if it is told what failed.
const FAILURE: &str = "an empty basket: expected 0, got nothing";

impl Actor {
    /// Does the work in `folder`; its final message.
    fn play(item: &str, prompt: &str, folder: &Path) -> io::Result<&'static str> {
        let write = |name: &str, text: &str| fs::write(folder.join(name), text);
        Ok(match item {
            "R01" => {
                write("greet.sh", "echo \"Hello, $1!\"\n")?;
                "greet.sh greets by name."
            }
            "R02" if prompt.contains(FAILURE) => {
                write("total.sh", "awk '{ sum += $1 } END { print sum + 0 }'\n")?;
                "An empty basket is 0 now."
            }
            "R02" => {
                write("total.sh", "awk '{ sum += $1 } END { print sum }'\n")?;
                "total.sh adds up the prices. I am confident that it works."
            }
            "R03" => {
                write("hours.sh", "cat hours.cache\n")?;
                write("hours.cache", "Monday 9-18\nTuesday 9-18\n")?;
                "All done! I ran the check, and it passes.\n```ralph\n{\"status\": \"done\"}\n```\n"
            }
            "R04" => {
                "```ralph\n{\"status\": \"decision\", \"kind\": \"choice\", \
                 \"question\": \"Which service should send the receipts?\", \
                 \"options\": [\"Postmark\", \"the shop's own mail server\"], \
                 \"recommendation\": \"Postmark\"}\n```\n"
            }
            "R05" => {
                "```ralph\n{\"status\": \"blocked\", \
                 \"summary\": \"there is no Klingon dictionary in the repository, and I must not invent one\"}\n```\n"
            }
            "R06" => {
                write("goodbye.sh", "echo 'Goodbye!'\n")?;
                "goodbye.sh says goodbye."
            }
            _ => "I do not know this item.",
        })
    }
}

#[async_trait]
impl AgentBackend for Actor {
    fn name(&self) -> &str {
        "scripted"
    }

    fn capabilities(&self) -> Capabilities {
        Capabilities::none().with_cost()
    }

    async fn run(&self, brief: &Brief, _cx: &Cx) -> Result<SessionReport, AgentError> {
        let said = Self::play(brief.attempt.item.item.as_str(), &brief.prompt, &brief.workspace)
            .map_err(|error| AgentError::Other(error.into()))?;
        let mut usage = Usage::unknown();
        usage.cost = Some(Usd::ZERO);
        Ok(SessionReport::new(SessionEnd::Finished).with_said(said).with_usage(usage))
    }
}

#[cfg(test)]
mod tests {
    use ralph_core::ledger::MarkdownPrd;

    use super::*;

    #[test]
    fn every_item_of_the_plan_has_its_scene() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("PRD-DEMO.md");
        fs::write(&path, PRD).unwrap();
        let read = MarkdownPrd::open(&path).read().unwrap();
        assert_eq!(read.notes, []);
        let items: Vec<&str> = read.phase.items.iter().map(|item| item.id.as_str()).collect();
        let scenes: Vec<&str> = SCENES.iter().map(|scene| scene.item).collect();
        assert_eq!(items, scenes);
    }
}
