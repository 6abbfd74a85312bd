//! What is live simply is too much.

use whyoom_memory::{Category, Incident};
use whyoom_trace::{Bytes, Counter, Software, Symptom, facts::Said};

use crate::{
    ahead::TooLarge,
    cause::Cause,
    diagnosis::Diagnosis,
    driver_pools,
    finding::{Basis, Evidence, Finding, Remedy, Strength, capitalized},
    inference::{for_inference, for_kv_cache},
    library_knobs::llama_cpp,
    memory_fraction::{cache_beyond_share, shorter},
    observed::{CONTEXT_ALLOWANCE, HARDLY_ANY_CARD, ObservedFigures},
    outside::asking_library,
    phases, seen_code,
    training::{fewer_logits, for_optimizer, for_training},
};

pub(super) const CAUSE: Cause = Cause {
    id: "working-set",
    title: "the workload needs more memory than the device has",
    explanation: "\
The memory live at the peak, plus the failed request, exceeds the device. There is no significant
waste: no allocator setting can help.

Symptoms: \"allocated by PyTorch\" close to the capacity, \"reserved but unallocated\" small.

What it consists of, in training: parameters, gradients (the same size again), optimizer state
(Adam: twice that size in fp32), activations (proportional to batch size and sequence length),
logits and their loss (proportional to the vocabulary as well), temporaries. In inference: parameters
and the KV cache (proportional to the number and length of the sequences).

What helps: a smaller batch with gradient accumulation; activation checkpointing; mixed precision;
a fused or chunked cross-entropy; an optimizer with less state; sharding or offloading; a smaller or
quantized KV cache. Each is offered where the recording shows that it would help, with the bytes it
frees.",
    check,
};

/// A cache below this share of the device is not worth naming.
const SMALL_CACHE: f64 = 0.05;

fn check(diagnosis: &Diagnosis<'_>) -> Option<Finding> {
    if let Some((needed, left)) = cache_beyond_share(diagnosis) {
        return Some(cache_too_large(diagnosis, needed, left));
    }
    if diagnosis.symptom() == Some(Symptom::WorkTooLarge) {
        return Some(by_own_account(diagnosis));
    }
    if let Some(finding) = one_large_request(diagnosis).or_else(|| fills_by_itself(diagnosis)) {
        return Some(finding);
    }
    if let Some(finding) = on_idle_device(diagnosis).or_else(|| in_evaluation(diagnosis)) {
        return Some(finding);
    }
    if let Some((needed, took)) = by_xla(diagnosis) {
        return Some(program_too_large(diagnosis, needed, took));
    }
    if !diagnosis.device_ran_out() {
        return None;
    }
    if let Some(ahead) = diagnosis.ahead {
        return Some(later_in_the_iteration(diagnosis, ahead));
    }
    let observed = &diagnosis.observed;
    let (allocated, requested) = (observed.allocated?, observed.requested?);
    let capacity = observed.capacity;
    if diagnosis.was_recorded() && (explained_better(diagnosis) || caches_would_do(observed)) {
        return None;
    }
    let fills = match capacity {
        Some(capacity) => fills_device(observed, capacity)?,
        None => fills_allocator(observed)?,
    };
    if !fills {
        return None;
    }
    let shortfall = observed.shortfall()?;
    let headline = headline(observed, allocated, requested);
    // Without the capacity it may also be that something else holds the rest of the device.
    let strength = match (capacity, diagnosis.said()) {
        // Something filled it little by little, whoever wrote the text says.
        (_, Some(Said::Grows)) => Strength::Contributing,
        (Some(_), _) => Strength::Explains,
        (None, _) => Strength::Likely,
    };
    let mut finding = diagnosis.finding(CAUSE.id, strength, headline, because(observed, shortfall));
    // It gives back what is missing and no more: any waste that is larger comes first.
    finding.reclaimable = Some(shortfall);
    add_composition(diagnosis, &mut finding);
    finding.remedies = remedies(diagnosis, shortfall);
    Some(finding)
}

/// The request would fit in what the cache has in pieces, and what the iteration asks for next would not.
fn later_in_the_iteration(diagnosis: &Diagnosis<'_>, ahead: TooLarge) -> Finding {
    let TooLarge { needed, could_have, is_steady } = ahead;
    let allocator = diagnosis.allocator_name();
    let needs = format!("{needed} at its peak, and {allocator} can have {could_have}");
    let (strength, headline) = match is_steady {
        true => {
            (Strength::Explains, format!("The workload is too large: this iteration needs {needs}"))
        }
        // In the first one, what is kept from one to the next was not there yet.
        false => (
            Strength::Likely,
            format!("Probably the workload is too large: this iteration needs about {needs}"),
        ),
    };
    let mut finding = diagnosis.finding(
        CAUSE.id,
        strength,
        headline,
        "The iteration before went on from this request to such a peak. The request that failed might fit \
         if the cache were not split up; what follows would not.",
    );
    let missing = needed.minus(could_have);
    finding.reclaimable = Some(missing);
    add_composition(diagnosis, &mut finding);
    finding.remedies = remedies(diagnosis, missing);
    finding
}

/// nvidia-smi, pasted with a message without figures, shows GPUs that are empty but for this program.
fn on_idle_device(diagnosis: &Diagnosis<'_>) -> Option<Finding> {
    let observed = &diagnosis.observed;
    let words = diagnosis.idle_tables()?;
    let fits = observed.requested.zip(observed.free).is_some_and(|(one, free)| one <= free);
    if !diagnosis.device_refused()
        || observed.allocated.is_some()
        || fits
        || diagnosis.said().is_some()
    {
        return None;
    }
    let mut finding = diagnosis.finding(
        CAUSE.id,
        Strength::Likely,
        "Probably the workload is too large: according to nvidia-smi, little of the GPU is in use \
         otherwise",
        "The text does not show what this program holds when it fails.",
    );
    finding.evidence.push(Evidence::text("nvidia-smi", words, Basis::Message));
    finding.remedies = use_less();
    Some(finding)
}

/// A message without figures whose traceback leads through an evaluation: what is kept for backward is never freed
/// there.
fn in_evaluation(diagnosis: &Diagnosis<'_>) -> Option<Finding> {
    let observed = &diagnosis.observed;
    let told = observed.requested.is_some() || observed.allocated.is_some();
    if told || !diagnosis.is_message() || !diagnosis.device_refused() || diagnosis.said().is_some()
    {
        return None;
    }
    if !diagnosis.is_evaluating() {
        return None;
    }
    let mut finding = diagnosis.finding(
        CAUSE.id,
        Strength::Likely,
        "Probably evaluation needs more memory than training: it keeps what backward would free",
        "The traceback goes through an evaluation; it gives no numbers.",
    );
    finding.remedies = vec![
        Remedy::example("with torch.no_grad():", "evaluate without a graph, unless you already do"),
        Remedy::advice(
            "use batches no larger than in training, and move each batch's results to the host",
        ),
    ];
    Some(finding)
}

fn headline(observed: &ObservedFigures, allocated: Bytes, requested: Bytes) -> String {
    let on_device = observed.capacity.map_or(String::new(), |capacity| format!(", on {capacity}"));
    match (allocated, observed.free) {
        (Bytes::ZERO, Some(free)) => format!(
            "The workload is too large: {requested} was requested, and {free} is free besides the \
             context{on_device}"
        ),
        (Bytes::ZERO, None) => {
            format!("The workload is too large: {requested} was requested{on_device}")
        }
        _ => format!(
            "The workload is too large: {allocated} allocated + {requested} requested{on_device}"
        ),
    }
}

/// Growth that took what is missing says all there is to say; of a recorded driver call so does one request
/// that no device of the size holds, or a pool that keeps it unused.
fn explained_better(diagnosis: &Diagnosis<'_>) -> bool {
    let observed = &diagnosis.observed;
    let too_big = observed.requested.zip(observed.capacity).is_some_and(|(one, all)| one > all);
    let grown = diagnosis.growth.as_ref().zip(observed.shortfall());
    grown.is_some_and(|(growth, shortfall)| growth.total >= shortfall)
        || observed.by_driver && (too_big || driver_pools::would_do(diagnosis))
}

/// Whether what the process merely keeps, in pools and caches, would have served a call of the driver.
fn caches_would_do(observed: &ObservedFigures) -> bool {
    let kept = observed.reserved.zip(observed.allocated).map(|(held, used)| held.minus(used));
    let could_have = kept.zip(observed.free).map(|(kept, free)| kept.plus(free));
    let needed = observed.requested.zip(could_have);
    observed.by_driver && needed.is_some_and(|(needed, could_have)| could_have >= needed)
}

/// Whether this process alone fills the device: what is in use, what was asked for, a cache too small
/// to matter, and a context.
fn fills_device(observed: &ObservedFigures, capacity: Bytes) -> Option<bool> {
    // All that is unused, also where this request could not use it.
    let unused = observed.reserved.zip(observed.allocated).map(|(held, used)| held.minus(used));
    let cached = unused.max(observed.cached).unwrap_or_default();
    let cached = if cached.share_of(capacity) < SMALL_CACHE { cached } else { Bytes::ZERO };
    // Unless told, the context and libraries are taken to need a gibibyte, or an eighth of the device.
    let allowance =
        CONTEXT_ALLOWANCE.max(Bytes(capacity.0 / 8).min(Bytes(CONTEXT_ALLOWANCE.0 * 2)));
    let rest = observed.reserved.and_then(|reserved| {
        let in_use = capacity.minus(observed.free?);
        Some(in_use.minus(reserved).minus(observed.others_hold()))
    });
    let outside = observed.outside_allocator().or(rest).unwrap_or(allowance).min(allowance);
    let asked = observed.requested?.max(observed.asked_of_driver?);
    let needed = observed.allocated?.plus(asked).plus(cached).plus(outside);
    Some(needed > capacity)
}

/// The same for a recording, which does not tell the capacity: the allocator had given out nearly all
/// that it held, and that was not little beside the request.
fn fills_allocator(observed: &ObservedFigures) -> Option<bool> {
    let allocated = observed.allocated?;
    // A message may tell what is in use, and not what is held.
    let reserved = observed.reserved.unwrap_or(allocated);
    let could_have = reserved.plus(observed.free?);
    let not_little = allocated.0 >= observed.requested?.0 / 4 && could_have >= CONTEXT_ALLOWANCE;
    Some(not_little && allocated.share_of(reserved) >= 0.9)
}

fn because(observed: &ObservedFigures, shortfall: Bytes) -> String {
    let mut because = match (observed.cached, observed.capacity) {
        (Some(cached), Some(capacity)) if cached >= shortfall => format!(
            "The request fell {shortfall} short; the {cached} unused in the cache, in small blocks, \
             is {:.1} % of the device.",
            cached.share_of(capacity) * 100.0
        ),
        (Some(Bytes::ZERO), _) => {
            format!("The request fell {shortfall} short, and the cache was empty.")
        }
        (Some(cached), _) => {
            format!("The request fell {shortfall} short; {cached} was unused in the cache.")
        }
        (None, _) => format!("The request fell {shortfall} short."),
    };
    match (observed.capacity, observed.allocated, observed.reserved.zip(observed.free)) {
        (Some(capacity), Some(allocated), _) if allocated > capacity => because.push_str(
            " More is in use than the device has: the driver uses host memory, as on Windows.",
        ),
        (None, _, Some((reserved, free))) => because.push_str(&format!(
            " PyTorch could use {} of the device; if yours is far larger, something else holds the \
             rest.",
            reserved.plus(free)
        )),
        _ => {}
    }
    because
}

fn add_composition(diagnosis: &Diagnosis<'_>, finding: &mut Finding) {
    let Some(space) = diagnosis.space else { return };
    let categories = if space.has_allocator() { space.peak_by_category() } else { Vec::new() };
    for (category, usage) in categories {
        let label = format!("{category} at the peak");
        finding.evidence.push(Evidence::bytes(label, usage.bytes, Basis::Recorded));
    }
    for (call_site, bytes) in diagnosis.by_call_site(space.peak_by_stack()).into_iter().take(3) {
        finding.point_at(call_site, format!("{bytes} at the peak"));
    }
}

/// The program says itself that its work does not fit.
fn by_own_account(diagnosis: &Diagnosis<'_>) -> Finding {
    let whose = capitalized(diagnosis.software().map_or("the program", Software::name));
    let observed = &diagnosis.observed;
    let headline = match (observed.requested, observed.free, observed.capacity) {
        (Some(needed), Some(free), _) => format!("{whose} needs {needed}, and {free} is free"),
        (Some(needed), None, Some(all)) => format!("{whose} needs {needed}, and the GPU has {all}"),
        (Some(needed), None, None) => {
            format!("{whose} needs {needed}, more than the GPU has")
        }
        _ => format!("{whose} itself reports that its work does not fit in GPU memory"),
    };
    let because = "Its own message says so.";
    let mut finding = diagnosis.finding(CAUSE.id, Strength::Explains, headline, because);
    finding.reclaimable = observed.shortfall();
    finding.evidence.push(Evidence::text("message", diagnosis.message(), Basis::Message));
    finding.remedies = use_less();
    finding
}

/// What helps whoever works with whatever.
fn use_less() -> Vec<Remedy> {
    vec![Remedy::advice("use a smaller batch size, input, model or context, or a larger GPU")]
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
fn is_of_the_work(diagnosis: &Diagnosis<'_>, requested: Bytes) -> bool {
    match diagnosis.software() {
        Some(Software::TensorFlow) => {
            requested >= LARGE_TENSOR && diagnosis.message().contains("allocating tensor")
        }
        _ => false,
    }
}

/// A message that tells of one request, and of nothing beside it: where that alone is nearly the device, or more
/// than most cards have, it is too much whoever else holds memory.
fn one_large_request(diagnosis: &Diagnosis<'_>) -> Option<Finding> {
    let observed = &diagnosis.observed;
    if !diagnosis.is_message() || !diagnosis.device_refused() || observed.allocated.is_some() {
        return None;
    }
    let requested = observed.requested?;
    let (strength, headline) = match observed.capacity {
        Some(capacity) if requested > capacity => return None,
        Some(capacity) if requested.plus(CONTEXT_ALLOWANCE) > capacity => (
            Strength::Explains,
            format!("One request of {requested} takes nearly all of this GPU's {capacity}"),
        ),
        Some(capacity)
            if observed.free.is_none()
                && observed.reserved.is_none()
                && requested.share_of(capacity) >= MUCH =>
        {
            (
                Strength::Likely,
                format!(
                    "Probably the workload is too large: one request is {requested} of this GPU's \
                     {capacity}"
                ),
            )
        }
        // What hardly any card has is one request too big.
        None if requested > HARDLY_ANY_CARD => return None,
        None if observed.free.is_none() && requested >= MOST_CARDS => (
            Strength::Likely,
            format!("Probably the workload is too large: one request is {requested}"),
        ),
        _ if observed.free.is_none() && is_of_the_work(diagnosis, requested) => (
            Strength::Likely,
            format!(
                "Probably the workload is too large: it needs {requested} more, and no other holder \
                 of memory is known"
            ),
        ),
        _ => return None,
    };
    let because = "A context and everything else must fit as well.";
    let mut finding = diagnosis.finding(CAUSE.id, strength, headline, because);
    finding.evidence.push(Evidence::text("message", diagnosis.message(), Basis::Message));
    finding.remedies = remedies(diagnosis, observed.shortfall().unwrap_or(requested));
    Some(finding)
}

/// What the program itself holds is nearly the whole device, or the device is hardly one: however much was asked
/// for.
fn fills_by_itself(diagnosis: &Diagnosis<'_>) -> Option<Finding> {
    const NEARLY: f64 = 0.9;
    let observed = &diagnosis.observed;
    let (capacity, allocated) = (observed.capacity?, observed.allocated?);
    let hardly = capacity < HARDLY_A_DEVICE && observed.free.is_none();
    let full = observed.requested.is_none() && allocated.share_of(capacity) >= NEARLY;
    if !diagnosis.is_message() || !diagnosis.device_refused() || !(hardly || full) {
        return None;
    }
    let headline = match hardly {
        true => format!("This GPU has {capacity} in total, and {allocated} of it is in use"),
        false => format!("The program itself uses {allocated} of this GPU's {capacity}"),
    };
    let because = match hardly {
        true => {
            "A GPU that shares host memory has what the BIOS assigns to it (UMA frame buffer size)."
        }
        false => "A context and everything else do not fit as well.",
    };
    let mut finding = diagnosis.finding(CAUSE.id, Strength::Decisive, headline, because);
    finding.reclaimable = observed.shortfall();
    finding.remedies = match hardly {
        true => vec![Remedy::advice(
            "assign more of the host's memory to the GPU in the BIOS, or run on the CPU",
        )],
        false => remedies(diagnosis, Bytes::ZERO),
    };
    Some(finding)
}

/// What one step needs at once by XLA's own account, and what XLA took, where that is less.
fn by_xla(diagnosis: &Diagnosis<'_>) -> Option<(Bytes, Bytes)> {
    let incident = diagnosis.incident.filter(|_| diagnosis.software() == Some(Software::Xla))?;
    let needed = incident.counter(Counter::Needed)?;
    let took = incident.counter(Counter::RoomLeft).or(diagnosis.observed.capacity)?;
    (needed > took).then_some((needed, took))
}

fn program_too_large(diagnosis: &Diagnosis<'_>, needed: Bytes, took: Bytes) -> Finding {
    let mut finding = diagnosis.finding(
        CAUSE.id,
        Strength::Explains,
        format!(
            "One step needs {needed} at once according to XLA, which took {took} of the device"
        ),
        format!("It falls {} short.", needed.minus(took)),
    );
    finding.reclaimable = Some(needed.minus(took));
    finding.remedies = vec![Remedy::advice(
        "use a smaller batch, crop or sequence, lower precision, or jax.checkpoint where gradients \
         are computed; XLA takes three quarters of the device unless \
         XLA_PYTHON_CLIENT_MEM_FRACTION is higher",
    )];
    finding
}

/// The cache of a server for one sequence of the longest length does not fit beside its weights.
fn cache_too_large(diagnosis: &Diagnosis<'_>, needed: Bytes, left: Bytes) -> Finding {
    let missing = needed.minus(left);
    let mut finding = diagnosis.finding(
        CAUSE.id,
        Strength::Decisive,
        format!(
            "The cache for one sequence of maximum length needs {needed}, and {left} is left \
                 for it"
        ),
        format!(
            "{missing} is missing beside the weights: a shorter maximum length or a larger fraction \
             of the GPU must provide it."
        ),
    );
    finding.reclaimable = Some(missing);
    finding.evidence.push(Evidence::text("message", diagnosis.message(), Basis::Message));
    finding.remedies = vec![shorter(diagnosis)];
    finding
}

/// What helps depends on what was being made when memory ran out.
fn remedies(diagnosis: &Diagnosis<'_>, shortfall: Bytes) -> Vec<Remedy> {
    let by_driver = |incident: &Incident| {
        let served = diagnosis.has_pool() && diagnosis.is_plain(incident.stack);
        served || (incident.of_driver && incident.totals.is_none())
    };
    if diagnosis.software() == Some(Software::LlamaCpp) {
        return llama_cpp();
    }
    // Of a program that is not PyTorch's, what helps is in the table of fixes.
    if diagnosis.is_message() && diagnosis.software() != Some(Software::PyTorch) {
        return use_less();
    }
    if diagnosis.incident.is_some_and(by_driver) {
        return for_buffers(diagnosis, shortfall);
    }
    if let Some(fixes) = phases::fixes(diagnosis) {
        return fixes;
    }
    let category = diagnosis.incident.map(|incident| incident.category);
    let (search, others) = match category {
        // Of weights and their state the batch is no part.
        Some(Category::Parameters) if diagnosis.asked_for_weights() => {
            (None, for_loading(diagnosis))
        }
        Some(Category::OptimizerState) => (None, for_optimizer(diagnosis)),
        _ => (diagnosis.search_size(), for_work(diagnosis, category, shortfall)),
    };
    let attention = diagnosis.asked_by_attention().then(unbuilt_attention);
    let tiles = diagnosis.asked_for_pictures().then(in_tiles);
    let leave = leave_to_library(diagnosis, shortfall);
    leave.into_iter().chain(search).chain(tiles).chain(others).chain(attention).collect()
}

/// It ran out while the model worked, or beside it.
fn for_work(
    diagnosis: &Diagnosis<'_>,
    category: Option<Category>,
    shortfall: Bytes,
) -> Vec<Remedy> {
    if let Some(smaller) = for_kv_cache(diagnosis, shortfall) {
        return smaller;
    }
    if diagnosis.is_generating() {
        return for_inference(shortfall);
    }
    let outside = matches!(category, Some(Category::Inputs | Category::Parameters));
    if outside && diagnosis.process().is_some() {
        return fewer_logits(diagnosis)
            .into_iter()
            .chain(for_inputs(diagnosis, shortfall))
            .collect();
    }
    for_training(diagnosis, shortfall)
}

/// What a library asks for beside PyTorch is small: a little less in tensors is all that it needs.
fn leave_to_library(diagnosis: &Diagnosis<'_>, shortfall: Bytes) -> Option<Remedy> {
    let library = asking_library(diagnosis).filter(|_| diagnosis.uses_allocator())?;
    let peak = diagnosis
        .space
        .map(|space| diagnosis.by_call_site(space.peak_by_stack()))
        .unwrap_or_default();
    let most = peak.first().map_or(String::new(), |(call_site, bytes)| {
        format!(
            ". Most of it, {bytes}, was allocated at {call_site}: fewer or smaller tensors are enough"
        )
    });
    Some(Remedy::advice(format!(
        "keep slightly less in PyTorch's tensors: they must leave {shortfall} more to {library}, \
         which allocates directly{most}"
    )))
}

/// Layers of pictures need memory in proportion to the pixels that they see at once.
fn in_tiles() -> Remedy {
    Remedy::advice(
        "use a smaller picture, or process it in tiles, one after the other: half the height and \
         half the width need a quarter (a decoder of diffusers: pipe.enable_vae_tiling())",
    )
}

/// What is largest in attention need not exist.
fn unbuilt_attention() -> Remedy {
    Remedy::example(
        "torch.nn.functional.scaled_dot_product_attention(q, k, v)",
        "use fused attention, if the score matrix is the large tensor: it is then never materialized",
    )
}

/// The program takes its memory from the driver itself.
fn for_buffers(diagnosis: &Diagnosis<'_>, shortfall: Bytes) -> Vec<Remedy> {
    let peak = diagnosis
        .space
        .map(|space| diagnosis.by_call_site(space.peak_by_stack()))
        .unwrap_or_default();
    let most = peak.first().map_or(String::new(), |(call_site, bytes)| {
        format!("; use fewer or smaller buffers at {call_site}, which allocated most: {bytes}")
    });
    vec![
        Remedy::advice(format!(
            "free at least {shortfall} before this request (more may be needed){most}"
        )),
        Remedy::advice(in_pieces(diagnosis, None)),
    ]
}

/// It ran out outside any module: in a computation of the program's own.
fn for_inputs(diagnosis: &Diagnosis<'_>, shortfall: Bytes) -> Vec<Remedy> {
    let space = diagnosis.incident.and_then(|incident| incident.free_space.as_ref());
    vec![
        Remedy::advice(in_pieces(diagnosis, space.map(|space| space.usable_largest))),
        Remedy::advice(format!(
            "keep less on the device, with a smaller batch or shorter sequences: free at least \
             {shortfall} for this request"
        )),
        // The recording does not tell the type of a tensor.
        Remedy::advice(
            "use a smaller dtype, if precision allows: float32 takes half the bytes of float64, \
             bfloat16 half those of float32",
        ),
    ]
}

/// How small the pieces of this request must be to fit beside what is in use.
fn in_pieces(diagnosis: &Diagnosis<'_>, largest_in_cache: Option<Bytes>) -> String {
    let observed = &diagnosis.observed;
    let room = observed.room_for_one(largest_in_cache).zip(observed.requested);
    let Some((room, requested)) = room.filter(|(room, requested)| room < requested) else {
        return "work in smaller pieces".to_owned();
    };
    format!(
        "work in pieces of at most {room}, one after the other: the most that fits next to what is in \
         use (this request takes {})",
        requested.0.div_ceil(room.0)
    )
}

/// Whose weights have 8 or 4 bits.
const QUANTIZERS: [&str; 4] = ["bitsandbytes/nn/", "torchao/quantization/", "gptqmodel/", "awq/"];

/// It ran out while the model was loaded or moved: the weights themselves do not fit.
fn for_loading(diagnosis: &Diagnosis<'_>) -> Vec<Remedy> {
    if seen_code::any_named(diagnosis, &QUANTIZERS) {
        let device_map = "from_pretrained(..., device_map=\"auto\")";
        return vec![
            Remedy::example(device_map, "spread the weights over several GPUs and host memory"),
            Remedy::advice("or use a smaller model: the weights are quantized already"),
        ];
    }
    let quantized =
        Remedy::advice("or use a smaller model, or a quantized one (8 or 4 bits per weight)");
    if !diagnosis.is_message() && !diagnosis.asked_by_any_of(&["transformers/", "diffusers/"]) {
        let what = "convert it before it is moved to the device: half the bytes, if its weights are fp32 now";
        return vec![Remedy::example("model.to(torch.bfloat16)", what), quantized];
    }
    vec![
        Remedy::example(
            "from_pretrained(..., torch_dtype=torch.bfloat16)",
            "load the weights in half the bytes, if they are fp32 now",
        ),
        Remedy::example(
            "from_pretrained(..., device_map=\"auto\")",
            "spread them over several GPUs and host memory",
        ),
        quantized,
    ]
}
