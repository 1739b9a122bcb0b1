//! New dependencies.

use std::{
    collections::{BTreeMap, BTreeSet, btree_map::Entry},
    sync::Arc,
};

use ralph_core::{
    Boundary, Change, Cx, DecisionKind, EntryKind, Gate, GateError, ItemBoundary, Ruling, Tree, async_trait,
};

use super::{
    Action,
    manifests::{Dependency, Ecosystem, Format, Manifest, Place},
    names,
    report::{self, Finding, Words},
};

/// How large a manifest may be.
const BYTES: usize = 1 << 20;

/// How many manifests of the base are read to find out whether a name is known there.
const MANIFESTS: usize = 300;

const WORDS: Words = Words {
    kind: DecisionKind::Dependency,
    several: "new dependencies",
    instead: "New dependencies are refused here: take them out again, and do the item without them.",
};

/// A new dependency is for a person to decide.
///
/// New is what a manifest of the work needs and no manifest of the same ecosystem in the base does: neither a version, nor
/// another section, nor a further package of a workspace that uses what another one uses already, nor a lock file, nor a
/// path inside the repository makes something new. A known name from another place (a git repository, another registry, a
/// path outside) does, and so do a new place that packages come from and a submodule.
///
/// Read are, anywhere in the tree: Cargo.toml, package.json, pyproject.toml, requirements.txt and what it includes, go.mod
/// and go.work, Gemfile and *.gemspec, composer.json, pom.xml, Gradle scripts and version catalogs. What Ralph cannot read
/// (broken, too large, a link, names that only running it would tell) it asks about, whenever it changes.
///
/// # Limits
/// - Manifests of other kinds are not read; name them to [`Protected`](super::Protected).
/// - A sibling of a workspace that is named by a version and not by a path (npm, Maven, Composer) is asked about the first
///   time: anybody may publish that name.
/// - A manifest that is a link in the base already is not followed to the file that it leads to.
/// - Constants of other files (`buildSrc`, a parent pom's properties) are compared by their names.
///
/// ```
/// use ralph_verify::policy::{Action, Dependencies};
/// let policy = Dependencies::new().action(Action::Refuse);
/// ```
#[derive(Clone, Debug, Default)]
pub struct Dependencies {
    action: Action,
}

impl Dependencies {
    /// Asks about each new dependency.
    pub fn new() -> Self {
        Self::default()
    }

    /// The same, doing this where it finds something.
    #[must_use]
    pub fn action(mut self, action: Action) -> Self {
        self.action = action;
        self
    }
}

#[async_trait]
impl Gate for Dependencies {
    fn name(&self) -> &str {
        "dependencies"
    }

    async fn judge(&self, boundary: &Boundary, _cx: &Cx) -> Result<Ruling, GateError> {
        let item = match report::item_of(boundary, self.name(), DecisionKind::Dependency) {
            Ok(item) => item,
            Err(ask) => return Ok(ask),
        };
        let mut look = Look { item: &item, changed: Vec::new(), seen: BTreeSet::new(), findings: Vec::new() };
        look.changes().await?;
        look.compare().await?;
        Ok(report::rule(&look.findings, self.action, WORDS))
    }
}

/// A manifest of the work that differs from the base's.
struct Changed {
    path: Vec<u8>,
    ecosystem: Ecosystem,
    manifest: Manifest,
    /// What the same manifest needed before.
    before: BTreeSet<Dependency>,
}

struct Look<'a> {
    item: &'a ItemBoundary,
    changed: Vec<Changed>,
    /// Paths that were looked at.
    seen: BTreeSet<Vec<u8>>,
    findings: Vec<Finding>,
}

impl Look<'_> {
    /// What the work's lists of requirements include. Where neither the base nor the work's own changes have such a
    /// list, the work has none, and its files need not be listed.
    async fn included(&self) -> Result<BTreeSet<Vec<u8>>, GateError> {
        let new = self.item.changes.iter().any(|change| is_list(&change.path));
        let base = self.item.base_tree.list(b"").await.map_err(GateError::other)?;
        if !new && !base.iter().any(|path| is_list(path)) {
            return Ok(BTreeSet::new());
        }
        included(&self.item.tree).await
    }

    /// Reads every manifest that the work changes.
    async fn changes(&mut self) -> Result<(), GateError> {
        let mut lists = Vec::new();
        for change in self.item.changes.iter().filter(|change| !super::is_ledger(&change.path)) {
            if change.after == Some(EntryKind::Submodule) && change.before != change.after {
                let path = names::show(&change.path);
                self.findings.push(Finding {
                    sentence: format!("The submodule `{path}` is a new dependency"),
                    line: format!("the submodule `{path}`"),
                });
                continue;
            }
            let folded = names::fold(&change.path);
            match Format::of(&folded) {
                Some(format) => self.change(change, format).await?,
                None if folded.ends_with(".txt") || folded.ends_with(".in") => lists.push(change),
                None => {}
            }
        }
        if !lists.is_empty() {
            let included = self.included().await?;
            for change in lists.into_iter().filter(|change| included.contains(&change.path)) {
                self.change(change, Format::Requirements).await?;
            }
        }
        Ok(())
    }

    async fn change(&mut self, change: &Change, format: Format) -> Result<(), GateError> {
        match change.after {
            None => Ok(()),
            Some(EntryKind::Link) => {
                self.unclear(&change.path, "it is a symbolic link");
                Ok(())
            }
            Some(EntryKind::Submodule) => {
                self.unclear(&change.path, "it is a submodule");
                Ok(())
            }
            Some(EntryKind::File | EntryKind::Executable) => self.file(&change.path, format).await,
        }
    }

    /// Reads a manifest of the work, and those that it includes and that have no name of a manifest.
    async fn file(&mut self, path: &[u8], format: Format) -> Result<(), GateError> {
        let mut next = vec![(path.to_vec(), false)];
        while let Some((path, included)) = next.pop() {
            if !self.seen.insert(path.clone()) {
                continue;
            }
            if self.seen.len() > MANIFESTS {
                self.unclear(&path, "too many manifests change at once");
                continue;
            }
            let (content, base) = (read(&self.item.tree, &path).await?, read(&self.item.base_tree, &path).await?);
            let place = Place::new(&path);
            let manifest = match content {
                content if content == base => continue,
                // What is included and not there brings nothing.
                None if included => continue,
                None => Err("it cannot be read".to_owned()),
                Some(content) if content.len() > BYTES => Err("it is larger than 1 MiB".to_owned()),
                Some(content) => format.parse(&content, &place),
            };
            let manifest = match manifest {
                Ok(manifest) => manifest,
                Err(why) => {
                    self.unclear(&path, &why);
                    continue;
                }
            };
            if let Some(what) = manifest.computed.first() {
                self.unclear(&path, &format!("it computes names ({what})"));
            }
            let includes = manifest.includes.iter().map(String::as_bytes).filter(|include| is_unnamed(include));
            next.extend(includes.map(|include| (include.to_vec(), true)));
            let before = base.and_then(|base| format.parse(&base, &place).ok());
            let before = before.map(|manifest| manifest.needs.into_keys().collect()).unwrap_or_default();
            self.changed.push(Changed { path, ecosystem: format.ecosystem(), manifest, before });
        }
        Ok(())
    }

    /// Looks for what the base does not know.
    async fn compare(&mut self) -> Result<(), GateError> {
        let mut known: BTreeMap<Ecosystem, BTreeSet<Dependency>> = BTreeMap::new();
        for index in 0..self.changed.len() {
            let changed = &self.changed[index];
            let fresh: Vec<_> =
                changed.manifest.needs.iter().filter(|(dependency, _)| !changed.before.contains(dependency)).collect();
            if fresh.is_empty() {
                continue;
            }
            let ecosystem = changed.ecosystem;
            let known = match known.entry(ecosystem) {
                Entry::Occupied(known) => known.into_mut(),
                Entry::Vacant(unknown) => {
                    let mut all = self.base(ecosystem).await?;
                    // Whatever these stand for is compared where they are defined.
                    let same = self.changed.iter().filter(|changed| changed.ecosystem == ecosystem);
                    all.extend(same.flat_map(|changed| changed.manifest.offers.iter().cloned()));
                    unknown.insert(all)
                }
            };
            let manifest = names::show(&changed.path);
            for (dependency, name) in fresh {
                if known.contains(dependency) {
                    continue;
                }
                let from = dependency.origin().map(|from| format!(", from {}", names::show_text(from)));
                let (name, from) = (names::show_text(name), from.unwrap_or_default());
                self.findings.push(Finding {
                    sentence: format!("`{name}`{from}{} is a new dependency in {manifest}", comma(&from)),
                    line: format!("`{name}` in {manifest}{from}"),
                });
            }
        }
        Ok(())
    }

    /// Everything that manifests of this ecosystem need in the base.
    async fn base(&self, ecosystem: Ecosystem) -> Result<BTreeSet<Dependency>, GateError> {
        let tree = &self.item.base_tree;
        let (mut known, mut seen) = (BTreeSet::new(), BTreeSet::new());
        let mut next = manifests(tree, |format| format.ecosystem() == ecosystem).await?;
        while let Some((path, format)) = next.pop() {
            let Some(content) = read(tree, &path).await? else { continue };
            // One that cannot be read makes nothing known.
            let Ok(manifest) = format.parse(&content, &Place::new(&path)) else { continue };
            for include in manifest.includes.into_iter().map(String::into_bytes) {
                if is_unnamed(&include) && seen.len() < MANIFESTS && seen.insert(include.clone()) {
                    next.push((include, format));
                }
            }
            known.extend(manifest.needs.into_keys());
            known.extend(manifest.offers);
        }
        Ok(known)
    }

    fn unclear(&mut self, path: &[u8], why: &str) {
        // The reason stands in no code span, and may hold the agent's words.
        let (path, why) = (names::show(path), names::show_text(&why.replace('`', "'")));
        self.findings.push(Finding {
            sentence: format!("{path} changed, and what it depends on cannot be told: {why}"),
            line: format!("unknown ones in {path}: {why}"),
        });
    }
}

fn comma(from: &str) -> &'static str {
    if from.is_empty() { "" } else { "," }
}

/// Whether a file that is included would not be taken for a manifest by its name.
fn is_unnamed(path: &[u8]) -> bool {
    Format::of(&names::fold(path)).is_none()
}

async fn read(tree: &Arc<dyn Tree>, path: &[u8]) -> Result<Option<Vec<u8>>, GateError> {
    tree.read(path, BYTES + 1).await.map_err(GateError::other)
}

/// Whether a path is a list of requirements by its name.
fn is_list(path: &[u8]) -> bool {
    Format::of(&names::fold(path)) == Some(Format::Requirements)
}

/// The manifests in a tree that are not of somebody else's code.
async fn manifests(
    tree: &Arc<dyn Tree>,
    wanted: impl Fn(Format) -> bool + Send,
) -> Result<Vec<(Vec<u8>, Format)>, GateError> {
    let paths = tree.list(b"").await.map_err(GateError::other)?;
    let found = paths.into_iter().filter_map(|path| {
        let folded = names::fold(&path);
        let foreign = folded.split('/').any(|part| part == "node_modules" || part == "vendor");
        let format = Format::of(&folded).filter(|format| !foreign && wanted(*format))?;
        Some((path, format))
    });
    let mut found: Vec<_> = found.collect();
    // Where there are too many, the outermost say most.
    found.sort_by_key(|(path, _)| path.iter().filter(|byte| **byte == b'/').count());
    found.truncate(MANIFESTS);
    Ok(found)
}

/// What the lists of requirements include, whatever its name.
async fn included(tree: &Arc<dyn Tree>) -> Result<BTreeSet<Vec<u8>>, GateError> {
    let mut next = manifests(tree, |format| format == Format::Requirements).await?;
    let mut included = BTreeSet::new();
    while let Some((path, format)) = next.pop() {
        let Some(content) = read(tree, &path).await? else { continue };
        let Ok(manifest) = format.parse(&content, &Place::new(&path)) else { continue };
        for include in manifest.includes.into_iter().map(String::into_bytes) {
            if is_unnamed(&include) && included.len() < MANIFESTS && included.insert(include.clone()) {
                next.push((include, format));
            }
        }
    }
    Ok(included)
}
