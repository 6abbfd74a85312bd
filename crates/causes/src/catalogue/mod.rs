//! The catalogue: one file per cause. To add one: a file here, a line in [`CATALOGUE`], its cases in
//! `tests/`.

mod allocator_defect;
mod cache_held;
mod context_overhead;
mod device_heap;
mod fragmented_cache;
mod growth;
mod healthy;
mod host_oom;
mod late_setting;
mod leak_at_exit;
mod library_workspace;
mod limit;
mod masked;
mod mempool_held;
mod orphan;
mod other_process;
mod pending_free;
mod pinned_host;
mod preallocated;
mod private_pool;
mod request_too_big;
mod rounding;
mod stray_context;
mod unchecked_error;
mod unknown;
mod unseen_holder;
mod working_set;

pub(crate) use self::growth::order_by_referrer;
use crate::{cause::Cause, diagnosis::Diagnosis, finding::Finding};

/// Every cause that is known. Of two that are equally strong and give back equally much, the
/// earlier is named first.
pub const CATALOGUE: &[Cause] = &[
    request_too_big::CAUSE,
    allocator_defect::CAUSE,
    limit::CAUSE,
    host_oom::CAUSE,
    pinned_host::CAUSE,
    preallocated::CAUSE,
    late_setting::CAUSE,
    unchecked_error::CAUSE,
    device_heap::CAUSE,
    leak_at_exit::CAUSE,
    growth::CAUSE,
    orphan::CAUSE,
    stray_context::CAUSE,
    context_overhead::CAUSE,
    other_process::CAUSE,
    unseen_holder::CAUSE,
    mempool_held::CAUSE,
    pending_free::CAUSE,
    fragmented_cache::CAUSE,
    private_pool::CAUSE,
    cache_held::CAUSE,
    library_workspace::CAUSE,
    rounding::CAUSE,
    working_set::CAUSE,
    masked::CAUSE,
    healthy::CAUSE,
    unknown::CAUSE,
];

/// The id of growth, for what is told of it later.
pub(crate) const GROWTH: &str = growth::CAUSE.id;

/// The cause of that id.
#[must_use]
pub fn find(id: &str) -> Option<&'static Cause> {
    CATALOGUE.iter().find(|cause| cause.id == id)
}

/// The verdict where there was nothing to judge.
pub(crate) fn nothing_found(diagnosis: &Diagnosis<'_>) -> Finding {
    unknown::nothing_found(diagnosis)
}
