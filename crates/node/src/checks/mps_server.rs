//! The server of the multi-process service holds memory for its clients, and keeps some when they have
//! gone.

use crate::{
    capture::Process,
    report::{Suspicion, SuspicionKind},
    scene::{CheckContext, holding, pids, sum},
};

/// The server's program, and the daemon that starts it. The kernel cuts both names to the same text.
const PROGRAMS: &[&str] = &["nvidia-cuda-mps-server", "nvidia-cuda-mps-control"];

pub(crate) fn check(scene: &CheckContext<'_>) -> Option<Suspicion> {
    let servers = scene.processes(|_, process| is_mps(process));
    let (server, _) = servers.first()?;
    let bytes = sum(servers.iter().map(|(holder, _)| *holder));
    Some(Suspicion {
        kind: SuspicionKind::MpsServer,
        headline: format!(
            "the MPS server (PID {}) holds {} of {}",
            server.pid,
            holding(bytes),
            scene.gpu()
        ),
        because:
            "nvidia-cuda-mps-server runs the work of other processes; what it holds belongs to \
             itself and its clients. Stopping it stops the work of all of them: stop the clients \
             first."
                .to_owned(),
        bytes,
        command: Some("echo quit | nvidia-cuda-mps-control".to_owned()),
        pids: pids(&servers),
    })
}

/// Whether the process is part of the multi-process service.
pub(crate) fn is_mps(process: &Process) -> bool {
    let program = process.command.as_deref().and_then(|command| command.split(' ').next());
    let file = program.and_then(|program| program.rsplit('/').next());
    let cut = PROGRAMS.iter().filter_map(|program| program.get(..15));
    let name = process.name.as_deref();
    file.is_some_and(|file| PROGRAMS.contains(&file))
        || cut.into_iter().any(|cut| name == Some(cut))
}
