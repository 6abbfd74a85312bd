//! `whyoom who`: whose memory is it.

mod alert;
#[cfg(test)]
mod built;
mod gate;
mod live;
mod orphans;
mod output;
mod signal;
mod unavailable;
mod watch;

use std::{
    io::{self, Write},
    time::Duration,
};

use anyhow::Result;

pub(crate) use self::alert::Alert;
pub(crate) use self::unavailable::with_advice;
use self::{
    gate::{Job, Question},
    live::Live,
    output::write,
};
use crate::{
    arguments::WhoArguments,
    exit_status::{ALERT, ANSWERED, MISUSED, UNKNOWN},
    terminal::say,
};

/// Between two samples of `--watch`.
const INTERVAL: Duration = Duration::from_secs(1);

/// The exit code of the command.
pub(crate) fn run(arguments: &WhoArguments) -> Result<u8> {
    if arguments.gate {
        return Ok(gate(arguments.device));
    }
    let mut live = Live::open(arguments.json)?;
    if let Some(wanted) = arguments.device
        && let Some(lack) = live.lacks(wanted)?
    {
        say(&lack);
        return Ok(MISUSED);
    }
    let mut out = io::BufWriter::new(anstream::stdout().lock());
    if arguments.kill_orphans {
        let look = || live.look(None);
        let code = orphans::run(look, arguments.device, arguments.yes, &mut out)?;
        out.flush()?;
        return Ok(code);
    }
    let mut look = || live.look(arguments.device);
    if arguments.watch {
        let pause = || std::thread::sleep(INTERVAL);
        return watch::watch(look, pause, &arguments.alert, arguments.json, &mut out);
    }
    let report = look()?;
    let alerts = alert::judge(&arguments.alert, &report);
    write(&report, &alerts, arguments.json, &mut out)?;
    out.flush()?;
    Ok(if alerts.iter().any(|alert| alert.holds) { ALERT } else { ANSWERED })
}

/// What the driver says that a process holds, by GPU; nothing where it cannot be asked.
pub(crate) fn held_by(pid: u32) -> Option<Vec<(u32, Option<u64>)>> {
    let report = Live::open(true).ok()?.look(None).ok()?;
    let devices = report.devices.iter();
    let of_device = |device: &whyoom_node::DeviceReport| {
        let index = device.device.index;
        let own = device.holders.iter().filter(move |holder| holder.pid == pid);
        own.map(move |holder| (index, holder.bytes)).collect::<Vec<_>>()
    };
    Some(devices.flat_map(of_device).collect())
}

/// Whatever goes wrong is a line on standard output and "unknown", never "dirty".
fn gate(device: Option<u32>) -> u8 {
    let looked = Live::open(false).and_then(|mut live| live.capture());
    let (status, line) = match looked {
        Ok(capture) => {
            let question = Question { device, job: Job::of_environment() };
            gate::judge(&capture, &whyoom_node::judge(&capture), &question)
        }
        Err(error) => (UNKNOWN, format!("{error:#}").replace('\n', " ")),
    };
    // The status counts, whoever reads the line.
    let _ = writeln!(io::stdout(), "{line}");
    status
}
