//! `--kill-orphans`: ends processes of the caller's own that use a GPU and whose parent has gone, and no others.

mod ending;
mod uses;

use std::io::{self, IsTerminal, Write};

use anyhow::Result;
use whyoom_node::{DeviceReport, Holder, NodeReport, State, SuspicionKind};
use whyoom_report::{holder_age, holder_command, write_orphan_reasons};
use whyoom_trace::Bytes;

use self::ending::{Ending, end};
use crate::{ANSWERED, FAILED, MISUSED, terminal::width};

/// A process that was proved to be an orphan of the caller's own.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Target {
    pid: u32,
    /// Its start, which tells it from a later process with the same number.
    started: u64,
    user: String,
    command: String,
    age: String,
    /// What it holds, on all devices together.
    bytes: u64,
    stuck: bool,
}

/// Shows what would be ended, asks, ends it, and shows what came back. `look` shows all devices, also
/// where only holders of one are meant: ending a process gives back what it holds anywhere.
pub(crate) fn run(
    look: impl FnMut() -> Result<NodeReport>,
    device: Option<u32>,
    yes: bool,
    out: &mut dyn Write,
) -> Result<u8> {
    run_with(look, uses::uses_gpu, device, yes, out)
}

/// The same, with whatever tells which processes use a GPU.
fn run_with(
    mut look: impl FnMut() -> Result<NodeReport>,
    uses_gpu: fn(u32) -> bool,
    device: Option<u32>,
    yes: bool,
    out: &mut dyn Write,
) -> Result<u8> {
    let before = look()?;
    let mut targets = targets(&before);
    targets.retain(|target| device.is_none_or(|index| holds(&before, index, target.pid)));
    for Target { pid, command, .. } in targets.extract_if(.., |target| !uses_gpu(target.pid)) {
        writeln!(
            out,
            "Process {pid} ({command}) is left alone: nothing of the GPU's driver can be seen open in it. In a \
             container the driver may list numbers of processes outside, which mean others here."
        )?;
    }
    if targets.is_empty() {
        writeln!(out, "No orphan of yours holds memory: there is nothing to end.")?;
        return Ok(ANSWERED);
    }
    write_plan(&before, &targets, out)?;
    if !yes {
        if !io::stdin().is_terminal() {
            writeln!(
                out,
                "\nNothing was ended: nobody can be asked here. --yes ends them unasked."
            )?;
            return Ok(MISUSED);
        }
        if !confirmed(targets.len(), out)? {
            writeln!(out, "Nothing was ended.")?;
            return Ok(ANSWERED);
        }
    }
    let endings = end(&targets, &mut look, uses_gpu)?;
    writeln!(out)?;
    for (target, ending) in targets.iter().zip(&endings) {
        writeln!(out, "{}", told(target, ending))?;
    }
    write_gain(&before, &look()?, out)?;
    let all_ended = endings.iter().all(|ending| matches!(ending, Ending::Ended | Ending::Gone));
    Ok(if all_ended { ANSWERED } else { FAILED })
}

/// The orphans of the caller's own, each once, whichever devices it holds memory of.
fn targets(report: &NodeReport) -> Vec<Target> {
    let mut targets: Vec<Target> = Vec::new();
    let holders = report
        .devices
        .iter()
        .flat_map(|device| device.holders.iter().filter(|holder| is_own_orphan(device, holder)));
    for holder in holders {
        let Some(started) = holder.started else { continue };
        let bytes = holder.bytes.unwrap_or(0);
        match targets.iter_mut().find(|target| target.pid == holder.pid) {
            Some(target) => target.bytes = target.bytes.saturating_add(bytes),
            None => targets.push(Target {
                pid: holder.pid,
                started,
                user: holder.user.clone().unwrap_or_default(),
                command: holder_command(holder),
                age: holder_age(holder, report.time),
                bytes,
                stuck: holder.state == Some(State::Stuck),
            }),
        }
    }
    targets
}

fn holds(report: &NodeReport, index: u32, pid: u32) -> bool {
    let mut devices = report.devices.iter().filter(|device| device.device.index == index);
    devices.any(|device| device.holders.iter().any(|holder| holder.pid == pid))
}

/// Only what the checks call suspicious: servers that are meant to outlive their parent are not.
fn is_own_orphan(device: &DeviceReport, holder: &Holder) -> bool {
    let mut suspicions = device.suspicions.iter();
    holder.orphan.is_some_and(|orphan| orphan.own)
        && suspicions.any(|one| one.kind == SuspicionKind::Orphan && one.pids.contains(&holder.pid))
}

fn write_plan(report: &NodeReport, targets: &[Target], out: &mut dyn Write) -> io::Result<()> {
    let these = if targets.len() == 1 { "This process" } else { "These processes" };
    writeln!(out, "{these} would be asked to end (SIGTERM), and nothing else:\n")?;
    for target in targets {
        let Target { pid, user, command, age, bytes, .. } = target;
        writeln!(out, "  {pid}  {user}  {}  started {age} ago\n      {command}", Bytes(*bytes))?;
    }
    writeln!(out)?;
    let pids: Vec<u32> = targets.iter().map(|target| target.pid).collect();
    write_orphan_reasons(report, &pids, width(), out)
}

fn confirmed(count: usize, out: &mut dyn Write) -> Result<bool> {
    let them = if count == 1 { "it" } else { "them" };
    write!(out, "\nEnd {them}? [y/N] ")?;
    out.flush()?;
    let mut answer = String::new();
    io::stdin().read_line(&mut answer)?;
    Ok(matches!(answer.trim().to_ascii_lowercase().as_str(), "y" | "yes"))
}

fn told(target: &Target, ending: &Ending) -> String {
    let pid = target.pid;
    match ending {
        Ending::Ended => format!("Process {pid} has ended."),
        Ending::Gone => format!("Process {pid} had ended by itself."),
        Ending::Changed => format!(
            "Process {pid} was left alone: it is no longer the orphan that was shown. Run this again."
        ),
        Ending::Refused(error) => format!(
            "Process {pid} was left alone: it cannot be held on to ({error}). By hand:\n  kill {pid}"
        ),
        Ending::Left if target.stuck => format!(
            "Process {pid} is still there: it waits where no signal reaches it, and ends when that wait does."
        ),
        Ending::Left => format!(
            "Process {pid} is still there 5 s after SIGTERM. To end it without a chance to clean up:\n  kill -9 {pid}"
        ),
    }
}

/// What each device has free now, beside what it had.
fn write_gain(before: &NodeReport, now: &NodeReport, out: &mut dyn Write) -> io::Result<()> {
    for device in &now.devices {
        let index = device.device.index;
        let old = before.devices.iter().find(|old| old.device.index == index);
        let Some(old) = old.map(|old| old.device.memory.free) else { continue };
        let free = device.device.memory.free;
        if free > old {
            let (came, free, old) = (Bytes(free - old), Bytes(free), Bytes(old));
            writeln!(out, "GPU {index}: {came} came back; {free} free, {old} before.")?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests;
