//! `whyoom-fleet` with real servers: SeaweedFS as S3, Prometheus, a collector of OpenTelemetry, journald; agents that
//! are killed, stores that are cut off.

mod engines;
mod hostile;
mod journal;
mod logs;
mod monitoring;
mod node;
mod otlp;
mod place;
mod processes;
mod replay;
mod report;
mod servers;
mod slurm;
mod store;

use anyhow::Result;
use harness::Check;

pub(crate) fn checks() -> Result<Vec<Check>> {
    let mut checks = vec![
        Check::new("engines::questions", || engines::run(engines::GATE)),
        Check::new("engines::deep-questions", || engines::run(engines::DEEP)),
        Check::new("logs::verdicts", logs::verdicts),
        Check::new("monitoring::prometheus", monitoring::prometheus),
        Check::new("monitoring::guarded", monitoring::guarded),
        Check::new("monitoring::rules", monitoring::rules),
        Check::new("node::burst", || node::burst(node::GATE_BURST)),
        Check::new("node::deep-burst", || node::burst(node::DEEP_BURST)),
        Check::new("node::deep-cost", node::cost),
        Check::new("replay::ray", || replay::ray(replay::GATE)),
        Check::new("replay::deep-ray", || replay::ray(replay::DEEP)),
        Check::new("replay::slurm", replay::slurm),
        Check::new("slurm::comment", slurm::comment),
        Check::new("slurm::orphan", slurm::orphan),
        Check::new("report::page", report::page),
        Check::new("otlp::received", otlp::received),
        Check::new("store::agents", || store::run(store::GATE)),
        Check::new("store::deep-agents", || store::run(store::DEEP)),
    ];
    checks.extend(hostile::checks());
    Ok(checks)
}
