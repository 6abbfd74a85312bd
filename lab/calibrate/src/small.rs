//! How the driver places small allocations, told from addresses and from free memory alone. Pure:
//! the memory itself is behind a trait.
//!
//! A context may come with room for small allocations, so the first of them need not show in free
//! memory. One byte after the other is taken until free memory falls, which opens a slab, and until
//! it falls again, which opens the next: the second fall is a slab's size. All slabs are full then
//! but the last, which holds one byte.
//!
//! From there an allocation shares a slab where it takes nothing from free memory, or where another
//! of its size does after it. The first covers sizes up to a whole slab; the second also covers
//! drivers that have slabs for each range of sizes.

use crate::error::{Error, Result};

/// Memory that can be taken and given back.
pub(crate) trait Memory {
    fn free_bytes(&self) -> Result<u64>;
    fn take(&self, bytes: u64) -> Result<u64>;
    fn give_back(&self, address: u64);
}

/// How many allocations of one byte are made at most: 64 MiB in units of 512.
const MOST: usize = 1 << 17;

/// How often it is measured until two in succession agree.
const ATTEMPTS: usize = 4;

/// What is known of small allocations.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Small {
    /// The smallest distance between two.
    pub(crate) unit: u64,
    /// What is taken for them at a time.
    pub(crate) slab: u64,
    /// How many of one byte one slab holds.
    pub(crate) in_slab: usize,
    /// The largest that shares a slab.
    pub(crate) limit: Result<u64>,
}

/// Measures until two measurements in succession agree: other processes move free memory too.
pub(crate) fn measure(memory: &dyn Memory) -> Result<Small> {
    let mut last = once(memory)?;
    for _ in 1..ATTEMPTS {
        let next = once(memory)?;
        if next == last {
            return Ok(next);
        }
        last = next;
    }
    Err(Error::Unsteady)
}

fn once(memory: &dyn Memory) -> Result<Small> {
    let mut held = Held::new(memory)?;
    let (_, _) = fill_until_fall(&mut held)?;
    let (in_slab, slab) = fill_until_fall(&mut held)?;
    let unit = smallest_distance(&held.addresses).ok_or(Error::NothingShared)?;
    let limit = if in_slab > 1 { largest_shared(memory, slab) } else { Err(Error::NothingShared) };
    Ok(Small { unit, slab, in_slab, limit })
}

/// Takes single bytes until free memory falls: how many that took, and by how much it fell.
fn fill_until_fall(held: &mut Held<'_>) -> Result<(usize, u64)> {
    for count in 1..=MOST {
        let fall = held.take(1)?;
        if fall > 0 {
            return Ok((count, fall));
        }
    }
    Err(Error::NeverFell(MOST))
}

fn smallest_distance(addresses: &[u64]) -> Option<u64> {
    let mut sorted = addresses.to_vec();
    sorted.sort_unstable();
    sorted.windows(2).map(|pair| pair[1] - pair[0]).min()
}

/// Halves the sizes between one that shares and one that does not.
fn largest_shared(memory: &dyn Memory, slab: u64) -> Result<u64> {
    if is_shared(memory, slab)? {
        return Err(Error::AllShared(slab));
    }
    let (mut shared, mut alone) = (1, slab);
    while alone - shared > 1 {
        let middle = shared.midpoint(alone);
        if is_shared(memory, middle)? { shared = middle } else { alone = middle }
    }
    Ok(shared)
}

/// Whether an allocation of that size, or another one after it, takes nothing from free memory.
fn is_shared(memory: &dyn Memory, size: u64) -> Result<bool> {
    let mut probe = Held::new(memory)?;
    let before = probe.free;
    let shared = probe.take(size)? == 0 || probe.take(size)? == 0;
    drop(probe);
    // A driver that keeps freed memory would give it to the next probe, which would seem to share.
    if memory.free_bytes()? == before { Ok(shared) } else { Err(Error::Unsteady) }
}

/// Allocations that are given back at the end, however it comes.
struct Held<'memory> {
    memory: &'memory dyn Memory,
    addresses: Vec<u64>,
    /// Free memory when it was last asked for.
    free: u64,
}

impl<'memory> Held<'memory> {
    fn new(memory: &'memory dyn Memory) -> Result<Self> {
        Ok(Self { memory, addresses: Vec::new(), free: memory.free_bytes()? })
    }

    /// Takes memory; by how much free memory fell.
    fn take(&mut self, bytes: u64) -> Result<u64> {
        self.addresses.push(self.memory.take(bytes)?);
        let before = std::mem::replace(&mut self.free, self.memory.free_bytes()?);
        Ok(before.saturating_sub(self.free))
    }
}

impl Drop for Held<'_> {
    fn drop(&mut self) {
        for address in self.addresses.drain(..).rev() {
            self.memory.give_back(address);
        }
    }
}

#[cfg(test)]
mod tests;
