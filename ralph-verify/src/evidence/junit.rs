//! JUnit XML in the output, as of `cat report.xml` or `pytest --junitxml=/dev/stdout`. Every case is counted itself: the
//! totals in the attributes mean different things with different writers.

use roxmltree::{Document, Node};

use super::Tests;

/// A longer report is left out, and counts for nothing.
const DOCUMENT_MAX: usize = 4 << 20;

/// How often a report may look complete without being so.
const TRIES_MAX: u32 = 16;

#[derive(Debug, Default)]
pub(super) struct Junit {
    sum: Tests,
    open: Option<Open>,
}

#[derive(Debug, Default)]
struct Open {
    text: String,
    end: &'static str,
    tries: u32,
    too_long: bool,
}

impl Junit {
    /// Takes in a line; whether it is part of a report.
    pub(super) fn line(&mut self, line: &str) -> bool {
        if self.open.is_none() {
            let Some((start, end)) = start(line) else { return false };
            self.open = Some(Open { end, ..Open::default() });
            self.take(&line[start..]);
        } else {
            self.take(line);
        }
        true
    }

    fn take(&mut self, line: &str) {
        let Some(open) = &mut self.open else { return };
        open.too_long |= open.text.len() + line.len() >= DOCUMENT_MAX;
        if open.too_long {
            open.text = String::new();
        } else {
            open.text.push_str(line);
            open.text.push('\n');
        }
        let first_closes = open.text.len() == line.len() + 1 && line.trim_end().ends_with("/>");
        let Some(end) = line.rfind(open.end).map(|at| at + open.end.len()).or(first_closes.then_some(line.len()))
        else {
            return;
        };
        if open.too_long {
            self.open = None;
            return;
        }
        // What stands behind it on the line is not the report's.
        let whole = &open.text[..open.text.len() - 1 - (line.len() - end)];
        if let Some(tests) = count(whole) {
            self.sum.add(tests);
            self.open = None;
        } else {
            open.tries += 1;
            if open.tries >= TRIES_MAX {
                self.open = None;
            }
        }
    }

    pub(super) fn tests(&self) -> Tests {
        self.sum
    }
}

fn start(line: &str) -> Option<(usize, &'static str)> {
    let head = line.trim_start();
    if !head.starts_with('<') {
        return None;
    }
    let root = |name: &str| head.find(name).filter(|at| *at == 0 || head.starts_with("<?xml"));
    let at = line.len() - head.len();
    match (root("<testsuites"), root("<testsuite ")) {
        (Some(start), _) => Some((at + start, "</testsuites>")),
        (None, Some(start)) => Some((at + start, "</testsuite>")),
        (None, None) => None,
    }
}

/// `None` where it is no whole document.
fn count(text: &str) -> Option<Tests> {
    let document = Document::parse(text).ok()?;
    let mut sum = Tests { announced: 1, ended: 1, ..Tests::default() };
    for case in document.descendants().filter(|node| node.has_tag_name("testcase")) {
        let has = |name: &str| case.children().any(|child: Node<'_, '_>| child.has_tag_name(name));
        let not_run = case.attribute("status").is_some_and(|status| matches!(status, "notrun" | "disabled"));
        sum.add(if has("failure") || has("error") {
            Tests::new(0, 1, 0)
        } else if has("skipped") || not_run {
            Tests::new(0, 0, 1)
        } else {
            Tests::new(1, 0, 0)
        });
    }
    Some(sum)
}
