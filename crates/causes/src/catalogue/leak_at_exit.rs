//! A program that frees the rest left something behind.

use std::collections::{BTreeMap, BTreeSet};

use whyoom_memory::{Site, Space, Usage};
use whyoom_trace::{Bytes, DeviceId, StackId};

use crate::{
    cause::Cause,
    diagnosis::Diagnosis,
    finding::{Basis, Evidence, Finding, Remedy, Strength},
    leak_site::{LeakSite, driver_sites, missing_call, pinned_steadily},
};

pub(super) const CAUSE: Cause = Cause {
    id: "leak-at-exit",
    title: "some memory was never freed, in a program that frees everything else",
    explanation: "\
When a process exits, the driver frees all its memory, so memory that is still allocated at that
point does no harm by itself. It is worth reporting if the program frees everything else: the same
code also leaks during the run, and a longer run, or a server that calls the same library, runs out
of memory.

It is reported if the process exited normally, other call sites freed their memory, and one call
site in a library left two or more allocations behind. The program itself may keep a few buffers
until exit on purpose. A call site in the program is therefore reported only if it left allocations
behind repeatedly, with other memory freed in between, up to the end of the work; or if it is the
only call site that left anything, and several other call sites freed all of their memory.
Otherwise, a call site that allocated a single buffer, or everything at startup, is mentioned but
not reported as the cause. If there is a caching allocator, eight allocations are required, because
libraries keep handles and workspaces. A program that frees nothing at all before it exits is not
reported, nor are libraries that keep buffers on purpose (PyTorch, NCCL, cuBLAS, cuDNN).

The reported file is the innermost file on the stack that belongs neither to CUDA nor to the system.
If a library leaks internally, that library is named, whatever called it.

What helps: add the missing free to that library, or call the library's cleanup function.",
    check,
};

/// Blocks at one call site of a library from which on it is a leak site.
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

fn check(diagnosis: &Diagnosis<'_>) -> Option<Finding> {
    let space = diagnosis.space.filter(|_| diagnosis.incident.is_none() && diagnosis.exited())?;
    // What pins more and more is a cause of its own.
    let pinned_more = || diagnosis.growth.is_some() || pinned_steadily(diagnosis, space).is_some();
    if diagnosis.device == DeviceId::HOST && pinned_more() {
        return None;
    }
    let outside: BTreeSet<StackId> =
        space.outside_by_stack().into_iter().map(|(stack, _)| stack).collect();
    let counts = |stack| outside.contains(&stack) && !keeps_on_purpose(diagnosis, stack);
    let left = LeakSite::all(diagnosis, space, counts);
    let leaks = leaks(diagnosis, left)?;
    let leak = largest_owner(diagnosis, &leaks.sites)?;
    let strength = if leaks.blamed { Strength::Explains } else { Strength::Contributing };
    Some(finding(diagnosis, space, strength, &leaks.sites, &leak))
}

/// Places that left something, and whether that is to be blamed.
struct Leaks {
    sites: Vec<LeakSite>,
    blamed: bool,
}

/// What is worth naming of all that was left: what libraries left again and again; else what the program
/// itself did; else single buffers.
fn leaks(diagnosis: &Diagnosis<'_>, left: Vec<LeakSite>) -> Option<Leaks> {
    let places_that_free = places_that_free(diagnosis);
    if left.is_empty() || places_that_free == 0 {
        return None;
    }
    let beside_allocator = diagnosis.uses_allocator();
    let of_library = |site: &LeakSite| owner(diagnosis, site.worst).1;
    let (libraries, own): (Vec<_>, Vec<_>) = left.into_iter().partition(of_library);
    let often = if beside_allocator { REPEATED_BESIDE_ALLOCATOR } else { REPEATED };
    let (by_libraries, mut single): (Vec<_>, Vec<_>) =
        libraries.into_iter().partition(|site| site.usage.blocks >= often);
    if !by_libraries.is_empty() {
        let kept_up = by_libraries.iter().any(|site| site.is_kept_up(often));
        return Some(Leaks { sites: by_libraries, blamed: kept_up || !beside_allocator });
    }
    let kept_up = |site: &LeakSite| site.is_kept_up(REPEATED_BY_PROGRAM);
    // Growth tells it better, and a program that leaves much else does not care to free.
    let cares = own.iter().all(|site| kept_up(site) || site.usage.blocks == 1);
    if own.iter().any(kept_up) && cares && diagnosis.growth.is_none() && !beside_allocator {
        let sites = own.into_iter().filter(kept_up).collect();
        return Some(Leaks { sites, blamed: true });
    }
    let (repeated, others): (Vec<_>, Vec<_>) =
        own.into_iter().partition(|site| site.usage.blocks >= often);
    single.extend(others);
    if repeated.is_empty() && (beside_allocator || single.len() >= places_that_free) {
        return None;
    }
    let alone = repeated.len() + single.len() == 1 && !beside_allocator;
    let sites = if repeated.is_empty() { single } else { repeated };
    let blamed = alone && diagnosis.growth.is_none() && frees_all_else(diagnosis, &sites);
    Some(Leaks { sites, blamed })
}

/// Whether the process took care to free whatever else it took, on any device and on the host.
fn frees_all_else(diagnosis: &Diagnosis<'_>, leaks: &[LeakSite]) -> bool {
    let rest = elsewhere(diagnosis, leaks);
    let cares = places_that_free(diagnosis) >= CAREFUL_PLACES && rest.made >= CAREFUL_ALLOCATIONS;
    rest.left() == 0 && cares
}

/// Whose code left something, and whether that is a library and not the program itself.
fn owner(diagnosis: &Diagnosis<'_>, stack: StackId) -> (String, bool) {
    let library = diagnosis.library(stack).filter(|file| {
        let is_library = file.ends_with(".so") || file.contains(".so.");
        is_library && !(diagnosis.has_python(stack) && passes_calls_on(file))
    });
    match library {
        Some(library) => (library.to_owned(), true),
        None if diagnosis.has_python(stack) => (diagnosis.call_site(stack), false),
        None => (
            diagnosis.library(stack).map_or_else(|| diagnosis.call_site(stack), str::to_owned),
            false,
        ),
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

fn keeps_on_purpose(diagnosis: &Diagnosis<'_>, stack: StackId) -> bool {
    let keeps = |library: &str| KEEPERS.iter().any(|referrer| library.starts_with(referrer));
    diagnosis.library(stack).is_some_and(keeps)
}

/// Places of the process that gave back all that they took from the driver.
fn places_that_free(diagnosis: &Diagnosis<'_>) -> usize {
    driver_sites(diagnosis).filter(|(_, site)| site.left() == 0).count()
}

/// What became of all that the others took, in numbers.
fn elsewhere(diagnosis: &Diagnosis<'_>, leaks: &[LeakSite]) -> Site {
    let leaking = |stack: &StackId| leaks.iter().any(|leak| leak.stacks.contains(stack));
    driver_sites(diagnosis).filter(|(stack, _)| !leaking(stack)).fold(
        Site::default(),
        |sum, (_, site)| Site { made: sum.made + site.made, ended: sum.ended + site.ended },
    )
}

/// Whoever left most, what that is, and the call site that left most of it.
struct Leak<'a> {
    owner: String,
    usage: Usage,
    worst: &'a LeakSite,
}

fn finding(
    diagnosis: &Diagnosis<'_>,
    space: &Space,
    strength: Strength,
    leaks: &[LeakSite],
    Leak { owner, usage, worst }: &Leak<'_>,
) -> Finding {
    let headline = format!(
        "{owner} left {} allocation{}, {}, that it never freed",
        usage.blocks,
        if usage.blocks == 1 { "" } else { "s" },
        usage.bytes
    );
    let rest = elsewhere(diagnosis, leaks);
    let Site { made, ended } = rest;
    let told = match rest.left() {
        0 => format!("Everything else was freed: {ended} of {made} allocations."),
        _ => format!("Elsewhere {ended} of {made} allocations were freed."),
    };
    let because = format!("{told} The driver freed this at exit, too.");
    let mut finding = diagnosis.finding(CAUSE.id, strength, headline, because);
    finding.reclaimable = Some(usage.bytes);
    finding.evidence.extend([
        Evidence::bytes("left at exit", space.in_use(), Basis::Recorded),
        Evidence::bytes(format!("of {owner}"), usage.bytes, Basis::Recorded),
        Evidence::count("allocations left", usage.blocks, Basis::Recorded),
        Evidence::count("other allocations that were freed", ended, Basis::Recorded),
    ]);
    for leak in leaks.iter().take(LISTED) {
        finding.point_at(leak.call_site.as_str(), format!("{} never freed", leak.usage.bytes));
    }
    let what = format!("free it when {} no longer needs what it allocated", worst.call_site);
    finding.remedies =
        vec![Remedy::example(missing_call(worst.interface), what).freeing(usage.bytes)];
    finding
}

/// Whoever left most: a library, or the program's own code.
fn largest_owner<'a>(diagnosis: &Diagnosis<'_>, leaks: &'a [LeakSite]) -> Option<Leak<'a>> {
    let mut owners = BTreeMap::<String, Leak<'a>>::new();
    for leak in leaks {
        let (owner, _) = owner(diagnosis, leak.worst);
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
