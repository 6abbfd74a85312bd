//! Nothing is wrong.

use whyoom_trace::{Bytes, DeviceId};

use crate::{
    cause::Cause,
    finding::{Basis, Evidence, Finding, Strength},
    scene::Scene,
};

pub(super) const CAUSE: Cause = Cause {
    id: "healthy",
    title: "nothing is wrong",
    explanation: "\
The recording holds no out-of-memory, no growth and no waste worth naming.

Things that look wrong and are not: reserved far above allocated after the peak (the cache keeps what
the peak needed, reuses it, and returns it before it gives up); a high peak in the first step (caches
fill, optimizers make their state); nvidia-smi showing more than PyTorch reserves (the context and
libraries). Calling empty_cache() every step only costs time.",
    check,
};

/// A history of fewer blocks shows nothing.
const ENOUGH_HISTORY: u64 = 8;

fn check(scene: &Scene<'_>) -> Option<Finding> {
    if scene.incident.is_some() || scene.growth.is_some() || failed(scene) {
        return None;
    }
    let Some(space) = scene.space.filter(|space| space.has_allocator()) else {
        return of_driver(scene);
    };
    let (made, ended) = space.history();
    // Of a program that was recorded to its end, everything is known.
    if made + ended < ENOUGH_HISTORY && !scene.exited() {
        return None;
    }
    let (peak, _) = space.peak();
    let (end, peak_reserved) = (space.totals(), space.peak_reserved());
    let headline = format!(
        "Nothing is wrong here: no out-of-memory, no growth seen; the peak was {}",
        peak.allocated
    );
    let free = space.free_space();
    let because = if free.total.share_of(end.reserved) > 0.3 && scene.has_pool() {
        format!(
            "whyoom's pool holds {} that is free now because the peak needed it; {} of it are idle \
             pages, which go to whoever asks next.",
            free.total, free.idle_pages
        )
    } else if free.total.share_of(end.reserved) > 0.3 {
        format!(
            "The cache holds {} that is free now because the peak needed it; {} of it lies in wholly \
             free segments, which PyTorch returns before it gives up.",
            free.total, free.in_empty_segments
        )
    } else {
        format!("At the peak {} of the {} reserved was in use.", peak.allocated, peak.reserved)
    };
    let mut finding = scene.finding(CAUSE.id, Strength::Likely, headline, because);
    finding.evidence = vec![
        Evidence::bytes("peak allocated", peak.allocated, Basis::Recorded),
        Evidence::bytes("peak reserved", peak_reserved, Basis::Recorded),
        Evidence::share(
            "in use at the peak",
            peak.allocated.share_of(peak.reserved),
            Basis::Computed,
        ),
        Evidence::bytes("allocated at the end", end.allocated, Basis::Recorded),
        Evidence::count("blocks made", made, Basis::Recorded),
        Evidence::count("blocks freed", ended, Basis::Recorded),
    ];
    for (category, usage) in space.peak_by_category() {
        let label = format!("{category} at the peak");
        finding.evidence.push(Evidence::bytes(label, usage.bytes, Basis::Recorded));
    }
    add_pinned(scene, &mut finding);
    Some(finding)
}

/// Whether a launch or a synchronize failed: then something is wrong, if not with memory.
fn failed(scene: &Scene<'_>) -> bool {
    scene.facts().is_some_and(|process| process.failures_seen() > 0)
}

/// A program that took its memory from the driver itself, recorded to its end.
fn of_driver(scene: &Scene<'_>) -> Option<Finding> {
    let host = scene.device == DeviceId::HOST;
    if !scene.exited() || (host && took_device_memory(scene)) {
        return None;
    }
    let Some(space) = scene.space.filter(|space| space.history() != (0, 0)) else {
        let headline = "Nothing is wrong here: the program took no GPU memory, and nothing failed";
        let because = "It was recorded from its start to its end.";
        let mut finding = scene.finding(CAUSE.id, Strength::Likely, headline, because);
        finding.evidence.clear();
        return Some(finding);
    };
    let ((peak, _), end, (made, ended)) = (space.peak(), space.totals(), space.history());
    let headline = format!(
        "Nothing is wrong here: no request failed, nothing grew; the peak was {}{}",
        peak.allocated,
        if host { " of pinned host memory" } else { "" }
    );
    let because = match end.active {
        Bytes::ZERO => format!("All {made} allocations were freed before the program ended."),
        left => format!(
            "{ended} of {made} allocations were freed; the driver took the remaining {left} back when \
             the program ended."
        ),
    };
    let mut finding = scene.finding(CAUSE.id, Strength::Likely, headline, because);
    finding.evidence = vec![
        Evidence::bytes("most in use at a time", peak.allocated, Basis::Recorded),
        Evidence::bytes("in use at the end", end.active, Basis::Recorded),
        Evidence::count("allocations made", made, Basis::Recorded),
        Evidence::count("allocations freed", ended, Basis::Recorded),
    ];
    add_pinned(scene, &mut finding);
    Some(finding)
}

/// Whether the process took memory of any device: then its pinned memory is told of beside that.
fn took_device_memory(scene: &Scene<'_>) -> bool {
    scene.model.spaces().any(|(process, device, space)| {
        process == scene.process && device != DeviceId::HOST && space.history() != (0, 0)
    })
}

/// Pinned memory by place: people suspect it.
fn add_pinned(scene: &Scene<'_>, finding: &mut Finding) {
    let Some(host) = scene.model.space(scene.process, DeviceId::HOST) else { return };
    for (place, bytes) in scene.by_place(host.peak_by_stack()).into_iter().take(3) {
        let label = format!("pinned at {place}");
        finding.evidence.push(Evidence::bytes(label, bytes, Basis::Recorded));
    }
}
