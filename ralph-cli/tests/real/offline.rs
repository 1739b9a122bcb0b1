//! The place of a scenario: a network with loopback alone, and processes that end with it.

use std::{env, fs, process::Command};

use super::install::{Clis, installed};

const WANTED: &str = "RALPH_REAL_CLIS";

/// Set for the same test, started again inside.
const INSIDE: &str = "RALPH_TEST_OFFLINE";

/// The root of a test: what it does, `scenario`, it does offline.
///
/// `test` is its whole name. The test starts itself once more in namespaces of its own, for network and processes,
/// and is there alone; what a scenario starts ends with it.
pub(super) fn offline(test: &str, scenario: impl FnOnce(&Clis)) {
    assert!(
        env::var_os(WANTED).is_some_and(|value| value == "1"),
        "this test installs the real agents from npm (800 MB) and runs them: set {WANTED}=1"
    );
    let clis = installed();
    if env::var_os(INSIDE).is_some() {
        // The control: what is alive is seen.
        let mut sleeper = Command::new("sleep").arg("1000").spawn().unwrap();
        assert_eq!(processes().len(), 1);
        sleeper.kill().unwrap();
        sleeper.wait().unwrap();
        scenario(&clis);
        assert_eq!(processes(), [""; 0], "left alive");
        return;
    }
    let mut again = Command::new("unshare");
    // Only root may have namespaces without one for users; inside, both are root.
    if !fs::metadata("/proc/self").is_ok_and(|meta| std::os::unix::fs::MetadataExt::uid(&meta) == 0) {
        again.args(["--user", "--map-root-user"]);
    }
    again.args(["--net", "--pid", "--fork", "--mount-proc", "--kill-child"]);
    again.args(["sh", "-c", r#"ip link set lo up && exec "$@""#, "sh"]).arg(env::current_exe().unwrap());
    again.args(["--exact", test, "--ignored", "--nocapture", "--test-threads=1"]).env(INSIDE, "1");
    let output = again.output().unwrap_or_else(|error| panic!("unshare, of util-linux, is needed: {error}"));
    let said = [output.stdout, output.stderr].map(|text| String::from_utf8_lossy(&text).into_owned());
    // A name that no test has would be a success of none.
    let passed = output.status.success() && said[0].contains("1 passed");
    assert!(passed, "{}\n{}\n{}", output.status, said[0], said[1]);
}

/// The processes of this namespace but ourselves, by their command lines. Those that have ended do not count.
fn processes() -> Vec<String> {
    let mut found = Vec::new();
    for entry in fs::read_dir("/proc").unwrap() {
        let folder = entry.unwrap().path();
        let pid = folder.file_name().unwrap().to_str().and_then(|name| name.parse::<u32>().ok());
        if pid.is_none_or(|pid| pid == std::process::id()) {
            continue;
        }
        // Gone in between: not alive.
        let Ok(stat) = fs::read_to_string(folder.join("stat")) else { continue };
        if stat.rsplit(')').next().is_some_and(|rest| rest.trim_start().starts_with('Z')) {
            continue;
        }
        let Ok(line) = fs::read(folder.join("cmdline")) else { continue };
        found.push(String::from_utf8_lossy(&line).replace('\0', " "));
    }
    found
}
