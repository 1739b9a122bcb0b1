//! What cannot be run says why.

use std::{future::pending, os::unix::fs::PermissionsExt as _, path::Path};

use ralph_process::{Command, End, Limits, MARK_VARIABLE, Output, SpawnError, run};

use crate::support::Place;

async fn start(place: &Place, command: &Command) -> Result<End, SpawnError> {
    let finished = run(command, &place.output(), &Limits::default(), pending(), |_| ()).await;
    finished.map(|finished| finished.end)
}

fn script(path: &Path, text: &str, mode: u32) {
    std::fs::write(path, text).unwrap();
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap();
}

#[tokio::test]
async fn a_program_that_is_missing() {
    let place = Place::new();
    for program in ["no-such-program-anywhere", "/no/such/program", "./none"] {
        let error = start(&place, &Command::new(program, place.path(""))).await.unwrap_err();
        assert!(matches!(error, SpawnError::NotFound { .. }), "{program}: {error:?}");
        assert!(error.to_string().contains(program));
    }
}

#[tokio::test]
async fn a_program_that_cannot_be_executed() {
    let place = Place::new();
    script(&place.path("plain"), "#!/bin/sh\n", 0o644);
    script(&place.path("lost"), "#!/no/such/interpreter\n", 0o755);
    script(&place.path("neither"), "neither a program nor a script", 0o755);
    for name in ["plain", "lost", "neither", ""] {
        let command = Command::new(place.path(name), place.path(""));
        let error = start(&place, &command).await.unwrap_err();
        assert!(matches!(error, SpawnError::NotExecutable { .. }), "{name}: {error:?}");
    }
    let command = Command::new("plain", place.path("")).env("PATH", place.path(""));
    let error = start(&place, &command).await.unwrap_err();
    assert!(matches!(error, SpawnError::NotExecutable { .. }), "{error:?}");
}

#[tokio::test]
async fn a_bare_name_is_looked_up_in_the_path_of_the_process() {
    let place = Place::new();
    std::fs::create_dir(place.path("bin")).unwrap();
    std::fs::create_dir(place.path("plain")).unwrap();
    script(&place.path("bin/tool"), "#!/bin/sh\nexit 11\n", 0o755);
    script(&place.path("plain/tool"), "#!/bin/sh\nexit 12\n", 0o644);
    let path = std::env::join_paths([place.path("plain"), place.path("bin")]).unwrap();
    let command = Command::new("tool", place.path("")).env("PATH", path);
    assert_eq!(start(&place, &command).await.unwrap(), End::Exited(11));
    let command = Command::new("bin/tool", place.path(""));
    assert_eq!(start(&place, &command).await.unwrap(), End::Exited(11));
    // The current folder is no place to look, whatever the path says.
    let command = Command::new("tool", place.path("bin")).env("PATH", ":.:");
    assert!(matches!(start(&place, &command).await, Err(SpawnError::NotFound { .. })));
}

#[tokio::test]
async fn a_folder_that_is_missing() {
    let place = Place::new();
    let error = start(&place, &Command::shell("true", place.path("none"))).await.unwrap_err();
    assert!(matches!(error, SpawnError::Folder { .. }), "{error:?}");
}

#[tokio::test]
async fn a_log_that_cannot_be_written() {
    let place = Place::new();
    let output = Output::merged(place.path("none/log"));
    let command = place.shell("echo > started");
    let error = run(&command, &output, &Limits::default(), pending(), |_| ()).await.unwrap_err();
    assert!(matches!(error, SpawnError::Output { .. }), "{error:?}");
    assert!(!place.path("started").exists());
}

#[tokio::test]
async fn arguments_that_are_too_long() {
    let place = Place::new();
    let command = Command::new("/bin/echo", place.path("")).arg("x".repeat(10_000_000));
    let error = start(&place, &command).await.unwrap_err();
    assert!(matches!(error, SpawnError::Start { .. }), "{error:?}");
}

#[tokio::test]
async fn the_environment_is_what_was_given() {
    let place = Place::new();
    let program = ["/usr/bin/env", "/bin/env"].into_iter().find(|path| Path::new(path).exists());
    let command = Command::new(program.unwrap(), place.path(""))
        .env("ONE", "1")
        .env("ONE", "2")
        .env(MARK_VARIABLE, "forged")
        .mark("mark 1");
    start(&place, &command).await.unwrap();
    let log = String::from_utf8(place.log()).unwrap();
    let mut lines: Vec<&str> = log.lines().collect();
    lines.sort_unstable();
    let (mark, rest) = lines.split_last().unwrap();
    assert_eq!(rest, ["ONE=2"]);
    // We may run under a mark ourselves.
    assert!(mark.starts_with(MARK_VARIABLE) && mark.contains("mark-1:group-"), "{mark}");
}
