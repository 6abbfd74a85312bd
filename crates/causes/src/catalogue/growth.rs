//! Live bytes grow from iteration to iteration.

use whyoom_trace::{Bytes, DeviceId};

use crate::{
    cause::Cause,
    finding::{Basis, Evidence, Finding, Remedy, Strength},
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
sees that nobody gives them back.",
    check,
};

/// How many growing places are listed.
const LISTED: usize = 3;

fn check(scene: &Scene<'_>) -> Option<Finding> {
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
        Evidence::count("iterations looked at", growth.iterations, Basis::Computed),
        Evidence::text("iterations found by", growth.source.describe(), Basis::Computed),
        Evidence::text(
            "fit of a straight line (R²)",
            format!("{:.3}", growth.r_squared),
            Basis::Computed,
        ),
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
    finding.remedies = if scene.is_compiled(worst.stack) {
        for_compiled(place, growth.total)
    } else {
        for_python(place, growth.total)
    };
    Some(finding)
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

fn for_python(place: &str, total: Bytes) -> Vec<Remedy> {
    vec![
        Remedy::line(
            "total += loss.item()",
            format!("if a running sum keeps what {place} makes: add a number, not the tensor"),
        )
        .freeing(total),
        Remedy::line(
            "outputs.append(y.detach().cpu())",
            "if a list keeps it: collect on the host, without the graph",
        )
        .freeing(total),
        Remedy::line(
            "errors.append(str(error))",
            "if an exception is kept: its traceback keeps the variables of every function it passed",
        )
        .freeing(total),
    ]
}

fn for_compiled(place: &str, total: Bytes) -> Vec<Remedy> {
    let what = format!(
        "let an owner free what {place} allocates: then no early return and no exception skips it"
    );
    let line = "std::unique_ptr<void, decltype(&cudaFree)> owner(pointer, cudaFree);";
    vec![Remedy::line(line, what).freeing(total)]
}
