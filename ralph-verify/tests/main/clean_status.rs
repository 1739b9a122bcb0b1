//! The folder against the revision, with whatever a hostile command may leave there.

use std::{
    fs,
    os::unix::fs::{PermissionsExt as _, symlink},
    path::Path,
    sync::Arc,
    time::Duration,
};

use ralph_core::{
    Cx, EntryKind, Phase, RunId, Stage, Target, Tree, VcsError, Verdict, Verifier, VerifierExt as _, VerifyError,
    async_trait,
    combine::all,
    testing::suites::verifier::{Behaviour, VerifierFixture},
};
use ralph_verify::{CleanStatus, CommandVerifier};

use crate::policy::support::Files;

/// A folder that holds this revision.
fn placed() -> (tempfile::TempDir, Files) {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    fs::create_dir_all(at("src/deep")).unwrap();
    fs::create_dir(at(".git")).unwrap();
    fs::write(at(".git/config"), "[core]").unwrap();
    for (name, text) in
        [("README.md", "hello\n"), ("src/lib.rs", "fn a() {}\n"), ("src/deep/x", ""), ("run", "#!/bin/sh\n")]
    {
        fs::write(at(name), text).unwrap();
        fs::set_permissions(at(name), fs::Permissions::from_mode(if name == "run" { 0o755 } else { 0o644 })).unwrap();
    }
    symlink("src/lib.rs", at("link")).unwrap();
    symlink("/nowhere", at("dangling")).unwrap();
    let files = Files::new()
        .file("README.md", "hello\n")
        .file("src/lib.rs", "fn a() {}\n")
        .file("src/deep/x", "")
        .with(EntryKind::Executable, "run", "#!/bin/sh\n")
        .link("link", "src/lib.rs")
        .link("dangling", "/nowhere");
    (folder, files)
}

fn target(folder: &Path, files: impl Tree) -> Target {
    let mut target = Target::new(folder, Stage::Candidate, RunId::new("run"), Phase::new("P1", []).into());
    target.tree = Some(Arc::new(files));
    target
}

fn ask(verifier: &dyn Verifier, target: &Target, cx: &Cx) -> Result<Verdict, VerifyError> {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(verifier.verify(target, cx))
}

/// What is named as different, one line each, in order.
fn differences(verifier: &CleanStatus, folder: &Path, files: &Files) -> Vec<String> {
    let verdict = ask(verifier, &target(folder, files.clone()), &Cx::new()).unwrap();
    let mut named: Vec<String> = verdict.evidence().tail.lines().map(str::to_owned).collect();
    named.sort();
    assert_eq!(verdict.passed(), named.is_empty(), "{verdict:?}");
    named
}

#[test]
fn a_folder_that_was_just_placed_is_clean() {
    let (folder, files) = placed();
    assert_eq!(differences(&CleanStatus::new(), folder.path(), &files), [""; 0]);
    // Folders without files are in no revision.
    fs::create_dir_all(folder.path().join("empty/er")).unwrap();
    assert_eq!(differences(&CleanStatus::new(), folder.path(), &files), [""; 0]);
}

type Change = fn(&Path);

#[test]
fn each_change_is_named() {
    let changes: [(Change, &[&str]); 20] = [
        (|at| fs::write(at.join("README.md"), "hellO\n").unwrap(), &["changed: README.md"]),
        (|at| fs::write(at.join("README.md"), "").unwrap(), &["changed: README.md"]),
        (|at| fs::write(at.join("src/lib.rs"), "fn a() {}\n\n").unwrap(), &["changed: src/lib.rs"]),
        (|at| fs::write(at.join("new"), "").unwrap(), &["added: new"]),
        (|at| fs::remove_file(at.join("src/deep/x")).unwrap(), &["missing: src/deep/x"]),
        (|at| fs::remove_dir_all(at.join("src")).unwrap(), &["missing: src/deep/x", "missing: src/lib.rs"]),
        (|at| fs::set_permissions(at.join("run"), fs::Permissions::from_mode(0o644)).unwrap(), &["changed: run"]),
        (
            |at| fs::set_permissions(at.join("README.md"), fs::Permissions::from_mode(0o755)).unwrap(),
            &["changed: README.md"],
        ),
        // Ignored by whatever settings, or by none.
        (|at| fs::write(at.join(".gitignore"), "*\n").unwrap(), &["added: .gitignore"]),
        (|at| fs::write(at.join(".git/info"), "*\n").unwrap(), &[]),
        // The `.git` of a folder in it is none of ours.
        (
            |at| {
                fs::create_dir(at.join("src/.git")).unwrap();
                fs::write(at.join("src/.git/HEAD"), "").unwrap();
            },
            &["added: src/.git/HEAD"],
        ),
        (|at| fs::write(at.join(".git."), "").unwrap(), &["added: .git."]),
        // Links are not followed, in no place.
        (
            |at| {
                fs::remove_file(at.join("link")).unwrap();
                symlink("README.md", at.join("link")).unwrap();
            },
            &["changed: link"],
        ),
        (
            |at| {
                fs::remove_file(at.join("link")).unwrap();
                fs::write(at.join("link"), "src/lib.rs").unwrap();
            },
            &["changed: link"],
        ),
        (
            |at| {
                fs::rename(at.join("README.md"), at.join(".git/kept")).unwrap();
                symlink(".git/kept", at.join("README.md")).unwrap();
            },
            &["changed: README.md"],
        ),
        (
            |at| {
                fs::rename(at.join("src"), at.join(".git/src")).unwrap();
                symlink(".git/src", at.join("src")).unwrap();
            },
            &["added: src", "missing: src/deep/x", "missing: src/lib.rs"],
        ),
        (|at| symlink(".", at.join("round")).unwrap(), &["added: round"]),
        // Nobody waits at a pipe.
        (|at| pipe(&at.join("pipe")), &["a pipe, socket or device: pipe"]),
        (
            |at| {
                fs::remove_file(at.join("README.md")).unwrap();
                pipe(&at.join("README.md"));
            },
            &["a pipe, socket or device: README.md"],
        ),
        // A file in the place of a folder, and one with a name of two lines.
        (
            |at| {
                fs::remove_dir_all(at.join("src")).unwrap();
                fs::write(at.join("src"), "").unwrap();
                fs::write(at.join("a\nb"), "").unwrap();
            },
            &["added: a\\u{a}b", "added: src", "missing: src/deep/x", "missing: src/lib.rs"],
        ),
    ];
    for (index, (change, expected)) in changes.into_iter().enumerate() {
        let (folder, files) = placed();
        change(folder.path());
        assert_eq!(differences(&CleanStatus::new(), folder.path(), &files), expected, "{index}");
    }
}

fn pipe(path: &Path) {
    assert!(std::process::Command::new("mkfifo").arg(path).status().unwrap().success());
}

#[test]
fn what_cannot_be_read_is_a_difference() {
    let (folder, files) = placed();
    let (file, below) = (folder.path().join("README.md"), folder.path().join("src"));
    fs::set_permissions(&file, fs::Permissions::from_mode(0o000)).unwrap();
    fs::set_permissions(&below, fs::Permissions::from_mode(0o000)).unwrap();
    let named = differences(&CleanStatus::new(), folder.path(), &files);
    let may_read_all = fs::read(&file).is_ok();
    fs::set_permissions(&below, fs::Permissions::from_mode(0o755)).unwrap();
    // Who runs the tests as root can read everything.
    let expected: &[&str] = if may_read_all { &[] } else { &["changed: README.md", "not readable: src"] };
    assert_eq!(named, expected);
}

#[test]
fn names_that_differ_in_case_are_two_names() {
    let (folder, files) = placed();
    fs::rename(folder.path().join("README.md"), folder.path().join("readme.md")).unwrap();
    assert_eq!(differences(&CleanStatus::new(), folder.path(), &files), ["added: readme.md", "missing: README.md"]);
}

#[test]
fn caches_that_are_named_do_not_count() {
    let (folder, files) = placed();
    for name in ["target/debug", "web/node_modules/x", "targets"] {
        fs::create_dir_all(folder.path().join(name)).unwrap();
        fs::write(folder.path().join(name).join("made"), "").unwrap();
    }
    // A link to elsewhere under such a name is not followed either.
    symlink("/", folder.path().join("node_modules")).unwrap();
    fs::write(folder.path().join("run"), "changed on purpose").unwrap();
    let without = |globs: &[&str]| CleanStatus::new().without(globs).unwrap();
    let caches = without(&["target/", "**/node_modules", "run"]);
    assert_eq!(differences(&caches, folder.path(), &files), ["added: targets/made"]);
    let all = without(&["target", "**/node_modules", "run", "t[a-z]*s/**"]);
    assert_eq!(differences(&all, folder.path(), &files), [""; 0]);
    let error = CleanStatus::new().without(["a/{b"]).unwrap_err();
    assert!(error.to_string().starts_with("`a/{b` is not a glob"), "{error}");
    assert!(CleanStatus::new().without(["/"]).is_err());
}

#[test]
fn a_thousand_differences_are_counted_and_some_are_named() {
    let (folder, files) = placed();
    for number in 0..1000 {
        fs::write(folder.path().join(format!("{number}-{}", "x".repeat(240))), "").unwrap();
    }
    // Larger than what is compared, without taking the space.
    fs::File::options().write(true).open(folder.path().join("README.md")).unwrap().set_len(1 << 40).unwrap();
    let verdict = ask(&CleanStatus::new(), &target(folder.path(), files), &Cx::new()).unwrap();
    let evidence = verdict.evidence();
    assert_eq!(evidence.summary, "clean-status: 1001 differences from the revision");
    assert!(evidence.tail.lines().count() == 20 && evidence.tail.len() < 8000, "{}", evidence.tail);
}

#[test]
fn without_a_revision_or_a_folder_it_is_broken() {
    let (folder, files) = placed();
    let bare = Target::new(folder.path(), Stage::Workspace, RunId::new("run"), Phase::new("P1", []).into());
    let broken = ask(&CleanStatus::new(), &bare, &Cx::new());
    assert!(matches!(broken, Err(VerifyError::Broken { .. })), "{broken:?}");
    // In the workspace nobody asks it then.
    assert!(ask(&CleanStatus::new().on_clean_checkout(), &bare, &Cx::new()).unwrap().passed());
    let gone = ask(&CleanStatus::new(), &target(&folder.path().join("gone"), files), &Cx::new());
    assert!(matches!(gone, Err(VerifyError::Other(_))), "{gone:?}");
}

#[test]
fn behind_a_command_it_tells_what_the_command_left() {
    for (command, passes) in [("cat README.md", true), ("echo more >>README.md", false), ("touch made", false)] {
        let (folder, files) = placed();
        let first: Arc<dyn Verifier> = Arc::new(CommandVerifier::default().only(command));
        let both = all([first, Arc::new(CleanStatus::new().on_clean_checkout())]);
        assert_eq!(ask(&both, &target(folder.path(), files), &Cx::new()).unwrap().passed(), passes, "{command}");
    }
}

/// The laws, on targets that know a revision.
mod laws {
    use super::*;

    /// What the suite's folder is compared with.
    #[derive(Debug)]
    enum Revision {
        None,
        Of(Files),
        /// Lets a heart beat for as long as it is asked, and answers nothing.
        Hangs,
    }

    #[derive(Debug)]
    struct With(CleanStatus, Revision);

    #[async_trait]
    impl Verifier for With {
        fn name(&self) -> &str {
            self.0.name()
        }

        async fn verify(&self, target: &Target, cx: &Cx) -> Result<Verdict, VerifyError> {
            let mut target = target.clone();
            target.tree = match &self.1 {
                Revision::None => None,
                Revision::Of(files) => Some(Arc::new(files.clone())),
                Revision::Hangs => Some(Arc::new(Hangs(target.folder.join("heartbeat")))),
            };
            self.0.verify(&target, cx).await
        }
    }

    #[derive(Debug)]
    struct Hangs(std::path::PathBuf);

    #[async_trait]
    impl Tree for Hangs {
        async fn read(&self, _: &[u8], _: usize) -> Result<Option<Vec<u8>>, VcsError> {
            Ok(None)
        }

        async fn kind(&self, _: &[u8]) -> Result<Option<EntryKind>, VcsError> {
            Ok(None)
        }

        async fn list(&self, _: &[u8]) -> Result<Vec<Vec<u8>>, VcsError> {
            for beats in 1.. {
                fs::write(&self.0, "x".repeat(beats)).unwrap();
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
            Ok(Vec::new())
        }
    }

    ralph_core::verifier_conformance!(async || {
        VerifierFixture::new(tempfile::tempdir().unwrap(), |behaviour| {
            let files = Files::new();
            let revision = match behaviour {
                Behaviour::Passes => Revision::Of(files),
                Behaviour::Fails => Revision::Of(files.file("missing", "")),
                Behaviour::Breaks => Revision::None,
                Behaviour::JudgesFolder => Revision::Of(files.file("good", "")),
                Behaviour::Hangs => Revision::Hangs,
                _ => return None,
            };
            Some(Arc::new(With(CleanStatus::new(), revision)))
        })
    });
}
