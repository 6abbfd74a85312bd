//! Copies and fills. They are carried out at once, in the order of the calls; streams only note
//! that there was work.

use super::{ContextId, Driver};
use crate::{
    backing,
    error::{Error, Result},
    timeline::StreamId,
};

impl Driver {
    /// Copies between any two places. Device memory must be live over its whole length.
    pub fn copy(
        &mut self,
        context: ContextId,
        target: u64,
        source: u64,
        bytes: u64,
        stream: StreamId,
    ) -> Result<()> {
        if bytes == 0 {
            return Ok(());
        }
        let to_device = self.check_range(target, bytes)?;
        let from_device = self.check_range(source, bytes)?;
        if from_device && !to_device {
            self.machine.note_read_back();
        }
        if from_device || !to_device || self.machine.keeps_copy(bytes) {
            self.touch(target);
            backing::copy(target, source, bytes, to_device && from_device);
        }
        self.submit(context, stream, 0)
    }

    /// Copies rows of a matrix, as far as the first row that cannot be.
    pub fn copy_rows(
        &mut self,
        context: ContextId,
        (target, target_pitch): (u64, u64),
        (source, source_pitch): (u64, u64),
        (width, height): (u64, u64),
        stream: StreamId,
    ) -> Result<()> {
        if width == 0 {
            return Ok(());
        }
        for row in 0..height {
            let to = row_start(target, row, target_pitch)?;
            let from = row_start(source, row, source_pitch)?;
            self.copy(context, to, from, width, stream)?;
        }
        Ok(())
    }

    /// Fills rows of a matrix, as far as the first row that cannot be.
    pub fn fill_rows(
        &mut self,
        context: ContextId,
        (target, pitch): (u64, u64),
        pattern: &[u8],
        (width, height): (u64, u64),
        stream: StreamId,
    ) -> Result<()> {
        if width == 0 {
            return Ok(());
        }
        for row in 0..height {
            self.fill(context, row_start(target, row, pitch)?, pattern, width, stream)?;
        }
        Ok(())
    }

    /// Fills device memory with a pattern of 1, 2 or 4 bytes.
    pub fn fill(
        &mut self,
        context: ContextId,
        target: u64,
        pattern: &[u8],
        count: u64,
        stream: StreamId,
    ) -> Result<()> {
        let bytes = count.checked_mul(pattern.len() as u64).ok_or(Error::InvalidValue)?;
        if bytes == 0 {
            return Ok(());
        }
        if !target.is_multiple_of(pattern.len() as u64) || self.find(target).is_none() {
            return Err(Error::InvalidValue);
        }
        let on_device = self.check_range(target, bytes)?;
        // Pages of the program's own memory are never given back: a file may be behind them.
        if on_device && pattern.iter().all(|byte| *byte == 0) {
            backing::fill_zero(target, bytes);
        } else {
            self.touch(target);
            backing::fill(target, pattern, bytes);
        }
        self.submit(context, stream, 0)
    }

    /// Whether a range is simulated device memory, live from end to end. Host memory is the
    /// program's own affair, as it is with the real driver.
    fn check_range(&self, address: u64, bytes: u64) -> Result<bool> {
        if address == 0 {
            return Err(Error::InvalidValue);
        }
        match self.find(address) {
            Some(held) if bytes <= held.size - (address - held.start) => Ok(held.is_on_device()),
            Some(_) => Err(Error::InvalidValue),
            None if self.is_device_address(address) => Err(Error::InvalidValue),
            None => Ok(false),
        }
    }

    /// Whether the address is the lab's, live or not.
    fn is_device_address(&self, address: u64) -> bool {
        let reserved = self.reservations.range(..=address).next_back();
        let in_reserved = reserved.is_some_and(|(start, length)| address - start < *length);
        in_reserved || self.devices.iter().any(|device| device.contains(address))
    }

    pub(super) fn touch(&mut self, address: u64) {
        if let Some((_, held)) = self.allocations.range_mut(..=address).next_back() {
            held.touched = true;
        }
    }
}

/// Where a row of a matrix begins.
fn row_start(first: u64, row: u64, pitch: u64) -> Result<u64> {
    let distance = row.checked_mul(pitch).ok_or(Error::InvalidValue)?;
    first.checked_add(distance).ok_or(Error::InvalidValue)
}
