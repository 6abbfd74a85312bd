//! Far more is allocated than was requested.

use whyoom_memory::{Interface, LiveSum};
use whyoom_trace::Bytes;

use crate::{
    cause::Cause,
    diagnosis::Diagnosis,
    finding::{Basis, Evidence, Finding, Remedy, Strength},
};

pub(super) const CAUSE: Cause = Cause {
    id: "rounding",
    title: "far more is allocated than was requested",
    explanation: "\
Every request is rounded up: to at least 512 bytes, to more if roundup_power2_divisions is set, and
a large block keeps up to 1 MiB at its end that is not worth splitting off. A million tensors of 8
bytes take 488 MiB.

Symptoms: requested bytes far below allocated bytes in memory_stats() or a snapshot.

What helps: fewer, larger tensors (pack small ones into one); a finer rounding setting, or none.",
    check,
};

/// Waste below this share of what is allocated is the ordinary price of blocks.
const WORTH_NAMING: f64 = 0.10;

fn check(diagnosis: &Diagnosis<'_>) -> Option<Finding> {
    let space = diagnosis.space?;
    let totals = diagnosis.incident.map_or(Some(space.peak().0), |incident| incident.totals)?;
    let waste = totals.allocated.minus(totals.requested);
    if waste == Bytes::ZERO && diagnosis.device_ran_out() {
        return smallest_blocks(diagnosis, totals.allocated).or_else(|| unmeasured(diagnosis));
    }
    if waste.share_of(totals.allocated) < WORTH_NAMING {
        return None;
    }
    let shortfall = diagnosis.observed.shortfall();
    let covers = shortfall.is_some_and(|shortfall| waste >= shortfall);
    let strength = if covers { Strength::Explains } else { Strength::Contributing };
    let mut finding = diagnosis.finding(
        CAUSE.id,
        strength,
        format!(
            "{waste} is lost to rounding: {} was requested, {} allocated",
            totals.requested, totals.allocated
        ),
        format!(
            "Rounding accounts for {:.0} % of the allocated bytes.",
            waste.share_of(totals.allocated) * 100.0
        ),
    );
    finding.reclaimable = Some(waste);
    finding.evidence.extend([
        Evidence::bytes("total requested", totals.requested, Basis::Recorded),
        Evidence::bytes("total allocated", totals.allocated, Basis::Recorded),
    ]);
    for (size, blocks, bytes) in worst_sizes(diagnosis) {
        let label = format!("waste in {blocks} blocks of {size} requested");
        finding.evidence.push(Evidence::bytes(label, bytes, Basis::Computed));
    }
    finding.remedies = remedies(diagnosis, waste);
    Some(finding)
}

/// The option that rounds requests up.
const DIVISIONS: &str = "roundup_power2_divisions";

/// The smallest block that PyTorch gives out.
const SMALLEST: Bytes = Bytes(512);
/// A run in which such blocks are more than this share of what is allocated is a run of tiny tensors.
const MOSTLY: f64 = 0.5;

/// What was asked for is not told, but most of the memory lies in blocks of the smallest size.
fn smallest_blocks(diagnosis: &Diagnosis<'_>, allocated: Bytes) -> Option<Finding> {
    let live = diagnosis.incident?.live.iter();
    let is_smallest = |sum: &&LiveSum| {
        let of_allocator = sum.interface == Interface::Allocator;
        of_allocator && sum.usage.bytes.0 == SMALLEST.0 * sum.usage.blocks
    };
    let smallest = live.filter(is_smallest);
    let sums: Vec<_> = smallest.map(|sum| (sum.stack, sum.usage)).collect();
    let bytes: Bytes = sums.iter().map(|(_, usage)| usage.bytes).sum();
    let blocks: u64 = sums.iter().map(|(_, usage)| usage.blocks).sum();
    // A recording tells blocks as they were rounded.
    if bytes.share_of(allocated) < MOSTLY || diagnosis.has_pool() || diagnosis.process().is_none() {
        return None;
    }
    let mut finding = diagnosis.finding(
        CAUSE.id,
        Strength::Explains,
        format!(
            "{bytes} is in {blocks} blocks of {SMALLEST}, the minimum size: tiny tensors, \
                 rounded up"
        ),
        format!("A tensor of 4 or 12 bytes also takes {SMALLEST}."),
    );
    finding.reclaimable = Some(bytes);
    finding.evidence.push(Evidence::count("blocks of the minimum size", blocks, Basis::Recorded));
    for (call_site, bytes) in diagnosis.by_call_site(sums).into_iter().take(3) {
        finding.point_at(call_site, format!("{bytes} in such blocks"));
    }
    finding.remedies = remedies(diagnosis, bytes);
    Some(finding)
}

/// A recording without PyTorch's own history knows blocks as they were rounded, not what was asked for.
fn unmeasured(diagnosis: &Diagnosis<'_>) -> Option<Finding> {
    let conf = diagnosis.allocator_conf();
    if diagnosis.process().is_none()
        || diagnosis.has_pool()
        || !conf.contains("roundup_power2_divisions")
    {
        return None;
    }
    let mut finding = diagnosis.finding(
        CAUSE.id,
        Strength::Contributing,
        "roundup_power2_divisions rounds requests up; this recording does not show by how much",
        "PyTorch reports blocks to a recorder with their rounded size; its own history has both \
         sizes.",
    );
    finding.evidence.push(Evidence::text("PYTORCH_CUDA_ALLOC_CONF", conf, Basis::Recorded));
    finding.remedies = vec![
        diagnosis
            .rerun(" --torch-history", "record the requested sizes as well as the allocated ones"),
        diagnosis.without_conf(DIVISIONS, "then see whether it fits"),
    ];
    Some(finding)
}

/// The requested sizes that waste most: size, how many, waste.
fn worst_sizes(diagnosis: &Diagnosis<'_>) -> Vec<(Bytes, u64, Bytes)> {
    let mut by_size = std::collections::BTreeMap::<Bytes, (u64, Bytes)>::new();
    for (_, block) in diagnosis.space.into_iter().flat_map(whyoom_memory::Space::blocks) {
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

fn remedies(diagnosis: &Diagnosis<'_>, waste: Bytes) -> Vec<Remedy> {
    let intervals = (0..16).map(|power| format!("roundup_power2_divisions.{}", 1_u64 << power));
    let set =
        |name: &str| diagnosis.setting(name).is_some_and(|value| value != "0" && value != "1");
    if !diagnosis.has_pool() && intervals.into_iter().any(|name| set(&name)) {
        let what = "requests are rounded to 512 bytes then; a larger value wastes less, too";
        return vec![diagnosis.without_conf(DIVISIONS, what).freeing(waste)];
    }
    vec![
        Remedy::advice("pack many small tensors into one (foreach optimizers, one flat buffer)")
            .freeing(waste),
    ]
}
