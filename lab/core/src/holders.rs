//! Processes that hold memory for a test: a second tenant, an orphan, one that cannot be woken.

use std::{thread, time::Duration};

use crate::{
    error::Result,
    machine::{Identity, Machine},
};

/// How often a holder looks whether its lab still runs.
const LOOK: Duration = Duration::from_millis(100);

/// A number above the largest that Linux gives to a process.
const GHOST_PID: u32 = 1 << 22 | 1;

/// What a holder is.
#[derive(Clone, Copy, Debug)]
pub struct Hold {
    /// The device.
    pub device: usize,
    /// What it takes, without a context.
    pub bytes: u64,
    /// When it takes it.
    pub after: Duration,
    /// Whether it then sleeps where no signal but the last one wakes it.
    pub stuck: bool,
}

/// Holds memory in this process until the lab's own process ends.
pub fn hold(machine: &Machine, hold: Hold, lab: Identity) -> Result<()> {
    thread::sleep(hold.after);
    let member = machine.join()?;
    machine.charge(member, hold.device, hold.bytes)?;
    machine.set_context(member, hold.device, true);
    if hold.stuck {
        sleep_uninterruptibly(lab);
    }
    wait_for_end(lab);
    Ok(())
}

/// Enters a holder whose process the operating system does not know.
pub fn add_ghost(machine: &Machine, device: usize, bytes: u64) -> Result<()> {
    let others = machine.holders(device).len() as u32;
    let member = machine.join_ghost(GHOST_PID + others)?;
    machine.charge(member, device, bytes)
}

fn wait_for_end(lab: Identity) {
    while lab.is_alive() {
        thread::sleep(LOOK);
    }
}

/// A process that waits for a child made this way is in the state that `ps` shows as D.
fn sleep_uninterruptibly(lab: Identity) {
    // SAFETY: without shared memory this is a fork that suspends its parent; the child only looks
    // for another process and ends.
    let child =
        unsafe { libc::syscall(libc::SYS_clone, libc::CLONE_VFORK | libc::SIGCHLD, 0, 0, 0, 0) };
    if child == 0 {
        wait_for_end(lab);
        // SAFETY: ends the child at once, without handlers that belong to its parent.
        unsafe { libc::_exit(0) };
    }
}
