//! Events.

use whyoom_lab_abi::{Out, exports};
use whyoom_lab_core::Error;
use whyoom_trace::SyncScope;

use crate::{
    process::{in_context, synchronize, with},
    status::{Result, Status},
};

/// `CU_EVENT_DISABLE_TIMING` and `CU_EVENT_INTERPROCESS`.
const DISABLE_TIMING: u32 = 2;
const INTERPROCESS: u32 = 4;
/// `CU_EVENT_RECORD_EXTERNAL`: in a capture, a node rather than a dependency.
const EXTERNAL: u32 = 1;

fn record(event: u64, stream: u64, flags: u32) -> Result<()> {
    if flags & !EXTERNAL != 0 {
        return Err(Error::InvalidValue.into());
    }
    in_context(|driver, context| {
        let stream = driver.stream(context, stream)?;
        Ok(driver.record(event, stream, flags == EXTERNAL)?)
    })
}

fn elapsed(milliseconds: Out<f32>, start: u64, end: u64) -> Result<()> {
    with(|driver| Ok(milliseconds.put(driver.elapsed(start, end)?)?))
}

exports! { Status;
    fn cuEventCreate(event: Out<u64>, flags: u32) {
        if event.is_null() || flags > 7 {
            return Err(Error::InvalidValue.into());
        }
        let timed = flags & DISABLE_TIMING == 0;
        // Documented: what other processes can open keeps no time.
        if flags & INTERPROCESS != 0 && timed {
            return Err(Error::InvalidValue.into());
        }
        in_context(|driver, context| {
            let made = match flags & INTERPROCESS {
                0 => driver.create_event(context, timed)?,
                _ => driver.create_shared_event(context)?,
            };
            Ok(event.put(made)?)
        })
    }

    fn cuEventDestroy_v2(event: u64) { with(|driver| Ok(driver.destroy_event(event)?)) }

    fn cuEventRecord(event: u64, stream: u64) { record(event, stream, 0) }

    fn cuEventRecordWithFlags(event: u64, stream: u64, flags: u32) {
        record(event, stream, flags)
    }

    fn cuEventQuery(event: u64) {
        with(|driver| {
            driver.forbid_in_capture()?;
            Ok(driver.query_event(event)?)
        })
    }

    fn cuEventSynchronize(event: u64) {
        synchronize(SyncScope::Event, |driver, _| {
            driver.forbid_in_capture()?;
            Ok((driver.event_context(event)?, driver.until_event(event)?))
        })
    }

    fn cuEventElapsedTime(milliseconds: Out<f32>, start: u64, end: u64) {
        elapsed(milliseconds, start, end)
    }

    fn cuEventElapsedTime_v2(milliseconds: Out<f32>, start: u64, end: u64) {
        elapsed(milliseconds, start, end)
    }
}
