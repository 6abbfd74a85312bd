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
    library_frames::{self, LibraryAdvice, Phase},
    library_knobs::llama_cpp,
    memory_fraction::{cache_beyond_share, shorter},
    observed::{CONTEXT_ALLOWANCE, HARDLY_ANY_CARD, ObservedFigures, PRACTICALLY_FULL},
    outside::asking_library,
    seen_code,
    training::{fewer_logits, for_optimizer, for_training},
};

pub(super) const CAUSE: Cause = Cause {
    id: "working-set",
    title: "the workload needs more memory than the device has",
    explanation: "\
The memory live at the peak, plus the failed request, exceeds the device. There is no significant
waste: no allocator setting can help.

Symptoms: \"allocated by PyTorch\" close to the capacity, \"reserved but unallocated\" small. A leak
gives the same numbers: one message cannot tell a workload that is too large from memory that is
kept from step to step. A failure in the first step speaks for the workload, one after many steps for
a larger input or for memory that is kept. `whyoom run --keepers -- CMD` tells.

What it consists of, in training: parameters, gradients (the same size again), optimizer state
(Adam: twice that size in fp32), activations (proportional to batch size and sequence length),
logits and their loss (proportional to the vocabulary as well), temporaries. In inference: parameters
and the KV cache (proportional to the number and length of the sequences).

In an evaluation nothing is kept for backward, but a trainer may keep the predictions of all batches on
the GPU (Hugging Face's Trainer does, unless eval_accumulation_steps is set).

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
    let evidence = LoadEvidence::of(diagnosis);
    let headline = headline(diagnosis, evidence, allocated, requested);
    // Without the capacity it may also be that something else holds the rest of the device.
    let strength = match (capacity, diagnosis.said()) {
        // Something filled it little by little, whoever wrote the text says.
        (_, Some(Said::Grows)) => Strength::Contributing,
        (Some(_), _) => Strength::Explains,
        (None, _) => Strength::Likely,
    };
    let because = match evidence {
        LoadEvidence::Recorded => because(observed, shortfall),
        _ => format!("{} {}", weighed(diagnosis, evidence), because(observed, shortfall)),
    };
    let mut finding = diagnosis.finding(CAUSE.id, strength, headline, because);
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
    if !is_evaluation(diagnosis) {
        return None;
    }
    let mut finding = diagnosis.finding(
        CAUSE.id,
        Strength::Likely,
        "Probably evaluation needs more memory than training: it keeps what backward would free",
        "The traceback goes through an evaluation; it gives no numbers.",
    );
    finding.remedies = for_evaluation(library_frames::of_request(diagnosis));
    Some(finding)
}

/// What shows that the workload is too large, where a leak would leave the same figures.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum LoadEvidence {
    /// The run was recorded, and nothing grew in it.
    Recorded,
    /// The text says that it works with less.
    WorksWithLess,
    /// It failed in the first training step.
    FirstStep,
    /// It failed while an optimizer made its state.
    OptimizerState,
    /// An evaluation keeps its predictions on the device.
    Predictions,
    /// One message, which a leak gives as well.
    Undecided,
}

impl LoadEvidence {
    fn of(diagnosis: &Diagnosis<'_>) -> Self {
        if !diagnosis.is_message() {
            return Self::Recorded;
        }
        let phase = library_frames::of_request(diagnosis).and_then(|advice| advice.phase);
        match phase {
            _ if diagnosis.said() == Some(Said::TooLarge) => Self::WorksWithLess,
            Some(Phase::Predictions) => Self::Predictions,
            Some(Phase::OptimizerState) => Self::OptimizerState,
            // A trainer's bar counts steps; that of the program's own loop may count epochs.
            Some(Phase::Training) if diagnosis.steps_done() == Some(0) => Self::FirstStep,
            _ => Self::Undecided,
        }
    }
}

fn headline(
    diagnosis: &Diagnosis<'_>,
    evidence: LoadEvidence,
    allocated: Bytes,
    requested: Bytes,
) -> String {
    let observed = &diagnosis.observed;
    let on_device = observed.capacity.map_or(String::new(), |capacity| format!(", on {capacity}"));
    match (allocated, observed.free) {
        (Bytes::ZERO, Some(free)) => {
            return format!(
                "The workload is too large: {requested} was requested, and {free} is free besides \
                 the context{on_device}"
            );
        }
        (Bytes::ZERO, None) => {
            return format!("The workload is too large: {requested} was requested{on_device}");
        }
        _ => {}
    }
    let claim = match evidence {
        LoadEvidence::Recorded
        | LoadEvidence::WorksWithLess
        | LoadEvidence::FirstStep
        | LoadEvidence::OptimizerState => "The workload is too large",
        LoadEvidence::Predictions => "The predictions of an evaluation fill the GPU",
        LoadEvidence::Undecided if diagnosis.software() == Some(Software::PyTorch) => {
            "Live tensors fill the GPU"
        }
        LoadEvidence::Undecided => "Memory in use fills the GPU",
    };
    format!("{claim}: {allocated} allocated + {requested} requested{on_device}")
}

/// Returns what the text says for and against a workload that is too large.
fn weighed(diagnosis: &Diagnosis<'_>, evidence: LoadEvidence) -> String {
    match evidence {
        LoadEvidence::Recorded => return String::new(),
        LoadEvidence::WorksWithLess => {
            return "According to the text, it works with less.".to_owned();
        }
        LoadEvidence::FirstStep => {
            return "It failed in the first training step: nothing can have been kept from an earlier one."
                .to_owned();
        }
        LoadEvidence::OptimizerState => {
            return "An optimizer makes its state in its first step: that is not memory kept from an earlier one."
                .to_owned();
        }
        LoadEvidence::Predictions => {
            return "The evaluation keeps the predictions of each batch on the GPU until it ends."
                .to_owned();
        }
        LoadEvidence::Undecided => {}
    }
    let mut weighed =
        "One message cannot tell a workload that is too large from memory that is kept \
                       from step to step."
            .to_owned();
    if is_evaluation(diagnosis) {
        weighed.push_str(
            " It failed in an evaluation: a graph or outputs that are kept there are as likely as a \
             batch that is too large.",
        );
        return weighed;
    }
    match diagnosis.steps_done() {
        Some(0) => weighed.push_str(
            " A progress bar in the text is at 0: if that is the first step, the workload is too large.",
        ),
        Some(steps) => weighed.push_str(&format!(
            " A progress bar in the text counts {steps} steps that fitted: then an input was larger, or \
             memory is kept."
        )),
        None => {}
    }
    weighed
}

/// Returns true if the failed request came from an evaluation, by the frames of a library or by the names of functions.
fn is_evaluation(diagnosis: &Diagnosis<'_>) -> bool {
    let phase = library_frames::of_request(diagnosis).and_then(|advice| advice.phase);
    match phase {
        Some(phase) => matches!(phase, Phase::Evaluation | Phase::Predictions),
        None => diagnosis.is_evaluating() && !diagnosis.asked_in_training(),
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
    // A message rounds its figures, and reads what is free a moment later.
    let slack = if observed.basis == Some(Basis::Message) { PRACTICALLY_FULL } else { Bytes::ZERO };
    Some(needed.plus(slack) > capacity)
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
        // A message that reads as if the request fitted: its figures are of two moments.
        (Some(cached), _)
            if observed.basis == Some(Basis::Message) && fits_by_figures(observed) =>
        {
            format!(
                "The free memory in the message was read after the failure; the driver could not serve the \
                 request, and {cached} was unused in the cache."
            )
        }
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

/// Returns true if a message gives as much free memory as was requested, or more.
fn fits_by_figures(observed: &ObservedFigures) -> bool {
    observed.free.zip(observed.requested).is_some_and(|(free, requested)| free >= requested)
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
    let library = library_frames::of_request(diagnosis);
    // Of a program that is not PyTorch's, what helps is in the tables.
    if diagnosis.is_message() && diagnosis.software() != Some(Software::PyTorch) {
        let own = library.into_iter().flat_map(|advice| advice.remedies);
        return own.chain(use_less()).collect();
    }
    if diagnosis.incident.is_some_and(by_driver) {
        return for_buffers(diagnosis);
    }
    let remedies = for_program(diagnosis, library.clone(), shortfall);
    match diagnosis.is_message() {
        true => with_decision(diagnosis, library.as_ref(), remedies),
        false => largest_first(remedies, shortfall),
    }
}

/// Adds the command that tells load from leak: in front, unless the frames say already what fills the memory.
fn with_decision(
    diagnosis: &Diagnosis<'_>,
    library: Option<&LibraryAdvice>,
    mut remedies: Vec<Remedy>,
) -> Vec<Remedy> {
    let is_told = library.is_some_and(LibraryAdvice::is_complete)
        || matches!(
            LoadEvidence::of(diagnosis),
            LoadEvidence::FirstStep | LoadEvidence::OptimizerState
        );
    let what = "rerun it like this: it tells whether memory grows or the workload is too large, and names the \
                line and the variable";
    let at = if is_told { remedies.len().min(1) } else { 0 };
    remedies.insert(at, diagnosis.rerun(" --keepers", what));
    remedies
}

/// Drops what is known to free less than the request needs, if another remedy is known to free enough, and orders the rest
/// by what it frees. A remedy that frees an unknown amount keeps its place.
fn largest_first(mut remedies: Vec<Remedy>, shortfall: Bytes) -> Vec<Remedy> {
    let suffices = |remedy: &Remedy| remedy.frees.is_some_and(|frees| frees >= shortfall);
    if remedies.iter().any(suffices) {
        remedies.retain(|remedy| remedy.frees.is_none() || suffices(remedy));
    }
    let places: Vec<usize> =
        (0..remedies.len()).filter(|&index| remedies[index].frees.is_some()).collect();
    let mut known: Vec<Remedy> = places.iter().map(|&index| remedies[index].clone()).collect();
    known.sort_by_key(|remedy| std::cmp::Reverse(remedy.frees));
    for (index, remedy) in places.into_iter().zip(known) {
        remedies[index] = remedy;
    }
    remedies
}

fn for_program(
    diagnosis: &Diagnosis<'_>,
    library: Option<LibraryAdvice>,
    shortfall: Bytes,
) -> Vec<Remedy> {
    if let Some(advice) = library.as_ref().filter(|advice| advice.is_complete()) {
        return advice.remedies.clone();
    }
    // A recording shows a graph that is kept as growth.
    if is_evaluation(diagnosis) && diagnosis.is_message() {
        return for_evaluation(library);
    }
    let category = diagnosis.incident.map(|incident| incident.category);
    let phase = library.as_ref().and_then(|advice| advice.phase);
    let is_loading = phase == Some(Phase::Loading)
        || category == Some(Category::Parameters) && diagnosis.asked_for_weights();
    let makes_state =
        phase == Some(Phase::OptimizerState) || category == Some(Category::OptimizerState);
    // Of weights and their state the batch is no part.
    let (search, others) = match () {
        () if makes_state => (None, for_optimizer(diagnosis)),
        () if is_loading => (None, for_loading(diagnosis)),
        () => (diagnosis.search_size(), for_work(diagnosis, category, phase)),
    };
    let attention = diagnosis.asked_by_attention().then(unbuilt_attention);
    let tiles = diagnosis.asked_for_pictures().then(in_tiles);
    let leave = leave_to_library(diagnosis, shortfall);
    let own = library.map(|advice| advice.remedies).unwrap_or_default();
    let others = others.into_iter().chain(attention);
    let others: Vec<Remedy> = others.filter(|other| !is_among(&own, other)).collect();
    let first = leave.into_iter().chain(search);
    match makes_state && own.iter().all(|remedy| remedy.code().is_none()) {
        true => first.chain(others).chain(own).collect(),
        false => first.chain(own).chain(tiles).chain(others).collect(),
    }
}

/// Returns true if a library's own settings say the same as a general remedy.
fn is_among(own: &[Remedy], other: &Remedy) -> bool {
    let both = |one: Option<&str>, two: Option<&str>, topic: &str| {
        one.is_some_and(|text| text.contains(topic)) && two.is_some_and(|text| text.contains(topic))
    };
    own.iter().any(|own| {
        both(own.code(), other.code(), "8bit")
            || both(own.code(), other.code(), "device_map=\"auto\"")
            || both(Some(&own.what), Some(&other.what), "batch size")
            || both(Some(&own.what), Some(&other.what), "train fewer parameters")
    })
}

/// Returns what helps an evaluation: nothing is kept for backward in it, so that there is nothing to recompute.
fn for_evaluation(library: Option<LibraryAdvice>) -> Vec<Remedy> {
    let own = library.map(|advice| advice.remedies).unwrap_or_default();
    let smaller = Remedy::advice(
        "use a batch size no larger than in training, and move each batch's results to the host",
    );
    if own.is_empty() {
        let what = "evaluate without a graph, unless you already do";
        return vec![Remedy::example("with torch.no_grad():", what), smaller];
    }
    let is_named = is_among(&own, &smaller);
    own.into_iter().chain((!is_named).then_some(smaller)).collect()
}

/// It ran out while the model worked, or beside it.
fn for_work(
    diagnosis: &Diagnosis<'_>,
    category: Option<Category>,
    phase: Option<Phase>,
) -> Vec<Remedy> {
    if let Some(smaller) = for_kv_cache(diagnosis) {
        return smaller;
    }
    if phase == Some(Phase::Generation) || diagnosis.is_generating() {
        return for_inference();
    }
    let outside = matches!(category, Some(Category::Inputs | Category::Parameters));
    if outside && diagnosis.process().is_some() {
        return fewer_logits(diagnosis).into_iter().chain(for_inputs(diagnosis)).collect();
    }
    for_training(diagnosis)
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
fn for_buffers(diagnosis: &Diagnosis<'_>) -> Vec<Remedy> {
    let peak = diagnosis
        .space
        .map(|space| diagnosis.by_call_site(space.peak_by_stack()))
        .unwrap_or_default();
    let fewer = match peak.first() {
        Some((call_site, bytes)) => {
            format!("use fewer or smaller buffers at {call_site}, which allocated most: {bytes}")
        }
        None => "free buffers that are no longer needed before this request".to_owned(),
    };
    vec![Remedy::advice(fewer), Remedy::advice(in_pieces(diagnosis, None))]
}

/// It ran out outside any module: in a computation of the program's own.
fn for_inputs(diagnosis: &Diagnosis<'_>) -> Vec<Remedy> {
    let space = diagnosis.incident.and_then(|incident| incident.free_space.as_ref());
    vec![
        Remedy::advice(in_pieces(diagnosis, space.map(|space| space.usable_largest))),
        Remedy::advice("keep less on the device, with a smaller batch or shorter sequences"),
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
