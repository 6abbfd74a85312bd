//! Attacks: by other users of the machine, and by files that somebody sent. A file here is one place that is
//! attacked.

mod pickles;
mod secrets;
mod terminal;

use anyhow::Result;
use harness::Check;

pub(crate) fn checks() -> Result<Vec<Check>> {
    Ok(vec![
        Check::new("pickles::refused", pickles::refused),
        Check::new("pickles::truncated", pickles::truncated),
        Check::new("secrets::recorded", secrets::recorded),
        Check::new("secrets::quoted", secrets::quoted),
        Check::new("secrets::told", secrets::told),
        Check::new("terminal::files", terminal::files),
        Check::new("terminal::processes", terminal::processes),
    ])
}
