//! Finds and kills what left its process group.
//!
//! Two means, both Linux's. A **mark** in the environment, inherited by all descendants wherever they go, is looked
//! for in `/proc/*/environ`; it works after a crash of ours too, and misses a process that cleared its environment. A
//! **subreaper** is given all orphans among its descendants, whatever they did to their environment; it is a property
//! of the whole program, so that a library must not become one unasked.

use std::{
    collections::BTreeMap,
    io,
    process::{Child, ExitStatus},
    sync::{
        Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    time::{SystemTime, UNIX_EPOCH},
};

use rustix::process::Pid;

/// The variable that holds the marks of a process, outermost first, with `:` in between.
///
/// Marks nest, so that Ralph can run under Ralph: what an inner one starts still carries the outer one's mark.
pub const MARK_VARIABLE: &str = "RALPH_PROCESS_MARK";

/// What came of a sweep.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Swept {
    /// How many processes were killed.
    pub killed: u32,
    /// Whether it is known that none is left. `false` where there are no means to look for them.
    pub clean: bool,
}

/// The leaders that this program has started and not yet reaped, with the marks of their groups.
///
/// Held while one is started, reaped or looked for, so that nobody takes a child that is just being started for an
/// adopted orphan.
static LEADERS: Mutex<BTreeMap<i32, Option<String>>> = Mutex::new(BTreeMap::new());

static SUBREAPER: AtomicBool = AtomicBool::new(false);

fn leaders() -> MutexGuard<'static, BTreeMap<i32, Option<String>>> {
    LEADERS.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Starts a leader and remembers it.
pub(crate) fn register(mark: Option<&str>, spawn: impl FnOnce() -> io::Result<Child>) -> io::Result<Child> {
    let mut leaders = leaders();
    let child = spawn()?;
    leaders.insert(child.id().cast_signed(), mark.map(str::to_owned));
    Ok(child)
}

/// Reaps a leader that has ended and forgets it.
pub(crate) fn unregister(pid: Pid, reap: impl FnOnce() -> io::Result<ExitStatus>) -> io::Result<ExitStatus> {
    let mut leaders = leaders();
    leaders.remove(&pid.as_raw_nonzero().get());
    reap()
}

/// The value of the variable for a child under `marks`, inside the marks that we run under ourselves.
pub(crate) fn nested(marks: &[Option<&str>]) -> Option<String> {
    let outer = std::env::var(MARK_VARIABLE).ok().filter(|outer| !outer.is_empty());
    let marks = marks.iter().flatten().map(|mark| clean_mark(mark)).filter(|mark| !mark.is_empty());
    let all: Vec<String> = outer.into_iter().chain(marks).collect();
    (!all.is_empty()).then(|| all.join(":"))
}

/// A mark that no other process group has, on this machine at this time.
pub(crate) fn new_mark() -> String {
    static COUNT: AtomicU64 = AtomicU64::new(0);
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let count = COUNT.fetch_add(1, Ordering::Relaxed);
    format!("group-{}-{}-{count}", std::process::id(), now.as_nanos())
}

/// A mark without the characters that separate marks or cannot stand in a variable.
fn clean_mark(mark: &str) -> String {
    mark.chars().map(|c| if c.is_ascii_alphanumeric() || "._/-".contains(c) { c } else { '-' }).collect()
}

pub(crate) fn is_subreaper() -> bool {
    SUBREAPER.load(Ordering::SeqCst)
}

/// Whether nothing but leaders is seen below this program, where it would be given all orphans. Cheap, but a child may be
/// missed while another one ends: [`is_childless`] is the proof.
pub(crate) fn seems_alone() -> bool {
    is_subreaper() && system::seems_alone()
}

/// Whether this program has no child at all, and hence, if it is given all orphans, nothing that it started is left.
pub(crate) fn is_childless() -> bool {
    use rustix::process::{WaitId, WaitIdOptions, waitid};
    let options = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
    matches!(waitid(WaitId::All, options), Err(rustix::io::Errno::CHILD))
}

/// Makes this program the one that orphans among its descendants are given to, so that no escape from a process group
/// goes unseen. Whether that is so now: only Linux can, with a `/proc` that lists children.
///
/// For a program that starts **all** its children by this crate: at the end of each run a child that this crate did
/// not start counts as such an orphan and is killed. A library must not call this.
pub fn become_subreaper() -> bool {
    #[cfg(target_os = "linux")]
    if std::fs::read("/proc/thread-self/children").is_ok()
        && rustix::process::set_child_subreaper(Some(rustix::process::getpid())).is_ok()
    {
        SUBREAPER.store(true, Ordering::SeqCst);
    }
    is_subreaper()
}

/// Kills every process that carries `mark`, until none is left; this process is spared. Descendants carry it too. No
/// process carries the empty mark.
///
/// For the time after a crash, with the mark that was recorded before it (see [`Command::mark`](crate::Command::mark)).
/// Blocks the thread: a millisecond or a few
/// where there is nothing to kill, two seconds at most.
pub fn sweep(mark: &str) -> Swept {
    if mark.is_empty() {
        return Swept::default();
    }
    system::sweep(&clean_mark(mark))
}

/// How many live processes carry `mark`; `None` where that cannot be known.
pub(crate) fn look(mark: &str) -> Option<u32> {
    system::look(&clean_mark(mark))
}

/// Whether a group has a member that is not a zombie. Asked only where there is some member.
pub(crate) fn group_is_alive(group: Pid) -> bool {
    system::group_is_alive(group)
}

#[cfg(target_os = "linux")]
mod system {
    use std::{
        collections::BTreeSet,
        fs,
        io::Read as _,
        path::Path,
        time::{Duration, Instant},
    };

    use rustix::{
        io::Errno,
        process::{
            Pid, PidfdFlags, Signal, WaitId, WaitIdOptions, getpid, kill_process, pidfd_open, pidfd_send_signal, waitid,
        },
    };

    use super::{MARK_VARIABLE, Swept, is_subreaper, leaders};

    /// How long a sweep goes on while it still finds something.
    const ENOUGH: Duration = Duration::from_secs(2);

    /// How much of an environment is read. The kernel allows more only to those who raise its limits.
    const ENVIRON_MAX: u64 = 4 << 20;

    pub(super) fn sweep(mark: &str) -> Swept {
        let deadline = Instant::now() + ENOUGH;
        let mut killed = BTreeSet::new();
        loop {
            let Some(found) = marked(mark) else {
                return Swept { killed: count(&killed), clean: false };
            };
            let orphans = if is_subreaper() { adopted(mark) } else { Orphans::default() };
            for &pid in &found {
                kill_marked(pid, mark);
            }
            killed.extend(found.iter().chain(&orphans.killed).copied());
            let left = found.len() + orphans.killed.len();
            if left == 0 || Instant::now() > deadline {
                return Swept { killed: count(&killed), clean: left == 0 && !orphans.unknown };
            }
            std::thread::sleep(Duration::from_millis(1));
        }
    }

    fn count(pids: &BTreeSet<i32>) -> u32 {
        u32::try_from(pids.len()).unwrap_or(u32::MAX)
    }

    pub(super) fn look(mark: &str) -> Option<u32> {
        marked(mark).map(|pids| u32::try_from(pids.len()).unwrap_or(u32::MAX))
    }

    /// All processes but this one that carry the mark. A zombie has no environment any more, so it never does.
    fn marked(mark: &str) -> Option<Vec<i32>> {
        let own = getpid().as_raw_nonzero().get();
        let mut buffer = Vec::new();
        let mut found = Vec::new();
        for entry in fs::read_dir("/proc").ok()? {
            let Some(pid) = entry.ok().and_then(|entry| pid_of(&entry.file_name())) else {
                continue;
            };
            if pid != own && carries(pid, mark, &mut buffer) {
                found.push(pid);
            }
        }
        Some(found)
    }

    fn pid_of(name: &std::ffi::OsStr) -> Option<i32> {
        name.to_str()?.parse().ok()
    }

    /// Whether a process carries a mark. One that cannot be read is somebody else's or gone.
    fn carries(pid: i32, mark: &str, buffer: &mut Vec<u8>) -> bool {
        marks(pid, buffer).is_some_and(|marks| marks.split(|&b| b == b':').any(|m| m == mark.as_bytes()))
    }

    fn marks(pid: i32, buffer: &mut Vec<u8>) -> Option<&[u8]> {
        buffer.clear();
        let file = fs::File::open(format!("/proc/{pid}/environ")).ok()?;
        file.take(ENVIRON_MAX).read_to_end(buffer).ok()?;
        buffer.split(|&b| b == 0).find_map(|var| var.strip_prefix(MARK_VARIABLE.as_bytes())?.strip_prefix(b"="))
    }

    /// Kills a process if it is still the marked one: its id may belong to another by now.
    fn kill_marked(pid: i32, mark: &str) {
        let Some(pid) = Pid::from_raw(pid) else { return };
        match pidfd_open(pid, PidfdFlags::empty()) {
            Ok(handle) => {
                if carries(pid.as_raw_nonzero().get(), mark, &mut Vec::new()) {
                    let _ = pidfd_send_signal(handle, Signal::KILL);
                }
            }
            Err(Errno::SRCH) => {}
            // An old kernel or a sandbox without such handles.
            Err(_) => {
                let _ = kill_process(pid, Signal::KILL);
            }
        }
    }

    #[derive(Default)]
    struct Orphans {
        killed: Vec<i32>,
        /// There were some that may belong to another run.
        unknown: bool,
    }

    /// Reaps adopted orphans that have ended, and kills those that are ours: by their mark, or, if they have lost it,
    /// because there is no other run that they could belong to.
    fn adopted(mark: &str) -> Orphans {
        // Held throughout: an orphan is a child that is not in the list.
        let leaders = leaders();
        let others: BTreeSet<&str> =
            leaders.values().flatten().map(String::as_str).filter(|other| *other != mark).collect();
        let mut orphans = Orphans::default();
        let mut buffer = Vec::new();
        for pid in children() {
            let Some(id) = Pid::from_raw(pid).filter(|_| !leaders.contains_key(&pid)) else {
                continue;
            };
            if reap(id) {
                continue;
            }
            let marks: Vec<&[u8]> =
                marks(pid, &mut buffer).map(|marks| marks.split(|&b| b == b':').collect()).unwrap_or_default();
            let has = |mark: &str| marks.contains(&mark.as_bytes());
            if others.iter().any(|other| has(other)) {
                continue;
            }
            if has(mark) || others.is_empty() {
                // A child of ours: its id stays its own until we reap it.
                let _ = kill_process(id, Signal::KILL);
                orphans.killed.push(pid);
            } else {
                orphans.unknown = true;
            }
        }
        orphans
    }

    pub(super) fn seems_alone() -> bool {
        let leaders = leaders();
        children().iter().all(|pid| leaders.contains_key(pid))
    }

    /// Takes away the zombie of a child, if it is one.
    fn reap(pid: Pid) -> bool {
        let options = WaitIdOptions::EXITED | WaitIdOptions::NOHANG;
        matches!(waitid(WaitId::Pid(pid), options), Ok(Some(_)))
    }

    /// All children of this process, of whichever thread.
    fn children() -> Vec<i32> {
        let Ok(tasks) = fs::read_dir("/proc/self/task") else { return Vec::new() };
        tasks
            .flatten()
            .filter_map(|task| fs::read_to_string(task.path().join("children")).ok())
            .flat_map(|text| text.split_whitespace().map(str::to_owned).collect::<Vec<_>>())
            .filter_map(|pid| pid.parse().ok())
            .collect()
    }

    pub(super) fn group_is_alive(group: Pid) -> bool {
        let Ok(entries) = fs::read_dir("/proc") else { return true };
        entries
            .flatten()
            .filter(|entry| pid_of(&entry.file_name()).is_some())
            .any(|entry| member(&entry.path(), group) == Some(true))
    }

    /// Whether the process is a member of the group and not a zombie.
    fn member(process: &Path, group: Pid) -> Option<bool> {
        let stat = fs::read_to_string(process.join("stat")).ok()?;
        // The name, in parentheses, may hold anything.
        let mut fields = stat.rsplit_once(')')?.1.split_whitespace();
        let state = fields.next()?;
        let id: i32 = fields.nth(1)?.parse().ok()?;
        Some(id == group.as_raw_nonzero().get() && !matches!(state, "Z" | "X"))
    }
}

#[cfg(not(target_os = "linux"))]
mod system {
    use rustix::process::Pid;

    use super::Swept;

    pub(super) fn sweep(_mark: &str) -> Swept {
        Swept { killed: 0, clean: false }
    }

    pub(super) fn look(_mark: &str) -> Option<u32> {
        None
    }

    pub(super) fn seems_alone() -> bool {
        false
    }

    pub(super) fn group_is_alive(_group: Pid) -> bool {
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mark_cannot_break_out_of_its_place() {
        assert_eq!(clean_mark("run-1/P1/R03.2_x"), "run-1/P1/R03.2_x");
        assert_eq!(clean_mark("a:b\0c=d é"), "a-b-c-d--");
    }
}
