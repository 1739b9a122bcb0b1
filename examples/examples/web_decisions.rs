//! Decisions that go to your own web service, and come back from it: a policy of your own asks, the run goes on with the
//! rest and stops, a person answers over HTTP, and the run takes the answer in without paying for a second session.

#![expect(clippy::print_stdout, reason = "an example shows what it does")]

use ralph_core::{
    Boundary, BoxError, Cx, DecisionKind, Gate, GateError, ItemRef, ItemStatus, MemoryJournal, MemoryPlan, Question,
    Ralph, Ruling, RunId, StopReason, async_trait,
    testing::{MemoryVcs, ScriptedAgent, turn},
    verifier,
};
use ralph_examples::web_decisions::{ClientError, Desk, Service, Tokens, WebDecisions};

/// Prices are for people to decide.
#[derive(Debug)]
struct Prices;

#[async_trait]
impl Gate for Prices {
    fn name(&self) -> &str {
        "prices"
    }

    async fn judge(&self, boundary: &Boundary, _cx: &Cx) -> Result<Ruling, GateError> {
        let Boundary::Item(at) = boundary else {
            return Ok(Ruling::Ask(Question::new(DecisionKind::Protected, "Go on?")));
        };
        if !at.changes.iter().any(|change| change.path == b"prices") {
            return Ok(Ruling::Open);
        }
        let new = at.tree.read(b"prices", 1_000).await.map_err(GateError::other)?.unwrap_or_default();
        let text = format!("{} would set the price to {}. Accept?", at.item.id, String::from_utf8_lossy(&new).trim());
        Ok(Ruling::Ask(Question::new(DecisionKind::Protected, text)))
    }
}

/// What the service refuses, by its status; 200 where it does not.
fn status<T>(said: &Result<T, ClientError>) -> u16 {
    match said {
        Ok(_) => 200,
        Err(ClientError::Refused(status, _)) => *status,
        Err(ClientError::Unreached(_) | ClientError::Garbled(_)) => 0,
    }
}

#[tokio::main]
async fn main() -> Result<(), BoxError> {
    // Who asks cannot answer: the run, and what it starts, never see the second token.
    let service = Service::start(Tokens::new("of the run", "of people"))?;
    let address = service.address();

    // What outlives an invocation.
    let (plan, journal) = (MemoryPlan::of(["raise the price", "write the page"]), MemoryJournal::new());
    let vcs = MemoryVcs::with([("prices".into(), b"10 EUR\n".to_vec())].into());
    let agent = ScriptedAgent::new([turn().writes("prices", "12 EUR\n"), turn().writes("page", "hello\n")]);
    let ralph = || {
        Ralph::builder(plan.clone(), agent.clone(), verifier("fine", |_folder| Ok(true)), vcs.clone())
            .journal(journal.clone(), RunId::new("night"))
            .gate(Prices)
            .rebase(vcs.clone())
            .decisions(WebDecisions::new(address, "of the run"))
    };

    // At night: the first item waits for a person, the second one is done.
    let outcome = ralph().run().await?;
    println!("{}", outcome.stop);
    assert_eq!(outcome.stop.reason, StopReason::AwaitingDecisions);
    assert_eq!(plan.status(&ItemRef::new("P1", "R01")), Some(ItemStatus::Decision));
    assert_eq!(plan.status(&ItemRef::new("P1", "R02")), Some(ItemStatus::Done));

    // In the morning: a person, elsewhere. (The calls block, as a browser's would.)
    let said = tokio::task::spawn_blocking(move || {
        let desk = Desk::new(address, "of people");
        let pending = desk.pending()?;
        let question = &pending[0];
        println!("{}: {}", question.id, question.decision.question.text);
        assert_eq!(question.decision.question.text, "R01 would set the price to 12 EUR. Accept?");

        // What is no answer changes nothing, and whoever may ask may not answer.
        let vague = desk.answer(&question.id, "perhaps", "lead");
        let forged = Desk::new(address, "of the run").answer(&question.id, "approve", "lead");
        assert_eq!((status(&vague), status(&forged)), (422, 401));
        assert_eq!(desk.pending()?.len(), 1);

        let answer = desk.answer(&question.id, "approve", "lead")?;
        assert_eq!(status(&desk.answer(&question.id, "reject", "another")), 409);
        assert!(desk.pending()?.is_empty());
        Ok::<_, ClientError>(answer)
    })
    .await??;
    println!("{}", said.line());

    // The run goes on: the work stood on an older tip, is carried over, verified twice like any other, and accepted.
    let outcome = ralph().run().await?;
    println!("{}: {} commits, {} sessions", outcome.stop.reason, outcome.accepted.len(), agent.briefs().len());
    assert_eq!(outcome.stop.reason, StopReason::Success);
    assert_eq!(vcs.files().get("prices").map(Vec::as_slice), Some(b"12 EUR\n".as_slice()));
    assert_eq!(agent.briefs().len(), 2, "nobody paid for the same work twice");
    drop(service); // and its thread with it
    Ok(())
}
