//! Pinned host memory grows, or ran out.

use whyoom_memory::{Interface, Space};
use whyoom_trace::{Bytes, DeviceId, Software, StackId, Symptom};

use crate::{
    cause::Cause,
    finding::{Basis, Evidence, Finding, Remedy, Strength},
    habit::{missing_call, pinned_steadily},
    scene::Scene,
};

pub(super) const CAUSE: Cause = Cause {
    id: "pinned-host",
    title: "pinned host memory ran out, or grows",
    explanation: "\
Pinned (page-locked) memory is host memory that the system may neither move nor swap out. It is no cache: the
system cannot take it back, and when it is gone, programs on the host fail or are killed. The GPU itself may
be all but empty.

What it looks like: cudaMallocHost or cudaHostAlloc fails while the GPU has room; \"CUDA error: out of memory\"
in a loader's pin memory thread; resident memory that rises with every batch; a data loader with pin_memory
that outgrows the machine.

Why it happens: a buffer is pinned for every batch and not freed; PyTorch keeps freed pinned memory for the
next use, in sizes rounded up to powers of two; a limit on locked memory (ulimit -l, a cgroup; WSL has a low
one of its own).

What helps: pin a few buffers once and reuse them, free what is not needed, fewer workers that prefetch.",
    check,
};

/// How many places are listed.
const LISTED: usize = 3;
fn check(scene: &Scene<'_>) -> Option<Finding> {
    if scene.symptom() == Some(Symptom::PinnedOutOfMemory) {
        return Some(told(scene));
    }
    let space = scene.space.filter(|_| scene.device == DeviceId::HOST)?;
    space.driver()?;
    let refused = scene.incident.filter(|incident| incident.of_driver);
    let mut finding = match Growing::of(scene, space) {
        Some(growing) => growing.finding(scene),
        None if refused.is_some() => ran_out(scene, space),
        None => return None,
    };
    let pinned = space.totals().active;
    finding.evidence.push(Evidence::bytes("pinned at the end", pinned, Basis::Recorded));
    for (place, bytes) in scene.by_place(space.live_by_stack()).into_iter().take(LISTED) {
        finding.evidence.push(Evidence::bytes(
            format!("pinned at {place}"),
            bytes,
            Basis::Recorded,
        ));
    }
    Some(finding)
}

/// Pinned memory that grows.
struct Growing {
    place: String,
    worst: StackId,
    each: Bytes,
    times: u64,
    total: Bytes,
    interface: Interface,
}

impl Growing {
    fn of(scene: &Scene<'_>, space: &Space) -> Option<Self> {
        let of_iterations = scene.growth.as_ref().and_then(|growth| {
            let worst = growth.stacks.first()?.stack;
            Some(Self {
                place: scene.place(worst),
                worst,
                each: growth.per_iteration,
                times: growth.iterations,
                total: growth.total,
                interface: interface_at(space, worst),
            })
        });
        of_iterations.or_else(|| Self::of_places(scene, space))
    }

    /// Places that pinned more again and again, up to the end.
    fn of_places(scene: &Scene<'_>, space: &Space) -> Option<Self> {
        let (worst, total) = pinned_steadily(scene, space)?;
        Some(Self {
            each: Bytes(worst.usage.bytes.0 / worst.occasions.max(1)),
            times: worst.occasions,
            total,
            interface: worst.interface,
            worst: worst.worst,
            place: worst.place,
        })
    }

    fn finding(&self, scene: &Scene<'_>) -> Finding {
        let Self { place, each, times, total, .. } = self;
        let mut finding = scene.finding(
            CAUSE.id,
            Strength::Explains,
            format!(
                "Pinned host memory grows by {each} at a time at {place} and is not given back"
            ),
            format!(
                "{times} allocations left {total} pinned. It is memory of the host, not of the GPU."
            ),
        );
        finding.gives_back = Some(*total);
        finding.evidence.extend([
            Evidence::bytes("growth each time", *each, Basis::Computed),
            Evidence::count("times", *times, Basis::Computed),
        ]);
        finding.remedies = remedies(scene, self.worst, self.interface, *total);
        finding
    }
}

fn ran_out(scene: &Scene<'_>, space: &Space) -> Finding {
    let pinned = space.totals().active;
    let refused = refused(scene);
    let mut finding = scene.finding(
        CAUSE.id,
        Strength::Explains,
        refused,
        format!("This process had {pinned} pinned already."),
    );
    finding.gives_back = Some(pinned);
    if let Some((worst, _)) = space.live_by_stack().first() {
        finding.remedies = remedies(scene, *worst, interface_at(space, *worst), pinned);
    }
    finding.remedies.push(see_limit());
    finding
}

/// The headline of a refusal.
fn refused(scene: &Scene<'_>) -> String {
    let what = match scene.situation.requested {
        Some(bytes) => format!("{bytes} of pinned host memory"),
        None => "Pinned host memory".to_owned(),
    };
    format!("{what} was refused; the GPU is not what is full")
}

fn see_limit() -> Remedy {
    Remedy::line("ulimit -l", "see whether locked memory is limited here")
}

/// How the place took what it still has.
fn interface_at(space: &Space, stack: StackId) -> Interface {
    let mut blocks = space.driver().into_iter().flat_map(|driver| driver.layer().blocks());
    let left = blocks.find(|(_, block)| block.stack == stack);
    left.map_or(Interface::Pinned, |(_, block)| block.interface)
}

fn remedies(scene: &Scene<'_>, worst: StackId, interface: Interface, frees: Bytes) -> Vec<Remedy> {
    let place = scene.place(worst);
    if !scene.has_pytorch(worst) {
        let what = match interface {
            Interface::Registered => {
                format!("for each buffer that {place} locks, when its copy is done")
            }
            _ => format!("for each buffer that {place} pins, or pin one and reuse it"),
        };
        return vec![Remedy::line(missing_call(interface), what).freeing(frees)];
    }
    let by_loader = scene.tables.frames(worst).any(|frame| frame.file.contains("torch/utils/data"));
    let once = Remedy::line(
        "staging = torch.empty_like(batch, pin_memory=True)",
        format!("once, before the loop, and staging.copy_(batch) in it, instead of what {place} pins; or \
             let go of each pinned batch after its copy: PyTorch uses its memory again"),
    )
    .freeing(frees);
    let loader = Remedy::line(
        "DataLoader(..., num_workers=2, prefetch_factor=2)",
        "pin fewer batches ahead; or pin a few buffers once and copy into them",
    );
    vec![if by_loader { loader } else { once }]
}

/// A message names pinned memory, or code that was pinning.
fn told(scene: &Scene<'_>) -> Finding {
    let refused = refused(scene);
    let mut finding = scene.finding(
        CAUSE.id,
        Strength::Explains,
        refused,
        "The system limits how much may be locked: of the host's memory, by a limit of the user or the \
         container, in WSL to a small part.",
    );
    finding.evidence.push(Evidence::text("message", scene.message(), Basis::Message));
    finding.remedies = match scene.software() {
        Some(Software::PyTorch) => vec![
            Remedy::line(
                "DataLoader(..., pin_memory=False)",
                "no pinned memory is needed then; copies to the GPU take longer",
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
                "JAX's own limit is 64 unless set; only where the machine has that much",
            ),
        ],
        _ => vec![
            Remedy::line(
                "ulimit -l unlimited",
                "before the program starts; in a container: docker run --ulimit memlock=-1",
            ),
            Remedy::line("free -h", "see whether the host has memory left at all"),
        ],
    };
    finding
}
