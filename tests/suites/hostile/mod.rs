//! Attacks: by other users of the machine, and by files that somebody sent. A file here is one place that is
//! attacked.

mod pickles;

use anyhow::Result;
use harness::Check;

pub(crate) fn checks() -> Result<Vec<Check>> {
    Ok(vec![
        Check::new("pickles::refused", pickles::refused),
        Check::new("pickles::truncated", pickles::truncated),
    ])
}
