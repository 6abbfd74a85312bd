//! Replays held against what PyTorch did: on real GPUs, and on the simulated one.

mod exactness;
pub(crate) mod recordings;
mod rescue;
mod utilization;

use anyhow::Result;
use harness::Check;

pub(crate) fn checks() -> Result<Vec<Check>> {
    Ok(vec![
        Check::new("exactness-real", exactness::real),
        Check::new("exactness-lab", exactness::lab),
        Check::new("utilization", utilization::run),
        Check::new("rescue", rescue::run),
    ])
}
