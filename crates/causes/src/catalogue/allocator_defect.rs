//! PyTorch's allocator does what it should not: known defects, each reproduced on wheels of PyTorch.
//!
//! To add one: a function here, and a line in [`check`]. Programs and figures are in `xtask/python/settings/defects.md`.

use whyoom_trace::Bytes;

use crate::{
    cause::Cause,
    diagnosis::Diagnosis,
    finding::{Basis, Evidence, Finding, Remedy, Strength},
};

pub(super) const CAUSE: Cause = Cause {
    id: "allocator-defect",
    title: "a known defect of PyTorch's allocator",
    explanation: "\
The program asked for no more than there is, and PyTorch's allocator did not serve it. Each defect was
reproduced on the wheels named (CUDA, simulated GPU), and the fix was run there.

- A freed block that waits for another stream (record_stream) is large enough, and another part of its
segment is in use: PyTorch waits, frees the block, does not try it again, and fails. A second attempt
succeeds (pytorch/pytorch#189504; 2.4.1 to 2.15.0). expandable_segments:True avoids it.
- A torch.cuda.MemPool has enough free memory in pieces that are too small: PyTorch does not give them
back and try again (pytorch/pytorch#159674; 2.5.1 to 2.15.0). expandable_segments:True lets them grow,
unless the pool has an allocator of its own.
- max_split_size_mb beside expandable_segments:True: reserved memory can grow without bound, until
another library or process finds the device full (pytorch/pytorch#193400; 2.5.1 to 2.15.0). Leave
max_split_size_mb out.
- throw_on_cudamalloc_oom:True: a request is rejected although PyTorch's own cached memory would serve
it (2.12.1 to 2.15.0). Leave the option out.",
    check,
};

fn check(diagnosis: &Diagnosis<'_>) -> Option<Finding> {
    if diagnosis.has_pool() || diagnosis.is_stream_ordered() {
        return None;
    }
    rejected(diagnosis)
        .or_else(|| not_tried_again(diagnosis))
        .or_else(|| pool_not_released(diagnosis))
        .or_else(|| grows_without_bound(diagnosis))
}

/// `throw_on_cudamalloc_oom:True`: PyTorch counts all that it has reserved as used, and does not ask the driver.
fn rejected(diagnosis: &Diagnosis<'_>) -> Option<Finding> {
    if !diagnosis.is_rejected_within_limit() {
        return None;
    }
    let requested = diagnosis.observed.requested;
    let request = requested.map_or("a request".to_owned(), |size| format!("a request of {size}"));
    let reserved = diagnosis.observed.reserved;
    let reserved = reserved
        .map_or("all that is reserved".to_owned(), |size| format!("all {size} that is reserved"));
    let mut finding = diagnosis.finding(
        CAUSE.id,
        Strength::Explains,
        format!("throw_on_cudamalloc_oom made PyTorch reject {request} without asking the driver"),
        format!(
            "It counted {reserved}, cached memory too, and released none of it. If most of that is in use, \
             the workload is too large as well."
        ),
    );
    finding.evidence.push(Evidence::text("message", diagnosis.message(), Basis::Message));
    let what =
        "PyTorch releases cached memory then before a request fails; set it before Python starts";
    finding.remedies.push(diagnosis.without_conf("throw_on_cudamalloc_oom", what));
    finding.remedies.push(Remedy::line(
        "torch.cuda.empty_cache()",
        "before the request: then only what is in use counts",
    ));
    Some(finding)
}

/// pytorch#189504: when the request failed, a block that would have served it was free. Only a wait for other streams
/// frees a block that late. A recording of driver calls alone does not tell whose stream or pool a block is of.
fn not_tried_again(diagnosis: &Diagnosis<'_>) -> Option<Finding> {
    let knows_streams = diagnosis.was_recorded() && diagnosis.driver().is_none();
    if !knows_streams
        || !diagnosis.device_ran_out()
        || diagnosis.expandable_segments_on()
        || diagnosis.max_split_size().is_some()
        || diagnosis.is_log_of_allocator()
    {
        return None;
    }
    let requested = diagnosis.observed.requested?;
    let incident = diagnosis.incident.filter(|incident| !incident.of_driver)?;
    let space = incident.free_space.as_ref()?;
    let block = space.usable_largest;
    // A CUDA graph's capture must not wait: see pending-free.
    if block < requested || space.is_for_private_pool {
        return None;
    }
    let mut finding = diagnosis.finding(
        CAUSE.id,
        Strength::Explains,
        format!(
            "A free block of {block} would serve the {requested}: PyTorch did not try it again after it \
             had waited for it (pytorch#189504)"
        ),
        format!(
            "A block that is free at the failure, and was not free when PyTorch looked for one, has waited \
             for work on another stream (record_stream). Another part of its segment is in use. {}",
            seen_in(diagnosis, "2.4.1")
        ),
    );
    finding.reclaimable = Some(block);
    if !diagnosis.on_windows() {
        let what = "uses such a block at once; set it before Python starts";
        let remedy = diagnosis.set_conf("expandable_segments:True", what);
        finding.remedies.push(remedy.freeing(block));
    }
    finding.remedies.push(Remedy::line(
        "torch.cuda.synchronize()",
        "before the request: then the block is free when PyTorch looks for one",
    ));
    Some(finding)
}

/// pytorch#159674: the request was for a pool whose own free memory would do, in pieces that are each too small.
fn pool_not_released(diagnosis: &Diagnosis<'_>) -> Option<Finding> {
    let requested = diagnosis.observed.requested?;
    let shortfall = diagnosis.observed.shortfall()?;
    let incident = diagnosis.incident.filter(|incident| !incident.of_driver)?;
    let space = incident.free_space.as_ref()?;
    let is_enough =
        space.in_own_private_pool >= shortfall && space.in_own_private_pool > Bytes::ZERO;
    if !diagnosis.device_ran_out()
        || !is_enough
        || space.own_private_largest >= requested
        || diagnosis.expandable_segments_on()
    {
        return None;
    }
    let mut finding = diagnosis.finding(
        CAUSE.id,
        // A graph's own pool looks the same, and must keep its addresses.
        Strength::Likely,
        format!(
            "The memory pool has {} free, and PyTorch does not give it back for a request of {requested} \
             in the same pool (pytorch#159674)",
            space.in_own_private_pool
        ),
        format!(
            "The request fell {shortfall} short. That is so for a torch.cuda.MemPool; the pool of a CUDA \
             graph must keep its memory. {}",
            seen_in(diagnosis, "2.5.1")
        ),
    );
    finding.reclaimable = Some(space.in_own_private_pool);
    if !diagnosis.on_windows() {
        let what = "if the request is for the same pool: its free memory can grow into larger blocks then. Not for a \
                    pool with an allocator of its own, which PyTorch refuses with this setting";
        let remedy = diagnosis.set_conf("expandable_segments:True", what);
        finding.remedies.push(remedy.into_example());
    }
    finding.remedies.push(Remedy::advice(
        "or delete the torch.cuda.MemPool and make a new one: empty_cache() does not release the memory of a \
         pool that lives",
    ));
    Some(finding)
}

/// The least share of reserved memory that is idle if this defect is the cause. Chosen, not measured: the program of the
/// thread has nine tenths after 20 cycles.
const MIN_IDLE_SHARE: f64 = 0.5;

/// pytorch#193400: free blocks above `max_split_size_mb` in expandable segments are not used again. PyTorch itself gives
/// them back before it fails; another library or process that needs memory does not get it.
fn grows_without_bound(diagnosis: &Diagnosis<'_>) -> Option<Finding> {
    if !diagnosis.expandable_segments_on() {
        return None;
    }
    let limit = diagnosis.max_split_size()?;
    let incident = diagnosis.incident.filter(|incident| incident.of_driver)?;
    let shortfall = diagnosis.observed.shortfall()?;
    let (space, reserved) = (incident.free_space.as_ref()?, incident.totals?.reserved);
    let idle = space.idle_pages;
    if diagnosis.asked_by_pytorch()
        || idle < shortfall
        || idle.share_of(reserved) < MIN_IDLE_SHARE
        || space.largest <= limit
    {
        return None;
    }
    let mut finding = diagnosis.finding(
        CAUSE.id,
        Strength::Explains,
        format!(
            "{idle} of the {reserved} that PyTorch has reserved is free and not used again: \
             max_split_size_mb beside expandable_segments:True (pytorch#193400)"
        ),
        format!(
            "Free blocks above that size serve no smaller request, so that reserved memory grows. {}",
            seen_in(diagnosis, "2.5.1")
        ),
    );
    finding.reclaimable = Some(idle);
    let what = "keeps expandable segments, whose free blocks are then used again; set it before Python starts";
    finding.remedies.push(diagnosis.without_conf("max_split_size_mb", what).freeing(idle));
    Some(finding)
}

/// Returns a sentence with the releases on which the defect was reproduced, from the oldest on, and this run's own.
fn seen_in(diagnosis: &Diagnosis<'_>, oldest: &str) -> String {
    let here = match diagnosis.torch_release() {
        Some(release) if !release.is_measured() => format!("; this is {release}, not tried"),
        Some(release) => format!("; this is {release}"),
        None => String::new(),
    };
    format!("Reproduced with PyTorch {oldest} to 2.15.0{here}.")
}
