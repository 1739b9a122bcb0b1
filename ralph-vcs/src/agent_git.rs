//! The agent's own `.git`: written by hand for every placing, for its convenience, and never read by us.
//!
//! It borrows the operator's objects, knows those of their branches and tags that its own history holds, and has no reflog
//! and no remote: in a clone, an agent's habitual `git push` would land in the operator's repository. An object of another
//! branch can be read by whoever knows its id, or asks for all objects.

use std::{
    fs, io,
    os::unix::ffi::OsStrExt,
    path::{Path, PathBuf},
};

use ralph_core::Revision;

use crate::settings::Identity;

/// What an agent's repository is made of.
#[derive(Debug)]
pub(crate) struct AgentGit {
    pub(crate) common_dir: PathBuf,
    pub(crate) branch: String,
    pub(crate) sha256: bool,
    pub(crate) identity: Identity,
    pub(crate) settings: Vec<(String, std::ffi::OsString)>,
    /// Lines `<id> <name>` of the operator's branches and tags, as far as the work stands on them.
    pub(crate) refs: Vec<u8>,
}

impl AgentGit {
    /// Writes `<root>/.git`, which the sweep has removed, for a site that holds `revision` by way of `index`.
    pub(crate) fn write(&self, root: &Path, index: &Path, revision: &Revision) -> io::Result<()> {
        let git = root.join(".git");
        // Fails on whatever stands there: nothing is written into a folder that is not our own.
        fs::create_dir(&git)?;
        for folder in ["objects", "objects/info", "refs", "refs/heads", "info"] {
            fs::create_dir(git.join(folder))?;
        }
        let mut alternates = self.common_dir.join("objects").as_os_str().as_bytes().to_vec();
        alternates.push(b'\n');
        fs::write(git.join("objects/info/alternates"), alternates)?;
        fs::write(git.join("config"), self.config())?;
        let name = format!(" refs/heads/{}", self.branch);
        let others = self.refs.split_inclusive(|byte| *byte == b'\n');
        let mut refs: Vec<u8> = others
            .filter(|line| !line.strip_suffix(b"\n").unwrap_or(line).ends_with(name.as_bytes()))
            .collect::<Vec<_>>()
            .concat();
        refs.extend_from_slice(format!("{revision}{name}\n").as_bytes());
        fs::write(git.join("packed-refs"), refs)?;
        for file in ["shallow", "info/exclude", "info/attributes"] {
            copy_if_there(&self.common_dir.join(file), &git.join(file))?;
        }
        copy_if_there(index, &git.join("index"))?;
        fs::write(git.join("HEAD"), format!("ref: refs/heads/{}\n", self.branch))
    }

    fn config(&self) -> Vec<u8> {
        let mut text = String::from("[core]\n\tbare = false\n\tlogAllRefUpdates = true\n");
        let version = u8::from(self.sha256);
        text.push_str(&format!("\trepositoryFormatVersion = {version}\n"));
        if self.sha256 {
            text.push_str("[extensions]\n\tobjectFormat = sha256\n");
        }
        text.push_str("[gc]\n\tauto = 0\n[maintenance]\n\tauto = false\n");
        let mut config = text.into_bytes();
        let (name, mail) = &self.identity.author;
        setting(&mut config, "user.name", name.as_bytes());
        setting(&mut config, "user.email", mail.as_bytes());
        for (key, value) in &self.settings {
            setting(&mut config, key, value.as_bytes());
        }
        config
    }
}

fn copy_if_there(from: &Path, to: &Path) -> io::Result<()> {
    match fs::copy(from, to) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

/// Writes `section.sub.key` as git writes it.
fn setting(config: &mut Vec<u8>, key: &str, value: &[u8]) {
    let (Some((section, rest)), Some((_, last))) = (key.split_once('.'), key.rsplit_once('.')) else {
        return;
    };
    config.extend_from_slice(format!("[{section}").as_bytes());
    if let Some((middle, _)) = rest.rsplit_once('.') {
        config.extend_from_slice(b" \"");
        config.extend_from_slice(middle.replace('\\', "\\\\").replace('"', "\\\"").as_bytes());
        config.push(b'"');
    }
    config.extend_from_slice(format!("]\n\t{last} = \"").as_bytes());
    for byte in value {
        match byte {
            b'"' | b'\\' => config.extend_from_slice(&[b'\\', *byte]),
            b'\n' => config.extend_from_slice(b"\\n"),
            b'\t' => config.extend_from_slice(b"\\t"),
            _ => config.push(*byte),
        }
    }
    config.extend_from_slice(b"\"\n");
}

#[cfg(test)]
mod tests {
    #[test]
    fn settings_are_written_as_git_reads_them() {
        let mut config = Vec::new();
        super::setting(&mut config, "filter.a\"b.c.clean", b"x \"y\"\\z");
        assert_eq!(config, b"[filter \"a\\\"b.c\"]\n\tclean = \"x \\\"y\\\"\\\\z\"\n");
        config.clear();
        super::setting(&mut config, "core.eol", b"lf");
        assert_eq!(config, b"[core]\n\teol = \"lf\"\n");
    }
}
