//! `whyoom who`: whose memory is it.

mod alert;
#[cfg(test)]
mod built;
mod live;
mod orphans;
mod signal;
mod unavailable;
mod watch;

use std::{
    io::{self, Write},
    time::Duration,
};

use anyhow::Result;
use whyoom_node::NodeReport;
use whyoom_report::{WhoAlert, WhoWidth, write_who, write_who_json};

pub(crate) use self::alert::Alert;
use self::live::Live;
pub(crate) use self::unavailable::with_advice;
use crate::{
    ANSWERED, MISUSED,
    arguments::WhoArguments,
    terminal::{full_width, say, width},
};

/// What was waited for holds.
const ALERT: u8 = 3;
/// Between two looks of `--watch`.
const INTERVAL: Duration = Duration::from_secs(1);

/// The exit code of the command.
pub(crate) fn run(arguments: &WhoArguments) -> Result<u8> {
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

/// Writes a report, and what was asked of it below.
fn write(
    report: &NodeReport,
    alerts: &[WhoAlert],
    json: bool,
    out: &mut dyn Write,
) -> io::Result<()> {
    if json {
        return write_who_json(report, alerts, out);
    }
    write_who(report, WhoWidth { words: width(), table: full_width() }, out)?;
    for (place, alert) in alerts.iter().enumerate() {
        let apart = if place == 0 { "\n" } else { "" };
        writeln!(out, "{apart}{}", alert::line(alert))?;
    }
    Ok(())
}
