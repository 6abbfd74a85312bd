//! A process whose parent has ended goes on holding memory, often under another name than people
//! search for.

use crate::{
    capture::Process,
    checks::mps_server::is_mps,
    parentage,
    report::{Holder, State, Suspicion, SuspicionKind},
    scene::{CheckContext, holding, named, pids, sum},
};

/// Processes described one by one; the rest are only counted.
const MOST_DESCRIBED: usize = 4;

pub(crate) fn check(scene: &CheckContext<'_>) -> Option<Suspicion> {
    let orphans = scene.processes(|holder, process| {
        holder.orphan.is_some() && holder.state != Some(State::Zombie) && !is_mps(process)
    });
    let bytes = sum(orphans.iter().map(|(holder, _)| *holder));
    let words = if orphans.len() == 1 {
        "and its parent has exited"
    } else {
        "and their parents have exited"
    };
    let verb = if orphans.len() == 1 { "holds" } else { "hold" };
    (!orphans.is_empty()).then(|| Suspicion {
        kind: SuspicionKind::Orphan,
        headline: format!("{} {verb} {} {words}", named(&orphans), holding(bytes)),
        because: because(&orphans),
        bytes,
        command: Some(command(scene, &orphans)),
        pids: pids(&orphans),
    })
}

fn because(orphans: &[(&Holder, &Process)]) -> String {
    let described = orphans.iter().take(MOST_DESCRIBED).filter_map(|(holder, process)| {
        let proof = parentage::proof(process)?.words(process);
        let renamed = new_name(process)
            .map_or_else(String::new, |name| format!("; its process name is {name}"));
        let left = if process.ignores_hangup {
            "; it ignores SIGHUP, like a process started with nohup"
        } else {
            ""
        };
        Some(format!("PID {} ({}): {proof}{renamed}{left}", holder.pid, holding(holder.bytes)))
    });
    let mut text = described.collect::<Vec<_>>().join(". ");
    text.push_str(
        ". A job left running on purpose looks the same: stop it only if it is not needed.",
    );
    text
}

/// The name that it took, where that is nowhere in its command line: who searches for the program does
/// not find it.
fn new_name(process: &Process) -> Option<&str> {
    let (name, command) = (process.name.as_deref()?, process.command.as_deref()?);
    let of_a_file = |word: &str| word.rsplit('/').next().is_some_and(|file| file.starts_with(name));
    (!command.split(' ').any(of_a_file)).then_some(name)
}

fn command(scene: &CheckContext<'_>, orphans: &[(&Holder, &Process)]) -> String {
    let is_own =
        |(holder, _): &&(&Holder, &Process)| holder.orphan.is_some_and(|orphan| orphan.own);
    if orphans.iter().any(|orphan| is_own(&orphan)) {
        "whyoom who --kill-orphans".to_owned()
    } else {
        scene.kill("kill", orphans)
    }
}
