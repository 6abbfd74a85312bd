//! A program that frees the rest left something behind.

use std::collections::BTreeMap;

use whyoom_memory::{Interface, Site, Space, Usage};
use whyoom_trace::{Bytes, DeviceId, StackId};

use crate::{
    cause::Cause,
    finding::{Basis, Evidence, Finding, Remedy, Strength},
    scene::Scene,
};

pub(super) const CAUSE: Cause = Cause {
    id: "leak-at-exit",
    title: "something was never freed by a program that frees the rest",
    explanation: "\
When a process ends, the driver takes all its memory back: what was not freed then harms nobody. It is worth
naming where the program frees everything else, because what was forgotten at the end was forgotten all the
way there, and a longer run, or a server that calls the same library, runs out.

The rule: the process ended in order; all other places freed at least nine in ten of what they allocated; and
one place in a library left two or more allocations behind. A place that left a single one, or that lies in
the program itself, which may end early on purpose, is mentioned, not blamed; so is a library beside a caching
allocator. A program that frees nothing at all before it ends leaks nothing worth naming, and neither do
libraries that keep buffers on purpose (PyTorch, NCCL, cuBLAS, cuDNN).

Whose it is: the innermost file on the stack that is neither CUDA's nor the system's. A library that leaks
inside is named as that library, whoever called it.

What helps: the missing free, in that library or by the call that it offers for cleaning up.",
    check,
};

/// Blocks at one place from which on it is a habit.
const REPEATED: u64 = 2;
/// The same beside a caching allocator: libraries keep handles and workspaces on purpose.
const REPEATED_BESIDE_ALLOCATOR: u64 = 8;
/// Libraries that keep what they take until the process ends, on purpose.
const KEEPERS: [&str; 8] = [
    "libc10",
    "libtorch",
    "libnccl",
    "libcublas",
    "libcudnn",
    "libcufft",
    "libcusparse",
    "libcusolver",
];
/// How many places are listed.
const LISTED: usize = 4;

fn check(scene: &Scene<'_>) -> Option<Finding> {
    let space = scene.space.filter(|_| scene.incident.is_none() && scene.exited())?;
    // What pins more and more is a cause of its own.
    if scene.device == DeviceId::HOST && scene.growth.is_some() {
        return None;
    }
    let mut left = space.outside_by_stack();
    let rest = Rest::of(scene, &left);
    if !rest.is_freed() {
        return None;
    }
    left.retain(|(stack, _)| !keeps_on_purpose(scene, *stack));
    let beside_allocator = scene.uses_allocator();
    let habit = if beside_allocator { REPEATED_BESIDE_ALLOCATOR } else { REPEATED };
    let (repeated, single): (Vec<_>, Vec<_>) =
        left.into_iter().partition(|(_, usage)| usage.blocks >= habit);
    if repeated.is_empty() && (beside_allocator || single.len() >= rest.freed_sites) {
        return None;
    }
    let leaks = if repeated.is_empty() { &single } else { &repeated };
    let leak = largest_owner(scene, leaks)?;
    let blamed = !repeated.is_empty() && !beside_allocator && is_library(&leak.owner);
    let strength = if blamed { Strength::Explains } else { Strength::Contributing };
    Some(finding(scene, space, strength, leaks, &leak, &rest))
}

/// Whether a file is a library, and not the program itself.
fn is_library(file: &str) -> bool {
    file.ends_with(".so") || file.contains(".so.")
}

fn keeps_on_purpose(scene: &Scene<'_>, stack: StackId) -> bool {
    let keeps = |library: &str| KEEPERS.iter().any(|keeper| library.starts_with(keeper));
    scene.library(stack).is_some_and(keeps)
}

/// What the places that left nothing behind did.
#[derive(Default)]
struct Rest {
    sites: Site,
    freed_sites: usize,
}

impl Rest {
    fn of(scene: &Scene<'_>, left: &[(StackId, Usage)]) -> Self {
        let mut rest = Self::default();
        let spaces = scene.model.spaces().filter(|(process, ..)| *process == scene.process);
        let drivers = spaces.filter_map(|(_, _, space)| space.driver());
        for (stack, site) in drivers.flat_map(whyoom_memory::DriverMemory::sites) {
            if left.iter().all(|(leaking, _)| *leaking != stack) {
                rest.sites.made += site.made;
                rest.sites.ended += site.ended;
                rest.freed_sites += usize::from(site.left() == 0);
            }
        }
        rest
    }

    fn is_freed(&self) -> bool {
        self.freed_sites > 0 && self.sites.ended * 10 >= self.sites.made * 9
    }

    /// What became of it, in words.
    fn told(&self) -> String {
        let Site { made, ended } = self.sites;
        match self.sites.left() {
            0 => format!("Everything else was freed: {ended} of {made} allocations."),
            _ => format!("Elsewhere {ended} of {made} allocations were freed."),
        }
    }
}

/// Whoever left most, what that is, and the stack that left most of it.
struct Leak {
    owner: String,
    usage: Usage,
    worst: StackId,
}

fn finding(
    scene: &Scene<'_>,
    space: &Space,
    strength: Strength,
    leaks: &[(StackId, Usage)],
    Leak { owner, usage, worst }: &Leak,
    rest: &Rest,
) -> Finding {
    let headline = format!(
        "{owner} left {} allocation{}, {}, that it never freed",
        usage.blocks,
        if usage.blocks == 1 { "" } else { "s" },
        usage.bytes
    );
    let because = format!("{} At exit the driver took this back too.", rest.told());
    let mut finding = scene.finding(CAUSE.id, strength, headline, because);
    finding.gives_back = Some(usage.bytes);
    finding.evidence.extend([
        Evidence::bytes("left at exit", space.in_use(), Basis::Recorded),
        Evidence::bytes(format!("of {owner}"), usage.bytes, Basis::Recorded),
        Evidence::count("allocations that it left", usage.blocks, Basis::Recorded),
        Evidence::count("allocations elsewhere that were freed", rest.sites.ended, Basis::Recorded),
    ]);
    for (place, bytes) in scene.by_place(leaks.to_vec()).into_iter().take(LISTED) {
        finding.evidence.push(Evidence::bytes(format!("made at {place}"), bytes, Basis::Recorded));
    }
    let what = format!("where {} is done with what it allocated", scene.place(*worst));
    finding.remedies = vec![Remedy::line(missing_call(space, *worst), what).freeing(usage.bytes)];
    finding
}

/// The call that would have given back what a place left.
fn missing_call(space: &Space, stack: StackId) -> &'static str {
    let mut blocks = space.driver().into_iter().flat_map(|driver| driver.layer().blocks());
    let left = blocks.find(|(_, block)| block.stack == stack);
    match left.map_or(Interface::Device, |(_, block)| block.interface) {
        Interface::Pinned => "cudaFreeHost(buffer);",
        Interface::Registered => "cudaHostUnregister(buffer);",
        Interface::Array => "cudaFreeArray(array);",
        Interface::StreamOrdered => "cudaFreeAsync(buffer, stream);",
        Interface::Imported => "cudaIpcCloseMemHandle(buffer);",
        Interface::Virtual => "cuMemRelease(handle);",
        Interface::Allocator | Interface::Device | Interface::Managed => "cudaFree(buffer);",
    }
}

/// Whoever left most: a library, or the program's own code.
fn largest_owner(scene: &Scene<'_>, leaks: &[(StackId, Usage)]) -> Option<Leak> {
    let mut owners = BTreeMap::<String, (Usage, StackId)>::new();
    for (stack, usage) in leaks {
        let owner = scene.library(*stack).map_or_else(|| scene.place(*stack), str::to_owned);
        let (sum, _) = owners.entry(owner).or_insert((Usage::default(), *stack));
        *sum = Usage { bytes: sum.bytes.plus(usage.bytes), blocks: sum.blocks + usage.blocks };
    }
    let most = |(_, (usage, _)): &(String, (Usage, StackId))| usage.bytes;
    let (owner, (usage, worst)) = owners.into_iter().max_by_key(most)?;
    (usage.bytes > Bytes::ZERO).then_some(Leak { owner, usage, worst })
}
