//! Lists of globs over paths.

use globset::{GlobBuilder, GlobMatcher};

use super::{PolicyError, names};

/// Globs of a policy, in the order in which they were given.
#[derive(Clone, Debug)]
pub(super) struct Globs(Vec<(String, GlobMatcher)>);

impl Globs {
    /// Globs for people's settings. `*` and `?` stay within a part of the path, `**` crosses parts, case does not count.
    pub(super) fn new<G: AsRef<str>>(
        policy: &'static str,
        globs: impl IntoIterator<Item = G>,
    ) -> Result<Self, PolicyError> {
        let parse = |glob: G| {
            let glob = glob.as_ref().trim();
            let fail = |why: String| PolicyError::Glob { policy, glob: glob.to_owned(), why };
            if glob.is_empty() {
                return Err(fail("it is empty, and matches nothing".to_owned()));
            }
            matcher(glob).map(|matcher| (glob.to_owned(), matcher)).map_err(|error| fail(error.kind().to_string()))
        };
        globs.into_iter().map(parse).collect::<Result<_, _>>().map(Self)
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The first glob that names this path (as [`names::fold`] has it), one of its folders, or what would be in it if it
    /// were a folder: a link in the place of a folder is a change to all that is in there.
    pub(super) fn find(&self, path: &str) -> Option<&str> {
        let within = format!("{path}/_");
        let matches = |matcher: &GlobMatcher| {
            matcher.is_match(path) || matcher.is_match(&within) || names::folders(path).any(|at| matcher.is_match(at))
        };
        self.0.iter().find(|(_, matcher)| matches(matcher)).map(|(glob, _)| glob.as_str())
    }
}

/// One glob over folded paths.
pub(super) fn matcher(glob: &str) -> Result<GlobMatcher, globset::Error> {
    let glob = names::fold_text(glob);
    // What is written for a folder means what is in it; `/x` and `./x` mean the root, as all globs do.
    let glob = glob.strip_suffix('/').unwrap_or(&glob);
    let glob = glob.strip_prefix("./").or_else(|| glob.strip_prefix('/')).unwrap_or(glob);
    let glob = GlobBuilder::new(glob).literal_separator(true).case_insensitive(true).backslash_escape(true).build()?;
    Ok(glob.compile_matcher())
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
    fn what_is_no_glob_is_named() {
        let error = Globs::new("security", ["src/**", "a/{b"]).unwrap_err();
        insta::assert_snapshot!(error, @"policy `security`: `a/{b` is not a glob: unclosed alternate group; missing '}' (maybe escape '{' with '[{]'?)");
        insta::assert_snapshot!(Globs::new("security", [" "]).unwrap_err(), @"policy `security`: `` is not a glob: it is empty, and matches nothing");
    }
}
