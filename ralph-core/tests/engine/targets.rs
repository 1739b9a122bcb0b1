//! What verifiers are told about what they judge.

use std::sync::{Arc, Mutex};

use ralph_core::{
    Cx, Revision, Stage, StopReason, Target, Tree, Verdict, Verifier, VerifyError, async_trait, testing::turn,
};

use super::{World, run};

/// Notes what it is shown, and passes.
#[derive(Clone, Debug, Default)]
struct Notes(Arc<Mutex<Vec<Note>>>);

#[derive(Clone, Debug)]
struct Note {
    stage: Stage,
    revision: Option<Revision>,
    base: Option<Revision>,
    /// The paths of both trees.
    files: [Option<Vec<String>>; 2],
}

#[async_trait]
impl Verifier for Notes {
    fn name(&self) -> &str {
        "notes"
    }

    async fn verify(&self, target: &Target, _: &Cx) -> Result<Verdict, VerifyError> {
        let files = [paths(target.tree.as_ref()).await, paths(target.base_tree.as_ref()).await];
        let (stage, revision, base) = (target.stage, target.revision.clone(), target.base.clone());
        self.0.lock().unwrap().push(Note { stage, revision, base, files });
        Ok(Verdict::new(true, "noted"))
    }
}

async fn paths(tree: Option<&Arc<dyn Tree>>) -> Option<Vec<String>> {
    let paths = tree?.list(b"").await.unwrap();
    Some(paths.into_iter().map(|path| String::from_utf8(path).unwrap()).collect())
}

#[test]
fn the_base_and_the_files_of_both_ends_are_told_where_they_are_known() {
    let world = World::new(2, [turn().writes("a", "1"), turn().writes("b", "2")]);
    let notes = Notes::default();
    assert_eq!(run(world.ralph_with(notes.clone())).stop.reason, StopReason::Success);
    let notes = notes.0.lock().unwrap().clone();
    let stages: Vec<Stage> = notes.iter().map(|note| note.stage).collect();
    use Stage::{Base, Candidate, Workspace};
    assert_eq!(stages, [Base, Workspace, Candidate, Workspace, Candidate]);
    let files = |names: &[&str]| Some(names.iter().map(|&name| name.to_owned()).collect::<Vec<_>>());

    assert_eq!((&notes[0].base, &notes[0].files), (&None, &[files(&[]), None]));
    assert_eq!((&notes[1].revision, &notes[1].base), (&None, &notes[0].revision));
    assert_eq!(notes[1].files, [None, files(&[])]);
    assert_eq!(notes[2].files, [files(&["a"]), files(&[])]);
    // What was accepted is the base of what comes next.
    assert_eq!(notes[3].base, notes[2].revision);
    assert_eq!(notes[4].files, [files(&["a", "b"]), files(&["a"])]);
}
