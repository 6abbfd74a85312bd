//! Checks of the whole product on the simulated GPU. `cargo xtask NAME [PART…]` runs a suite; nextest
//! lists, filters, times and runs the checks, two at a time.
//!
//! A suite is a folder here and a line in the table.
#![allow(clippy::disallowed_methods, reason = "the checks' own files")]

mod attach;
mod diff;
mod fit;
mod fleet;
mod hardware;
mod hostile;
mod lab;
mod mcp;
mod pool;
mod recorder;
mod recording;
mod replay;
mod score;
mod stacks;
mod who;

use std::process::ExitCode;

use harness::Suite;

const SUITES: &[Suite] = &[
    Suite { name: "attach", checks: attach::checks },
    Suite { name: "diff", checks: diff::checks },
    Suite { name: "fit", checks: fit::checks },
    Suite { name: "fleet", checks: fleet::checks },
    Suite { name: "hardware", checks: hardware::checks },
    Suite { name: "hostile", checks: hostile::checks },
    Suite { name: "lab", checks: lab::checks },
    Suite { name: "mcp", checks: mcp::checks },
    Suite { name: "pool", checks: pool::checks },
    Suite { name: "recorder", checks: recorder::checks },
    Suite { name: "recording", checks: recording::checks },
    Suite { name: "replay", checks: replay::checks },
    Suite { name: "score", checks: score::checks },
    Suite { name: "stacks", checks: stacks::checks },
    Suite { name: "who", checks: who::checks },
];

fn main() -> ExitCode {
    // Some checks start this program again, as the process that is killed or measured.
    if let Some(code) = recording::role() {
        return code;
    }
    harness::main(SUITES)
}
