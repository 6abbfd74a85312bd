//! A program that frees the rest left something behind.

use std::collections::{BTreeMap, BTreeSet};

use whyoom_memory::{DriverMemory, Site, Space, Usage};
use whyoom_trace::{Bytes, DeviceId, StackId};

use crate::{
    cause::Cause,
    finding::{Basis, Evidence, Finding, Remedy, Strength},
    habit::{Habit, missing_call, pinned_steadily},
    scene::Scene,
};

pub(super) const CAUSE: Cause = Cause {
    id: "leak-at-exit",
    title: "something was never freed by a program that frees the rest",
    explanation: "\
When a process ends, the driver takes all its memory back: what was not freed then harms nobody. It is worth
naming where the program frees everything else, because what was forgotten at the end was forgotten all the
way there, and a longer run, or a server that calls the same library, runs out.

The rule: the process ended in order; other places freed what they took; and one place in a library left two
or more allocations behind. In the program itself, which may keep a few buffers to its end on purpose, one
place must have left something again and again, with other memory freed in between, up to the end of the
work; or it is the only place that left anything, in a program that takes care: several others took memory,
and every one of them gave all of it back. Else what took a single buffer, or all of it at the start, is
mentioned, not blamed. Beside a caching allocator eight are needed, for libraries keep handles and
workspaces. A program that frees nothing at all before it ends leaks nothing worth naming, and neither do
libraries that keep buffers on purpose (PyTorch, NCCL, cuBLAS, cuDNN).

Whose it is: the innermost file on the stack that is neither CUDA's nor the system's. A library that leaks
inside is named as that library, whoever called it.

What helps: the missing free, in that library or by the call that it offers for cleaning up.",
    check,
};

/// Blocks at one place of a library from which on it is a habit.
const REPEATED: u64 = 2;
/// The same in the program itself: that may keep a few buffers to its end on purpose.
const REPEATED_BY_PROGRAM: u64 = 3;
/// The same beside a caching allocator: libraries keep handles and workspaces on purpose.
const REPEATED_BESIDE_ALLOCATOR: u64 = 8;
/// Libraries that keep what they take until the process ends, on purpose.
const KEEPERS: [&str; 12] = [
    "libc10",
    "libtorch",
    "libnccl",
    "libcublas",
    "libcudnn",
    "libcufft",
    "libcusparse",
    "libcusolver",
    "libtensorflow",
    "_pywrap_tensorflow",
    "xla_cuda_plugin",
    "xla_extension",
];
/// Places that gave back all that they took, and how many allocations that was, from which on a program takes
/// care to free.
const CAREFUL_PLACES: usize = 2;
const CAREFUL_ALLOCATIONS: u64 = 4;
/// How many places are listed.
const LISTED: usize = 4;

fn check(scene: &Scene<'_>) -> Option<Finding> {
    let space = scene.space.filter(|_| scene.incident.is_none() && scene.exited())?;
    // What pins more and more is a cause of its own.
    let pinned_more = || scene.growth.is_some() || pinned_steadily(scene, space).is_some();
    if scene.device == DeviceId::HOST && pinned_more() {
        return None;
    }
    let outside: BTreeSet<StackId> =
        space.outside_by_stack().into_iter().map(|(stack, _)| stack).collect();
    let counts = |stack| outside.contains(&stack) && !keeps_on_purpose(scene, stack);
    let left = Habit::all(scene, space, counts);
    let leaks = leaks(scene, left)?;
    let leak = largest_owner(scene, &leaks.places)?;
    let strength = if leaks.blamed { Strength::Explains } else { Strength::Contributing };
    Some(finding(scene, space, strength, &leaks.places, &leak))
}

/// Places that left something, and whether that is to be blamed.
struct Leaks {
    places: Vec<Habit>,
    blamed: bool,
}

/// What is worth naming of all that was left: what libraries left again and again; else what the program
/// itself did; else single buffers.
fn leaks(scene: &Scene<'_>, left: Vec<Habit>) -> Option<Leaks> {
    let places_that_free = places_that_free(scene);
    if left.is_empty() || places_that_free == 0 {
        return None;
    }
    let beside_allocator = scene.uses_allocator();
    let of_library = |habit: &Habit| owner(scene, habit.worst).1;
    let (libraries, own): (Vec<_>, Vec<_>) = left.into_iter().partition(of_library);
    let habit = if beside_allocator { REPEATED_BESIDE_ALLOCATOR } else { REPEATED };
    let (by_libraries, mut single): (Vec<_>, Vec<_>) =
        libraries.into_iter().partition(|place| place.usage.blocks >= habit);
    if !by_libraries.is_empty() {
        let kept_up = by_libraries.iter().any(|place| place.is_kept_up(habit));
        return Some(Leaks { places: by_libraries, blamed: kept_up || !beside_allocator });
    }
    let kept_up = |place: &Habit| place.is_kept_up(REPEATED_BY_PROGRAM);
    // Growth tells it better, and a program that leaves much else does not care to free.
    let cares = own.iter().all(|place| kept_up(place) || place.usage.blocks == 1);
    if own.iter().any(kept_up) && cares && scene.growth.is_none() && !beside_allocator {
        let places = own.into_iter().filter(kept_up).collect();
        return Some(Leaks { places, blamed: true });
    }
    let (repeated, others): (Vec<_>, Vec<_>) =
        own.into_iter().partition(|place| place.usage.blocks >= habit);
    single.extend(others);
    if repeated.is_empty() && (beside_allocator || single.len() >= places_that_free) {
        return None;
    }
    let alone = repeated.len() + single.len() == 1 && !beside_allocator;
    let places = if repeated.is_empty() { single } else { repeated };
    let blamed = alone && scene.growth.is_none() && frees_all_else(scene, &places);
    Some(Leaks { places, blamed })
}

/// Whether the process took care to free whatever else it took, on any device and on the host.
fn frees_all_else(scene: &Scene<'_>, leaks: &[Habit]) -> bool {
    let rest = elsewhere(scene, leaks);
    let cares = places_that_free(scene) >= CAREFUL_PLACES && rest.made >= CAREFUL_ALLOCATIONS;
    rest.left() == 0 && cares
}

/// Whose code left something, and whether that is a library and not the program itself.
fn owner(scene: &Scene<'_>, stack: StackId) -> (String, bool) {
    let library = scene.library(stack).filter(|file| {
        let is_library = file.ends_with(".so") || file.contains(".so.");
        is_library && !(scene.has_python(stack) && passes_calls_on(file))
    });
    match library {
        Some(library) => (library.to_owned(), true),
        None if scene.has_python(stack) => (scene.place(stack), false),
        None => (scene.library(stack).map_or_else(|| scene.place(stack), str::to_owned), false),
    }
}

/// Whether a file is what Python calls the driver through: what it allocates is the caller's.
fn passes_calls_on(file: &str) -> bool {
    const BINDINGS: [&str; 8] = [
        "_ctypes",
        "_cffi",
        "libpython",
        "driver.",
        "cydriver.",
        "runtime.",
        "cyruntime.",
        "_driver.",
    ];
    BINDINGS.iter().any(|name| file.starts_with(name))
}

fn keeps_on_purpose(scene: &Scene<'_>, stack: StackId) -> bool {
    let keeps = |library: &str| KEEPERS.iter().any(|keeper| library.starts_with(keeper));
    scene.library(stack).is_some_and(keeps)
}

/// Places of the process that gave back all that they took from the driver.
fn places_that_free(scene: &Scene<'_>) -> usize {
    sites(scene).filter(|(_, site)| site.left() == 0).count()
}

/// Where the process took memory from the driver, on any device and on the host.
fn sites<'a>(scene: &Scene<'a>) -> impl Iterator<Item = (StackId, Site)> + use<'a> {
    let process = scene.process;
    let spaces = scene.model.spaces().filter(move |(other, ..)| *other == process);
    spaces.filter_map(|(_, _, space)| space.driver()).flat_map(DriverMemory::sites)
}

/// What became of all that the others took, in numbers.
fn elsewhere(scene: &Scene<'_>, leaks: &[Habit]) -> Site {
    let leaking = |stack: &StackId| leaks.iter().any(|leak| leak.stacks.contains(stack));
    sites(scene).filter(|(stack, _)| !leaking(stack)).fold(Site::default(), |sum, (_, site)| Site {
        made: sum.made + site.made,
        ended: sum.ended + site.ended,
    })
}

/// Whoever left most, what that is, and the place that left most of it.
struct Leak<'a> {
    owner: String,
    usage: Usage,
    worst: &'a Habit,
}

fn finding(
    scene: &Scene<'_>,
    space: &Space,
    strength: Strength,
    leaks: &[Habit],
    Leak { owner, usage, worst }: &Leak<'_>,
) -> Finding {
    let headline = format!(
        "{owner} left {} allocation{}, {}, that it never freed",
        usage.blocks,
        if usage.blocks == 1 { "" } else { "s" },
        usage.bytes
    );
    let rest = elsewhere(scene, leaks);
    let Site { made, ended } = rest;
    let told = match rest.left() {
        0 => format!("Everything else was freed: {ended} of {made} allocations."),
        _ => format!("Elsewhere {ended} of {made} allocations were freed."),
    };
    let because = format!("{told} At exit the driver took this back too.");
    let mut finding = scene.finding(CAUSE.id, strength, headline, because);
    finding.gives_back = Some(usage.bytes);
    finding.evidence.extend([
        Evidence::bytes("left at exit", space.in_use(), Basis::Recorded),
        Evidence::bytes(format!("of {owner}"), usage.bytes, Basis::Recorded),
        Evidence::count("allocations that it left", usage.blocks, Basis::Recorded),
        Evidence::count("allocations elsewhere that were freed", ended, Basis::Recorded),
    ]);
    for leak in leaks.iter().take(LISTED) {
        let label = format!("made at {}", leak.place);
        finding.evidence.push(Evidence::bytes(label, leak.usage.bytes, Basis::Recorded));
    }
    let what = format!("where {} is done with what it allocated", worst.place);
    finding.remedies = vec![Remedy::line(missing_call(worst.interface), what).freeing(usage.bytes)];
    finding
}

/// Whoever left most: a library, or the program's own code.
fn largest_owner<'a>(scene: &Scene<'_>, leaks: &'a [Habit]) -> Option<Leak<'a>> {
    let mut owners = BTreeMap::<String, Leak<'a>>::new();
    for leak in leaks {
        let (owner, _) = owner(scene, leak.worst);
        let known = owners.entry(owner.clone()).or_insert(Leak {
            owner,
            usage: Usage::default(),
            worst: leak,
        });
        known.usage = Usage {
            bytes: known.usage.bytes.plus(leak.usage.bytes),
            blocks: known.usage.blocks + leak.usage.blocks,
        };
    }
    let most = owners.into_values().max_by_key(|leak| leak.usage.bytes)?;
    (most.usage.bytes > Bytes::ZERO).then_some(most)
}
