//! Device memory, taken the way NCCL takes it and given back when its owner ends.

use std::ffi::c_void;

use cudarc::driver::sys::{self, CUcontext, CUdeviceptr};

use crate::{
    driver::{Driver, done},
    information::could_not_allocate,
    status::Failure,
};

/// `CU_MEM_LOCATION_TYPE_DEVICE`, `CU_MEM_ALLOCATION_TYPE_PINNED`,
/// `CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR` and `CU_MEM_ACCESS_FLAGS_PROT_READWRITE`.
const DEVICE: u32 = 1;
const PINNED: u32 = 1;
const FILE_DESCRIPTOR: u32 = 1;
const READ_WRITE: u32 = 3;

/// `CUmemAllocationProp`, with its enumerations as numbers.
#[repr(C)]
struct Properties {
    kind: u32,
    handle_types: u32,
    location: [i32; 2],
    windows: u64,
    flags: [u8; 8],
}

/// `CUmemAccessDesc`, likewise.
#[repr(C)]
struct Access {
    location: [i32; 2],
    flags: u32,
}

const _: () = assert!(size_of::<Properties>() == size_of::<sys::CUmemAllocationProp>());
const _: () = assert!(size_of::<Access>() == size_of::<sys::CUmemAccessDesc>());

/// One allocation.
#[derive(Debug)]
pub(crate) enum Block {
    /// By `cuMemAlloc`.
    Plain(CUdeviceptr),
    /// Mapped: address, bytes, and the handle of what is mapped there.
    Mapped(CUdeviceptr, usize, u64),
}

impl Block {
    /// Memory of the current context.
    fn plain(driver: &Driver, bytes: usize) -> Result<Self, Failure> {
        let mut address = 0;
        // SAFETY: the place for the address lives through the call.
        done(unsafe { (driver.allocate)(&mut address, bytes) })?;
        Ok(Self::Plain(address))
    }

    /// Whole pages of the current device, mapped and accessible there.
    pub(crate) fn mapped(driver: &Driver, bytes: usize) -> Result<Self, Failure> {
        let location = [DEVICE as i32, driver.device()?];
        let handle_types = FILE_DESCRIPTOR;
        let kind = PINNED;
        let properties = Properties { kind, handle_types, location, windows: 0, flags: [0; 8] };
        let properties = (&raw const properties).cast::<c_void>();
        let (mut page, mut handle, mut address) = (0, 0, 0);
        // SAFETY: the description has the documented layout; it and the places for answers live
        // through the calls.
        unsafe {
            done((driver.granularity)(&mut page, properties, 0))?;
            let bytes = bytes.next_multiple_of(page.max(1));
            done((driver.create)(&mut handle, bytes, properties, 0))?;
            if let Err(failure) = done((driver.reserve)(&mut address, bytes, page, 0, 0)) {
                (driver.release)(handle);
                return Err(failure);
            }
            let block = Self::Mapped(address, bytes, handle);
            let access = Access { location, flags: READ_WRITE };
            let access = (&raw const access).cast();
            let mapped = done((driver.map)(address, bytes, 0, handle, 0))
                .and_then(|()| done((driver.set_access)(address, bytes, access, 1)));
            if let Err(failure) = mapped {
                block.free(driver);
                return Err(failure);
            }
            Ok(block)
        }
    }

    /// Where it is.
    pub(crate) fn address(&self) -> CUdeviceptr {
        let (Self::Plain(address) | Self::Mapped(address, ..)) = self;
        *address
    }

    /// Gives it back. A context that is already gone has taken it along, so a refusal is fine.
    pub(crate) fn free(self, driver: &Driver) {
        // SAFETY: the driver made what is given back here, and this value is its one owner.
        unsafe {
            match self {
                Self::Plain(address) => {
                    (driver.free)(address);
                }
                Self::Mapped(address, bytes, handle) => {
                    (driver.unmap)(address, bytes);
                    (driver.unreserve)(address, bytes);
                    (driver.release)(handle);
                }
            }
        }
    }
}

/// What one owner holds on one device.
pub(crate) struct Holdings {
    driver: &'static Driver,
    context: CUcontext,
    maps: bool,
    /// What was asked for, held or suspended.
    sizes: Vec<usize>,
    blocks: Vec<Block>,
}

// SAFETY: the context is a handle of the driver's, which any thread may pass to it.
unsafe impl Send for Holdings {}

impl Holdings {
    /// Nothing yet, in a context.
    pub(crate) fn new(driver: &'static Driver, context: CUcontext, maps: bool) -> Self {
        Self { driver, context, maps, sizes: Vec::new(), blocks: Vec::new() }
    }

    /// Takes memory: all of it, or the first failure.
    pub(crate) fn take(&mut self, sizes: impl IntoIterator<Item = usize>) -> Result<(), Failure> {
        let driver = self.driver;
        driver.with_context(self.context, || {
            for bytes in sizes.into_iter().filter(|&bytes| bytes > 0) {
                let take = if self.maps { Block::mapped } else { Block::plain };
                let block = take(driver, bytes).inspect_err(|_| could_not_allocate(bytes))?;
                self.blocks.push(block);
                self.sizes.push(bytes);
            }
            Ok(())
        })
    }

    /// Gives the memory back until [`Self::resume`].
    pub(crate) fn suspend(&mut self) {
        let blocks = std::mem::take(&mut self.blocks);
        self.driver.with_context(self.context, || {
            for block in blocks {
                block.free(self.driver);
            }
        });
    }

    /// Takes again what was given back.
    pub(crate) fn resume(&mut self) -> Result<(), Failure> {
        if !self.is_suspended() {
            return Ok(());
        }
        let sizes = std::mem::take(&mut self.sizes);
        self.take(sizes)
    }

    /// Whether memory was given back for a while.
    pub(crate) fn is_suspended(&self) -> bool {
        self.blocks.len() < self.sizes.len()
    }

    /// What was asked for.
    pub(crate) fn bytes(&self) -> usize {
        self.sizes.iter().sum()
    }
}

impl Drop for Holdings {
    fn drop(&mut self) {
        self.suspend();
    }
}
