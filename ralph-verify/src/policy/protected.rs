//! Protected paths.

use std::collections::{BTreeMap, BTreeSet};

use ralph_core::{
    Boundary, Change, Cx, DecisionKind, EntryKind, Gate, GateError, ItemBoundary, Ruling, Tree, async_trait,
};

use super::{
    Action, PolicyError,
    commands::{self, Guard, Which},
    defaults::DEFAULT_PROTECTED,
    globs::Globs,
    links, names,
    report::{self, Finding, Words},
};

/// How many protected files of the base are looked at for links.
const LINKS: usize = 64;

/// How many files behind a new link are looked at.
const BEHIND: usize = 10_000;

const WORDS: Words = Words {
    kind: DecisionKind::Protected,
    several: "changes of protected paths",
    instead: "Protected paths are not to be changed.",
};

/// Protected paths: a change of them always asks.
///
/// Protected are
/// - the paths that the globs name; `"default"` among them stands for [`DEFAULT_PROTECTED`]. They are read from the root,
///   `*` stays within a part of the path, `**` crosses parts;
/// - what the `Verify:`, `Setup:`, `Env-Check:` and `Auto-Gate:` commands of the item and its phase run: every word that
///   is the path of a file, there before or not, and what known runners read by themselves (a Makefile for `make`, the
///   scripts of package.json for `npm`, pytest.ini and the root's conftest.py for `pytest`, build scripts for `cargo`, …).
///   What only looks at a file (`test -f`, `grep`, `cat`) does not run it: that file may well be the work.
///
/// Content, mode, a link, a submodule, a deletion and both ends of a rename count, a folder on the way that becomes a link,
/// and what a protected link leads to. Case, Unicode normalisation and what nobody sees in a name do not matter, since some
/// file systems do not tell such names apart. The ledger's copy (`ralph-loop/`) is not asked about: a candidate has its
/// base's. What only looks like `ralph-loop` is.
///
/// # Limits
/// What a script calls in turn is not known: name it, as in the second glob here.
/// ```
/// use ralph_verify::policy::Protected;
/// let policy = Protected::new(["default", "scripts/**"])?.also(["cargo test --workspace"]);
/// # Ok::<(), ralph_verify::policy::PolicyError>(())
/// ```
#[derive(Clone, Debug)]
pub struct Protected {
    globs: Globs,
    commands: Vec<String>,
}

impl Protected {
    /// Protects what `globs` name and what the plan's commands run.
    ///
    /// # Errors
    /// A glob that does not parse, named.
    pub fn new<G: AsRef<str>>(globs: impl IntoIterator<Item = G>) -> Result<Self, PolicyError> {
        let mut all = Vec::new();
        for glob in globs {
            match glob.as_ref().trim() {
                "default" => all.extend(DEFAULT_PROTECTED.iter().map(|&glob| glob.to_owned())),
                glob => all.push(glob.to_owned()),
            }
        }
        Ok(Self { globs: Globs::new("protected", all)?, commands: Vec::new() })
    }

    /// The same, protecting also what these commands run, which are in no plan.
    #[must_use]
    pub fn also(mut self, commands: impl IntoIterator<Item = impl Into<String>>) -> Self {
        self.commands.extend(commands.into_iter().map(Into::into));
        self
    }
}

#[async_trait]
impl Gate for Protected {
    fn name(&self) -> &str {
        "protected"
    }

    async fn judge(&self, boundary: &Boundary, _cx: &Cx) -> Result<Ruling, GateError> {
        let item = match report::item_of(boundary, self.name(), DecisionKind::Protected) {
            Ok(item) => item,
            Err(ask) => return Ok(ask),
        };
        let changes: Vec<_> = item.changes.iter().filter(|change| !super::is_ledger(&change.path)).collect();
        if changes.is_empty() {
            return Ok(Ruling::Open);
        }
        let guards = commands::guards(&item, &self.commands);
        let mut look = Look { globs: &self.globs, guards, item: &item, found: BTreeSet::new(), findings: Vec::new() };
        for change in &changes {
            if look.direct(change).await? || look.behind(change).await? {
                look.found.insert(change.path.clone());
            }
        }
        look.linked(&changes).await?;
        Ok(report::rule(&look.findings, Action::Ask, WORDS))
    }
}

struct Look<'a> {
    globs: &'a Globs,
    guards: Vec<Guard>,
    item: &'a ItemBoundary,
    /// Paths that something was found about.
    found: BTreeSet<Vec<u8>>,
    findings: Vec<Finding>,
}

impl Look<'_> {
    /// Whether the path itself is protected.
    async fn direct(&mut self, change: &Change) -> Result<bool, GateError> {
        let path = names::fold(&change.path);
        if path == "ralph-loop" || path.starts_with("ralph-loop/") {
            self.report(change, "which stands where the plan's folder is");
            return Ok(true);
        }
        if let Some(glob) = self.globs.find(&path) {
            let why = format!("which is protected (`{}`)", names::show_text(glob));
            self.report(change, &why);
            return Ok(true);
        }
        let is_folder = |kind| matches!(kind, Some(EntryKind::Link | EntryKind::Submodule));
        if (is_folder(change.before) || is_folder(change.after)) && self.globs.lead_through(&path) {
            self.report(change, "where protected paths may lie");
            return Ok(true);
        }
        for guard in self.guards.iter().filter(|guard| guard.names(&path)) {
            if guard.watch.touched(change, self.item).await? {
                let why = format!("which `{}` runs or reads", guard.command);
                self.report(change, &why);
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Whether a link that is new or goes puts something in the place of a protected path: a folder with such a name in
    /// it becomes one of that name elsewhere.
    async fn behind(&mut self, change: &Change) -> Result<bool, GateError> {
        let ends = [(change.after, &self.item.tree), (change.before, &self.item.base_tree)];
        for (kind, tree) in ends {
            if kind != Some(EntryKind::Link) {
                continue;
            }
            let Some(to) = links::target(tree, &change.path).await? else { continue };
            let mut real = vec![to.clone()];
            real.extend(links::follow(tree, &to).await?);
            for folder in real {
                if let Some(name) = self.protected_in(tree.as_ref(), &change.path, &folder).await? {
                    let why = format!("which makes `{}` another file", names::show_text(&name));
                    self.report(change, &why);
                    return Ok(true);
                }
            }
        }
        Ok(false)
    }

    /// A protected name that what lies in `folder` gets through a link at `link`.
    async fn protected_in(&self, tree: &dyn Tree, link: &[u8], folder: &str) -> Result<Option<String>, GateError> {
        let files = tree.list(folder.as_bytes()).await.map_err(GateError::other)?;
        if files.len() > BEHIND {
            return Ok(Some(format!("{}/…", String::from_utf8_lossy(link))));
        }
        let link = String::from_utf8_lossy(link);
        let seen = files.iter().map(|file| {
            let rest = String::from_utf8_lossy(&file[folder.len().min(file.len())..]).into_owned();
            format!("{link}/{}", rest.trim_start_matches('/'))
        });
        let is_protected = |name: &String| {
            let name = names::fold(name.as_bytes());
            self.globs.find(&name).is_some() || self.guards.iter().any(|guard| guard.names(&name))
        };
        Ok(seen.into_iter().find(is_protected))
    }

    /// Looks for changes of what protected names of the base lead to.
    async fn linked(&mut self, changes: &[&Change]) -> Result<(), GateError> {
        let tree = &self.item.base_tree;
        let mut roots = Vec::new();
        let mut protected = Vec::new();
        for file in tree.list(b"").await.map_err(GateError::other)? {
            let path = names::fold(&file);
            let name = String::from_utf8_lossy(&file).into_owned();
            if super::is_ledger(&file) {
                continue;
            } else if path == "ralph-loop" || self.is_protected(&path) {
                protected.push(name);
            } else if self.globs.lead_through(&path) {
                // A file where a folder is looked for can only be a link.
                roots.push(name);
            }
        }
        self.on_the_way(&protected, changes);
        roots.extend(protected);
        roots.sort_by_key(|name| name.matches('/').count());
        roots.truncate(LINKS);
        roots.extend(self.guards.iter().filter_map(|guard| match &guard.what {
            Which::Path { written, .. } => Some(written.clone()),
            Which::Glob(_) => None,
        }));
        roots.sort();
        roots.dedup();
        let paths: Vec<_> = changes.iter().map(|change| (*change, names::fold(&change.path))).collect();
        for name in roots {
            let root = names::fold(name.as_bytes());
            let whole =
                root == "ralph-loop" || self.is_protected(&root) || self.guards.iter().any(|guard| guard.names(&root));
            for place in links::follow(tree, &name).await? {
                let place = names::fold(place.as_bytes());
                for (change, path) in paths.iter().filter(|_| !place.is_empty()) {
                    // What it is by the name that leads here.
                    let by = path.strip_prefix(&place).map(|rest| format!("{root}{rest}"));
                    let counts = names::inside(&place, path)
                        || names::inside(path, &place) && (whole || by.is_some_and(|by| self.is_protected(&by)));
                    if counts && self.found.insert(change.path.clone()) {
                        let why = format!("which the protected `{}` leads to", names::show_text(&name));
                        self.report(change, &why);
                    }
                }
            }
        }
        Ok(())
    }

    /// Whether a path (folded) is named by a glob: of the settings, or of what commands run.
    fn is_protected(&self, path: &str) -> bool {
        let is_glob = |guard: &&Guard| guard.watch.is_whole() && matches!(guard.what, Which::Glob(_));
        self.globs.name(path) || self.guards.iter().filter(is_glob).any(|guard| guard.names(path))
    }

    /// Looks for changes that stand, perhaps in another spelling, where a folder with something protected in it is.
    fn on_the_way(&mut self, protected: &[String], changes: &[&Change]) {
        let mut ways: BTreeMap<String, &String> = BTreeMap::new();
        for name in protected {
            let folded = names::fold(name.as_bytes());
            for folder in names::folders(&folded) {
                ways.entry(folder.to_owned()).or_insert(name);
            }
        }
        for change in changes {
            if let Some(name) = ways.get(&names::fold(&change.path))
                && self.found.insert(change.path.clone())
            {
                let why = format!("which stands where the folder of the protected `{}` is", names::show_text(name));
                self.report(change, &why);
            }
        }
    }

    fn report(&mut self, change: &Change, why: &str) {
        let (path, verb) = (names::show(&change.path), super::verb(change));
        self.findings.push(Finding {
            sentence: format!("`{path}`, {why}, would be {verb}"),
            line: format!("{path} ({verb}), {why}"),
        });
    }
}
