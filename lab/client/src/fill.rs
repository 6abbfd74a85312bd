//! Takes every device whole, to see that nobody else holds anything.

use anyhow::Context;
use cudarc::driver::result;

/// Requests are rounded up to this at most, so a rest of it may be left.
const REST: usize = 2 << 20;

pub(crate) fn run() -> anyhow::Result<()> {
    result::init()?;
    for ordinal in 0..result::device::get_count()? {
        // SAFETY: the device is the one that the driver named.
        let context = unsafe { result::primary_ctx::retain(result::device::get(ordinal)?) }?;
        // SAFETY: the context was just made.
        unsafe { result::ctx::set_current(context) }?;
        let (free, total) = result::mem_get_info()?;
        // SAFETY: the memory is never read.
        unsafe { result::malloc_sync(free.saturating_sub(REST)) }
            .with_context(|| format!("device {ordinal}: {free} bytes free of {total}"))?;
        anyhow::ensure!(
            free > total / 10 * 9,
            "device {ordinal}: {free} bytes free of {total} with nobody else there"
        );
    }
    Ok(())
}
