//! The gate that the checks are, and which of them are on.

use std::{collections::BTreeSet, sync::Arc};

use ralph_core::{Boundary, Cx, DecisionKind, Gate, GateError, Item, Ruling, async_trait};

use super::{Check, Found, shipped};
use crate::policy::{item_of, show, show_text};

/// How many findings are shown.
const SHOWN: usize = 20;

/// What is written for all that are on unless somebody says otherwise.
const DEFAULT: &str = "default";

/// Names that mean something elsewhere: as a check to be turned on or off here, or as a slip of the pen.
const ELSEWHERE: &[(&str, Option<&str>)] = &[
    // The verifier's: how many tests ran. Turned off for an item like a check.
    ("test-evidence", None),
    // The run's: an item's own verifier must fail before there is any work.
    (Item::REQUIRE_RED, None),
    ("protected", Some("`protected` is a policy: see `policy.protected`")),
];

/// A name that no check has.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("no check is named `{name}`{hint}")]
#[non_exhaustive]
pub struct UnknownCheck {
    /// The name, as it was written.
    pub name: String,
    /// What to write instead.
    pub hint: String,
}

/// A check, for showing.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Listed {
    /// Its name.
    pub name: String,
    /// What it finds.
    pub about: String,
    /// Whether it is on where an item says nothing.
    pub on: bool,
}

/// The gate at an item: open where no check that is on finds anything.
///
/// Which are on is a list. `default` are those that ship and are not opt-in; a name adds one, with or without `+`, and
/// `-name` takes one out. A list that only adds and takes out starts from `default`; an empty one turns all off. An item's
/// own `Checks:` changes what the settings say in the same way.
///
/// ```
/// use ralph_verify::checks::Checks;
///
/// let checks = Checks::new(["default", "-secrets"], [])?;
/// let on: Vec<_> = checks.list().into_iter().filter(|check| check.on).map(|check| check.name).collect();
/// assert_eq!(on, ["trivial-tests", "skipped-tests", "deleted-tests", "weakened-tests"]);
///
/// let error = Checks::new(["weakend-tests"], []).unwrap_err();
/// assert_eq!(error.to_string(), "no check is named `weakend-tests`: did you mean `weakened-tests`?");
/// # Ok::<(), ralph_verify::checks::UnknownCheck>(())
/// ```
#[derive(Clone, Debug)]
pub struct Checks {
    all: Arc<[Box<dyn Check>]>,
    on: BTreeSet<String>,
}

impl Checks {
    /// Those of [`shipped`] that `settings` turn on; `values` are the operator's secrets.
    ///
    /// # Errors
    /// A name that no check has.
    pub fn new<S: AsRef<str>>(
        settings: impl IntoIterator<Item = S>,
        values: impl IntoIterator<Item = (String, String)>,
    ) -> Result<Self, UnknownCheck> {
        Self::of(shipped(values), settings)
    }

    /// Those of `all` that `settings` turn on.
    ///
    /// # Errors
    /// A name that none of them has.
    pub fn of<S: AsRef<str>>(
        all: Vec<Box<dyn Check>>,
        settings: impl IntoIterator<Item = S>,
    ) -> Result<Self, UnknownCheck> {
        let settings: Vec<String> = settings.into_iter().map(|entry| entry.as_ref().trim().to_owned()).collect();
        let mut checks = Self { all: all.into(), on: BTreeSet::new() };
        let changes = |entry: &String| entry.starts_with(['-', '+']);
        let from =
            if !settings.is_empty() && settings.iter().all(changes) { checks.default() } else { BTreeSet::new() };
        checks.on = checks.changed(from, &settings)?;
        Ok(checks)
    }

    /// Says whether an item's `Checks:` name what there is. For a plan, before anything runs.
    ///
    /// # Errors
    /// A name that no check has.
    pub fn validate(&self, item: &[String]) -> Result<(), UnknownCheck> {
        self.changed(self.on.clone(), item).map(drop)
    }

    /// Every check there is, with whether it is on where an item says nothing.
    pub fn list(&self) -> Vec<Listed> {
        let listed = |check: &dyn Check| Listed {
            name: check.name().to_owned(),
            about: check.about().to_owned(),
            on: self.on.contains(check.name()),
        };
        self.all.iter().map(|check| listed(&**check)).collect()
    }

    fn default(&self) -> BTreeSet<String> {
        self.all.iter().filter(|check| check.by_default()).map(|check| check.name().to_owned()).collect()
    }

    /// `on` with what `entries` add and take out, in their order.
    fn changed(&self, mut on: BTreeSet<String>, entries: &[String]) -> Result<BTreeSet<String>, UnknownCheck> {
        for entry in entries {
            let entry = entry.trim();
            let (out, name) = match entry.strip_prefix('-') {
                Some(name) => (true, name.trim()),
                None => (false, entry.strip_prefix('+').unwrap_or(entry).trim()),
            };
            let named = match name {
                DEFAULT => self.default(),
                name if self.all.iter().any(|check| check.name() == name) => BTreeSet::from([name.to_owned()]),
                name => match ELSEWHERE.iter().find(|(known, _)| *known == name) {
                    Some((_, None)) => BTreeSet::new(),
                    Some((_, Some(why))) => {
                        return Err(UnknownCheck { name: name.to_owned(), hint: format!(": {why}") });
                    }
                    None => return Err(self.unknown(name)),
                },
            };
            if out {
                on.retain(|name| !named.contains(name));
            } else {
                on.extend(named);
            }
        }
        Ok(on)
    }

    fn unknown(&self, wrong: &str) -> UnknownCheck {
        let elsewhere = ELSEWHERE.iter().filter(|(_, why)| why.is_none()).map(|(name, _)| *name);
        let known: Vec<&str> = self.all.iter().map(|check| check.name()).chain(elsewhere).chain([DEFAULT]).collect();
        let likeness = |name: &str| strsim::jaro_winkler(name, wrong);
        let nearest = known.iter().max_by(|a, b| likeness(a).total_cmp(&likeness(b)));
        let hint = match nearest {
            Some(nearest) if likeness(nearest) > 0.8 => format!(": did you mean `{nearest}`?"),
            _ => format!("; there are {}", known.join(", ")),
        };
        UnknownCheck { name: show_text(wrong), hint }
    }
}

#[async_trait]
impl Gate for Checks {
    fn name(&self) -> &str {
        "checks"
    }

    async fn judge(&self, boundary: &Boundary, _cx: &Cx) -> Result<Ruling, GateError> {
        let at = match item_of(boundary, "checks", DecisionKind::Protected) {
            Ok(at) => at,
            Err(ask) => return Ok(ask),
        };
        // The plan may have been edited since it was validated.
        let on = match self.changed(self.on.clone(), &at.item.checks) {
            Ok(on) => on,
            Err(unknown) => return Err(GateError::Broken(format!("item {}: {unknown}", at.item.id))),
        };
        let mut all: Vec<(&dyn Check, Vec<Found>)> = Vec::new();
        for check in self.all.iter().filter(|check| on.contains(check.name())) {
            let found = check.look(&at).await.map_err(GateError::Other)?;
            if !found.is_empty() {
                all.push((&**check, found));
            }
        }
        Ok(rule(&all))
    }
}

/// The first paragraph is the reason, the findings are shown as output.
fn rule(all: &[(&dyn Check, Vec<Found>)]) -> Ruling {
    let count: usize = all.iter().map(|(_, found)| found.len()).sum();
    if count == 0 {
        return Ruling::Open;
    }
    let names: Vec<String> = all.iter().map(|(check, found)| format!("{} ({})", check.name(), found.len())).collect();
    let mut text = format!("The checks found what no honest change needs: {}.", names.join(", "));
    for (check, _) in all.iter().filter(|(check, _)| !check.instead().is_empty()) {
        text.push(' ');
        text.push_str(check.instead());
    }
    text.push('\n');
    let mut left = SHOWN;
    for (check, found) in all {
        for one in found.iter().take(left) {
            text.push_str(&format!("\n{}: {}", check.name(), line(one)));
        }
        left = left.saturating_sub(found.len());
    }
    if count > SHOWN {
        text.push_str(&format!("\nand {} more", count - SHOWN));
    }
    Ruling::Closed(text)
}

fn line(found: &Found) -> String {
    let mut line = show(&found.path);
    if let Some(at) = found.line {
        line.push_str(&format!(":{at}"));
    }
    line.push_str(&format!(": {}", show_text(&found.text)));
    if let Some(quote) = &found.quote {
        line.push_str(&format!(": `{}`", show_text(quote)));
    }
    line
}
