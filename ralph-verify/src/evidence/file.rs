//! The file that a verify command may write its evidence to.

use std::{fs::File, io::Read as _, path::Path};

use rustix::fs::{Mode, OFlags};
use serde_json::Value;

use super::Tests;
use crate::text;

/// How large the file may be.
const FILE_MAX: u64 = 1 << 20;

/// How many findings are shown, and how much of them in all.
const FINDINGS_MAX: usize = 50;
const FINDINGS_BYTES: usize = text::TAIL_MAX / 2;

/// How many characters of one text are shown.
const LINE_MAX: usize = 300;

/// What the file says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Report {
    pub(crate) passed: bool,
    pub(crate) summary: Option<String>,
    pub(crate) tests: Option<Tests>,
    /// One line for each finding.
    pub(crate) findings: String,
}

/// Reads the file; `None` where there is none or an empty one, `Err` where it says nothing that can be understood.
/// Links are not followed: the file is what the command wrote, and nothing else of the machine.
pub(crate) fn read(path: &Path) -> Result<Option<Report>, String> {
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let file = match rustix::fs::open(path, flags, Mode::empty()) {
        Ok(file) => File::from(file),
        Err(rustix::io::Errno::NOENT) => return Ok(None),
        Err(error) => return Err(format!("it cannot be opened: {error}")),
    };
    let meta = file.metadata().map_err(|error| error.to_string())?;
    if !meta.is_file() {
        return Err("it is no file".to_owned());
    }
    let mut bytes = Vec::new();
    file.take(FILE_MAX + 1).read_to_end(&mut bytes).map_err(|error| error.to_string())?;
    if bytes.len() as u64 > FILE_MAX {
        return Err("it is larger than 1 MiB".to_owned());
    }
    if bytes.is_empty() { Ok(None) } else { parse(&bytes).map(Some) }
}

fn parse(bytes: &[u8]) -> Result<Report, String> {
    let value: Value = serde_json::from_slice(bytes).map_err(|error| error.to_string())?;
    let wrong = |field: &str, kind: &str| format!("`{field}` is not {kind}");
    let passed = value.get("passed").and_then(Value::as_bool).ok_or_else(|| wrong("passed", "true or false"))?;
    let summary = match value.get("summary") {
        None | Some(Value::Null) => None,
        Some(Value::String(summary)) => Some(text::line(summary, LINE_MAX)),
        Some(_) => return Err(wrong("summary", "a text")),
    };
    let tests = match value.get("tests") {
        None | Some(Value::Null) => None,
        Some(Value::Object(tests)) => {
            let count = |name: &str| match tests.get(name) {
                None => Ok(0),
                Some(number) => number.as_u64().ok_or_else(|| wrong(&format!("tests.{name}"), "a number of tests")),
            };
            let (ran, failed, ignored) = (count("ran")?, count("failed")?, count("ignored")?);
            let passed = ran.checked_sub(failed).ok_or("more tests failed than ran")?;
            Some(Tests { announced: 1, ended: 1, ..Tests::new(passed, failed, ignored) })
        }
        Some(_) => return Err(wrong("tests", "an object")),
    };
    let findings = match value.get("findings") {
        None | Some(Value::Null) => &[],
        Some(Value::Array(findings)) => findings.as_slice(),
        Some(_) => return Err(wrong("findings", "a list")),
    };
    Ok(Report { passed, summary, tests, findings: shown(findings)? })
}

/// `src/lib.rs:12: text`, a line each, as many as fit.
fn shown(findings: &[Value]) -> Result<String, String> {
    let mut lines = String::new();
    let mut left = 0_usize;
    for (index, finding) in findings.iter().enumerate() {
        let field = |name: &str| finding.get(name).and_then(Value::as_str).map(|field| text::line(field, LINE_MAX));
        let text = field("text").ok_or_else(|| format!("`findings[{index}].text` is not a text"))?;
        let line = match (field("path"), finding.get("line").and_then(Value::as_u64)) {
            (Some(path), Some(line)) => format!("{path}:{line}: {text}\n"),
            (Some(path), None) => format!("{path}: {text}\n"),
            (None, _) => format!("{text}\n"),
        };
        if left > 0 || index >= FINDINGS_MAX || lines.len() + line.len() > FINDINGS_BYTES {
            left += 1;
        } else {
            lines.push_str(&line);
        }
    }
    if left > 0 {
        lines.push_str(&format!("… and {left} more\n"));
    }
    Ok(lines)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn what_it_says_is_understood_or_refused_with_a_reason() {
        let full =
            br#"{"passed": false, "summary": "2 of 9 pages differ", "tests": {"ran": 9, "failed": 2, "ignored": 1},
            "findings": [{"path": "a.html", "line": 3, "text": "differs"}, {"text": "slow\u001b[31m"}], "more": 1}"#;
        let report = parse(full).unwrap();
        assert_eq!((report.passed, report.summary.as_deref()), (false, Some("2 of 9 pages differ")));
        assert_eq!(report.tests.map(|tests| (tests.ran, tests.passed, tests.ignored)), Some((9, 7, 1)));
        assert_eq!(report.findings, "a.html:3: differs\nslow\n");
        assert!(parse(br#"{"passed": true}"#).unwrap().passed);
        for (text, why) in [
            ("{", "EOF"),
            ("[]", "`passed` is not true or false"),
            (r#"{"passed": 1}"#, "`passed` is not true or false"),
            (r#"{"passed": true, "summary": 1}"#, "`summary` is not a text"),
            (r#"{"passed": true, "tests": []}"#, "`tests` is not an object"),
            (r#"{"passed": true, "tests": {"ran": -1}}"#, "`tests.ran` is not a number of tests"),
            (r#"{"passed": true, "tests": {"ran": 1, "failed": 2}}"#, "more tests failed than ran"),
            (r#"{"passed": true, "findings": {}}"#, "`findings` is not a list"),
            (r#"{"passed": true, "findings": [{}]}"#, "`findings[0].text` is not a text"),
        ] {
            let error = parse(text.as_bytes()).unwrap_err();
            assert!(error.starts_with(why), "{text}: {error}");
        }
    }

    #[test]
    fn only_a_file_of_its_own_is_read() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("evidence.json");
        assert_eq!(read(&path), Ok(None));
        std::fs::write(&path, "").unwrap();
        assert_eq!(read(&path), Ok(None));
        std::fs::write(&path, r#"{"passed": true}"#).unwrap();
        assert!(read(&path).unwrap().unwrap().passed);

        let link = folder.path().join("link");
        std::os::unix::fs::symlink(&path, &link).unwrap();
        assert!(read(&link).unwrap_err().starts_with("it cannot be opened"));
        assert_eq!(read(folder.path()).unwrap_err(), "it is no file");
        std::fs::write(&path, vec![b' '; FILE_MAX as usize + 1]).unwrap();
        assert_eq!(read(&path).unwrap_err(), "it is larger than 1 MiB");
    }

    #[test]
    fn findings_are_bounded() {
        let finding = serde_json::json!({"path": "p".repeat(500), "text": "t".repeat(100_000)});
        let value = serde_json::json!({"passed": false, "findings": vec![finding; 500]});
        let report = parse(&serde_json::to_vec(&value).unwrap()).unwrap();
        assert!(report.findings.len() <= FINDINGS_BYTES + 40, "{}", report.findings.len());
        assert!(report.findings.ends_with(" more\n"));
    }

    proptest! {
        #[test]
        fn no_bytes_panic(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            let _ = parse(&bytes);
        }
    }
}
