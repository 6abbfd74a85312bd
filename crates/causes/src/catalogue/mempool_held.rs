//! A stream-ordered pool keeps freed memory.

use whyoom_memory::PoolState;
use whyoom_trace::Bytes;

use crate::{
    cause::Cause,
    driver_pools::{idle, is_missing, waiting_in_pools},
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
    if scene.is_stream_ordered() {
        return of_message(scene);
    }
    let pools = &scene.driver()?.pools;
    let (requested, lacking) = (scene.situation.requested?, scene.situation.lacking()?);
    let idle = idle(scene).filter(|idle| *idle >= lacking)?;
    // What waits for its stream is not kept.
    if waiting_in_pools(scene) >= idle {
        return None;
    }
    let strength = if is_missing(scene) { Strength::Explains } else { Strength::Contributing };
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
    finding.remedies = remedies(scene, pools, idle);
    Some(finding)
}

/// A stream-ordered pool that failed itself, by the figures in its text: what it keeps was of no use to
/// the request.
fn of_message(scene: &Scene<'_>) -> Option<Finding> {
    let situation = &scene.situation;
    let idle = situation.cache_that_would_do().filter(|idle| *idle > Bytes::ZERO)?;
    let requested = situation.requested?;
    let mut finding = scene.finding(
        CAUSE.id,
        Strength::Explains,
        format!("A stream-ordered pool keeps {idle} that was freed, and {requested} found no room"),
        format!(
            "It holds {}, of which {} is in use; what is free in it lies in pieces, or is kept for others.",
            situation.reserved?, situation.allocated?
        ),
    );
    finding.gives_back = Some(idle);
    finding.remedies = vec![trim(idle)];
    let what = "with a threshold near what the program uses at a time, so that the rest goes back";
    finding.remedies.push(Remedy::line(SET_THRESHOLD, what));
    Some(finding)
}

const SET_THRESHOLD: &str =
    "cudaMemPoolSetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &bytes);";

fn trim(idle: Bytes) -> Remedy {
    let what = "right before the allocation that needs the memory, after a synchronize";
    Remedy::line("cudaMemPoolTrimTo(pool, 0);", what).freeing(idle)
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

fn remedies(scene: &Scene<'_>, pools: &[PoolState], idle: Bytes) -> Vec<Remedy> {
    if scene.allocator_conf().contains("backend:cudaMallocAsync") {
        return for_pytorch(scene, idle);
    }
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

/// PyTorch's backend of that name tells the driver's pool to keep everything.
fn for_pytorch(scene: &Scene<'_>, idle: Bytes) -> Vec<Remedy> {
    let conf = scene.allocator_conf().split(',');
    // People paste the line: nothing that a shell reads otherwise comes back in it.
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "_:.".contains(c);
    let is_other = |one: &&str| !one.starts_with("backend:") && one.chars().all(is_plain);
    let others: Vec<&str> = conf.map(str::trim).filter(is_other).collect();
    let native = match others.is_empty() {
        true if scene.setting("PYTORCH_CUDA_ALLOC_CONF").is_none() => {
            "unset PYTORCH_ALLOC_CONF".to_owned()
        }
        true => "unset PYTORCH_CUDA_ALLOC_CONF".to_owned(),
        false => format!("export PYTORCH_CUDA_ALLOC_CONF={}", others.join(",")),
    };
    vec![
        Remedy::line(
            "torch.cuda.empty_cache()",
            "right before what allocates beside PyTorch: the driver's pool gives back what tensors do not use",
        )
        .freeing(idle),
        Remedy::line(native, "or PyTorch's own allocator in place of the backend cudaMallocAsync"),
    ]
}
