//! A process waits in the kernel where ordinary signals do not reach it, and holds its memory until the
//! wait ends.

use crate::{
    capture::{Process, Thread},
    report::{State, Suspicion, SuspicionKind},
    scene::{CheckContext, holding, named, pids, sum},
    waits::{Wait, wait},
};

pub(crate) fn check(scene: &CheckContext<'_>) -> Option<Suspicion> {
    let stuck = scene.in_state(State::Stuck);
    let (_, first) = stuck.first()?;
    let bytes = sum(stuck.iter().map(|(holder, _)| *holder));
    let (verb, state) = if stuck.len() == 1 { ("holds", "is") } else { ("hold", "are") };
    let waits = waits(first);
    Some(Suspicion {
        kind: SuspicionKind::Stuck,
        headline: format!(
            "{} {verb} {} and {state} in an uninterruptible wait",
            named(&stuck),
            holding(bytes)
        ),
        because: because(first, waits),
        bytes,
        command: (waits != Wait::Driver).then(|| scene.kill("kill -9", &stuck)),
        pids: pids(&stuck),
    })
}

/// What the threads that hang wait for; what is known counts before what is not.
fn waits(process: &Process) -> Wait {
    let waits = || hanging(process).map(|thread| wait(thread.waits_in.as_deref()));
    waits().find(|wait| *wait != Wait::Other).unwrap_or(Wait::Other)
}

fn hanging(process: &Process) -> impl Iterator<Item = &Thread> {
    process.threads.iter().filter(|thread| thread.still_waiting)
}

fn because(process: &Process, waits: Wait) -> String {
    let count = hanging(process).count();
    let threads = match process.threads.len() {
        1 => "the only thread".to_owned(),
        all => format!("{count} of {all} threads"),
    };
    let verb = if count == 1 { "is" } else { "are" };
    let function = hanging(process).find_map(|thread| thread.waits_in.as_deref());
    let inside = function.map_or_else(
        || ", at an unknown kernel function (this user may not read it)".to_owned(),
        |function| format!(", in the kernel function {function}"),
    );
    format!(
        "{threads} of PID {} {verb} in state D and did not run between two samples{inside}. {}",
        process.pid,
        advice(process, waits)
    )
}

fn advice(process: &Process, waits: Wait) -> String {
    match waits {
        Wait::Child => {
            "It waits for a child created with vfork; signal 9 ends that wait.".to_owned()
        }
        Wait::Driver => {
            "It waits in the GPU driver: no signal ends that. If it does not return, only a GPU \
             reset or a restart frees the memory."
                .to_owned()
        }
        Wait::Remote => format!(
            "It waits for a file system that does not respond{}; it continues when the file system \
             responds or is unmounted with umount -f. Signal 9 ends the wait on most of them.",
            mounted(process)
        ),
        Wait::Other => format!(
            "It waits in the kernel. Signal 9 ends some of these waits; otherwise, what it waits \
             for must respond{}.",
            mounted(process)
        ),
    }
}

/// The mounts that it may wait for.
fn mounted(process: &Process) -> String {
    let mounts: Vec<String> =
        process.mounts.iter().take(4).map(|m| format!("{} ({})", m.point, m.kind)).collect();
    if mounts.is_empty() { String::new() } else { format!(": {}", mounts.join(", ")) }
}
