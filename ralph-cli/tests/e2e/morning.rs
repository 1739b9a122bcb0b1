//! The morning after: `docs/morning-after.md`, run as it stands there.

use std::{fs, os::unix::fs::PermissionsExt as _, path::Path};

use super::support::{BRANCH, Scratch, until};

/// The `number`th block below the heading `title`.
#[track_caller]
fn documented(title: &str, number: usize) -> String {
    let page = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/morning-after.md")).unwrap();
    let (_, below) = page.split_once(&format!("\n## {title}\n")).unwrap_or_else(|| panic!("no part `{title}`"));
    let part = below.split("\n## ").next().unwrap();
    let block = part.split("```sh\n").nth(number).unwrap_or_else(|| panic!("`{title}` has no block {number}"));
    block.split("```").next().unwrap().to_owned()
}

/// Types what is documented; how its last command ended, and all that was printed.
#[track_caller]
fn typed(scratch: &Scratch, title: &str, number: usize) -> (i32, String) {
    let output = scratch.shell(&documented(title, number));
    let text = [output.stdout, output.stderr].concat();
    (output.status.code().unwrap(), String::from_utf8_lossy(&text).into_owned())
}

/// A run of four items whose first three are done, with a common verifier. Its agent says which attempt it was.
fn after_three() -> Scratch {
    let scratch = Scratch::new(4);
    scratch.edit_prd("# PRD-P1 — Files\n", "# PRD-P1 — Files\nVerify: test ! -e bad\n");
    scratch.agent(r#"echo "$RALPH_ATTEMPT" >"$RALPH_ITEM_ID.txt""#);
    commit(&scratch, "ralph-loop", "The plan");
    scratch.run(&["--iterations", "3"]).stopped("BUDGET_EXHAUSTED", 13);
    scratch
}

fn commit(scratch: &Scratch, path: &str, subject: &str) {
    scratch.git(&["add", path]);
    scratch.git(&["commit", "-qm", subject]);
}

fn content(scratch: &Scratch, file: &str) -> String {
    scratch.git(&["show", &format!("{BRANCH}:{file}")])
}

#[test]
fn what_happened_is_looked_at_and_reviewed() {
    let scratch = after_three();
    for (title, words) in
        [("Look", ["Verified twice, on the branch (3)", "R02 done"]), ("Review", ["+1", "Ralph-Item: P1/R02"])]
    {
        let (code, text) = typed(&scratch, title, 1);
        assert_eq!(code, 0, "{title}: {text}");
        words.iter().for_each(|word| assert!(text.contains(word), "{title}: {word} is not in {text}"));
    }
}

/// Items of later phases are open as they should be: that is no reason to run without an answer.
#[test]
fn a_question_in_the_first_phase_is_what_comes_next() {
    let scratch = Scratch::new(1);
    scratch.write("ralph-loop/PRD-P2.md", "- [ ] R07: make the file 7\n  Verify: test -s R07.txt\n");
    scratch.write(
        "ralph-loop/MASTER-PLAN.md",
        "Phase P1 — Files\n  PRD: ralph-loop/PRD-P1.md\n  Auto-Gate: true && ls\n\n\
         Phase P2 — More\n  PRD: ralph-loop/PRD-P2.md\n  Auto-Gate: true && ls\n",
    );
    scratch.agent(r#"echo; echo '```ralph'; echo '{"status":"decision","question":"which?"}'; echo '```'"#);
    scratch.ralph(&["approve", "--by", "lead", "--yes"]);
    scratch.run(&[]).stopped("AWAITING_DECISIONS", 10);
    let status = || scratch.ralph(&["status"]).stdout;
    assert!(status().contains("Next: answer with `ralph btw`") && !status().contains("was edited"), "{}", status());
    // The control: one of this phase that a person opens.
    scratch.edit_prd("- [?] R01", "- [ ] R01");
    assert!(status().contains("was edited") && status().contains("Next: `ralph run` goes on."), "{}", status());
}

#[test]
fn a_branch_is_merged_and_the_next_run_begins_where_one_stands() {
    let scratch = after_three();
    scratch.run(&[]).stopped("SUCCESS", 0);
    let (code, text) = typed(&scratch, "Merge", 1);
    assert_eq!(code, 0, "{text}");
    assert_eq!(scratch.read("R04.txt"), "1\n");
    assert_eq!(scratch.git(&["branch", "--list", BRANCH]), "");
    assert!(scratch.git(&["status", "--porcelain"]).is_empty(), "nothing is left over");

    let prd = scratch.read("ralph-loop/PRD-P1.md");
    scratch.prd(&format!("{prd}- [ ] R05: make the file 5\n  Verify: test -s R05.txt\n"));
    commit(&scratch, "ralph-loop", "One more");
    let head = scratch.git(&["rev-parse", "HEAD"]);
    scratch.run(&[]).stopped("SUCCESS", 0);
    assert_eq!(scratch.git(&["rev-parse", &format!("{BRANCH}~1")]), head);
    assert_eq!(scratch.commits(), ["R05: make the file 5"]);
}

#[test]
fn an_item_is_dropped_by_a_commit_that_takes_it_back() {
    let scratch = after_three();
    let (code, text) = typed(&scratch, "Drop an item", 1);
    assert_eq!(code, 0, "{text}");
    assert_eq!(scratch.commits()[3], "Revert \"R02: make the file 2\"");
    assert_eq!(scratch.commits()[4], "R02: make the file 2");
    assert_eq!((content(&scratch, "R02.txt"), content(&scratch, "R03.txt")), ("2".to_owned(), "1".to_owned()));
    assert_eq!(scratch.marks(), "xxxx");
    assert_eq!(scratch.run_folders().len(), 1, "the same run went on");
}

/// The control of the two lines around it: with the checkout still there, the run refuses and does nothing.
#[test]
fn a_run_refuses_while_the_branch_is_checked_out() {
    let scratch = after_three();
    let block = documented("Drop an item", 1);
    let without: String =
        block.lines().filter(|line| !line.contains("remove")).map(|line| format!("{line}\n")).collect();
    let output = scratch.shell(&without);
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{stderr}");
    assert!(stderr.contains("is checked out in") && stderr.contains("/review"), "{stderr}");
    assert_eq!(scratch.sessions().len(), 3);
}

#[test]
fn an_item_is_dropped_without_a_trace_and_a_new_run_does_it_again() {
    let scratch = after_three();
    let block = documented("Drop an item", 2);
    let rewrite = block.replace("ralph run --new", "true");
    assert_ne!(rewrite, block);
    let output = scratch.shell(&rewrite);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    scratch.run(&[]).stopped("BRANCH_MOVED", 15);
    assert_eq!(scratch.sessions().len(), 3, "nothing was spent");

    let output = scratch.shell("ralph run --new");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let again = ["R01: make the file 1", "R03: make the file 3", "R02: make the file 2", "R04: make the file 4"];
    assert_eq!(scratch.commits(), again);
    assert_eq!(scratch.run_folders().len(), 2);
}

#[test]
fn a_moved_main_is_merged_into_the_branch() {
    let scratch = after_three();
    scratch.write("main.txt", "on main\n");
    commit(&scratch, "main.txt", "On main");
    let (code, text) = typed(&scratch, "Follow a moved main", 1);
    assert_eq!(code, 0, "{text}");
    assert_eq!(content(&scratch, "main.txt"), "on main");
    assert_eq!(scratch.commits().last().unwrap(), "R04: make the file 4");
    assert_eq!(scratch.git(&["rev-list", "--count", &format!("{BRANCH}..main")]), "0");
    assert_eq!(scratch.run_folders().len(), 1, "the same run went on");
}

#[test]
fn a_main_that_holds_the_branch_is_followed_without_a_checkout() {
    let scratch = after_three();
    commit(&scratch, "ralph-loop", "The marks");
    scratch.git(&["merge", "-q", "--no-edit", BRANCH]);
    scratch.write("main.txt", "on main\n");
    commit(&scratch, "main.txt", "On main");
    let (code, text) = typed(&scratch, "Follow a moved main", 2);
    assert_eq!(code, 0, "{text}");
    assert_eq!(scratch.commits(), ["R04: make the file 4"]);
    assert_eq!(content(&scratch, "main.txt"), "on main");
}

#[test]
fn a_main_that_does_not_pass_stops_the_run_until_a_commit_on_top_puts_it_right() {
    let scratch = after_three();
    scratch.write("bad", "on main\n");
    commit(&scratch, "bad", "On main");
    let (code, text) = typed(&scratch, "Follow a moved main", 1);
    assert_eq!(code, 15, "{text}");
    assert_eq!(scratch.sessions().len(), 3, "nothing was spent");
    scratch.git(&["rm", "-q", "bad"]);
    scratch.git(&["commit", "-qm", "Put it right"]);
    let (code, text) = typed(&scratch, "Follow a moved main", 1);
    assert_eq!(code, 0, "{text}");
    assert_eq!(scratch.marks(), "xxxx");
}

#[test]
fn a_rewritten_branch_is_not_pushed_by_force() {
    let scratch = Scratch::new(2);
    scratch.settings("\n[run]\npush = \"origin\"\n");
    let remote = scratch.path("remote.git");
    scratch.git(&["init", "-q", "--bare", remote.to_str().unwrap()]);
    scratch.git(&["remote", "add", "origin", remote.to_str().unwrap()]);
    let there = || scratch.git(&["ls-remote", "origin", BRANCH]).split_whitespace().next().map(str::to_owned);
    scratch.run(&["--iterations", "1"]).stopped("BUDGET_EXHAUSTED", 13);
    let first = there();
    assert_eq!(first, Some(scratch.git(&["rev-parse", BRANCH])), "the control: it is pushed");

    let other = scratch.git(&["commit-tree", "-m", "other", "-p", "main", &format!("{BRANCH}^{{tree}}")]);
    scratch.git(&["update-ref", &format!("refs/heads/{BRANCH}"), &other]);
    let ended = scratch.run(&["--new"]).stopped("SUCCESS", 0);
    assert!(ended.stdout.contains("Not pushed"), "{}", ended.stdout);
    assert_eq!(there(), first, "what is there stays");
    let (code, _) = typed(&scratch, "Push", 1);
    assert_ne!(code, 0, "nor does the command by hand overwrite it");
    let output = scratch.shell(&documented("Push", 1).replace("git push", "git push --force-with-lease"));
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    assert_eq!(there(), Some(scratch.git(&["rev-parse", BRANCH])));
}

#[test]
fn a_rejected_item_is_put_right_by_hand_and_verified_all_the_same() {
    let scratch = Scratch::new(2);
    scratch.edit_prd("test -s R02.txt", "grep -q right R02.txt");
    scratch.agent(r#"test -e "$RALPH_ITEM_ID.txt" || echo wrong >"$RALPH_ITEM_ID.txt""#);
    let editor = scratch.script("editor.sh", "echo right >>\"$1\"");
    assert_eq!(fs::metadata(&editor).unwrap().permissions().mode() & 0o111, 0o111);
    scratch.run(&[]).stopped("ITEMS_BLOCKED", 12);
    let block = documented("After a rejection", 1);
    let (by_hand, rest) = block.split_once("ralph run").unwrap();
    let output = scratch.shell(by_hand);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    assert_eq!(content(&scratch, "R02.txt"), "wrong\nright");

    let output = scratch.shell(&format!("ralph run{}", rest.split_once("ralph btw").unwrap().0));
    assert_eq!(output.status.code(), Some(10), "{}", String::from_utf8_lossy(&output.stdout));
    let output = scratch.shell(&format!("ralph btw{}", rest.split_once("ralph btw").unwrap().1));
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
    assert_eq!((scratch.marks().as_str(), scratch.commits().len()), ("xx", 2));
    assert_eq!(scratch.commits()[1], "R02: put right by hand");
    assert!(scratch.of_run("summary.md").contains("D-001"), "{}", scratch.of_run("summary.md"));
}

/// A signed Master Plan of one phase, whose agent waits in its first session for `notes/go`.
fn signed() -> Scratch {
    let scratch = Scratch::new(2);
    scratch.write(
        "ralph-loop/MASTER-PLAN.md",
        "# Plan\n\nPhase P1 — Files\n  PRD: ralph-loop/PRD-P1.md\n  Auto-Gate: test -s R02.txt\n",
    );
    scratch.agent(
        "echo made >\"$RALPH_ITEM_ID.txt\"; echo >\"$NOTES/at-work\"; until test -e \"$NOTES/go\"; do sleep 0.02; done",
    );
    let approved = scratch.ralph(&["approve", "--by", "lead", "--yes"]);
    assert_eq!(approved.status.code(), Some(0), "{}", approved.stderr);
    scratch
}

fn without_signature(plan: &str) -> String {
    let unsigned: String =
        plan.lines().filter(|line| !line.starts_with("Approved-By:")).map(|line| format!("{line}\n")).collect();
    assert_ne!(unsigned, plan);
    unsigned
}

/// AUTH-09: an operator's freeze is no sentence in a prompt. No session begins until it is lifted.
#[test]
fn a_plan_without_its_signature_is_frozen() {
    let scratch = signed();
    fs::write(scratch.path("notes/go"), "").unwrap();
    let plan = scratch.read("ralph-loop/MASTER-PLAN.md");
    scratch.write("ralph-loop/MASTER-PLAN.md", without_signature(&plan));
    for args in [&["run"][..], &["run", "--new"], &["run", "--phase", "P1"], &["run", "ralph-loop/PRD-P1.md"]] {
        let ended = scratch.ralph(args);
        assert!(matches!(ended.status.code(), Some(17 | 2)), "{args:?}: {}", ended.stderr);
    }
    assert_eq!(scratch.ralph(&["run"]).status.code(), Some(17));
    assert_eq!((scratch.sessions().len(), scratch.run_folders().len()), (0, 0));
    // The control: lifted.
    scratch.write("ralph-loop/MASTER-PLAN.md", plan);
    scratch.run(&[]).stopped("SUCCESS", 0);
    assert_eq!(scratch.sessions(), ["R01.1", "R02.1"]);
}

#[test]
fn a_run_that_is_on_is_frozen_when_its_session_has_ended() {
    let scratch = signed();
    let run = scratch.start(&["run"]);
    until("the session", || scratch.path("notes/at-work").exists());
    let plan = scratch.read("ralph-loop/MASTER-PLAN.md");
    scratch.write("ralph-loop/MASTER-PLAN.md", without_signature(&plan));
    fs::write(scratch.path("notes/go"), "").unwrap();
    run.end().stopped("NOT_APPROVED", 17);
    assert_eq!(scratch.sessions(), ["R01.1"], "no other session began");
    assert_eq!(scratch.ralph(&["run"]).status.code(), Some(17));
    scratch.write("ralph-loop/MASTER-PLAN.md", plan);
    scratch.run(&[]).stopped("SUCCESS", 0);
    assert_eq!(scratch.sessions(), ["R01.1", "R02.1"], "its work was not lost");
}
