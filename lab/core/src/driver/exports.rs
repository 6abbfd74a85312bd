//! Physical memory between processes, as file descriptors.
//!
//! The descriptor is of the exporter's memory file, opened anew and standing at the place of the
//! memory in it: the file's inode and that place name the memory in the shared machine.

use std::os::fd::{IntoRawFd, RawFd};

use super::{Driver, HandleId, Physical, state::FileOf};
use crate::{
    backing,
    error::{Error, Result},
    machine::SharedMemory,
};

/// `CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR`.
const FILE_DESCRIPTOR: u32 = 1;

impl Driver {
    /// A descriptor for a handle that was made to be exported as one.
    pub fn export(&mut self, id: HandleId) -> Result<RawFd> {
        let handle = self.held(id)?;
        let Physical { device, size, handle_types } = handle.physical;
        if handle_types & FILE_DESCRIPTOR == 0 {
            return Err(Error::InvalidValue);
        }
        let own = self.device(device)?.physical.as_ref();
        let file = match &handle.file {
            FileOf::Own => own.map(|(file, _)| file).ok_or(Error::InvalidValue)?,
            FileOf::Imported(file) => file,
        };
        let descriptor = backing::open_at(file, handle.offset)?;
        if handle.shared.is_none() {
            let (inode, offset) = (backing::inode(file)?, handle.offset);
            let index = self.machine_index(device)?;
            let shared = self.machine.share(self.member, index, size, inode, offset)?;
            self.shares.insert(shared, 1);
            if let Some(handle) = self.handles.get_mut(&id) {
                handle.shared = Some(shared);
            }
        }
        Ok(descriptor.into_raw_fd())
    }

    /// A handle for another's descriptor, or for one of our own.
    pub fn import(&mut self, descriptor: RawFd) -> Result<HandleId> {
        let (file, inode, offset) = backing::adopt(descriptor)?;
        let shared = self.machine.hold(self.member, inode, offset)?;
        *self.shares.entry(shared).or_default() += 1;
        let device = self.ordinal(shared.device);
        let device = device.and_then(|device| {
            // What the machine says of it is not believed: beyond the file's end is a crash.
            let there = backing::holds(&file, offset, shared.bytes);
            if there { Ok(device) } else { Err(Error::InvalidValue) }
        });
        let device = device.inspect_err(|_| self.end_share(shared))?;
        let physical = Physical { device, size: shared.bytes, handle_types: FILE_DESCRIPTOR };
        Ok(self.enter_imported(physical, file, offset, shared))
    }

    /// Ends one handle's part in shared memory; the last one ends this process's.
    pub(super) fn end_share(&mut self, shared: SharedMemory) {
        let left = self.shares.get(&shared).map_or(0, |count| count - 1);
        if left > 0 {
            self.shares.insert(shared, left);
        } else {
            self.shares.remove(&shared);
            self.machine.let_go(self.member, shared);
        }
    }
}
