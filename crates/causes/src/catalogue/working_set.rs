//! What is live simply is too much.

use whyoom_memory::{Category, Incident};
use whyoom_trace::{Bytes, Counter, Software, Symptom, facts::Said};

use crate::{
    cause::Cause,
    driver_pools,
    finding::{Basis, Evidence, Finding, Remedy, Strength, capitalized},
    library_knobs::llama_cpp,
    outside::asking_library,
    phases,
    scene::Scene,
    server_share::{cache_beyond_share, shorter},
    situation::{CONTEXT_ALLOWANCE, HARDLY_ANY_CARD, Situation},
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
    if let Some((needed, left)) = cache_beyond_share(scene) {
        return Some(cache_too_large(scene, needed, left));
    }
    if scene.symptom() == Some(Symptom::WorkTooLarge) {
        return Some(by_own_account(scene));
    }
    if let Some(finding) = one_large_request(scene).or_else(|| fills_by_itself(scene)) {
        return Some(finding);
    }
    if let Some(finding) = on_idle_device(scene).or_else(|| in_evaluation(scene)) {
        return Some(finding);
    }
    if let Some((needed, took)) = by_xla(scene) {
        return Some(program_too_large(scene, needed, took));
    }
    if !scene.device_ran_out() {
        return None;
    }
    let situation = &scene.situation;
    let (allocated, requested) = (situation.allocated?, situation.requested?);
    let capacity = situation.capacity;
    if scene.was_recorded() && (explained_better(scene) || caches_would_do(situation)) {
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
    let headline = headline(situation, allocated, requested);
    // Without the capacity it may also be that something else holds the rest of the device.
    let strength = match (capacity, scene.said()) {
        // Something filled it little by little, whoever wrote the text says.
        (_, Some(Said::Grows)) => Strength::Contributing,
        (Some(_), _) => Strength::Explains,
        (None, _) => Strength::Likely,
    };
    let mut finding = scene.finding(CAUSE.id, strength, headline, because(situation, lacking));
    // It gives back what is missing and no more: any waste that is larger comes first.
    finding.gives_back = Some(lacking);
    add_composition(scene, &mut finding);
    finding.remedies = remedies(scene, lacking);
    Some(finding)
}

/// nvidia-smi, pasted with a message without figures, shows GPUs that are empty but for this program.
fn on_idle_device(scene: &Scene<'_>) -> Option<Finding> {
    let situation = &scene.situation;
    let words = scene.idle_tables()?;
    let fits = situation.requested.zip(situation.free).is_some_and(|(one, free)| one <= free);
    if !scene.device_refused() || situation.allocated.is_some() || fits || scene.said().is_some() {
        return None;
    }
    let mut finding = scene.finding(
        CAUSE.id,
        Strength::Likely,
        "Probably the work itself is too large: by nvidia-smi little of the GPU is in use otherwise",
        "What this program holds when it fails, the text does not tell.",
    );
    finding.evidence.push(Evidence::text("nvidia-smi", words, Basis::Message));
    finding.remedies = use_less();
    Some(finding)
}

/// A message without figures whose traceback leads through an evaluation: what is kept for backward is never freed
/// there.
fn in_evaluation(scene: &Scene<'_>) -> Option<Finding> {
    let situation = &scene.situation;
    let told = situation.requested.is_some() || situation.allocated.is_some();
    if told || !scene.is_message() || !scene.device_refused() || scene.said().is_some() {
        return None;
    }
    if !scene.is_evaluating() {
        return None;
    }
    let mut finding = scene.finding(
        CAUSE.id,
        Strength::Likely,
        "Probably evaluation needs more than training does: it keeps what backward would free",
        "The traceback leads through an evaluation; figures are not told.",
    );
    finding.remedies = vec![
        Remedy::line(
            "with torch.no_grad():",
            "around the evaluation, where it is not there already",
        ),
        Remedy::advice(
            "batches no larger than in training, and each batch's results moved to the host",
        ),
    ];
    Some(finding)
}

fn headline(situation: &Situation, allocated: Bytes, requested: Bytes) -> String {
    let on_device = situation.capacity.map_or(String::new(), |capacity| format!(", on {capacity}"));
    match (allocated, situation.free) {
        (Bytes::ZERO, Some(free)) => format!(
            "The work itself is too large: {requested} was asked for, and beside the context {free} is \
             free{on_device}"
        ),
        (Bytes::ZERO, None) => {
            format!("The work itself is too large: {requested} was asked for{on_device}")
        }
        _ => format!(
            "The work itself is too large: {allocated} is in use and {requested} more was asked \
             for{on_device}"
        ),
    }
}

/// Growth that took what is missing says all there is to say; of a recorded driver call so does one request
/// that no device of the size holds, or a pool that keeps it unused.
fn explained_better(scene: &Scene<'_>) -> bool {
    let situation = &scene.situation;
    let too_big = situation.requested.zip(situation.capacity).is_some_and(|(one, all)| one > all);
    let grown = scene.growth.as_ref().zip(situation.lacking());
    grown.is_some_and(|(growth, lacking)| growth.total >= lacking)
        || situation.by_driver && (too_big || driver_pools::would_do(scene))
}

/// Whether what the process merely keeps, in pools and caches, would have served a call of the driver.
fn caches_would_do(situation: &Situation) -> bool {
    let kept = situation.reserved.zip(situation.allocated).map(|(held, used)| held.minus(used));
    let could_have = kept.zip(situation.free).map(|(kept, free)| kept.plus(free));
    let needed = situation.requested.zip(could_have);
    situation.by_driver && needed.is_some_and(|(needed, could_have)| could_have >= needed)
}

/// Whether this process alone fills the device: what is in use, what was asked for, a cache too small
/// to matter, and a context.
fn fills_device(situation: &Situation, capacity: Bytes) -> Option<bool> {
    // All that is unused, also where this request could not use it.
    let unused = situation.reserved.zip(situation.allocated).map(|(held, used)| held.minus(used));
    let cached = unused.max(situation.cached).unwrap_or_default();
    let cached = if cached.share_of(capacity) < SMALL_CACHE { cached } else { Bytes::ZERO };
    // Unless told, the context and libraries are taken to need a gibibyte, or an eighth of the device.
    let allowance =
        CONTEXT_ALLOWANCE.max(Bytes(capacity.0 / 8).min(Bytes(CONTEXT_ALLOWANCE.0 * 2)));
    let rest = situation.reserved.and_then(|reserved| {
        let in_use = capacity.minus(situation.free?);
        Some(in_use.minus(reserved).minus(situation.others_hold()))
    });
    let outside = situation.outside_allocator().or(rest).unwrap_or(allowance).min(allowance);
    let asked = situation.requested?.max(situation.asked_of_driver?);
    let needed = situation.allocated?.plus(asked).plus(cached).plus(outside);
    Some(needed > capacity)
}

/// The same for a recording, which does not tell the capacity: the allocator had given out nearly all
/// that it held, and that was not little beside the request.
fn fills_allocator(situation: &Situation) -> Option<bool> {
    let allocated = situation.allocated?;
    // A message may tell what is in use, and not what is held.
    let reserved = situation.reserved.unwrap_or(allocated);
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
        (Some(Bytes::ZERO), _) => format!("{lacking} was missing, and the cache was empty."),
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

/// The program says itself that its work does not fit.
fn by_own_account(scene: &Scene<'_>) -> Finding {
    let whose = capitalized(scene.software().map_or("the program", Software::name));
    let situation = &scene.situation;
    let headline = match (situation.requested, situation.free, situation.capacity) {
        (Some(needed), Some(free), _) => format!("{whose} needs {needed}, and {free} is free"),
        (Some(needed), None, Some(all)) => format!("{whose} needs {needed}, and the GPU has {all}"),
        (Some(needed), None, None) => {
            format!("{whose} needs {needed}, which the GPU does not have")
        }
        _ => format!("{whose} says itself that its work does not fit in the GPU's memory"),
    };
    let because = "Its own message says so.";
    let mut finding = scene.finding(CAUSE.id, Strength::Explains, headline, because);
    finding.gives_back = situation.lacking();
    finding.evidence.push(Evidence::text("message", scene.message(), Basis::Message));
    finding.remedies = use_less();
    finding
}

/// What helps whoever works with whatever.
fn use_less() -> Vec<Remedy> {
    vec![Remedy::advice("a smaller batch size, input, model or context, or a larger GPU")]
}

/// Most cards have no more than this.
const MOST_CARDS: Bytes = Bytes(16 << 30);
/// A device with less than this is a part of the host's memory that the BIOS set apart.
const HARDLY_A_DEVICE: Bytes = Bytes(1 << 30);

/// A request of this share of the device is one of several, as a rule.
const MUCH: f64 = 0.4;

/// A tensor of this size is one of many in a step.
const LARGE_TENSOR: Bytes = Bytes(512 << 20);

/// Whether what failed is plainly a part of the program's own work: a large tensor of TensorFlow's.
fn is_of_the_work(scene: &Scene<'_>, requested: Bytes) -> bool {
    match scene.software() {
        Some(Software::TensorFlow) => {
            requested >= LARGE_TENSOR && scene.message().contains("allocating tensor")
        }
        _ => false,
    }
}

/// A message that tells of one request, and of nothing beside it: where that alone is nearly the device, or more
/// than most cards have, it is too much whoever else holds memory.
fn one_large_request(scene: &Scene<'_>) -> Option<Finding> {
    let situation = &scene.situation;
    if !scene.is_message() || !scene.device_refused() || situation.allocated.is_some() {
        return None;
    }
    let requested = situation.requested?;
    let (strength, headline) = match situation.capacity {
        Some(capacity) if requested > capacity => return None,
        Some(capacity) if requested.plus(CONTEXT_ALLOWANCE) > capacity => (
            Strength::Explains,
            format!("One request of {requested} is nearly all of this GPU's {capacity}"),
        ),
        Some(capacity)
            if situation.free.is_none()
                && situation.reserved.is_none()
                && requested.share_of(capacity) >= MUCH =>
        {
            (
                Strength::Likely,
                format!(
                    "Probably the work itself is too large: one request is {requested} of this GPU's {capacity}"
                ),
            )
        }
        // What hardly any card has is one request too big.
        None if requested > HARDLY_ANY_CARD => return None,
        None if situation.free.is_none() && requested >= MOST_CARDS => (
            Strength::Likely,
            format!("One request of {requested} is more than most GPUs have in all"),
        ),
        _ if situation.free.is_none() && is_of_the_work(scene, requested) => (
            Strength::Likely,
            format!(
                "Probably the work itself is too large: it lacks {requested}, and nothing else is told to hold memory"
            ),
        ),
        _ => return None,
    };
    let because = "A context and whatever else is needed must fit beside it.";
    let mut finding = scene.finding(CAUSE.id, strength, headline, because);
    finding.evidence.push(Evidence::text("message", scene.message(), Basis::Message));
    finding.remedies = remedies(scene, situation.lacking().unwrap_or(requested));
    Some(finding)
}

/// What the program itself holds is nearly the whole device, or the device is hardly one: however much was asked
/// for.
fn fills_by_itself(scene: &Scene<'_>) -> Option<Finding> {
    const NEARLY: f64 = 0.9;
    let situation = &scene.situation;
    let (capacity, allocated) = (situation.capacity?, situation.allocated?);
    let hardly = capacity < HARDLY_A_DEVICE && situation.free.is_none();
    let full = situation.requested.is_none() && allocated.share_of(capacity) >= NEARLY;
    if !scene.is_message() || !scene.device_refused() || !(hardly || full) {
        return None;
    }
    let headline = match hardly {
        true => format!("This GPU has {capacity} in all, and {allocated} of it is in use"),
        false => format!("{allocated} of this GPU's {capacity} is in use by the program itself"),
    };
    let because = match hardly {
        true => {
            "A GPU that shares the host's memory has what the BIOS gives it (UMA frame buffer size)."
        }
        false => "A context and what else is needed do not fit beside it.",
    };
    let mut finding = scene.finding(CAUSE.id, Strength::Decisive, headline, because);
    finding.gives_back = situation.lacking();
    finding.remedies = match hardly {
        true => vec![Remedy::advice(
            "give the GPU more of the host's memory in the BIOS, or run on the CPU",
        )],
        false => remedies(scene, Bytes::ZERO),
    };
    Some(finding)
}

/// What one step needs at once by XLA's own account, and what XLA took, where that is less.
fn by_xla(scene: &Scene<'_>) -> Option<(Bytes, Bytes)> {
    let incident = scene.incident.filter(|_| scene.software() == Some(Software::Xla))?;
    let needed = incident.counter(Counter::Needed)?;
    let took = incident.counter(Counter::RoomLeft).or(scene.situation.capacity)?;
    (needed > took).then_some((needed, took))
}

fn program_too_large(scene: &Scene<'_>, needed: Bytes, took: Bytes) -> Finding {
    let mut finding = scene.finding(
        CAUSE.id,
        Strength::Explains,
        format!("One step needs {needed} at once, by XLA's own account, and XLA took {took} of the device"),
        format!("{} is missing.", needed.minus(took)),
    );
    finding.gives_back = Some(needed.minus(took));
    finding.remedies = vec![Remedy::advice(
        "a smaller batch, crop or sequence, lower precision, or jax.checkpoint where gradients are taken; XLA \
         takes three quarters of the device unless XLA_PYTHON_CLIENT_MEM_FRACTION says more",
    )];
    finding
}

/// The cache of a server for one sequence of the longest length does not fit beside its weights.
fn cache_too_large(scene: &Scene<'_>, needed: Bytes, left: Bytes) -> Finding {
    let missing = needed.minus(left);
    let mut finding = scene.finding(
        CAUSE.id,
        Strength::Decisive,
        format!("The cache of one sequence of the longest length needs {needed}, and {left} is left for it"),
        format!("{missing} is missing beside the weights: far more than a larger share of the GPU gives."),
    );
    finding.gives_back = Some(missing);
    finding.evidence.push(Evidence::text("message", scene.message(), Basis::Message));
    finding.remedies = vec![shorter(scene)];
    finding
}

/// What helps depends on what was being made when memory ran out.
fn remedies(scene: &Scene<'_>, lacking: Bytes) -> Vec<Remedy> {
    let by_driver = |incident: &Incident| {
        let served = scene.has_pool() && scene.is_plain(incident.stack);
        served || (incident.of_driver && incident.totals.is_none())
    };
    if scene.software() == Some(Software::LlamaCpp) {
        return llama_cpp();
    }
    // Of a program that is not PyTorch's, what helps is in the table of fixes.
    if scene.is_message() && scene.software() != Some(Software::PyTorch) {
        return use_less();
    }
    if scene.incident.is_some_and(by_driver) {
        return for_buffers(scene, lacking);
    }
    if let Some(fixes) = phases::fixes(scene) {
        return fixes;
    }
    let (search, others) = match scene.incident.map(|incident| incident.category) {
        // Of weights and their state the batch is no part.
        Some(Category::Parameters) if scene.asked_for_weights() => (None, for_loading(scene)),
        Some(Category::OptimizerState) => (None, for_optimizer(scene)),
        _ if scene.is_generating() => (scene.search_size(), for_inference(lacking)),
        Some(Category::Inputs | Category::Parameters) if scene.facts().is_some() => {
            (scene.search_size(), for_inputs(scene, lacking))
        }
        _ => (scene.search_size(), for_training(scene, lacking)),
    };
    let attention = scene.asked_by_attention().then(unbuilt_attention);
    let tiles = scene.asked_for_pictures().then(in_tiles);
    let leave = leave_to_library(scene, lacking);
    leave.into_iter().chain(search).chain(tiles).chain(others).chain(attention).collect()
}

/// What a library asks for beside PyTorch is small: a little less in tensors is all that it needs.
fn leave_to_library(scene: &Scene<'_>, lacking: Bytes) -> Option<Remedy> {
    let library = asking_library(scene).filter(|_| scene.uses_allocator())?;
    let peak = scene.space.map(|space| scene.by_place(space.peak_by_stack())).unwrap_or_default();
    let most = peak.first().map_or(String::new(), |(place, bytes)| {
        format!(". Most, {bytes}, is held by what {place} makes: fewer or smaller ones are enough")
    });
    Some(Remedy::advice(format!(
        "keep a little less in PyTorch's tensors: they must leave {lacking} more to {library}, which \
         allocates by itself{most}"
    )))
}

/// Layers of pictures need memory in proportion to the pixels that they see at once.
fn in_tiles() -> Remedy {
    Remedy::advice(
        "a smaller picture, or the same in tiles, one after the other: half the height and half the width need a \
         quarter (a decoder of diffusers: pipe.enable_vae_tiling())",
    )
}

/// What is largest in attention need not exist.
fn unbuilt_attention() -> Remedy {
    Remedy::line(
        "torch.nn.functional.scaled_dot_product_attention(q, k, v)",
        "where attention's matrix of scores is the large tensor: this one does not build it",
    )
}

/// The program takes its memory from the driver itself.
fn for_buffers(scene: &Scene<'_>, lacking: Bytes) -> Vec<Remedy> {
    let peak = scene.space.map(|space| scene.by_place(space.peak_by_stack())).unwrap_or_default();
    let most = peak.first().map_or(String::new(), |(place, bytes)| {
        format!(
            "; most, {bytes}, is held by what {place} allocates: fewer or smaller ones are needed"
        )
    });
    vec![Remedy::advice(format!(
        "free buffers before this request, or {}: {lacking} must go{most}",
        in_pieces(scene, None)
    ))]
}

/// It ran out outside any module: in a computation of the program's own.
fn for_inputs(scene: &Scene<'_>, lacking: Bytes) -> Vec<Remedy> {
    let space = scene.incident.and_then(|incident| incident.free_space.as_ref());
    vec![
        Remedy::advice(format!(
            "{}; or keep less on the device, with a smaller batch or shorter sequences: {lacking} must go \
             for this request",
            in_pieces(scene, space.map(|space| space.usable_largest))
        )),
        // The recording does not tell the type of a tensor.
        Remedy::advice(
            "a smaller type, where the numbers allow it: float32 takes half the bytes of float64, \
             bfloat16 half those of float32",
        ),
    ]
}

/// How small the pieces of this request must be to fit beside what is in use.
fn in_pieces(scene: &Scene<'_>, largest_in_cache: Option<Bytes>) -> String {
    let situation = &scene.situation;
    let room = situation.room_for_one(largest_in_cache).zip(situation.requested);
    let Some((room, requested)) = room.filter(|(room, requested)| room < requested) else {
        return "work in smaller pieces".to_owned();
    };
    format!(
        "work in pieces of at most {room}: so much is left for one beside what is in use, and this \
         request makes {} of them",
        requested.0.div_ceil(room.0)
    )
}

/// It ran out while the model was loaded or moved: the weights themselves do not fit.
fn for_loading(scene: &Scene<'_>) -> Vec<Remedy> {
    let quantized = Remedy::advice("or a smaller model, or a quantized one (8 or 4 bits a weight)");
    if !scene.is_message() && !scene.asked_by_any_of(&["transformers/", "diffusers/"]) {
        let what = "before it goes to the device: half the bytes, where its weights are fp32 now";
        return vec![Remedy::line("model.to(torch.bfloat16)", what), quantized];
    }
    vec![
        Remedy::line(
            "from_pretrained(..., torch_dtype=torch.bfloat16)",
            "load the weights in half the bytes, if they are fp32 now",
        ),
        Remedy::line(
            "from_pretrained(..., device_map=\"auto\")",
            "spread them over GPUs and host memory",
        ),
        quantized,
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
