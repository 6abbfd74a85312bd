//! Developers' commands. Every figure that the project states is printed by one of them: a table,
//! and last a line `NAME: …` with the figure. It exits with 0 only where the bar holds.

mod arrows;
mod book;
mod exactness;
mod exports;
mod fit;
mod hostile;
mod imports;
mod lab;
mod log_speed;
mod model_scale;
mod packing;
mod parts;
mod picture;
mod pool;
mod readme;
mod recorder;
mod recording;
mod recordings;
mod replay_speed;
mod report;
mod rescue;
mod score;
mod snapshots;
mod tools;
mod utilization;
mod wheel;
mod who;
mod why_speed;

use std::process::ExitCode;

use anyhow::Result;

struct Command {
    name: &'static str,
    about: &'static str,
    run: fn(&[String]) -> Result<()>,
}

const COMMANDS: &[Command] = &[
    Command {
        name: "arrows",
        about: "crates depend on each other only as the architecture says",
        run: arrows::run,
    },
    Command {
        name: "snapshots",
        about: "real snapshots import exactly (--bless rewrites docs/snapshots.md)",
        run: snapshots::run,
    },
    Command { name: "why-speed", about: "whyoom why against pickle.load", run: why_speed::run },
    Command {
        name: "model-scale",
        about: "100 million events through the model",
        run: model_scale::run,
    },
    Command {
        name: "hostile",
        about: "hostile pickles are refused in bounded time and memory",
        run: hostile::run,
    },
    Command {
        name: "exactness",
        about: "the model of PyTorch's allocator against what PyTorch did",
        run: exactness::run,
    },
    Command {
        name: "exports",
        about: "every export opened by the tool that it is for (--bless rewrites docs/exports.md's table)",
        run: exports::run,
    },
    Command {
        name: "imports",
        about: "what RMM and Nsight Systems wrote, read to the byte ([PART…]: some of it)",
        run: imports::run,
    },
    Command {
        name: "lab",
        about: "the simulated GPU under real programs ([PART…]: some of it)",
        run: lab::run,
    },
    Command {
        name: "fit",
        about: "whyoom fit against real GPUs, sweeps and formulas ([PART…]: some of it)",
        run: fit::run,
    },
    Command {
        name: "who",
        about: "whyoom who and top in known situations, beside other monitors ([PART…]: some of it)",
        run: who::run,
    },
    Command {
        name: "packing",
        about: "the offline planner on packing problems with known answers",
        run: packing::run,
    },
    Command { name: "log-speed", about: "a message found in a log of 100 MB", run: log_speed::run },
    Command {
        name: "picture",
        about: "README's picture is the real output (--bless rewrites it)",
        run: picture::run,
    },
    Command {
        name: "book",
        about: "the book's generated pages, sessions, build and links ([PART…] [--bless])",
        run: book::run,
    },
    Command {
        name: "wheel",
        about: "the wheel with all libraries, in dist/, used in a fresh environment (all: also what others need)",
        run: wheel::run,
    },
    Command {
        name: "rescue",
        about: "a program that dies fragmented, run again with the setting that whyoom names",
        run: rescue::run,
    },
    Command {
        name: "recording",
        about: "the recording on disk: scale, memory, killed writers ([PART…]: some of it)",
        run: recording::run,
    },
    Command {
        name: "utilization",
        about: "every allocation policy on every recorded run, with the lower bound",
        run: utilization::run,
    },
    Command {
        name: "replay-speed",
        about: "what an allocation costs in a replay, against ordered sets",
        run: replay_speed::run,
    },
    Command {
        name: "report",
        about: "the report of ten million events, in a browser ([--screenshots FOLDER])",
        run: report::run,
    },
    Command {
        name: "recorder",
        about: "whyoom run on programs whose truth is known ([PART…]: some of it)",
        run: recorder::run,
    },
    Command {
        name: "recorder-cost",
        about: "what recording costs a driver call, PyTorch's loops and the heap",
        run: recorder::cost,
    },
    Command {
        name: "score",
        about: "every case of tests/scenarios judged ([--only NAME,…] [--set SET] [--bless])",
        run: score::run,
    },
    Command {
        name: "pool",
        about: "whyoom run --pool under real programs, and what it costs ([PART…]: some of it)",
        run: pool::run,
    },
    Command { name: "readme", about: "README's commands, run as written", run: readme::run },
];

fn main() -> ExitCode {
    let mut arguments = std::env::args().skip(1);
    let name = arguments.next().unwrap_or_default();
    let Some(command) = COMMANDS.iter().find(|command| command.name == name) else {
        eprintln!("cargo xtask NAME, where NAME is one of:");
        for command in COMMANDS {
            eprintln!("  {:<12} {}", command.name, command.about);
        }
        return ExitCode::from(2);
    };
    let arguments: Vec<String> = arguments.collect();
    match (command.run)(&arguments) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            println!("{name}: FAILED: {error:#}");
            ExitCode::FAILURE
        }
    }
}
