//! Captures: what a stream that captures is told becomes a node of a graph, and takes no memory yet.

use std::{
    ffi::c_void,
    sync::atomic::{AtomicU64, AtomicUsize, Ordering::Relaxed},
};

use crate::{declare::hooks, record::Call, resolution::real::Function, result_code::Code};

/// How many captures were begun and not ended. Streams are asked only while there are any.
static OPEN: AtomicUsize = AtomicUsize::new(0);
/// How many were ever begun: the number of the latest.
static BEGUN: AtomicU64 = AtomicU64::new(0);

static STATUS: Function<unsafe extern "C" fn(u64, *mut u32) -> Code> =
    Function::named(c"cuStreamIsCapturing");

hooks! { Graphs;
    Optional (stream: u64, mode: u32)
    [cuStreamBeginCapture_v2 = "cuStreamBeginCapture" since 10010,
     cuStreamBeginCapture_v2_ptsz = "cuStreamBeginCapture" since 10010 (per_thread)]
    after { |_, (), result| began(result) }

    Optional (
        stream: u64,
        graph: u64,
        before: *const u64,
        edges: *const u64,
        count: usize,
        mode: u32,
    )
    [cuStreamBeginCaptureToGraph = "cuStreamBeginCaptureToGraph" since 12030,
     cuStreamBeginCaptureToGraph_ptsz = "cuStreamBeginCaptureToGraph" since 12030 (per_thread)]
    after { |_, (), result| began(result) }

    // A capture to a graphics command list (`cuStreamBeginCaptureToCig`) is not hooked: documented, its stream
    // refuses allocations, and nothing of it becomes a graph.
    Optional (stream: u64, mode: u32, graph: u64, callback: *const c_void, data: *mut c_void)
    [cuStreamBeginRecaptureToGraph = "cuStreamBeginRecaptureToGraph" since 13030,
     cuStreamBeginRecaptureToGraph_ptsz = "cuStreamBeginRecaptureToGraph" since 13030 (per_thread)]
    after { |_, (), result| began(result) }

    Optional (stream: u64, graph: *mut u64)
    [cuStreamEndCapture = "cuStreamEndCapture" since 10000,
     cuStreamEndCapture_ptsz = "cuStreamEndCapture" since 10000 (per_thread)]
    after { |_, (), result| ended(result) }
}

fn began(result: Code) {
    if result == 0 {
        BEGUN.fetch_add(1, Relaxed);
        OPEN.fetch_add(1, Relaxed);
    }
}

/// The number of the capture that is under way, 0 where none is. PyTorch gives a graph memory of its own: what
/// its allocator takes meanwhile, on whatever thread, serves that graph and those that share with it. Such
/// numbers are small, and never the address that a pool of the driver's has for a name.
pub(crate) fn under_way() -> u64 {
    if OPEN.load(Relaxed) == 0 { 0 } else { BEGUN.load(Relaxed) }
}

fn ended(result: Code) {
    if ends(result) {
        // One that was begun before the recorder came is not counted.
        let _ = OPEN.fetch_update(Relaxed, Relaxed, |open| open.checked_sub(1));
    }
}

/// Whether no capture is left after that answer: it succeeded, or it was broken before
/// (`CUDA_ERROR_STREAM_CAPTURE_INVALIDATED`), by streams that did not join (`.._UNJOINED`), or because a recapture did not
/// fit its graph (`CUDA_ERROR_GRAPH_RECAPTURE_FAILURE`). After any other it may go on.
fn ends(result: Code) -> bool {
    matches!(result, 0 | 901 | 904 | 918)
}

/// Whether the stream that a call was given captures.
pub(super) fn captures(call: &Call, stream: u64) -> bool {
    let stream = call.hook.stream_meant(stream);
    if OPEN.load(Relaxed) == 0 {
        return false;
    }
    let mut status = 0;
    // SAFETY: the driver writes a number where it is told to. Documented: asking disturbs no capture.
    STATUS.get().is_some_and(|get| unsafe { get(stream, &mut status) } == 0) && status != 0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn captures_are_numbered_while_they_are_under_way() {
        assert_eq!(under_way(), 0);
        for number in [1, 2] {
            began(0);
            assert_eq!(under_way(), number);
            ended(0);
            assert_eq!(under_way(), 0);
        }
        began(401);
        assert_eq!(under_way(), 0, "a refused one is none");
    }

    #[test]
    fn a_refusal_ends_no_capture() {
        for result in [1, 201, 400, 401, 905, 908] {
            assert!(!ends(result), "{result}");
        }
        for result in [0, 901, 904, 918] {
            assert!(ends(result), "{result}");
        }
    }
}
