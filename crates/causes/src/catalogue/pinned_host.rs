//! Pinned host memory grows, or ran out.

use whyoom_memory::{Interface, Space};
use whyoom_trace::{Bytes, DeviceId, Software, StackId, Symptom};

use crate::{
    cause::Cause,
    diagnosis::Diagnosis,
    finding::{Basis, Evidence, Finding, Remedy, Strength},
    leak_site::{missing_call, pinned_steadily},
};

pub(super) const CAUSE: Cause = Cause {
    id: "pinned-host",
    title: "pinned host memory ran out, or grows",
    explanation: "\
Pinned (page-locked) memory is host memory that the system can neither move nor swap out. It is not
a cache: the system cannot reclaim it, and when it runs out, programs on the host fail or are
killed. The GPU itself may be nearly empty.

Symptoms: cudaMallocHost or cudaHostAlloc fails while the GPU has free memory; \"CUDA error: out of
memory\" in a loader's pin memory thread; resident memory that rises with every batch; a data loader
with pin_memory that exceeds the machine's memory.

Why it happens: a buffer is pinned for every batch and not freed; PyTorch caches freed pinned memory
for reuse, in sizes rounded up to powers of two; a limit on locked memory (ulimit -l, a cgroup; WSL
has a low limit of its own).

What helps: pin a few buffers once and reuse them, free what is not needed, use fewer prefetching
workers.",
    check,
};

/// How many places are listed.
const LISTED: usize = 3;
fn check(diagnosis: &Diagnosis<'_>) -> Option<Finding> {
    if diagnosis.symptom() == Some(Symptom::PinnedOutOfMemory) {
        return Some(told(diagnosis));
    }
    let space = diagnosis.space.filter(|_| diagnosis.device == DeviceId::HOST)?;
    space.driver()?;
    let refused = diagnosis.incident.filter(|incident| incident.of_driver);
    let mut finding = match Growing::of(diagnosis, space) {
        Some(growing) => growing.finding(diagnosis),
        None if refused.is_some() => ran_out(diagnosis, space),
        None => return None,
    };
    let pinned = space.totals().active;
    finding.evidence.push(Evidence::bytes("pinned at the end", pinned, Basis::Recorded));
    for (call_site, bytes) in diagnosis.by_call_site(space.live_by_stack()).into_iter().take(LISTED)
    {
        finding.point_at(call_site, format!("{bytes} still pinned"));
    }
    Some(finding)
}

/// Pinned memory that grows.
struct Growing {
    worst: StackId,
    each: Bytes,
    times: u64,
    total: Bytes,
    interface: Interface,
}

impl Growing {
    fn of(diagnosis: &Diagnosis<'_>, space: &Space) -> Option<Self> {
        let of_iterations = diagnosis.growth.as_ref().and_then(|growth| {
            let worst = growth.stacks.first()?.stack;
            Some(Self {
                worst,
                each: growth.per_iteration,
                times: growth.iterations,
                total: growth.total,
                interface: interface_at(space, worst),
            })
        });
        of_iterations.or_else(|| Self::of_places(diagnosis, space))
    }

    /// Places that pinned more again and again, up to the end.
    fn of_places(diagnosis: &Diagnosis<'_>, space: &Space) -> Option<Self> {
        let (worst, total) = pinned_steadily(diagnosis, space)?;
        Some(Self {
            each: Bytes(worst.usage.bytes.0 / worst.occasions.max(1)),
            times: worst.occasions,
            total,
            interface: worst.interface,
            worst: worst.worst,
        })
    }

    fn finding(&self, diagnosis: &Diagnosis<'_>) -> Finding {
        let Self { each, times, total, .. } = self;
        let mut finding = diagnosis.finding(
            CAUSE.id,
            Strength::Explains,
            format!("Pinned host memory grows by {each} at a time and is not freed"),
            format!(
                "{times} allocations left {total} pinned. This is host memory, not GPU memory."
            ),
        );
        finding.reclaimable = Some(*total);
        finding.evidence.extend([
            Evidence::bytes("growth per allocation", *each, Basis::Computed),
            Evidence::count("times", *times, Basis::Computed),
        ]);
        finding.remedies = remedies(diagnosis, self.worst, self.interface, *total);
        finding
    }
}

fn ran_out(diagnosis: &Diagnosis<'_>, space: &Space) -> Finding {
    let pinned = space.totals().active;
    let refused = refused(diagnosis);
    let mut finding = diagnosis.finding(
        CAUSE.id,
        Strength::Explains,
        refused,
        format!("This process already had {pinned} pinned."),
    );
    finding.reclaimable = Some(pinned);
    if let Some((worst, _)) = space.live_by_stack().first() {
        finding.remedies = remedies(diagnosis, *worst, interface_at(space, *worst), pinned);
    }
    finding.remedies.push(see_limit());
    finding
}

/// The headline of a refusal.
fn refused(diagnosis: &Diagnosis<'_>) -> String {
    let what = match diagnosis.observed.requested {
        Some(bytes) => format!("{bytes} of pinned host memory"),
        None => "Pinned host memory".to_owned(),
    };
    format!("{what} could not be allocated; the GPU is not full")
}

fn see_limit() -> Remedy {
    Remedy::line("ulimit -l", "shows whether locked memory is limited here")
}

/// How the call site took what it still has.
fn interface_at(space: &Space, stack: StackId) -> Interface {
    let mut blocks = space.driver().into_iter().flat_map(|driver| driver.layer().blocks());
    let left = blocks.find(|(_, block)| block.stack == stack);
    left.map_or(Interface::Pinned, |(_, block)| block.interface)
}

fn remedies(
    diagnosis: &Diagnosis<'_>,
    worst: StackId,
    interface: Interface,
    frees: Bytes,
) -> Vec<Remedy> {
    let call_site = diagnosis.call_site(worst);
    if !diagnosis.has_pytorch(worst) {
        let what = match interface {
            Interface::Registered => {
                format!("unregister each buffer that {call_site} locks, when its copy is complete")
            }
            _ => format!("free each buffer that {call_site} pins, or pin one and reuse it"),
        };
        return vec![Remedy::example(missing_call(interface), what).freeing(frees)];
    }
    let by_loader =
        diagnosis.tables.frames(worst).any(|frame| frame.file.contains("torch/utils/data"));
    let once = Remedy::example(
        "staging = torch.empty_like(batch, pin_memory=True)",
        format!(
            "pin one buffer before the loop and copy into it (staging.copy_(batch)), instead of \
             what {call_site} pins; or drop each pinned batch after its copy: PyTorch reuses its memory"
        ),
    )
    .freeing(frees);
    let loader = Remedy::example(
        "DataLoader(..., num_workers=2, prefetch_factor=2)",
        "pin fewer batches ahead; or pin a few buffers once and copy into them",
    );
    vec![if by_loader { loader } else { once }]
}

/// A message names pinned memory, or code that was pinning.
fn told(diagnosis: &Diagnosis<'_>) -> Finding {
    let refused = refused(diagnosis);
    let mut finding = diagnosis.finding(
        CAUSE.id,
        Strength::Explains,
        refused,
        "The system limits how much memory can be locked: a fraction of the host's memory, a limit \
         of the user or the container, in WSL a small part.",
    );
    finding.evidence.push(Evidence::text("message", diagnosis.message(), Basis::Message));
    finding.remedies = match diagnosis.software() {
        Some(Software::PyTorch) => vec![
            Remedy::example(
                "DataLoader(..., pin_memory=False)",
                "turn pinning off: no pinned memory is needed then, and copies to the GPU are slower",
            ),
            see_limit(),
        ],
        Some(Software::Xla | Software::TensorFlow) => vec![
            Remedy::advice(
                "keep less on the host in pinned memory: offload fewer arrays, or smaller ones",
            ),
            see_limit(),
            Remedy::line(
                "export XLA_PJRT_GPU_HOST_MEMORY_LIMIT_GB=128",
                "JAX's own limit is 64 by default; only if the machine has that much",
            ),
        ],
        _ => vec![
            Remedy::line(
                "ulimit -l unlimited",
                "before the program starts; in a container: docker run --ulimit memlock=-1",
            ),
            Remedy::line("free -h", "shows whether the host has any memory left"),
        ],
    };
    finding
}
