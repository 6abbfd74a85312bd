//! Streams.

use std::ffi::c_void;

use whyoom_lab_abi::{Out, exports};
use whyoom_lab_core::Error;
use whyoom_trace::SyncScope;

use crate::{
    callbacks::{self, Callback},
    process::{in_context, synchronize, with},
    status::{Result, Status},
};

/// `CU_STREAM_NON_BLOCKING`.
const NON_BLOCKING: u32 = 1;
/// Priorities reach from 0 down to this. Observed on recent devices.
pub(crate) const GREATEST_PRIORITY: i32 = -5;
/// `CU_STREAM_CAPTURE_STATUS_NONE`.
const NOT_CAPTURING: u32 = 0;

fn create(stream: Out<u64>, flags: u32, priority: i32) -> Result<()> {
    if stream.is_null() || flags & !NON_BLOCKING != 0 {
        return Err(Error::InvalidValue.into());
    }
    // Documented: a priority outside the range is brought into it.
    let priority = priority.clamp(GREATEST_PRIORITY, 0);
    in_context(|driver, context| {
        Ok(stream.put(driver.create_stream(context, flags & NON_BLOCKING == 0, priority)?)?)
    })
}

fn call_back(stream: u64, callback: Callback) -> Result<()> {
    let after = in_context(|driver, context| {
        let stream = driver.stream(context, stream)?;
        Ok(driver.until_stream(stream)?)
    })?;
    callbacks::submit(after, callback);
    Ok(())
}

exports! { Status;
    fn cuStreamCreate(stream: Out<u64>, flags: u32) { create(stream, flags, 0) }

    fn cuStreamCreateWithPriority(stream: Out<u64>, flags: u32, priority: i32) {
        create(stream, flags, priority)
    }

    fn cuStreamDestroy_v2(stream: u64) { with(|driver| Ok(driver.destroy_stream(stream)?)) }

    fn cuStreamSynchronize(stream: u64) {
        synchronize(SyncScope::Stream, |driver, context| {
            let stream = driver.stream(context, stream)?;
            Ok((context, driver.until_stream(stream)?))
        })
    }

    fn cuStreamQuery(stream: u64) {
        in_context(|driver, context| {
            let stream = driver.stream(context, stream)?;
            Ok(driver.query_stream(stream)?)
        })
    }

    fn cuStreamWaitEvent(stream: u64, event: u64, _flags: u32) {
        in_context(|driver, context| {
            let stream = driver.stream(context, stream)?;
            Ok(driver.wait_event(stream, event)?)
        })
    }

    fn cuStreamGetPriority(stream: u64, priority: Out<i32>) {
        in_context(|driver, context| {
            let stream = driver.stream(context, stream)?;
            Ok(priority.put(driver.stream_facts(stream)?.2)?)
        })
    }

    fn cuStreamGetFlags(stream: u64, flags: Out<u32>) {
        in_context(|driver, context| {
            let stream = driver.stream(context, stream)?;
            Ok(flags.put(driver.stream_facts(stream)?.1.into())?)
        })
    }

    fn cuStreamGetCtx(stream: u64, owner: Out<u64>) {
        in_context(|driver, context| {
            let stream = driver.stream(context, stream)?;
            Ok(owner.put(driver.stream_facts(stream)?.0)?)
        })
    }

    fn cuStreamGetId(stream: u64, id: Out<u64>) {
        in_context(|driver, context| Ok(id.put(driver.stream(context, stream)?)?))
    }

    fn cuStreamGetDevice(stream: u64, device: Out<i32>) {
        in_context(|driver, context| {
            let stream = driver.stream(context, stream)?;
            let owner = driver.stream_facts(stream)?.0;
            Ok(device.put(driver.device_of(owner)? as i32)?)
        })
    }

    fn cuStreamAddCallback(
        stream: u64,
        function: Option<extern "C" fn(u64, u32, *mut c_void)>,
        data: *mut c_void,
        flags: u32,
    ) {
        let function = function.filter(|_| flags == 0).ok_or(Error::InvalidValue)?;
        call_back(stream, Callback::WithStatus(function, stream, data))
    }

    fn cuLaunchHostFunc(
        stream: u64,
        function: Option<extern "C" fn(*mut c_void)>,
        data: *mut c_void,
    ) {
        let function = function.ok_or(Error::InvalidValue)?;
        call_back(stream, Callback::Plain(function, data))
    }

    // Capture is refused, so nothing ever captures: these answers are the truth.
    fn cuStreamIsCapturing(stream: u64, status: Out<u32>) {
        in_context(|driver, context| {
            driver.stream(context, stream)?;
            Ok(status.put(NOT_CAPTURING)?)
        })
    }

    fn cuStreamGetCaptureInfo_v2(stream: u64, status: Out<u32>) {
        in_context(|driver, context| {
            driver.stream(context, stream)?;
            Ok(status.put(NOT_CAPTURING)?)
        })
    }

    fn cuStreamGetCaptureInfo_v3(stream: u64, status: Out<u32>) {
        in_context(|driver, context| {
            driver.stream(context, stream)?;
            Ok(status.put(NOT_CAPTURING)?)
        })
    }

    // A value written by a stream lands in memory at once, as copies do.
    fn cuStreamWriteValue32_v2(stream: u64, address: u64, value: u32, _flags: u32) {
        in_context(|driver, context| {
            let stream = driver.stream(context, stream)?;
            Ok(driver.fill(context, address, &value.to_ne_bytes(), 1, stream)?)
        })
    }
}
