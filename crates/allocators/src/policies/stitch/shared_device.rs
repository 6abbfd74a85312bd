//! One device under several lanes at a time: the one that grows, and those that give.

use std::cell::RefCell;

use crate::device::{Device, Handle};

/// A device that others hold too. No call of a device leads to another, so that it is never borrowed
/// twice.
#[derive(Clone, Copy)]
pub struct SharedDevice<'a, 'd>(pub &'a RefCell<&'d mut dyn Device>);

impl Device for SharedDevice<'_, '_> {
    fn alloc(&mut self, size: u64) -> Option<u64> {
        self.0.borrow_mut().alloc(size)
    }

    fn free(&mut self, address: u64) {
        self.0.borrow_mut().free(address);
    }

    fn reserve(&mut self, size: u64) -> u64 {
        self.0.borrow_mut().reserve(size)
    }

    fn create(&mut self, size: u64) -> Option<Handle> {
        self.0.borrow_mut().create(size)
    }

    fn release(&mut self, handle: Handle) {
        self.0.borrow_mut().release(handle);
    }

    fn map(&mut self, address: u64, handle: Handle) {
        self.0.borrow_mut().map(address, handle);
    }

    fn unmap(&mut self, address: u64) {
        self.0.borrow_mut().unmap(address);
    }

    fn synchronize(&mut self) {
        self.0.borrow_mut().synchronize();
    }

    fn capacity(&self) -> u64 {
        self.0.borrow().capacity()
    }

    fn in_use(&self) -> u64 {
        self.0.borrow().in_use()
    }

    fn looked_at(&mut self, things: u64) {
        self.0.borrow_mut().looked_at(things);
    }
}
