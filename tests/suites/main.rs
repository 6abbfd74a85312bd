//! Checks of the whole product on the simulated GPU. `cargo xtask NAME [PART…]` runs a suite; nextest
//! lists, filters, times and runs the checks, two at a time.
//!
//! A suite is a folder here and a line in the table.

use std::process::ExitCode;

use harness::Suite;

const SUITES: &[Suite] = &[];

fn main() -> ExitCode {
    harness::main(SUITES)
}
