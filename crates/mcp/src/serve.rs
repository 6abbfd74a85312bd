//! A session, from start to end.

use std::{io, thread};

use rmcp::{ServiceExt, service::ServerInitializeError};
use signal_hook::{
    consts::{SIGHUP, SIGINT, SIGTERM},
    iterator::Signals,
};
use tokio::{
    io::{stdin, stdout},
    runtime,
    sync::mpsc::{UnboundedSender, unbounded_channel},
};

use crate::{
    Settings,
    allowed::Allowed,
    ending::Ending,
    folders::Folders,
    server::Server,
    stdio::{Incoming, Outgoing},
    tool::Rules,
    whyoom::Whyoom,
};

/// Why there was no session, or it ended early.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ServeError {
    /// A folder cannot be opened.
    #[error("cannot read a folder; name another with --folder")]
    Folder(#[source] io::Error),
    /// The system has no threads or signals to give.
    #[error("cannot start")]
    Start(#[source] io::Error),
    /// The client does not speak the protocol.
    #[error(
        "standard input does not speak the Model Context Protocol ({0}): whyoom mcp is started by an editor or an \
         assistant; see docs/ci.md"
    )]
    Protocol(String),
    /// The client sent a line that does not end.
    #[error("a message on standard input is longer than 32 MiB: the session was ended")]
    MessageTooLong,
}

/// Serves the protocol on standard input and output until the client has gone. The number of the signal that ended
/// it, where one did. Whatever was started is ended.
///
/// # Errors
/// See [`ServeError`].
pub fn serve(settings: &Settings) -> Result<Option<i32>, ServeError> {
    let folders = Folders::new(&settings.folders).map_err(ServeError::Folder)?;
    let rules = Rules { folders, allowed: Allowed::new(&settings.allowed) };
    let server = Server::new(rules, Whyoom(settings.whyoom.clone()), settings.version);
    let runtime =
        runtime::Builder::new_current_thread().enable_time().build().map_err(ServeError::Start)?;
    let (ended, mut endings) = unbounded_channel();
    heed_signals(ended.clone()).map_err(ServeError::Start)?;
    let ending = runtime.block_on(async {
        let ending = tokio::select! {
            session = session(server.clone(), ended) => session.map(|()| None),
            ending = endings.recv() => Ok(ending),
        };
        server.end().await;
        // The session notices an unreadable message first, and cannot say what it was.
        Ok(ending?.or_else(|| endings.try_recv().ok()))
    });
    // A thread still waits for input.
    runtime.shutdown_background();
    match ending? {
        Some(Ending::Signal(signal)) => Ok(Some(signal)),
        Some(Ending::MessageTooLong) => Err(ServeError::MessageTooLong),
        Some(Ending::ClientGone) | None => Ok(None),
    }
}

async fn session(server: Server, ended: UnboundedSender<Ending>) -> Result<(), ServeError> {
    let streams = (Incoming::new(stdin(), ended.clone()), Outgoing::new(stdout(), ended));
    match server.serve(streams).await {
        Ok(running) => {
            // However it ended, it has.
            let _ = running.waiting().await;
            Ok(())
        }
        Err(ServerInitializeError::ConnectionClosed(_)) => Ok(()),
        Err(error) => Err(ServeError::Protocol(error.to_string())),
    }
}

fn heed_signals(ended: UnboundedSender<Ending>) -> io::Result<()> {
    let mut signals = Signals::new([SIGHUP, SIGINT, SIGTERM])?;
    let wait = move || {
        for signal in signals.forever() {
            let _ = ended.send(Ending::Signal(signal));
        }
    };
    thread::Builder::new().name("whyoom-signals".to_owned()).spawn(wait)?;
    Ok(())
}
