//! CUDA graphs or memory pools keep segments that nothing else can use.

use whyoom_trace::{Bytes, PoolId};

use crate::{
    cause::Cause,
    diagnosis::Diagnosis,
    finding::{Basis, Evidence, Finding, Remedy, Strength},
};

pub(super) const CAUSE: Cause = Cause {
    id: "private-pool",
    title: "CUDA graphs or memory pools keep memory that nothing else can use",
    explanation: "\
A CUDA graph replays with exactly the addresses it was captured with, so PyTorch gives each capture
(and each torch.cuda.MemPool) a private pool. Free memory in it is not available to anything else,
and is released only when the graph or pool is deleted.

Symptoms: \"with 4.20 GiB allocated in private pools (e.g., CUDA Graphs)\" in the message. (Despite
the wording, this is what those pools have *free*.) A snapshot shows segments whose pool is not (0,
0).

What helps: share one pool among graphs, capture fewer graphs, delete those that are no longer
replayed.",
    check,
};

fn check(diagnosis: &Diagnosis<'_>) -> Option<Finding> {
    if !diagnosis.device_ran_out() {
        return state_only(diagnosis);
    }
    let observed = &diagnosis.observed;
    let (private, requested) = (observed.private_free?, observed.requested?);
    let shortfall = observed.shortfall()?;
    if private == Bytes::ZERO || private < shortfall {
        return None;
    }
    let explains = observed.cached.is_none_or(|cached| private > cached);
    let strength = if explains { Strength::Explains } else { Strength::Contributing };
    let mut finding = diagnosis.finding(
        CAUSE.id,
        strength,
        format!(
            "{private} is free inside private pools ({}), where this request cannot use it",
            whose(diagnosis)
        ),
        format!("The request of {requested} fell {shortfall} short."),
    );
    finding.reclaimable = Some(private);
    add_pools(diagnosis, &mut finding);
    finding.remedies = remedies_for(diagnosis);
    Some(finding)
}

/// Without an out-of-memory it is worth a word where private pools hold most of the memory. A run that was seen
/// from its start, and lacked nothing, may have as many of them as it likes.
fn state_only(diagnosis: &Diagnosis<'_>) -> Option<Finding> {
    if diagnosis.incident.is_some() || diagnosis.process().is_some() {
        return None;
    }
    let space = diagnosis.space?;
    let free = space.free_space();
    let (private, reserved) = (free.private_pools_reserved, space.totals().reserved);
    if private.share_of(reserved) < 0.25 {
        return None;
    }
    let mut finding = diagnosis.finding(
        CAUSE.id,
        Strength::Contributing,
        format!("{private} of {reserved} belongs to private pools (CUDA graphs, MemPool)"),
        format!(
            "{} of it is free there, and not available to anything outside.",
            free.private_pools
        ),
    );
    finding.reclaimable = Some(free.private_pools);
    add_pools(diagnosis, &mut finding);
    finding.remedies = remedies();
    Some(finding)
}

/// Whose pools they are: a recording tells those of captures from others.
fn whose(diagnosis: &Diagnosis<'_>) -> &'static str {
    let space = diagnosis.incident.and_then(|incident| incident.free_space.as_ref());
    match space {
        Some(space) if space.private_pools == Bytes::ZERO => "torch.cuda.MemPool",
        Some(space) if space.in_kept_segments > Bytes::ZERO && diagnosis.driver().is_some() => {
            "CUDA graphs, torch.cuda.MemPool"
        }
        _ => "CUDA graphs",
    }
}

fn add_pools(diagnosis: &Diagnosis<'_>, finding: &mut Finding) {
    let Some(space) = diagnosis.space else { return };
    for (pool, bytes) in
        space.reserved_by_pool().into_iter().filter(|(p, _)| *p != PoolId(0)).take(3)
    {
        let (first, second) = diagnosis.tables.pool_name(pool);
        let label = format!("reserved by pool ({first}, {second})");
        finding.evidence.push(Evidence::bytes(label, bytes, Basis::Recorded));
    }
}

/// A pool that a program made for itself is of no graph.
fn remedies_for(diagnosis: &Diagnosis<'_>) -> Vec<Remedy> {
    let mut remedies = remedies();
    if whose(diagnosis) == "torch.cuda.MemPool" {
        remedies.remove(0);
    }
    remedies
}

fn remedies() -> Vec<Remedy> {
    vec![
        Remedy::example(
            "torch.cuda.graph(g, pool=first_graph.pool())",
            "let graphs that never run at the same time share one pool",
        ),
        Remedy::advice(
            "capture fewer batch sizes; delete graphs that are no longer replayed, and a \
             torch.cuda.MemPool when it is no longer needed: its memory is released with it",
        ),
    ]
}
