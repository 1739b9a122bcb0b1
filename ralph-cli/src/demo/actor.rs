//! The demo's agent: a script that plays each kind of session that there is.

use std::{fs, io, path::Path};

use ralph_core::{
    AgentBackend, AgentError, Brief, Capabilities, Cx, SessionEnd, SessionReport, Usage, Usd, async_trait,
};

use super::script::REPAIR;

/// What the second session of R02 finds in its prompt, if it is told what failed.
const FAILURE: &str = "an empty basket: expected 0, got nothing";

/// What the second session of R04 finds in its prompt, if it is told what a person answered.
const ANSWERED: &str = "): Postmark";

/// Plays the sessions.
#[derive(Debug)]
pub(super) struct Actor;

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
            "R03" if prompt.contains(REPAIR.2.trim_start_matches([' ', '-']).trim_end()) => {
                write("hours.sh", "echo 'Monday 9-18'\necho 'Tuesday 9-18'\n")?;
                "The hours stand in hours.sh now."
            }
            "R03" => {
                write("hours.sh", "cat hours.cache\n")?;
                write("hours.cache", "Monday 9-18\nTuesday 9-18\n")?;
                "All done! I ran the check, and it passes.\n```ralph\n{\"status\": \"done\"}\n```\n"
            }
            "R04" if prompt.contains(ANSWERED) => {
                write("mail.sh", "echo 'Subject: Your receipt'\necho 'X-Sent-With: Postmark'\n")?;
                "mail.sh writes the receipt for Postmark."
            }
            "R04" => {
                "```ralph\n{\"status\": \"decision\", \"kind\": \"choice\", \
                 \"question\": \"Which service should send the receipts?\", \
                 \"options\": [\"Postmark\", \"the shop's own mail server\"], \
                 \"recommendation\": \"Postmark\"}\n```\n"
            }
            "R05" => {
                write("pay.sh", "echo \"https://pay.example/$1\"\n")?;
                write("qr.mjs", "import { toFile } from 'qrcode'\n\nawait toFile('qr.png', process.argv[2])\n")?;
                let manifest = fs::read_to_string(folder.join("package.json"))?;
                let needs = "\"private\": true,\n  \"dependencies\": { \"qrcode\": \"^1.5.4\" }";
                write("package.json", &manifest.replace("\"private\": true", needs))?;
                "pay.sh prints the link, and qr.mjs draws it."
            }
            "R06" => {
                write("poster.txt", "The corner shop is here!\nOpen daily from 9 to 18\n")?;
                "The poster is written."
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
