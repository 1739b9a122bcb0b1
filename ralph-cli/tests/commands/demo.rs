use std::fs;

use super::support::{Scratch, filters};

#[test]
fn the_demo_is_a_story_that_ends_as_it_should() {
    let scratch = Scratch::empty();
    let said = scratch.ralph_in(&scratch.home(), &["demo"]);
    assert_eq!((said.code, said.stderr.as_str()), (0, ""), "{}", said.stdout);
    insta::with_settings!({filters => filters()}, { insta::assert_snapshot!(said.stdout) });
    assert!(said.stdout.lines().all(|line| line.chars().count() <= 100), "{}", said.stdout);
    assert_eq!(fs::read_dir(scratch.home()).unwrap().count(), 0, "nothing is left behind");
}

#[test]
fn a_demo_that_is_kept_can_be_looked_at() {
    let scratch = Scratch::empty();
    let said = scratch.ralph_in(&scratch.home(), &["demo", "--keep"]);
    assert_eq!(said.code, 0, "{}", said.stderr);
    let folder = said.stdout.lines().find_map(|line| line.trim().strip_prefix("cd ")).unwrap();
    let log = scratch.ralph_in(folder.as_ref(), &["log", "R03"]);
    assert!(log.code == 0 && log.stdout.contains("cat: hours.cache"), "{log:?}");
    let status = scratch.ralph_in(folder.as_ref(), &["status", "--json"]);
    let status: serde_json::Value = serde_json::from_str(&status.stdout).unwrap();
    assert_eq!(status["stop"]["reason"], "AWAITING_DECISIONS");
}
