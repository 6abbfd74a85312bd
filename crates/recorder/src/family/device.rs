//! Plain, pitched and managed device memory.

use whyoom_trace::MemoryKind;

use super::{captures, out_parameter::written};
use crate::{
    declare::hooks,
    record::{Call, Held, clock},
    result_code::Code,
    serve,
};

hooks! { Device;
    Required (address: *mut u64, bytes: usize)
    [cuMemAlloc_v2 = "cuMemAlloc" since 3020]
    served { |_| serve::alloc(address, bytes); |_| (); |call, (), result| {
        allocated(call, MemoryKind::Device, address, bytes as u64, result);
    } }

    Required (address: *mut u64, pitch: *mut usize, width: usize, height: usize, element: u32)
    [cuMemAllocPitch_v2 = "cuMemAllocPitch" since 3020]
    after { |call, (), result| {
        // SAFETY: a call that succeeded has written the pitch.
        let row = if result == 0 { unsafe { written(pitch) } } else { likely_pitch(width) };
        let size = (row as u64).saturating_mul(height as u64);
        allocated(call, MemoryKind::Device, address, size, result);
    } }

    Required (address: *mut u64, bytes: usize, flags: u32)
    [cuMemAllocManaged = "cuMemAllocManaged" since 6000]
    after { |call, (), result| allocated(call, MemoryKind::Managed, address, bytes as u64, result) }

    Required (free: *mut usize, total: *mut usize)
    [cuMemGetInfo_v2 = "cuMemGetInfo" since 3020]
    completed { |result| serve::add_idle(free, total, result) }

    Required (address: u64)
    [cuMemFree_v2 = "cuMemFree" since 3020]
    served {
        |_| serve::free(address);
        |call| call.freeing(address);
        |call, begun, result| {
            let (kind, location) = (kind_of(begun.1), call.location_of(begun.1));
            call.freed(begun, location, (kind, address), result);
        }
    }
}

fn allocated(call: &Call, kind: MemoryKind, address: *const u64, size: u64, result: Code) {
    let time = clock::now();
    if address.is_null() {
        return;
    }
    // SAFETY: a call that succeeded has written the address.
    let address = if result == 0 { unsafe { written(address) } } else { 0 };
    let capture = if result == 0 { captures::under_way() } else { 0 };
    call.allocated(time, call.here().in_pool(capture), (kind, address, size), result);
}

/// What a row would have taken: rows of common devices start at multiples of 512 bytes.
fn likely_pitch(width: usize) -> usize {
    width.checked_next_multiple_of(512).unwrap_or(width)
}

/// What a free by this interface frees. Memory of pools may be freed by it too.
fn kind_of(held: Option<Held>) -> MemoryKind {
    match held.map(|held| held.kind) {
        Some(kind @ (MemoryKind::StreamOrdered | MemoryKind::Managed | MemoryKind::Imported)) => {
            kind
        }
        _ => MemoryKind::Device,
    }
}
