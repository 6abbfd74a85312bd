//! What the stream-ordered pools of a process keep when a request fails.

use whyoom_memory::{Interface, PoolState};
use whyoom_trace::Bytes;

use crate::diagnosis::Diagnosis;

/// What pools keep and do not use.
pub(crate) fn idle(diagnosis: &Diagnosis<'_>) -> Option<Bytes> {
    Some(diagnosis.driver()?.pools.iter().map(PoolState::idle).sum())
}

/// Whether what pools keep could not serve the request. A pool serves its own requests from what it keeps:
/// there, that was not what was missing.
pub(crate) fn is_missing(diagnosis: &Diagnosis<'_>) -> bool {
    diagnosis.incident.is_some_and(|one| one.interface != Some(Interface::StreamOrdered))
}

/// Whether all would fit, did no pool keep what it does not use.
pub(crate) fn would_do(diagnosis: &Diagnosis<'_>) -> bool {
    let enough = idle(diagnosis).zip(diagnosis.observed.shortfall());
    is_missing(diagnosis) && enough.is_some_and(|(idle, shortfall)| idle >= shortfall)
}

/// What was freed in stream-ordered pools and waits for its stream. A pool serves its own requests from what it
/// keeps: what it refuses them was freed and not waited for.
pub(crate) fn waiting_in_pools(diagnosis: &Diagnosis<'_>) -> Bytes {
    let interface = diagnosis.incident.and_then(|incident| incident.interface);
    let from_a_pool = interface == Some(Interface::StreamOrdered);
    let waiting = |pool: &PoolState| match from_a_pool {
        true => pool.pending.max(pool.unwaited.min(pool.idle())),
        false => pool.pending,
    };
    diagnosis.driver().map_or(Bytes::ZERO, |driver| driver.pools.iter().map(waiting).sum())
}
