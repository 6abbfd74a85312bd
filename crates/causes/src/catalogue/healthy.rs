//! Nothing is wrong.

use whyoom_memory::FreeSpace;
use whyoom_trace::{Bytes, DeviceId};

use crate::{
    cause::Cause,
    diagnosis::Diagnosis,
    finding::{Basis, Evidence, Finding, Strength},
};

pub(super) const CAUSE: Cause = Cause {
    id: "healthy",
    title: "nothing is wrong",
    explanation: "\
The recording contains no out-of-memory error, no growth and no significant waste.

Things that look wrong but are not: reserved far above allocated after the peak (the cache keeps
what the peak needed, reuses it, and releases it before a request fails); a high peak in the first
step (caches fill, optimizers create their state); nvidia-smi showing more than PyTorch reserves
(the context and libraries). Calling empty_cache() every step only costs time.",
    check,
};

/// A history of fewer blocks shows nothing.
const ENOUGH_HISTORY: u64 = 8;

fn check(diagnosis: &Diagnosis<'_>) -> Option<Finding> {
    if diagnosis.incident.is_some() || diagnosis.growth.is_some() || failed(diagnosis) {
        return None;
    }
    // Without stacks, and without what the allocator held, too little is known to call it well.
    if diagnosis.is_log_of_allocator() {
        return None;
    }
    // Why a command failed, or a process was killed, its recording does not tell.
    if diagnosis.failed_with().is_some() || diagnosis.any_was_killed() {
        return None;
    }
    let Some(space) = diagnosis.space.filter(|space| space.has_allocator()) else {
        return of_driver(diagnosis);
    };
    let (made, ended) = space.block_counts();
    // Of a program that was recorded to its end, everything is known.
    if made + ended < ENOUGH_HISTORY && !diagnosis.exited() {
        return None;
    }
    let (peak, _) = space.peak();
    let (end, peak_reserved) = (space.totals(), space.peak_reserved());
    let kept = diagnosis.model.kept_until_exit(diagnosis.process, diagnosis.device);
    let headline = match &kept {
        Some(kept) => format!(
            "Nothing failed here, but {} was kept until the program exited, in {} blocks; the peak \
             was {}",
            kept.total,
            kept.stacks.iter().map(|growing| growing.usage.blocks).sum::<u64>(),
            peak.allocated
        ),
        None => format!(
            "Nothing is wrong here: no out-of-memory error, no growth; the peak was {}",
            peak.allocated
        ),
    };
    let free = space.free_space();
    let because = if let Some(kept) = &kept {
        format!(
            "If each is of a step of a loop, it grows by {} every time; if a model or data is loaded there, \
             nothing is wrong.",
            kept.per_iteration
        )
    } else if free.total.share_of(end.reserved) > 0.3 {
        keeps_free(diagnosis, &free)
    } else {
        format!("At the peak {} of the {} reserved was allocated.", peak.allocated, peak.reserved)
    };
    let mut finding = diagnosis.finding(CAUSE.id, Strength::Likely, headline, because);
    finding.evidence = vec![
        Evidence::bytes("peak allocated", peak.allocated, Basis::Recorded),
        Evidence::bytes("peak reserved", peak_reserved, Basis::Recorded),
        Evidence::share(
            "allocated share of reserved at the peak",
            peak.allocated.share_of(peak.reserved),
            Basis::Computed,
        ),
        Evidence::bytes("allocated at the end", end.allocated, Basis::Recorded),
        Evidence::count("blocks allocated", made, Basis::Recorded),
        Evidence::count("blocks freed", ended, Basis::Recorded),
    ];
    for (category, usage) in space.peak_by_category() {
        let label = format!("{category} at the peak");
        finding.evidence.push(Evidence::bytes(label, usage.bytes, Basis::Recorded));
    }
    finding.evidence.extend(ending(diagnosis));
    add_pinned(diagnosis, &mut finding);
    let stacks = kept.iter().flat_map(|kept| &kept.stacks);
    let stacks = stacks.map(|growing| (growing.stack, growing.usage)).collect();
    for (call_site, bytes) in diagnosis.by_call_site(stacks).iter().take(LISTED) {
        finding.point_at(call_site, format!("{bytes} kept until the program exited"));
    }
    Some(finding)
}

/// Why the allocator holds much that nobody uses.
fn keeps_free(diagnosis: &Diagnosis<'_>, free: &FreeSpace) -> String {
    let (holds, when) = match diagnosis.exited() {
        true => ("held", "that was free at the end"),
        false => ("holds", "that is free now"),
    };
    let FreeSpace { total, idle_pages, in_empty_segments, .. } = free;
    match diagnosis.has_pool() {
        true => format!(
            "whyoom's pool {holds} {total} {when}, because the peak needed it; {idle_pages} of it \
             is idle pages, available to the next request."
        ),
        false => format!(
            "The cache {holds} {total} {when}, because the peak needed it; {in_empty_segments} of \
             it is in completely free segments, which PyTorch releases before a request fails."
        ),
    }
}

/// Whether a launch or a synchronize failed: then something is wrong, if not with memory.
fn failed(diagnosis: &Diagnosis<'_>) -> bool {
    diagnosis.process().is_some_and(|process| process.failures_seen() > 0)
}

/// A wrong access to mapped memory, as where shared memory has no room left: the process may be out of memory.
const BUS: i32 = 7;

/// Whether a signal ended the process that says nothing of memory: a timer's, a supervisor's, a person's, or that
/// of a mistake of its own.
fn was_told_to_end(diagnosis: &Diagnosis<'_>) -> bool {
    diagnosis.ended_by_signal().is_some_and(|signal| signal != BUS)
}

/// How the process ended, where that is worth a word.
fn ending(diagnosis: &Diagnosis<'_>) -> Option<Evidence> {
    let signal = diagnosis.ended_by_signal()?;
    let name = SIGNALS.iter().find(|(number, _)| *number == signal).map_or("", |(_, name)| name);
    let text = format!("signal {signal} {name}");
    Some(Evidence::text("terminated by", text.trim_end(), Basis::Recorded))
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

/// Call sites that are listed.
const LISTED: usize = 3;

/// A program that took its memory from the driver itself, recorded to its end.
fn of_driver(diagnosis: &Diagnosis<'_>) -> Option<Finding> {
    let host = diagnosis.device == DeviceId::HOST;
    if !(diagnosis.exited() || was_told_to_end(diagnosis))
        || (host && took_device_memory(diagnosis))
    {
        return None;
    }
    let Some(space) = diagnosis.space.filter(|space| space.block_counts() != (0, 0)) else {
        let headline =
            "Nothing is wrong here: the program allocated no GPU memory, and nothing failed";
        let because = "It was recorded from its start to its end.";
        let mut finding = diagnosis.finding(CAUSE.id, Strength::Likely, headline, because);
        finding.evidence.clear();
        return Some(finding);
    };
    let ((peak, _), end, (made, ended)) = (space.peak(), space.totals(), space.block_counts());
    let never_freed = match end.active {
        Bytes::ZERO => String::new(),
        left => format!("; {left} was never freed"),
    };
    let headline = format!(
        "Nothing is wrong here: no request failed, nothing grew; the peak was {}{}{never_freed}",
        peak.allocated,
        if host { " of pinned host memory" } else { "" }
    );
    let because = match end.active {
        Bytes::ZERO if made == 1 => "Its only allocation was freed before it exited.".to_owned(),
        Bytes::ZERO => format!("All {made} allocations were freed before the program exited."),
        left => format!(
            "{ended} of {made} allocations were freed; the driver freed the remaining {left} when \
             the program exited."
        ),
    };
    let mut finding = diagnosis.finding(CAUSE.id, Strength::Likely, headline, because);
    finding.evidence = vec![
        Evidence::bytes("peak in use", peak.allocated, Basis::Recorded),
        Evidence::bytes("in use at the end", end.active, Basis::Recorded),
        Evidence::count("allocations made", made, Basis::Recorded),
        Evidence::count("allocations freed", ended, Basis::Recorded),
    ];
    finding.evidence.extend(ending(diagnosis));
    add_pinned(diagnosis, &mut finding);
    if !host {
        let left = diagnosis.by_call_site(space.live_by_stack());
        for (call_site, bytes) in left.iter().take(LISTED) {
            finding.point_at(call_site, format!("{bytes} never freed"));
        }
    }
    Some(finding)
}

/// Whether the process took memory of any device: then its pinned memory is told of beside that.
fn took_device_memory(diagnosis: &Diagnosis<'_>) -> bool {
    diagnosis.model.spaces().any(|(process, device, space)| {
        process == diagnosis.process && device != DeviceId::HOST && space.block_counts() != (0, 0)
    })
}

/// Pinned memory by call site: people suspect it.
fn add_pinned(diagnosis: &Diagnosis<'_>, finding: &mut Finding) {
    let Some(host) = diagnosis.model.space(diagnosis.process, DeviceId::HOST) else { return };
    for (call_site, bytes) in diagnosis.by_call_site(host.peak_by_stack()).into_iter().take(LISTED)
    {
        let label = format!("pinned at {call_site}");
        finding.evidence.push(Evidence::bytes(label, bytes, Basis::Recorded));
    }
}
