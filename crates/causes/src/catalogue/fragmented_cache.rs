//! Enough is free, but in pieces that cannot be used.

use whyoom_trace::{Bytes, Software};

use crate::{
    cause::Cause,
    diagnosis::{Diagnosis, Era},
    finding::{Basis, Evidence, Finding, Remedy, Strength},
};

pub(super) const CAUSE: Cause = Cause {
    id: "fragmented-cache",
    title: "PyTorch's cache has enough free memory, but it is fragmented",
    explanation: "\
PyTorch takes memory from the driver in segments and splits them into blocks. Before it fails a
request, it releases every segment that is completely free. What is still \"reserved but
unallocated\" is in segments that at least one live block pins: in total it would be enough, but no
free block is large enough, and no segment can be released.

Symptoms: a large \"reserved by PyTorch but unallocated\" in the message; sizes that vary from step
to step (sequence lengths, image sizes).

What helps: expandable segments, which map memory where it is needed so that free blocks can merge;
a limit on the size that may be split (max_split_size_mb), which keeps large segments intact;
padding to a few fixed sizes. empty_cache() does not help: it releases only what PyTorch releases by
itself.",
    check,
};

/// Waste below this share of the device is not what stopped the run.
const WORTH_NAMING: f64 = 0.05;
/// Below this nobody would call it waste.
const SOMETHING: f64 = 0.01;
/// How many stacks that pin segments are listed.
const LISTED_PINS: usize = 3;

fn check(diagnosis: &Diagnosis<'_>) -> Option<Finding> {
    let ran_out = diagnosis.device_ran_out();
    // whyoom's pool joins pieces up before it gives up.
    if !(ran_out || diagnosis.refused_by_pytorch())
        || diagnosis.has_pool()
        || diagnosis.is_stream_ordered()
        // However the cache lies, the rest of the iteration does not fit.
        || ran_out && diagnosis.ahead.is_some()
    {
        return None;
    }
    let observed = &diagnosis.observed;
    let requested = observed.requested?;
    // Under a cap, what is free on the device is out of reach.
    let enough = |cached: &Bytes| *cached > Bytes::ZERO && (ran_out || *cached >= requested);
    let cached = observed.cache_that_would_do().filter(enough)?;
    let free = observed.free.unwrap_or_default();
    let whole = observed.capacity.or(observed.reserved)?;
    let strength = match cached.share_of(whole) >= WORTH_NAMING {
        true => Strength::Explains,
        // Nobody saw in which pieces it lies; where nothing else explains the failure, this does.
        false
            if diagnosis.is_message()
                && cached.share_of(whole) >= SOMETHING
                && diagnosis.said().is_none() =>
        {
            Strength::Likely
        }
        false if diagnosis.is_message() => return None,
        false => Strength::Contributing,
    };
    let largest = diagnosis.incident?.free_space.as_ref().map(|space| space.usable_largest);
    if let Some(largest) = largest.filter(|largest| *largest >= requested) {
        return forbidden_to_split(diagnosis, largest, requested);
    }
    let mut finding = diagnosis.finding(
        CAUSE.id,
        strength,
        format!(
            "{cached} is free in {}'s cache but split up: {requested} does not fit",
            diagnosis.allocator_name()
        ),
        format!(
            "With the {free} free on the device that is {}, enough for the {requested} requested.",
            cached.plus(free)
        ),
    );
    finding.reclaimable = Some(cached);
    match largest {
        Some(largest) => finding.because.push_str(&format!(" The largest block is {largest}.")),
        None => finding.because.push_str(" Record a snapshot to see what pins the blocks."),
    }
    add_layout(diagnosis, &mut finding);
    finding.remedies = remedies(diagnosis, cached);
    Some(finding)
}

/// A piece is large enough, and may not be cut: max_split_size_mb keeps it whole.
fn forbidden_to_split(
    diagnosis: &Diagnosis<'_>,
    largest: Bytes,
    requested: Bytes,
) -> Option<Finding> {
    diagnosis.max_split_size()?;
    let mut finding = diagnosis.finding(
        CAUSE.id,
        Strength::Explains,
        format!(
            "A free block of {largest} cannot be split for {requested}: max_split_size_mb \
                 prevents it"
        ),
        "Blocks above that size serve only requests close to their own size.",
    );
    finding.reclaimable = Some(largest);
    add_layout(diagnosis, &mut finding);
    let what = "any free block may be split then; a larger value may do as well";
    finding.remedies = vec![diagnosis.without_conf("max_split_size_mb", what).freeing(largest)];
    Some(finding)
}

fn add_layout(diagnosis: &Diagnosis<'_>, finding: &mut Finding) {
    let Some(space) = diagnosis.incident.and_then(|incident| incident.free_space.as_ref()) else {
        return;
    };
    let label = "segments pinned by live blocks";
    finding.evidence.push(Evidence::count(label, space.pinned_segments, Basis::Recorded));
    for pin in space.pins.iter().take(LISTED_PINS) {
        let what = match pin.blocks {
            1 => format!("1 live block pins {}", pin.holds),
            blocks => format!("{blocks} live blocks pin {}", pin.holds),
        };
        finding.point_at(diagnosis.call_site(pin.stack), what);
    }
}

/// Settings that exist in that release and are not on already. Where the run was recorded, a replay
/// decides which of them stay.
fn remedies(diagnosis: &Diagnosis<'_>, cached: Bytes) -> Vec<Remedy> {
    if diagnosis.software() == Some(Software::Rmm) {
        return for_rmm();
    }
    if diagnosis.expandable_segments_on() {
        return vec![Remedy::advice(
            "expandable segments are already on: pad inputs to a few fixed sizes, so that freed \
             blocks fit the next request",
        )];
    }
    if diagnosis.era() == Era::BeforeSettings {
        return vec![Remedy::advice(
            "this PyTorch version has no setting for it: use 2.1 or newer, or pad inputs to a few \
             fixed sizes",
        )];
    }
    let mut remedies = Vec::new();
    // Windows has no expandable segments.
    if diagnosis.era() == Era::Today && !diagnosis.on_windows() {
        let what = "lets free blocks merge; set it before Python starts";
        let remedy = diagnosis.set_conf("expandable_segments:True", what);
        remedies.push(remedy.by_setting("expandable_segments:True").freeing(cached));
    }
    if diagnosis.max_split_size().is_none() {
        let what = if remedies.iter().all(|remedy| remedy.paste.is_none()) {
            "keeps large segments intact; set it before Python starts"
        } else {
            "if expandable segments cannot be used: keeps large segments intact"
        };
        let remedy = diagnosis.set_conf("max_split_size_mb:128", what);
        remedies.push(remedy.by_setting("max_split_size_mb:128"));
    }
    // A line to paste comes before an example.
    remedies.sort_by_key(|remedy| remedy.paste.is_none());
    remedies
}

/// RMM's pool of a fixed size joins nothing up; the driver's own pool maps pages where they are needed.
fn for_rmm() -> Vec<Remedy> {
    vec![
        Remedy::example(
            "rmm::mr::cuda_async_memory_resource",
            "use the driver's stream-ordered pool instead: it maps memory where it is needed \
             (Python: rmm.mr.CudaAsyncMemoryResource(); Spark: spark.rapids.memory.gpu.pool=ASYNC)",
        ),
        Remedy::advice(
            "or a larger pool (Spark: a smaller spark.rapids.memory.gpu.reserve), and smaller batches",
        ),
    ]
}
