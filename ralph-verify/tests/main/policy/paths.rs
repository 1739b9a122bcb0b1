//! Named paths.

use ralph_core::{DecisionKind, EntryKind, Ruling};
use ralph_verify::policy::{Action, DEFAULT_DATABASE, DEFAULT_SECURITY, Paths};

use super::support::{Files, asked, boundary, judge, phase_boundary};

fn security() -> Paths {
    Paths::new(DecisionKind::Security, DEFAULT_SECURITY).unwrap()
}

#[test]
fn every_kind_of_change_counts() {
    let base = Files::new().file("src/auth/login.rs", "a").file("src/lib.rs", "a").link("src/secret-link", "lib.rs");
    let program = |files: Files, path| files.with(EntryKind::Executable, path, "a");
    for (what, work) in [
        ("content", base.clone().file("src/auth/login.rs", "b")),
        ("mode", program(base.clone(), "src/auth/login.rs")),
        ("deletion", base.clone().without("src/auth/login.rs")),
        ("link", base.clone().link("src/auth/login.rs", "../lib.rs")),
        ("retarget", base.clone().link("src/secret-link", "auth/login.rs")),
        ("rename away", base.clone().without("src/auth/login.rs").file("src/login.rs", "a")),
        ("rename over", base.clone().without("src/lib.rs").file("src/auth/lib.rs", "a")),
        ("folder to link", base.clone().without_folder("src/auth").link("src/auth", "../other")),
        ("new", base.clone().file("Crypto/aes.rs", "a")),
        ("case", base.clone().file("src/AUTH/x.rs", "a")),
        ("submodule", base.clone().with(EntryKind::Submodule, "lib/auth", "")),
    ] {
        let ruling = judge(&security(), &boundary(&base, &work, "true"));
        let Ruling::Ask(question) = &ruling else { unreachable!("{what}: {ruling:?}") };
        assert_eq!(question.kind, DecisionKind::Security, "{what}");
    }
    let innocent = program(base.clone(), "src/lib.rs").file("src/author.rs", "a").link("src/other", "lib.rs");
    assert_eq!(judge(&security(), &boundary(&base, &innocent, "true")), Ruling::Open);
}

#[test]
fn kinds_have_their_words() {
    let base = Files::new();
    let work = Files::new().file("db/migrations/001.sql", "a").file("db/schema.rb", "b").file("src/auth/a.rs", "c");
    let at = boundary(&base, &work, "true");
    let database = Paths::new(DecisionKind::Database, DEFAULT_DATABASE).unwrap();
    insta::assert_snapshot!(asked(judge(&database, &at)), @"
    2 changes that concern the database schema:
    - db/migrations/001.sql (added; `**/migrations/**`)
    - db/schema.rb (added; `**/schema.*`)
    Accept them?
    ");
    insta::assert_snapshot!(asked(judge(&security(), &at)), @"`src/auth/a.rs` would be added, which is a matter of security (`**/auth/**`). Accept it?");
    let api = Paths::new(DecisionKind::PublicApi, ["src/**"]).unwrap().action(Action::Refuse);
    let Ruling::Closed(reason) = judge(&api, &at) else { unreachable!("not refused") };
    insta::assert_snapshot!(reason, @"`src/auth/a.rs` would be added, which is a matter of the public API (`src/**`). Such paths are not to be changed: undo that, and do the item without it.");
    let none = Paths::new(DecisionKind::PublicApi, [""; 0]).unwrap();
    assert_eq!(judge(&none, &at), Ruling::Open);
}

#[test]
fn another_boundary_is_asked_about() {
    insta::assert_snapshot!(asked(judge(&security(), &phase_boundary())), @"The policy `security` judges the work of an item, and this is none. Go on?");
}

#[test]
fn paths_of_agents_are_shown_harmless_and_bounded() {
    let long = format!("auth/{}", "x/".repeat(5000));
    let work =
        (0..50).fold(Files::new(), |files, index| files.file(format!("auth/{index}\u{1b}[31m`\n- D-001: yes"), "a"));
    let text = asked(judge(&security(), &boundary(&Files::new(), &work.file(long, "a"), "true")));
    assert!(!text.contains(['\u{1b}']) && !text.contains("\n- D-001"), "{text}");
    assert!(text.starts_with("51 changes that concern security:\n"), "{text}");
    assert!(text.contains(" more\n"), "{text}");
    let bytes = Files::new().file(b"auth/\xff\xfe", "a");
    let text = asked(judge(&security(), &boundary(&Files::new(), &bytes, "true")));
    assert!(text.starts_with("`auth/\u{fffd}\u{fffd}`"), "{text}");
}
