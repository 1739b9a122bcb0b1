//! `[review]`, `[cleanup]` and `Checks: require-red`: what the settings put around the verifiers.

use super::support::{DILIGENT, Scratch};

const ON: &str = "[review]\nenabled = true\n";

/// What a reviewer prints.
fn says(verdict: &str, met: bool, evidence: &str) -> String {
    format!(
        "printf '```ralph\\n{{\"verdict\":\"{verdict}\",\"criteria\":[{{\"number\":1,\"met\":{met},\
         \"evidence\":\"{evidence}\"}}],\"simpler\":\"\",\"objections\":[]}}\\n```\\n'"
    )
}

/// One agent in several roles.
fn roles(worker: &str, cleanup: &str, review: &str) -> String {
    format!(
        "case \"$RALPH_ROLE\" in\n\
         review) cat >\"$NOTES/review-$RALPH_ATTEMPT\"; ls >\"$NOTES/reviewed\"; touch littered; {review} ;;\n\
         cleanup) cat >\"$NOTES/cleanup\"; {cleanup} ;;\n\
         *) cat >\"$NOTES/worker-$RALPH_ATTEMPT\"; {worker} ;;\nesac"
    )
}

#[test]
fn a_veto_goes_into_the_next_attempt_and_an_approval_lets_it_land() {
    let scratch = Scratch::new(1);
    let (no, yes) =
        (says("reject", false, "R01.txt:1 says made, and nothing else"), says("approve", true, "R01.txt:1"));
    let review = format!("if [ $RALPH_ATTEMPT = 1 ]; then {no}; else {yes}; fi");
    scratch.agent(&roles(&format!("{DILIGENT}; echo $RALPH_ATTEMPT >>R01.txt"), "exit 1", &review));
    scratch.settings(ON);
    let ended = scratch.run(&[]).stopped("SUCCESS", 0);
    assert!(ended.stderr.contains("✗ review: architect (command) rejects it"), "{}", ended.stderr);
    assert!(ended.stderr.contains("✓ review: architect (command) approves"), "{}", ended.stderr);
    let told = scratch.note("worker-2");
    assert!(told.contains("R01.txt:1 says made, and nothing else"), "{told}");
    assert_eq!((scratch.commits().len(), scratch.kept("rejected").len()), (1, 1));
    // It stood in the clean checkout, was shown the change, and what it wrote there went nowhere.
    assert!(scratch.note("reviewed").contains("R01.txt"));
    let prompt = scratch.note("review-2");
    assert!(prompt.contains("+made") && prompt.contains("1. make the file"), "{prompt}");
    assert!(!scratch.files(scratch.branch).contains(&"littered".to_owned()));
    assert!(scratch.of_run("iterations/0001/review-2.json").contains("R01.txt:1"));
    assert!(scratch.of_run("summary.md").contains("- sessions: 4, of these 2 to review"));
}

#[test]
fn an_approval_in_the_working_session_is_none() {
    let scratch = Scratch::new(1);
    let yes = says("approve", true, "R01.txt:1");
    // The worker approves itself, in its words and in a file; the reviewer says nothing.
    scratch.agent(&roles(&format!("{DILIGENT}; {yes}; {yes} >APPROVED.md"), "exit 1", "echo 'I had a look.'"));
    scratch.settings(ON);
    let ended = scratch.run(&[]).stopped("VERIFIER_BROKEN", 15);
    assert!(ended.stdout.contains("came to no opinion: its answer has no `ralph` block"), "{}", ended.stdout);
    assert_eq!((scratch.marks().as_str(), scratch.commits().len()), (" ", 0));
    // With a reviewer that does, the same work is accepted without another session.
    scratch.agent(&roles("exit 9", "exit 1", &yes));
    scratch.run(&[]).stopped("SUCCESS", 0);
    assert_eq!(scratch.commits().len(), 1);
}

#[test]
fn another_agent_may_review_in_another_role() {
    let scratch = Scratch::new(1);
    let yes = says("approve", true, "R01.txt:1");
    let other =
        scratch.script("critic.sh", &format!("echo \"$RALPH_ROLE\" >>\"$NOTES/critic\"; cat >/dev/null; {yes}"));
    let agent = format!("agent = {{ backend = \"command\", command = [{:?}] }}\n", other.to_str().unwrap());
    scratch.settings(&format!("{ON}role = \"critic\"\n{agent}"));
    let ended = scratch.run(&[]).stopped("SUCCESS", 0);
    assert_eq!(scratch.note("critic"), "review\n");
    assert!(ended.stderr.contains("review: critic (command) approves"), "{}", ended.stderr);
}

/// Whoever judges is part of what a plan was approved with.
#[test]
fn an_approval_covers_the_reviewer() {
    let scratch = Scratch::new(1);
    scratch.write(
        "ralph-loop/MASTER-PLAN.md",
        "# Plan\n\nPhase P1 — One\n  PRD: ralph-loop/PRD-P1.md\n  Auto-Gate: test -d .\n",
    );
    let args = ["run", "ralph-loop/MASTER-PLAN.md"];
    scratch.settings(ON);
    let signed = scratch.ralph(&["approve", "--by", "lead", "--yes"]);
    assert!(signed.status.success(), "{}", signed.stderr);
    let text = scratch.read("ralph-loop/ralph.toml").replace("enabled = true", "enabled = false");
    scratch.write("ralph-loop/ralph.toml", text);
    let ended = scratch.ralph(&args);
    assert_eq!(ended.status.code(), Some(17), "{}", ended.stderr);
    assert!(ended.stderr.contains("review"), "{}", ended.stderr);
}

#[test]
fn settings_that_cannot_be_are_refused_before_anything() {
    for (settings, words) in [
        ("[review]\nenabled = true\nrole = \"judge\"\n", &["judge", "architect"][..]),
        ("[review]\nenabled = true\nthorough = [\"a/{b\"]\n", &["review.thorough", "a/{b"]),
        ("[review]\nenabled = true\nagent = { backend = \"command\" }\n", &["review.agent", "needs"]),
        ("[cleanup]\nenabled = true\nagent = { backend = \"claud\" }\n", &["claud"]),
        ("[cleanup]\nenable = true\n", &["enable"]),
    ] {
        let scratch = Scratch::new(1);
        scratch.settings(settings);
        scratch.run(&[]).refused(words);
        assert!(scratch.sessions().is_empty());
    }
}

#[test]
fn a_clean_up_is_verified_again_and_one_commit_results() {
    let scratch = Scratch::new(1);
    scratch.agent(&roles("printf 'made\\n\\n\\n' >R01.txt", "echo made >R01.txt", "exit 1"));
    scratch.settings("[cleanup]\nenabled = true\n");
    let ended = scratch.run(&[]).stopped("SUCCESS", 0);
    assert_eq!(scratch.git(&["show", &format!("{}:R01.txt", scratch.branch)]), "made");
    assert_eq!((scratch.commits().len(), scratch.trailers("Ralph-Attempt")), (1, vec!["1".to_owned()]));
    assert!(ended.stderr.contains("tidied, 1 file in all"), "{}", ended.stderr);
    let prompt = scratch.note("cleanup");
    assert!(prompt.contains("- `R01.txt`") && prompt.contains("make the file"), "{prompt}");
    assert!(scratch.of_run("iterations/0001/cleanup-prompt.md").contains("R01.txt"));
}

#[test]
fn a_clean_up_that_is_worse_is_dropped_and_leaves_the_work_as_it_was() {
    for (cleanup, why) in [
        ("rm R01.txt", "clean-up dropped: it took the whole work back"),
        ("echo tidy >R01.txt; echo more >other.txt", "clean-up dropped: it touched other.txt"),
        (": >R01.txt", "✗ the workspace: test -s R01.txt: exit 1"),
        ("true", "clean-up dropped: there was nothing to tidy"),
        ("exit 7", "clean-up dropped: exit"),
        ("git commit -qam x; echo x >unrelated", "clean-up dropped: it touched unrelated"),
    ] {
        let scratch = Scratch::new(1);
        scratch.agent(&roles(DILIGENT, cleanup, "exit 1"));
        scratch.settings("[cleanup]\nenabled = true\n");
        let ended = scratch.run(&[]).stopped("SUCCESS", 0);
        assert_eq!(scratch.git(&["show", &format!("{}:R01.txt", scratch.branch)]), "made", "{cleanup}");
        assert!(
            !scratch.files(scratch.branch).iter().any(|file| file == "other.txt" || file == "unrelated"),
            "{cleanup}"
        );
        assert!(ended.stderr.contains(why), "{cleanup}: {}", ended.stderr);
        assert_eq!(scratch.outcomes(), ["P1/R01 done"], "{cleanup}");
    }
}

#[test]
fn a_verifier_that_passes_before_any_work_is_a_question_where_red_is_required() {
    let prd = |checks: &str| {
        format!(
            "# One\nVerify: true && test -d .\n\n- [ ] R01: make the file\n  Verify: test -e README.md\n  {checks}\n"
        )
    };
    let scratch = Scratch::new(1);
    scratch.write("README.md", "x");
    scratch.git(&["add", "README.md"]);
    scratch.git(&["commit", "-qm", "a page"]);
    scratch.prd(&prd("Checks: require-red"));
    let ended = scratch.run(&[]).stopped("AWAITING_DECISIONS", 10);
    assert!(ended.stderr.contains("R01's own verifier passes before there is any work"), "{}", ended.stderr);
    assert_eq!((scratch.marks().as_str(), scratch.sessions().len()), ("?", 0));
    assert!(scratch.read("ralph-loop/DECISIONS.md").contains("Is it done already?"));
    // The person knows better, and it is worked on.
    let said = scratch.ralph(&["btw", "--by", "lead", "--answer", "D-001 = reject: it is not"]);
    assert!(said.status.success(), "{}", said.stderr);
    scratch.run(&[]).stopped("SUCCESS", 0);
    assert_eq!(scratch.sessions().len(), 1);

    // One without a verifier of its own cannot be asked.
    let scratch = Scratch::new(1);
    scratch.prd("# One\nVerify: test -d .\n\n- [ ] R01: make the file\n  Checks: require-red\n");
    scratch.run(&[]).refused(&["PRD-P1.md:4", "the item's own `Verify:`", "it has none"]);

    // The control: one that is red before, for every item by the settings.
    let scratch = Scratch::new(1);
    scratch.prd("# One\nVerify: test -d .\n\n- [ ] R01: make the file\n  Verify: test -s R01.txt\n");
    scratch.settings("[verify]\nchecks = [\"default\", \"require-red\"]\n");
    let ended = scratch.run(&[]).stopped("SUCCESS", 0);
    assert!(ended.stderr.contains("✓ R01's own verifier fails before there is any work"), "{}", ended.stderr);
}

#[test]
fn content_with_two_verdicts_is_told_and_never_accepted() {
    let scratch = Scratch::new(1);
    // Red, then green for what is the very same content.
    let count = scratch.path("notes/count");
    let verify = format!("echo x >>{0}; test -s R01.txt && test $(wc -l <{0}) != 2", count.display());
    scratch.prd(&format!("# One\nVerify: {verify}\n\n- [ ] R01: make the file\n"));
    scratch.settings("[run]\nretry_from = \"base\"\n");
    scratch.run(&[]).stopped("ITEMS_BLOCKED", 12);
    assert_eq!((scratch.marks().as_str(), scratch.commits().len()), ("!", 0));
    let blockers = scratch.read("ralph-loop/BLOCKERS.md");
    assert!(blockers.contains("failed on this very content before, and passes now"), "{blockers}");
    let summary = scratch.of_run("summary.md");
    assert!(summary.contains("## Flaky verifiers") && summary.contains("--calibrate"), "{summary}");
    let json: serde_json::Value = serde_json::from_str(&scratch.ralph(&["status", "--json"]).stdout).unwrap();
    assert_eq!(json["flaky"].as_array().map(Vec::len), Some(1), "{json}");
}
