//! An independent check of what policies do. It knows nothing of any policy: only grants, frees, and
//! where the device says that memory is.

use std::collections::{BTreeMap, HashMap};

use crate::{
    device::Handle,
    policy::{ALIGNMENT, BlockId, Grant, Request},
    simulated::SimulatedDevice,
};

/// What must not happen.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Violation {
    /// A block is smaller than what was asked for.
    #[error("{0:?} is smaller than asked for")]
    TooSmall(Grant),
    /// A block does not start where it must.
    #[error("{0:?} is not aligned")]
    Misaligned(Grant),
    /// No memory lies behind a part of a block.
    #[error("{0:?} has no memory behind it")]
    Unbacked(Grant),
    /// Two live blocks share physical memory.
    #[error("{0:?} shares memory with a live block")]
    Overlap(Grant),
    /// The memory behind a live block was exchanged or taken away.
    #[error("the memory behind {0:?} changed while it was live")]
    Moved(Grant),
    /// A block was given that is live already, or freed without being live.
    #[error("{0:?} is not what it should be")]
    Unknown(Grant),
    /// More is taken than the device has.
    #[error("{in_use} bytes are in use of {capacity}")]
    OverCapacity {
        /// What is taken.
        in_use: u64,
        /// What there is.
        capacity: u64,
    },
}

/// A piece of physical memory: a segment's addresses, or a part of a handle's.
type Piece = (Option<Handle>, u64, u64);

/// What is live, by the physical memory behind it.
#[derive(Debug, Default)]
pub struct Validator {
    pieces: HashMap<BlockId, Vec<Piece>>,
    /// Start and end of live pieces.
    taken: BTreeMap<(Option<Handle>, u64), u64>,
}

impl Validator {
    /// A block was given.
    pub fn granted(
        &mut self,
        request: Request,
        grant: Grant,
        device: &SimulatedDevice,
    ) -> Result<(), Violation> {
        if grant.size < request.size {
            return Err(Violation::TooSmall(grant));
        }
        if !grant.address.is_multiple_of(ALIGNMENT) {
            return Err(Violation::Misaligned(grant));
        }
        let pieces = behind(grant, device).ok_or(Violation::Unbacked(grant))?;
        for &(memory, start, end) in &pieces {
            let before = self.taken.range(..(memory, end)).next_back();
            if before.is_some_and(|(&(other, _), &other_end)| other == memory && other_end > start)
            {
                return Err(Violation::Overlap(grant));
            }
            self.taken.insert((memory, start), end);
        }
        let doubled = self.pieces.insert(grant.block, pieces).is_some();
        if doubled { Err(Violation::Unknown(grant)) } else { Ok(()) }
    }

    /// A block is about to be given back.
    pub fn freed(&mut self, grant: Grant, device: &SimulatedDevice) -> Result<(), Violation> {
        let pieces = self.pieces.remove(&grant.block).ok_or(Violation::Unknown(grant))?;
        if behind(grant, device).as_ref() != Some(&pieces) {
            return Err(Violation::Moved(grant));
        }
        for (memory, start, _) in pieces {
            self.taken.remove(&(memory, start));
        }
        Ok(())
    }

    /// The device is not overdrawn.
    pub fn conserved(&self, device: &SimulatedDevice) -> Result<(), Violation> {
        use crate::device::Device;
        let (in_use, capacity) = (device.in_use(), device.capacity());
        if in_use > capacity { Err(Violation::OverCapacity { in_use, capacity }) } else { Ok(()) }
    }
}

/// The physical memory behind a block, piece by piece; nothing where a part has none.
fn behind(grant: Grant, device: &SimulatedDevice) -> Option<Vec<Piece>> {
    let mut pieces = Vec::new();
    let (mut address, end) = (grant.address, grant.address + grant.size);
    while address < end {
        let (memory, inside, left) = device.behind(address)?;
        let length = left.min(end - address);
        pieces.push((memory, inside, inside + length));
        address += length;
    }
    Some(pieces)
}
