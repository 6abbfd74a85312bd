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

fn record(event: u64, stream: u64) -> Result<()> {
    in_context(|driver, context| {
        let stream = driver.stream(context, stream)?;
        Ok(driver.record_event(event, stream)?)
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
        if flags & INTERPROCESS != 0 {
            return Err(Error::NotSupported.into());
        }
        in_context(|driver, context| {
            Ok(event.put(driver.create_event(context, flags & DISABLE_TIMING == 0)?)?)
        })
    }

    fn cuEventDestroy_v2(event: u64) { with(|driver| Ok(driver.destroy_event(event)?)) }

    fn cuEventRecord(event: u64, stream: u64) { record(event, stream) }

    fn cuEventRecordWithFlags(event: u64, stream: u64, _flags: u32) { record(event, stream) }

    fn cuEventQuery(event: u64) { with(|driver| Ok(driver.query_event(event)?)) }

    fn cuEventSynchronize(event: u64) {
        synchronize(SyncScope::Event, |driver, _| {
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
