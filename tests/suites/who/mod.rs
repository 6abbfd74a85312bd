//! `whyoom who` and `whyoom top` in situations that are known, beside other monitors, against the
//! clock, and where much is hidden from them.

mod limits;
mod named;
mod peers;
mod peers_table;
mod situations;
mod speed;
mod top;

use anyhow::Result;
use harness::Check;

pub(crate) fn checks() -> Result<Vec<Check>> {
    let mut checks = named::checks();
    checks.extend(limits::checks());
    checks.push(Check::new("peers::side-by-side", peers::side_by_side));
    checks.push(Check::new("peers::table", peers::table));
    checks.push(Check::new("speed", speed::run));
    checks.push(Check::new("top", top::run));
    Ok(checks)
}
