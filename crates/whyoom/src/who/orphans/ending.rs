//! From a proof to a signal, without hitting another process on the way.

use std::{
    io,
    time::{Duration, Instant},
};

use anyhow::Result;
use whyoom_node::NodeReport;

use super::target::{Target, targets};
use crate::who::signal::Pinned;

/// So long a process may take to clean up.
const PATIENCE: Duration = Duration::from_secs(5);

/// How it went with one process.
#[derive(Debug)]
pub(crate) enum Ending {
    /// It has ended.
    Ended,
    /// It had ended before it was asked to.
    Gone,
    /// It is not what was shown any more, or another process has its number: it was not touched.
    Changed,
    /// The kernel does not let it be signalled safely: it was not touched.
    Refused(io::Error),
    /// It was asked, and has not ended.
    Left,
}

/// Holds on to each process, proves anew that it is the orphan that was shown and uses a GPU, asks it to
/// end and waits. In this order: what was proved of a process that is held on to cannot become another's.
pub(crate) fn end(
    wanted: &[Target],
    look_again: &mut dyn FnMut() -> Result<NodeReport>,
    uses_gpu: fn(u32) -> bool,
) -> Result<Vec<Ending>> {
    let pinned: Vec<io::Result<Pinned>> =
        wanted.iter().map(|target| Pinned::new(target.pid)).collect();
    let proved = targets(&look_again()?);
    let still = |target: &Target| {
        let is_target = |now: &Target| (now.pid, now.started) == (target.pid, target.started);
        proved.iter().any(is_target) && uses_gpu(target.pid)
    };
    let asked: Vec<Result<Pinned, Ending>> =
        wanted.iter().zip(pinned).map(|(target, pinned)| ask(pinned, still(target))).collect();
    let deadline = Instant::now() + PATIENCE;
    let ending = |asked: Result<Pinned, Ending>| match asked {
        Ok(pinned) if pinned.ends_by(deadline) => Ending::Ended,
        Ok(_) => Ending::Left,
        Err(ending) => ending,
    };
    Ok(asked.into_iter().map(ending).collect())
}

fn ask(pinned: io::Result<Pinned>, still_proved: bool) -> Result<Pinned, Ending> {
    let pinned = pinned.map_err(gone_or_refused)?;
    if !still_proved {
        return Err(if pinned.ends_by(Instant::now()) { Ending::Gone } else { Ending::Changed });
    }
    pinned.terminate().map_err(gone_or_refused)?;
    Ok(pinned)
}

fn gone_or_refused(error: io::Error) -> Ending {
    /// "No such process".
    const ESRCH: i32 = 3;
    if error.raw_os_error() == Some(ESRCH) { Ending::Gone } else { Ending::Refused(error) }
}
