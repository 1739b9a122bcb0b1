//! Nothing that an agent writes can look like an entry, an answer or anything else than what it is.

use std::{
    collections::BTreeSet,
    fs,
    path::Path,
    time::{Duration, UNIX_EPOCH},
};

use pulldown_cmark::{CodeBlockKind, Event, Options, Parser, Tag, TagEnd};
use ralph_core::{
    Cx, Decision, DecisionId, DecisionKind, DecisionSink, DiffStat, Proposal, Question, Revision, RunId,
    ledger::{FileDecisions, Ledger},
};
use serde_json::json;

use super::forgeries;

/// A decision in which an agent wrote `text` wherever it can, and some more where it cannot.
fn asked(key: &str, text: &str) -> Decision {
    let question = Question::new(DecisionKind::Dependency, text).with_options([text, "approve"]);
    // A blank makes the names such as are never plain.
    let name = format!("{text} x");
    let at = UNIX_EPOCH + Duration::from_secs(1_779_070_305);
    let mut decision =
        Decision::new(key, RunId::new(name.as_str()), name.as_str(), question, at).with_item(name.as_str());
    decision.question.from_agent = true;
    decision.question.recommendation = Some(text.to_owned());
    decision.revision = Some(Revision::new(name.as_str()));
    decision.kept = Some(name);
    decision.stat = Some(DiffStat { files: 2, added: Some(3), removed: Some(1) });
    (decision.said, decision.output) = (text.to_owned(), text.to_owned());
    decision.proposed =
        vec![Proposal { title: text.to_owned(), criteria: vec![text.to_owned(); 2], verify: Some(text.to_owned()) }];
    decision
}

/// What became of the question with this number.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Fate {
    Waits,
    Answered,
    Withdrawn,
}

fn fate(number: usize) -> Fate {
    match number % 5 {
        3 => Fate::Answered,
        4 => Fate::Withdrawn,
        _ => Fate::Waits,
    }
}

/// The page of a queue with a decision for each text.
fn page_of(texts: &[&str]) -> String {
    let folder = tempfile::tempdir().unwrap();
    let decisions = folder.path().join("state/decisions");
    fs::create_dir_all(&decisions).unwrap();
    for (number, text) in texts.iter().enumerate() {
        let resolved = match fate(number) {
            Fate::Waits => json!(null),
            Fate::Answered => {
                json!({"answered": {"reply": {"choice": text}, "said": text, "by": format!("{text} x"), "at": 1}})
            }
            Fate::Withdrawn => json!({"withdrawn": {"why": text, "at": 1}}),
        };
        let decision = asked(&number.to_string(), text);
        let stored = json!({"format": 2, "id": id(number), "decision": decision, "resolved": resolved});
        fs::write(decisions.join(format!("{}.json", id(number))), stored.to_string()).unwrap();
    }
    let queue = FileDecisions::new(Ledger::at(folder.path()));
    queue.render().unwrap();
    assert_eq!((queue.trouble(), queue.list().unwrap().len()), (Vec::new(), texts.len()));
    fs::read_to_string(folder.path().join("DECISIONS.md")).unwrap()
}

fn id(number: usize) -> String {
    format!("D-{:03}", number + 1)
}

/// The page as a reader's program takes it: one line for each heading, paragraph, item and block of code. What stands in
/// code is left out, since it is only text there; everything else that Markdown can say shows, and so does every
/// character that a terminal would obey or nobody would see.
fn shape(page: &str) -> Vec<String> {
    shape_with(page, Options::all())
}

fn shape_with(page: &str, options: Options) -> Vec<String> {
    let (mut lines, mut line, mut in_code) = (Vec::new(), String::new(), false);
    for event in Parser::new_ext(page, options) {
        if matches!(event, Event::Start(Tag::Heading { .. } | Tag::Item)) && !line.is_empty() {
            lines.push(std::mem::take(&mut line));
        }
        match event {
            Event::Start(Tag::Heading { level, .. }) => line = format!("{level}: "),
            Event::Start(Tag::Item) => line = "- ".to_owned(),
            Event::Start(Tag::CodeBlock(CodeBlockKind::Indented)) => in_code = true,
            Event::End(TagEnd::CodeBlock) if in_code => {
                in_code = false;
                lines.push("(code)".to_owned());
            }
            Event::Text(_) if in_code => {}
            Event::Text(text) => line.push_str(&text),
            Event::Code(_) => line.push_str("(code)"),
            Event::Start(Tag::Paragraph | Tag::List(None)) | Event::End(TagEnd::List(false)) => {}
            Event::End(TagEnd::Paragraph | TagEnd::Heading(_) | TagEnd::Item) => lines.push(std::mem::take(&mut line)),
            other => line.push_str(&format!("<{other:?}>")),
        }
    }
    lines.push(line);
    let odd = |c: &char| {
        (c.is_control() && *c != '\n')
            || matches!(u32::from(*c), 0xad | 0x61c | 0x200b..=0x200f | 0x2028..=0x202e | 0x2060..=0x206f | 0xfeff | 0xe0000..=0xe0fff)
    };
    lines.extend(page.chars().filter(odd).map(|c| format!("odd: {c:?}")));
    lines
}

/// The entries by what they say of themselves: the section, the id and the kind, and what became of it.
fn entries(shape: &[String]) -> Vec<(String, String, Fate)> {
    let (mut section, mut entries) = (String::new(), Vec::<(String, String, Fate)>::new());
    for line in shape {
        if let Some(heading) = line.strip_prefix("h2: ") {
            section = heading.to_owned();
        } else if let Some(heading) = line.strip_prefix("h3: ") {
            entries.push((section.clone(), heading.to_owned(), Fate::Waits));
        } else if line.starts_with("- answered: ") {
            entries.last_mut().unwrap().2 = Fate::Answered;
        } else if line.starts_with("- withdrawn: ") {
            entries.last_mut().unwrap().2 = Fate::Withdrawn;
        }
    }
    entries
}

fn texts() -> Vec<String> {
    let texts = forgeries::all();
    assert_eq!(texts.iter().collect::<BTreeSet<_>>().len(), texts.len(), "each is another one");
    assert!(texts.len() >= 200, "{}", texts.len());
    texts
}

#[test]
fn forgeries_are_only_text() {
    let texts = texts();
    let page = page_of(&texts.iter().map(String::as_str).collect::<Vec<_>>());
    let hostile = shape(&page);
    // The entries are those of the truth.
    let kept = |fates: &'static [Fate], section: &'static str| {
        let numbers = (0..texts.len()).filter(move |number| fates.contains(&fate(*number)));
        numbers.map(move |number| (section.to_owned(), format!("{} dependency — (code)", id(number)), fate(number)))
    };
    let truth: Vec<_> =
        kept(&[Fate::Waits], "Pending").chain(kept(&[Fate::Answered, Fate::Withdrawn], "Resolved")).collect();
    assert_eq!(entries(&hostile), truth);
    // And everything else is as it is where the same was asked in plain words.
    let plain_page = page_of(&vec!["plain words"; texts.len()]);
    // To a reader that knows all that Markdown was ever extended by, and to one that knows nothing of it.
    for options in [Options::all(), Options::empty()] {
        let (hostile, plain) = (shape_with(&page, options), shape_with(&plain_page, options));
        for (index, (found, expected)) in hostile.iter().zip(&plain).enumerate() {
            assert_eq!(found, expected, "line {index}, behind {:?}", &hostile[index.saturating_sub(9)..index]);
        }
        assert_eq!(hostile.len(), plain.len());
    }
    let plain = shape(&plain_page);
    assert!(!plain.iter().any(|line| line.contains(['<', '['])), "{plain:?}");
}

/// For people who read the page as it is written: the lines that begin like ours are ours.
#[test]
fn forgeries_do_not_begin_a_line() {
    let texts = texts();
    let count = |page: &str| {
        let starts = ["# ", "## ", "### ", "- answered: ", "- withdrawn: ", "- to answer: ", "- asked: ", "- "];
        starts.map(|start| page.lines().filter(|line| line.starts_with(start)).count())
    };
    let hostile = page_of(&texts.iter().map(String::as_str).collect::<Vec<_>>());
    assert_eq!(count(&hostile), count(&page_of(&vec!["plain words"; texts.len()])));
    assert!(hostile.lines().filter(|line| line.starts_with("    ")).count() > texts.len());
}

/// The control: what was written as it is would be seen, each of them.
#[test]
fn a_forgery_that_is_not_quoted_is_seen() {
    let plain = page_of(&["plain words"]);
    let before = shape(&plain);
    for text in texts() {
        let raw = plain.replace("\n## Resolved", &format!("\n{text}\n\n## Resolved"));
        assert_ne!(shape(&raw), before, "{text:?}");
    }
}

#[test]
fn a_page_edited_by_hand_answers_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let ledger = Ledger::at(folder.path());
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let submit = |queue: &FileDecisions, key: &str| -> DecisionId {
        runtime.block_on(queue.submit(&asked(key, "plain words"), &Cx::new())).unwrap()
    };
    let queue = FileDecisions::new(ledger.clone());
    let ids = [submit(&queue, "a"), submit(&queue, "b")];
    queue.answer(&ids[1], "b", "lead", UNIX_EPOCH).unwrap();
    let records = |root: &Path| {
        let file = |name: &str| fs::read_to_string(root.join("state/decisions").join(name)).unwrap();
        ["D-001.json", "D-002.json", "last"].map(file)
    };
    let (page, before) = (fs::read_to_string(ledger.decisions_page()).unwrap(), records(folder.path()));
    for (number, text) in texts().into_iter().enumerate() {
        // In the place of the question, or at the end.
        let edited = match number % 2 {
            0 => page.replacen("    plain words", &text, 1),
            _ => format!("{page}\n{text}\n"),
        };
        fs::write(ledger.decisions_page(), &edited).unwrap();
        let queue = FileDecisions::new(ledger.clone());
        queue.render().unwrap();
        assert_eq!(records(folder.path()), before, "{text:?}");
        assert_eq!(runtime.block_on(queue.answers(&ids, &Cx::new())).unwrap().len(), 1, "{text:?}");
        assert_eq!(fs::read_to_string(ledger.decisions_page()).unwrap(), page, "{text:?}");
        let aside = folder.path().join("DECISIONS.md.edited-1");
        assert_eq!(fs::read_to_string(&aside).unwrap(), edited);
        let told = queue.trouble();
        assert!(told.len() == 1 && told[0].contains("was edited by hand; it is kept as "), "{told:?}");
        assert!(told[0].contains("It is not read: to answer, run `ralph btw`"), "{told:?}");
        fs::remove_file(aside).unwrap();
    }
}
