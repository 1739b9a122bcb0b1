//! What an accepted item costs: the engine against its floor.
//!
//! ```sh
//! cargo bench -p ralph-benches --bench iteration                  # 100 and 5,000 files
//! cargo bench -p ralph-benches --bench iteration -- --all         # 50,000 files too: minutes, and 2 GB of small files
//! cargo bench -p ralph-benches --bench iteration -- --size 1000 --rounds 40 --steps
//! ```
//!
//! Three loops do the same items with the same stub agent and verifier, one item each in turn, in one process:
//!
//! - the **floor**: the git commands that are safe, the processes, durable records, and nothing else (`src/floor.rs`);
//! - the **engine**, put together as `ralph run` does it (`src/engine.rs`);
//! - the **careless** shell loop that people write (`src/shell.rs`).
//!
//! Times are wall-clock medians in milliseconds, and on a shared machine say little by themselves; the ratio of the
//! medians repeats to a few percent. The counts of git processes and of looks at a whole work tree are exact, and the
//! CPU time is that of this process alone, for the engine's items alone. `--steps` prints where the time goes. The folders
//! are temporary ones: `TMPDIR` says on which disk.

#![expect(clippy::expect_used, reason = "a bench that cannot be set up has nothing to say")]
#![expect(clippy::print_stdout, reason = "a bench prints what it measured")]

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex},
    time::{Duration, Instant},
};

use ralph_benches::{
    engine,
    floor::Floor,
    report::{figure, flag, goal, head, median, number},
    shell,
    stage::Stage,
};
use ralph_core::{Event, machine::Fact};
use ralph_vcs::GitVcs;
use rustix::time::{ClockId, clock_gettime};

/// Items that are done before anything is measured: the first ones fill the sites and the caches.
const WARM: usize = 3;

fn main() {
    let sizes = match number("size") {
        Some(size) => vec![size],
        None if flag("all") || std::env::var_os("RALPH_BENCH_ALL").is_some() => vec![100, 5_000, 50_000],
        None => vec![100, 5_000],
    };
    // What `ralph run` does too, so that it is paid for here.
    ralph_process::become_subreaper();
    for size in sizes {
        let rounds = number("rounds").unwrap_or(match size {
            0..1_000 => 60,
            1_000..10_000 => 30,
            _ => 12,
        });
        measure(size, rounds);
    }
}

/// What is known of the items so far.
struct Tally {
    floor: Floor,
    shell: Stage,
    vcs: Arc<GitVcs>,
    /// Times of engine, floor and shell loop in milliseconds.
    times: [Vec<f64>; 3],
    /// The engine's own CPU in milliseconds, its git processes and its scans, for each item.
    cpu: Vec<f64>,
    floor_cpu: Vec<f64>,
    spawns: Vec<f64>,
    scans: Vec<f64>,
    floor_spawns: u64,
    steps: BTreeMap<(String, &'static str), Vec<f64>>,
    done: usize,
    /// The engine's item under way.
    item: Reading,
    step: (String, Instant),
}

/// What the clocks and counters say.
#[derive(Clone, Copy)]
struct Reading {
    at: Instant,
    cpu: f64,
    spawns: u64,
    scans: u64,
}

impl Reading {
    fn now(vcs: &GitVcs) -> Self {
        let cpu = clock_gettime(ClockId::ProcessCPUTime);
        let cpu = cpu.tv_sec as f64 * 1e3 + cpu.tv_nsec as f64 / 1e6;
        Self { cpu, spawns: vcs.spawns(), scans: vcs.scans(), at: Instant::now() }
    }
}

fn measure(size: usize, rounds: usize) {
    let folder = tempfile::tempdir().expect("a folder");
    let items = rounds + WARM;
    let stage = |name: &str| {
        let stage = Stage::make(folder.path().join(name), size);
        stage.plan(items);
        stage
    };
    let (by_engine, by_floor, by_shell) = (stage("engine"), stage("floor"), stage("shell"));
    let state = folder.path().join("state");
    let floor = Floor::new(&by_floor, &state.join("floor"));
    let tally = engine::runtime().block_on(async {
        let vcs = engine::git(&by_engine, &state).await;
        let item = Reading::now(&vcs);
        let tally = Arc::new(Mutex::new(Tally {
            floor,
            shell: by_shell,
            vcs: Arc::clone(&vcs),
            times: [const { Vec::new() }; 3],
            cpu: Vec::new(),
            floor_cpu: Vec::new(),
            spawns: Vec::new(),
            scans: Vec::new(),
            floor_spawns: 0,
            steps: BTreeMap::new(),
            done: 0,
            item,
            step: (String::new(), item.at),
        }));
        let watch = Arc::clone(&tally);
        let outcome = engine::run(&by_engine, vcs, move |event: &Event| {
            watch.lock().expect("nobody panicked").see(event);
        })
        .await;
        assert_eq!(outcome.accepted.len(), items, "{:?}", outcome.stop);
        tally
    });
    tally.lock().expect("nobody panicked").print(size, rounds);
}

impl Tally {
    fn see(&mut self, event: &Event) {
        match event {
            Event::Began { step, .. } => {
                let mut parts = step.rsplit('/');
                let last = parts.next().unwrap_or_default();
                let kind = if last.starts_with(|c: char| c.is_ascii_digit()) { parts.next() } else { Some(last) };
                self.step = (kind.unwrap_or_default().to_owned(), Instant::now());
            }
            Event::Recorded { record, .. } => {
                let took = self.step.1.elapsed();
                let name = std::mem::take(&mut self.step.0);
                if !name.is_empty() && self.done >= WARM {
                    self.note(&name, "engine", took);
                }
                if matches!(record.fact, Fact::Marked { .. }) {
                    self.turn();
                }
            }
            _ => {}
        }
    }

    fn note(&mut self, name: &str, whose: &'static str, took: Duration) {
        self.steps.entry((name.to_owned(), whose)).or_default().push(took.as_secs_f64() * 1e3);
    }

    /// The engine has done an item: now it is the turn of the others, while it waits for its observer.
    fn turn(&mut self) {
        let end = Reading::now(&self.vcs);
        let begin = self.item;
        let timed = |work: &mut dyn FnMut()| {
            let from = Instant::now();
            work();
            from.elapsed().as_secs_f64() * 1e3
        };
        let before = self.floor.spawns();
        let floor = timed(&mut || self.floor.item());
        self.floor_spawns = self.floor.spawns() - before;
        let floor_cpu = Reading::now(&self.vcs).cpu - end.cpu;
        let shell = timed(&mut || shell::item(&self.shell));
        if self.done >= WARM {
            let engine = (end.at - begin.at).as_secs_f64() * 1e3;
            for (times, time) in self.times.iter_mut().zip([engine, floor, shell]) {
                times.push(time);
            }
            self.cpu.push(end.cpu - begin.cpu);
            self.floor_cpu.push(floor_cpu);
            self.spawns.push((end.spawns - begin.spawns) as f64);
            self.scans.push((end.scans - begin.scans) as f64);
            for (name, took) in self.floor.steps().to_vec() {
                self.note(name, "floor", took);
            }
        }
        self.done += 1;
        self.item = Reading::now(&self.vcs);
    }

    fn print(&self, size: usize, rounds: usize) {
        head(&format!("One accepted item, {size} files, {rounds} rounds"));
        let [engine, floor, shell] = self.times.each_ref().map(|times| median(times));
        let most = |values: &[f64]| values.iter().copied().fold(0.0, f64::max);
        figure("floor", format!("{floor:.1} ms"));
        figure("engine", format!("{engine:.1} ms"));
        figure("careless shell loop", format!("{shell:.1} ms"));
        let limit = match size {
            0..1_000 => 1.30,
            1_000..20_000 => 1.20,
            _ => 1.15,
        };
        goal("engine / floor", engine / floor, limit, "");
        figure("engine / careless shell loop", format!("{:.2}", engine / shell));
        figure("git processes of the floor", self.floor_spawns);
        goal("git processes, most of any item", most(&self.spawns), 10.0, "");
        goal("scans of a work tree, most of any item", most(&self.scans), 3.0, "");
        figure("the floor's own CPU", format!("{:.2} ms", median(&self.floor_cpu)));
        goal("the engine's own CPU", median(&self.cpu), 2.0, " ms");
        if flag("steps") {
            println!("\n{:<24} {:>10} {:>10}", "step, median ms", "engine", "floor");
            let mut names: Vec<&str> = self.steps.keys().map(|(name, _)| name.as_str()).collect();
            names.dedup();
            for name in names {
                let time = |whose| self.steps.get(&(name.to_owned(), whose)).map_or(0.0, |times| median(times));
                println!("{name:<24} {:>10.2} {:>10.2}", time("engine"), time("floor"));
            }
        }
    }
}
