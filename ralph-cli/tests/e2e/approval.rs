//! Without a person's approval of exactly this plan nothing begins, and nothing goes on.

use std::{
    fs,
    time::{Duration, SystemTime},
};

use jiff::{Timestamp, tz::TimeZone};

use super::{
    plans::{OPEN, SIGNED, same},
    support::{DILIGENT, Scratch, until},
};

/// Two phases that are open when their items are done.
fn plan() -> Scratch {
    let scratch = Scratch::planned(&[(1, &["Auto-Gate: test -s R01.txt", "Verify: test ! -e bad"]), (1, OPEN)]);
    scratch.edit("PRD-P1.md", "\n\n", "\n\nSetup: true\nEnv-Check: true\n\n");
    scratch
}

/// The same, approved by the command.
fn approved() -> Scratch {
    let scratch = plan();
    scratch.edit("MASTER-PLAN.md", SIGNED, "");
    scratch.approve();
    scratch
}

/// Runs; fails unless it was refused with these words and not one byte is different.
#[track_caller]
fn refused(scratch: &Scratch, args: &[&str], words: &[&str]) {
    let before = scratch.everything();
    scratch.run(args).not_approved(words);
    same(&before, &scratch.everything());
    assert_eq!(scratch.sessions(), [""; 0]);
}

/// The day that it is `ahead` of now in UTC.
fn day(ahead: Duration) -> String {
    TimeZone::UTC.to_datetime(Timestamp::try_from(SystemTime::now() + ahead).unwrap()).date().to_string()
}

const HOUR: Duration = Duration::from_secs(3600);

#[test]
fn what_is_no_signature_begins_nothing() {
    let scratch = plan();
    let tomorrow = day(HOUR * 38 + Duration::from_secs(60));
    let future = format!("Approved-By: lead, {tomorrow}\n");
    for (line, words) in [
        ("", &["no line `Approved-By:`"][..]),
        ("Approved-By:\n", &["MASTER-PLAN.md:1", "it is empty"]),
        ("Approved-By: —\n", &["MASTER-PLAN.md:1", "it is empty"]),
        ("Approved-By: lead\n", &["MASTER-PLAN.md:1", "no comma"]),
        ("Approved-By: , 2026-05-18\n", &["MASTER-PLAN.md:1", "who approved"]),
        ("Approved-By: lead, 18.05.2026\n", &["MASTER-PLAN.md:1", "YYYY-MM-DD"]),
        ("Approved-By: lead, 2026-02-30\n", &["MASTER-PLAN.md:1", "does not exist"]),
        ("Approved-By: lead, 2026-05-18 (pending)\n", &["MASTER-PLAN.md:1", "(pending)"]),
        (&future, &["MASTER-PLAN.md:1", &tomorrow, "still to come"]),
        // Somebody made a hash up.
        ("Approved-By: lead, 2026-05-18 (4f2c9ab1)\n", &["MASTER-PLAN.md:1", "4f2c9ab1", "no record"]),
        // Where nobody signs.
        ("> Approved-By: lead, 2026-05-18\n", &["no line `Approved-By:`"]),
        ("```\nApproved-By: lead, 2026-05-18\n```\n", &["no line `Approved-By:`"]),
        ("<!-- Approved-By: lead, 2026-05-18 -->\n", &["no line `Approved-By:`"]),
    ] {
        let signed = scratch.read("ralph-loop/MASTER-PLAN.md");
        scratch.edit("MASTER-PLAN.md", SIGNED, line);
        refused(&scratch, &[], words);
        scratch.write("ralph-loop/MASTER-PLAN.md", signed);
    }
    // The control.
    scratch.run(&[]).stopped("SUCCESS", 0);
}

#[test]
fn a_day_that_has_begun_somewhere_on_earth_is_not_in_the_future() {
    let scratch = plan();
    scratch.edit("MASTER-PLAN.md", "2026-05-18", &day(HOUR * 14 - Duration::from_secs(60)));
    scratch.run(&[]).stopped("SUCCESS", 0);
}

#[test]
fn an_approval_does_not_cover_what_was_changed_since() {
    let scratch = approved();
    for (file, from, to, named) in [
        ("MASTER-PLAN.md", "Auto-Gate: test -s R01.txt", "Auto-Gate: true", "Auto-Gate: true"),
        ("MASTER-PLAN.md", "Auto-Gate: true", "Manual-Gate: lead looks", "Manual-Gate"),
        ("MASTER-PLAN.md", "  Verify: test ! -e bad\n", "", "P1 Verify"),
        ("MASTER-PLAN.md", "test ! -e bad", "true", "P1 Verify"),
        ("MASTER-PLAN.md", "Part 2\n", "Part 2\n  Max-Blockers: 99\n", "Max-Blockers"),
        ("MASTER-PLAN.md", "Part 1", "Part One", "Part One"),
        ("MASTER-PLAN.md", "PRD-P2.md", "PRD-P3.md", "PRD-P3.md"),
        ("MASTER-PLAN.md", "lead", "chief", "chief"),
        ("PRD-P1.md", "Verify: test -s R01.txt", "Verify: true", "P1/R01 Verify"),
        ("PRD-P1.md", "Setup: true", "Setup: false", "P1 Setup"),
        ("PRD-P1.md", "Setup: true\n", "", "P1 Setup"),
        ("PRD-P1.md", "Env-Check: true", "Env-Check: true ", ""),
        ("PRD-P1.md", "Env-Check: true", "Env-Check: :", "P1 Env-Check"),
        ("PRD-P2.md", "  Verify: test -s R02.txt", "  Verify: test -s R02.txt\n  Verify: true", "P2/R02 Verify"),
        ("PRD-P2.md", "\n\n", "\n\nVerify: true\n\n", "P2 Verify"),
        ("PRD-P2.md", "- [ ] R02", "- [ ] R03: more\n  Verify: true\n- [ ] R02", "P2/R03 Verify"),
        ("ralph.toml", "[agent]", "[verify]\ncommand = \"true\"\n[agent]", "verify.command"),
        ("ralph.toml", "[agent]", "[verify]\nsetup = \"true\"\n[agent]", "verify.setup"),
        ("ralph.toml", "[agent]", "[verify]\nenv_check = \"true\"\n[agent]", "verify.env_check"),
        ("ralph.toml", "[agent]", "[policy]\nprotected = []\n[agent]", "policy.protected"),
        ("ralph.toml", "[agent]", "[policy]\nprotected = [\"default\", \"x\"]\n[agent]", "policy.protected"),
        ("ralph.toml", "[agent]", "[policy]\nsecurity = []\n[agent]", "policy.security"),
        ("ralph.toml", "[agent]", "[policy]\ndatabase = []\n[agent]", "policy.database"),
        ("ralph.toml", "[agent]", "[policy]\npublic_api = [\"src/lib.rs\"]\n[agent]", "policy.public_api"),
        ("ralph.toml", "[agent]", "[policy]\ndependencies = \"allow\"\n[agent]", "policy.dependencies"),
    ] {
        let before = scratch.read(&format!("ralph-loop/{file}"));
        if to.contains("PRD-P3") {
            fs::copy(scratch.root.join("ralph-loop/PRD-P2.md"), scratch.root.join("ralph-loop/PRD-P3.md")).unwrap();
        }
        scratch.edit(file, from, to);
        // What says the same covers the same.
        if !named.is_empty() {
            refused(&scratch, &[], &[named, "`ralph approve --by WHO`"]);
        }
        scratch.write(&format!("ralph-loop/{file}"), before);
    }
    // Flags and the environment are settings too.
    refused(&scratch, &["--set", "verify.command=true"], &["verify.command"]);
    let before = scratch.everything();
    let ended = scratch.start_with(&["run"], &[("RALPH_SET_POLICY__PROTECTED", "[]")]).end();
    ended.not_approved(&["policy.protected"]);
    same(&before, &scratch.everything());
    // The control.
    scratch.run(&[]).stopped("SUCCESS", 0);
}

#[test]
fn a_hash_is_worth_nothing_without_its_record() {
    let scratch = approved();
    let signature = |scratch: &Scratch| scratch.read("ralph-loop/MASTER-PLAN.md").lines().next().unwrap().to_owned();
    let line = signature(&scratch);
    let (_, hash) = line.trim_end_matches(')').rsplit_once('(').unwrap();
    // Another hash than the recorded one, on a plan that is as it was.
    let forged: String = hash.chars().rev().collect();
    assert_ne!(forged, hash);
    scratch.edit("MASTER-PLAN.md", hash, &forged);
    refused(&scratch, &[], &[&forged, "not that of the approval"]);
    // The right hash for a plan that was changed: whoever changed it can compute it, and nobody has recorded it.
    scratch.edit("MASTER-PLAN.md", &forged, hash);
    scratch.edit("PRD-P1.md", "Verify: test -s R01.txt", "Verify: true");
    let twin = plan();
    twin.edit("MASTER-PLAN.md", SIGNED, "");
    twin.edit("PRD-P1.md", "Verify: test -s R01.txt", "Verify: true");
    twin.approve();
    scratch.write("ralph-loop/MASTER-PLAN.md", twin.read("ralph-loop/MASTER-PLAN.md"));
    assert_ne!(signature(&scratch), line);
    refused(&scratch, &[], &["P1/R01 Verify"]);
    // The right hash where this machine has no record.
    fs::remove_dir_all(scratch.root.join("ralph-loop/state/approvals")).unwrap();
    refused(&scratch, &[], &["no record"]);
    // The control: the twin's record is there.
    twin.run(&[]).stopped("SUCCESS", 0);
}

#[test]
fn rows_change_without_another_approval() {
    let scratch = approved();
    scratch.edit("PRD-P1.md", "make the file 1", "make the first file, and a good one");
    scratch.edit(
        "PRD-P1.md",
        "  Verify: test -s R01.txt",
        "  - it has a line\n  Verify: test -s R01.txt\n- [ ] R05: one more",
    );
    scratch.edit("PRD-P1.md", "# PRD-P1", "Objective: files\n\n# PRD-P1");
    scratch.agent(&format!("{DILIGENT}; cat >\"$NOTES/prompt.$RALPH_ITEM_ID\""));
    scratch.run(&[]).stopped("SUCCESS", 0);
    assert_eq!(scratch.commits().len(), 3);
    assert!(scratch.note("prompt.R01").contains("it has a line"));
}

#[test]
fn a_line_by_hand_counts_before_the_first_run_only() {
    let scratch = plan();
    let ended = scratch.run(&["--iterations", "1"]).stopped("BUDGET_EXHAUSTED", 13);
    assert!(ended.stderr.contains("was written by hand: it is recorded"), "{}", ended.stderr);
    assert_eq!(fs::read_dir(scratch.root.join("ralph-loop/state/approvals")).unwrap().count(), 1);
    // It stays good while the plan is what it was, and is not told again.
    let ended = scratch.run(&["--phase", "P1"]).stopped("SUCCESS", 0);
    assert!(!ended.stderr.contains("by hand"), "{}", ended.stderr);
    // Signing what was changed since is not done by hand.
    let today = day(Duration::ZERO);
    scratch.edit("MASTER-PLAN.md", "Auto-Gate: true", "Auto-Gate: test -s R02.txt");
    scratch.run(&[]).not_approved(&["Auto-Gate"]);
    scratch.edit("MASTER-PLAN.md", "2026-05-18", &today);
    scratch.run(&[]).not_approved(&[&today, "2026-05-18"]);
    fs::remove_dir_all(scratch.root.join("ralph-loop/state/approvals")).unwrap();
    scratch.run(&[]).not_approved(&["before a plan's first run"]);
    scratch.approve();
    scratch.run(&[]).stopped("SUCCESS", 0);
}

#[test]
fn approving_shows_what_is_signed() {
    let scratch = plan();
    scratch.edit("MASTER-PLAN.md", SIGNED, "");
    let first = scratch.approve().stdout;
    for words in
        ["never approved here", "Auto-Gate: test -s R01.txt", "P1/R01 Verify", "test -s R02.txt", "policy.protected"]
    {
        assert!(first.contains(words), "{words}: {first}");
    }
    let line = scratch.read("ralph-loop/MASTER-PLAN.md").lines().next().unwrap().to_owned();
    assert!(line.starts_with(&format!("Approved-By: lead, {} (", day(Duration::ZERO))), "{line}");
    assert!(first.contains(&line), "{first}");
    // Nothing has changed: not a byte is written.
    let before = scratch.everything();
    assert!(scratch.approve().stdout.contains("Approved already by lead"));
    same(&before, &scratch.everything());
    // Only what has changed is shown.
    scratch.edit("PRD-P2.md", "Verify: test -s R02.txt", "Verify: grep -q made R02.txt");
    let second = scratch.approve().stdout;
    assert!(second.contains("- test -s R02.txt") && second.contains("+ grep -q made R02.txt"), "{second}");
    assert!(!second.contains("R01"), "{second}");
    scratch.run(&[]).stopped("SUCCESS", 0);
}

#[test]
fn nobody_approves_unasked() {
    let scratch = plan();
    let before = scratch.everything();
    scratch.ralph(&["approve", "--by", "lead"]).refused(&["no terminal", "--yes"]);
    for name in ["", "  ", "—", "a\nb", "le\u{200b}ad", "x `y`"] {
        scratch.ralph(&["approve", "--by", name, "--yes"]).refused(&["Approved-By:"]);
    }
    scratch.ralph(&["approve", "ralph-loop/PRD-P1.md", "--by", "lead", "--yes"]).refused(&["single PRD"]);
    same(&before, &scratch.everything());
    // What cannot run cannot be approved either.
    scratch.edit("MASTER-PLAN.md", "Auto-Gate: true", "Auto-Gat: true");
    let before = scratch.everything();
    scratch.ralph(&["approve", "--by", "lead", "--yes"]).refused(&["Auto-Gat", "Auto-Gate"]);
    same(&before, &scratch.everything());
}

/// A plan whose first session waits for `notes/go`.
fn live() -> Scratch {
    let scratch = approved();
    scratch.agent(&format!("{DILIGENT}; echo >\"$NOTES/at-work\"; until test -e \"$NOTES/go\"; do sleep 0.02; done"));
    scratch
}

fn go(scratch: &Scratch) {
    fs::write(scratch.path("notes/go"), "").unwrap();
}

#[test]
fn an_approval_that_goes_during_the_run_stops_it() {
    for (from, to) in [
        ("Approved-By: ", "Formerly-Approved-By: "),
        ("Auto-Gate: test -s R01.txt", "Auto-Gate: true"),
        ("Approved-By: lead", "Approved-By: chief"),
    ] {
        let scratch = live();
        let run = scratch.start(&["run"]);
        until("the session", || scratch.path("notes/at-work").exists());
        scratch.edit("MASTER-PLAN.md", from, to);
        go(&scratch);
        let ended = run.end().stopped("NOT_APPROVED", 17);
        assert!(ended.stdout.contains("ralph approve"), "{}", ended.stdout);
        assert_eq!(scratch.sessions(), ["R01.1"], "nothing new is begun");
        scratch.run(&[]).not_approved(&["Approved-By:"]);
        if to.starts_with("Formerly") {
            scratch.edit("MASTER-PLAN.md", to, from);
        }
        scratch.approve();
        scratch.run(&[]).stopped("SUCCESS", 0);
        assert_eq!((scratch.sessions().len(), scratch.commits().len()), (2, 2), "no work is lost");
        assert_eq!(scratch.run_folders().len(), 1, "the run goes on");
    }
}

#[test]
fn a_plan_that_is_approved_anew_during_the_run_goes_on() {
    let scratch = live();
    let run = scratch.start(&["run"]);
    until("the session", || scratch.path("notes/at-work").exists());
    scratch.edit("MASTER-PLAN.md", "Auto-Gate: true", "Auto-Gate: grep -q made R02.txt");
    scratch.approve();
    go(&scratch);
    run.end().stopped("SUCCESS", 0);
    assert_eq!(scratch.plan_marks(), "x|x");
}
