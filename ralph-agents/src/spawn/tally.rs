//! What is spent, as far as the two files of a budget show it: the larger number counts.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::files::Found;

const VERSION: u32 = 1;

/// How many agents may be started.
///
/// ```
/// use ralph_agents::spawn::Limits;
/// assert_eq!(Limits::default(), Limits { total: 12, children: Some(5), depth: None });
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Limits {
    /// In all, over all levels below the root.
    pub total: u32,
    /// By one agent, the root included.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub children: Option<u32>,
    /// How many levels below the root there may be; with 1 only the root may start any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub depth: Option<u32>,
}

impl Default for Limits {
    fn default() -> Self {
        Self { total: 12, children: Some(5), depth: None }
    }
}

/// One agent that may be started.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Grant {
    /// The how-manieth it is: whoever loses lines of the grants still finds how many there were.
    pub(super) n: u32,
    pub(super) id: String,
    pub(super) parent: String,
    pub(super) depth: u32,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) request: Option<String>,
}

/// The first line of the grants.
#[derive(Debug, Serialize, Deserialize)]
struct Header {
    limits: Limits,
}

/// The state file.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct State {
    version: u32,
    limits: Limits,
    spent: u32,
    grants: Vec<Grant>,
}

/// What the grants file says.
#[derive(Debug, Default)]
struct Grants {
    limits: Option<Limits>,
    grants: Vec<Grant>,
    /// How many lines there are besides the first one, whether they can be read or not.
    lines: u32,
    /// It does not end in a newline.
    torn: bool,
}

/// What both files say, put together.
#[derive(Debug)]
pub(super) struct Tally {
    pub(super) limits: Limits,
    pub(super) spent: u32,
    pub(super) grants: Vec<Grant>,
    /// How many grants the files are known to have lost. Each could be anybody's.
    pub(super) lost: u32,
    /// How many lines of grants there are.
    pub(super) lines: u32,
    /// Whether a line of its own must be begun.
    pub(super) torn: bool,
    /// What was not as it should be, for the log.
    pub(super) trouble: Option<String>,
}

impl Tally {
    /// A budget of which nothing is spent.
    pub(super) fn new(limits: Limits) -> Self {
        Self { limits, spent: 0, grants: Vec::new(), lost: 0, lines: 0, torn: false, trouble: None }
    }

    /// What `state` and `grants` say, and how many the caller knows of besides.
    pub(super) fn of(state: &Found, grants: &Found, known: Option<u32>) -> Self {
        let read = Grants::of(grants);
        let shown = read.spent();
        let least = shown.max(known.unwrap_or(0));
        let mut tally = Self {
            limits: read.limits.unwrap_or_default(),
            spent: least,
            lost: shown.saturating_sub(length(&read.grants)),
            grants: read.grants,
            lines: read.lines,
            torn: read.torn,
            trouble: None,
        };
        let state = match State::of(state) {
            Ok(state) => state,
            Err(why) => {
                // Only the first line of the grants is what a cut leaves: that is no count.
                let from = if known.is_some() || shown > 0 {
                    format!("rebuilt from what else is known: {least} of {} are spent", tally.limits.total)
                } else {
                    tally.spent = tally.limits.total;
                    "nothing else tells what is spent, so nothing is left to spawn".to_owned()
                };
                tally.trouble = Some(format!("the state {why}; {from}"));
                return tally;
            }
        };
        let stated = state.spent.max(count(&state.grants));
        if stated < least {
            tally.trouble =
                Some(format!("the state is older than the grants: it says that {stated} are spent, they say {least}"));
        }
        tally.limits = state.limits;
        tally.spent = stated.max(least);
        for grant in state.grants {
            if !tally.grants.contains(&grant) {
                tally.grants.push(grant);
            }
        }
        tally.lost = stated.max(shown).saturating_sub(length(&tally.grants));
        tally
    }

    /// The state file's content.
    pub(super) fn state(&self) -> serde_json::Result<String> {
        let (limits, spent, grants) = (self.limits, self.spent, self.grants.clone());
        let mut text = serde_json::to_string(&State { version: VERSION, limits, spent, grants })?;
        text.push('\n');
        Ok(text)
    }

    /// The first line of the grants.
    pub(super) fn header(&self) -> serde_json::Result<String> {
        Ok(serde_json::to_string(&Header { limits: self.limits })? + "\n")
    }
}

/// At which line of the grants, counted from 1, this one stands.
pub(super) fn line_of(grants: &Found, line: &str) -> Option<u32> {
    let Found::Text(text) = grants else { return None };
    let at = body(text).0.position(|found| found == line.trim_end())?;
    u32::try_from(at + 1).ok()
}

/// The lines that are grants, and what the first line says.
fn body(text: &str) -> (impl Iterator<Item = &str>, Option<Header>) {
    let mut lines = text.lines().filter(|line| !line.trim().is_empty()).peekable();
    let header = lines.peek().and_then(|line| serde_json::from_str(line).ok());
    (lines.skip(usize::from(header.is_some())), header)
}

impl Grants {
    fn of(found: &Found) -> Self {
        let text = match found {
            Found::Text(text) => text,
            Found::Missing => return Self::default(),
            // How many it holds nobody knows, so that it is worth as much as a missing one.
            Found::Unreadable(_) => return Self::default(),
        };
        let (lines, header) = body(text);
        let mut read = Self { limits: header.map(|header| header.limits), ..Self::default() };
        for line in lines {
            read.lines = read.lines.saturating_add(1);
            read.grants.extend(serde_json::from_str::<Grant>(line));
        }
        read.torn = !text.is_empty() && !text.ends_with('\n');
        read
    }

    fn spent(&self) -> u32 {
        self.lines.max(count(&self.grants))
    }
}

/// How many there must have been for these to be there.
fn count(grants: &[Grant]) -> u32 {
    let most = grants.iter().map(|grant| grant.n).max().unwrap_or(0);
    most.max(length(grants))
}

fn length(grants: &[Grant]) -> u32 {
    u32::try_from(grants.len()).unwrap_or(u32::MAX)
}

impl State {
    /// What the file says, or what is wrong with it.
    fn of(found: &Found) -> Result<Self, String> {
        let text = match found {
            Found::Text(text) => text,
            Found::Missing => return Err("is missing".to_owned()),
            Found::Unreadable(why) => return Err(format!("cannot be read ({why})")),
        };
        let state: Self = serde_json::from_str(text).map_err(|error| format!("is damaged ({error})"))?;
        if state.version == VERSION { Ok(state) } else { Err(format!("is of version {}", state.version)) }
    }
}

impl fmt::Display for Limits {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} agents in all", self.total)?;
        if let Some(children) = self.children {
            write!(f, ", {children} by each")?;
        }
        if let Some(depth) = self.depth {
            write!(f, ", {depth} levels deep")?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn grant(n: u32) -> Grant {
        Grant { n, id: n.to_string(), parent: "root".to_owned(), depth: 1, request: None }
    }

    fn files(spent: u32) -> (String, String) {
        let mut tally = Tally::new(Limits::default());
        let mut grants = tally.header().unwrap();
        for n in 1..=spent {
            tally.grants.push(grant(n));
            grants.push_str(&format!("{}\n", serde_json::to_string(&grant(n)).unwrap()));
        }
        tally.spent = spent;
        (tally.state().unwrap(), grants)
    }

    fn text(text: &str) -> Found {
        Found::Text(text.to_owned())
    }

    #[test]
    fn the_larger_number_counts() {
        let ((old, few), (new, many)) = (files(3), files(7));
        for (state, grants, trouble) in
            [(&new, &many, false), (&old, &many, true), (&new, &few, false), (&new, &String::new(), false)]
        {
            let tally = Tally::of(&text(state), &text(grants), None);
            assert_eq!((tally.spent, tally.trouble.is_some(), tally.grants.len()), (7, trouble, 7), "{grants}");
        }
        assert_eq!(Tally::of(&text(&old), &text(&few), Some(9)).spent, 9);
    }

    #[test]
    fn without_a_state_the_grants_or_the_caller_tell_or_nothing_is_left() {
        let (_, many) = files(7);
        let header = many.lines().next().unwrap().to_owned() + "\n";
        let last = many.lines().last().unwrap().to_owned() + "\n";
        for (state, grants, known, spent) in [
            (Found::Missing, text(&many), None, 7),
            (text("{\"spent\":0}"), text(&many), None, 7),
            (text(""), text(&many[..many.len() - 20]), None, 7),
            (Found::Missing, text(&last), None, 7),
            (Found::Missing, text("garbage\n\u{fffd}\n"), None, 2),
            (Found::Missing, text(&header), None, 12),
            (Found::Missing, Found::Missing, None, 12),
            (Found::Missing, text(""), None, 12),
            (Found::Unreadable(String::new()), Found::Unreadable(String::new()), None, 12),
            (Found::Missing, text(&header), Some(4), 4),
            (Found::Missing, text(&many), Some(4), 7),
        ] {
            let tally = Tally::of(&state, &grants, known);
            assert_eq!(tally.spent, spent, "{state:?} {grants:?}");
            assert!(tally.trouble.is_some());
        }
    }

    #[test]
    fn limits_come_from_the_state_then_from_the_grants() {
        let mut tally = Tally::new(Limits { total: 3, children: None, depth: Some(2) });
        let (header, line) = (tally.header().unwrap(), serde_json::to_string(&grant(1)).unwrap());
        assert_eq!(Tally::of(&Found::Missing, &text(&format!("{header}{line}\n")), None).limits, tally.limits);
        tally.limits.total = 4;
        assert_eq!(Tally::of(&text(&tally.state().unwrap()), &text(&header), None).limits.total, 4);
        assert_eq!(Tally::of(&Found::Missing, &text(&line), None).limits, Limits::default());
    }

    proptest! {
        /// Whatever one file says, the other one still counts; and cutting both never gives more than cutting neither
        /// where the end of the grants is still there.
        #[test]
        fn one_damaged_file_opens_nothing(spent in 0_u32..=12, damaged in "\\PC{0,40}", cut in 0.0..1.0_f64) {
            let (state, grants) = files(spent);
            prop_assert!(Tally::of(&text(&state), &text(&damaged), None).spent >= spent);
            if serde_json::from_str::<State>(&damaged).is_err() {
                prop_assert!(Tally::of(&text(&damaged), &text(&grants), None).spent >= spent);
            }
            let at = (state.len() as f64 * cut) as usize;
            prop_assert!(Tally::of(&text(&state[..at]), &text(&grants), None).spent >= spent);
        }
    }
}
