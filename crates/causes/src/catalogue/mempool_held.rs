//! A stream-ordered pool keeps freed memory.

use whyoom_memory::{Interface, PoolState};
use whyoom_trace::Bytes;

use crate::{
    cause::Cause,
    finding::{Basis, Evidence, Finding, Remedy, Strength},
    scene::Scene,
};

pub(super) const CAUSE: Cause = Cause {
    id: "mempool-held",
    title: "a stream-ordered pool keeps memory that was freed",
    explanation: "\
cudaFreeAsync gives memory back to its pool, not to the device. What the pool keeps is decided by its release
threshold: 0 by default (it gives up what is unused at the next synchronize), all of it where the threshold
was set to the maximum, as many programs do for speed. cudaMalloc, other pools and other processes then find
less.

What it looks like: cudaMemGetInfo shows little free although everything was freed; cudaMalloc fails.

Whether a cudaMalloc that would fail makes the driver take back what an idle pool keeps is not documented;
here it did not.

What helps: trim the pool before the large allocation, a lower threshold, or allocate from the pool itself.",
    check,
};

fn check(scene: &Scene<'_>) -> Option<Finding> {
    if !scene.device_ran_out() {
        return None;
    }
    let pools = &scene.driver()?.pools;
    let idle: Bytes = pools.iter().map(PoolState::idle).sum();
    let (requested, lacking) = (scene.situation.requested?, scene.situation.lacking()?);
    if idle < lacking {
        return None;
    }
    // A pool serves its own requests from what it keeps: there, that was not what was missing.
    let from_a_pool = scene.incident?.interface == Some(Interface::StreamOrdered);
    let strength = if from_a_pool { Strength::Contributing } else { Strength::Explains };
    let mut finding = scene.finding(
        CAUSE.id,
        strength,
        format!("A stream-ordered pool keeps {idle} that was freed, and {requested} found no room"),
        format!(
            "{lacking} was missing. The driver did not take it back from the pool for this request \
             (whether it must is not documented)."
        ),
    );
    finding.gives_back = Some(idle);
    for state in pools.iter().filter(|state| state.idle() > Bytes::ZERO) {
        add_pool(&mut finding, state);
    }
    finding.remedies = remedies(pools, idle);
    Some(finding)
}

fn add_pool(finding: &mut Finding, state: &PoolState) {
    let basis = if state.told { Basis::Recorded } else { Basis::Computed };
    finding.evidence.extend([
        Evidence::bytes("in use in the pool", state.used, basis),
        Evidence::bytes("held by the pool", state.reserved, basis),
    ]);
    let label = "its release threshold";
    finding.evidence.push(match state.threshold {
        Bytes(u64::MAX) => Evidence::text(label, "everything", Basis::Recorded),
        threshold => Evidence::bytes(label, threshold, Basis::Recorded),
    });
}

fn remedies(pools: &[PoolState], idle: Bytes) -> Vec<Remedy> {
    let mut remedies = vec![
        Remedy::line(
            "cudaMemPoolTrimTo(pool, 0);",
            "right before the allocation that needs the memory, after a synchronize",
        )
        .freeing(idle),
    ];
    if let Some(state) = pools.iter().find(|state| state.threshold > Bytes::ZERO) {
        let used = state.used;
        remedies.push(Remedy::line(
            "cudaMemPoolSetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &bytes);",
            format!("with a threshold near what the program uses at a time ({used} now)"),
        ));
    }
    remedies
}
