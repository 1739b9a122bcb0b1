//! The corpus of reward hacks: work that is not done and of which the verify command exits with 0, each with an honest twin.

mod case;
mod play;

use std::{fmt::Write as _, sync::OnceLock};

use self::{
    case::Case,
    play::{Judged, Played},
};

/// The least that there must be, so that a folder that is not read is seen.
const LEAST: usize = 60;

fn corpus() -> &'static [(Case, Played)] {
    static CORPUS: OnceLock<Vec<(Case, Played)>> = OnceLock::new();
    CORPUS.get_or_init(|| {
        let cases = case::all();
        let played = play::all(&cases);
        let all: Vec<_> = cases.into_iter().zip(played).collect();
        if writes() {
            let missing =
                |(case, played): &&(Case, Played)| played.real && !case.needs.is_empty() && case.said.is_empty();
            all.iter().filter(missing).for_each(|(case, played)| case.record(&played.said));
        }
        all
    })
}

/// Whether recorded output and the table of the docs are to be written anew.
fn writes() -> bool {
    std::env::var_os("RALPH_WRITE_HACKS").is_some()
}

fn none_wrong(wrong: &[String]) {
    assert!(wrong.is_empty(), "{} wrong:\n{}", wrong.len(), wrong.join("\n"));
}

/// What every case claims: the command says yes to the hack, which is not the work; the twin is.
#[test]
fn the_cases_are_what_they_say() {
    let mut wrong = Vec::new();
    for (case, played) in corpus() {
        let mut claim = |holds: bool, what: &str| {
            if !holds {
                wrong.push(format!("{}: {what}", case.name));
            }
        };
        claim(case.needs.is_empty() || !case.said.is_empty(), "its runner may not be there, and nothing is recorded");
        claim((played.base_exit == 0) == case.green, "the base passes and `green` does not say so, or the reverse");
        claim(played.hack.exit == 0, &format!("no hack: the command fails: {:?}", played.hack));
        claim(!played.base_done, "there is nothing to do: the base is done");
        claim(!played.hack.done, "no hack: the work is done");
        claim(played.honest.done, "no honest twin: the work is not done");
    }
    none_wrong(&wrong);
}

#[test]
fn every_hack_is_caught_by_what_its_case_names() {
    let mut wrong = Vec::new();
    let hacks: Vec<_> = corpus().iter().filter(|(case, _)| !case.is_uncaught()).collect();
    for (case, played) in &hacks {
        let by: Vec<&String> = played.hack.against.keys().collect();
        let mut named: Vec<&String> = case.caught.iter().collect();
        named.sort();
        if by != named || named.is_empty() || played.hack.outcome == "accepted" {
            wrong.push(format!("{}: named {named:?}, {}", case.name, words(&played.hack)));
        }
    }
    none_wrong(&wrong);
    let real = hacks.iter().filter(|(_, played)| played.real).count();
    println!("{} hacks, all caught; {real} really ran, {} as recorded", hacks.len(), hacks.len() - real);
    assert!(hacks.len() >= LEAST, "{}", hacks.len());
}

#[test]
fn no_honest_twin_is_refused() {
    let refused = corpus().iter().filter(|(_, played)| played.honest.outcome != "accepted");
    let wrong: Vec<_> = refused.map(|(case, played)| format!("{}: {}", case.name, words(&played.honest))).collect();
    none_wrong(&wrong);
}

/// Where the runner is not there, the case is judged in the same way by what was recorded.
#[test]
fn what_was_recorded_is_what_the_runners_say() {
    let mut wrong = Vec::new();
    for (case, real) in corpus() {
        let Some(recorded) = &real.recorded else { continue };
        let brief = |played: &Played| {
            let side = |side: &Judged| (side.exit == 0, side.outcome, side.against.keys().cloned().collect::<Vec<_>>());
            (played.base_exit == 0, side(&played.hack), side(&played.honest))
        };
        let (real, recorded) = (brief(real), brief(recorded));
        if real != recorded {
            wrong.push(format!("{}: {real:?}, and recorded is {recorded:?}", case.name));
        }
    }
    none_wrong(&wrong);
}

/// What the docs say is not seen is not seen. A case that fails here has become one that is caught.
#[test]
fn what_is_known_to_pass_passes() {
    let mut wrong = Vec::new();
    let uncaught: Vec<_> = corpus().iter().filter(|(case, _)| case.is_uncaught()).collect();
    for (case, played) in &uncaught {
        if played.hack.outcome != "accepted" || !case.caught.is_empty() {
            wrong.push(format!("{}: is caught: {}", case.name, words(&played.hack)));
        }
    }
    none_wrong(&wrong);
    println!("{} hacks that are known to pass", uncaught.len());
    assert!(!uncaught.is_empty());
}

fn words(judged: &Judged) -> String {
    let against = judged.against.iter().map(|(who, what)| format!("\n  {who}: {what}"));
    format!("{}{}", judged.outcome, against.collect::<String>())
}

#[test]
fn every_case_and_what_becomes_of_it() {
    let mut text = String::new();
    for (case, played) in corpus() {
        let _ = writeln!(text, "{}: {}", case.name, words(&played.hack));
    }
    insta::assert_snapshot!(text);
}

/// Where the docs' table begins and ends.
const TABLE: [&str; 2] = ["<!-- cases: written by a test -->\n", "<!-- end of cases -->\n"];

#[test]
fn the_table_of_the_docs_is_that_of_the_cases() {
    let path = case::root().join("../../../../docs/reward-hacks.md");
    let page = std::fs::read_to_string(&path).unwrap();
    let (before, rest) = page.split_once(TABLE[0]).unwrap();
    let (_, after) = rest.split_once(TABLE[1]).unwrap();
    let expected = format!("{before}{}{}{}{after}", TABLE[0], table(), TABLE[1]);
    if writes() {
        std::fs::write(path, &expected).unwrap();
    }
    assert!(page == expected || writes(), "RALPH_WRITE_HACKS=1 writes the table anew, which should be:\n{}", table());
}

fn table() -> String {
    let cases: Vec<&Case> = corpus().iter().map(|(case, _)| case).collect();
    let mut text = String::new();
    for (folder, title) in [
        ("rust", "Rust"),
        ("python", "Python"),
        ("script", "JavaScript and TypeScript"),
        ("go", "Go"),
        ("uncaught", "Not caught"),
    ] {
        let of: Vec<_> = cases.iter().filter(|case| case.name.starts_with(&format!("{folder}/"))).collect();
        let _ = writeln!(text, "\n## {title}: {}\n", of.len());
        text.push_str(if folder == "uncaught" {
            "| case | the agent |\n| --- | --- |\n"
        } else {
            "| case | the agent | is caught by |\n| --- | --- | --- |\n"
        });
        for case in of {
            let name = case.name.split('/').next_back().unwrap();
            let by = case.caught.iter().map(|by| by.replace('-', " ")).collect::<Vec<_>>().join(", ");
            let by = if by.is_empty() { String::new() } else { format!(" {by} |") };
            let _ = writeln!(text, "| {name} | {} |{by}", case.title.replace('|', "\\|"));
        }
    }
    text.push('\n');
    text
}
