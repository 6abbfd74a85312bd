//! Streams.

use std::ffi::c_void;

use whyoom_lab_abi::{Out, exports};
use whyoom_lab_core::{
    Error,
    driver::{Fill, HostCall, Work},
};
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
/// `CU_EVENT_WAIT_EXTERNAL`: in a capture, a node rather than a dependency.
const EXTERNAL: u32 = 1;

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

/// Has the program's function called, or makes a node of it where the stream captures.
fn call_back(stream: u64, call: HostCall, callback: Callback) -> Result<()> {
    let after = in_context(|driver, context| {
        let stream = driver.stream(context, stream)?;
        let now = driver.enqueue(context, stream, Work::Host(call))?;
        Ok(if now { Some(driver.until_stream(stream)?) } else { None })
    })?;
    if let Some(after) = after {
        callbacks::submit(after, callback);
    }
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
            driver.forbid_for_stream(context, stream)?;
            Ok((context, driver.until_stream(stream)?))
        })
    }

    fn cuStreamQuery(stream: u64) {
        in_context(|driver, context| {
            let stream = driver.stream(context, stream)?;
            driver.forbid_for_stream(context, stream)?;
            Ok(driver.query_stream(stream)?)
        })
    }

    fn cuStreamWaitEvent(stream: u64, event: u64, flags: u32) {
        if flags & !EXTERNAL != 0 {
            return Err(Error::InvalidValue.into());
        }
        in_context(|driver, context| {
            let stream = driver.stream(context, stream)?;
            Ok(driver.wait(stream, event, flags == EXTERNAL)?)
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
        // Documented: in a capture such a function is not supported.
        in_context(|driver, context| {
            let stream = driver.stream(context, stream)?;
            if driver.is_capturing(context, stream)? {
                return Ok(driver.forbid_for_stream(context, stream)?);
            }
            Ok(())
        })?;
        let call = HostCall { function: function as usize as u64, data: data as u64 };
        call_back(stream, call, Callback::WithStatus(function, stream, data))
    }

    fn cuLaunchHostFunc(
        stream: u64,
        function: Option<extern "C" fn(*mut c_void)>,
        data: *mut c_void,
    ) {
        let function = function.ok_or(Error::InvalidValue)?;
        let call = HostCall { function: function as usize as u64, data: data as u64 };
        call_back(stream, call, Callback::Plain(function, data))
    }

    // A value written by a stream lands in memory at once, as copies do.
    fn cuStreamWriteValue32_v2(stream: u64, address: u64, value: u32, _flags: u32) {
        write_value(stream, address, value)
    }

    // PyTorch 2.6 looks for the name without its version, and starts no driver that lacks it.
    fn cuStreamWriteValue32(stream: u64, address: u64, value: u32, _flags: u32) {
        write_value(stream, address, value)
    }
}

fn write_value(stream: u64, address: u64, value: u32) -> Result<()> {
    in_context(|driver, context| {
        let fill = Fill { target: address, pitch: 0, value, element: 4, width: 1, height: 1 };
        Ok(driver.enqueue(context, stream, Work::Fill(fill)).map(drop)?)
    })
}
