//! Every session is fresh: it knows what Ralph tells it and what is in the repository.

use std::path::Path;

use super::{
    agents,
    model::{Model, runs, says, writes},
    offline::offline,
    three_items::repository,
};

/// Claude Code keeps what it was told to remember in a folder of the home, named after the folder it works in, and puts
/// it before all later sessions there: past every verifier, from rejected work as well.
#[test]
#[ignore = "the real Claude Code: set RALPH_REAL_CLIS=1"]
fn what_claude_code_remembers_reaches_no_other_session() {
    offline("real::fresh::what_claude_code_remembers_reaches_no_other_session", |clis| {
        let remember = "folder=~/.claude/projects/$(pwd | tr -c 'a-zA-Z0-9\\n' -)/memory; mkdir -p $folder; \
                        echo '- the word is xylophone' >$folder/MEMORY.md; echo at $PWD";
        let model = Model::start([
            vec![runs(remember), writes("R01.txt", "one\n"), says("R01.txt says one.")],
            vec![writes("R02.txt", "two\n"), says("R02.txt says two.")],
            vec![says("Hello.")],
        ]);
        let (scratch, agent) = (repository(), agents::claude(clis, &model, "all"));
        agent.run(&scratch, &["--iterations", "2"]).stopped("BUDGET_EXHAUSTED", 13);
        // The control: by itself it remembers.
        let said = &model.asked()[1].last;
        let place = said.lines().find_map(|line| line.strip_prefix("at ")).unwrap_or_else(|| panic!("{said}"));
        agent.alone(clis, &scratch, Path::new(place), "Hello?");
        model.told_all();
        let knows: Vec<bool> = model.first_asked().iter().map(|asked| asked.body.contains("xylophone")).collect();
        assert_eq!(knows, [false, false, true]);
    });
}
