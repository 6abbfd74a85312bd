//! `--kill-orphans`: ends processes of the caller's own that use a GPU and whose parent has gone, and no others.

mod ending;
mod target;
mod uses;

use std::io::{self, IsTerminal, Write};

use anyhow::Result;
use whyoom_node::{NodeReport, write_orphan_reasons};
use whyoom_trace::Bytes;

use self::{
    ending::{Ending, end},
    target::{Target, others, targets},
};
use crate::{
    exit_status::{ANSWERED, FAILED, MISUSED},
    terminal::width,
};

/// Shows what would be ended, asks, ends it, and shows what came back. `look` shows all devices, also
/// where only holders of one are meant: ending a process gives back what it holds anywhere.
pub(crate) fn run(
    look: impl FnMut() -> Result<NodeReport>,
    device: Option<u32>,
    yes: bool,
    out: &mut dyn Write,
) -> Result<u8> {
    let caller = Caller { uses_gpu: uses::uses_gpu, is_root: rustix::process::getuid().is_root() };
    run_with(look, caller, device, yes, out)
}

/// Who asks, and what that user can see.
#[derive(Clone, Copy)]
struct Caller {
    /// Whether a process uses a GPU.
    uses_gpu: fn(u32) -> bool,
    is_root: bool,
}

/// The same for any caller.
fn run_with(
    mut look: impl FnMut() -> Result<NodeReport>,
    caller: Caller,
    device: Option<u32>,
    yes: bool,
    out: &mut dyn Write,
) -> Result<u8> {
    let Caller { uses_gpu, is_root } = caller;
    let before = look()?;
    let is_meant = |target: &Target| device.is_none_or(|index| holds(&before, index, target.pid));
    let mut targets = targets(&before);
    targets.retain(is_meant);
    for Target { pid, command, .. } in targets.extract_if(.., |target| !uses_gpu(target.pid)) {
        writeln!(
            out,
            "Process {pid} ({command}) is left alone: it has no open file of the GPU driver. In a \
             container the driver may list PIDs from outside, which belong to other processes \
             here."
        )?;
    }
    let mut others = if is_root { others(&before) } else { Vec::new() };
    others.retain(|other| is_meant(other) && uses_gpu(other.pid));
    if targets.is_empty() {
        let whose = if is_root { "root's" } else { "yours" };
        writeln!(out, "No orphan of {whose} holds memory: nothing to terminate.")?;
        write_others(&others, out)?;
        return Ok(ANSWERED);
    }
    write_plan(&before, &targets, out)?;
    write_others(&others, out)?;
    if !yes {
        if !io::stdin().is_terminal() {
            writeln!(
                out,
                "\nNothing was terminated: there is no terminal to ask on. Use --yes to skip the \
                 question."
            )?;
            return Ok(MISUSED);
        }
        if !confirmed(targets.len(), out)? {
            writeln!(out, "Nothing was terminated.")?;
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

fn holds(report: &NodeReport, index: u32, pid: u32) -> bool {
    let mut devices = report.devices.iter().filter(|device| device.device.index == index);
    devices.any(|device| device.holders.iter().any(|holder| holder.pid == pid))
}

fn write_plan(report: &NodeReport, targets: &[Target], out: &mut dyn Write) -> io::Result<()> {
    let these = if targets.len() == 1 { "This process" } else { "These processes" };
    writeln!(out, "{these} would receive SIGTERM, and no other:\n")?;
    for target in targets {
        let Target { pid, user, command, age, bytes, .. } = target;
        writeln!(out, "  {pid}  {user}  {}  started {age} ago\n      {command}", Bytes(*bytes))?;
    }
    writeln!(out)?;
    let pids: Vec<u32> = targets.iter().map(|target| target.pid).collect();
    write_orphan_reasons(report, &pids, width(), out)
}

/// What root may end and this command does not: the line to paste is root's own decision.
fn write_others(others: &[Target], out: &mut dyn Write) -> io::Result<()> {
    if others.is_empty() {
        return Ok(());
    }
    let bytes: Bytes = others.iter().map(|other| Bytes(other.bytes)).sum();
    let (orphans, them) = match others.len() {
        1 => ("1 orphan of another user holds".to_owned(), "it"),
        count => (format!("{count} orphans of other users hold"), "them"),
    };
    let pids: Vec<String> = others.iter().map(|other| other.pid.to_string()).collect();
    writeln!(
        out,
        "{orphans} {bytes}. This command never terminates other users' processes; to terminate \
         {them}:\n  kill {}",
        pids.join(" ")
    )
}

fn confirmed(count: usize, out: &mut dyn Write) -> Result<bool> {
    let them = if count == 1 { "it" } else { "them" };
    write!(out, "\nTerminate {them}? [y/N] ")?;
    out.flush()?;
    let mut answer = String::new();
    io::stdin().read_line(&mut answer)?;
    Ok(matches!(answer.trim().to_ascii_lowercase().as_str(), "y" | "yes"))
}

fn told(target: &Target, ending: &Ending) -> String {
    let pid = target.pid;
    match ending {
        Ending::Ended => format!("Process {pid} has exited."),
        Ending::Gone => format!("Process {pid} had already exited."),
        Ending::Changed => format!(
            "Process {pid} was left alone: it is no longer the orphan shown above. Run this again."
        ),
        Ending::Refused(error) => format!(
            "Process {pid} was left alone: cannot open it ({error}). Manually:\n  kill {pid}"
        ),
        Ending::Left if target.stuck => format!(
            "Process {pid} is still running: it is in an uninterruptible wait and exits when that \
             ends."
        ),
        Ending::Left => format!(
            "Process {pid} is still running 5 s after SIGTERM. To terminate it without cleanup:\n  \
             kill -9 {pid}"
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
            writeln!(out, "GPU {index}: {came} freed; {free} free now, {old} before.")?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests;
