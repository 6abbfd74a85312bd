//! Live bytes grow from iteration to iteration.

use whyoom_memory::{Growth, Hold, Interface};
use whyoom_trace::{Bytes, DeviceId, StackId, Symptom};

use crate::{
    cause::Cause,
    command::for_shell,
    finding::{Basis, Evidence, Finding, Remedy, Strength},
    keepers::Way,
    scene::Scene,
};

pub(super) const CAUSE: Cause = Cause {
    id: "growth",
    title: "memory in use grows from iteration to iteration",
    explanation: "\
At the same point of each iteration more is in use than in the one before, and it does not come back.
Sooner or later any device is full; a smaller batch only makes it later.

What it looks like: the first steps run, a later one runs out. memory_allocated() after each step
rises in a straight line.

Why it happens: `total += loss` keeps every step's whole graph (use loss.item() or loss.detach()); a
list collects outputs on the GPU (move them to the host, or reduce them early); evaluation runs
without torch.no_grad(); an exception's traceback keeps the frames, and so their tensors, alive while
the except block retries. In C and C++: a return or an exception skips the free.

What helps: find what keeps the tensors of the named line alive. The allocator cannot know: it only
sees that nobody gives them back. Python does: `whyoom run --keepers -- CMD` asks it, and names the variable,
the list or the exceptions that have them.",
    check,
};

/// How many growing places are listed.
const LISTED: usize = 3;

/// A text that shows what was in use, again and again, and that it rose.
fn told_by_text(scene: &Scene<'_>) -> Option<Finding> {
    let (first, last) = (scene.situation.allocated?, scene.situation.process_used?);
    let mut finding = scene.finding(
        CAUSE.id,
        Strength::Explains,
        format!("What is in use rises from {first} to {last} over the readings in this text"),
        "It goes up from one to the next and never down; where it ends, memory runs out.",
    );
    finding.gives_back = Some(last.minus(first));
    finding.remedies = vec![
        Remedy::advice(
            "find what is kept from one round to the next: a list of outputs, a sum of losses, a cache; the \
             first rounds fit",
        ),
        Remedy::advice("rerun it under `whyoom run`: it names the line that grows"),
    ];
    Some(finding)
}

fn check(scene: &Scene<'_>) -> Option<Finding> {
    if scene.symptom() == Some(Symptom::UsageGrew) {
        return told_by_text(scene);
    }
    // Pinned memory that grows is a cause of its own.
    let growth = scene.growth.as_ref().filter(|_| !is_pinned(scene))?;
    let lacking = scene.situation.lacking();
    let covers = lacking.is_none_or(|lacking| growth.total >= lacking);
    let strength = match covers {
        true if is_harmless(scene) => Strength::Likely,
        true => Strength::Explains,
        false => Strength::Contributing,
    };
    let worst = growth.stacks.first()?;
    let stacks = growth.stacks.iter().map(|growing| (growing.stack, growing.usage)).collect();
    let places = scene.by_place(stacks);
    let (place, most) = places.first()?;
    let mut finding = scene.finding(
        CAUSE.id,
        strength,
        format!("Memory grows by {} every iteration and is not given back", growth.per_iteration),
        format!(
            "{} iterations added {}; {} of it was made at {place}.",
            growth.iterations, growth.total, most
        ),
    );
    finding.gives_back = Some(growth.total);
    finding.evidence.extend([
        Evidence::bytes("growth per iteration", growth.per_iteration, Basis::Computed),
        Evidence::count("iterations that left something", growth.iterations, Basis::Computed),
        Evidence::text("iterations found by", growth.source.describe(), Basis::Computed),
        Evidence::text("with 95 % confidence", confidence(growth), Basis::Computed),
        Evidence::bytes("growth in all", growth.total, Basis::Computed),
    ]);
    for (place, bytes) in places.iter().take(LISTED) {
        let label = format!("kept, from {place}");
        finding.evidence.push(Evidence::bytes(label, *bytes, Basis::Recorded));
    }
    if scene.exited() {
        let text =
            "the driver took everything back: the next program finds the device as this one did";
        finding.evidence.push(Evidence::text("after the program's end", text, Basis::Recorded));
    }
    add_hold(growth, &mut finding);
    finding.remedies = match (is_of_allocator(scene, worst.stack), scene.is_compiled(worst.stack)) {
        (true, true) if place.starts_with("backward of") => of_backward(scene, place, growth.total),
        (_, true) => for_compiled(place, growth.total),
        (false, false) if !is_of_arrays(scene, worst.stack) => {
            vec![freed_by_hand(place, growth.total)]
        }
        (_, false) => for_python(scene, growth, place),
    };
    Some(finding)
}

/// What keeps the blocks, where the places that made them tell.
fn add_hold(growth: &Growth, finding: &mut Finding) {
    let told = match growth.hold {
        Hold::Graph { inside } => format!(
            "autograd's saved tensors: {inside} was made inside layers, before the model's output"
        ),
        Hold::Value => "a value that the program keeps: one block an iteration".to_owned(),
        Hold::Unknown => return,
    };
    finding.evidence.push(Evidence::text("what keeps it", told, Basis::Computed));
}

/// The slope with what it may be off by.
fn confidence(growth: &Growth) -> String {
    let (low, high) = growth.interval;
    format!("{} ± {} an iteration", growth.per_iteration, Bytes(high.minus(low).0.div_ceil(2)))
}

fn is_pinned(scene: &Scene<'_>) -> bool {
    scene.device == DeviceId::HOST && scene.space.is_some_and(|space| space.driver().is_some())
}

/// A program without a caching allocator that ended in order and never lacked memory: it grew, and
/// nothing came of it.
fn is_harmless(scene: &Scene<'_>) -> bool {
    let own = scene.space.is_some_and(|space| !space.has_allocator());
    own && scene.incident.is_none() && scene.exited()
}

/// Whether a stack's memory came from a caching allocator, and not from the driver. Where that is not told, it is
/// taken to.
fn is_of_allocator(scene: &Scene<'_>, stack: StackId) -> bool {
    let live = scene.incident.map_or(&[][..], |incident| &incident.live);
    live.iter()
        .find(|sum| sum.stack == stack)
        .is_none_or(|sum| sum.interface == Interface::Allocator)
}

/// Libraries whose arrays take memory from the driver, and give it back when nobody has them any more.
const ARRAYS: [&str; 6] = ["cupy", "numba", "jax", "tensorflow", "pycuda", "rmm"];

fn is_of_arrays(scene: &Scene<'_>, stack: StackId) -> bool {
    let mut frames = scene.tables.frames(stack);
    frames.any(|frame| ARRAYS.iter().any(|library| frame.file.contains(library)))
}

/// Memory that Python code takes from the driver itself: nothing frees it when a variable goes.
fn freed_by_hand(place: &str, total: Bytes) -> Remedy {
    let what = format!(
        "what {place} takes from the driver nobody else frees: free it in a `finally` block or a context manager, \
         so that no exception and no early return skips it"
    );
    Remedy::advice(what).freeing(total)
}

/// Tensors that PyTorch makes where no Python code runs: in backward.
fn of_backward(scene: &Scene<'_>, place: &str, total: Bytes) -> Vec<Remedy> {
    let what = format!(
        "something keeps what backward makes at {place}: a hook that collects gradients (keep the last one, or \
         `.detach().cpu()`), or retain_graph=True"
    );
    vec![Remedy::advice(what).freeing(total), ask_python(scene)]
}

/// What to write instead, by what keeps the tensors.
const SUM: &str = "total += loss.item()";
const LIST: &str = "outputs.append(y.detach().cpu())";
const STATE: &str = "state = state.detach()";
const EXCEPTION: &str = "errors.append(str(error))";
const NO_GRAPH: &str = "with torch.no_grad():";
const ASK_PYTHON: &str = "whyoom run --keepers";

/// What to do, in the order of what the places tell: first what they speak for.
fn for_python(scene: &Scene<'_>, growth: &Growth, place: &str) -> Vec<Remedy> {
    let total = growth.total;
    let sum = Remedy::line(
        SUM,
        format!("if a running sum keeps what {place} makes: add a number, not the tensor"),
    )
    .freeing(total);
    let list = Remedy::line(LIST, "if a list keeps it: collect on the host, without the graph")
        .freeing(total);
    let exception = Remedy::line(
        EXCEPTION,
        "if an exception is kept: its traceback keeps the variables of every function it passed",
    )
    .freeing(total);
    match growth.hold {
        Hold::Value => {
            let what = format!(
                "keep what {place} makes on the host, without the graph; of a loss its number, loss.item()"
            );
            vec![Remedy::line(LIST, what).freeing(total)]
        }
        Hold::Graph { inside } if !growth.backward => {
            let what = format!(
                "around the loop that calls {place}: backward is never called, so that no graph is needed"
            );
            let without = Remedy::line(NO_GRAPH, what).freeing(inside);
            vec![without, list, sum, exception, ask_python(scene)]
        }
        Hold::Graph { .. } => {
            let state = Remedy::line(
                STATE,
                "if a state is carried from one step to the next: cut its graph, and drop retain_graph",
            );
            vec![sum, state.freeing(total), list, exception, ask_python(scene)]
        }
        Hold::Unknown => vec![list, sum, exception, ask_python(scene)],
    }
}

/// The line that has Python itself say what keeps the tensors.
fn ask_python(scene: &Scene<'_>) -> Remedy {
    let words = scene.command().map_or("…".to_owned(), |words| {
        words.split('\0').map(for_shell).collect::<Vec<_>>().join(" ")
    });
    let line = format!("{ASK_PYTHON} -- {words}");
    Remedy::line(line, "to see which of these it is: Python then tells by which name it keeps them")
}

/// Where Python told what keeps the blocks, the remedy for that comes first, and the others go.
pub(crate) fn order_by_keeper(finding: &mut Finding, way: Way, name: &str) {
    let (line, what) = match way {
        Way::Variable => {
            (SUM, format!("\"{name}\" keeps the tensors: add numbers to it, not tensors"))
        }
        Way::Container => {
            (LIST, format!("\"{name}\" keeps them: collect on the host, without the graph"))
        }
        Way::Exceptions => (
            EXCEPTION,
            format!("exceptions in \"{name}\" keep the variables of every function they passed"),
        ),
    };
    let frees = finding.gives_back;
    let remedy = Remedy { frees, ..Remedy::line(line, what) };
    let guesses = [SUM, LIST, STATE, EXCEPTION];
    finding.remedies.retain(|other| {
        let paste = other.paste.as_deref().unwrap_or_default();
        !guesses.contains(&paste) && !paste.starts_with(ASK_PYTHON)
    });
    finding.remedies.insert(0, remedy);
}

fn for_compiled(place: &str, total: Bytes) -> Vec<Remedy> {
    let what = format!(
        "let an owner free what {place} allocates: then no early return and no exception skips it"
    );
    let line = "std::unique_ptr<void, decltype(&cudaFree)> owner(pointer, cudaFree);";
    vec![Remedy::line(line, what).freeing(total)]
}
