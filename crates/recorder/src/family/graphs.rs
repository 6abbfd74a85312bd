//! Memory of graphs: nodes that allocate and free, done by each launch of an executable graph.

use std::{
    collections::HashMap,
    ffi::c_char,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use foldhash::fast::FixedState;
use whyoom_trace::{Action, Bytes, MemoryKind::StreamOrdered};

use super::{
    graph_nodes::{Step, steps_of},
    out_parameter::written,
    refusals::refused_here,
};
use crate::{
    declare::hooks,
    record::{Call, Location, PerProcess, clock, device_of},
    result_code::{Code, OUT_OF_MEMORY},
};

/// `CUDA_GRAPH_INSTANTIATE_FLAG_AUTO_FREE_ON_LAUNCH`.
const AUTO_FREE: u64 = 1;
/// The beginning of `CUDA_GRAPH_INSTANTIATE_PARAMS`.
#[derive(Clone, Copy, Default)]
#[repr(C)]
pub(crate) struct InstantiateParameters {
    flags: u64,
}

/// An executable graph with memory.
#[derive(Clone)]
struct Executable {
    steps: Arc<[Step]>,
    frees_what_is_left: bool,
}

/// The executable graphs that have memory.
#[derive(Default)]
struct Graphs {
    executables: Mutex<HashMap<u64, Executable, FixedState>>,
}

static GRAPHS: PerProcess<Graphs> = PerProcess::new();

hooks! { Graphs;
    Optional (executable: *mut u64, graph: u64, flags: u64)
    [cuGraphInstantiateWithFlags = "cuGraphInstantiateWithFlags" since 11040]
    after { |call, (), result| instantiated(call, executable, graph, flags, result) }

    Optional (executable: *mut u64, graph: u64, parameters: *mut InstantiateParameters)
    [cuGraphInstantiateWithParams = "cuGraphInstantiateWithParams" since 12000,
     cuGraphInstantiateWithParams_ptsz = "cuGraphInstantiateWithParams" since 12000 (per_thread)]
    after { |call, (), result| {
        // SAFETY: the program's own parameters, which it lends for the call.
        let flags = unsafe { written(parameters) }.flags;
        instantiated(call, executable, graph, flags, result);
    } }

    Optional (
        executable: *mut u64,
        graph: u64,
        node: *mut u64,
        log: *mut c_char,
        room: usize,
    )
    [cuGraphInstantiate = "cuGraphInstantiate" since 10000 until 11000,
     cuGraphInstantiate_v2 = "cuGraphInstantiate" since 11000 until 12000]
    after { |call, (), result| instantiated(call, executable, graph, 0, result) }

    Optional (executable: u64, stream: u64)
    [cuGraphLaunch = "cuGraphLaunch" since 10000,
     cuGraphLaunch_ptsz = "cuGraphLaunch" since 10000 (per_thread)]
    around {
        |call| GRAPHS.of(call.process).executable(executable).map(|found| (clock::now(), found));
        |call, found, result| if let Some((time, found)) = found {
            launched(call, time, &found, stream, result);
        }
    }

    Optional (executable: u64)
    [cuGraphExecDestroy = "cuGraphExecDestroy" since 10000]
    after { |call, (), result| if result == 0 {
        GRAPHS.of(call.process).executables().remove(&executable);
    } }

    Optional (device: i32)
    [cuDeviceGraphMemTrim = "cuDeviceGraphMemTrim" since 11040]
    after { |call, (), result| if result == 0 {
        let location = Location::on(device_of(device));
        call.note(location, result, Action::PoolTrim { keep: Bytes(0) });
    } }
}

fn instantiated(call: &Call, executable: *const u64, graph: u64, flags: u64, result: Code) {
    if result != 0 {
        refused_here(call, 0, result);
        return;
    }
    let steps = steps_of(graph);
    if steps.is_empty() {
        return;
    }
    // SAFETY: a call that succeeded has written the handle.
    let handle = unsafe { written(executable) };
    let frees_what_is_left = flags & AUTO_FREE != 0;
    let found = Executable { steps: steps.into(), frees_what_is_left };
    GRAPHS.of(call.process).executables().insert(handle, found);
}

/// What a launch did to memory. It did it in the order of a stream, of which the host sees only the
/// launch: frees are of the time before it, allocations of the time after it.
fn launched(call: &Call, time: u64, found: &Executable, stream: u64, result: Code) {
    let location = call.here().in_stream(stream);
    if result != 0 {
        if result == OUT_OF_MEMORY {
            let all = (StreamOrdered, 0, found.bytes());
            call.allocated(clock::now(), location, all, result);
        }
        return;
    }
    if found.frees_what_is_left {
        free_what_is_left(call, time, found, location);
    }
    for step in found.steps.iter() {
        let now = clock::now();
        match *step {
            Step::Alloc { address, size, device } => {
                let location = location.on_device(device);
                call.allocated(now, location, (StreamOrdered, address, size), result);
            }
            Step::Free { address } => {
                let held = call.process.let_go(address);
                let device = held.map_or(location.device, |held| held.device);
                let location = location.on_device(device);
                call.freed((now, held), location, (StreamOrdered, address), result);
            }
        }
    }
}

/// What the launch before left allocated.
fn free_what_is_left(call: &Call, time: u64, found: &Executable, location: Location) {
    for step in found.steps.iter() {
        if let Step::Alloc { address, device, .. } = *step
            && let Some(held) = call.process.let_go(address)
        {
            let location = location.on_device(device);
            call.freed((time, Some(held)), location, (StreamOrdered, address), 0);
        }
    }
}

impl Executable {
    fn bytes(&self) -> u64 {
        let size = |step: &Step| match step {
            Step::Alloc { size, .. } => *size,
            Step::Free { .. } => 0,
        };
        self.steps.iter().map(size).fold(0, u64::saturating_add)
    }
}

impl Graphs {
    fn executables(&self) -> MutexGuard<'_, HashMap<u64, Executable, FixedState>> {
        self.executables.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn executable(&self, handle: u64) -> Option<Executable> {
        self.executables().get(&handle).cloned()
    }
}
