//! Developers' commands. Every figure that the project states is printed by one of them: a table, and last
//! a line `NAME: …` with the figure. It exits with 0 only where the bar holds.
//!
//! The checks of the suites in `tests/suites` are run by nextest; these commands ask for them and add them
//! up. What makes figures and pages is here.
#![allow(clippy::disallowed_methods, reason = "the checkout's own files")]

mod anywhere;
mod arrows;
mod bare_reading;
mod book;
mod exports;
mod imports;
mod log_speed;
mod metamorphic;
mod model_scale;
mod nextest;
mod parts;
mod picture;
mod readme;
mod replay_speed;
mod report;
mod score;
mod settings;
mod snapshots;
mod stacks;
mod suites;
mod tools;
mod wheel;
mod why_speed;
mod words;

use std::process::ExitCode;

use anyhow::Result;
use clap::{Args, Parser, Subcommand};
use harness::{Held, Outcome};

#[derive(Parser)]
#[command(
    name = "cargo xtask",
    about = "Every figure that the project states, and every page that is made"
)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

/// Some parts of a command; all where none is named.
#[derive(Args)]
struct Parts {
    /// The parts that are asked for
    parts: Vec<String>,
}

/// A command that can write what it compares.
#[derive(Args)]
struct Bless {
    /// Write what is compared otherwise
    #[arg(long)]
    bless: bool,
}

#[derive(Subcommand)]
enum Command {
    /// The simulated GPU under real programs
    Lab(Parts),
    /// `whyoom fit` against real GPUs, real runs and formulas
    Fit(Parts),
    /// `whyoom who` and `top` in known situations, beside other monitors
    Who(suites::Who),
    /// `whyoom run` on programs whose truth is known
    Recorder(Parts),
    /// The recording on disk: scale, memory, killed writers
    Recording(Parts),
    /// `whyoom run --pool` under real programs, and what it costs
    Pool(Parts),
    /// Replays of recorded runs against what PyTorch did
    Replay(Parts),
    /// Every case of tests/scenarios judged
    Score(score::Wish),
    /// What real drivers do and a plain lab does not (docs/dev/hardware.md)
    Hardware(Parts),
    /// Programs that people run: generation, training; with `programs`, each in four ways (docs/dev/evidence/stacks.md)
    Stacks(stacks::Wish),
    /// `whyoom attach` on programs in every state (docs/attach.md)
    Attach(Parts),
    /// `whyoom diff` on pairs of runs, memory by module (docs/diff.md)
    Diff(Parts),
    /// `whyoom-fleet`: agents, archive and monitors with real servers (docs/clusters.md)
    Fleet(Parts),
    /// `whyoom mcp` with the protocol's own client; SARIF against its schema (docs/ci.md)
    Mcp(Parts),
    /// Attacks by other users and by files that somebody sent
    Hostile(Parts),
    /// All suites in one queue
    Suites(suites::All),
    /// Where whyoom runs that is not Linux, it answers alike (docs/install.md)
    Anywhere(Parts),
    /// Crates depend on each other only as the architecture says, and no files in a cycle
    Arrows,
    /// Retired names and phrases stay out of code, output and documentation
    Words,
    /// Real snapshots import exactly (docs/dev/evidence/snapshots.md)
    Snapshots(Bless),
    /// `whyoom why` against `pickle.load`
    WhySpeed,
    /// Many events through the model
    ModelScale {
        /// A hundred million, not twenty
        #[arg(long)]
        deep: bool,
    },
    /// Every export opened by the tool that it is for (docs/import-export.md)
    Exports(Bless),
    /// What RMM and Nsight Systems wrote, read to the byte
    Imports(Parts),
    /// A message found in a log of 100 MB
    LogSpeed,
    /// Changes to a text that must not matter give the same verdict
    Metamorphic,
    /// README's pictures are the real output
    Picture(Bless),
    /// The book's generated pages, sessions, build and links
    Book(book::Wish),
    /// The wheel with all libraries, in dist/, used in a fresh environment
    Wheel {
        /// What is wanted beside it
        wish: Option<wheel::Wish>,
    },
    /// What an allocation costs in a replay, against ordered sets
    ReplaySpeed(replay_speed::Wish),
    /// Settings of PyTorch's allocator: what each version takes, what whyoom prints
    Settings(settings::Wish),
    /// The report of ten million events, in a browser
    Report(report::Wish),
    /// README's commands, run as written
    Readme,
}

impl Command {
    /// Its name, and how it ends. A suite prints its own last line.
    fn run(self) -> (&'static str, Result<Option<Held>>) {
        let held = |held: Result<Held>| held.map(Some);
        let done = |done: Result<()>| done.map(|()| None);
        match self {
            Self::Lab(Parts { parts }) => ("lab", done(suites::run("lab", &parts))),
            Self::Fit(Parts { parts }) => ("fit", done(suites::run("fit", &parts))),
            Self::Who(wish) => ("who", done(suites::who(&wish))),
            Self::Attach(Parts { parts }) => ("attach", done(suites::run("attach", &parts))),
            Self::Diff(Parts { parts }) => ("diff", done(suites::run("diff", &parts))),
            Self::Fleet(Parts { parts }) => ("fleet", done(suites::run("fleet", &parts))),
            Self::Recorder(Parts { parts }) => ("recorder", done(suites::run("recorder", &parts))),
            Self::Recording(Parts { parts }) => {
                ("recording", done(suites::run("recording", &parts)))
            }
            Self::Pool(Parts { parts }) => ("pool", done(suites::run("pool", &parts))),
            Self::Replay(Parts { parts }) => ("replay", done(suites::run("replay", &parts))),
            Self::Hardware(Parts { parts }) => ("hardware", done(suites::run("hardware", &parts))),
            Self::Stacks(wish) => ("stacks", stacks::run(&wish)),
            Self::Mcp(Parts { parts }) => ("mcp", done(suites::run("mcp", &parts))),
            Self::Hostile(Parts { parts }) => ("hostile", done(suites::run("hostile", &parts))),
            Self::Score(wish) => ("score", done(score::run(&wish))),
            Self::Suites(all) => ("suites", done(suites::all(&all))),
            Self::Anywhere(Parts { parts }) => ("anywhere", done(anywhere::run(&parts))),
            Self::Arrows => ("arrows", held(arrows::run())),
            Self::Words => ("words", held(words::run())),
            Self::Snapshots(Bless { bless }) => ("snapshots", held(snapshots::run(bless))),
            Self::WhySpeed => ("why-speed", held(why_speed::run())),
            Self::ModelScale { deep } => ("model-scale", held(model_scale::run(deep))),
            Self::Exports(Bless { bless }) => ("exports", held(exports::run(bless))),
            Self::Imports(Parts { parts }) => ("imports", done(imports::run(&parts))),
            Self::Metamorphic => ("metamorphic", held(metamorphic::run())),
            Self::LogSpeed => ("log-speed", held(log_speed::run())),
            Self::Picture(Bless { bless }) => ("picture", held(picture::run(bless))),
            Self::Book(wish) => ("book", done(book::run(&wish))),
            Self::Wheel { wish } => ("wheel", held(wheel::run(wish))),
            Self::ReplaySpeed(wish) => ("replay-speed", done(replay_speed::run(&wish))),
            Self::Settings(wish) => ("settings", held(settings::run(&wish))),
            Self::Report(wish) => ("report", held(report::run(&wish))),
            Self::Readme => ("readme", held(readme::run())),
        }
    }
}

fn main() -> ExitCode {
    let (name, result) = Arguments::parse().command.run();
    let result = match result {
        Ok(None) => return ExitCode::SUCCESS,
        Ok(Some(held)) => Ok(held),
        Err(error) => Err(error),
    };
    match Outcome::from(result) {
        Outcome::Held(held) => println!("{name}: {}", held.figure),
        Outcome::Skipped { why } => println!("{name}: SKIPPED: {why}"),
        Outcome::Failed { why } => {
            println!("{name}: FAILED: {why}");
            return ExitCode::FAILURE;
        }
    }
    ExitCode::SUCCESS
}
