//! CUDA graphs or memory pools keep segments that nothing else can use.

use whyoom_trace::{Bytes, PoolId};

use crate::{
    cause::Cause,
    finding::{Basis, Evidence, Finding, Remedy, Strength},
    scene::Scene,
};

pub(super) const CAUSE: Cause = Cause {
    id: "private-pool",
    title: "CUDA graphs or memory pools keep memory that nothing else can use",
    explanation: "\
A CUDA graph replays with the very addresses it was captured with, so PyTorch gives each capture (and
each torch.cuda.MemPool) a private pool. Free memory in there is invisible to everybody else, and is
given back only when the graph or pool is gone.

What it looks like: \"with 4.20 GiB allocated in private pools (e.g., CUDA Graphs)\" in the message. (The
figure is what those pools have *free*, in spite of its words.) A snapshot shows segments whose pool
is not (0, 0).

What helps: share one pool among graphs, capture fewer of them, delete those that are no longer
replayed.",
    check,
};

fn check(scene: &Scene<'_>) -> Option<Finding> {
    if !scene.device_ran_out() {
        return state_only(scene);
    }
    let situation = &scene.situation;
    let (private, requested) = (situation.private_free?, situation.requested?);
    let lacking = situation.lacking()?;
    if private == Bytes::ZERO || private < lacking {
        return None;
    }
    let explains = situation.cached.is_none_or(|cached| private > cached);
    let strength = if explains { Strength::Explains } else { Strength::Contributing };
    let mut finding = scene.finding(
        CAUSE.id,
        strength,
        format!(
            "{private} is free inside private pools ({}), where this request cannot use it",
            whose(scene)
        ),
        format!("{lacking} was missing for the {requested} that was asked for."),
    );
    finding.gives_back = Some(private);
    add_pools(scene, &mut finding);
    finding.remedies = remedies_for(scene);
    Some(finding)
}

/// Without an out-of-memory it is worth a word where private pools hold most of the memory. A run that was seen
/// from its start, and lacked nothing, may have as many of them as it likes.
fn state_only(scene: &Scene<'_>) -> Option<Finding> {
    if scene.incident.is_some() || scene.facts().is_some() {
        return None;
    }
    let space = scene.space?;
    let free = space.free_space();
    let (private, reserved) = (free.private_pools_reserved, space.totals().reserved);
    if private.share_of(reserved) < 0.25 {
        return None;
    }
    let mut finding = scene.finding(
        CAUSE.id,
        Strength::Contributing,
        format!("{private} of {reserved} belongs to private pools (CUDA graphs, MemPool)"),
        format!("{} of it is free there, and usable by nothing outside.", free.private_pools),
    );
    finding.gives_back = Some(free.private_pools);
    add_pools(scene, &mut finding);
    finding.remedies = remedies();
    Some(finding)
}

/// Whose pools they are: a recording tells those of captures from others.
fn whose(scene: &Scene<'_>) -> &'static str {
    let space = scene.incident.and_then(|incident| incident.free_space.as_ref());
    match space {
        Some(space) if space.private_pools == Bytes::ZERO => "torch.cuda.MemPool",
        Some(space) if space.in_kept_segments > Bytes::ZERO && scene.driver().is_some() => {
            "CUDA graphs, torch.cuda.MemPool"
        }
        _ => "CUDA graphs",
    }
}

fn add_pools(scene: &Scene<'_>, finding: &mut Finding) {
    let Some(space) = scene.space else { return };
    for (pool, bytes) in
        space.reserved_by_pool().into_iter().filter(|(p, _)| *p != PoolId(0)).take(3)
    {
        let (first, second) = scene.tables.pool_name(pool);
        let label = format!("reserved by pool ({first}, {second})");
        finding.evidence.push(Evidence::bytes(label, bytes, Basis::Recorded));
    }
}

/// A pool that a program made for itself is of no graph.
fn remedies_for(scene: &Scene<'_>) -> Vec<Remedy> {
    let mut remedies = remedies();
    if whose(scene) == "torch.cuda.MemPool" {
        remedies.remove(0);
    }
    remedies
}

fn remedies() -> Vec<Remedy> {
    vec![
        Remedy::line(
            "torch.cuda.graph(g, pool=first_graph.pool())",
            "let graphs that never run at the same time share one pool",
        ),
        Remedy::advice(
            "capture fewer batch sizes; delete graphs that are no longer replayed, and a torch.cuda.MemPool when \
             its work is done: its memory goes back with it",
        ),
    ]
}
