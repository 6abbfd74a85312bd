//! What is live simply is too much.

use whyoom_memory::{Category, Incident};
use whyoom_trace::Bytes;

use crate::{
    cause::Cause,
    finding::{Basis, Evidence, Finding, Remedy, Strength},
    scene::Scene,
    situation::{CONTEXT_ALLOWANCE, Situation},
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

/// A cache below this share of the device is not worth naming.
const SMALL_CACHE: f64 = 0.05;

fn check(scene: &Scene<'_>) -> Option<Finding> {
    if !scene.device_ran_out() {
        return None;
    }
    let situation = &scene.situation;
    let (allocated, requested) = (situation.allocated?, situation.requested?);
    let capacity = situation.capacity;
    if scene.was_recorded() && explained_better(scene) {
        return None;
    }
    let fills = match capacity {
        Some(capacity) => fills_device(situation, capacity)?,
        None => fills_allocator(situation)?,
    };
    if !fills {
        return None;
    }
    let lacking = situation.lacking()?;
    let on_device = capacity.map_or(String::new(), |capacity| format!(", on {capacity}"));
    let headline = format!(
        "The work itself is too large: {allocated} is in use and {requested} more was asked for{on_device}"
    );
    // Without the capacity it may also be that something else holds the rest of the device.
    let strength = if capacity.is_some() { Strength::Explains } else { Strength::Likely };
    let mut finding = scene.finding(CAUSE.id, strength, headline, because(situation, lacking));
    // It gives back what is missing and no more: any waste that is larger comes first.
    finding.gives_back = Some(lacking);
    add_composition(scene, &mut finding);
    finding.remedies = remedies(scene, lacking);
    Some(finding)
}

/// Of a recorded driver call: one request that no device of the size holds, or growth that took what is
/// missing, says all there is to say.
fn explained_better(scene: &Scene<'_>) -> bool {
    let situation = &scene.situation;
    let too_big = situation.requested.zip(situation.capacity).is_some_and(|(one, all)| one > all);
    let grown = scene.growth.as_ref().zip(situation.lacking());
    situation.by_driver
        && (too_big || grown.is_some_and(|(growth, lacking)| growth.total >= lacking))
}

/// Whether this process alone fills the device: what is in use, what was asked for, a cache too small
/// to matter, and a context.
fn fills_device(situation: &Situation, capacity: Bytes) -> Option<bool> {
    let cached = situation.cached.unwrap_or_default();
    let cached = if cached.share_of(capacity) < SMALL_CACHE { cached } else { Bytes::ZERO };
    // Unless told, the context and libraries are taken to need a gibibyte, or an eighth of the device.
    let allowance =
        CONTEXT_ALLOWANCE.max(Bytes(capacity.0 / 8).min(Bytes(CONTEXT_ALLOWANCE.0 * 2)));
    let outside = situation.outside_allocator().unwrap_or(allowance).min(allowance);
    let needed = situation.allocated?.plus(situation.requested?).plus(cached).plus(outside);
    Some(needed > capacity)
}

/// The same for a recording, which does not tell the capacity: the allocator had given out nearly all
/// that it held, and that was not little beside the request.
fn fills_allocator(situation: &Situation) -> Option<bool> {
    let (allocated, reserved) = (situation.allocated?, situation.reserved?);
    let could_have = reserved.plus(situation.free?);
    let not_little = allocated.0 >= situation.requested?.0 / 4 && could_have >= CONTEXT_ALLOWANCE;
    Some(not_little && allocated.share_of(reserved) >= 0.9)
}

fn because(situation: &Situation, lacking: Bytes) -> String {
    let mut because = match (situation.cached, situation.capacity) {
        (Some(cached), Some(capacity)) if cached >= lacking => format!(
            "{lacking} was missing; the {cached} that lay unused in the cache, in pieces, is {:.1} % of \
             the device.",
            cached.share_of(capacity) * 100.0
        ),
        (Some(cached), _) => format!("{lacking} was missing; {cached} lay unused in the cache."),
        (None, _) => format!("{lacking} was missing."),
    };
    match (situation.capacity, situation.allocated, situation.reserved.zip(situation.free)) {
        (Some(capacity), Some(allocated), _) if allocated > capacity => because.push_str(
            " More is in use than the device has: the driver lends host memory, as on Windows.",
        ),
        (None, _, Some((reserved, free))) => because.push_str(&format!(
            " PyTorch could have {} of the device; if yours is far larger, something else holds the rest.",
            reserved.plus(free)
        )),
        _ => {}
    }
    because
}

fn add_composition(scene: &Scene<'_>, finding: &mut Finding) {
    let Some(space) = scene.space else { return };
    let categories = if space.has_allocator() { space.peak_by_category() } else { Vec::new() };
    for (category, usage) in categories {
        let label = format!("{category} at the peak");
        finding.evidence.push(Evidence::bytes(label, usage.bytes, Basis::Recorded));
    }
    for (place, bytes) in scene.by_place(space.peak_by_stack()).into_iter().take(3) {
        finding.evidence.push(Evidence::bytes(format!("of {place}"), bytes, Basis::Recorded));
    }
}

/// What helps depends on what was being made when memory ran out.
fn remedies(scene: &Scene<'_>, lacking: Bytes) -> Vec<Remedy> {
    let by_driver = |incident: &Incident| {
        let served = scene.has_pool() && scene.is_plain(incident.stack);
        served || (incident.of_driver && incident.totals.is_none())
    };
    if scene.incident.is_some_and(by_driver) {
        return for_buffers(scene, lacking);
    }
    match scene.incident.map(|incident| incident.category) {
        Some(Category::Parameters) => for_loading(),
        Some(Category::OptimizerState) => for_optimizer(scene),
        _ if scene.is_generating() => for_inference(lacking),
        Some(Category::Inputs) if scene.facts().is_some() => for_inputs(scene, lacking),
        _ => for_training(scene, lacking),
    }
}

/// The program takes its memory from the driver itself.
fn for_buffers(scene: &Scene<'_>, lacking: Bytes) -> Vec<Remedy> {
    let peak = scene.space.map(|space| scene.by_place(space.peak_by_stack())).unwrap_or_default();
    let most = peak.first().map_or(String::new(), |(place, bytes)| {
        format!("; most, {bytes}, is held by what {place} allocates")
    });
    vec![Remedy::advice(format!(
        "free buffers before this request or work in smaller pieces: {lacking} must go{most}"
    ))]
}

/// It ran out outside any module: in a computation of the program's own.
fn for_inputs(scene: &Scene<'_>, lacking: Bytes) -> Vec<Remedy> {
    let situation = &scene.situation;
    let room = situation.free.unwrap_or_default().plus(situation.cached.unwrap_or_default());
    let allocated = situation.allocated.unwrap_or_default();
    vec![
        Remedy::advice(format!(
            "work in pieces: beside the {allocated} that is in use, {room} is left for one; or keep less \
             on the device: {lacking} must go for this request"
        )),
        Remedy::line(
            "tensor.to(torch.float32)",
            "a smaller type, where the numbers allow it: half the bytes of float64",
        ),
    ]
}

/// It ran out while the model was loaded or moved: the weights themselves do not fit.
fn for_loading() -> Vec<Remedy> {
    vec![
        Remedy::line(
            "from_pretrained(..., torch_dtype=torch.bfloat16)",
            "load the weights in half the bytes, if they are fp32 now",
        ),
        Remedy::line(
            "from_pretrained(..., device_map=\"auto\")",
            "spread them over GPUs and host memory",
        ),
        Remedy::advice("or a quantized model (8 or 4 bits a weight)"),
    ]
}

/// It ran out while the optimizer made its state.
fn for_optimizer(scene: &Scene<'_>) -> Vec<Remedy> {
    let eight_bit = Remedy::line(
        "bitsandbytes.optim.AdamW8bit(model.parameters())",
        "optimizer state in 8 bits instead of 32: about three quarters of it are freed",
    );
    let state = scene.peak_of(Category::OptimizerState);
    vec![
        state.map_or(eight_bit.clone(), |state| eight_bit.freeing(Bytes(state.0 / 4 * 3))),
        Remedy::advice("train fewer parameters (LoRA), or shard the state over GPUs (ZeRO, FSDP)"),
    ]
}

/// It ran out in generation: there is nothing to recompute in backward.
fn for_inference(lacking: Bytes) -> Vec<Remedy> {
    vec![
        Remedy::line(
            "attn_implementation=\"sdpa\"",
            "where attention is the large tensor: do not build its matrix",
        ),
        Remedy::advice(format!(
            "fewer sequences at once or a shorter context: {lacking} must go for this request alone"
        )),
    ]
}

fn for_training(scene: &Scene<'_>, lacking: Bytes) -> Vec<Remedy> {
    let mut batch = Remedy::advice(format!(
        "lower the batch size or the sequence length: {lacking} must go for this request alone, and \
         activations shrink in proportion"
    ));
    let mut checkpointing = Remedy::line(
        "model.gradient_checkpointing_enable()",
        "recompute activations in backward instead of keeping them (Hugging Face models; \
         torch.utils.checkpoint elsewhere)",
    );
    if let Some(activations) = scene.peak_of(Category::Activations) {
        batch = batch.freeing(Bytes(activations.0 / 2));
        batch.what.push_str("; half the batch frees about half of them");
        checkpointing = checkpointing.freeing(Bytes(activations.0 / 2));
    }
    let mut remedies = vec![
        batch,
        checkpointing,
        Remedy::line(
            "with torch.autocast(\"cuda\", dtype=torch.bfloat16):",
            "activations in half the bytes, where they are fp32 now",
        ),
    ];
    if scene.peak_of(Category::OptimizerState).is_some() {
        remedies.extend(for_optimizer(scene).into_iter().take(1));
    }
    remedies
}
