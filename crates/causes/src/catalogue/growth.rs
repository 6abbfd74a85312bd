//! Live bytes grow from iteration to iteration.

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
the except block retries.

What helps: find what keeps the tensors of the named line alive. The allocator cannot know: it only
sees that nobody gives them back.",
    check,
};

/// How many growing stacks are listed.
const LISTED: usize = 3;

fn check(scene: &Scene<'_>) -> Option<Finding> {
    let growth = scene.growth.as_ref()?;
    let lacking = scene.situation.lacking();
    let covers = lacking.is_none_or(|lacking| growth.total >= lacking);
    let strength = if covers { Strength::Explains } else { Strength::Contributing };
    let worst = growth.stacks.first()?;
    let place = scene.place(worst.stack);
    let mut finding = scene.finding(
        CAUSE.id,
        strength,
        format!("Memory grows by {} every iteration and is not given back", growth.per_iteration),
        format!(
            "{} iterations added {}; {} of it was made at {place}.",
            growth.iterations, growth.total, worst.usage.bytes
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
    for stack in growth.stacks.iter().take(LISTED) {
        let label = format!("kept, from {}", scene.place(stack.stack));
        finding.evidence.push(Evidence::bytes(label, stack.usage.bytes, Basis::Recorded));
    }
    finding.remedies = vec![
        Remedy::line(
            "total += loss.item()",
            format!("if a running sum keeps what {place} makes: add a number, not the tensor"),
        )
        .freeing(growth.total),
        Remedy::line(
            "outputs.append(y.detach().cpu())",
            "if a list keeps it: collect on the host, without the graph",
        )
        .freeing(growth.total),
    ];
    Some(finding)
}
