//! What a recorded process holds now, read once.

use std::{fs::File, io, mem::offset_of, os::unix::fs::FileExt};

use super::live_view::not_ours;
use crate::{
    format::{PART_FILE, PART_IDENTITY},
    header::u64_at,
    identity::PartIdentity,
    live::{LIVE_DEVICES, LiveDevice, LiveTotals, State},
};

/// What a process says that it holds, on all its devices together, in bytes. It is read, not mapped: the
/// file is that process's, which may cut it at any moment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LiveFigures {
    /// The process that the file says it is of.
    pub pid: u32,
    /// When that process started, in clock ticks after the machine did.
    pub started: u64,
    /// Events recorded so far.
    pub events: u64,
    /// What the framework's allocator has given to tensors.
    pub allocated: u64,
    /// What the framework's allocator has taken from the driver.
    pub reserved: u64,
    /// What the process has taken from the driver by calls of any kind.
    pub driver: u64,
}

impl LiveFigures {
    /// Reads an open `.part` file.
    ///
    /// # Errors
    /// Where it cannot be read, or is no part of a recording, or not the whole of one.
    pub fn read(file: &File) -> io::Result<Self> {
        let mut bytes = vec![0; PART_FILE];
        file.read_exact_at(&mut bytes, 0)?;
        let identity = PartIdentity::read(&bytes).map_err(|_| not_ours())?;
        let totals = PART_IDENTITY + offset_of!(State, totals);
        let sum = |field: usize| {
            let devices = (0..LIVE_DEVICES).map(|device| device * size_of::<LiveDevice>());
            let first = totals + offset_of!(LiveTotals, devices) + field;
            devices.map(|device| u64_at(&bytes, first + device)).fold(0, u64::saturating_add)
        };
        Ok(Self {
            pid: identity.pid,
            started: identity.started,
            events: u64_at(&bytes, totals + offset_of!(LiveTotals, events)),
            allocated: sum(offset_of!(LiveDevice, allocated)),
            reserved: sum(offset_of!(LiveDevice, reserved)),
            driver: sum(offset_of!(LiveDevice, driver)),
        })
    }
}
