//! A device whose calls are recorded: what an allocator asks of it goes into a recording that is made up.

use whyoom_allocators::{Device, Handle, SimulatedDevice};
use whyoom_trace::{Action, Address, Bytes, MemoryKind};

/// A simulated device, and what was asked of it.
#[derive(Debug)]
pub struct RecordedDevice {
    device: SimulatedDevice,
    /// What was asked of it and is not written yet.
    pub calls: Vec<Action>,
}

impl RecordedDevice {
    /// With so much memory.
    pub fn new(capacity: u64) -> Self {
        Self { device: SimulatedDevice::new(capacity), calls: Vec::new() }
    }
}

impl Device for RecordedDevice {
    fn alloc(&mut self, size: u64) -> Option<u64> {
        let address = self.device.alloc(size)?;
        let kind = MemoryKind::Device;
        self.calls.push(Action::Alloc { kind, address: Address(address), size: Bytes(size) });
        Some(address)
    }

    fn free(&mut self, address: u64) {
        self.device.free(address);
        self.calls.push(Action::Free { kind: MemoryKind::Device, address: Address(address) });
    }

    fn reserve(&mut self, size: u64) -> u64 {
        self.device.reserve(size)
    }

    fn create(&mut self, size: u64) -> Option<Handle> {
        self.device.create(size)
    }

    fn release(&mut self, handle: Handle) {
        self.device.release(handle);
    }

    fn map(&mut self, address: u64, handle: Handle) {
        self.device.map(address, handle);
    }

    fn unmap(&mut self, address: u64) {
        self.device.unmap(address);
    }

    fn synchronize(&mut self) {
        self.device.synchronize();
    }

    fn capacity(&self) -> u64 {
        self.device.capacity()
    }

    fn in_use(&self) -> u64 {
        self.device.in_use()
    }
}
