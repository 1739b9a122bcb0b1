//! What the manifests of the known ecosystems depend on. Parsed, and never guessed: what cannot be read is an error with
//! a reason.

mod cargo;
mod catalog;
mod code;
mod composer;
mod go;
mod gradle;
mod maven;
mod npm;
mod place;
mod pyproject;
mod python;
mod requirements;
mod ruby;
mod tables;

use std::collections::{BTreeMap, BTreeSet};

pub(super) use self::place::Place;

/// Manifests that name packages of the same world.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) enum Ecosystem {
    Cargo,
    Npm,
    Python,
    Go,
    Ruby,
    Composer,
    Jvm,
}

/// How a manifest is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) enum Format {
    Cargo,
    Npm,
    Pyproject,
    Requirements,
    GoMod,
    Gemfile,
    Composer,
    Maven,
    Gradle,
    Catalog,
}

/// One dependency, as far as it matters whether it is new: a version does not.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct Dependency {
    /// Its name, in the form in which the ecosystem compares names.
    key: String,
    /// Where it comes from, unless from where all come from. A known name from a new place is new.
    origin: Option<String>,
}

/// What a manifest says.
#[derive(Debug, Default)]
pub(super) struct Manifest {
    /// What it needs from outside the repository, with the name as it is written.
    pub(super) needs: BTreeMap<Dependency, String>,
    /// What it gives names to for other manifests: whoever needs these needs nothing that is not in `needs` here.
    pub(super) offers: BTreeSet<Dependency>,
    /// Manifests of the same format that it takes in; paths from the root.
    pub(super) includes: Vec<String>,
    /// Names that only running it would tell.
    pub(super) computed: Vec<String>,
}

/// Where packages come from if nobody says otherwise.
const COMMON: &[&str] = &[
    "rubygems.org",
    "github.com",
    "pypi.org/simple",
    "repo.packagist.org",
    "packagist.org",
    "repo.maven.apache.org/maven2",
    "repo1.maven.org/maven2",
    "plugins.gradle.org/m2",
];

impl Dependency {
    fn new(key: impl Into<String>) -> Self {
        Self { key: key.into(), origin: None }
    }
}

impl Manifest {
    fn need(&mut self, key: impl Into<String>, name: &str, origin: Option<String>) {
        self.needs.insert(Dependency { key: key.into(), origin }, name.to_owned());
    }

    /// A place where packages come from. A new one is as much as a new dependency, unless it is where all come from.
    fn need_source(&mut self, what: &str, url: &str) {
        let origin = place::origin(url);
        if !COMMON.contains(&origin.as_str()) {
            let shown = format!("{what} {origin}");
            self.need(shown.clone(), &shown, None);
        }
    }
}

impl Dependency {
    /// For people: the name, and where it comes from.
    pub(super) fn origin(&self) -> Option<&str> {
        self.origin.as_deref()
    }
}

impl Format {
    /// The format of the file at `path` (folded), where it is a manifest.
    pub(super) fn of(path: &str) -> Option<Self> {
        let (folder, name) = path.rsplit_once('/').unwrap_or(("", path));
        let is_list = |name: &str| name.ends_with(".txt") || name.ends_with(".in");
        Some(match name {
            "cargo.toml" => Self::Cargo,
            "package.json" => Self::Npm,
            "pyproject.toml" => Self::Pyproject,
            "go.mod" | "go.work" => Self::GoMod,
            "gemfile" | "gems.rb" => Self::Gemfile,
            "composer.json" => Self::Composer,
            "pom.xml" => Self::Maven,
            name if name.ends_with(".gemspec") || name.ends_with(".gemfile") => Self::Gemfile,
            name if name.starts_with("gemfile.") && name != "gemfile.lock" => Self::Gemfile,
            name if name.ends_with(".gradle") || name.ends_with(".gradle.kts") => Self::Gradle,
            name if name.ends_with(".versions.toml") => Self::Catalog,
            name if is_list(name) && name.contains("requirements") => Self::Requirements,
            name if is_list(name) && (folder == "requirements" || folder.ends_with("/requirements")) => {
                Self::Requirements
            }
            _ => return None,
        })
    }

    pub(super) fn ecosystem(self) -> Ecosystem {
        match self {
            Self::Cargo => Ecosystem::Cargo,
            Self::Npm => Ecosystem::Npm,
            Self::Pyproject | Self::Requirements => Ecosystem::Python,
            Self::GoMod => Ecosystem::Go,
            Self::Gemfile => Ecosystem::Ruby,
            Self::Composer => Ecosystem::Composer,
            Self::Maven | Self::Gradle | Self::Catalog => Ecosystem::Jvm,
        }
    }

    /// Reads a manifest.
    pub(super) fn parse(self, content: &[u8], place: &Place) -> Result<Manifest, String> {
        let text = std::str::from_utf8(content).map_err(|error| {
            let line = content[..error.valid_up_to()].iter().filter(|byte| **byte == b'\n').count() + 1;
            format!("line {line} is not UTF-8")
        })?;
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        match self {
            Self::Cargo => cargo::parse(text, place),
            Self::Npm => npm::parse(text, place),
            Self::Pyproject => pyproject::parse(text, place),
            Self::Requirements => requirements::parse(text, place),
            Self::GoMod => go::parse(text, place),
            Self::Gemfile => ruby::parse(text, place),
            Self::Composer => composer::parse(text, place),
            Self::Maven => maven::parse(text),
            Self::Gradle => gradle::parse(text, place),
            Self::Catalog => catalog::parse(text, place),
        }
    }
}
