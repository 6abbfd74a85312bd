//! One file per check: each looks at one device and says what deserves a word, or nothing.

mod ghost;
mod hidden;
mod lost_capacity;
mod mps_server;
mod orphan;
mod other_tenant;
mod residual;
mod stuck;
#[cfg(test)]
mod tests;
mod unlisted;
mod zombie_leader;

use crate::{report::Suspicion, scene::CheckContext};

type Check = fn(&CheckContext<'_>) -> Option<Suspicion>;

const CHECKS: &[Check] = &[
    orphan::check,
    zombie_leader::check,
    stuck::check,
    ghost::check,
    hidden::check,
    mps_server::check,
    unlisted::check,
    other_tenant::check,
    lost_capacity::check,
    residual::check,
];

/// What deserves a word, the most important first.
pub(crate) fn run(scene: &CheckContext<'_>) -> Vec<Suspicion> {
    let mut found: Vec<Suspicion> = CHECKS.iter().filter_map(|check| check(scene)).collect();
    found.sort_by_key(|suspicion| suspicion.kind);
    found
}
