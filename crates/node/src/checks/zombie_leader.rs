//! A process whose first thread has ended looks dead to `ps`, and its other threads hold the memory.

use crate::{
    report::{State, Suspicion, SuspicionKind},
    scene::{CheckContext, holding, named, pids, sum},
};

pub(crate) fn check(scene: &CheckContext<'_>) -> Option<Suspicion> {
    let dead_looking = scene.in_state(State::ZombieLeader);
    let (_, process) = dead_looking.first()?;
    let bytes = sum(dead_looking.iter().map(|(holder, _)| *holder));
    let live = process.threads.iter().filter(|thread| !thread.ended()).count();
    let live = if live == 1 { "another one runs".to_owned() } else { format!("{live} others run") };
    let (looks, holds) =
        if dead_looking.len() == 1 { ("looks", "holds") } else { ("look", "hold") };
    Some(Suspicion {
        kind: SuspicionKind::ZombieLeader,
        headline: format!(
            "{} {looks} dead (Z, defunct) but still {holds} {}",
            named(&dead_looking),
            holding(bytes)
        ),
        because: format!(
            "the main thread of PID {} has exited but {live}; files and memory belong to the \
             process until its last thread exits. A plain kill may be ignored.",
            process.pid
        ),
        bytes,
        command: Some(scene.kill("kill -9", &dead_looking)),
        pids: pids(&dead_looking),
    })
}
