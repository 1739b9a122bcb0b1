//! Whether this process was started, by whatever detours, inside a session of Ralph's: then it must not decide what is a
//! person's to decide.
//!
//! Two signs. The **mark** that every process of a session inherits is looked for in this process' environment and in
//! that of each ancestor: clearing one's own environment does not clear the parent's. And an orphan is handed to the
//! `ralph run` that started its session, where that is a [subreaper](crate::become_subreaper): that one is then an
//! **ancestor**, whatever was done to environments, and holds the lock of its project. The caller compares.
//!
//! A process in a pid namespace of its own sees no ancestors, and one that may mount sees in `/proc` what it likes. That is
//! not hidden, though: it is elsewhere than the runs of its project. [`namespaces`] says where; the caller compares that,
//! too, with what a run recorded.
//!
//! What this cannot see: a process that others start on a session's behalf (a service manager, a terminal multiplexer
//! that was there before), and, where there is no subreaper, an orphan with a cleared environment. Only a key that the
//! session cannot reach would tell those.

use std::{env, os::unix::process::parent_id};

use crate::sweep::MARK_VARIABLE;

/// The variables that say so, the most telling one first.
const SIGNS: [&str; 2] = ["RALPH_RUN_ID", MARK_VARIABLE];

/// How often the way up is gone again when an ancestor ended meanwhile.
const TRIES: u32 = 5;

/// More generations than any machine has.
const GENERATIONS: usize = 1_000;

/// Where this process comes from.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Ancestry {
    /// The processes above this one, its parent first.
    pub ancestors: Vec<u32>,
    /// The run, or the mark, of the session that this process or an ancestor is of. Only characters that a mark may have.
    pub session: Option<String>,
    /// Ancestors of this user's whose environment could not be read. They may hide that they are of a session, but are no
    /// sign of one: the server of a remote login is such a process, and on macOS so are the system's own programs.
    pub hidden: Vec<u32>,
    /// Ancestors of other users, whose environment could not be read, such as the one that logged this user in.
    pub foreign: Vec<u32>,
    /// Whether the way up was seen to its beginning.
    pub whole: bool,
}

/// The environment of a process, as far as we care.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Environment {
    Marked(String),
    Unmarked,
    Hidden,
    Foreign,
}

/// Looks where this process comes from. Reads a few files for each ancestor on Linux, and runs `ps` a few times elsewhere.
pub fn ancestry() -> Ancestry {
    let mut found = Ancestry { session: own_sign(), ..Ancestry::default() };
    for _ in 0..TRIES {
        let (ancestors, whole) = system::ancestors(parent_id());
        let environments = system::environments(&ancestors);
        (found.hidden, found.foreign) = (Vec::new(), Vec::new());
        for (&pid, environment) in ancestors.iter().zip(environments) {
            match environment {
                Environment::Marked(sign) => {
                    found.session.get_or_insert(sign);
                }
                Environment::Unmarked => {}
                Environment::Hidden => found.hidden.push(pid),
                Environment::Foreign => found.foreign.push(pid),
            }
        }
        // One that ended meanwhile has handed what was below it to another.
        let stands = system::ancestors(parent_id()).0 == ancestors;
        (found.ancestors, found.whole) = (ancestors, whole && stands);
        if found.whole {
            break;
        }
    }
    found
}

/// The session that this process was started in, if one can be seen: see [`ancestry`], which also says what could not be
/// looked at.
pub fn inside_session() -> Option<String> {
    ancestry().session
}

/// The processes above this one, its parent first: see [`ancestry`].
pub fn ancestors() -> Vec<u32> {
    ancestry().ancestors
}

/// The user and the pid namespace of this process, as `user:[4026531837] pid:[4026531836]`: equal for processes of one
/// machine or container, another in each sandbox. `None` where the system has none, or does not say so truly.
pub fn namespaces() -> Option<String> {
    system::namespaces()
}

/// What this process' own environment says: now, and when it was started.
fn own_sign() -> Option<String> {
    let now = SIGNS.iter().filter_map(env::var_os).find(|value| !value.is_empty());
    if let Some(value) = now {
        return Some(clean(value.as_encoded_bytes()));
    }
    match system::environments(&[std::process::id()]).pop()? {
        Environment::Marked(sign) => Some(sign),
        Environment::Unmarked | Environment::Hidden | Environment::Foreign => None,
    }
}

/// A value that an agent may have chosen, fit to be shown.
fn clean(value: &[u8]) -> String {
    let fit = |byte: u8| byte.is_ascii_alphanumeric() || b"._/:-".contains(&byte);
    value.iter().take(200).map(|&byte| if fit(byte) { char::from(byte) } else { '-' }).collect()
}

/// The first sign with a value among `NAME=value` pairs.
fn sign(pairs: &[u8], is_gap: impl Fn(&u8) -> bool) -> Option<String> {
    let value = |name: &str| {
        let mut values = pairs.split(&is_gap).filter_map(|pair| pair.strip_prefix(name.as_bytes())?.strip_prefix(b"="));
        values.find(|value| !value.is_empty())
    };
    SIGNS.iter().find_map(|name| value(name)).map(clean)
}

/// Follows parents from `parent` to the first process. Whether the way was whole, too.
fn follow(parent: u32, parent_of: impl Fn(u32) -> Option<u32>) -> (Vec<u32>, bool) {
    let mut ancestors = Vec::new();
    let mut next = parent;
    // The first process has no parent, and so has one whose parent is outside of our name space.
    while next != 0 {
        if ancestors.len() >= GENERATIONS || ancestors.contains(&next) {
            return (ancestors, false);
        }
        ancestors.push(next);
        match parent_of(next) {
            Some(parent) => next = parent,
            None => return (ancestors, false),
        }
    }
    (ancestors, true)
}

#[cfg(target_os = "linux")]
mod system {
    use std::{
        fs::{self, File},
        io::{ErrorKind, Read as _},
    };

    use rustix::fs::{PROC_SUPER_MAGIC, statfs};

    use super::{Environment, sign};

    /// How much of an environment is read: more than the kernel lets anybody have.
    const ENVIRON_MAX: u64 = 8 << 20;

    pub(super) fn ancestors(parent: u32) -> (Vec<u32>, bool) {
        super::follow(parent, |pid| {
            let stat = fs::read(format!("/proc/{pid}/stat")).ok()?;
            // The name, in parentheses, may hold anything.
            let end = stat.iter().rposition(|&byte| byte == b')')?;
            let fields = String::from_utf8_lossy(stat.get(end + 1..)?).into_owned();
            fields.split_whitespace().nth(1)?.parse().ok()
        })
    }

    pub(super) fn environments(pids: &[u32]) -> Vec<Environment> {
        pids.iter().map(|&pid| environment(pid)).collect()
    }

    pub(super) fn namespaces() -> Option<String> {
        // A folder that was mounted over it would say whatever its maker likes, and that of an outer pid namespace is
        // about other processes.
        let is_true = statfs("/proc/self/ns").is_ok_and(|found| found.f_type == PROC_SUPER_MAGIC);
        let stat = fs::read_to_string("/proc/self/stat").ok()?;
        if !is_true || stat.split(' ').next() != Some(&*std::process::id().to_string()) {
            return None;
        }
        let name =
            |kind: &str| fs::read_link(format!("/proc/self/ns/{kind}")).ok()?.into_os_string().into_string().ok();
        Some(format!("{} {}", name("user")?, name("pid")?))
    }

    fn environment(pid: u32) -> Environment {
        let mut bytes = Vec::new();
        let read = File::open(format!("/proc/{pid}/environ"))
            .and_then(|file| file.take(ENVIRON_MAX + 1).read_to_end(&mut bytes));
        match read {
            Ok(length) if length as u64 > ENVIRON_MAX => Environment::Hidden,
            Ok(_) => match sign(&bytes, |&byte| byte == 0) {
                Some(sign) => Environment::Marked(sign),
                None => Environment::Unmarked,
            },
            Err(error) if error.kind() == ErrorKind::PermissionDenied && !is_ours(pid) => Environment::Foreign,
            Err(_) => Environment::Hidden,
        }
    }

    /// Whether the process is this user's. The owner of its folder would not say: one that may not be traced shows as
    /// root's there.
    fn is_ours(pid: u32) -> bool {
        let user = |status: std::io::Result<String>| {
            let status = status.ok()?;
            let line = status.lines().find_map(|line| line.strip_prefix("Uid:"))?;
            line.split_whitespace().next().map(str::to_owned)
        };
        let theirs = user(fs::read_to_string(format!("/proc/{pid}/status")));
        // Unknown is not foreign.
        theirs.is_none() || theirs == user(fs::read_to_string("/proc/self/status"))
    }
}

/// By `ps`, which every Unix has. It is asked by its full name: a session may have put another one into the path.
#[cfg(any(test, not(target_os = "linux")))]
mod by_ps {
    use std::{
        collections::BTreeMap,
        path::Path,
        process::{Command, Stdio},
    };

    use super::{Environment, sign};

    /// Shows the environment behind the arguments, of any length.
    const WITH_ENVIRONMENT: &str = if cfg!(target_os = "macos") { "-Eww" } else { "eww" };

    fn ps(args: &[&str]) -> Option<Vec<u8>> {
        let path = ["/bin/ps", "/usr/bin/ps"].into_iter().find(|path| Path::new(path).exists())?;
        let out = Command::new(path).args(args).stdin(Stdio::null()).stderr(Stdio::null()).output().ok()?;
        Some(out.stdout)
    }

    pub(super) fn ancestors(parent: u32) -> (Vec<u32>, bool) {
        let text = ps(&["-ax", "-o", "pid=", "-o", "ppid="]).unwrap_or_default();
        let text = String::from_utf8_lossy(&text).into_owned();
        let parents: BTreeMap<u32, u32> = text
            .lines()
            .filter_map(|line| {
                let mut numbers = line.split_whitespace().map(str::parse);
                Some((numbers.next()?.ok()?, numbers.next()?.ok()?))
            })
            .collect();
        super::follow(parent, |pid| parents.get(&pid).copied())
    }

    #[cfg(not(target_os = "linux"))]
    pub(super) fn namespaces() -> Option<String> {
        None
    }

    pub(super) fn environments(pids: &[u32]) -> Vec<Environment> {
        let ours = users(&[std::process::id()]).pop().flatten();
        let users = users(pids);
        pids.iter().zip(users).map(|(&pid, user)| environment(pid, user.is_none() || user == ours)).collect()
    }

    /// The line of a process: its arguments, and behind them its environment, where `ps` may see that. Arguments that
    /// look like a sign are taken for one: to refuse wrongly does less harm than to let an agent answer.
    fn environment(pid: u32, ours: bool) -> Environment {
        let pid = pid.to_string();
        let with = ps(&[WITH_ENVIRONMENT, "-o", "command=", "-p", &pid]).unwrap_or_default();
        let without = ps(&["-ww", "-o", "command=", "-p", &pid]).unwrap_or_default();
        match sign(&with, u8::is_ascii_whitespace) {
            Some(sign) => Environment::Marked(sign),
            None if with.trim_ascii().len() > without.trim_ascii().len() => Environment::Unmarked,
            // Nothing was shown: it has none, or it is not for us.
            None if ours => Environment::Hidden,
            None => Environment::Foreign,
        }
    }

    fn users(pids: &[u32]) -> Vec<Option<String>> {
        let user = |pid: &u32| {
            let out = ps(&["-o", "uid=", "-p", &pid.to_string()])?;
            let user = String::from_utf8_lossy(&out).trim().to_owned();
            (!user.is_empty()).then_some(user)
        };
        pids.iter().map(user).collect()
    }
}

#[cfg(not(target_os = "linux"))]
use by_ps as system;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_way_up_ends() {
        let parents = |pid| match pid {
            9 => Some(5),
            5 => Some(1),
            1 => Some(0),
            20 => Some(21),
            21 => Some(20),
            _ => None,
        };
        assert_eq!(follow(9, parents), (vec![9, 5, 1], true));
        assert_eq!(follow(0, parents), (vec![], true));
        assert_eq!(follow(7, parents), (vec![7], false), "one that ended meanwhile");
        assert_eq!(follow(20, parents), (vec![20, 21], false), "a circle");
        assert_eq!(follow(2, |pid| Some(pid + 1)).0.len(), GENERATIONS);
    }

    #[test]
    fn signs_are_found_and_cleaned() {
        let found = |text: &str| sign(text.as_bytes(), |&byte| byte == 0);
        assert_eq!(found("A=1\0RALPH_PROCESS_MARK=run-1:group-2\0"), Some("run-1:group-2".to_owned()));
        assert_eq!(
            found("RALPH_PROCESS_MARK=m\0RALPH_RUN_ID=20260518-021145-a1b2c3"),
            Some("20260518-021145-a1b2c3".to_owned())
        );
        assert_eq!(found("RALPH_RUN_ID=a\u{1b}[2J b"), Some("a--2J-b".to_owned()));
        for nothing in ["", "A=RALPH_RUN_ID=1", "RALPH_RUN_ID", "RALPH_RUN_ID=", "RALPH_RUN_IDS=1", "XRALPH_RUN_ID=1"] {
            assert_eq!(found(nothing), None, "{nothing}");
        }
        assert_eq!(found("RALPH_RUN_ID=\0RALPH_RUN_ID=2"), Some("2".to_owned()));
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn namespaces_are_those_of_a_child_too() {
        let found = namespaces().unwrap();
        assert!(found.starts_with("user:[") && found.contains("] pid:["), "{found}");
        let script = "echo \"$(readlink /proc/self/ns/user) $(readlink /proc/self/ns/pid)\"";
        let child = std::process::Command::new("sh").args(["-c", script]).output().unwrap();
        assert_eq!(String::from_utf8_lossy(&child.stdout).trim(), found);
    }

    /// What other platforms use says the same here, where both can be asked.
    #[cfg(target_os = "linux")]
    #[test]
    fn ps_says_the_same() {
        let (pids, whole) = system::ancestors(parent_id());
        assert!(whole && !pids.is_empty());
        assert_eq!(by_ps::ancestors(parent_id()), (pids, true));
        let start = |sign: Option<&str>| {
            let mut command = std::process::Command::new("sleep");
            command.arg("60").env_clear().env("PATH", "/usr/bin:/bin");
            command.envs(sign.map(|sign| ("RALPH_RUN_ID", sign))).spawn().unwrap()
        };
        let mut children = [start(Some("run-1")), start(None)];
        let pids = children.each_ref().map(std::process::Child::id);
        // `spawn` returns once the child has executed its program, so that its environment is there.
        let found = (system::environments(&pids), by_ps::environments(&pids));
        for child in &mut children {
            child.kill().unwrap();
            child.wait().unwrap();
        }
        let expected = vec![Environment::Marked("run-1".to_owned()), Environment::Unmarked];
        assert_eq!(found, (expected.clone(), expected));
    }
}
