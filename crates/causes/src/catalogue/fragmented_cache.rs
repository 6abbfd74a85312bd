//! Enough is free, but in pieces that cannot be used.

use whyoom_trace::{Bytes, Software};

use crate::{
    cause::Cause,
    finding::{Basis, Evidence, Finding, Remedy, Strength},
    scene::{Era, Scene},
};

pub(super) const CAUSE: Cause = Cause {
    id: "fragmented-cache",
    title: "enough is free inside PyTorch's cache, but in pieces",
    explanation: "\
PyTorch takes memory from the driver in segments and cuts them into blocks. Before it gives up it
returns every segment that is wholly free. What is still \"reserved but unallocated\" then lies in
segments that at least one live block pins: together it would have been enough, but no piece is large
enough, and no segment can be given back.

What it looks like: a large \"reserved by PyTorch but unallocated\" in the message; sizes that vary from
step to step (sequence lengths, image sizes).

What helps: expandable segments, which map memory where it is needed so that pieces join up; a
largest size that may be split (max_split_size_mb), which keeps large segments whole; padding to a few
fixed sizes. empty_cache() does not help: it returns only what PyTorch returns by itself.",
    check,
};

/// Waste below this share of the device is not what stopped the run.
const WORTH_NAMING: f64 = 0.05;
/// Below this nobody would call it waste.
const SOMETHING: f64 = 0.01;
/// How many stacks that pin segments are listed.
const LISTED_PINS: usize = 3;

fn check(scene: &Scene<'_>) -> Option<Finding> {
    let ran_out = scene.device_ran_out();
    // whyoom's pool joins pieces up before it gives up.
    if !(ran_out || scene.refused_by_pytorch()) || scene.has_pool() || scene.is_stream_ordered() {
        return None;
    }
    let situation = &scene.situation;
    let requested = situation.requested?;
    // Under a cap, what is free on the device is out of reach.
    let enough = |cached: &Bytes| *cached > Bytes::ZERO && (ran_out || *cached >= requested);
    let cached = situation.cache_that_would_do().filter(enough)?;
    let free = situation.free.unwrap_or_default();
    let whole = situation.capacity.or(situation.reserved)?;
    let strength = match cached.share_of(whole) >= WORTH_NAMING {
        true => Strength::Explains,
        // Nobody saw in which pieces it lies; where nothing else explains the failure, this does.
        false
            if scene.is_message()
                && cached.share_of(whole) >= SOMETHING
                && scene.said().is_none() =>
        {
            Strength::Likely
        }
        false if scene.is_message() => return None,
        false => Strength::Contributing,
    };
    let largest = scene.incident?.free_space.as_ref().map(|space| space.usable_largest);
    if let Some(largest) = largest.filter(|largest| *largest >= requested) {
        return forbidden_to_split(scene, largest, requested);
    }
    let mut finding = scene.finding(
        CAUSE.id,
        strength,
        format!(
            "{cached} is free in {}'s cache, but in pieces too small for {requested}",
            scene.allocator_name()
        ),
        format!(
            "With the {free} free on the device that is {}, enough for the {requested} that was \
             asked for.",
            cached.plus(free)
        ),
    );
    finding.gives_back = Some(cached);
    match largest {
        Some(largest) => finding.because.push_str(&format!(" The largest piece is {largest}.")),
        None => finding.because.push_str(" What pins the pieces, only a snapshot shows."),
    }
    add_layout(scene, &mut finding);
    finding.remedies = remedies(scene, cached);
    Some(finding)
}

/// A piece is large enough, and may not be cut: max_split_size_mb keeps it whole.
fn forbidden_to_split(scene: &Scene<'_>, largest: Bytes, requested: Bytes) -> Option<Finding> {
    if !scene.max_split_size_set() {
        return None;
    }
    let mut finding = scene.finding(
        CAUSE.id,
        Strength::Explains,
        format!("A free piece of {largest} may not be split for {requested}: max_split_size_mb forbids it"),
        "Blocks above that size serve only requests of about their own size.",
    );
    finding.gives_back = Some(largest);
    add_layout(scene, &mut finding);
    let what = "raise max_split_size_mb in it, or remove it";
    finding.remedies = vec![Remedy::line("unset PYTORCH_CUDA_ALLOC_CONF", what).freeing(largest)];
    Some(finding)
}

fn add_layout(scene: &Scene<'_>, finding: &mut Finding) {
    let Some(space) = scene.incident.and_then(|incident| incident.free_space.as_ref()) else {
        return;
    };
    let label = "segments pinned by live blocks";
    finding.evidence.push(Evidence::count(label, space.pinned_segments, Basis::Recorded));
    for pin in space.pins.iter().take(LISTED_PINS) {
        let plural = if pin.blocks == 1 { "" } else { "s" };
        let label = format!("pinned by {} block{plural} of {}", pin.blocks, scene.place(pin.stack));
        finding.evidence.push(Evidence::bytes(label, pin.holds, Basis::Recorded));
    }
}

/// Settings that exist in that release and are not on already. Where the run was recorded, a replay
/// decides which of them stay.
fn remedies(scene: &Scene<'_>, cached: Bytes) -> Vec<Remedy> {
    if scene.software() == Some(Software::Rmm) {
        return for_rmm();
    }
    if scene.expandable_segments_on() {
        return vec![Remedy::advice(
            "expandable segments are on already: pad inputs to a few fixed sizes, so that freed \
             blocks fit the next request",
        )];
    }
    if scene.era() == Era::BeforeSettings {
        return vec![Remedy::advice(
            "this release of PyTorch has no setting against it: use 2.1 or newer, or pad inputs to a \
             few fixed sizes",
        )];
    }
    let mut remedies = Vec::new();
    // Windows has no expandable segments.
    if scene.era() == Era::Today && !scene.on_windows() {
        let what = "lets free pieces join up; set it before Python starts";
        let line = scene.set_conf("expandable_segments:True");
        let remedy = Remedy::line(line, what).by_setting("expandable_segments:True");
        remedies.push(remedy.freeing(cached));
    }
    if !scene.max_split_size_set() {
        let what = if remedies.is_empty() {
            "keeps large segments whole; set it before Python starts"
        } else {
            "where expandable segments cannot be used: keeps large segments whole"
        };
        let line = scene.set_conf("max_split_size_mb:128");
        remedies.push(Remedy::line(line, what).by_setting("max_split_size_mb:128"));
    }
    remedies
}

/// RMM's pool of a fixed size joins nothing up; the driver's own pool maps pages where they are needed.
fn for_rmm() -> Vec<Remedy> {
    vec![
        Remedy::line(
            "rmm::mr::cuda_async_memory_resource",
            "in place of the pool: the driver's stream-ordered pool maps memory where it is needed (Python: \
             rmm.mr.CudaAsyncMemoryResource(); Spark: spark.rapids.memory.gpu.pool=ASYNC)",
        ),
        Remedy::advice(
            "or a larger pool (Spark: a smaller spark.rapids.memory.gpu.reserve), and smaller batches",
        ),
    ]
}
