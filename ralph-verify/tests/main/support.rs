//! A folder to judge.

use std::path::PathBuf;

use ralph_core::{AttemptId, Cx, Evidence, Item, Phase, RunId, Stage, Target, Verdict, Verifier, VerifyError};

pub(crate) struct Place {
    folder: tempfile::TempDir,
}

impl Place {
    pub(crate) fn new() -> Self {
        Self { folder: tempfile::tempdir().unwrap() }
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub(crate) fn read(&self, name: &str) -> String {
        std::fs::read_to_string(self.path(name)).unwrap()
    }

    /// A target of an item with these commands, in a phase with those.
    pub(crate) fn target(&self, item: &[&str], phase: &[&str]) -> Target {
        let owned = |list: &[&str]| list.iter().map(|&text| text.to_owned()).collect();
        let mut the_item = Item::new("R03", "Something");
        the_item.verify = owned(item);
        let mut the_phase = Phase::new("P1", [the_item.clone()]);
        the_phase.verify = owned(phase);
        let name = the_phase.name(&the_item);
        let run = RunId::new("run-1");
        let mut target = Target::new(self.folder.path(), Stage::Candidate, run, the_phase.into());
        target.attempt = Some(AttemptId { item: name, number: 4 });
        target.with_item(the_item.into())
    }
}

pub(crate) async fn verify(verifier: &dyn Verifier, target: &Target) -> Verdict {
    verifier.verify(target, &Cx::new()).await.unwrap()
}

pub(crate) async fn broken(verifier: &dyn Verifier, target: &Target) -> (String, Evidence) {
    match verifier.verify(target, &Cx::new()).await {
        Err(VerifyError::Broken { why, evidence }) => (why, *evidence),
        other => unreachable!("not broken: {other:?}"),
    }
}
