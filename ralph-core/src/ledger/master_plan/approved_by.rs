//! The line `Approved-By: lead, 2026-05-18 (4f2c9ab1)`.

use jiff::civil::Date;

use super::notes;

/// How long a name may be, in characters.
const WHO_MAX: usize = 80;

/// What a plan says about its approval.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Signature {
    /// There is no line.
    Missing,
    /// There is a line and it cannot be understood.
    Malformed {
        /// Where, counted from 1.
        line: usize,
        /// Why, and what to do.
        why: String,
    },
    /// Somebody signed.
    Signed(ApprovedBy),
}

/// Who approved a plan, and when.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ApprovedBy {
    /// Who. May hold commas: the date stands behind the last one.
    pub who: String,
    /// The day, as `2026-05-18`; there is such a day.
    pub date: String,
    /// The short hash of what is covered, where `ralph approve` wrote the line.
    pub hash: Option<String>,
    /// Where it stands, counted from 1.
    pub line: usize,
}

impl ApprovedBy {
    /// Reads what follows `Approved-By:`.
    pub(in crate::ledger) fn read(value: &str, line: usize) -> Result<Self, String> {
        const FORM: &str = "write `Approved-By: WHO, YYYY-MM-DD`, or let `ralph approve --by WHO` write it";
        if matches!(value, "" | "-" | "—" | "–") {
            return Err(format!("it is empty: {FORM}"));
        }
        let (text, hash) = match value.strip_suffix(')').and_then(|inner| inner.rsplit_once('(')) {
            Some((text, hash)) => (text.trim(), Some(hash.trim())),
            None => (value, None),
        };
        let Some((who, day)) = text.rsplit_once(',') else {
            return Err(format!("there is no comma between who and when: {FORM}"));
        };
        let (who, day) = (who.trim(), day.trim());
        check_who(who).map_err(|why| format!("{why}: {FORM}"))?;
        let date = date(day).map_err(|why| format!("`{}` {why}: {FORM}", crate::printable(day)))?;
        if let Some(hash) = hash
            && !(hash.len() == 8 && hash.bytes().all(|b| b.is_ascii_digit() || matches!(b, b'a'..=b'f')))
        {
            let hash = crate::printable(hash);
            return Err(format!("`({hash})` is not the hash of an approval: leave the brackets out, or approve again"));
        }
        Ok(Self { who: who.to_owned(), date: date.to_string(), hash: hash.map(str::to_owned), line })
    }

    /// The day.
    pub(in crate::ledger) fn day(&self) -> Option<Date> {
        date(&self.date).ok()
    }
}

/// Whether a name can stand in the line: one line of text that is what it looks like.
pub(in crate::ledger) fn check_who(who: &str) -> Result<(), &'static str> {
    if !who.chars().any(char::is_alphanumeric) {
        return Err("it does not say who approved");
    }
    if who.chars().any(|c| c.is_control() || notes::hidden(c) || crate::text::is_deceptive(c)) {
        return Err("the name holds characters that nobody sees");
    }
    if who.chars().count() > WHO_MAX {
        return Err("the name is longer than 80 characters");
    }
    if who.contains("<!--") || who.contains("-->") {
        return Err("the name holds an HTML comment");
    }
    // Else it would be taken for emphasis around the value.
    if who.contains(['`', '*']) || who.starts_with('_') || who.ends_with('_') {
        return Err("the name holds signs of Markdown");
    }
    Ok(())
}

fn date(text: &str) -> Result<Date, &'static str> {
    let bytes = text.as_bytes();
    let digits =
        |range: std::ops::Range<usize>| bytes.get(range).is_some_and(|part| part.iter().all(u8::is_ascii_digit));
    if bytes.len() != 10 || bytes[4] != b'-' || bytes[7] != b'-' || !digits(0..4) || !digits(5..7) || !digits(8..10) {
        return Err("is not a date of the form YYYY-MM-DD");
    }
    text.parse::<Date>().map_err(|_| "is a day that does not exist")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_understood() {
        for (value, who, date, hash) in [
            ("lead, 2026-05-18", "lead", "2026-05-18", None),
            ("lead,2026-05-18", "lead", "2026-05-18", None),
            ("Doe, Jane , 2024-02-29 (4f2c9ab1)", "Doe, Jane", "2024-02-29", Some("4f2c9ab1")),
            ("María (lead), 2026-05-18", "María (lead)", "2026-05-18", None),
            ("李雷, 2026-05-18(00000000)", "李雷", "2026-05-18", Some("00000000")),
        ] {
            let read = ApprovedBy::read(value, 3).unwrap();
            let found = (read.who.as_str(), read.date.as_str(), read.hash.as_deref(), read.line);
            assert_eq!(found, (who, date, hash, 3), "{value}");
            assert_eq!(read.day().unwrap().to_string(), date);
        }
    }

    #[test]
    fn what_is_refused() {
        let values = [
            "",
            "—",
            "lead",
            "lead 2026-05-18",
            ", 2026-05-18",
            "—, 2026-05-18",
            "lead, 2026-5-18",
            "lead, 18.05.2026",
            "lead, 2026-02-29",
            "lead, 2026-13-01",
            "lead, +026-05-18",
            "lead, ２０２６-05-18",
            "lead, today",
            "lead, 2026-05-18T10:00",
            "le\u{200b}ad, 2026-05-18",
            "le\u{202e}ad, 2026-05-18",
            "lead, 2026-05-18 (4F2C9AB1)",
            "lead, 2026-05-18 (abc)",
            "lead, 2026-05-18 ()",
            "lead, 2026-05-18 (pending)",
        ];
        let told: Vec<_> = values.iter().map(|v| format!("{v:?}: {}", ApprovedBy::read(v, 1).unwrap_err())).collect();
        insta::assert_snapshot!(told.join("\n"));
    }
}
