//! What this process has on one device, and the next thing that it does there.

use std::{os::fd::RawFd, thread, time::Duration};

use anyhow::{Context, ensure};
use cudarc::driver::{result, sys};

use super::{
    blocks::Blocks, pools::Pools, progress::Progress, random::Random, unless_full::unless_full,
    virtual_memory::VirtualMemory,
};

/// A process that cannot even have a context leaves the others alone for so long.
const FULL: Duration = Duration::from_millis(1);

pub(super) struct Tenant {
    device: sys::CUdevice,
    primary: Option<sys::CUcontext>,
    second: Option<sys::CUcontext>,
    blocks: Blocks,
    pools: Pools,
    virtual_memory: VirtualMemory,
}

impl Tenant {
    pub(super) fn new(device: sys::CUdevice) -> anyhow::Result<Self> {
        Ok(Self {
            device,
            primary: None,
            second: None,
            blocks: Blocks::default(),
            pools: Pools::new(device)?,
            virtual_memory: VirtualMemory::new(device),
        })
    }

    /// One operation. Where there is no room even for a context, asking for it was the operation.
    pub(super) fn step(&mut self, random: &mut Random, progress: &Progress) -> anyhow::Result<()> {
        let Some(context) = self.make_current(random)? else {
            thread::sleep(FULL);
            return Ok(());
        };
        match random.below(400) {
            0..80 => self.blocks.alloc(random, context),
            80..150 => self.blocks.free(random),
            150..165 => self.blocks.alloc_pinned(random, context),
            165..180 => self.blocks.free_pinned(random),
            180..270 => self.pools.step(random, context),
            270..380 => self.virtual_memory.step(random, progress),
            380..389 => check_info(),
            389..394 => Ok(result::ctx::synchronize()?),
            394..397 => self.create_second(),
            397..399 => self.destroy_second(),
            _ => self.reset_primary(),
        }
    }

    pub(super) fn latest_export(&self) -> Option<RawFd> {
        self.virtual_memory.latest_export()
    }

    /// Makes one of the contexts current, and the primary one first where there is none.
    fn make_current(&mut self, random: &mut Random) -> anyhow::Result<Option<sys::CUcontext>> {
        let other = self.second.filter(|_| random.below(4) == 0);
        let Some(context) = other.map_or_else(|| self.primary(), |context| Ok(Some(context)))?
        else {
            return Ok(None);
        };
        // SAFETY: the context was made and not yet destroyed.
        unsafe { result::ctx::set_current(context) }.context("cuCtxSetCurrent")?;
        Ok(Some(context))
    }

    fn primary(&mut self) -> anyhow::Result<Option<sys::CUcontext>> {
        if self.primary.is_none() {
            // SAFETY: the device is one that the driver named.
            let answer = unsafe { result::primary_ctx::retain(self.device) };
            self.primary = unless_full("cuDevicePrimaryCtxRetain", answer)?;
        }
        Ok(self.primary)
    }

    fn create_second(&mut self) -> anyhow::Result<()> {
        if self.second.is_some() {
            return Ok(());
        }
        let mut context = std::ptr::null_mut();
        // SAFETY: there is a place for the answer; no parameters are documented as allowed.
        let answer = unsafe {
            sys::cuCtxCreate_v4(&raw mut context, std::ptr::null_mut(), 0, self.device).result()
        };
        if unless_full("cuCtxCreate", answer)?.is_some() {
            self.second = Some(context);
            let mut popped = std::ptr::null_mut();
            // SAFETY: the new context was pushed, so there is one to pop.
            unsafe { sys::cuCtxPopCurrent_v2(&raw mut popped).result() }
                .context("cuCtxPopCurrent")?;
            ensure!(popped == context, "another context was current than the one just made");
        }
        Ok(())
    }

    fn destroy_second(&mut self) -> anyhow::Result<()> {
        let Some(context) = self.second.take() else { return Ok(()) };
        self.pools.free_all_of(context)?;
        // SAFETY: it was made here, and whatever was made in it is forgotten below.
        unsafe { sys::cuCtxDestroy_v2(context).result() }.context("cuCtxDestroy")?;
        self.blocks.forget(context);
        Ok(())
    }

    fn reset_primary(&mut self) -> anyhow::Result<()> {
        let Some(context) = self.primary.take() else { return Ok(()) };
        self.pools.destroy_all()?;
        // SAFETY: whatever was made in the context is forgotten below.
        unsafe { sys::cuDevicePrimaryCtxReset_v2(self.device).result() }
            .context("cuDevicePrimaryCtxReset")?;
        self.blocks.forget(context);
        Ok(())
    }

    /// Gives everything back but a primary context.
    pub(super) fn give_all_back(&mut self) -> anyhow::Result<()> {
        self.make_primary_current()?;
        self.virtual_memory.give_all_back()?;
        self.blocks.free_all()?;
        self.pools.destroy_all()?;
        self.destroy_second()
    }

    /// What is free on the device, after a synchronize.
    pub(super) fn free(&mut self) -> anyhow::Result<usize> {
        self.make_primary_current()?;
        result::ctx::synchronize()?;
        Ok(result::mem_get_info()?.0)
    }

    fn make_primary_current(&mut self) -> anyhow::Result<()> {
        let context = self.primary()?.context("no room for a context")?;
        // SAFETY: the context was made and not yet destroyed.
        unsafe { result::ctx::set_current(context) }.context("cuCtxSetCurrent")
    }
}

fn check_info() -> anyhow::Result<()> {
    let (free, total) = result::mem_get_info().context("cuMemGetInfo")?;
    ensure!(free <= total, "{free} bytes free of {total}");
    Ok(())
}
