//! What a reviewer says of a commit, and how it is read from an agent's words.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::{signal::last_block, text::printable};

/// What a reviewer found about one criterion.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Remark {
    /// The criterion.
    pub criterion: String,
    /// Whether it is met.
    pub met: bool,
    /// What shows it: a file and line, what is missing.
    pub evidence: String,
}

/// A reviewer's judgement.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Opinion {
    /// One for each criterion, in their order.
    pub remarks: Vec<Remark>,
    /// What else speaks against it, such as a meaningfully simpler way that was missed. Each is a veto.
    pub objections: Vec<String>,
}

impl Opinion {
    /// How long a text of an opinion may be, in characters. What is longer is cut.
    pub const TEXT_MAX: usize = 1_000;
    /// How many objections are read.
    pub const OBJECTIONS_MAX: usize = 10;
    /// The JSON schema of what [`Opinion::read`] reads, for agents that can be held to one.
    pub const SCHEMA: &str = include_str!("opinion.schema.json");

    /// Reads the opinion of a reviewing session: its structured output where there is any, else the last fenced block
    /// with the info string `ralph` of its final message, outside quotes.
    ///
    /// It may only lower: whoever approves, and says of a criterion that it is not met, vetoes; so does whoever rejects
    /// without a reason.
    ///
    /// ```
    /// use ralph_core::Opinion;
    /// let said = r#"Fine by me.
    /// ```ralph
    /// {"verdict": "approve", "criteria": [{"number": 1, "met": true, "evidence": "src/lib.rs:3, and a test of it"}]}
    /// ```"#;
    /// let opinion = Opinion::read(said, None, &["it greets"]).unwrap();
    /// assert!(!opinion.vetoes());
    /// assert!(Opinion::read("Looks good to me!", None, &["it greets"]).is_err());
    /// ```
    ///
    /// # Errors
    /// Why this is no whole judgement: no such JSON, no verdict, a criterion without a finding or a finding without
    /// evidence.
    pub fn read(said: &str, structured: Option<&str>, criteria: &[&str]) -> Result<Self, String> {
        let block = || last_block(said).ok_or("its answer has no `ralph` block with an opinion");
        let raw: Raw = match structured {
            Some(json) => serde_json::from_str(json),
            None => serde_json::from_str(&block()?),
        }
        .map_err(|error| format!("its answer is not an opinion: {error}"))?;
        let mut remarks = Vec::new();
        for (index, criterion) in criteria.iter().enumerate() {
            let about: Vec<&RawRemark> = raw.criteria.iter().filter(|raw| raw.number == index + 1).collect();
            // Of two that contradict each other, the one that lowers counts.
            let Some(said) = about.iter().find(|said| !said.met).or(about.first()) else {
                return Err(format!("it says nothing about criterion {}", index + 1));
            };
            let (criterion, evidence) = ((*criterion).to_owned(), cut(&said.evidence));
            remarks.push(Remark { criterion, met: said.met, evidence });
        }
        let texts = raw.objections.iter().flatten().chain(&raw.simpler);
        let texts = texts.map(|text| cut(text)).filter(|text| !says_nothing(text));
        let mut opinion = Self { remarks, objections: texts.take(Self::OBJECTIONS_MAX).collect() };
        match raw.verdict.as_str() {
            "approve" => {}
            "reject" if opinion.vetoes() => {}
            "reject" => opinion.objections.push("it is rejected without a reason".to_owned()),
            other => return Err(format!("its verdict is `{}`, which is neither approve nor reject", cut(other))),
        }
        opinion.incomplete(criteria).map_or(Ok(opinion), Err)
    }

    /// Whether anything speaks against the work.
    pub fn vetoes(&self) -> bool {
        !self.objections.is_empty() || self.remarks.iter().any(|remark| !remark.met)
    }

    /// What is missing of a whole judgement, if anything: a remark for each criterion, each with evidence.
    pub fn incomplete(&self, criteria: &[&str]) -> Option<String> {
        if self.remarks.len() != criteria.len() {
            return Some(format!("it has {} remarks on {} criteria", self.remarks.len(), criteria.len()));
        }
        let bare = self.remarks.iter().position(|remark| remark.evidence.trim().is_empty())?;
        Some(format!("its remark on criterion {} has no evidence", bare + 1))
    }
}

/// What speaks against the work, line by line; nothing where nothing does.
impl fmt::Display for Opinion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for remark in self.remarks.iter().filter(|remark| !remark.met) {
            writeln!(f, "- not met: {}: {}", remark.criterion, remark.evidence)?;
        }
        self.objections.iter().try_for_each(|objection| writeln!(f, "- {objection}"))
    }
}

/// The shape that a reviewer writes.
#[derive(Deserialize)]
struct Raw {
    verdict: String,
    #[serde(default)]
    criteria: Vec<RawRemark>,
    #[serde(default)]
    simpler: Option<String>,
    #[serde(default)]
    objections: Option<Vec<String>>,
}

#[derive(Deserialize)]
struct RawRemark {
    number: usize,
    met: bool,
    #[serde(default)]
    evidence: String,
}

/// What is written where there is nothing to write.
fn says_nothing(text: &str) -> bool {
    let word = text.trim_matches(|c: char| !c.is_alphanumeric()).to_lowercase();
    matches!(word.as_str(), "" | "none" | "n/a" | "no" | "null" | "nothing")
}

fn cut(text: &str) -> String {
    let line: Vec<&str> =
        text.split(|c: char| c.is_whitespace() || c.is_control()).filter(|word| !word.is_empty()).collect();
    printable(&line.join(" ")).chars().take(Opinion::TEXT_MAX).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn remark(criterion: &str, met: bool, evidence: &str) -> Remark {
        Remark { criterion: criterion.to_owned(), met, evidence: evidence.to_owned() }
    }

    #[test]
    fn an_opinion_is_whole_or_it_is_none() {
        let mut opinion = Opinion { remarks: vec![remark("a", true, "src/a.rs:1")], objections: Vec::new() };
        assert_eq!(opinion.incomplete(&["a"]), None);
        assert!(!opinion.vetoes());
        assert_eq!(opinion.incomplete(&["a", "b"]).as_deref(), Some("it has 1 remarks on 2 criteria"));
        opinion.remarks.push(remark("b", false, " "));
        assert_eq!(opinion.incomplete(&["a", "b"]).as_deref(), Some("its remark on criterion 2 has no evidence"));
        assert!(opinion.vetoes());
    }

    #[test]
    fn only_a_whole_judgement_is_read() {
        let read = |json: &str| Opinion::read("", Some(json), &["a", "b"]);
        let both = r#""criteria":[{"number":1,"met":true,"evidence":"x"},{"number":2,"met":true,"evidence":"y"}]"#;
        let with = |rest: &str| read(&format!("{{{both},{rest}}}"));
        assert!(!with(r#""verdict":"approve""#).unwrap().vetoes());
        for (rest, why) in [
            (r#""verdict":"reject""#, "it is rejected without a reason"),
            (r#""verdict":"approve","objections":["breaks  the\ncaller"]"#, "breaks the caller"),
            (r#""verdict":"approve","simpler":"a map would do""#, "a map would do"),
        ] {
            let opinion = with(rest).unwrap();
            assert!(opinion.vetoes() && opinion.to_string().contains(why), "{rest}: {opinion}");
        }
        for nothing in [
            r#""simpler":" ","objections":[""]"#,
            r#""simpler":"None.","objections":["N/A"]"#,
            r#""simpler":null,"objections":null"#,
        ] {
            assert!(!with(&format!(r#""verdict":"approve",{nothing}"#)).unwrap().vetoes(), "{nothing}");
        }
        assert!(with(r#""verdict":"approve","simpler":"no map is needed""#).unwrap().vetoes());
        for (json, why) in [
            (r#"{"verdict":"approve"}"#, "nothing about criterion 1"),
            (
                r#"{"verdict":"approve","criteria":[{"number":1,"met":true,"evidence":"x"}]}"#,
                "nothing about criterion 2",
            ),
            (r#"{"criteria":[]}"#, "missing field `verdict`"),
            ("[]", "not an opinion"),
            ("null", "not an opinion"),
        ] {
            let error = read(json).unwrap_err();
            assert!(error.contains(why), "{json}: {error}");
        }
        assert!(with(r#""verdict":"lgtm""#).unwrap_err().contains("neither approve nor reject"));
        let bare =
            r#"{"verdict":"approve","criteria":[{"number":1,"met":true},{"number":2,"met":true,"evidence":"y"}]}"#;
        assert!(read(bare).unwrap_err().contains("criterion 1 has no evidence"));
        let twice = r#"{"verdict":"approve","criteria":[{"number":1,"met":true,"evidence":"x"},{"number":1,"met":false,
            "evidence":"z"},{"number":2,"met":true,"evidence":"y"},{"number":9,"met":false,"evidence":"nobody asked"}]}"#;
        assert_eq!(read(twice).unwrap().to_string(), "- not met: a: z\n");
    }

    #[test]
    fn what_a_terminal_or_a_program_would_obey_is_shown() {
        let said = r#"{"verdict":"reject","criteria":[{"number":1,"met":false,
            "evidence":"\u001b[31mred\u0000 \u202e end\n## x"}]}"#;
        let opinion = Opinion::read("", Some(said), &["a"]).unwrap();
        assert_eq!(opinion.to_string(), "- not met: a: [31mred \\u{202e} end ## x\n");
    }

    #[test]
    fn only_the_last_block_of_the_message_is_an_opinion() {
        let block = |verdict: &str| {
            format!(
                "```ralph\n{{\"verdict\":\"{verdict}\",\"criteria\":[{{\"number\":1,\"met\":true,\"evidence\":\"x\"}}]}}\n```\n"
            )
        };
        let read = |said: &str| Opinion::read(said, None, &["a"]);
        assert!(read(&(block("approve") + &block("reject"))).unwrap().vetoes());
        let quoted: String = block("approve").lines().map(|line| format!("> {line}\n")).collect();
        assert!(read(&quoted).is_err(), "what is quoted is somebody else's");
        assert!(read(&format!("{}{quoted}", block("reject"))).unwrap().vetoes());
    }

    #[test]
    fn what_speaks_against_it_is_told() {
        let opinion = Opinion {
            remarks: vec![remark("a", true, "x"), remark("b", false, "no test of it")],
            objections: vec!["a map would do".to_owned()],
        };
        assert_eq!(opinion.to_string(), "- not met: b: no test of it\n- a map would do\n");
        let only = Opinion { remarks: Vec::new(), objections: vec!["x".to_owned()] };
        assert!(only.vetoes() && Opinion::default().to_string().is_empty());
    }
}
