//! Verifiers that look at a revision.

use std::sync::Arc;

use ralph_core::{Cx, Phase, RunId, Stage, Target, Verifier, VerifyError};
use ralph_verify::{FileContains, FileExists, Grep};

use crate::policy::support::Files;

fn target() -> Target {
    let mut target = Target::new("/nowhere", Stage::Candidate, RunId::new("run"), Phase::new("P1", []).into());
    let files = Files::new()
        .file("src/lib.rs", "pub fn parse() {}\n")
        .file("ralph-loop/PRD-P1.md", "- [ ] R01: add `fn render`\n")
        .file("prd.json", "{\"title\": \"fn render\"}")
        .file("prd.jsonc", "fn other")
        .link("link", "src/lib.rs");
    target.tree = Some(Arc::new(files));
    target
}

fn said(verifier: &dyn Verifier) -> String {
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let verdict = runtime.block_on(verifier.verify(&target(), &Cx::new())).unwrap();
    format!("{} {}", if verdict.passed() { "yes" } else { "no" }, verdict.evidence().summary)
}

#[test]
fn what_is_there_and_what_is_not() {
    for (verifier, expected) in [
        (Arc::new(FileExists::new("src/lib.rs")) as Arc<dyn Verifier>, "yes file-exists: src/lib.rs is there"),
        (Arc::new(FileExists::new("src")), "no file-exists: src is not there"),
        (Arc::new(FileExists::new("../src/lib.rs")), "no file-exists: ../src/lib.rs is not there"),
        (Arc::new(FileContains::new("src/lib.rs", "fn parse()")), "yes file-contains: src/lib.rs has the text"),
        // A fixed text, no pattern.
        (Arc::new(FileContains::new("src/lib.rs", "fn .*")), "no file-contains: src/lib.rs does not have the text"),
        (Arc::new(FileContains::new("none", "x")), "no file-contains: none is not there"),
        (Arc::new(Grep::new("fn parse")), "yes grep: the text is in src/lib.rs"),
        (Arc::new(Grep::new("fn render").without(["prd.json"])), "no grep: the text is in no file"),
        (Arc::new(Grep::new("fn render")), "yes grep: the text is in prd.json"),
        (Arc::new(Grep::new("fn other").without(["prd.json"])), "yes grep: the text is in prd.jsonc"),
    ] {
        assert_eq!(said(&*verifier), expected);
    }
}

#[test]
fn without_a_revision_or_a_text_they_are_broken() {
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let broken = |verifier: &dyn Verifier, target: &Target| {
        matches!(runtime.block_on(verifier.verify(target, &Cx::new())), Err(VerifyError::Broken { .. }))
    };
    let bare = Target::new("/nowhere", Stage::Candidate, RunId::new("run"), Phase::new("P1", []).into());
    assert!(broken(&FileExists::new("a"), &bare) && broken(&Grep::new("a"), &bare));
    assert!(broken(&Grep::new(""), &target()) && broken(&FileContains::new("src/lib.rs", ""), &target()));
    assert!(!broken(&FileContains::new("src/lib.rs", "a"), &target()));
}
