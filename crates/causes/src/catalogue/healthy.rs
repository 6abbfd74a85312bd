//! Nothing is wrong.

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
    let space = scene.space.filter(|_| scene.incident.is_none() && scene.growth.is_none())?;
    let (made, ended) = space.history();
    if made + ended < ENOUGH_HISTORY {
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
    Some(finding)
}
