//! A process whose first thread has ended looks dead to `ps`, and its other threads hold the memory.

use crate::{
    report::{State, Suspicion, SuspicionKind},
    scene::{Scene, holding, named, pids, sum},
};

pub(crate) fn check(scene: &Scene<'_>) -> Option<Suspicion> {
    let dead_looking = scene.in_state(State::ZombieLeader);
    let (_, process) = dead_looking.first()?;
    let bytes = sum(dead_looking.iter().map(|(holder, _)| *holder));
    let live = process.threads.iter().filter(|thread| !thread.ended()).count();
    let live = if live == 1 { "another lives".to_owned() } else { format!("{live} others live") };
    Some(Suspicion {
        kind: SuspicionKind::ZombieLeader,
        headline: format!(
            "{} looks dead (Z, defunct) and still holds {}",
            named(&dead_looking),
            holding(bytes)
        ),
        because: format!(
            "the first thread of PID {} has ended and {live} on; files and memory \
             belong to the process until the last thread ends. A plain kill may be ignored.",
            process.pid
        ),
        bytes,
        command: Some(scene.kill("kill -9", &dead_looking)),
        pids: pids(&dead_looking),
    })
}
