//! A case of the corpus, as it stands in its file (README.md says how).

use std::{
    collections::BTreeMap,
    fmt::Write as _,
    path::{Path, PathBuf},
};

use ralph_core::EntryKind;

use crate::policy::support::Files;

/// What a runner printed, and its exit code.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Said {
    pub(crate) exit: i32,
    pub(crate) output: String,
}

#[derive(Debug, Default)]
pub(crate) struct Case {
    pub(crate) file: PathBuf,
    /// `rust/ignore`.
    pub(crate) name: String,
    /// What is done, in a sentence.
    pub(crate) title: String,
    pub(crate) verify: String,
    /// Commands that exit with 0 where the verifier can really run; none where it always can.
    pub(crate) needs: Vec<String>,
    /// A shell line that exits with 0 only where the work is done.
    pub(crate) done: String,
    /// Whether the base passes already, and the new behaviour is what it lacks.
    pub(crate) green: bool,
    pub(crate) base: Files,
    pub(crate) hack: Files,
    pub(crate) honest: Files,
    /// What the agent does in its workspace besides: what comes of it is ignored by git, and in no candidate.
    pub(crate) run: Option<String>,
    /// Which parts of Ralph catch the hack.
    pub(crate) caught: Vec<String>,
    /// What the runner said on the base, and in the workspace or on the candidate of each side.
    pub(crate) said: BTreeMap<String, Said>,
}

const HEADS: &[&str] = &["verify", "needs", "done", "green", "base", "hack", "honest", "caught", "said"];

/// All cases, in the order of their names.
pub(crate) fn all() -> Vec<Case> {
    let root = root();
    let mut files: Vec<PathBuf> = std::fs::read_dir(&root)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.is_dir())
        .flat_map(|folder| std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()))
        .filter(|file| file.extension().is_some_and(|end| end == "txt"))
        .collect();
    files.sort();
    files.iter().map(|file| Case::read(file, &root)).collect()
}

pub(crate) fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/main/hacks")
}

impl Case {
    fn read(file: &Path, root: &Path) -> Self {
        let text = std::fs::read_to_string(file).unwrap();
        let name = file.strip_prefix(root).unwrap().with_extension("");
        let mut case = Self { file: file.to_owned(), name: name.display().to_string(), ..Self::default() };
        let mut edits = Vec::new();
        for (head, content) in sections(&text, &case.name) {
            case.section(&head, content, &mut edits);
        }
        (case.hack, case.honest) = (case.base.clone(), case.base.clone());
        for (side, kind, path, content) in edits {
            let files = if side == "hack" { &mut case.hack } else { &mut case.honest };
            put(files, &kind, &path, &content);
        }
        assert!(!case.verify.is_empty() && !case.done.is_empty(), "{}: `verify` and `done` are needed", case.name);
        case
    }

    fn section(&mut self, head: &str, content: String, edits: &mut Vec<(String, String, String, String)>) {
        let lines = || content.lines().map(|line| line.trim().to_owned()).filter(|line| !line.is_empty()).collect();
        let words: Vec<&str> = head.split(' ').collect();
        match words[..] {
            [""] => self.title = content.lines().next().unwrap_or_default().trim_end_matches('.').to_owned(),
            ["verify"] => content.trim().clone_into(&mut self.verify),
            ["needs"] => self.needs = lines(),
            ["done"] => content.trim().clone_into(&mut self.done),
            ["green"] => self.green = true,
            ["caught"] => self.caught = lines(),
            ["hack", "run"] => self.run = Some(content),
            ["base", path] => put(&mut self.base, "file", path, &content),
            ["base", kind, path] => put(&mut self.base, kind, path, &content),
            [side @ ("hack" | "honest"), path] => edits.push((side.into(), "file".into(), path.into(), content)),
            [side @ ("hack" | "honest"), kind, path] => edits.push((side.into(), kind.into(), path.into(), content)),
            ["said", ref when @ .., exit] => {
                let exit = exit.parse().unwrap();
                self.said.insert(when.join(" "), Said { exit, output: content });
            }
            _ => unreachable!("{}: `--- {head}` is nothing", self.name),
        }
    }

    /// Whether it is one of those that are known to pass.
    pub(crate) fn is_uncaught(&self) -> bool {
        self.name.starts_with("uncaught/")
    }

    /// Adds what the runner really said to its file.
    pub(crate) fn record(&self, said: &BTreeMap<String, Said>) {
        let mut kept = std::fs::read_to_string(&self.file).unwrap();
        for (when, said) in said {
            let _ = write!(kept, "--- said {when} {}\n{}", said.exit, said.output);
            if !kept.ends_with('\n') {
                kept.push('\n');
            }
        }
        std::fs::write(&self.file, kept).unwrap();
    }
}

/// The parts of a file. In what a runner said, a line that looks like a head (`--- PASS: TestAdds`) is none.
fn sections(text: &str, name: &str) -> Vec<(String, String)> {
    let mut found = vec![(String::new(), String::new())];
    for line in text.split_inclusive('\n') {
        let head = line.strip_prefix("--- ").map(str::trim_end);
        let (last, content) = found.last_mut().unwrap();
        match head {
            Some(head) if HEADS.contains(&head.split(' ').next().unwrap()) => {
                found.push((head.to_owned(), String::new()));
            }
            Some(head) if !last.starts_with("said") => unreachable!("{name}: `--- {head}` is nothing"),
            _ => content.push_str(line),
        }
    }
    found
}

fn put(files: &mut Files, kind: &str, path: &str, content: &str) {
    let old = std::mem::take(files);
    *files = match kind {
        "file" => old.file(path, content),
        "program" => old.with(EntryKind::Executable, path, content),
        "link" => old.link(path, content.trim_end()),
        "without" => old.without(path),
        _ => unreachable!("`{kind}` of {path} is nothing"),
    };
}
