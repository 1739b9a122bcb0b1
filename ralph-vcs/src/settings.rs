//! The operator's effective settings: read once, and only what changes the bytes of files is passed on.

use std::{
    collections::BTreeMap,
    ffi::OsString,
    os::unix::ffi::{OsStrExt, OsStringExt},
    path::{Path, PathBuf},
};

use ralph_core::{Cx, VcsError};

use crate::{environment::Environment, git::Git};

/// Settings of `core.` that decide which bytes a checkout writes and a snapshot reads.
const CORE: [&str; 6] =
    ["core.autocrlf", "core.eol", "core.filemode", "core.symlinks", "core.precomposeunicode", "core.bigfilethreshold"];

/// Where git-lfs finds no server: its objects have to be in the repository, and the address that an agent writes
/// into `.lfsconfig` is never dialled.
const NO_LFS_SERVER: &str = "http://127.0.0.1:9/";

/// All of the operator's settings, the last value of each.
#[derive(Clone, Debug, Default)]
pub(crate) struct Settings(BTreeMap<String, Vec<u8>>);

/// Who makes the commits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Identity {
    pub(crate) author: (String, String),
    pub(crate) committer: (String, String),
}

impl Settings {
    /// Asks git, as the operator's, in `folder`; conditional includes count as they do for the operator.
    pub(crate) async fn read(git: &Git, folder: &Path, cx: &Cx) -> Result<Self, VcsError> {
        let list = git.call("config").args(["--list", "-z"]).folder(folder).ok(cx).await?;
        Ok(Self::parse(&list))
    }

    fn parse(list: &[u8]) -> Self {
        let entries = list.split(|byte| *byte == 0).filter(|entry| !entry.is_empty());
        let pair = |entry: &[u8]| {
            let mut parts = entry.splitn(2, |byte| *byte == b'\n');
            let key = String::from_utf8_lossy(parts.next().unwrap_or_default()).into_owned();
            // A key without a value is a boolean that is on.
            (key, parts.next().unwrap_or(b"true").to_vec())
        };
        Self(entries.map(pair).collect())
    }

    /// The value of `key` as text.
    pub(crate) fn text(&self, key: &str) -> Option<String> {
        self.0.get(key).map(|value| String::from_utf8_lossy(value).into_owned())
    }

    /// All settings whose key starts so.
    pub(crate) fn below<'a>(&'a self, prefix: &'a str) -> impl Iterator<Item = (&'a str, &'a [u8])> {
        let all = self.0.iter().map(|(key, value)| (key.as_str(), value.as_slice()));
        all.filter(move |(key, _)| key.starts_with(prefix))
    }

    /// What the engine's git is told of them.
    pub(crate) async fn passed_on(
        &self,
        git: &Git,
        folder: &Path,
        environment: &Environment,
        cx: &Cx,
    ) -> Result<Vec<(String, OsString)>, VcsError> {
        let mut passed: Vec<(String, OsString)> = Vec::new();
        let chosen = CORE.iter().filter_map(|key| Some((*key, self.0.get(*key)?.as_slice())));
        for (key, value) in chosen.chain(self.below("filter.")).chain(self.below("lfs.")) {
            passed.push((key.to_owned(), OsString::from_vec(value.to_vec())));
        }
        passed.push(("lfs.url".to_owned(), NO_LFS_SERVER.into()));
        for (key, name) in [("core.excludesfile", "ignore"), ("core.attributesfile", "attributes")] {
            let file = if self.0.contains_key(key) {
                // Git itself expands `~` and its kind.
                let call = git.call("config").args(["-z", "--type=path", "--get", key]);
                let mut path = call.folder(folder).ok(cx).await?;
                path.retain(|byte| *byte != 0);
                Some(PathBuf::from(OsString::from_vec(path)))
            } else {
                environment.git_folder().map(|own| own.join(name)).filter(|file| file.exists())
            };
            let file = file.unwrap_or_else(|| "/dev/null".into());
            passed.push((key.to_owned(), file.into_os_string()));
        }
        Ok(passed)
    }

    /// The operator's identity, or a neutral one where none is set; `author` (`Name <address>`) replaces the author's.
    pub(crate) fn identity(&self, author: Option<&str>, environment: &Environment) -> Result<Identity, VcsError> {
        let find = |who: &str, what: &str, variable: &str| {
            self.text(&format!("{who}.{what}"))
                .or_else(|| self.text(&format!("user.{what}")))
                .filter(|value| !value.trim().is_empty())
                .or_else(|| environment.text(variable))
        };
        let person = |who: &str, name: &str, mail: &str| {
            let both = find(who, "name", name).zip(find(who, "email", mail));
            both.unwrap_or_else(|| ("Ralph".to_owned(), "ralph@localhost".to_owned()))
        };
        let committer = person("committer", "GIT_COMMITTER_NAME", "GIT_COMMITTER_EMAIL");
        let author = match author {
            Some(text) => parse_person(text)
                .ok_or_else(|| VcsError::Refused(format!("the author `{text}` is not `Name <address>`")))?,
            None => person("author", "GIT_AUTHOR_NAME", "GIT_AUTHOR_EMAIL"),
        };
        Ok(Identity { author, committer })
    }
}

fn parse_person(text: &str) -> Option<(String, String)> {
    let (name, rest) = text.split_once('<')?;
    let mail = rest.strip_suffix('>')?;
    let plain = |part: &str| !part.trim().is_empty() && !part.contains(['<', '>', '\n', '\0']);
    (plain(name) && plain(mail)).then(|| (name.trim().to_owned(), mail.trim().to_owned()))
}

impl Identity {
    /// The variables by which git is told.
    pub(crate) fn variables(&self) -> Vec<(&'static str, String)> {
        vec![
            ("GIT_AUTHOR_NAME", self.author.0.clone()),
            ("GIT_AUTHOR_EMAIL", self.author.1.clone()),
            ("GIT_COMMITTER_NAME", self.committer.0.clone()),
            ("GIT_COMMITTER_EMAIL", self.committer.1.clone()),
        ]
    }
}

/// The words of a filter's command that name something in `root`'s tree, or are relative paths.
pub(crate) fn word_in_tree(command: &[u8], root: &Path) -> Option<String> {
    let words = command.split(|byte| b" \t\n;&|()<>\"'`$=".contains(byte));
    for (nth, word) in words.filter(|word| !word.is_empty()).enumerate() {
        let path = Path::new(std::ffi::OsStr::from_bytes(word));
        // A bare first word is looked for on the `PATH`, whatever lies in the folder.
        let bare = !word.contains(&b'/');
        let dotted = word.starts_with(b"./") || word.starts_with(b"../");
        let inside = if path.is_absolute() {
            path.starts_with(root)
        } else {
            dotted || (!bare && nth == 0) || (nth > 0 && root.join(path).is_file())
        };
        if inside {
            return Some(String::from_utf8_lossy(word).into_owned());
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_value_counts_and_a_bare_key_is_on() {
        let settings = Settings::parse(b"a.b\n1\0a.b\n2\0c.d\0e.F.g\nx\ny\0");
        assert_eq!(settings.text("a.b").as_deref(), Some("2"));
        assert_eq!(settings.text("c.d").as_deref(), Some("true"));
        assert_eq!(settings.text("e.F.g").as_deref(), Some("x\ny"));
    }

    #[test]
    fn an_author_has_a_name_and_an_address() {
        assert_eq!(parse_person("A B <a@b>"), Some(("A B".into(), "a@b".into())));
        for bad in ["A B", "<a@b>", "A <>", "A <a\n>", "A <a> b"] {
            assert_eq!(parse_person(bad), None, "{bad}");
        }
    }

    #[test]
    fn a_filter_from_the_tree_is_seen() {
        let root = tempfile::tempdir().unwrap();
        std::fs::write(root.path().join("f.py"), "").unwrap();
        let inside = root.path().join("x");
        let inside = inside.to_str().unwrap();
        for bad in ["./f %f", "tools/f", "python3 f.py", "sh -c './f'", "../f", inside] {
            assert!(word_in_tree(bad.as_bytes(), root.path()).is_some(), "{bad}");
        }
        for good in ["git-lfs clean -- %f", "sed -e s/a/b/", "/usr/bin/f --x", "f.py"] {
            assert_eq!(word_in_tree(good.as_bytes(), root.path()), None, "{good}");
        }
    }
}
