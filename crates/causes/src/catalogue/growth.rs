//! Live bytes grow from iteration to iteration.

use whyoom_memory::{Growth, Interface, Retention, Site, Space, call_site};
use whyoom_trace::{Bytes, Counter, DeviceId, Software, StackId, Symptom};

use crate::{
    cause::Cause,
    diagnosis::Diagnosis,
    finding::{Basis, Evidence, Finding, Remedy, Strength},
    leak_site::driver_sites,
    library_frames::{self, Phase},
    quotation_marks::within_quotes,
    referrer::RetentionKind,
};

pub(super) const CAUSE: Cause = Cause {
    id: "growth",
    title: "allocated memory grows from iteration to iteration",
    explanation: "\
At the same point of each iteration more memory is allocated than in the previous one, and it is
never freed. Sooner or later any device is full; a smaller batch only delays it.

Symptoms: the first steps run, a later one runs out of memory. memory_allocated() after each step
rises linearly.

Why it happens: `total += loss` keeps the whole graph of every step (use loss.item() or
loss.detach()); a list collects outputs on the GPU (move them to the host, or reduce them early);
evaluation runs without torch.no_grad(); an exception's traceback keeps the frames, and so their
tensors, alive while the except block retries. In C and C++: a return or an exception skips the
free.

What helps: find what keeps the tensors allocated at the reported line alive. The allocator only
sees that they are not freed. Python knows more: `whyoom run --keepers -- CMD` reports the variable,
list or exceptions that reference them.",
    check,
};

/// How many growing places are listed.
const LISTED: usize = 3;

/// A text that shows what was in use, again and again, and that it rose.
fn reported_in_text(diagnosis: &Diagnosis<'_>) -> Option<Finding> {
    let observed = &diagnosis.observed;
    let room = diagnosis.incident?.counter(Counter::RoomLeft);
    let (what, verb, first, last) = match room.zip(observed.free) {
        Some((first, last)) => ("Free memory", "falls", first, last),
        None => ("Memory in use", "rises", observed.allocated?, observed.process_used?),
    };
    let mut finding = diagnosis.finding(
        CAUSE.id,
        Strength::Explains,
        format!(
            "{what} {verb} from {first} to {last} in this log: something is kept in each round"
        ),
        format!("It {verb} from reading to reading, until memory runs out."),
    );
    finding.reclaimable = Some(Bytes(first.0.abs_diff(last.0)));
    // The readings, by their own names: they are of the device, not of an allocator.
    finding
        .evidence
        .retain(|item| !["allocated", "free on the device"].contains(&item.label.as_str()));
    let label = what.to_lowercase();
    finding.evidence.extend([
        Evidence::bytes(format!("{label} at the first reading"), first, Basis::Message),
        Evidence::bytes(format!("{label} at the last reading"), last, Basis::Message),
    ]);
    let kept = match diagnosis.software() {
        Some(Software::Program) => "an allocation without its free, a cache",
        _ => "a list of outputs, a sum of losses, a cache",
    };
    finding.remedies = vec![
        diagnosis.rerun("", "rerun it like this: it reports the line that grows"),
        Remedy::advice(format!(
            "find what is kept from one round to the next: {kept}; the first rounds fit"
        )),
    ];
    Some(finding)
}

fn check(diagnosis: &Diagnosis<'_>) -> Option<Finding> {
    if diagnosis.symptom() == Some(Symptom::UsageGrew) {
        return reported_in_text(diagnosis);
    }
    // Pinned memory that grows is a cause of its own.
    let growth = diagnosis.growth.as_ref().filter(|_| !is_pinned(diagnosis))?;
    let shortfall = diagnosis.observed.shortfall();
    let covers = shortfall.is_none_or(|shortfall| growth.total >= shortfall);
    let strength = match covers {
        true if is_harmless(diagnosis) => Strength::Likely,
        true => Strength::Explains,
        false => Strength::Contributing,
    };
    let worst = growth.stacks.first()?;
    let stacks = growth.stacks.iter().map(|growing| (growing.stack, growing.usage)).collect();
    let call_sites = diagnosis.by_call_site(stacks);
    let (call_site, _) = call_sites.first()?;
    let mut finding = diagnosis.finding(
        CAUSE.id,
        strength,
        headline(diagnosis, growth),
        format!("{} iterations added {}.", growth.iterations, growth.total),
    );
    if !is_of_allocator(diagnosis, worst.stack)
        && let Some(unfreed) = unfreed_allocations(diagnosis, call_site)
    {
        finding.because.push_str(&format!(" {unfreed}"));
    }
    finding.reclaimable = Some(growth.total);
    finding.evidence.extend([
        Evidence::bytes("growth per iteration", growth.per_iteration, Basis::Computed),
        Evidence::count("iterations that leave memory behind", growth.iterations, Basis::Computed),
        Evidence::text("iterations detected by", growth.source.describe(), Basis::Computed),
        Evidence::text("at 95 % confidence", confidence(growth), Basis::Computed),
        Evidence::bytes("total growth", growth.total, Basis::Computed),
    ]);
    let state = match is_freed_at_exit(diagnosis, growth) {
        true => "kept until the program exited",
        false => "still allocated",
    };
    for (call_site, bytes) in call_sites.iter().take(LISTED) {
        finding.point_at(call_site, format!("{bytes} {state}"));
    }
    if diagnosis.exited() {
        let text = "the driver freed everything: the next program finds the device as this one did";
        finding.evidence.push(Evidence::text("after the program exited", text, Basis::Recorded));
    }
    add_hold(growth, &mut finding);
    let by_library = library_frames::of_stack(diagnosis.tables, worst.stack);
    // Other settings of a library make one step smaller, and leave the growth.
    if let Some(advice) = by_library.filter(|advice| advice.phase == Some(Phase::Predictions)) {
        finding.remedies = advice.remedies;
        return Some(finding);
    }
    finding.remedies =
        match (is_of_allocator(diagnosis, worst.stack), diagnosis.is_compiled(worst.stack)) {
            (true, true) if call_site.starts_with("backward of") => {
                of_backward(diagnosis, call_site, growth.total)
            }
            (_, true) if growth.is_replaced => replaced_once(call_site),
            (_, true) if is_freed_later(diagnosis, growth) => keep_less(call_site, growth.total),
            (_, true) => for_compiled(call_site, growth.total),
            (false, false) if !is_of_arrays(diagnosis, worst.stack) => {
                vec![freed_by_hand(call_site, growth.total)]
            }
            (_, false) => for_python(diagnosis, growth, call_site),
        };
    Some(finding)
}

fn headline(diagnosis: &Diagnosis<'_>, growth: &Growth) -> String {
    let Growth { per_iteration, total, .. } = growth;
    if growth.is_replaced {
        return format!(
            "A buffer is replaced by a larger one again and again: it has grown to {total}, and the \
             old one stays until the new one exists"
        );
    }
    match is_freed_later(diagnosis, growth) {
        true => format!(
            "Memory grows by {per_iteration} every iteration; the program frees it only after the \
             failure"
        ),
        false if is_freed_at_exit(diagnosis, growth) => {
            format!("Memory grows by {per_iteration} every iteration and is freed only at exit")
        }
        false => format!("Memory grows by {per_iteration} every iteration and is not freed"),
    }
}

/// Returns how many of a line's allocations from the driver were not freed, as a sentence. `None` if the line freed
/// none: then all of them grow.
fn unfreed_allocations(diagnosis: &Diagnosis<'_>, line: &str) -> Option<String> {
    let of_line =
        driver_sites(diagnosis).filter(|(stack, _)| call_site(diagnosis.tables, *stack) == line);
    let sum = of_line.fold(Site::default(), |sum, (_, site)| Site {
        made: sum.made + site.made,
        ended: sum.ended + site.ended,
    });
    let freed_some = sum.ended > 0 && sum.left() > 0;
    freed_some
        .then(|| format!("{} of {} allocations of this line were not freed.", sum.left(), sum.made))
}

/// Whether the interpreter gave back on its way out what the program had kept.
fn is_freed_at_exit(diagnosis: &Diagnosis<'_>, growth: &Growth) -> bool {
    let left = diagnosis.space.filter(|space| space.has_allocator()).map(Space::totals);
    let is_freed = left.is_some_and(|left| left.active.0 < growth.total.0 / 10);
    diagnosis.incident.is_none() && diagnosis.exited() && is_freed
}

/// Whether the program itself freed everything in the end: then something owns it, and keeps too much.
fn is_freed_later(diagnosis: &Diagnosis<'_>, growth: &Growth) -> bool {
    let left = diagnosis.space.filter(|space| !space.has_allocator()).map(Space::totals);
    diagnosis.exited() && left.is_some_and(|left| left.active.0 < growth.total.0 / 10)
}

/// What is replaced by a larger one needs the memory of both for a moment.
fn replaced_once(call_site: &str) -> Vec<Remedy> {
    vec![
        Remedy::advice(format!(
            "allocate the final size once, before the loop, instead of a larger buffer each time at \
             {call_site}"
        )),
        Remedy::advice("or free the old buffer first, if its contents are not needed"),
    ]
}

fn keep_less(call_site: &str, total: Bytes) -> Vec<Remedy> {
    let what = format!(
        "keep fewer of the buffers that {call_site} allocates at a time: load them when they are \
         needed, free them when they are not"
    );
    vec![Remedy::advice(what).freeing(total)]
}

/// What keeps the blocks, where the places that made them tell.
fn add_hold(growth: &Growth, finding: &mut Finding) {
    let told = match growth.hold {
        Retention::Graph { inside } => format!(
            "autograd's saved tensors: {inside} was allocated inside layers, before the model's \
             output"
        ),
        Retention::Value => "a value that the program keeps: one block per iteration".to_owned(),
        Retention::Unknown => return,
    };
    finding.evidence.push(Evidence::text("what keeps it", told, Basis::Computed));
}

/// The slope with what it may be off by.
fn confidence(growth: &Growth) -> String {
    let (low, high) = growth.interval;
    format!("{} ± {} per iteration", growth.per_iteration, Bytes(high.minus(low).0.div_ceil(2)))
}

fn is_pinned(diagnosis: &Diagnosis<'_>) -> bool {
    diagnosis.device == DeviceId::HOST
        && diagnosis.space.is_some_and(|space| space.driver().is_some())
}

/// A program without a caching allocator that ended in order and never lacked memory: it grew, and
/// nothing came of it.
fn is_harmless(diagnosis: &Diagnosis<'_>) -> bool {
    let own = diagnosis.space.is_some_and(|space| !space.has_allocator());
    own && diagnosis.incident.is_none() && diagnosis.exited()
}

/// Whether a stack's memory came from a caching allocator, and not from the driver. Where that is not told, it is
/// taken to.
fn is_of_allocator(diagnosis: &Diagnosis<'_>, stack: StackId) -> bool {
    let live = diagnosis.incident.map_or(&[][..], |incident| &incident.live);
    live.iter()
        .find(|sum| sum.stack == stack)
        .is_none_or(|sum| sum.interface == Interface::Allocator)
}

/// Libraries whose arrays take memory from the driver, and give it back when nobody has them any more.
const ARRAYS: [&str; 6] = ["cupy", "numba", "jax", "tensorflow", "pycuda", "rmm"];

fn is_of_arrays(diagnosis: &Diagnosis<'_>, stack: StackId) -> bool {
    let mut frames = diagnosis.tables.frames(stack);
    frames.any(|frame| ARRAYS.iter().any(|library| frame.file.contains(library)))
}

/// Memory that Python code takes from the driver itself: nothing frees it when a variable goes.
fn freed_by_hand(call_site: &str, total: Bytes) -> Remedy {
    let what = format!(
        "only {call_site} can free what it allocates from the driver: free it in a `finally` block or a \
         context manager, so that no exception and no early return skips it"
    );
    Remedy::advice(what).freeing(total)
}

/// Tensors that PyTorch makes where no Python code runs: in backward.
fn of_backward(diagnosis: &Diagnosis<'_>, call_site: &str, total: Bytes) -> Vec<Remedy> {
    let what = format!(
        "something keeps what backward allocates at {call_site}: a hook that collects gradients (keep \
         only the last one, or `.detach().cpu()`), or retain_graph=True"
    );
    vec![Remedy::advice(what).freeing(total), ask_python(diagnosis)]
}

/// What to write instead, by what keeps the tensors.
const SUM: &str = "total += loss.item()";
const LIST: &str = "outputs.append(y.detach().cpu())";
const STATE: &str = "state = state.detach()";
const EXCEPTION: &str = "errors.append(str(error))";
const NO_GRAPH: &str = "with torch.no_grad():";
const ASK_PYTHON: &str = "whyoom run --keepers";

/// What to do, in the order of what the places tell: first what they speak for.
fn for_python(diagnosis: &Diagnosis<'_>, growth: &Growth, call_site: &str) -> Vec<Remedy> {
    let total = growth.total;
    let sum = Remedy::example(
        SUM,
        format!("if a running sum keeps what {call_site} allocates: add a number, not the tensor"),
    )
    .freeing(total);
    let list = Remedy::example(LIST, "if a list keeps it: collect on the host, without the graph")
        .freeing(total);
    let exception = Remedy::example(
        EXCEPTION,
        "if an exception is kept: its traceback references the variables of every function it \
         passed",
    )
    .freeing(total);
    match growth.hold {
        Retention::Value => {
            let what = format!(
                "keep what {call_site} allocates on the host, without the graph; for a loss keep the \
                 number, loss.item()"
            );
            vec![Remedy::example(LIST, what).freeing(total), ask_python(diagnosis)]
        }
        Retention::Graph { inside } if !growth.backward => {
            let what = format!(
                "run the loop that calls {call_site} without a graph: backward is not called in it"
            );
            let without = Remedy::example(NO_GRAPH, what).freeing(inside);
            vec![without, ask_python(diagnosis), list, sum, exception]
        }
        Retention::Graph { .. } => {
            let state = Remedy::example(
                STATE,
                "if a state is carried from one step to the next: detach it, and drop retain_graph",
            );
            vec![sum, ask_python(diagnosis), state.freeing(total), list, exception]
        }
        Retention::Unknown => vec![list, ask_python(diagnosis), sum, exception],
    }
}

/// The line that has Python itself say what keeps the tensors.
fn ask_python(diagnosis: &Diagnosis<'_>) -> Remedy {
    let what = "names the variable, list or exception that keeps them";
    diagnosis.rerun(" --keepers", what)
}

/// Where Python told what keeps the blocks, the remedy for that comes first, and the others go.
pub(crate) fn order_by_referrer(finding: &mut Finding, way: RetentionKind, name: &str) {
    let name = within_quotes(name);
    let (line, what) = match way {
        RetentionKind::Variable => {
            (SUM, format!("\"{name}\" keeps the tensors: add numbers to it, not tensors"))
        }
        RetentionKind::Container => {
            (LIST, format!("\"{name}\" keeps them: collect on the host, without the graph"))
        }
        RetentionKind::Exceptions => (
            EXCEPTION,
            format!(
                "exceptions in \"{name}\" reference the variables of every function they passed"
            ),
        ),
    };
    let frees = finding.reclaimable;
    let remedy = Remedy { frees, ..Remedy::example(line, what) };
    let guesses = [SUM, LIST, STATE, EXCEPTION];
    finding.remedies.retain(|other| {
        let code = other.code().unwrap_or_default();
        !guesses.contains(&code) && !code.starts_with(ASK_PYTHON)
    });
    finding.remedies.insert(0, remedy);
}

fn for_compiled(call_site: &str, total: Bytes) -> Vec<Remedy> {
    let free = format!(
        "call cudaFree (driver API: cuMemFree) for what {call_site} allocates, when it is no longer \
         needed and on every path out"
    );
    let own = "in C++, let an object own it";
    let owner = "std::unique_ptr<void, decltype(&cudaFree)> owner(pointer, cudaFree);";
    vec![Remedy::advice(free).freeing(total), Remedy::example(owner, own)]
}
