//! Plain device memory and page-locked host memory.

use std::ffi::c_void;

use anyhow::Context;
use cudarc::driver::{result, sys};

use super::{random::Random, unless_full::unless_full};

/// So many at a time; with more, every request would find the device full.
const MOST_BLOCKS: usize = 64;
const MOST_PINNED: usize = 8;
/// What is written of a block at most: whole devices of written bytes would not fit the host.
const WRITTEN: usize = 64 << 10;

#[derive(Default)]
pub(super) struct Blocks {
    blocks: Vec<(sys::CUcontext, sys::CUdeviceptr)>,
    pinned: Vec<(sys::CUcontext, *mut c_void)>,
}

impl Blocks {
    pub(super) fn alloc(
        &mut self,
        random: &mut Random,
        context: sys::CUcontext,
    ) -> anyhow::Result<()> {
        if self.blocks.len() >= MOST_BLOCKS {
            return self.free(random);
        }
        let size = random.size();
        // SAFETY: the memory is never read.
        let answer = unsafe { result::malloc_sync(size) };
        let Some(block) = unless_full("cuMemAlloc", answer)? else { return Ok(()) };
        self.blocks.push((context, block));
        if random.below(4) == 0 {
            // SAFETY: no more is written than the block has.
            unsafe { result::memset_d8_sync(block, 7, size.min(WRITTEN)) }.context("cuMemsetD8")?;
        }
        Ok(())
    }

    pub(super) fn free(&mut self, random: &mut Random) -> anyhow::Result<()> {
        random.take(&mut self.blocks).map_or(Ok(()), |(_, block)| free(block))
    }

    pub(super) fn alloc_pinned(
        &mut self,
        random: &mut Random,
        context: sys::CUcontext,
    ) -> anyhow::Result<()> {
        if self.pinned.len() >= MOST_PINNED {
            return self.free_pinned(random);
        }
        // SAFETY: the memory is never read.
        let answer = unsafe { result::malloc_host(random.size(), 0) };
        self.pinned.extend(unless_full("cuMemHostAlloc", answer)?.map(|block| (context, block)));
        Ok(())
    }

    pub(super) fn free_pinned(&mut self, random: &mut Random) -> anyhow::Result<()> {
        random.take(&mut self.pinned).map_or(Ok(()), |(_, block)| free_pinned(block))
    }

    pub(super) fn free_all(&mut self) -> anyhow::Result<()> {
        self.blocks.drain(..).try_for_each(|(_, block)| free(block))?;
        self.pinned.drain(..).try_for_each(|(_, block)| free_pinned(block))
    }

    /// What was made in a context ended with it.
    pub(super) fn forget(&mut self, context: sys::CUcontext) {
        self.blocks.retain(|(made_in, _)| *made_in != context);
        self.pinned.retain(|(made_in, _)| *made_in != context);
    }
}

fn free(block: sys::CUdeviceptr) -> anyhow::Result<()> {
    // SAFETY: it was allocated, and is freed once because it has left the list.
    unsafe { result::free_sync(block) }.context("cuMemFree")
}

fn free_pinned(block: *mut c_void) -> anyhow::Result<()> {
    // SAFETY: as above.
    unsafe { result::free_host(block) }.context("cuMemFreeHost")
}
