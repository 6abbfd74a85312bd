//! Far more is allocated than was requested.

use whyoom_memory::{Interface, LiveSum};
use whyoom_trace::Bytes;

use crate::{
    cause::Cause,
    finding::{Basis, Evidence, Finding, Remedy, Strength},
    scene::Scene,
};

pub(super) const CAUSE: Cause = Cause {
    id: "rounding",
    title: "far more is allocated than was asked for",
    explanation: "\
Every request is rounded up: to 512 bytes at least, to more where roundup_power2_divisions is set, and
a large block keeps up to 1 MiB behind it that is not worth splitting off. A million tensors of 8 bytes
take 488 MiB.

What it looks like: requested bytes far below allocated bytes in memory_stats() or a snapshot.

What helps: fewer, larger tensors (pack small ones into one); a finer rounding setting, or none.",
    check,
};

/// Waste below this share of what is allocated is the ordinary price of blocks.
const WORTH_NAMING: f64 = 0.10;

fn check(scene: &Scene<'_>) -> Option<Finding> {
    let space = scene.space?;
    let totals = scene.incident.map_or(Some(space.peak().0), |incident| incident.totals)?;
    let waste = totals.allocated.minus(totals.requested);
    if waste == Bytes::ZERO && scene.device_ran_out() {
        return smallest_blocks(scene, totals.allocated).or_else(|| unmeasured(scene));
    }
    if waste.share_of(totals.allocated) < WORTH_NAMING {
        return None;
    }
    let lacking = scene.situation.lacking();
    let covers = lacking.is_some_and(|lacking| waste >= lacking);
    let strength = if covers { Strength::Explains } else { Strength::Contributing };
    let mut finding = scene.finding(
        CAUSE.id,
        strength,
        format!(
            "{waste} goes into rounding: {} was asked for, {} allocated",
            totals.requested, totals.allocated
        ),
        format!(
            "Of each allocated byte, {:.0} % is rounding.",
            waste.share_of(totals.allocated) * 100.0
        ),
    );
    finding.gives_back = Some(waste);
    finding.evidence.extend([
        Evidence::bytes("requested", totals.requested, Basis::Recorded),
        Evidence::bytes("allocated", totals.allocated, Basis::Recorded),
    ]);
    for (size, blocks, bytes) in worst_sizes(scene) {
        let label = format!("{blocks} blocks of {size} requested, waste");
        finding.evidence.push(Evidence::bytes(label, bytes, Basis::Computed));
    }
    finding.remedies = remedies(scene, waste);
    Some(finding)
}

/// The smallest block that PyTorch gives out.
const SMALLEST: Bytes = Bytes(512);
/// A run in which such blocks are more than this share of what is allocated is a run of tiny tensors.
const MOSTLY: f64 = 0.5;

/// What was asked for is not told, but most of the memory lies in blocks of the smallest size.
fn smallest_blocks(scene: &Scene<'_>, allocated: Bytes) -> Option<Finding> {
    let live = scene.incident?.live.iter();
    let is_smallest = |sum: &&LiveSum| {
        let of_allocator = sum.interface == Interface::Allocator;
        of_allocator && sum.usage.bytes.0 == SMALLEST.0 * sum.usage.blocks
    };
    let smallest = live.filter(is_smallest);
    let sums: Vec<_> = smallest.map(|sum| (sum.stack, sum.usage)).collect();
    let bytes: Bytes = sums.iter().map(|(_, usage)| usage.bytes).sum();
    let blocks: u64 = sums.iter().map(|(_, usage)| usage.blocks).sum();
    // A recording tells blocks as they were rounded.
    if bytes.share_of(allocated) < MOSTLY || scene.has_pool() || scene.facts().is_none() {
        return None;
    }
    let mut finding = scene.finding(
        CAUSE.id,
        Strength::Explains,
        format!("{bytes} lies in {blocks} blocks of {SMALLEST}, the smallest there is: tiny tensors, rounded up"),
        format!("A tensor of 4 or 12 bytes takes {SMALLEST} too."),
    );
    finding.gives_back = Some(bytes);
    finding.evidence.push(Evidence::count("blocks of the smallest size", blocks, Basis::Recorded));
    for (place, bytes) in scene.by_place(sums).into_iter().take(3) {
        finding.evidence.push(Evidence::bytes(format!("of {place}"), bytes, Basis::Recorded));
    }
    finding.remedies = remedies(scene, bytes);
    Some(finding)
}

/// A recording without PyTorch's own history knows blocks as they were rounded, not what was asked for.
fn unmeasured(scene: &Scene<'_>) -> Option<Finding> {
    let conf = scene.allocator_conf();
    if scene.facts().is_none() || scene.has_pool() || !conf.contains("roundup_power2_divisions") {
        return None;
    }
    let mut finding = scene.finding(
        CAUSE.id,
        Strength::Contributing,
        "Requests are rounded up by roundup_power2_divisions; how much that takes, this recording does not tell",
        "PyTorch tells a recorder its blocks as they were rounded; its own history has both sizes.",
    );
    finding.evidence.push(Evidence::text("PYTORCH_CUDA_ALLOC_CONF", conf, Basis::Recorded));
    finding.remedies = vec![
        Remedy::line(
            format!("whyoom run --torch-history{}", scene.program()),
            "records what was asked for beside what was given",
        ),
        Remedy::line(
            "unset PYTORCH_CUDA_ALLOC_CONF",
            "or take roundup_power2_divisions out of the variable, and see whether it fits",
        ),
    ];
    Some(finding)
}

/// The requested sizes that waste most: size, how many, waste.
fn worst_sizes(scene: &Scene<'_>) -> Vec<(Bytes, u64, Bytes)> {
    let mut by_size = std::collections::BTreeMap::<Bytes, (u64, Bytes)>::new();
    for (_, block) in scene.space.into_iter().flat_map(whyoom_memory::Space::blocks) {
        let (count, waste) = by_size.entry(block.requested).or_default();
        *count += 1;
        *waste = waste.plus(block.size.minus(block.requested));
    }
    let mut sizes: Vec<_> =
        by_size.into_iter().map(|(size, (n, waste))| (size, n, waste)).collect();
    sizes.sort_by_key(|(_, _, waste)| std::cmp::Reverse(*waste));
    sizes.truncate(3);
    sizes
}

fn remedies(scene: &Scene<'_>, waste: Bytes) -> Vec<Remedy> {
    let intervals = (0..16).map(|power| format!("roundup_power2_divisions.{}", 1_u64 << power));
    let set = |name: &str| scene.setting(name).is_some_and(|value| value != "0" && value != "1");
    if !scene.has_pool() && intervals.into_iter().any(|name| set(&name)) {
        let what = "take roundup_power2_divisions out of the variable, or raise its number";
        return vec![Remedy::line("unset PYTORCH_CUDA_ALLOC_CONF", what).freeing(waste)];
    }
    vec![
        Remedy::advice("pack many small tensors into one (foreach optimizers, one flat buffer)")
            .freeing(waste),
    ]
}
