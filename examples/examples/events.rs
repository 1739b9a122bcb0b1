//! An event stream: an observer that hands what happens to another task, here as JSON.

#![expect(clippy::print_stdout, reason = "an example shows what it does")]

use std::sync::mpsc;

use ralph_core::{
    BoxError, Event, MemoryPlan, Ralph,
    testing::{MemoryVcs, ScriptedAgent, turn},
    verifier,
};

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), BoxError> {
    let (events, watching) = mpsc::channel::<String>();
    // The run waits for its observers: hand over, and let somebody else take the time.
    let watcher = std::thread::spawn(move || {
        let mut kinds = Vec::new();
        for json in watching {
            let event: serde_json::Value = serde_json::from_str(&json)?;
            println!("{json}");
            kinds.push(event["record"]["fact"]["type"].as_str().unwrap_or_default().to_owned());
        }
        Ok::<_, serde_json::Error>(kinds)
    });

    let check = verifier("it is there", |folder| Ok(folder.join("it").exists()));
    let agent = ScriptedAgent::new([turn().writes("it", "")]);
    Ralph::builder(MemoryPlan::of(["make it"]), agent, check, MemoryVcs::new())
        .observe(move |event: &Event| {
            if let (Event::Recorded { .. }, Ok(json)) = (event, serde_json::to_string(event)) {
                // A watcher that is gone is no reason to stop.
                let _ = events.send(json);
            }
        })
        .run()
        .await?;

    let kinds = watcher.join().map_err(|_| "the watcher panicked")??;
    assert_eq!(kinds.first().map(String::as_str), Some("opened"));
    assert_eq!(kinds.last().map(String::as_str), Some("stopped"));
    Ok(())
}
