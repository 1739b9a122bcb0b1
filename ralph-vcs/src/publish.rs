//! Pushing the run's branch: only it, never by force, and without asking anybody anything.
//!
//! The one thing that runs with the operator's environment and settings, for only they know how the remote is reached
//! (an ssh agent, a credential helper, a proxy). Whatever in the settings would push more than the branch is overridden.

use std::{
    fmt,
    path::PathBuf,
    time::{Duration, Instant},
};

use ralph_core::{Cx, Publish, Revision, VcsError, async_trait, printable};

use crate::{
    GitVcs,
    environment::Environment,
    git::{Git, Output, line, other},
    redact::Redact,
    settings::Settings,
};

/// How long a push may take unless told otherwise.
const USUAL: Duration = Duration::from_secs(60);
/// What a remote says is for people: only the end of it is told.
const MOST_LINES: usize = 8;
const LONGEST_LINE: usize = 300;
/// What git says on its own about one branch is short.
const MOST_OUTPUT: usize = 1 << 20;

/// Settings that would push more, ask, or run something.
const OVERRIDES: [(&str, &str); 8] = [
    ("push.followTags", "false"),
    ("push.recurseSubmodules", "no"),
    ("submodule.recurse", "false"),
    ("push.gpgSign", "false"),
    ("push.useForceIfIncludes", "false"),
    ("credential.interactive", "false"),
    ("gc.auto", "0"),
    ("maintenance.auto", "false"),
];

/// Pushes the branch of a [`GitVcs`] to one of the repository's remotes. Made by [`GitPublish::open`].
///
/// Git notes in the operator's repository where the branch is at the remote (`refs/remotes/…`), as after any push.
/// Hooks of the repository (`pre-push`) are off unless asked for; those of the remote are the remote's.
pub struct GitPublish {
    /// The engine's git: for looking at the branch.
    own: Git,
    environment: Environment,
    settings: Settings,
    folder: PathBuf,
    remote: String,
    branch_ref: String,
    deadline: Duration,
    hooks: bool,
    redact: Redact,
}

impl fmt::Debug for GitPublish {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut debug = f.debug_struct("GitPublish");
        debug.field("remote", &self.remote).field("branch", &self.branch_ref).finish_non_exhaustive()
    }
}

impl GitPublish {
    /// Will push to `remote`, the name of one of the repository's remotes. Talks to nobody yet.
    ///
    /// # Errors
    /// [`VcsError::Refused`] where there is no such remote.
    pub async fn open(vcs: &GitVcs, remote: impl Into<String>) -> Result<Self, VcsError> {
        let (remote, cx) = (remote.into(), Cx::new());
        let folder = vcs.options.repository.clone();
        let list = vcs.operator.call("remote").folder(&folder).ok(&cx).await?;
        let list = String::from_utf8_lossy(&list);
        let names: Vec<_> = list.lines().collect();
        if remote.starts_with('-') || !names.contains(&remote.as_str()) {
            let known =
                if names.is_empty() { "there is none".to_owned() } else { format!("known: {}", names.join(", ")) };
            return Err(VcsError::Refused(printable(&format!(
                "`{}` is not the name of a remote of {} ({known}); add it (`git remote add NAME URL`), or name another \
                 one (`run.push`)",
                Redact::new([]).text(&remote),
                folder.display()
            ))));
        }
        let check = vcs.git.call("check-ref-format").arg(&vcs.branch_ref);
        if !check.run(&cx).await?.success() {
            return Err(VcsError::Refused(format!("`{}` is not a name that a branch can have", vcs.options.branch)));
        }
        let urls = vcs.operator.call("remote").args(["get-url", "--push", "--all", &remote]).folder(&folder);
        let urls = urls.ok(&cx).await?;
        let more = format!("remote.{remote}.");
        let set = vcs.settings.below(&more).filter(|(key, _)| key.ends_with("url"));
        let set: Vec<_> = set.map(|(_, value)| String::from_utf8_lossy(value).into_owned()).collect();
        let urls = String::from_utf8_lossy(&urls);
        Ok(Self {
            own: vcs.git.clone(),
            environment: Environment::new(vcs.options.environment.as_deref()),
            settings: vcs.settings.clone(),
            folder,
            branch_ref: vcs.branch_ref.clone(),
            deadline: USUAL,
            hooks: false,
            redact: Redact::new(urls.lines().chain(set.iter().map(String::as_str))),
            remote,
        })
    }

    /// Another deadline for one push than a minute.
    #[must_use]
    pub fn with_deadline(mut self, deadline: Duration) -> Self {
        self.deadline = deadline;
        self
    }

    /// Whether the operator's hooks for pushes run.
    #[must_use]
    pub fn with_hooks(mut self, hooks: bool) -> Self {
        self.hooks = hooks;
        self
    }

    /// The name of the remote.
    pub fn remote(&self) -> &str {
        &self.remote
    }

    fn branch(&self) -> &str {
        self.branch_ref.strip_prefix("refs/heads/").unwrap_or(&self.branch_ref)
    }

    /// Git with the operator's environment and settings, but for what would push more or ask.
    fn git(&self) -> Git {
        let mirror = format!("remote.{}.mirror", self.remote);
        let mut settings: Vec<(&str, &str)> = OVERRIDES.to_vec();
        settings.push((&mirror, "false"));
        if !self.hooks {
            settings.push(("core.hooksPath", "/dev/null"));
        }
        self.own.of_publisher(&self.environment, &settings)
    }

    async fn push(&self, revision: &Revision, cx: &Cx) -> Result<Output, VcsError> {
        let git = self.git();
        let mut call = git
            .call("push")
            .args(["--porcelain", "--no-progress", "--no-follow-tags", "--recurse-submodules=no", "--signed=no"])
            .args(["--no-force", "--no-force-with-lease", "--no-force-if-includes", "--no-set-upstream"]);
        if !self.hooks {
            call = call.arg("--no-verify");
        }
        if let Some(ssh) = ssh_command(&self.environment, &self.settings) {
            call = call.env("GIT_SSH_COMMAND", ssh);
        }
        let call = call.args([&self.remote, &format!("{revision}:{}", self.branch_ref)]);
        call.folder(&self.folder).most(MOST_OUTPUT).limit(self.deadline).run(cx).await
    }

    /// Whether the remote's branch holds `revision` already: then there is nothing to push.
    async fn holds(&self, revision: &Revision, left: Duration, cx: &Cx) -> Result<bool, VcsError> {
        let git = self.git();
        let mut call = git.call("ls-remote").args(["--refs", &self.remote, &self.branch_ref]);
        if let Some(ssh) = ssh_command(&self.environment, &self.settings) {
            call = call.env("GIT_SSH_COMMAND", ssh);
        }
        let output = call.folder(&self.folder).most(MOST_OUTPUT).limit(left).run(cx).await?;
        let found = line(&output.stdout);
        let Some((id, _)) = found.split_once('\t').filter(|_| output.success()) else { return Ok(false) };
        let call = self.own.call("merge-base").args(["--is-ancestor", revision.as_str(), id]);
        Ok(call.run(cx).await?.success())
    }

    /// The end of what git and the remote said, safe to show.
    fn said(&self, output: &Output) -> String {
        let lines =
            output.stderr.split(['\n', '\r']).map(str::trim).filter(|it| !it.is_empty() && !it.starts_with("hint:"));
        let lines: Vec<_> = lines.collect();
        let last = lines.iter().skip(lines.len().saturating_sub(MOST_LINES));
        let told: Vec<_> = last
            .map(|text| {
                let text = printable(&self.redact.text(text));
                text.chars().take(LONGEST_LINE).collect::<String>()
            })
            .collect();
        if told.is_empty() { "it said nothing".to_owned() } else { told.join(" | ") }
    }

    fn failed(&self, output: &Output) -> VcsError {
        let why = match rejection(&output.stdout) {
            _ if output.late => format!(
                "it had not ended after {} s and was ended; it is tried again later",
                self.deadline.as_secs_f32().ceil()
            ),
            Some(reason) if reason.contains("non-fast-forward") || reason.contains("fetch first") => format!(
                "{}: the branch there holds commits that are not on the one here, and nothing is pushed by force; look \
                 whose they are, then merge or remove them",
                printable(&reason)
            ),
            Some(reason) => printable(&self.redact.text(&reason)),
            None if output.cut => "git said more than anybody would read".to_owned(),
            None => match output.code {
                Some(code) => format!("git ended with {code}"),
                None => "git was killed".to_owned(),
            },
        };
        let what = format!("pushing the branch {} to `{}`", self.branch(), self.remote);
        other(what, std::io::Error::other(format!("{why} ({})", self.said(output))))
    }
}

#[async_trait]
impl Publish for GitPublish {
    async fn publish(&self, revision: &Revision, cx: &Cx) -> Result<(), VcsError> {
        if !crate::accept::is_id(revision) {
            return Err(VcsError::NoRevision(revision.clone()));
        }
        let call = self.own.call("merge-base").args(["--is-ancestor", revision.as_str(), &self.branch_ref]);
        let on_it = call.run(cx).await?;
        match on_it.code {
            Some(0) => {}
            // Work that was not accepted is nobody else's business.
            Some(1) => {
                let (short, branch) = (revision.short(), self.branch());
                return Err(VcsError::Refused(format!("{short} is not on the branch {branch}: only that is pushed")));
            }
            Some(128) => {
                let name = format!("{revision}^{{commit}}");
                let there = self.own.call("cat-file").args(["-e", &name]).run(cx).await?;
                return Err(if there.success() {
                    VcsError::Refused(format!("the branch {} is gone: there is nothing to push", self.branch()))
                } else {
                    VcsError::NoRevision(revision.clone())
                });
            }
            _ => return Err(on_it.failed("merge-base")),
        }
        let began = Instant::now();
        let output = self.push(revision, cx).await?;
        if output.success() {
            return Ok(());
        }
        let left = self.deadline.saturating_sub(began.elapsed());
        if rejection(&output.stdout).is_some() && !left.is_zero() && self.holds(revision, left, cx).await? {
            return Ok(());
        }
        Err(self.failed(&output))
    }
}

/// Why the branch was refused: the third field of a line that begins with `!`.
fn rejection(porcelain: &[u8]) -> Option<String> {
    let text = String::from_utf8_lossy(porcelain);
    let refused = text.lines().find_map(|line| line.strip_prefix("!\t"))?;
    Some(refused.split_once('\t').map_or(refused, |(_, reason)| reason).to_owned())
}

/// The ssh command with prompts off, and without becoming the master of a shared connection, which would outlive the
/// push. `None` where the operator's own command is not plainly OpenSSH: it is left as it is, has no terminal to ask on,
/// and the deadline ends it.
fn ssh_command(environment: &Environment, settings: &Settings) -> Option<String> {
    const QUIET: &str = "-o BatchMode=yes -o ControlMaster=no";
    let set = environment.text("GIT_SSH_COMMAND").or_else(|| settings.text("core.sshcommand"));
    let variant = environment.text("GIT_SSH_VARIANT").or_else(|| settings.text("ssh.variant"));
    if variant.is_some_and(|variant| !matches!(variant.as_str(), "ssh" | "auto")) {
        return None;
    }
    match set {
        Some(command) => {
            let program = command.split_whitespace().next().unwrap_or_default();
            let plain = program == "ssh" || program.ends_with("/ssh");
            // Git itself puts more words behind it; a shell's script may end in something else than ssh.
            (plain && !command.contains([';', '&', '|', '<', '>', '(', ')', '#', '`', '\n', '\\']))
                .then(|| format!("{command} {QUIET}"))
        }
        None if environment.get("GIT_SSH").is_some() => None,
        None => Some(format!("ssh {QUIET}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ssh_is_told_not_to_ask_where_it_is_ssh() {
        let command = |variables: &[(&str, &str)]| {
            let variables: Vec<_> = variables.iter().map(|(name, value)| (name.into(), value.into())).collect();
            ssh_command(&Environment::new(Some(&variables)), &Settings::default())
        };
        let quiet = "-o BatchMode=yes -o ControlMaster=no";
        assert_eq!(command(&[]), Some(format!("ssh {quiet}")));
        for plain in ["ssh -i ~/.ssh/key", "/usr/bin/ssh", "ssh -i '/a b/key'"] {
            assert_eq!(command(&[("GIT_SSH_COMMAND", plain)]), Some(format!("{plain} {quiet}")), "{plain}");
        }
        for other in ["plink -batch", "ssh x; true", "X=1 ssh", "ssh -v 2>log", "my-ssh # ssh", "$(which ssh)"] {
            assert_eq!(command(&[("GIT_SSH_COMMAND", other)]), None, "{other}");
        }
        assert_eq!(command(&[("GIT_SSH", "/opt/ssh")]), None);
        assert_eq!(command(&[("GIT_SSH_VARIANT", "plink")]), None);
    }

    #[test]
    fn a_refusal_has_a_reason() {
        let said = b"To ../x\n!\tabc:refs/heads/r\t[rejected] (fetch first)\nDone\n";
        assert_eq!(rejection(said).as_deref(), Some("[rejected] (fetch first)"));
        assert_eq!(rejection(b"To x\n=\ta:b\t[up to date]\nDone\n"), None);
    }
}
