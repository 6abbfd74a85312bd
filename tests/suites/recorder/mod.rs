//! `whyoom run` on programs whose truth is known, by every road into the driver, through every end of a
//! process, and with everything refused that it needs; and what recording costs.
//!
//! A part is a file here and a line in the list.

mod blocks;
mod by_name;
mod calls;
mod cost;
mod fail_open;
mod families;
mod flight;
mod growth;
mod kill;
mod lives;
mod panics;
mod programs;
mod programs_in_c;
mod ways;

use anyhow::Result;
use harness::Check;

pub(crate) fn checks() -> Result<Vec<Check>> {
    let parts = [
        programs::checks,
        families::checks,
        ways::checks,
        lives::checks,
        fail_open::checks,
        flight::checks,
        growth::checks,
        kill::checks,
        cost::checks,
    ];
    Ok(parts.into_iter().flat_map(|checks: fn() -> Vec<Check>| checks()).collect())
}
