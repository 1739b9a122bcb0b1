//! Changes of paths that somebody named.

use ralph_core::{Boundary, Cx, DecisionKind, Gate, GateError, Ruling, async_trait};

use super::{
    Action, PolicyError,
    globs::Globs,
    names,
    report::{self, Finding, Words},
};

/// What concerns security, unless somebody says otherwise.
pub const DEFAULT_SECURITY: &[&str] = &["**/auth/**", "**/*secret*", "**/crypto/**"];

/// What changes a database's schema, unless somebody says otherwise.
pub const DEFAULT_DATABASE: &[&str] = &["**/migrations/**", "**/schema.*"];

/// Paths whose change is for a person to decide: security, database schema, public API.
///
/// Globs are read from the root; `*` stays within a part of the path, `**` crosses parts, case does not count, and a glob
/// that names a folder names all that is in it. Every change counts: content, mode, a link, a deletion, either end of a
/// rename.
///
/// ```
/// use ralph_core::DecisionKind;
/// use ralph_verify::policy::{Action, Paths};
///
/// let api = Paths::new(DecisionKind::PublicApi, ["api/openapi.yaml", "src/lib.rs"])?.action(Action::Refuse);
/// let wrong = Paths::new(DecisionKind::PublicApi, ["src/{a"]).unwrap_err();
/// assert!(wrong.to_string().contains("`src/{a`"));
/// # Ok::<(), ralph_verify::policy::PolicyError>(())
/// ```
#[derive(Clone, Debug)]
pub struct Paths {
    kind: DecisionKind,
    globs: Globs,
    action: Action,
}

impl Paths {
    /// Changes below `globs` are decisions of this kind.
    ///
    /// # Errors
    /// A glob that does not parse, named.
    pub fn new<G: AsRef<str>>(kind: DecisionKind, globs: impl IntoIterator<Item = G>) -> Result<Self, PolicyError> {
        Ok(Self { kind, globs: Globs::new(kind.name(), globs)?, action: Action::Ask })
    }

    /// The same, doing this where it finds something.
    #[must_use]
    pub fn action(mut self, action: Action) -> Self {
        self.action = action;
        self
    }
}

#[async_trait]
impl Gate for Paths {
    fn name(&self) -> &str {
        self.kind.name()
    }

    async fn judge(&self, boundary: &Boundary, _cx: &Cx) -> Result<Ruling, GateError> {
        let item = match report::item_of(boundary, self.kind.name(), self.kind) {
            Ok(item) => item,
            Err(ask) => return Ok(ask),
        };
        if self.globs.is_empty() {
            return Ok(Ruling::Open);
        }
        let what = concern(self.kind);
        let find = |change: &ralph_core::Change| {
            let glob = self.globs.find(&names::fold(&change.path))?;
            let (path, verb) = (names::show(&change.path), super::verb(change));
            let glob = names::show_text(glob);
            Some(Finding {
                sentence: format!("`{path}` would be {verb}, which is {what} (`{glob}`)"),
                line: format!("{path} ({verb}; `{glob}`)"),
            })
        };
        let changes = item.changes.iter().filter(|change| !super::is_ledger(&change.path));
        let findings: Vec<_> = changes.filter_map(find).collect();
        let words = Words {
            kind: self.kind,
            several: several(self.kind),
            instead: "Such paths are not to be changed: undo that, and do the item without it.",
        };
        Ok(report::rule(&findings, self.action, words))
    }
}

fn concern(kind: DecisionKind) -> &'static str {
    match kind {
        DecisionKind::Security => "a matter of security",
        DecisionKind::Database => "a matter of the database schema",
        DecisionKind::PublicApi => "a matter of the public API",
        _ => "for a person to decide",
    }
}

fn several(kind: DecisionKind) -> &'static str {
    match kind {
        DecisionKind::Security => "changes that concern security",
        DecisionKind::Database => "changes that concern the database schema",
        DecisionKind::PublicApi => "changes that concern the public API",
        _ => "changes that are for a person to decide",
    }
}
