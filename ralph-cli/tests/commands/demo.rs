use std::{fs, path::Path};

use super::support::{Scratch, filters};

#[test]
fn the_demo_is_a_story_that_ends_as_it_should() {
    let scratch = Scratch::empty();
    let said = scratch.ralph_in(&scratch.home(), &["demo"]);
    assert_eq!((said.code, said.stderr.as_str()), (0, ""), "{}", said.stdout);
    insta::with_settings!({filters => filters()}, { insta::assert_snapshot!(said.stdout) });
    assert!(said.stdout.lines().all(|line| line.chars().count() <= 100), "{}", said.stdout);
    // Neither the known projects nor workspaces: the user's folders are as they were.
    assert_eq!(fs::read_dir(scratch.home()).unwrap().count(), 0, "nothing is left behind");
    assert_eq!(fs::read_dir(scratch.temporary()).unwrap().count(), 0, "nothing is left behind");
}

#[test]
fn a_demo_that_is_kept_can_be_looked_at() {
    let scratch = Scratch::empty();
    let said = scratch.ralph_in(&scratch.home(), &["demo", "--keep"]);
    assert_eq!(said.code, 0, "{}", said.stderr);
    let (_, around) = said.stdout.split_once("Look around:").unwrap();
    let folder: &Path = around.lines().find_map(|line| line.trim().strip_prefix("cd ")).unwrap().as_ref();
    let mut said = Vec::new();
    for line in around.lines() {
        // The command, and what it shows behind two spaces.
        let Some((command, _)) = line.trim().split_once("  ") else { continue };
        let words: Vec<&str> = command.split(' ').collect();
        said.push(match words.as_slice() {
            ["ralph", args @ ..] => {
                let called = scratch.ralph_in(folder, args);
                assert_eq!((called.code, called.stderr.as_str()), (0, ""), "{command}");
                called.stdout
            }
            ["cat", file] => fs::read_to_string(folder.join(file)).unwrap(),
            _ => panic!("{line}"),
        });
    }
    let expected = [
        "SUCCESS: 6 items done",
        "cat: hours.cache",
        "echo 'Monday 9-18'",
        "Nothing waits for you.",
        "by you: `Postmark`",
        "- [x] P3 — Tell the town: done",
    ];
    assert_eq!(said.len(), expected.len(), "{around}");
    for (said, expected) in said.iter().zip(expected) {
        assert!(said.contains(expected), "{expected}: {said}");
    }
    let prd = fs::read_to_string(folder.join("ralph-loop/PRD-P2.md")).unwrap();
    assert!(prd.contains("- Decision D-001 (you, ") && prd.contains("- Decision D-002 (you, "), "{prd}");
    let git = |args: &[&str]| scratch.git(&[&["-C", folder.to_str().unwrap()], args].concat());
    let files = |branch: &str| git(&["ls-tree", "--name-only", branch]);
    assert!(files("ralph/master-plan").contains("greet.sh") && !files("main").contains("greet.sh"));
    assert!(git(&["show", "ralph/master-plan:package.json"]).contains("qrcode"));
    assert_eq!(fs::read_dir(scratch.home()).unwrap().count(), 0, "nothing is registered");
}
