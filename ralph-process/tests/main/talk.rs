//! Conversations over stdin and stdout.

use std::{
    future::pending,
    time::{Duration, Instant},
};

use ralph_process::{Command, Dialogue, End, Finished, Input, Limits, Stdin, talk};

use crate::support::{Place, alive, soon};

/// Answers lines as it is told, and keeps them.
struct Talker<F> {
    lines: Vec<String>,
    answer: F,
    /// What is said to a process that is to end; nothing: it gets the signal.
    farewell: Option<&'static str>,
    waiting: usize,
}

impl<F: FnMut(&str, &mut Input)> Talker<F> {
    fn new(answer: F) -> Self {
        Self { lines: Vec::new(), answer, farewell: None, waiting: 0 }
    }
}

impl<F: FnMut(&str, &mut Input)> Dialogue for Talker<F> {
    fn line(&mut self, line: &str, input: &mut Input) {
        (self.answer)(line, input);
        self.lines.push(line.to_owned());
        self.waiting = self.waiting.max(input.waiting());
    }

    fn ask(&mut self, input: &mut Input) -> bool {
        if let Some(farewell) = self.farewell {
            input.write(farewell.as_bytes());
        }
        self.farewell.is_some()
    }
}

fn say(command: Command, first: &str) -> Command {
    command.stdin(Stdin::Bytes(first.into()))
}

async fn run(place: &Place, script: &str, first: &str, limits: &Limits, dialogue: &mut impl Dialogue) -> Finished {
    let command = say(place.shell(script), first);
    talk(&command, &place.output(), limits, pending(), dialogue).await.unwrap()
}

const ANSWERS: &str = "while read -r line; do echo \"got $line\"; done; echo end; exit 3";

#[tokio::test]
async fn a_program_that_answers_is_answered_until_its_input_is_closed() {
    let mut talker = Talker::new(|line: &str, input: &mut Input| match line {
        "got one" => input.write(b"two\n"),
        "got two" => {
            input.write(b"three\n");
            input.close();
            input.write(b"too late\n");
        }
        _ => {}
    });
    let limits = Limits::time(Duration::from_secs(15));
    let finished = run(&Place::new(), ANSWERS, "one\n", &limits, &mut talker).await;
    assert_eq!(finished.end, End::Exited(3));
    assert_eq!(talker.lines, ["got one", "got two", "got three", "end"]);
}

#[tokio::test]
async fn an_input_that_is_not_closed_stays_open() {
    let limits = Limits::time(Duration::from_millis(400));
    let mut talker = Talker::new(|_: &str, _: &mut Input| ());
    let finished = run(&Place::new(), ANSWERS, "one\n", &limits, &mut talker).await;
    assert_eq!((finished.end, talker.lines), (End::TimedOut, vec!["got one".to_owned()]));
}

#[tokio::test]
async fn much_arrives_whole_and_in_order() {
    let place = Place::new();
    let said: String = (0..300_000).map(|number| format!("{number}\n")).collect();
    let mut left = said.as_bytes();
    let mut talker = Talker::new(|_: &str, input: &mut Input| {
        let (now, later) = left.split_at(left.len().min(100_000));
        input.write(now);
        left = later;
        if left.is_empty() {
            input.close();
        }
    });
    // More than a pipe holds is on its way while the next piece is asked for.
    let script = "seq 100; cat > copy";
    let finished = run(&place, script, "first\n", &Limits::time(Duration::from_secs(15)), &mut talker).await;
    assert_eq!(finished.end, End::Exited(0));
    assert!(std::fs::read_to_string(place.path("copy")).unwrap() == format!("first\n{said}"));
}

#[tokio::test]
async fn a_process_that_does_not_read_is_not_waited_for_and_it_shows() {
    for (script, end) in [("seq 100; exit 3", End::Exited(3)), ("seq 100; sleep 60", End::TimedOut)] {
        let started = Instant::now();
        let limits = Limits::time(Duration::from_secs(2));
        let much = vec![b'x'; 100_000];
        let mut talker = Talker::new(|_: &str, input: &mut Input| input.write(&much));
        let finished = run(&Place::new(), script, "", &limits, &mut talker).await;
        assert_eq!(finished.end, end, "{script}");
        assert!(talker.waiting > 9_000_000, "{script}: {}", talker.waiting);
        assert!(soon(started), "{script}");
    }
}

#[tokio::test]
async fn nothing_is_kept_for_a_process_that_closed_its_input() {
    let place = Place::new();
    let seen = place.path("seen");
    let mut talker = Talker::new(|_: &str, input: &mut Input| {
        input.write(&[b'x'; 100_000]);
        if input.waiting() == 0 {
            std::fs::write(&seen, "").unwrap();
        }
    });
    let script = "exec <&-; until [ -e seen ]; do echo; sleep 0.02; done; exit 5";
    let finished = run(&place, script, "", &Limits::time(Duration::from_secs(15)), &mut talker).await;
    assert_eq!(finished.end, End::Exited(5));
}

#[tokio::test]
async fn there_is_nobody_to_talk_to_without_an_input() {
    let mut talker = Talker::new(|_: &str, input: &mut Input| input.write(b"hello\n"));
    let place = Place::new();
    let command = place.shell("echo up; cat; exit 4");
    let finished = talk(&command, &place.output(), &Limits::default(), pending(), &mut talker).await.unwrap();
    assert_eq!((finished.end, talker.waiting), (End::Exited(4), 0));
}

/// Says what it was asked by.
const HEEDS: &str = "trap 'echo signal; exit 7' TERM; echo $$ > leader; \
    while read -r line; do case $line in stop) echo word; exit 8;; esac; done & \
    wait";

#[tokio::test]
async fn a_process_is_asked_to_end_by_word_or_by_signal() {
    for (farewell, heard) in [(Some("stop\n"), "word"), (None, "signal")] {
        let place = Place::new();
        // A shell reads its stdin in the background only where it is told which.
        let script = HEEDS.replace("done &", "done <&3 &");
        let command = say(place.shell(&format!("exec 3<&0; {script}")), "hello\n");
        let mut talker = Talker::new(|_: &str, _: &mut Input| ());
        talker.farewell = farewell;
        let limits = Limits { grace: Duration::from_secs(15), ..Limits::default() };
        let cancel = async {
            place.pid("leader").await;
        };
        let started = Instant::now();
        let finished = talk(&command, &place.output(), &limits, cancel, &mut talker).await.unwrap();
        assert_eq!(finished.end, End::Cancelled);
        assert_eq!(talker.lines.first().map(String::as_str), Some(heard), "{:?}", talker.lines);
        assert!(soon(started), "the grace ends with the process");
    }
}

const STUBBORN: &str = "sh -c 'trap \"\" TERM; echo $$ > child; sleep 60' & echo $$ > leader; cat > heard; sleep 60";

#[tokio::test]
async fn who_does_not_heed_the_word_is_killed_with_all_of_it() {
    let place = Place::new();
    let command = say(place.shell(STUBBORN), "");
    let grace = Duration::from_millis(300);
    let limits = Limits { grace, ..Limits::time(Duration::from_secs(1)) };
    let mut talker = Talker::new(|_: &str, _: &mut Input| ());
    talker.farewell = Some("stop\n");
    let finished = talk(&command, &place.output(), &limits, pending(), &mut talker).await.unwrap();
    assert_eq!(finished.end, End::TimedOut);
    assert!(finished.took >= Duration::from_secs(1) + grace);
    assert_eq!(std::fs::read_to_string(place.path("heard")).unwrap(), "stop\n");
    assert!(!alive(place.pid("child").await) && !alive(place.pid("leader").await));
}

#[tokio::test]
async fn dropping_a_conversation_leaves_nothing() {
    let place = Place::new();
    let command = say(place.shell(STUBBORN), "hello\n");
    let (output, limits) = (place.output(), Limits::default());
    let mut talker = Talker::new(|_: &str, _: &mut Input| ());
    let mut talking = Box::pin(talk(&command, &output, &limits, pending(), &mut talker));
    let up = async {
        for name in ["child", "leader"] {
            assert!(alive(place.pid(name).await), "{name}");
        }
    };
    tokio::select! {
        finished = &mut talking => panic!("it ended: {finished:?}"),
        () = up => {}
    }
    drop(talking);
    for name in ["child", "leader"] {
        assert!(!alive(place.pid_now(name).unwrap()), "{name}");
    }
}
