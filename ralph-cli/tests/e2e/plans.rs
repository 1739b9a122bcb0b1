//! Master Plans for tests: written, signed, run, and their questions answered.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt::Write as _,
    fs,
    os::unix::fs::PermissionsExt as _,
    path::{Path, PathBuf},
};

use super::support::{DILIGENT, Ended, Scratch};

/// The branch of a run on `ralph-loop/MASTER-PLAN.md`.
pub(crate) const PLAN_BRANCH: &str = "ralph/master-plan";

/// A signature by hand, which counts until the first run.
pub(crate) const SIGNED: &str = "Approved-By: lead, 2026-05-18\n";

/// The keys of a phase with a gate that is open.
pub(crate) const OPEN: &[&str] = &["Auto-Gate: true"];

/// A question that waits.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Asked {
    pub(crate) project: String,
    pub(crate) id: String,
    pub(crate) kind: String,
    /// `P1/R02`, or the phase alone.
    pub(crate) place: String,
    pub(crate) text: String,
    pub(crate) output: String,
}

impl Scratch {
    /// A repository with a signed Master Plan: for each phase how many items it has, and its keys. The items are numbered
    /// through all phases and ask for `R01.txt`, `R02.txt`, … of a diligent agent.
    pub(crate) fn planned(phases: &[(usize, &[&str])]) -> Self {
        let mut scratch = Self::new(0);
        scratch.branch = PLAN_BRANCH;
        let (mut plan, mut next) = (SIGNED.to_owned(), 1);
        for (index, (items, keys)) in phases.iter().enumerate() {
            let number = index + 1;
            write!(plan, "\nPhase P{number} — Part {number}\n  PRD: ralph-loop/PRD-P{number}.md\n").unwrap();
            keys.iter().for_each(|key| writeln!(plan, "  {key}").unwrap());
            let mut prd = format!("# PRD-P{number} — Part {number}\n\n");
            for item in next..next + items {
                writeln!(prd, "- [ ] R{item:02}: make the file {item}\n  Verify: test -s R{item:02}.txt").unwrap();
            }
            next += items;
            scratch.write(&format!("ralph-loop/PRD-P{number}.md"), prd);
        }
        scratch.plan(&plan);
        scratch.agent(DILIGENT);
        scratch
    }

    /// The whole Master Plan.
    pub(crate) fn plan(&self, text: &str) {
        self.write("ralph-loop/MASTER-PLAN.md", text);
    }

    /// Changes a file of the control folder, as an editor does: all at once.
    #[track_caller]
    pub(crate) fn edit(&self, name: &str, from: &str, to: &str) {
        let path = format!("ralph-loop/{name}");
        let before = self.read(&path);
        assert!(before.contains(from), "{from:?} is not in {before}");
        self.write("ralph-loop/new", before.replacen(from, to, 1));
        fs::rename(self.root.join("ralph-loop/new"), self.root.join(path)).unwrap();
    }

    /// The marks of the items of all phases: `xx|? |`.
    pub(crate) fn plan_marks(&self) -> String {
        let marks = |number: usize| {
            let text = fs::read_to_string(self.root.join(format!("ralph-loop/PRD-P{number}.md"))).ok()?;
            Some(text.lines().filter_map(|line| line.strip_prefix("- [")?.chars().next()).collect::<String>())
        };
        (1..).map_while(marks).collect::<Vec<_>>().join("|")
    }

    /// Signs the plan by the command.
    #[track_caller]
    pub(crate) fn approve(&self) -> Ended {
        let ended = self.ralph(&["approve", "--by", "lead", "--yes"]);
        assert_eq!(ended.status.code(), Some(0), "{}", ended.stderr);
        ended
    }

    /// Answers questions, each as `D-001=approve`.
    #[track_caller]
    pub(crate) fn btw(&self, answers: &[&str]) -> Ended {
        let flags = answers.iter().flat_map(|answer| ["--answer", answer]);
        let args: Vec<&str> = ["btw", "--by", "lead"].into_iter().chain(flags).collect();
        let ended = self.ralph(&args);
        assert_eq!(ended.status.code(), Some(0), "{}", ended.stderr);
        ended
    }

    /// Everything that this test has: checkout, repository, the user's state and home.
    pub(crate) fn everything(&self) -> BTreeMap<PathBuf, String> {
        listing(self.root.parent().unwrap())
    }

    /// The questions that wait, of all projects that this home knows.
    #[track_caller]
    pub(crate) fn pending(&self) -> Vec<Asked> {
        let ended = self.ralph(&["btw", "--json"]);
        assert_eq!(ended.status.code(), Some(0), "{}", ended.stderr);
        let page: serde_json::Value = serde_json::from_str(&ended.stdout).unwrap();
        let text = |value: &serde_json::Value| value.as_str().unwrap_or_default().to_owned();
        let asked = |one: &serde_json::Value| {
            let decision = &one["decision"];
            let item = decision["item"].as_str().map(|item| format!("/{item}")).unwrap_or_default();
            Asked {
                project: text(&one["project"]),
                id: text(&one["id"]),
                kind: text(&decision["question"]["kind"]),
                place: format!("{}{item}", text(&decision["phase"])),
                text: text(&decision["question"]["text"]),
                output: text(&decision["output"]),
            }
        };
        page["pending"].as_array().unwrap().iter().map(asked).collect()
    }

    /// The same in short: `D-001 choice P1/R02`.
    #[track_caller]
    pub(crate) fn waiting(&self) -> Vec<String> {
        self.pending().iter().map(|asked| format!("{} {} {}", asked.id, asked.kind, asked.place)).collect()
    }

    /// `ralph status --json`.
    #[track_caller]
    pub(crate) fn status_json(&self) -> serde_json::Value {
        let ended = self.ralph(&["status", "--json"]);
        serde_json::from_str(&ended.stdout).unwrap_or_else(|error| panic!("{error}: {}{}", ended.stdout, ended.stderr))
    }

    /// A person's commit on the run's branch, made in a checkout of its own.
    pub(crate) fn commit_on_branch(&self, file: &str, text: &str) {
        let place = self.checkout_of_branch("person");
        let git = |args: &[&str]| self.git(&[&["-C", place.to_str().unwrap()], args].concat());
        fs::write(place.join(file), text).unwrap();
        git(&["add", "-A"]);
        git(&["commit", "-qm", "by hand"]);
        git(&["push", "-q", ".", &format!("HEAD:{}", self.branch)]);
        self.git(&["worktree", "remove", "--force", place.to_str().unwrap()]);
        assert!(!Path::new(&place).exists());
    }

    /// An agent that asks about some items by its report, until the prompt holds an answer of the lead's; then, and about
    /// the others, it does what `script` says.
    pub(crate) fn agent_asks(&self, questions: &[(&str, &str)], script: &str) {
        let mut text =
            String::from("prompt=$(cat); answered() { case \"$prompt\" in *'(lead, 20'*) ;; *) false ;; esac; }\n");
        for (item, report) in questions {
            let report = format!("printf '\\n```ralph\\n%s\\n```\\n' '{report}'");
            writeln!(text, "if [ $RALPH_ITEM_ID = {item} ] && ! answered; then {report}; exit; fi").unwrap();
        }
        self.agent(&format!("{text}{script}"));
    }
}

impl Ended {
    /// Fails unless it was refused before it began, for want of an approval, with these words in the complaint.
    #[track_caller]
    pub(crate) fn not_approved(self, words: &[&str]) -> Self {
        assert_eq!(self.status.code(), Some(17), "{}", self.stderr);
        for word in words {
            assert!(self.stderr.contains(word), "{word:?} is not in {}", self.stderr);
        }
        self
    }
}

/// Every file below `folder` but for the outputs that this harness writes: mode and content.
pub(crate) fn listing(folder: &Path) -> BTreeMap<PathBuf, String> {
    let mut found = BTreeMap::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        let Ok(entries) = fs::read_dir(&folder) else { continue };
        for entry in entries.map(Result::unwrap) {
            let (path, meta) = (entry.path(), entry.metadata().unwrap());
            if entry.file_name().to_string_lossy().starts_with("out-") {
                continue;
            }
            let what = if meta.is_dir() {
                folders.push(path.clone());
                String::new()
            } else if meta.is_file() {
                fs::read(&path).unwrap().escape_ascii().to_string()
            } else {
                format!("{:?}", fs::read_link(&path))
            };
            found.insert(path, format!("{:o} {what}", meta.permissions().mode()));
        }
    }
    found
}

/// Fails, naming what, where two listings differ.
#[track_caller]
pub(crate) fn same(before: &BTreeMap<PathBuf, String>, after: &BTreeMap<PathBuf, String>) {
    let names: BTreeSet<&PathBuf> = before.keys().chain(after.keys()).collect();
    let changed: Vec<_> = names.into_iter().filter(|name| before.get(*name) != after.get(*name)).collect();
    assert!(changed.is_empty(), "changed: {changed:?}");
}
