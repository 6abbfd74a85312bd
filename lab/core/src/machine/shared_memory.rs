//! Memory that several processes hold: it lives as long as one of them does.

use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};

use super::{
    Machine, Membership,
    layout::SharedRecord,
    limits::{MAX_BYTES, MAX_SHARED},
};
use crate::error::{Error, Result};

/// An allocation that several processes may hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct SharedMemory {
    slot: usize,
    /// Its device.
    pub device: usize,
    /// Its size.
    pub bytes: u64,
}

impl Machine {
    /// Makes memory of this process's own into shared memory, of which it is the first holder.
    pub fn share(
        &self,
        member: Membership,
        device: usize,
        bytes: u64,
        file: u64,
        offset: u64,
    ) -> Result<SharedMemory> {
        self.device(device)?;
        let _guard = self.file.lock.lock();
        let records = &self.file.shared;
        let free = |record: &SharedRecord| record.bytes.load(Acquire) == 0;
        let slot = records.iter().position(free).ok_or(Error::OperatingSystem)?;
        let record = &records[slot];
        record.device.store(device as u64, Relaxed);
        record.file.store(file, Relaxed);
        record.offset.store(offset, Relaxed);
        record.holders.iter().for_each(|word| word.store(0, Relaxed));
        record.hold(member.slot);
        // The mark before the record: beyond the mark it would be seen by nobody, and stay. The
        // refund before it too: death in between loses a dead process's memory, and never makes it
        // count twice.
        self.file.shared_high_water.fetch_max(slot as u64 + 1, Relaxed);
        self.refund(member, device, bytes);
        record.bytes.store(bytes, Release);
        Ok(SharedMemory { slot, device, bytes })
    }

    /// Finds shared memory by the file behind it, and makes this process a holder.
    pub fn hold(&self, member: Membership, file: u64, offset: u64) -> Result<SharedMemory> {
        let _guard = self.file.lock.lock();
        let is_it = |record: &SharedRecord| {
            record.bytes.load(Acquire) > 0
                && record.file.load(Relaxed) == file
                && record.offset.load(Relaxed) == offset
        };
        let slot = self.file.shared.iter().position(is_it).ok_or(Error::InvalidValue)?;
        let record = &self.file.shared[slot];
        let (device, bytes) = (record.device.load(Relaxed), record.bytes.load(Relaxed));
        let device = usize::try_from(device).map_err(|_| Error::InvalidDevice)?;
        if device >= self.device_count() || bytes > MAX_BYTES {
            return Err(Error::InvalidValue);
        }
        record.hold(member.slot);
        Ok(SharedMemory { slot, device, bytes })
    }

    /// Ends this process's hold. The last holder's end frees the memory.
    pub fn let_go(&self, member: Membership, shared: SharedMemory) {
        let _guard = self.file.lock.lock();
        self.file.shared[shared.slot].let_go(member.slot);
    }

    /// What living records of shared memory hold on a device.
    pub(super) fn shared_sum(&self, device: usize) -> u64 {
        let on_device = |record: &&SharedRecord| record.device.load(Relaxed) == device as u64;
        let held = self.shared_records().iter().filter(on_device);
        held.map(|record| record.bytes.load(Acquire)).fold(0, u64::saturating_add)
    }

    /// Ends whatever hold the process of that record has.
    pub(super) fn drop_shares(&self, slot: usize) {
        for record in self.shared_records() {
            if record.bytes.load(Acquire) > 0 {
                record.let_go(slot);
            }
        }
    }

    /// The records that have ever been used.
    fn shared_records(&self) -> &[SharedRecord] {
        let high_water = self.file.shared_high_water.load(Relaxed).min(MAX_SHARED as u64);
        &self.file.shared[..high_water as usize]
    }
}

impl SharedRecord {
    fn hold(&self, process: usize) {
        self.holders[process / 64].fetch_or(1 << (process % 64), Relaxed);
    }

    fn let_go(&self, process: usize) {
        self.holders[process / 64].fetch_and(!(1 << (process % 64)), Relaxed);
        if self.holders.iter().all(|word| word.load(Relaxed) == 0) {
            self.bytes.store(0, Release);
        }
    }
}
