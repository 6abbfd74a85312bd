//! Waiting for the device: there pools give back memory, and kernels that failed show.

use whyoom_trace::{
    Action,
    SyncScope::{self, Device, Event, Stream},
};

use crate::{
    declare::hooks,
    record::{Call, Cause, Location, NO_STACK, cause_of, clock},
    result_code::Code,
};

hooks! { Synchronize;
    Required ()
    [cuCtxSynchronize = "cuCtxSynchronize" since 2000 until 13000]
    after { |call, (), result| waited(call, call.here(), Device, result) }

    Optional (context: u64)
    [cuCtxSynchronize_v2 = "cuCtxSynchronize" since 13000]
    after { |call, (), result| waited(call, call.here(), Device, result) }

    Required (stream: u64)
    [cuStreamSynchronize = "cuStreamSynchronize" since 2000,
     cuStreamSynchronize_ptsz = "cuStreamSynchronize" since 7000 (per_thread)]
    after { |call, (), result| waited(call, call.here().in_stream(stream), Stream, result) }

    Required (event: u64)
    [cuEventSynchronize = "cuEventSynchronize" since 2000]
    after { |call, (), result| waited(call, call.here(), Event, result) }
}

fn waited(call: &Call, location: Location, scope: SyncScope, result: Code) {
    let tells = match cause_of(result) {
        Cause::None => true,
        // The first to wait sees that a kernel failed; every later call says so too.
        Cause::Kernel => !call.process.is_broken(location.context),
        Cause::Memory | Cause::State => false,
    };
    if tells {
        // Who waits matters only where the wait fails.
        let stack = if result == 0 { NO_STACK } else { call.stack() };
        call.write(clock::now(), location, stack, result, Action::Synchronize { scope });
    }
}
