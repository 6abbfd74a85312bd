//! Nothing is wrong.

use whyoom_memory::FreeSpace;
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
    // Without stacks, and without what the allocator held, too little is known to call it well.
    if scene.is_log_of_allocator() {
        return None;
    }
    // Why a command failed, or a process was killed, its recording does not tell.
    if scene.failed_with().is_some() || scene.any_was_killed() {
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
    let because = if free.total.share_of(end.reserved) > 0.3 {
        keeps_free(scene, &free)
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
    finding.evidence.extend(ending(scene));
    add_pinned(scene, &mut finding);
    Some(finding)
}

/// Why the allocator holds much that nobody uses.
fn keeps_free(scene: &Scene<'_>, free: &FreeSpace) -> String {
    let (holds, when) = match scene.exited() {
        true => ("held", "that was free at the end"),
        false => ("holds", "that is free now"),
    };
    let FreeSpace { total, idle_pages, in_empty_segments, .. } = free;
    match scene.has_pool() {
        true => format!(
            "whyoom's pool {holds} {total} {when}, because the peak needed it; {idle_pages} of it are \
             idle pages, which go to whoever asks next."
        ),
        false => format!(
            "The cache {holds} {total} {when}, because the peak needed it; {in_empty_segments} of it \
             lies in wholly free segments, which PyTorch returns before it gives up."
        ),
    }
}

/// Whether a launch or a synchronize failed: then something is wrong, if not with memory.
fn failed(scene: &Scene<'_>) -> bool {
    scene.facts().is_some_and(|process| process.failures_seen() > 0)
}

/// A wrong access to mapped memory, as where shared memory has no room left: that may be want of memory.
const BUS: i32 = 7;

/// Whether a signal ended the process that says nothing of memory: a timer's, a supervisor's, a person's, or that
/// of a mistake of its own.
fn was_told_to_end(scene: &Scene<'_>) -> bool {
    scene.ended_by_signal().is_some_and(|signal| signal != BUS)
}

/// How the process ended, where that is worth a word.
fn ending(scene: &Scene<'_>) -> Option<Evidence> {
    let signal = scene.ended_by_signal()?;
    let name = SIGNALS.iter().find(|(number, _)| *number == signal).map_or("", |(_, name)| name);
    let text = format!("signal {signal} {name}");
    Some(Evidence::text("ended by", text.trim_end(), Basis::Recorded))
}

/// The signals that programs are ended by most.
const SIGNALS: [(i32, &str); 9] = [
    (1, "(SIGHUP)"),
    (2, "(SIGINT)"),
    (3, "(SIGQUIT)"),
    (6, "(SIGABRT)"),
    (11, "(SIGSEGV)"),
    (13, "(SIGPIPE)"),
    (14, "(SIGALRM)"),
    (15, "(SIGTERM)"),
    (24, "(SIGXCPU)"),
];

/// A program that took its memory from the driver itself, recorded to its end.
fn of_driver(scene: &Scene<'_>) -> Option<Finding> {
    let host = scene.device == DeviceId::HOST;
    if !(scene.exited() || was_told_to_end(scene)) || (host && took_device_memory(scene)) {
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
    finding.evidence.extend(ending(scene));
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
