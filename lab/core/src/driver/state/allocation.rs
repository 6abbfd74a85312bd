//! Live allocations, and arrays, which lie in them.

use super::ids::{ContextId, PoolId};

/// What an address belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AllocationKind {
    /// Device memory of its own pages.
    Device,
    /// Device memory in a slab.
    Small,
    /// A block of a stream-ordered pool.
    Pooled(PoolId),
    /// Managed memory.
    Managed,
    /// Page-locked host memory.
    Pinned,
    /// Host memory of the program's own, page-locked afterwards.
    Registered,
    /// Virtual memory with physical memory mapped to it.
    Mapped,
    /// An allocation of a graph, in that space of addresses.
    Graph(u64),
    /// Another process's memory, opened here.
    Imported,
}

/// A live allocation.
#[derive(Clone, Copy, Debug)]
pub struct Allocation {
    /// Its first address.
    pub start: u64,
    /// What was asked for.
    pub size: u64,
    /// What it is.
    pub kind: AllocationKind,
    /// Its device.
    pub device: usize,
    /// The context it was made in; 0 for none.
    pub context: ContextId,
    /// A number that no other allocation of the process has.
    pub id: u64,
    /// The bytes that it takes.
    pub(in crate::driver) footprint: u64,
    /// Whether anything was written to it.
    pub(in crate::driver) touched: bool,
    /// Host memory's flags.
    pub(in crate::driver) flags: u32,
}

impl Allocation {
    /// One that nothing was written to yet, and that takes what was asked for.
    pub(in crate::driver) fn new(
        kind: AllocationKind,
        (device, context): (usize, ContextId),
        start: u64,
        size: u64,
    ) -> Self {
        let (id, touched, flags) = (0, false, 0);
        Self { start, size, kind, device, context, id, footprint: size, touched, flags }
    }

    /// Whether the device owns it, rather than the host.
    #[must_use]
    pub fn is_on_device(&self) -> bool {
        !matches!(self.kind, AllocationKind::Pinned | AllocationKind::Registered)
    }

    /// The flags that host memory was made with.
    #[must_use]
    pub fn host_flags(&self) -> u32 {
        self.flags
    }
}

/// An array for textures.
#[derive(Clone, Copy, Debug)]
pub struct ArrayShape {
    /// Elements in a row.
    pub width: u64,
    /// Rows; 0 for one dimension.
    pub height: u64,
    /// Layers; 0 for fewer dimensions.
    pub depth: u64,
    /// Bytes of an element.
    pub element: u64,
    /// Format, channels and flags of the elements, as the driver API numbers them.
    pub format: [u32; 3],
}

impl ArrayShape {
    pub(in crate::driver) fn bytes(self) -> Option<u64> {
        let rows = self.height.max(1).checked_mul(self.depth.max(1))?;
        self.width.checked_mul(self.element)?.checked_mul(rows)
    }
}
