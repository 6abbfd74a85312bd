//! What is live simply is too much.

use whyoom_memory::Category;
use whyoom_trace::Bytes;

use crate::{
    cause::Cause,
    finding::{Basis, Evidence, Finding, Remedy, Strength},
    scene::Scene,
};

pub(super) const CAUSE: Cause = Cause {
    id: "working-set",
    title: "the work itself needs more than the device has",
    explanation: "\
What is live at the peak, together with the request that failed, exceeds the device. Nothing is wasted
that would be worth naming: no allocator setting can help.

What it looks like: \"allocated by PyTorch\" close to the capacity, \"reserved but unallocated\" small.

What it is made of, in training: parameters, gradients (as large again), optimizer state (Adam: twice
as large again in fp32), activations (in proportion to batch and sequence length), temporaries.

What helps: a smaller batch with gradient accumulation; activation checkpointing; mixed precision; an
optimizer with less state; sharding or offloading. Each with the bytes it frees, where the recording
tells them.",
    check,
};

/// Below this share of the device the work is not what fills it.
const FILLS: f64 = 0.7;

fn check(scene: &Scene<'_>) -> Option<Finding> {
    if !scene.device_ran_out() {
        return None;
    }
    let situation = &scene.situation;
    let (allocated, requested) = (situation.allocated?, situation.requested?);
    let capacity = situation.capacity;
    let too_much = situation.too_much_alone().unwrap_or(false);
    let fills = match capacity {
        Some(capacity) => allocated.share_of(capacity) >= FILLS,
        // A recording without the capacity: the allocator had given out nearly all it held.
        None => scene.space.is_some() && allocated.share_of(situation.reserved?) >= 0.9,
    };
    if !(too_much || fills) {
        return None;
    }
    let lacking = situation.lacking()?;
    let headline = match capacity {
        Some(capacity) => format!(
            "The work itself is too large: {allocated} is in use and {requested} more was asked for, on {capacity}"
        ),
        None => format!(
            "The work itself is too large: {allocated} is in use and {requested} more was asked for"
        ),
    };
    let cached = situation.cached.unwrap_or_default();
    let because = match capacity.filter(|_| cached >= lacking) {
        Some(capacity) => format!(
            "{lacking} was missing; the {cached} that lay unused in the cache, in pieces, is {:.1} % of \
             the device.",
            cached.share_of(capacity) * 100.0
        ),
        None => format!("{lacking} was missing; only {cached} lay unused in the cache."),
    };
    // Without the capacity it may also be that something else holds the rest of the device.
    let strength = if capacity.is_some() { Strength::Explains } else { Strength::Likely };
    let mut finding = scene.finding(CAUSE.id, strength, headline, because);
    if let (None, Some(free), Some(reserved)) = (capacity, situation.free, situation.reserved) {
        finding.because.push_str(&format!(
            " PyTorch could have {} of the device; if yours is far larger, something else holds the rest.",
            reserved.plus(free)
        ));
    }
    // It gives back what is missing and no more: any waste that is larger comes first.
    finding.gives_back = Some(lacking);
    add_composition(scene, &mut finding);
    finding.remedies = remedies(scene, lacking);
    Some(finding)
}

fn add_composition(scene: &Scene<'_>, finding: &mut Finding) {
    let Some(space) = scene.space else { return };
    for (category, usage) in space.peak_by_category() {
        let label = format!("{category} at the peak");
        finding.evidence.push(Evidence::bytes(label, usage.bytes, Basis::Recorded));
    }
    for (stack, usage) in space.peak_by_stack().into_iter().take(3) {
        let label = format!("of {}", scene.place(stack));
        finding.evidence.push(Evidence::bytes(label, usage.bytes, Basis::Recorded));
    }
}

fn remedies(scene: &Scene<'_>, lacking: Bytes) -> Vec<Remedy> {
    let mut remedies = scene.shrink(lacking);
    let Some(space) = scene.space else { return remedies };
    let peak = space.peak_by_category();
    let of = |wanted: Category| {
        peak.iter().find(|(category, _)| *category == wanted).map(|(_, usage)| usage.bytes)
    };
    if let Some(activations) = of(Category::Activations) {
        let [batch, checkpointing, ..] = &mut remedies[..] else { return remedies };
        batch.frees = Some(Bytes(activations.0 / 2));
        batch.what.push_str("; half the batch frees about half of them");
        checkpointing.frees = Some(Bytes(activations.0 / 2));
    }
    if let Some(state) = of(Category::OptimizerState) {
        let what = "keep optimizer state in 8 bits: about three quarters of it are freed";
        remedies.push(
            Remedy::line("bitsandbytes.optim.AdamW8bit(model.parameters())", what)
                .freeing(Bytes(state.0 / 4 * 3)),
        );
    }
    remedies
}
