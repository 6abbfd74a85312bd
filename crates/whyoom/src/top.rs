//! `whyoom top`.

use std::{
    env,
    io::{self, IsTerminal, Write},
};

use anyhow::{Context, Result, bail};
use whyoom_gpu::{Asked, Gpus};
use whyoom_node::{NodeSampler, judge};
use whyoom_tui::{Ended, Options, Theme};

use crate::{
    arguments::TopArguments, exit_status::ANSWERED, misuse::Misuse, recorded::Recorders,
    terminal::has_unicode, who::with_advice,
};

/// Where neither COLUMNS nor a terminal says how wide a page is.
const WIDTH: usize = 100;
/// Anything narrower would show no process.
const MIN_WIDTH: usize = 40;
const MAX_WIDTH: usize = 1000;
/// A shell adds this to the number of the signal that ended a program.
const BY_SIGNAL: i32 = 128;

pub(crate) fn run(arguments: &TopArguments) -> Result<u8> {
    let gpus = Gpus::open().map_err(|error| with_advice(error, "whyoom top"))?;
    let mut sampler = NodeSampler::new();
    let mut recorders = Recorders::with_places();
    let mut source = move || {
        sampler.look(&gpus, Asked::All).map(|capture| {
            let mut report = judge(&capture);
            recorders.fill(&mut report);
            report
        })
    };
    let look = Theme { colour: has_colour(), unicode: has_unicode() };
    let options = Options { interval: arguments.interval, device: arguments.device, look };
    if arguments.once || !can_be_drawn_on() {
        let report = source().context("cannot read the devices")?;
        if let Some(device) = arguments.device
            && report.devices.iter().all(|one| one.device.index != device)
        {
            let count = report.devices.len();
            bail!(Misuse(format!(
                "there is no GPU {device}: this machine has {count}, counted from 0"
            )));
        }
        let page = whyoom_tui::once(report, page_width(), options);
        let mut out = io::stdout().lock();
        out.write_all(page.as_bytes())?;
        out.flush()?;
        return Ok(ANSWERED);
    }
    match whyoom_tui::run(source, options)? {
        Ended::ByKey => Ok(ANSWERED),
        Ended::BySignal(signal) => Ok(u8::try_from(BY_SIGNAL + signal).unwrap_or(u8::MAX)),
    }
}

/// A program that reads us, or a terminal that cannot move its cursor, gets one page.
fn can_be_drawn_on() -> bool {
    let dumb = env::var("TERM").is_ok_and(|name| name == "dumb" || name.is_empty());
    !dumb && io::stdout().is_terminal()
}

/// <https://no-color.org>: whatever it says, if it says something.
fn has_colour() -> bool {
    match anstream::ColorChoice::global() {
        anstream::ColorChoice::Never => return false,
        anstream::ColorChoice::Always | anstream::ColorChoice::AlwaysAnsi => return true,
        anstream::ColorChoice::Auto => {}
    }
    env::var_os("NO_COLOR").is_none_or(|value| value.is_empty())
}

fn page_width() -> usize {
    let told = env::var("COLUMNS").ok().and_then(|columns| columns.parse().ok());
    let terminal = || terminal_size::terminal_size().map(|(width, _)| usize::from(width.0));
    told.or_else(terminal).unwrap_or(WIDTH).clamp(MIN_WIDTH, MAX_WIDTH)
}
