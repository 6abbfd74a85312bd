//! Whether a plain allocation gets the memory that an idle stream-ordered pool keeps. Not documented.

use crate::{
    context::Context,
    driver::Driver,
    error::{Error, Result},
    small::Memory,
};

/// The pool keeps this share of what is free.
const SHARE: u64 = 4;
/// Less is not worth a trial: slabs and pools grow by tens of MiB.
const LEAST: u64 = 64 << 20;
/// Plain blocks, the largest first.
const BLOCKS: [u64; 3] = [1 << 30, 64 << 20, 2 << 20];

/// Lets a pool keep memory that nobody uses, takes all that is left, and looks whether the pool still keeps it. All
/// memory is given back.
pub fn reclaims_idle_pools(device: u32) -> Result<bool> {
    let driver = Driver::open()?;
    let cuda = driver.device(device)?;
    let context = Context::create(&cuda)?;
    let size = context.free_bytes()? / SHARE;
    if size < LEAST {
        return Err(Error::TooLittle(LEAST * SHARE));
    }
    let pool = context.pool_that_keeps()?;
    pool.use_once(size)?;
    let kept = pool.reserved()?;
    if kept < size {
        return Err(Error::KeptNothing);
    }
    let mut taken = Vec::new();
    for block in BLOCKS {
        while let Ok(address) = context.take(block) {
            taken.push(address);
        }
    }
    let left = pool.reserved();
    for address in taken {
        context.give_back(address);
    }
    Ok(left? < kept)
}
