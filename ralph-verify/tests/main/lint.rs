//! The lint of plans on PRDs that people have written.

use std::{fmt::Write as _, fs, path::Path};

use ralph_core::{PhaseId, ledger::Prd};
use ralph_verify::lint::{lint_command, lint_item};

/// Each PRD that is read, with what the lint says of it and where.
#[test]
fn every_case_has_its_findings() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../ralph-core/tests/cases/prd");
    let mut cases: Vec<_> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    cases.retain(|path| path.extension().is_some_and(|ending| ending == "md"));
    cases.sort();
    assert!(cases.len() > 15, "the cases are not there");
    let mut page = String::new();
    for path in cases {
        let name = path.file_name().unwrap().to_str().unwrap().to_owned();
        let Ok(prd) = Prd::parse(&fs::read(&path).unwrap(), &name, PhaseId::default()) else { continue };
        let of_phase = prd.phase.verify.iter().flat_map(|command| lint_command(command)).map(|lint| (1, lint));
        let of_items =
            prd.phase.items.iter().flat_map(|item| lint_item(item).into_iter().map(|lint| (item.line, lint)));
        writeln!(page, "{name}: {} items", prd.phase.items.len()).unwrap();
        for (line, lint) in of_phase.chain(of_items) {
            let text: String = lint.text.chars().take(70).collect();
            writeln!(page, "  {line}: {}: {text}", lint.kind.name()).unwrap();
        }
    }
    insta::assert_snapshot!(page);
}
