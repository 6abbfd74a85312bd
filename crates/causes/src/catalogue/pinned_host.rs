//! Pinned host memory grows, or ran out.

use whyoom_memory::{Growth, Space};
use whyoom_trace::{Bytes, DeviceId};

use crate::{
    cause::Cause,
    finding::{Basis, Evidence, Finding, Remedy, Strength},
    scene::Scene,
};

pub(super) const CAUSE: Cause = Cause {
    id: "pinned-host",
    title: "pinned host memory ran out, or grows",
    explanation: "\
Pinned (page-locked) memory is host memory that the system may neither move nor swap out. It is no cache: the
system cannot take it back, and when it is gone, programs on the host fail or are killed. The GPU itself may
be all but empty.

What it looks like: cudaMallocHost or cudaHostAlloc fails while the GPU has room; resident memory that rises
with every batch; a data loader with pin_memory that outgrows the machine.

Why it happens: a buffer is pinned for every batch and not freed; PyTorch keeps freed pinned memory for the
next use, in sizes rounded up to powers of two; a limit on locked memory (ulimit -l, a cgroup).

What helps: pin a few buffers once and reuse them, free what is not needed, fewer workers that prefetch.",
    check,
};

/// How many places are listed.
const LISTED: usize = 3;

fn check(scene: &Scene<'_>) -> Option<Finding> {
    let space = scene.space.filter(|_| scene.device == DeviceId::HOST)?;
    space.driver()?;
    let refused = scene.incident.filter(|incident| incident.of_driver);
    let mut finding = match (refused, &scene.growth) {
        (_, Some(growth)) => growing(scene, growth),
        (Some(_), None) => ran_out(scene, space),
        (None, None) => return None,
    };
    let pinned = space.totals().active;
    finding.evidence.push(Evidence::bytes("pinned at the end", pinned, Basis::Recorded));
    for (place, bytes) in scene.by_place(space.live_by_stack()).into_iter().take(LISTED) {
        finding.evidence.push(Evidence::bytes(
            format!("pinned at {place}"),
            bytes,
            Basis::Recorded,
        ));
    }
    Some(finding)
}

fn growing(scene: &Scene<'_>, growth: &Growth) -> Finding {
    let place = growth.stacks.first().map_or(String::new(), |worst| scene.place(worst.stack));
    let mut finding = scene.finding(
        CAUSE.id,
        Strength::Explains,
        format!(
            "Pinned host memory grows by {} at a time at {place} and is not given back",
            growth.per_iteration
        ),
        format!(
            "{} allocations left {} pinned. It is memory of the host, not of the GPU.",
            growth.iterations, growth.total
        ),
    );
    finding.gives_back = Some(growth.total);
    finding.evidence.extend([
        Evidence::bytes("growth each time", growth.per_iteration, Basis::Computed),
        Evidence::count("times", growth.iterations, Basis::Computed),
    ]);
    finding.remedies =
        remedies(scene, growth.stacks.first().map(|worst| worst.stack), growth.total);
    finding
}

fn ran_out(scene: &Scene<'_>, space: &Space) -> Finding {
    let pinned = space.totals().active;
    let asked = scene.situation.requested.map_or(String::new(), |bytes| format!("{bytes} of "));
    let mut finding = scene.finding(
        CAUSE.id,
        Strength::Explains,
        format!("{asked}pinned host memory was refused; the GPU is not what is full"),
        format!("This process had {pinned} pinned already."),
    );
    finding.gives_back = Some(pinned);
    let worst = space.live_by_stack().first().map(|(stack, _)| *stack);
    finding.remedies = remedies(scene, worst, pinned);
    finding.remedies.push(Remedy::line("ulimit -l", "see whether locked memory is limited here"));
    finding
}

fn remedies(scene: &Scene<'_>, worst: Option<whyoom_trace::StackId>, frees: Bytes) -> Vec<Remedy> {
    let Some(worst) = worst else { return Vec::new() };
    if scene.is_compiled(worst) {
        let what =
            format!("for each buffer that {} pins, or pin one and reuse it", scene.place(worst));
        return vec![Remedy::line("cudaFreeHost(buffer);", what).freeing(frees)];
    }
    let what = "pin fewer batches ahead; or pin a few buffers once and copy into them";
    vec![Remedy::line("DataLoader(..., num_workers=2, prefetch_factor=2)", what)]
}
