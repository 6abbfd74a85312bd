//! `whyoom-fleet` with real servers: SeaweedFS as S3, Prometheus; agents that are killed, stores that are cut off.

mod logs;
mod monitoring;
mod node;
mod place;
mod servers;
mod store;

use anyhow::Result;
use harness::Check;

pub(crate) fn checks() -> Result<Vec<Check>> {
    Ok(vec![
        Check::new("logs::verdicts", logs::verdicts),
        Check::new("monitoring::prometheus", monitoring::prometheus),
        Check::new("monitoring::rules", monitoring::rules),
        Check::new("node::burst", node::burst),
        Check::new("node::cost", node::cost),
        Check::new("store::agents", || store::run(store::GATE)),
        Check::new("store::deep-agents", || store::run(store::DEEP)),
    ])
}
