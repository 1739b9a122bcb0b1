//! The fake agent itself.

use std::{fs, os::unix::fs::PermissionsExt};

use ralph_core::{AgentBackend, Cx, SessionEnd};
use serde_json::json;

use crate::fake::Fake;

#[tokio::test]
async fn it_changes_files_as_told() {
    let fake = Fake::steps(&json!([
        {"write": {"path": "a/b.txt", "text": "made\n"}}, {"write": {"path": "c.txt", "text": ""}},
        {"delete": "c.txt"}, {"mkdir": "d/e"}, {"delete": "d"}, {"mkdir": "f"},
        {"symlink": {"path": "link", "target": "a/b.txt"}}, {"chmod": {"path": "f", "mode": "700"}},
        {"sh": "echo more >> a/b.txt"}, {"delay_ms": 1},
    ]));
    let report = fake.command().run(&fake.brief(), &Cx::new()).await.unwrap();
    assert_eq!(report.end, SessionEnd::Finished);
    let path = |name: &str| fake.workspace().join(name);
    assert_eq!(fs::read_to_string(path("link")).unwrap(), "made\nmore\n");
    assert!(!path("c.txt").exists() && !path("d").exists());
    assert_eq!(fs::metadata(path("f")).unwrap().permissions().mode() & 0o777, 0o700);
}

#[tokio::test]
async fn replies_come_in_order_and_a_missing_one_is_told() {
    let fake = Fake::new(&[json!({"steps": [{"stdout": "one\n"}]}), json!({"steps": [{"stdout": "two\n"}]})]);
    for said in ["one\n", "two\n"] {
        let report = fake.command().run(&fake.brief(), &Cx::new()).await.unwrap();
        assert_eq!(report.said, said);
    }
    let report = fake.command().run(&fake.brief(), &Cx::new()).await.unwrap();
    let SessionEnd::Failed(why) = report.end else { panic!("{:?}", report.end) };
    assert!(why.starts_with("exit code 99") && why.contains("no reply for session 3"), "{why}");
    assert_eq!(fs::read_to_string(fake.dir().join("calls/2/prompt")).unwrap(), "Do it.\n");
    assert_eq!(fake.call(2)["ralph"]["RALPH_ITEM_ID"], "R01");
}

#[tokio::test]
async fn a_reply_that_is_not_understood_is_told() {
    for bad in [json!({"steps": ["dance"]}), json!({"steps": [], "exti": 0}), json!([])] {
        let fake = Fake::new(std::slice::from_ref(&bad));
        let report = fake.command().run(&fake.brief(), &Cx::new()).await.unwrap();
        let SessionEnd::Failed(why) = report.end else { panic!("{bad}: {:?}", report.end) };
        assert!(why.contains("is no reply"), "{why}");
    }
}

#[tokio::test]
async fn no_two_sessions_have_one_number() {
    let fake = Fake::new(&vec![json!({"steps": []}); 6]);
    let (agent, brief, cx) = (fake.command(), fake.brief(), Cx::new());
    let run = || agent.run(&brief, &cx);
    let reports = tokio::join!(run(), run(), run(), run(), run(), run());
    for report in [reports.0, reports.1, reports.2, reports.3, reports.4, reports.5] {
        assert_eq!(report.unwrap().end, SessionEnd::Finished);
    }
    assert_eq!(fs::read_dir(fake.dir().join("calls")).unwrap().count(), 6);
}
