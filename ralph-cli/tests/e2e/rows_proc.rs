//! Reports about other loops, group PROC (`docs/bug-rows.md`): processes, limits of providers.

use super::support::{DILIGENT, Scratch, until};

#[test]
fn proc_06_a_pipeline_that_ignores_the_signal_ends_at_the_limit() {
    let scratch = Scratch::new(1);
    scratch.agent(&format!(
        "{DILIGENT}\ntrap '' TERM INT HUP\nsh -c \"trap '' TERM; yes | (trap '' TERM; cat) | (trap '' TERM; cat >/dev/null)\""
    ));
    scratch.run(&["--set", "agent.timeout=300ms"]).stopped("SUCCESS", 0);
    scratch.nothing_lives();
}

#[test]
fn proc_11_a_server_in_a_session_of_its_own_is_gone_before_the_next_iteration() {
    let scratch = Scratch::new(2);
    // A folder that one holds as a server holds its port: the second would find it taken.
    scratch.agent(&format!(
        "test -e \"$NOTES/server\" && kill -0 $(cat \"$NOTES/server\") 2>/dev/null && echo taken >\"$NOTES/taken\"\n\
         setsid sh -c 'echo $$ >\"$NOTES/server\"; exec sleep 1000' >/dev/null 2>&1 &\n\
         until test -s \"$NOTES/server\"; do :; done; {DILIGENT}"
    ));
    scratch.run(&[]).stopped("SUCCESS", 0);
    assert_eq!(scratch.note("taken"), "");
    assert_ne!(scratch.note("server"), "", "the control: there was one");
    scratch.nothing_lives();
}

#[test]
fn proc_16_a_verifier_that_passes_no_signal_on_ends_at_the_limit() {
    let scratch = Scratch::new(1);
    scratch.edit_prd("test -s R01.txt", "sh -c 'trap \"\" TERM; sleep 1000 & sleep 1000; true'");
    scratch.run(&["--set", "verify.timeout=300ms"]).stopped("VERIFIER_BROKEN", 15);
    scratch.nothing_lives();
}

#[test]
fn proc_19_an_agent_that_kills_ralph_costs_one_session() {
    let scratch = Scratch::new(1);
    scratch.agent(&format!("test $RALPH_ATTEMPT = 1 && kill -9 $PPID; {DILIGENT}"));
    let ended = scratch.run(&[]);
    assert_eq!(ended.status.code(), None, "nothing keeps it from doing so without a sandbox");
    scratch.run(&[]).stopped("SUCCESS", 0);
    assert_eq!(scratch.commits().len(), 1);
    scratch.nothing_lives();
}

#[test]
fn proc_21_git_asks_nobody() {
    let scratch = Scratch::new(1);
    scratch.agent(&format!(
        "{DILIGENT}; git config user.name A; git config user.email a@example.org; git add -A\n\
         git commit && echo committed >\"$NOTES/commit\" || echo refused >\"$NOTES/commit\"\n\
         git commit -qm work && git rebase -q -i HEAD^ && echo rebased >\"$NOTES/rebase\""
    ));
    scratch.run(&["--set", "agent.timeout=20s"]).stopped("SUCCESS", 0);
    assert_eq!((scratch.note("commit").trim(), scratch.note("rebase").trim()), ("refused", "rebased"));
}

#[test]
fn proc_22_an_api_error_with_exit_0_is_not_the_items_fault() {
    let scratch = Scratch::new(1);
    scratch.claude("error-429-unified", "");
    scratch.run(&["--set", "agent.wait_at_most=1s"]).stopped("AGENT_UNAVAILABLE", 16);
    assert_eq!(scratch.marks(), " ");
    assert!(!scratch.root.join("ralph-loop/BLOCKERS.md").exists());
}

#[test]
fn proc_24_words_about_limits_are_no_limit() {
    let words = "echo 'HTTP 429 rate limit exceeded, quota, usage limit reached, try again at 5pm'";
    let scratch = Scratch::new(1);
    scratch.agent(&format!("{DILIGENT}; {words}; {words} >&2; {words} >>notes.md; exit 1"));
    scratch.run(&[]).stopped("SUCCESS", 0);
    assert_eq!(scratch.sessions(), ["R01.1"]);
}

#[test]
fn proc_25_a_real_limit_waits_within_a_bound_and_can_be_interrupted() {
    let scratch = Scratch::new(1);
    scratch.claude("error-429-unified", "");
    let run = scratch.start(&["run"]);
    until("the wait", || run.stderr().contains("waiting"));
    run.signal(rustix::process::Signal::INT);
    run.end().stopped("CANCELLED", 130);
    assert_eq!((scratch.marks().as_str(), scratch.sessions().len()), (" ", 1), "no silent retries");
}
