//! Stream-ordered memory, all of it on the default stream.

use anyhow::Context;
use cudarc::driver::{
    result::{self, mem_pool, stream},
    sys,
};

use super::{random::Random, unless_full::unless_full, virtual_memory::on_device};

/// Beside the device's own one.
const MOST_POOLS: usize = 4;
const MOST_BLOCKS: usize = 32;

/// A block, its context and its pool.
struct Block {
    context: sys::CUcontext,
    pool: sys::CUmemoryPool,
    address: sys::CUdeviceptr,
}

pub(super) struct Pools {
    device: sys::CUdevice,
    /// The device's own, which cannot be destroyed, comes first.
    pools: Vec<sys::CUmemoryPool>,
    blocks: Vec<Block>,
}

impl Pools {
    pub(super) fn new(device: sys::CUdevice) -> anyhow::Result<Self> {
        // SAFETY: the device is one that the driver named.
        let own = unsafe { result::device::get_default_mem_pool(device) }
            .context("cuDeviceGetDefaultMemPool")?;
        Ok(Self { device, pools: vec![own], blocks: Vec::new() })
    }

    pub(super) fn step(
        &mut self,
        random: &mut Random,
        context: sys::CUcontext,
    ) -> anyhow::Result<()> {
        match random.below(30) {
            0..14 if self.blocks.len() < MOST_BLOCKS => self.alloc(random, context),
            0..26 => {
                let waiting = random.below(4) == 0;
                random.take(&mut self.blocks).map_or(Ok(()), |block| free(&block, waiting))
            }
            26..28 => self.trim(random),
            28 => self.create(),
            _ => self.destroy(random),
        }
    }

    fn any(&self, random: &mut Random) -> sys::CUmemoryPool {
        self.pools[random.index(self.pools.len())]
    }

    fn alloc(&mut self, random: &mut Random, context: sys::CUcontext) -> anyhow::Result<()> {
        let pool = self.any(random);
        // SAFETY: the pool exists, and the memory is never read.
        let answer = unsafe { mem_pool::alloc_async(pool, random.size(), stream::null()) };
        let address = unless_full("cuMemAllocFromPoolAsync", answer)?;
        self.blocks.extend(address.map(|address| Block { context, pool, address }));
        Ok(())
    }

    fn trim(&mut self, random: &mut Random) -> anyhow::Result<()> {
        // SAFETY: the pool exists.
        unsafe { mem_pool::trim_to(self.any(random), random.size()) }.context("cuMemPoolTrimTo")
    }

    fn create(&mut self) -> anyhow::Result<()> {
        if self.pools.len() > MOST_POOLS {
            return Ok(());
        }
        let properties = sys::CUmemPoolProps {
            allocType: sys::CUmemAllocationType::CU_MEM_ALLOCATION_TYPE_PINNED,
            handleTypes: sys::CUmemAllocationHandleType::CU_MEM_HANDLE_TYPE_NONE,
            location: on_device(self.device),
            win32SecurityAttributes: std::ptr::null_mut(),
            maxSize: 0,
            usage: 0,
            reserved: [0; 54],
        };
        // SAFETY: the properties are complete.
        let answer = unsafe { mem_pool::create(&raw const properties) };
        self.pools.extend(unless_full("cuMemPoolCreate", answer)?);
        Ok(())
    }

    /// Ends a pool that is not the device's own.
    fn destroy(&mut self, random: &mut Random) -> anyhow::Result<()> {
        if self.pools.len() < 2 {
            return Ok(());
        }
        let pool = self.pools.swap_remove(1 + random.index(self.pools.len() - 1));
        self.free_where(|block| block.pool == pool)?;
        destroy(pool)
    }

    pub(super) fn free_all_of(&mut self, context: sys::CUcontext) -> anyhow::Result<()> {
        self.free_where(|block| block.context == context)
    }

    pub(super) fn destroy_all(&mut self) -> anyhow::Result<()> {
        self.free_where(|_| true)?;
        self.pools.drain(1..).try_for_each(destroy)
    }

    fn free_where(&mut self, chosen: impl Fn(&Block) -> bool) -> anyhow::Result<()> {
        let mut gone = self.blocks.extract_if(.., |block| chosen(block));
        gone.try_for_each(|block| free(&block, false))
    }
}

fn free(block: &Block, waiting: bool) -> anyhow::Result<()> {
    if waiting {
        // SAFETY: it was allocated, and is freed once because it has left the list.
        return unsafe { result::free_sync(block.address) }.context("cuMemFree of a pool's block");
    }
    // SAFETY: as above.
    unsafe { result::free_async(block.address, stream::null()) }.context("cuMemFreeAsync")
}

fn destroy(pool: sys::CUmemoryPool) -> anyhow::Result<()> {
    // SAFETY: it was made, is not the device's own, and has left the list.
    unsafe { mem_pool::destroy(pool) }.context("cuMemPoolDestroy")
}
