//! Recorded output of agents, and what is made of it.
//!
//! Each agent has a folder of cases here: `.stdout`, `.stderr` and `.exit` (`code 0`, `signal 9`) of a real run.

use std::{fmt::Write as _, fs, path::PathBuf};

use proptest::{prelude::*, sample::Index};
use ralph_agents::{Exit, Outcome};
use ralph_core::SessionEnd;

pub(crate) mod acp;
mod claude;
mod codex;
mod gemini;
mod opencode;

/// The recorded cases of an agent, and how its output, in pieces, and its stderr are read.
#[derive(Clone, Copy)]
struct Recorded {
    agent: &'static str,
    read: fn(&[&[u8]], &str, Exit) -> Outcome,
}

impl Recorded {
    /// A case: stdout, stderr, exit.
    fn case(self, name: &str) -> (Vec<u8>, String, Exit) {
        let file = |kind: &str| fs::read(self.folder().join(format!("{name}.{kind}"))).unwrap();
        let exit = String::from_utf8(file("exit")).unwrap();
        let mut words = exit.split_whitespace();
        let (kind, number) = (words.next().unwrap(), words.next().unwrap().parse().unwrap());
        let exit = if kind == "code" { Exit::Code(number) } else { Exit::Signal(number) };
        (file("stdout"), String::from_utf8(file("stderr")).unwrap(), exit)
    }

    fn names(self) -> Vec<String> {
        let mut names: Vec<String> = fs::read_dir(self.folder())
            .unwrap()
            .filter_map(|entry| {
                let name = entry.unwrap().file_name().into_string().unwrap();
                name.strip_suffix(".stdout").map(str::to_owned)
            })
            .collect();
        names.sort();
        assert!(!names.is_empty(), "the transcripts are not there");
        names
    }

    fn folder(self) -> PathBuf {
        PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/transcripts").join(self.agent)
    }

    fn outcome(self, stdout: &[u8], stderr: &str, exit: Exit) -> Outcome {
        (self.read)(&[stdout], stderr, exit)
    }

    /// The outcomes of all cases, for people.
    fn outcomes(self) -> String {
        let all = self.names().into_iter().map(|name| {
            let (stdout, stderr, exit) = self.case(&name);
            show(&name, exit, &self.outcome(&stdout, &stderr, exit))
        });
        all.collect::<Vec<_>>().join("\n")
    }

    /// Any line of any case, as a text that an agent may print; or `words`, which sound like trouble.
    fn any_line(self, words: &'static str) -> impl Strategy<Value = String> {
        let lines: Vec<String> = self
            .names()
            .iter()
            .flat_map(|name| {
                let text = String::from_utf8_lossy(&self.case(name).0).into_owned();
                text.lines().map(str::to_owned).collect::<Vec<_>>()
            })
            .filter(|line| line.len() < 20_000)
            .collect();
        prop_oneof![prop::sample::select(lines), "\\PC{0,80}", Just(words.to_owned())]
    }

    /// Where the output is cut on its way does not matter.
    fn cut(self, name: &str, cuts: &[Index]) -> Result<(), TestCaseError> {
        let (stdout, stderr, exit) = self.case(name);
        let mut at: Vec<usize> = cuts.iter().map(|cut| cut.index(stdout.len() + 1)).collect();
        at.extend([0, stdout.len()]);
        at.sort_unstable();
        let pieces: Vec<&[u8]> = at.windows(2).map(|pair| &stdout[pair[0]..pair[1]]).collect();
        let cut = (self.read)(&pieces, &stderr, exit);
        prop_assert_eq!(format!("{cut:?}"), format!("{:?}", self.outcome(&stdout, &stderr, exit)));
        Ok(())
    }

    /// Whatever is printed, nothing panics.
    fn spoil(self, name: &str, junk: &[u8], at: Index, code: i32) {
        let (mut stdout, ..) = self.case(name);
        let at = at.index(stdout.len() + 1);
        let end = (at + junk.len()).min(stdout.len());
        stdout.splice(at..end, junk.iter().copied());
        let _ = self.outcome(&stdout, &String::from_utf8_lossy(junk), Exit::Code(code));
        let _ = self.outcome(junk, "", Exit::Signal(code));
    }
}

fn end(outcome: &Outcome) -> String {
    match &outcome.end {
        Ok(SessionEnd::Unavailable { trouble, detail, until }) => {
            let until = until.map(|at| at.duration_since(std::time::UNIX_EPOCH).unwrap().as_secs());
            let until = until.map(|at| format!(" until {at}")).unwrap_or_default();
            format!("unavailable, {trouble}{until}: {detail}")
        }
        Ok(end) => format!("{end:?}"),
        Err(error) => format!("error: {error}"),
    }
}

fn show(name: &str, exit: Exit, outcome: &Outcome) -> String {
    let mut text = format!("{name} ({exit})\n  {}\n", end(outcome));
    match (outcome.usage.cost, outcome.usage.tokens) {
        (None, None) => text.push_str("  usage unknown\n"),
        (cost, tokens) => {
            let cost = cost.map_or("cost unknown".to_owned(), |cost| {
                format!("${}.{:06}", cost.micros() / 1_000_000, cost.micros() % 1_000_000)
            });
            let t = tokens.unwrap_or_default();
            let (input, output, read, write) = (t.input, t.output, t.cache_read, t.cache_write);
            writeln!(text, "  {cost}, tokens {input} in {output} out {read} read {write} written").unwrap();
        }
    }
    if !outcome.said.is_empty() {
        let start: String = outcome.said.chars().take(60).collect();
        writeln!(text, "  said {} bytes: {start}", outcome.said.len()).unwrap();
    }
    if let Some(json) = &outcome.structured {
        writeln!(text, "  structured: {json}").unwrap();
    }
    if outcome.compactions > 0 {
        writeln!(text, "  compactions: {}", outcome.compactions).unwrap();
    }
    if outcome.denied > 0 {
        writeln!(text, "  denied: {}", outcome.denied).unwrap();
    }
    if outcome.session_id.is_none() {
        text.push_str("  no session id\n");
    }
    text
}
