//! The command line.

use std::path::PathBuf;

use clap::{Parser, Subcommand, ValueEnum};

use crate::settings::OnConflict;

/// Walks a plan with coding agents, and lets nothing through that was not verified twice.
#[derive(Debug, Parser)]
#[command(name = "ralph", version, propagate_version = true, max_term_width = 100)]
pub(crate) struct Args {
    /// Where to begin to look for the repository
    #[arg(short = 'C', long = "directory", global = true, value_name = "DIR", default_value = ".")]
    pub(crate) directory: PathBuf,

    /// When to use colours
    #[arg(long, global = true, value_name = "WHEN", default_value = "auto")]
    pub(crate) color: Color,

    #[command(subcommand)]
    pub(crate) command: Command,
}

/// When to use colours.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum Color {
    Auto,
    Always,
    Never,
}

impl Color {
    /// Sets it for all output; `auto` follows `NO_COLOR`, `CLICOLOR` and the terminal.
    pub(crate) fn apply(self) {
        match self {
            Self::Auto => {}
            Self::Always => anstream::ColorChoice::write_global(anstream::ColorChoice::Always),
            Self::Never => anstream::ColorChoice::write_global(anstream::ColorChoice::Never),
        }
    }
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Find the repository's check and agent, and write settings and a first PRD
    Init(Init),
    /// Read settings and PRD as a run would, and say what is wrong or odd
    #[command(
        after_help = "With --calibrate: exit 0 where every verifier came to the same judgement in all runs, 15 where one \
                            did not, or could not judge."
    )]
    Check(Check),
    /// Work through a PRD until it stops; a run that stopped before goes on
    Run(Run),
    /// Work on one objective until its verifier passes
    #[command(
        after_help = "Each session is an iteration. What passes twice is committed to a branch of the goal's own; \
                            the same command goes on where it stopped."
    )]
    Goal(Goal),
    /// Give an agent the same task at an interval, until a budget, Ctrl-C or --until ends it
    #[command(after_help = "Without --verify nothing that a session changes is kept.")]
    Every(Every),
    /// Answer what only you can decide, in every project
    #[command(after_help = "On a terminal it asks one question after the other, the most urgent first. Elsewhere it \
                            lists them; --answer gives the answers.")]
    Btw(Btw),
    /// Approve a Master Plan: show what has changed since, and sign it
    Approve(Approve),
    /// Show where things stand: what needs you, what was verified, what it cost
    #[command(
        after_help = "One glyph per attempt: ✓ accepted, ✗ a verdict was against it, ? a person is asked, ~ interrupted \
                            or lost to the agent's trouble, · a session at an interval, ▸ under way."
    )]
    Status(Status),
    /// Show the iterations of a run, or all that is known of one item
    Log(Log),
    /// Show what is to be reviewed: the whole branch, or one item
    Diff(Diff),
    /// Give an item fresh attempts
    Retry(Items),
    /// Leave an item out: mark it as blocked
    Skip(Items),
    /// Ask the live run to stop after the step under way
    Stop(Stop),
    /// Remove workspaces, what crashes left and, where named, logs and kept work
    Clean(Clean),
    /// Walk a small plan in a throw-away repository with a scripted agent
    Demo(Demo),
    /// Look whether everything is there that a run needs
    Doctor(Doctor),
    /// Answer a hook of Claude Code, whose JSON comes on stdin (docs/hooks.md)
    Hook(Hook),
}

/// Where settings come from besides the files.
#[derive(Clone, Debug, Default, clap::Args)]
pub(crate) struct Overrides {
    /// Set a value for this call, such as `budget.iterations=5` (may be repeated)
    #[arg(long = "set", value_name = "KEY=VALUE")]
    pub(crate) set: Vec<String>,
}

#[derive(Debug, clap::Args)]
pub(crate) struct Init {
    /// The first item of the PRD
    #[arg(long, value_name = "TEXT")]
    pub(crate) task: Option<String>,
    /// The agent's backend, instead of the one that is found
    #[arg(long, value_name = "BACKEND")]
    pub(crate) agent: Option<String>,
    /// Also write for Claude Code the command `/btw`, which shows what waits for you and takes your answers, and hooks
    /// that keep its sessions to a spawn budget and to ralph-loop/criteria.md
    #[arg(long)]
    pub(crate) claude: bool,
}

#[derive(Debug, clap::Args)]
pub(crate) struct Check {
    /// The PRD; by default the one in ralph-loop/
    pub(crate) plan: Option<PathBuf>,
    /// List the checks of candidates, each with what it finds and whether it is on
    #[arg(long)]
    pub(crate) list: bool,
    /// Run each verifier N times (2 to 1000), each on a clean checkout of the commit that a run would begin with, and say
    /// whether it is steady and what `verify.confirm` would let through; no agent, no money
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(2..=1000), conflicts_with = "list")]
    pub(crate) calibrate: Option<u32>,
    /// Print one JSON document
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) overrides: Overrides,
}

#[derive(Debug, Default, clap::Args)]
pub(crate) struct Run {
    /// The PRD; by default the one in ralph-loop/
    pub(crate) plan: Option<PathBuf>,
    /// Walk the Master Plan up to this phase; those before it must be done
    #[arg(long, value_name = "ID")]
    pub(crate) phase: Option<String>,
    /// What to do where another run is on (run.on_conflict)
    #[arg(long, value_name = "WHAT")]
    pub(crate) on_conflict: Option<OnConflict>,
    #[command(flatten)]
    pub(crate) how: How,
}

#[derive(Debug, clap::Args)]
pub(crate) struct Goal {
    /// What is to be true afterwards
    pub(crate) text: String,
    /// The command that tells whether it is (may be repeated); by default the settings' verify.command
    #[arg(long, value_name = "CMD")]
    pub(crate) verify: Vec<String>,
    #[command(flatten)]
    pub(crate) how: How,
}

#[derive(Debug, clap::Args)]
pub(crate) struct Every {
    /// How long to wait between sessions, such as 10m; as in 5m..2h the agent chooses
    pub(crate) interval: String,
    /// What each session is asked for
    pub(crate) text: String,
    /// Stop when this command passes where a session has worked
    #[arg(long, value_name = "CMD")]
    pub(crate) until: Option<String>,
    /// Commit what a session leaves where this passes (may be repeated)
    #[arg(long, value_name = "CMD")]
    pub(crate) verify: Vec<String>,
    #[command(flatten)]
    pub(crate) how: How,
}

/// What there is to say about a run, whichever loop it is.
#[derive(Clone, Debug, Default, clap::Args)]
pub(crate) struct How {
    /// Print the next item, the prompt, verifier, budget and branch; do nothing
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Print one JSON event per line
    #[arg(long)]
    pub(crate) json: bool,
    /// Start a new run even where an earlier one can be taken up; its open questions are taken back
    #[arg(long)]
    pub(crate) new: bool,
    /// At most so many iterations: items, or sessions of a goal (budget.iterations)
    #[arg(long, value_name = "N")]
    pub(crate) iterations: Option<u32>,
    /// At most this long, such as 8h (budget.time)
    #[arg(long, value_name = "TIME")]
    pub(crate) time: Option<String>,
    /// At most so many dollars in the run (budget.cost_usd)
    #[arg(long, value_name = "USD")]
    pub(crate) cost_usd: Option<String>,
    /// At most so many tokens in the run (budget.tokens)
    #[arg(long, value_name = "N")]
    pub(crate) tokens: Option<u64>,
    #[command(flatten)]
    pub(crate) overrides: Overrides,
}

#[derive(Debug, clap::Args)]
pub(crate) struct Btw {
    /// Answer a question, as in `D-007=Resend`; of another project as in `web:D-007=approve` (may be repeated)
    #[arg(long, value_name = "ID=ANSWER")]
    pub(crate) answer: Vec<String>,
    /// Who answers; by default the user's name
    #[arg(long, value_name = "NAME")]
    pub(crate) by: Option<String>,
    /// Print one JSON document; ask nothing
    #[arg(long)]
    pub(crate) json: bool,
    /// Take up the runs of the projects that were answered, now or since they stopped
    #[arg(long)]
    pub(crate) resume: bool,
    /// Forget a project that is gone
    #[arg(long, value_name = "PROJECT", conflicts_with_all = ["answer", "resume"])]
    pub(crate) forget: Option<String>,
}

#[derive(Debug, clap::Args)]
pub(crate) struct Approve {
    /// The Master Plan; by default ralph-loop/MASTER-PLAN.md
    pub(crate) plan: Option<PathBuf>,
    /// Who approves
    #[arg(long, value_name = "NAME")]
    pub(crate) by: String,
    /// Do not ask
    #[arg(short, long)]
    pub(crate) yes: bool,
    #[command(flatten)]
    pub(crate) overrides: Overrides,
}

#[derive(Debug, clap::Args)]
pub(crate) struct Status {
    /// The PRD; by default the one of the last run
    pub(crate) plan: Option<PathBuf>,
    /// Print one JSON document
    #[arg(long)]
    pub(crate) json: bool,
    /// Show each setting and where it comes from
    #[arg(long)]
    pub(crate) settings: bool,
    #[command(flatten)]
    pub(crate) overrides: Overrides,
}

#[derive(Debug, clap::Args)]
pub(crate) struct Log {
    /// Only this item, with its outputs
    pub(crate) item: Option<String>,
    /// The run; by default the last one
    #[arg(long, value_name = "ID")]
    pub(crate) run: Option<String>,
    /// Print one JSON record per line
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, clap::Args)]
pub(crate) struct Diff {
    /// Only this item; work that was kept aside is shown too
    pub(crate) item: Option<String>,
    /// Only how much changed
    #[arg(long)]
    pub(crate) stat: bool,
}

#[derive(Debug, clap::Args)]
pub(crate) struct Items {
    /// The items
    #[arg(required = true)]
    pub(crate) items: Vec<String>,
    /// The PRD; by default the one of the last run
    #[arg(long, value_name = "FILE")]
    pub(crate) plan: Option<PathBuf>,
}

#[derive(Debug, clap::Args)]
pub(crate) struct Stop {
    /// End the session under way too
    #[arg(long)]
    pub(crate) now: bool,
}

#[derive(Debug, clap::Args)]
pub(crate) struct Clean {
    /// Also the prompts and outputs of finished runs, and the outputs of `check --calibrate`
    #[arg(long)]
    pub(crate) logs: bool,
    /// Also rejected and interrupted work
    #[arg(long)]
    pub(crate) rejected: bool,
    /// Also everything of finished runs older than this, such as 30d
    #[arg(long, value_name = "TIME")]
    pub(crate) runs_older_than: Option<String>,
    /// Only say what would be removed
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Do not ask
    #[arg(short, long)]
    pub(crate) yes: bool,
}

#[derive(Debug, clap::Args)]
pub(crate) struct Demo {
    /// Keep the throw-away repository and say where it is
    #[arg(long)]
    pub(crate) keep: bool,
}

#[derive(Debug, clap::Args)]
pub(crate) struct Doctor {
    /// The PRD; by default the one in ralph-loop/
    pub(crate) plan: Option<PathBuf>,
    /// Print one JSON document
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) overrides: Overrides,
}

#[derive(Debug, clap::Args)]
pub(crate) struct Hook {
    #[command(subcommand)]
    pub(crate) event: HookEvent,
}

/// The events that have an answer.
#[derive(Clone, Copy, Debug, Subcommand)]
pub(crate) enum HookEvent {
    /// Refuse to start an agent when the spawn budget is used up
    PreToolUse,
    /// Remember the session, so that its end is looked after
    SessionStart,
    /// Keep the session going until the criteria in ralph-loop/criteria.md hold
    Stop,
}
