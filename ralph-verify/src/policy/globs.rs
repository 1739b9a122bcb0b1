//! Lists of globs over paths.

use globset::{Glob, GlobBuilder, GlobMatcher, GlobSet};

use super::{PolicyError, names};

/// Globs of a policy.
#[derive(Clone, Debug)]
pub(crate) struct Globs {
    /// As they were given; the set has two for each.
    given: Vec<String>,
    set: GlobSet,
    /// Folders on the way to what the globs name.
    ways: GlobSet,
}

impl Globs {
    /// Globs for people's settings. `*` and `?` stay within a part of the path, `**` crosses parts, case does not count.
    pub(crate) fn new<G: AsRef<str>>(
        policy: &'static str,
        globs: impl IntoIterator<Item = G>,
    ) -> Result<Self, PolicyError> {
        let (mut given, mut all, mut ways) = (Vec::new(), Vec::new(), Vec::new());
        for glob in globs {
            let glob = glob.as_ref().trim();
            let fail = |why: String| PolicyError::Glob { policy, glob: glob.to_owned(), why };
            let wrong = |error: globset::Error| fail(error.kind().to_string());
            let plain = plain(glob);
            if plain.is_empty() {
                return Err(fail("it is empty, and matches nothing".to_owned()));
            }
            all.push(build(&plain).map_err(wrong)?);
            // What names a folder names all that is in it.
            all.push(build(&format!("{plain}/**")).map_err(wrong)?);
            given.push(glob.to_owned());
            // A part with a bracket that closes in another part is no glob of its own.
            let parents = names::folders(&plain).filter(|parent| *parent != "**" && !parent.ends_with("/**"));
            ways.extend(parents.filter_map(|parent| build(parent).ok()));
        }
        let set = |globs: &[Glob]| {
            GlobSet::new(globs).map_err(|error| PolicyError::Glob {
                policy,
                glob: error.glob().unwrap_or("all of them together").to_owned(),
                why: error.kind().to_string(),
            })
        };
        Ok(Self { set: set(&all)?, ways: set(&ways)?, given })
    }

    pub(super) fn is_empty(&self) -> bool {
        self.given.is_empty()
    }

    /// The first glob that names this path (as [`names::fold`] has it), one of its folders, or what would be in it if it
    /// were a folder: a link in the place of a folder is a change to all that is in there.
    pub(super) fn find(&self, path: &str) -> Option<&str> {
        let first = |path: &str| self.set.matches(path).first().map(|index| self.given[index / 2].as_str());
        first(path).or_else(|| first(&format!("{path}/_")))
    }

    /// The same, without saying which.
    pub(crate) fn name(&self, path: &str) -> bool {
        self.set.is_match(path) || self.set.is_match(format!("{path}/_"))
    }

    /// Whether something that a glob names may lie in this path.
    pub(super) fn lead_through(&self, path: &str) -> bool {
        self.ways.is_match(path)
    }
}

/// One glob over folded paths.
pub(super) fn matcher(glob: &str) -> Result<GlobMatcher, globset::Error> {
    Ok(build(&plain(glob))?.compile_matcher())
}

/// A glob in the form of the paths that it is compared with.
fn plain(glob: &str) -> String {
    let glob = names::fold_text(glob);
    // What is written for a folder means what is in it; `/x` and `./x` mean the root, as all globs do.
    let glob = glob.strip_suffix('/').unwrap_or(&glob);
    glob.strip_prefix("./").or_else(|| glob.strip_prefix('/')).unwrap_or(glob).to_owned()
}

fn build(glob: &str) -> Result<Glob, globset::Error> {
    GlobBuilder::new(glob).literal_separator(true).backslash_escape(true).build()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_glob_names() {
        for (glob, path, expected) in [
            ("**/auth/**", "auth/login.rs", true),
            ("**/auth/**", "src/Auth/login.rs", true),
            ("**/auth/**", "src/auth", true),
            ("**/auth/**", "src/author.rs", false),
            ("**/*secret*", "secrets/prod.env", true),
            ("**/*secret*", "src/my_SECRET.rs", true),
            ("**/*secret*", "src/secre.rs", false),
            ("src/*.rs", "src/lib.rs", true),
            ("src/*.rs", "src/a/lib.rs", false),
            ("docs", "docs/a.md", true),
            ("docs/", "docs/a.md", true),
            ("/docs", "web/docs/a.md", false),
            ("**/schema.*", "db/schema.sql", true),
            ("caf\u{e9}.md", "cafe\u{301}.md", true),
        ] {
            let globs = Globs::new("test", [glob]).unwrap();
            let found = globs.find(&names::fold(path.as_bytes()));
            assert_eq!(found, expected.then_some(glob), "{glob} {path}");
        }
    }

    #[test]
    fn ways_to_what_a_glob_names() {
        let globs =
            Globs::new("test", ["**/.cargo/config.toml", "docs/api/*.yaml", ".github/**", "a/{b/c,d}/e"]).unwrap();
        for (path, expected) in [
            (".cargo", true),
            ("web/.cargo", true),
            ("docs", true),
            ("docs/api", true),
            (".github", true),
            ("a", true),
            ("web", false),
            ("api", false),
        ] {
            assert_eq!(globs.lead_through(path), expected, "{path}");
        }
    }

    #[test]
    fn what_is_no_glob_is_named() {
        let error = Globs::new("security", ["src/**", "a/{b"]).unwrap_err();
        insta::assert_snapshot!(error, @"policy `security`: `a/{b` is not a glob: unclosed alternate group; missing '}' (maybe escape '{' with '[{]'?)");
        insta::assert_snapshot!(Globs::new("security", [" "]).unwrap_err(), @"policy `security`: `` is not a glob: it is empty, and matches nothing");
    }
}
