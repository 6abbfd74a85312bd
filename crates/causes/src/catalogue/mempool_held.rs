//! A stream-ordered pool keeps freed memory.

use whyoom_memory::PoolState;
use whyoom_trace::Bytes;

use crate::{
    cause::Cause,
    diagnosis::Diagnosis,
    driver_pools::{idle, is_missing, waiting_in_pools},
    finding::{Basis, Evidence, Finding, Remedy, Strength},
};

pub(super) const CAUSE: Cause = Cause {
    id: "mempool-held",
    title: "a stream-ordered pool keeps memory that was freed",
    explanation: "\
cudaFreeAsync returns memory to its pool, not to the device. The release threshold decides what the
pool keeps: 0 by default (unused memory is released at the next synchronize), everything if the
threshold is set to the maximum, as many programs do for speed. Less is then left for cudaMalloc,
other pools and other processes.

Symptoms: cudaMemGetInfo shows little free although everything was freed; cudaMalloc fails.

It is not documented whether a cudaMalloc that would fail makes the driver reclaim what an idle pool
keeps; here it did not.

What helps: trim the pool before the large allocation, lower the threshold, or allocate from the
pool itself.",
    check,
};

fn check(diagnosis: &Diagnosis<'_>) -> Option<Finding> {
    if !diagnosis.device_ran_out() {
        return None;
    }
    if diagnosis.is_stream_ordered() {
        return of_message(diagnosis);
    }
    let pools = &diagnosis.driver()?.pools;
    let (requested, shortfall) = (diagnosis.observed.requested?, diagnosis.observed.shortfall()?);
    let idle = idle(diagnosis).filter(|idle| *idle >= shortfall)?;
    // What waits for its stream is not kept.
    if waiting_in_pools(diagnosis) >= idle {
        return None;
    }
    let strength = if is_missing(diagnosis) { Strength::Explains } else { Strength::Contributing };
    let mut finding = diagnosis.finding(
        CAUSE.id,
        strength,
        format!("A stream-ordered pool keeps {idle} that was freed, and a request of {requested} \
                 failed"),
        format!(
            "The request fell {shortfall} short. The driver did not reclaim it from the pool for this \
             request (whether it must is not documented)."
        ),
    );
    finding.reclaimable = Some(idle);
    for state in pools.iter().filter(|state| state.idle() > Bytes::ZERO) {
        add_pool(&mut finding, state);
    }
    finding.remedies = remedies(diagnosis, pools, idle);
    Some(finding)
}

/// A stream-ordered pool that failed itself, by the figures in its text: what it keeps was of no use to
/// the request.
fn of_message(diagnosis: &Diagnosis<'_>) -> Option<Finding> {
    let observed = &diagnosis.observed;
    let idle = observed.cache_that_would_do().filter(|idle| *idle > Bytes::ZERO)?;
    let requested = observed.requested?;
    let mut finding = diagnosis.finding(
        CAUSE.id,
        Strength::Explains,
        format!(
            "A stream-ordered pool keeps {idle} that was freed, and a request of {requested} \
                 failed"
        ),
        format!(
            "It holds {}, of which {} is in use; its free memory is fragmented or kept for others.",
            observed.reserved?, observed.allocated?
        ),
    );
    finding.reclaimable = Some(idle);
    finding.remedies = vec![trim(idle)];
    let what =
        "set a threshold close to what the program uses at a time, so that the rest is released";
    finding.remedies.push(Remedy::example(SET_THRESHOLD, what));
    Some(finding)
}

const SET_THRESHOLD: &str =
    "cudaMemPoolSetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &bytes);";

fn trim(idle: Bytes) -> Remedy {
    let what =
        "trim the pool right before the allocation that needs the memory, after a synchronize";
    Remedy::example("cudaMemPoolTrimTo(pool, 0);", what).freeing(idle)
}

fn add_pool(finding: &mut Finding, state: &PoolState) {
    let basis = if state.told { Basis::Recorded } else { Basis::Computed };
    finding.evidence.extend([
        Evidence::bytes("in use in the pool", state.used, basis),
        Evidence::bytes("reserved by the pool", state.reserved, basis),
    ]);
    let label = "its release threshold";
    finding.evidence.push(match state.threshold {
        Bytes(u64::MAX) => Evidence::text(label, "everything", Basis::Recorded),
        threshold => Evidence::bytes(label, threshold, Basis::Recorded),
    });
}

fn remedies(diagnosis: &Diagnosis<'_>, pools: &[PoolState], idle: Bytes) -> Vec<Remedy> {
    if diagnosis.allocator_conf().contains("backend:cudaMallocAsync") {
        return for_pytorch(diagnosis, idle);
    }
    let mut remedies = vec![trim(idle)];
    if let Some(state) = pools.iter().find(|state| state.threshold > Bytes::ZERO) {
        let used = state.used;
        remedies.push(Remedy::example(
            SET_THRESHOLD,
            format!("set a threshold close to what the program uses at a time ({used} now)"),
        ));
    }
    remedies
}

/// PyTorch's backend of that name tells the driver's pool to keep everything.
fn for_pytorch(diagnosis: &Diagnosis<'_>, idle: Bytes) -> Vec<Remedy> {
    let what = "PyTorch uses its own allocator then";
    vec![
        Remedy::line(
            "torch.cuda.empty_cache()",
            "right before what allocates outside PyTorch: the driver's pool releases what tensors \
             do not use",
        )
        .freeing(idle),
        diagnosis.without_conf("backend", what),
    ]
}
