//! Writes the signature into a plan: one line, and no other byte.

use super::{ApprovedBy, MasterPlan, Signature, heading, key};
use crate::ledger::prd_markdown::{
    keys,
    lines::Lines,
    read::decode,
    scan::{self, Scan, ZoneKind},
};

/// The bytes of a plan with `by` as its signature: in place of the one that is there, whatever its form, else at the
/// top, below the front matter and the title. The error holds what is wrong with the plan, with its places.
pub(in crate::ledger) fn sign(bytes: &[u8], name: &str, by: &ApprovedBy) -> Result<Vec<u8>, Vec<String>> {
    let plan = MasterPlan::parse(bytes, name)?;
    let (skip, text) = decode(bytes).map_err(|problem| vec![format!("{name}:{}: {}", problem.line, problem.text)])?;
    let lines = Lines::of(text);
    let line = match &by.hash {
        Some(hash) => format!("Approved-By: {}, {} ({hash})", by.who, by.date),
        None => format!("Approved-By: {}, {}", by.who, by.date),
    };
    let found = match &plan.signature {
        Signature::Missing => None,
        Signature::Signed(by) => Some(by.line),
        Signature::Malformed { line, .. } => Some(*line),
    };
    let edits: Vec<(usize, usize, String)> = match found {
        Some(number) => {
            let range = lines.range(number - 1);
            // In the list that it stands in, if it stands in one.
            let (bullet, _) = keys::bullet(lines.text(number - 1));
            vec![(range.start, range.end, format!("{bullet}{line}")), (range.start, range.end, line)]
        }
        None => {
            let scan = scan::scan(text);
            [top(text, &scan, &lines), 0].iter().map(|index| insertion(text, &lines, *index, &line)).collect()
        }
    };
    for (start, end, new) in edits {
        let signed = [&bytes[..skip + start], new.as_bytes(), &bytes[skip + end..]].concat();
        if holds(&signed, &plan, by) {
            return Ok(signed);
        }
    }
    let number = found.unwrap_or(1);
    let text = "the signature cannot be written here without changing what the plan says: write the line \
                `Approved-By: WHO, YYYY-MM-DD` at the top by hand, then approve again";
    Err(vec![format!("{name}:{number}: {text}")])
}

/// Whether a plan says what it said, and is signed.
fn holds(signed: &[u8], plan: &MasterPlan, by: &ApprovedBy) -> bool {
    let Ok(new) = MasterPlan::parse(signed, "") else { return false };
    let Signature::Signed(found) = &new.signature else { return false };
    let same = (&found.who, &found.date, &found.hash) == (&by.who, &by.date, &by.hash);
    // Lines move by one at most, and everything else is the same.
    let place = |line: usize| line + usize::from(plan.signature == Signature::Missing && line >= found.line);
    let phases = plan.phases.iter().cloned().map(|mut phase| {
        phase.line = place(phase.line);
        phase.prd_line = place(phase.prd_line);
        phase.items = phase.items.map(|(count, line)| (count, place(line)));
        phase
    });
    same && new.text == plan.text && phases.eq(new.phases.iter().cloned())
}

/// The index of the line above which a signature is put.
fn top(text: &str, scan: &Scan, lines: &Lines<'_>) -> usize {
    let front = scan.zones.first().filter(|zone| zone.kind == ZoneKind::FrontMatter);
    let begin = match front {
        Some(zone) => lines.index_of(zone.range.end.saturating_sub(1)) + 1,
        None => 0,
    };
    let Some(first) = (begin..lines.count()).find(|index| !lines.text(*index).trim().is_empty()) else {
        return begin;
    };
    let range = lines.range(first);
    let title = scan.headings.iter().find(|title| range.start <= title.at && title.at < range.end.max(range.start + 1));
    let is_phase = heading::read(lines.text(first)) != heading::PhaseLine::No;
    if title.is_none_or(|title| title.level != 1) || is_phase {
        return begin;
    }
    if lines.text(first).trim_start().starts_with('#') {
        return first + 1;
    }
    // A title that is underlined.
    let under = |index: &usize| {
        let line = lines.text(*index).trim();
        !line.is_empty() && line.bytes().all(|byte| byte == b'=')
    };
    let plain = |index: &usize| key::read(lines.text(*index)).is_none();
    (first..lines.count()).take_while(plain).find(under).map_or(begin, |index| index + 1).min(count(text, lines))
}

/// How many lines there are, an empty one after the last line end not counted.
fn count(text: &str, lines: &Lines<'_>) -> usize {
    if text.is_empty() { 0 } else { lines.count() }
}

/// What to put where, so that `line` stands above line `index`.
fn insertion(text: &str, lines: &Lines<'_>, index: usize, line: &str) -> (usize, usize, String) {
    let end = line_end(text);
    if index < count(text, lines) {
        let at = lines.range(index).start;
        return (at, at, format!("{line}{end}"));
    }
    let ended = text.is_empty() || text.ends_with(['\n', '\r']);
    let new = if ended { format!("{line}{end}") } else { format!("{end}{line}") };
    (text.len(), text.len(), new)
}

/// The line end of a text: that of its first line.
fn line_end(text: &str) -> &'static str {
    match text.find(['\n', '\r']) {
        Some(at) if text[at..].starts_with("\r\n") => "\r\n",
        Some(at) if text[at..].starts_with('\r') => "\r",
        Some(_) | None => "\n",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn by(who: &str, hash: Option<&str>) -> ApprovedBy {
        let line = format!("{who}, 2026-05-18");
        ApprovedBy { hash: hash.map(str::to_owned), ..ApprovedBy::read(&line, 1).unwrap() }
    }

    fn signed(text: &str) -> String {
        let bytes = sign(text.as_bytes(), "PLAN.md", &by("lead", Some("4f2c9ab1")));
        String::from_utf8(bytes.unwrap_or_else(|why| panic!("{text:?}: {why:?}"))).unwrap()
    }

    const PHASE: &str = "Phase P1 — It\n  PRD: a.md\n  Auto-Gate: make\n";
    const LINE: &str = "Approved-By: lead, 2026-05-18 (4f2c9ab1)";

    #[test]
    fn in_place_of_the_old_one() {
        for (old, new) in [
            ("Approved-By: lead, 2025-01-01", LINE.to_owned()),
            ("Approved-By: lead, 2025-01-01 (00000000)", LINE.to_owned()),
            ("**Approved-By:** —", LINE.to_owned()),
            ("approved-by: whenever", LINE.to_owned()),
            ("## Approved-By: me", LINE.to_owned()),
            ("- Approved-By: me", format!("- {LINE}")),
            ("  * **Approved-By**: me, 2025-01-01  ", format!("  * {LINE}")),
        ] {
            for end in ["\n", "\r\n"] {
                let (old, new) = (format!("# Plan\n\n{old}\n\n{PHASE}"), format!("# Plan\n\n{new}\n\n{PHASE}"));
                assert_eq!(signed(&old.replace('\n', end)), new.replace('\n', end));
            }
        }
        let below = format!("{PHASE}\nApproved-By: me");
        assert_eq!(signed(&below), format!("{PHASE}\n{LINE}"));
    }

    #[test]
    fn at_the_top_where_there_is_none() {
        for (above, below) in [
            ("", ""),
            ("\u{feff}", ""),
            ("# Plan\n", "\n"),
            ("\n# Plan\n", "\nprose\n\n"),
            ("Plan\n====\n", "\n"),
            ("---\nowner: me\n---\n", "\n"),
            ("---\nowner: me\n---\n\n# Plan\n", "\n"),
            ("", "prose\n\n# Plan\n\n"),
            ("", "## Plan\n\n"),
            ("", "<!-- a -->\n"),
            ("", "> quoted\n\n"),
        ] {
            let plan = format!("{above}{below}{PHASE}");
            assert_eq!(signed(&plan), format!("{above}{LINE}\n{below}{PHASE}"));
        }
        let crlf = format!("# Plan\n{PHASE}").replace('\n', "\r\n");
        assert_eq!(signed(&crlf), format!("# Plan\n{LINE}\n{PHASE}").replace('\n', "\r\n"));
        // A phase may be a heading of the first level.
        let heading = format!("# {PHASE}");
        assert_eq!(signed(&heading), format!("{LINE}\n{heading}"));
    }

    #[test]
    fn a_plan_with_problems_is_not_signed() {
        let why = sign(b"# Plan\n", "PLAN.md", &by("lead", None)).unwrap_err();
        assert!(why[0].starts_with("PLAN.md:1: no phase is recognised"), "{why:?}");
        let twice = format!("Approved-By: a, 2026-01-01\nApproved-By: b, 2026-01-01\n{PHASE}");
        let why = sign(twice.as_bytes(), "PLAN.md", &by("lead", None)).unwrap_err();
        assert!(why[0].starts_with("PLAN.md:2: the signature cannot be written"), "{why:?}");
    }
}
