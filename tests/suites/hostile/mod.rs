//! Attacks: by other users of the machine, and by files that somebody sent. A file here is one place that is
//! attacked.

mod folders;
mod live;
mod pickles;
mod proportion;
mod variables;

use anyhow::Result;
use harness::Check;

pub(crate) fn checks() -> Result<Vec<Check>> {
    let mut checks = vec![
        Check::new("folders::made-by-another", folders::made_by_another),
        Check::new("folders::code-swapped", folders::code_swapped),
        Check::new("folders::modes", folders::modes),
        Check::new("live::part-files", live::part_files),
        Check::new("live::cut-while-looked-at", live::cut_while_looked_at),
        Check::new("live::status-of-the-program", live::status_of_the_program),
        Check::new("live::fault-of-the-program", live::fault_of_the_program),
        Check::new("variables::pool-cap", variables::pool_cap),
        Check::new("pickles::refused", pickles::refused),
        Check::new("pickles::truncated", pickles::truncated),
    ];
    checks.extend(proportion::checks());
    Ok(checks)
}
