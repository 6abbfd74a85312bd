//! Accesses to each kind of memory.

use super::{block::Block, launch::Wild};
use crate::{
    error::Fault,
    step::{Place, Space},
};

/// Generic addresses of shared and of local memory begin here, where no device memory is.
pub(super) const SHARED_WINDOW: u64 = 1 << 60;
pub(super) const LOCAL_WINDOW: u64 = 1 << 61;
const WINDOW: u64 = 1 << 32;

fn illegal(address: u64) -> impl Fn(Wild) -> Fault {
    move |_| Fault::IllegalAddress(address)
}

/// A part of a block's own memory.
fn part(memory: &mut [u8], start: u64, length: usize) -> Result<&mut [u8], Wild> {
    let start = usize::try_from(start).map_err(|_| Wild)?;
    let end = start.checked_add(length).ok_or(Wild)?;
    memory.get_mut(start..end).ok_or(Wild)
}

impl Block<'_> {
    /// The space and the address in it.
    fn resolve(&self, thread: usize, place: &Place) -> (Space, u64) {
        let base = self.read(thread, place.base);
        let address = base.wrapping_add(place.offset);
        match place.space {
            // Addresses of shared and local memory may lie in registers of 32 bits.
            Space::Shared | Space::Local | Space::Parameter if address < SHARED_WINDOW => {
                (place.space, address & (WINDOW - 1))
            }
            Space::Shared => (Space::Shared, address.wrapping_sub(SHARED_WINDOW)),
            Space::Generic if (SHARED_WINDOW..SHARED_WINDOW + WINDOW).contains(&address) => {
                (Space::Shared, address - SHARED_WINDOW)
            }
            Space::Generic if (LOCAL_WINDOW..LOCAL_WINDOW + WINDOW).contains(&address) => {
                (Space::Local, address - LOCAL_WINDOW)
            }
            Space::Generic => (Space::Global, address),
            space => (space, address),
        }
    }

    pub(super) fn load(
        &mut self,
        thread: usize,
        place: &Place,
        bytes: &mut [u8],
    ) -> Result<(), Fault> {
        let (space, address) = self.resolve(thread, place);
        let length = bytes.len();
        let found = match space {
            Space::Global | Space::Generic => {
                return self.memory.read(address, bytes).map_err(illegal(address));
            }
            Space::Shared => part(&mut self.shared, address, length),
            Space::Local => part(self.local_of(thread), address, length),
            Space::Parameter => {
                let all = &self.launch.parameters;
                let start = address as usize;
                let found = start.checked_add(length).and_then(|end| all.get(start..end));
                bytes.copy_from_slice(found.ok_or(Fault::IllegalAddress(address))?);
                return Ok(());
            }
        };
        bytes.copy_from_slice(found.map_err(illegal(address))?);
        Ok(())
    }

    pub(super) fn store(
        &mut self,
        thread: usize,
        place: &Place,
        bytes: &[u8],
    ) -> Result<(), Fault> {
        let (space, address) = self.resolve(thread, place);
        let found = match space {
            Space::Global | Space::Generic => {
                return self.memory.write(address, bytes).map_err(illegal(address));
            }
            Space::Shared => part(&mut self.shared, address, bytes.len()),
            Space::Local => part(self.local_of(thread), address, bytes.len()),
            Space::Parameter => Err(Wild),
        };
        found.map_err(illegal(address))?.copy_from_slice(bytes);
        Ok(())
    }

    fn local_of(&mut self, thread: usize) -> &mut [u8] {
        let size = self.kernel.local;
        &mut self.local[thread * size..(thread + 1) * size]
    }
}
