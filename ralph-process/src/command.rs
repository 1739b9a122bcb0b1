//! What to run.

use std::{
    ffi::{OsStr, OsString},
    fmt,
    path::{Path, PathBuf},
};

/// What a process reads on its standard input.
#[derive(Clone, Default, PartialEq, Eq)]
pub enum Stdin {
    /// Nothing: the end of the file at once.
    #[default]
    Null,
    /// These bytes, then the end of the file, or what a [`Dialogue`](crate::Dialogue) says. A process that does not read
    /// them is not waited for.
    Bytes(Vec<u8>),
}

impl fmt::Debug for Stdin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Null => f.write_str("Null"),
            Self::Bytes(bytes) => write!(f, "Bytes({})", bytes.len()),
        }
    }
}

/// A program with its arguments, folder, environment and input.
///
/// The environment starts **empty**: the process sees only what is given with [`Command::env`] and [`Command::envs`]
/// (see [`crate::env`] for the allow-list).
///
/// ```
/// use ralph_process::{Command, env};
///
/// let command = Command::new("cargo", "/some/folder")
///     .args(["test", "--workspace"])
///     .envs(env::inherited(&[]))
///     .env("CARGO_TERM_COLOR", "never");
/// assert_eq!(command.to_string(), "cargo test --workspace");
/// ```
#[derive(Clone)]
pub struct Command {
    pub(crate) program: PathBuf,
    pub(crate) args: Vec<OsString>,
    pub(crate) dir: PathBuf,
    pub(crate) env: Vec<(OsString, OsString)>,
    pub(crate) stdin: Stdin,
    pub(crate) mark: Option<String>,
}

impl Command {
    /// `program` in the folder `dir`.
    ///
    /// A bare name is looked up in the `PATH` given to the process, or in ours where it is given none. A relative path
    /// is taken from `dir`.
    pub fn new(program: impl Into<PathBuf>, dir: impl Into<PathBuf>) -> Self {
        Self {
            program: program.into(),
            args: Vec::new(),
            dir: dir.into(),
            env: Vec::new(),
            stdin: Stdin::Null,
            mark: None,
        }
    }

    /// `sh -c script` in the folder `dir`: for a shell line that the operator wrote, never for one made up of parts.
    pub fn shell(script: impl Into<OsString>, dir: impl Into<PathBuf>) -> Self {
        Self::new("/bin/sh", dir).arg("-c").arg(script)
    }

    /// The same with one more argument.
    #[must_use]
    pub fn arg(mut self, arg: impl Into<OsString>) -> Self {
        self.args.push(arg.into());
        self
    }

    /// The same with more arguments.
    #[must_use]
    pub fn args(mut self, args: impl IntoIterator<Item = impl Into<OsString>>) -> Self {
        self.args.extend(args.into_iter().map(Into::into));
        self
    }

    /// The same with one more variable. The last of two with one name wins.
    #[must_use]
    pub fn env(mut self, name: impl Into<OsString>, value: impl Into<OsString>) -> Self {
        self.env.push((name.into(), value.into()));
        self
    }

    /// The same with more variables.
    #[must_use]
    pub fn envs(mut self, vars: impl IntoIterator<Item = (impl Into<OsString>, impl Into<OsString>)>) -> Self {
        self.env.extend(vars.into_iter().map(|(name, value)| (name.into(), value.into())));
        self
    }

    /// The same with this input.
    #[must_use]
    pub fn stdin(mut self, stdin: Stdin) -> Self {
        self.stdin = stdin;
        self
    }

    /// The same under a mark: a name that all its descendants carry in their environment, so that
    /// [`sweep`](crate::sweep) finds them wherever they went, even after a crash of ours. The caller records it before;
    /// the id of a run of Ralph is a good one. It need not be unique: what one group left behind is found by another
    /// mark, which is made up for it.
    ///
    /// [`run`](crate::run) always looks for what left the group, [`capture`](crate::capture) only where there is a
    /// mark. Characters other than letters, digits, `.`, `_`, `/` and `-` count as `-`.
    #[must_use]
    pub fn mark(mut self, mark: impl Into<String>) -> Self {
        self.mark = Some(mark.into());
        self
    }

    /// The program as it was given.
    pub fn program(&self) -> &Path {
        &self.program
    }

    /// The folder in which it runs.
    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// The value that the process will see for a variable.
    pub fn get_env(&self, name: impl AsRef<OsStr>) -> Option<&OsStr> {
        let name = name.as_ref();
        self.env.iter().rev().find(|(key, _)| key == name).map(|(_, value)| value.as_os_str())
    }
}

/// The command line, for people: not quoted.
impl fmt::Display for Command {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.program.display())?;
        self.args.iter().try_for_each(|arg| write!(f, " {}", arg.display()))
    }
}

/// Values of variables are left out: they may be secret.
impl fmt::Debug for Command {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Command")
            .field("program", &self.program)
            .field("args", &self.args)
            .field("dir", &self.dir)
            .field("env", &self.env.iter().map(|(name, _)| name).collect::<Vec<_>>())
            .field("stdin", &self.stdin)
            .field("mark", &self.mark)
            .finish()
    }
}
