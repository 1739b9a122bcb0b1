//! Where a manifest lies, and where what it names comes from.

use crate::policy::names;

/// The place of a manifest in its repository.
#[derive(Clone, Debug)]
pub(in crate::policy) struct Place {
    /// Its path from the root.
    path: String,
}

impl Place {
    pub(in crate::policy) fn new(path: &[u8]) -> Self {
        Self { path: String::from_utf8_lossy(path).into_owned() }
    }

    /// Its file name.
    pub(super) fn name(&self) -> &str {
        self.path.rsplit('/').next().unwrap_or(&self.path)
    }

    /// The path from the root of what it calls `path`; `None` outside the repository.
    pub(super) fn resolve(&self, path: &str) -> Option<String> {
        names::join(names::parent(&self.path), path)
    }

    /// Where a path leads: `None` where it stays in the repository, else an origin.
    pub(super) fn beyond(&self, path: &str) -> Option<String> {
        match self.resolve(path) {
            Some(_) => None,
            None => Some(format!("the path {path}")),
        }
    }
}

/// Whether `text` names something by its address, rather than by a path or a name.
pub(super) fn is_address(text: &str) -> bool {
    text.contains("://") || is_scp(text)
}

/// `git@host:owner/name`.
fn is_scp(text: &str) -> bool {
    let Some((before, after)) = text.split_once(':') else { return false };
    let user = before.rsplit_once('@').is_some_and(|(user, _)| !user.contains('/') && !user.is_empty());
    user && !after.is_empty() && !before.contains(['/', ' '])
}

/// An address without what may change while it stays the same place: version, user, password, spelling.
pub(super) fn origin(address: &str) -> String {
    let address = address.trim();
    let address = address.split('#').next().unwrap_or(address);
    let (is_git, address) = match address.strip_prefix("git+") {
        Some(rest) => (true, rest),
        None => (address.starts_with("git"), address),
    };
    let rest = match address.split_once("://") {
        Some((_, rest)) => rest.to_owned(),
        None if is_scp(address) => address.replacen(':', "/", 1),
        None => address.to_owned(),
    };
    let (authority, mut path) = rest.split_once('/').unwrap_or((&rest, ""));
    let host = authority.rsplit_once('@').map_or(authority, |(_, host)| host).to_lowercase();
    // A revision behind a repository: `…/name.git@v1`.
    if let Some((repository, _)) = path.rsplit_once('@').filter(|(before, _)| is_git || before.ends_with(".git")) {
        path = repository;
    }
    let path = path.trim_end_matches('/');
    let path = path.strip_suffix(".git").unwrap_or(path);
    if path.is_empty() { host } else { format!("{host}/{path}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_place() {
        for (one, other) in [
            ("https://github.com/a/b.git", "git+ssh://git@GitHub.com/a/b#v2"),
            ("git@github.com:a/b.git", "https://user:token@github.com/a/b/"),
            ("git+https://github.com/a/b.git@v1.0", "git+https://github.com/a/b@v2.0"),
        ] {
            assert_eq!(origin(one), origin(other));
        }
        assert_ne!(origin("https://r.org/@a/x.tgz"), origin("https://r.org/@b/x.tgz"));
        assert_ne!(origin("https://a.org/x"), origin("https://b.org/x"));
        assert!(!origin("https://me:secret@a.org/x").contains("secret"));
    }

    #[test]
    fn addresses() {
        for (text, expected) in [
            ("https://a.org/x", true),
            ("git@a.org:x/y", true),
            ("../x", false),
            ("a:b", false),
            ("npm:@scope/x@1", false),
        ] {
            assert_eq!(is_address(text), expected, "{text}");
        }
    }
}
