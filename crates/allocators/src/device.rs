//! What a policy stands on: memory of a device, by segments or by virtual memory.

/// Physical memory made by [`Device::create`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Handle(pub u32);

/// Pages of virtual memory: sizes and addresses of reservations, handles and mappings are multiples
/// of this.
pub const PAGE: u64 = 2 << 20;

/// A device that memory is taken from. What is refused (`None`) is refused because memory ran out.
pub trait Device {
    /// `cudaMalloc`: addresses with memory behind them.
    fn alloc(&mut self, size: u64) -> Option<u64>;
    /// `cudaFree` of what `alloc` gave. It waits for the device.
    fn free(&mut self, address: u64);

    /// `cuMemAddressReserve`: bare addresses. There is always room for more.
    fn reserve(&mut self, size: u64) -> u64;
    /// `cuMemCreate`: physical memory without an address.
    fn create(&mut self, size: u64) -> Option<Handle>;
    /// `cuMemRelease`: the memory goes once it is mapped nowhere.
    fn release(&mut self, handle: Handle);
    /// `cuMemMap` and `cuMemSetAccess` of a whole handle at reserved addresses. A handle may be
    /// mapped at several.
    fn map(&mut self, address: u64, handle: Handle);
    /// `cuMemUnmap` of one whole mapping.
    fn unmap(&mut self, address: u64);

    /// Waits until the device has finished everything.
    fn synchronize(&mut self);

    /// What the process may have of the device at most.
    fn capacity(&self) -> u64;
    /// What the process has of it.
    fn in_use(&self) -> u64;

    /// The policy went through so many of its own things to serve a request. A replay gives up where that is out of
    /// all proportion; a device has no use for it.
    fn looked_at(&mut self, _things: u64) {}
}
