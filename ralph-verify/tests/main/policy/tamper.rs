//! Shapes of tampering with things that are protected: none of them gets through, and the same shape elsewhere does.

use ralph_core::{EntryKind, Ruling};
use ralph_verify::policy::Protected;

use super::support::{Files, boundary, judge};

/// Something protected, with the command that makes it so (or any, where the defaults do).
const TARGETS: &[(&str, &str)] = &[
    ("scripts/check.sh", "bash scripts/check.sh"),
    ("check.sh", "./check.sh --all"),
    ("tools/ci/verify.py", "cd tools && python3 ci/verify.py"),
    ("scripts/v.js", "npm ci && node scripts/v"),
    ("tools/check/__main__.py", "python3 -m tools.check"),
    ("Makefile", "make check"),
    ("conftest.py", "uv run pytest -q"),
    ("gradle/wrapper/gradle-wrapper.jar", "./gradlew check"),
    (".github/workflows/ci.yml", "true"),
    (".gitlab-ci.yml", "true"),
    (".circleci/config.yml", "true"),
    ("ops/Jenkinsfile", "true"),
    ("CLAUDE.md", "true"),
    ("web/AGENTS.md", "true"),
    (".claude/settings.json", "true"),
    ("web/.claude/commands/x.md", "true"),
    (".mcp.json", "true"),
    (".cursor/rules/a.md", "true"),
    (".husky/pre-commit", "true"),
    (".cargo/config.toml", "true"),
    (".gitattributes", "true"),
    (".envrc", "true"),
];

/// The ledger's copy: what is exactly in it cannot be changed by a candidate, what stands in its place can.
const PLAN: &str = "ralph-loop/PRD-P1.md";

/// A tree before and after.
type Pair = Option<(Files, Files)>;
type Shape = fn(Files, &str) -> Pair;

fn here(base: Files, path: &str) -> Files {
    base.file(path, "as it was\n").file("elsewhere/other.txt", "other\n")
}

fn folder(path: &str) -> Option<&str> {
    path.rsplit_once('/').map(|(folder, _)| folder)
}

fn outermost(path: &str) -> Option<&str> {
    path.split_once('/').map(|(folder, _)| folder)
}

/// A spelling of the last part, or of the first.
fn spelled(path: &str, first: bool, spell: impl Fn(&str) -> String) -> String {
    match if first { path.split_once('/') } else { path.rsplit_once('/') } {
        None => spell(path),
        Some((folder, rest)) if first => format!("{}/{rest}", spell(folder)),
        Some((folder, name)) => format!("{folder}/{}", spell(name)),
    }
}

fn wide(name: &str) -> String {
    let widen = |c: char| match c {
        '!'..='~' if c.is_alphabetic() => char::from_u32(u32::from(c) + 0xfee0).unwrap(),
        c => c,
    };
    name.chars().map(widen).collect()
}

/// A tree in which another spelling of the path is added.
fn variant(base: Files, path: &str, first: bool, spell: impl Fn(&str) -> String) -> Pair {
    let other = spelled(path, first, spell);
    let base = here(base, path);
    (other != path).then(|| (base.clone(), base.file(other, "mine\n")))
}

/// Shapes that put another thing where the path is.
const IN_PLACE: &[(&str, Shape)] = &[
    ("content", |base, path| {
        let base = here(base, path);
        Some((base.clone(), base.file(path, "exit 0\n")))
    }),
    ("emptied", |base, path| {
        let base = here(base, path);
        Some((base.clone(), base.file(path, "")))
    }),
    ("made executable", |base, path| {
        let base = here(base, path);
        Some((base.clone(), base.with(EntryKind::Executable, path, "as it was\n")))
    }),
    ("made not executable", |base, path| {
        let base = here(base, path).with(EntryKind::Executable, path, "as it was\n");
        Some((base.clone(), base.file(path, "as it was\n")))
    }),
    ("deleted", |base, path| {
        let base = here(base, path);
        Some((base.clone(), base.without(path)))
    }),
    ("put where nothing was", |base, path| Some((base.clone(), base.file(path, "mine\n")))),
    ("a link put where nothing was", |base, path| {
        let to = format!("{}elsewhere/other.txt", "../".repeat(path.matches('/').count()));
        let base = base.file("elsewhere/other.txt", "other\n");
        Some((base.clone(), base.link(path, to)))
    }),
    ("file to link", |base, path| {
        let base = here(base, path);
        Some((base.clone(), base.link(path, "elsewhere/other.txt")))
    }),
    ("link to file", |base, path| {
        let base = here(base, path).link(path, "elsewhere/other.txt");
        Some((base.clone(), base.file(path, "mine\n")))
    }),
    ("link retargeted", |base, path| {
        let base = here(base, path).link(path, "elsewhere/other.txt");
        Some((base.clone(), base.link(path, "elsewhere/mine.txt")))
    }),
    ("file to submodule", |base, path| {
        let base = here(base, path);
        Some((base.clone(), base.with(EntryKind::Submodule, path, "1")))
    }),
    ("renamed away", |base, path| {
        let base = here(base, path);
        Some((base.clone(), base.without(path).file("elsewhere/renamed", "as it was\n")))
    }),
    ("renamed over", |base, path| {
        let base = here(base, path);
        Some((base.clone(), base.without("elsewhere/other.txt").file(path, "other\n")))
    }),
    ("file to folder", |base, path| {
        let base = here(base, path);
        Some((base.clone(), base.without(path).file(format!("{path}/inside"), "mine\n")))
    }),
    ("what its link leads to", |base, path| {
        let to = format!("{}real/thing", "../".repeat(path.matches('/').count()));
        let base = base.link(path, to).file("real/thing", "as it was\n");
        Some((base.clone(), base.file("real/thing", "mine\n")))
    }),
    ("what its link's link leads to", |base, path| {
        let to = format!("{}one/thing", "../".repeat(path.matches('/').count()));
        let base = base.link(path, to).link("one/thing", "../real/thing").file("real/thing", "as it was\n");
        Some((base.clone(), base.file("real/thing", "mine\n")))
    }),
];

/// Shapes that do something to the folder on the way, or to another spelling.
const AROUND: &[(&str, Shape)] = &[
    ("folder to link", |base, path| {
        let (base, at) = (here(base, path), folder(path)?);
        let to = format!("{}elsewhere", "../".repeat(at.matches('/').count()));
        Some((base.clone(), base.without_folder(at).link(at, to)))
    }),
    ("outermost folder to link", |base, path| {
        let (base, at) = (here(base, path), outermost(path)?);
        Some((base.clone(), base.without_folder(at).link(at, "elsewhere")))
    }),
    ("folder to file", |base, path| {
        let (base, at) = (here(base, path), folder(path)?);
        Some((base.clone(), base.without_folder(at).file(at, "mine\n")))
    }),
    ("folder to submodule", |base, path| {
        let (base, at) = (here(base, path), folder(path)?);
        Some((base.clone(), base.without_folder(at).with(EntryKind::Submodule, at, "1")))
    }),
    ("folder's link retargeted", |base, path| {
        let (at, name) = (folder(path)?, path.rsplit('/').next()?);
        let up = "../".repeat(at.matches('/').count());
        let base = base.file(format!("one/{name}"), "as it was\n").file(format!("two/{name}"), "mine\n");
        Some((base.clone().link(at, format!("{up}one")), base.link(at, format!("{up}two"))))
    }),
    ("folder linked to where such a thing is", |base, path| {
        let (at, name) = (folder(path)?, path.rsplit('/').next()?);
        let up = "../".repeat(at.matches('/').count());
        let base = base.file(format!("one/{name}"), "mine\n");
        Some((base.clone(), base.link(at, format!("{up}one"))))
    }),
    ("behind the folder's link", |base, path| {
        let (at, name) = (folder(path)?, path.rsplit('/').next()?);
        let up = "../".repeat(at.matches('/').count());
        let base = base.link(at, format!("{up}one")).file(format!("one/{name}"), "as it was\n");
        Some((base.clone(), base.file(format!("one/{name}"), "mine\n")))
    }),
    ("upper case", |base, path| variant(base, path, false, str::to_uppercase)),
    ("upper case folder", |base, path| variant(base, path, true, str::to_uppercase)),
    ("lower case", |base, path| variant(base, path, false, str::to_lowercase)),
    ("unseen code point", |base, path| variant(base, path, false, |name| name.replacen('e', "e\u{200c}", 1))),
    ("unseen code point in front", |base, path| variant(base, path, true, |name| format!("\u{feff}{name}"))),
    ("unseen code point at the end", |base, path| variant(base, path, true, |name| format!("{name}\u{2060}"))),
    ("wide letters", |base, path| variant(base, path, false, wide)),
    ("wide letters in the folder", |base, path| variant(base, path, true, wide)),
    ("kelvin and long s", |base, path| {
        variant(base, path, false, |name| name.replace('k', "\u{212a}").replace('s', "\u{17f}"))
    }),
    ("dot at the end", |base, path| variant(base, path, false, |name| format!("{name}."))),
    ("dot and space at the folder's end", |base, path| variant(base, path, true, |name| format!("{name}. "))),
    ("stream", |base, path| variant(base, path, false, |name| format!("{name}::$DATA"))),
    ("backslashes", |base, path| {
        path.contains('/').then_some(())?;
        let base = here(base, path);
        Some((base.clone(), base.file(path.replace('/', "\\"), "mine\n")))
    }),
    ("renamed to another case", |base, path| {
        let base = here(base, path);
        Some((base.clone(), base.without(path).file(path.to_uppercase(), "mine\n")))
    }),
    ("a link of another case", |base, path| {
        let (base, at) = (here(base, path), folder(path)?.to_uppercase());
        (Some(at.as_str()) != folder(path)).then(|| (base.clone(), base.link(at, "elsewhere")))
    }),
];

/// An unprotected path of the same shape.
fn innocent(path: &str) -> String {
    let folders = path.matches('/').count();
    format!("{}notes_k.txt", "plain/".repeat(folders))
}

fn world() -> Files {
    Files::new().file("src/lib.rs", "code\n").file("README.md", "words\n")
}

fn rule(policy: &Protected, pair: &(Files, Files), verify: &str) -> Ruling {
    judge(policy, &boundary(&pair.0, &pair.1, verify))
}

#[test]
fn no_shape_of_tampering_gets_through() {
    let policy = Protected::new(["default"]).unwrap();
    let mut count = 0;
    let plan = AROUND.iter().map(|shape| (shape, (PLAN, "true")));
    let others = TARGETS.iter().flat_map(|target| IN_PLACE.iter().chain(AROUND).map(move |shape| (shape, *target)));
    for ((shape, tamper), (path, verify)) in others.chain(plan) {
        // What only spells the plan's file otherwise inside of the exact folder is the ledger's copy, which stays.
        let Some(pair) = tamper(world(), path) else { continue };
        if path == PLAN && is_ledger_only(&pair) {
            continue;
        }
        assert_ne!(pair.0, pair.1, "{shape} at {path}: nothing was done");
        let ruling = rule(&policy, &pair, verify);
        let Ruling::Ask(question) = &ruling else { unreachable!("{shape} at {path} (`{verify}`): {ruling:?}") };
        assert_eq!(question.kind, ralph_core::DecisionKind::Protected);
        count += 1;

        let control = innocent(path);
        if let Some(pair) = tamper(world(), &control) {
            assert_eq!(rule(&policy, &pair, verify), Ruling::Open, "{shape} at {control} (`{verify}`)");
        }
    }
    assert!(count >= 500, "{count}");
}

/// Whether only what is exactly in the ledger's folder differs.
fn is_ledger_only((base, work): &(Files, Files)) -> bool {
    base.clone().without_folder("ralph-loop") == work.clone().without_folder("ralph-loop")
        && base.get("ralph-loop") == work.get("ralph-loop")
}
