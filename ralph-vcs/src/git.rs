//! The one way in which this crate runs git: a resolved path, an environment made from nothing, no shell, a deadline,
//! capped output, and a counter.

use std::{
    ffi::{OsStr, OsString},
    fmt,
    path::{Path, PathBuf},
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use ralph_core::{Cx, VcsError};
use ralph_process::{Command, End, Stdin, capture};

use crate::environment::Environment;

/// No git call of ours takes longer; a repository that needs more has another problem.
const LONGEST: Duration = Duration::from_secs(15 * 60);
/// Enough for every list of paths that a sane repository has.
const MOST_OUTPUT: usize = 256 << 20;

/// Overrides that hold for every call in the engine's environment. Each switches off something that a repository's
/// configuration may run, or something that makes git believe its notes more than the disk.
const OVERRIDES: &[(&str, &str)] = &[
    ("core.hooksPath", "/dev/null"),
    ("core.fsmonitor", "false"),
    ("core.untrackedCache", "false"),
    ("core.sparseCheckout", "false"),
    ("core.sparseCheckoutCone", "false"),
    ("index.sparse", "false"),
    ("index.version", "2"),
    ("core.splitIndex", "false"),
    ("core.trustctime", "true"),
    ("core.checkStat", "default"),
    ("core.safecrlf", "false"),
    ("core.protectNTFS", "true"),
    ("core.protectHFS", "true"),
    ("core.fsync", "committed,reference"),
    ("core.fsyncMethod", "batch"),
    ("core.filesRefLockTimeout", "2000"),
    ("core.packedRefsTimeout", "5000"),
    ("submodule.recurse", "false"),
    ("gc.auto", "0"),
    ("maintenance.auto", "false"),
    ("commit.gpgSign", "false"),
    ("tag.gpgSign", "false"),
    ("log.showSignature", "false"),
    ("i18n.commitEncoding", "UTF-8"),
    ("i18n.logOutputEncoding", "UTF-8"),
    ("protocol.allow", "never"),
];

/// A git program and the environment in which it is run.
#[derive(Clone)]
pub(crate) struct Git {
    program: PathBuf,
    env: Vec<(OsString, OsString)>,
    spawns: Arc<AtomicU64>,
    scans: Arc<AtomicU64>,
}

impl fmt::Debug for Git {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Git").field("program", &self.program).finish_non_exhaustive()
    }
}

/// Where git runs as the operator runs it: its words can be read, it asks nobody, and it sees the history that is there.
const PLAIN: [(&str, &str); 5] = [
    ("LC_ALL", "C"),
    ("GIT_TERMINAL_PROMPT", "0"),
    ("GIT_OPTIONAL_LOCKS", "0"),
    ("GIT_NO_REPLACE_OBJECTS", "1"),
    ("GIT_NO_LAZY_FETCH", "1"),
];

impl Git {
    /// Git as the operator runs it: to find the repository and read its settings.
    pub(crate) fn of_operator(program: PathBuf, environment: &Environment) -> Self {
        let mut env: Vec<(OsString, OsString)> = environment.for_git().collect();
        env.extend(pairs(&PLAIN));
        env.extend(pairs(&[("GIT_LITERAL_PATHSPECS", "1")]));
        Self { program, env, spawns: Arc::default(), scans: Arc::default() }
    }

    /// Git as the operator runs it to talk to a remote, with `settings` on top of theirs.
    pub(crate) fn of_publisher(&self, environment: &Environment, settings: &[(&str, &str)]) -> Self {
        let mut env: Vec<(OsString, OsString)> = environment.for_remotes().collect();
        env.extend(pairs(&PLAIN));
        env.extend(pairs(&[
            // Whatever asks gets no answer, at once, instead of a window or a terminal.
            ("GIT_ASKPASS", "false"),
            ("SSH_ASKPASS", "false"),
            ("SSH_ASKPASS_REQUIRE", "force"),
            ("GCM_INTERACTIVE", "never"),
        ]));
        Self { program: self.program.clone(), env, spawns: self.spawns.clone(), scans: self.scans.clone() }
            .with(settings.iter().map(|(key, value)| (*key, OsStr::new(*value))))
    }

    /// The same with settings on top.
    pub(crate) fn with<'a>(mut self, settings: impl IntoIterator<Item = (&'a str, &'a OsStr)>) -> Self {
        let mut count = 0;
        for (key, value) in settings {
            self.env.push((format!("GIT_CONFIG_KEY_{count}").into(), key.into()));
            self.env.push((format!("GIT_CONFIG_VALUE_{count}").into(), value.into()));
            count += 1;
        }
        self.env.push(("GIT_CONFIG_COUNT".into(), count.to_string().into()));
        self
    }

    /// Git for the engine's work on the repository in `common_dir`: nothing of the surroundings but `path`, and
    /// `settings` on top of the overrides.
    pub(crate) fn of_engine(
        &self,
        common_dir: &Path,
        path: &OsStr,
        environment: &Environment,
        identity: &[(&'static str, String)],
        settings: &[(String, OsString)],
    ) -> Self {
        let mut env = pairs(&[
            ("GIT_CONFIG_NOSYSTEM", "1"),
            ("GIT_CONFIG_GLOBAL", "/dev/null"),
            ("GIT_ATTR_NOSYSTEM", "1"),
            ("GIT_NO_REPLACE_OBJECTS", "1"),
            ("GIT_NO_LAZY_FETCH", "1"),
            ("GIT_LITERAL_PATHSPECS", "1"),
            ("GIT_TERMINAL_PROMPT", "0"),
            ("GIT_ASKPASS", "/bin/false"),
            ("GIT_EDITOR", "true"),
            ("GIT_PAGER", "cat"),
            ("GIT_ALLOW_PROTOCOL", "none"),
            ("LC_ALL", "C"),
            ("HOME", "/nonexistent"),
        ]);
        env.push(("PATH".into(), path.to_owned()));
        env.push(("GIT_DIR".into(), common_dir.into()));
        if let Some(folder) = environment.get("TMPDIR").filter(|it| Path::new(it).is_absolute()) {
            env.push(("TMPDIR".into(), folder.to_owned()));
        }
        env.extend(identity.iter().map(|(name, value)| (name.into(), value.into())));
        let all = settings.iter().map(|(key, value)| (key.as_str(), value.as_os_str())).chain(overrides());
        Self { program: self.program.clone(), env, spawns: self.spawns.clone(), scans: self.scans.clone() }.with(all)
    }

    /// How many git processes were started.
    pub(crate) fn spawns(&self) -> u64 {
        self.spawns.load(Ordering::Relaxed)
    }

    /// How many of them looked at every file of a site.
    pub(crate) fn scans(&self) -> u64 {
        self.scans.load(Ordering::Relaxed)
    }

    /// Begins the call `git verb …`.
    pub(crate) fn call(&self, verb: &'static str) -> Call<'_> {
        Call {
            git: self,
            verb,
            args: Vec::new(),
            env: Vec::new(),
            folder: None,
            stdin: None,
            most: MOST_OUTPUT,
            scan: false,
            limit: None,
        }
    }
}

/// See [`OVERRIDES`].
pub(crate) fn overrides<'a>() -> impl Iterator<Item = (&'a str, &'a OsStr)> {
    OVERRIDES.iter().map(|(key, value)| (*key, OsStr::new(*value)))
}

fn pairs(list: &[(&str, &str)]) -> Vec<(OsString, OsString)> {
    list.iter().map(|(name, value)| (name.into(), value.into())).collect()
}

/// A call that is being put together.
pub(crate) struct Call<'a> {
    git: &'a Git,
    verb: &'static str,
    args: Vec<OsString>,
    env: Vec<(&'static str, OsString)>,
    folder: Option<PathBuf>,
    stdin: Option<Vec<u8>>,
    most: usize,
    scan: bool,
    limit: Option<Duration>,
}

/// How a call ended.
#[derive(Debug)]
pub(crate) struct Output {
    /// The exit code, where it ended by itself.
    pub(crate) code: Option<i32>,
    pub(crate) stdout: Vec<u8>,
    pub(crate) stderr: String,
    /// There was more output than the call's limit, and it was not read.
    pub(crate) cut: bool,
    /// It had not ended within the call's own limit, and was ended.
    pub(crate) late: bool,
}

impl Call<'_> {
    pub(crate) fn arg(mut self, arg: impl AsRef<OsStr>) -> Self {
        self.args.push(arg.as_ref().to_owned());
        self
    }

    pub(crate) fn args<T: AsRef<OsStr>>(mut self, args: impl IntoIterator<Item = T>) -> Self {
        self.args.extend(args.into_iter().map(|arg| arg.as_ref().to_owned()));
        self
    }

    pub(crate) fn env(mut self, name: &'static str, value: impl AsRef<OsStr>) -> Self {
        self.env.push((name, value.as_ref().to_owned()));
        self
    }

    /// Runs in `folder`.
    pub(crate) fn folder(mut self, folder: &Path) -> Self {
        self.folder = Some(folder.to_owned());
        self
    }

    /// Works on the files in `root` by way of `index`.
    pub(crate) fn site(self, root: &Path, index: &Path) -> Self {
        self.env("GIT_WORK_TREE", root).env("GIT_INDEX_FILE", index).folder(root)
    }

    /// Counts as a look at every file of a site.
    pub(crate) fn scan(mut self) -> Self {
        self.scan = true;
        self
    }

    pub(crate) fn stdin(mut self, bytes: impl Into<Vec<u8>>) -> Self {
        self.stdin = Some(bytes.into());
        self
    }

    /// Reads at most so many bytes of output.
    pub(crate) fn most(mut self, bytes: usize) -> Self {
        self.most = bytes;
        self
    }

    /// May take so long and no longer, and nothing that it starts outlives it, wherever it went: for what talks to others.
    pub(crate) fn limit(mut self, limit: Duration) -> Self {
        self.limit = Some(limit);
        self
    }

    /// Runs to the end, whatever the exit code.
    pub(crate) async fn run(self, cx: &Cx) -> Result<Output, VcsError> {
        self.run_until(Some(cx)).await
    }

    /// Runs to the end even if a cancellation is asked: for what is short and better not left half done.
    pub(crate) async fn run_through(self) -> Result<Output, VcsError> {
        self.run_until(None).await
    }

    /// Runs and answers the output; an exit code other than 0 is an error.
    pub(crate) async fn ok(self, cx: &Cx) -> Result<Vec<u8>, VcsError> {
        let verb = self.verb;
        let output = self.run(cx).await?;
        if output.success() { Ok(output.stdout) } else { Err(output.failed(verb)) }
    }

    async fn run_until(self, cx: Option<&Cx>) -> Result<Output, VcsError> {
        let verb = self.verb;
        let git = self.git;
        if cx.is_some_and(|cx| cx.cancel().is_cancelled()) {
            return Err(VcsError::Ended(verb));
        }
        let folder = self.folder.unwrap_or_else(|| "/".into());
        let mut command = Command::new(&git.program, folder)
            .envs(git.env.iter().cloned())
            .envs(self.env)
            .arg(verb)
            .args(self.args)
            .stdin(self.stdin.map_or(Stdin::Null, Stdin::Bytes));
        if self.limit.is_some() {
            command = command.mark("ralph-git");
        }
        let own = self.limit.unwrap_or(LONGEST);
        let given = cx.and_then(Cx::time_limit);
        let limit = given.map_or(own, |limit| limit.min(own));
        if limit.is_zero() {
            return Err(VcsError::Ended(verb));
        }
        git.spawns.fetch_add(1, Ordering::Relaxed);
        if self.scan {
            git.scans.fetch_add(1, Ordering::Relaxed);
        }
        let work = capture(&command, limit, self.most);
        let captured = match cx {
            Some(cx) => tokio::select! {
                captured = work => captured,
                () = cx.cancel().cancelled() => return Err(VcsError::Ended(verb)),
            },
            None => work.await,
        };
        let captured = captured.map_err(|error| other(format!("git {verb}"), error))?;
        let code = match captured.end {
            End::Exited(code) => Some(code),
            End::TimedOut if self.limit.is_some() && given.is_none_or(|given| own <= given) => None,
            End::TimedOut | End::Cancelled => return Err(VcsError::Ended(verb)),
            _ => None,
        };
        Ok(Output {
            code,
            cut: captured.end == End::OutputLimit,
            late: captured.end == End::TimedOut,
            stdout: captured.stdout,
            stderr: String::from_utf8_lossy(&captured.stderr).into_owned(),
        })
    }
}

impl Output {
    /// Whether git ended with 0.
    pub(crate) fn success(&self) -> bool {
        self.code == Some(0)
    }

    /// Whether git failed for want of room or the like, and not because of what it was given.
    pub(crate) fn is_the_machines_fault(&self) -> bool {
        const SIGNS: [&str; 7] = [
            "No space left",
            "Disk quota",
            "Read-only file system",
            "Input/output error",
            "Too many open files",
            "Cannot allocate",
            ".lock': File exists",
        ];
        self.code.is_none() || SIGNS.iter().any(|sign| self.stderr.contains(sign))
    }

    /// The error for an end that was not hoped for.
    pub(crate) fn failed(&self, verb: &str) -> VcsError {
        let how = match self.code {
            _ if self.cut => "it said more than anybody would read".to_owned(),
            Some(code) => format!("it ended with {code}"),
            None => "it was killed".to_owned(),
        };
        let why = format!("{how}: {}", self.said());
        other(format!("git {verb}"), std::io::Error::other(why))
    }

    /// Git's complaint, for people, bounded.
    pub(crate) fn said(&self) -> String {
        let text: String = self.stderr.trim().chars().take(2000).collect();
        if text.is_empty() { "no message".to_owned() } else { text }
    }
}

/// `VcsError::Other`.
pub(crate) fn other(operation: impl Into<String>, source: impl Into<ralph_core::BoxError>) -> VcsError {
    VcsError::Other { operation: operation.into(), source: source.into() }
}

/// The first line of `bytes` as text.
pub(crate) fn line(bytes: &[u8]) -> String {
    let end = bytes.iter().position(|byte| *byte == b'\n').unwrap_or(bytes.len());
    String::from_utf8_lossy(bytes.get(..end).unwrap_or_default()).into_owned()
}
