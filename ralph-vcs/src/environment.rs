//! The environment that counts as the operator's.

use std::{
    collections::BTreeMap,
    ffi::{OsStr, OsString},
    path::{Path, PathBuf},
};

/// Of git's own variables only those that name files of settings count: a hook's `GIT_DIR` must lead nowhere.
const FILES: [&str; 3] = ["GIT_CONFIG_GLOBAL", "GIT_CONFIG_SYSTEM", "GIT_CONFIG_NOSYSTEM"];

/// Those by which the operator says how remotes are reached. What git writes down of its own doings (`GIT_TRACE…`,
/// `GIT_CURL_VERBOSE`) is not among them: it holds passwords.
const REMOTES: [&str; 20] = [
    "GIT_ALLOW_PROTOCOL",
    "GIT_HTTP_LOW_SPEED_LIMIT",
    "GIT_HTTP_LOW_SPEED_TIME",
    "GIT_HTTP_PROXY_AUTHMETHOD",
    "GIT_HTTP_USER_AGENT",
    "GIT_PROTOCOL_FROM_USER",
    "GIT_PROXY_COMMAND",
    "GIT_PROXY_SSL_CAINFO",
    "GIT_PROXY_SSL_CERT",
    "GIT_PROXY_SSL_KEY",
    "GIT_SSH",
    "GIT_SSH_COMMAND",
    "GIT_SSH_VARIANT",
    "GIT_SSL_CAINFO",
    "GIT_SSL_CAPATH",
    "GIT_SSL_CERT",
    "GIT_SSL_CIPHER_LIST",
    "GIT_SSL_KEY",
    "GIT_SSL_NO_VERIFY",
    "GIT_SSL_VERSION",
];

/// Variables by name.
#[derive(Clone, Debug)]
pub(crate) struct Environment(BTreeMap<OsString, OsString>);

impl Environment {
    /// The given variables, else the process's own.
    pub(crate) fn new(given: Option<&[(OsString, OsString)]>) -> Self {
        match given {
            Some(given) => Self(given.iter().cloned().collect()),
            None => Self(std::env::vars_os().collect()),
        }
    }

    /// A variable that is set and not empty.
    pub(crate) fn get(&self, name: &str) -> Option<&OsStr> {
        self.0.get(OsStr::new(name)).map(OsString::as_os_str).filter(|value| !value.is_empty())
    }

    pub(crate) fn text(&self, name: &str) -> Option<String> {
        let text = self.get(name)?.to_str()?.trim();
        (!text.is_empty()).then(|| text.to_owned())
    }

    /// What the operator's git may see.
    pub(crate) fn for_git(&self) -> impl Iterator<Item = (OsString, OsString)> {
        self.but_for_gits_own(&[])
    }

    /// What it may see when it talks to a remote.
    pub(crate) fn for_remotes(&self) -> impl Iterator<Item = (OsString, OsString)> {
        self.but_for_gits_own(&REMOTES)
    }

    fn but_for_gits_own(&self, more: &'static [&'static str]) -> impl Iterator<Item = (OsString, OsString)> {
        let known = move |name: &OsStr| FILES.iter().chain(more).any(|known| name == *known);
        let fine = move |name: &OsStr| {
            let of_git = name.as_encoded_bytes().starts_with(b"GIT_");
            (!of_git || known(name)) && name != "LC_ALL" && name != "LANGUAGE"
        };
        let all = self.0.iter().filter(move |(name, _)| fine(name));
        all.map(|(name, value)| (name.clone(), value.clone()))
    }

    /// Where git looks for a person's own ignore and attributes files if no setting names them.
    pub(crate) fn git_folder(&self) -> Option<PathBuf> {
        let absolute = |name: &str| self.get(name).map(PathBuf::from).filter(|it| it.is_absolute());
        let base = absolute("XDG_CONFIG_HOME").or_else(|| Some(absolute("HOME")?.join(".config")));
        base.map(|folder| folder.join("git"))
    }

    /// The `PATH` without what is relative or inside `forbidden`: a filter's program is never found in a tree.
    pub(crate) fn search_path(&self, forbidden: &[&Path]) -> OsString {
        let path = self.get("PATH").unwrap_or_else(|| "/usr/local/bin:/usr/bin:/bin".as_ref());
        let fine = |folder: &PathBuf| folder.is_absolute() && !forbidden.iter().any(|root| folder.starts_with(root));
        let folders = std::env::split_paths(path).filter(fine);
        std::env::join_paths(folders).unwrap_or_else(|_| "/usr/bin:/bin".into())
    }
}
