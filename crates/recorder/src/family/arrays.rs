//! Arrays for textures. An array has no address that a program sees: its handle stands for it.

use whyoom_trace::MemoryKind;

use super::out_parameter::written;
use crate::{
    declare::hooks,
    record::{Call, clock},
    result_code::Code,
};

/// `CUDA_ARRAY_DESCRIPTOR`, with its enumeration as a number.
#[derive(Clone, Copy, Default)]
#[repr(C)]
pub(crate) struct ArrayDescriptor {
    width: usize,
    height: usize,
    format: u32,
    channels: u32,
}

/// `CUDA_ARRAY3D_DESCRIPTOR`, likewise.
#[derive(Clone, Copy, Default)]
#[repr(C)]
pub(crate) struct Array3dDescriptor {
    width: usize,
    height: usize,
    depth: usize,
    format: u32,
    channels: u32,
    flags: u32,
}

impl From<ArrayDescriptor> for Array3dDescriptor {
    fn from(flat: ArrayDescriptor) -> Self {
        let ArrayDescriptor { width, height, format, channels } = flat;
        Self { width, height, depth: 0, format, channels, flags: 0 }
    }
}

impl Array3dDescriptor {
    /// What its elements take, without what the driver may add to rows.
    fn bytes(self) -> u64 {
        let channel = match self.format {
            0x02 | 0x09 | 0x10 => 2,
            0x03 | 0x0a | 0x20 => 4,
            _ => 1,
        };
        let sides = [self.width, self.height.max(1), self.depth.max(1)];
        let elements = sides.iter().fold(1u64, |all, side| all.saturating_mul(*side as u64));
        elements.saturating_mul(channel).saturating_mul(self.channels.into())
    }

    /// The same with the levels below it, each half as wide, high and deep.
    fn bytes_of_levels(self, levels: u32) -> u64 {
        let level = |number: u32| {
            let half = |side: usize| if side == 0 { 0 } else { (side >> number).max(1) };
            let (width, height, depth) = (half(self.width), half(self.height), half(self.depth));
            Self { width, height, depth, ..self }.bytes()
        };
        (0..levels.min(32)).map(level).fold(0, u64::saturating_add)
    }
}

hooks! { Arrays;
    Required (array: *mut u64, descriptor: *const ArrayDescriptor)
    [cuArrayCreate_v2 = "cuArrayCreate" since 3020]
    after { |call, (), result| {
        // SAFETY: the program's own descriptor, which it lends for the call.
        let size = Array3dDescriptor::from(unsafe { written(descriptor) }).bytes();
        created(call, array, size, result);
    } }

    Required (array: *mut u64, descriptor: *const Array3dDescriptor)
    [cuArray3DCreate_v2 = "cuArray3DCreate" since 3020]
    after { |call, (), result| {
        // SAFETY: likewise.
        created(call, array, unsafe { written(descriptor) }.bytes(), result);
    } }

    Optional (array: *mut u64, descriptor: *const Array3dDescriptor, levels: u32)
    [cuMipmappedArrayCreate = "cuMipmappedArrayCreate" since 5000]
    after { |call, (), result| {
        // SAFETY: likewise.
        let size = unsafe { written(descriptor) }.bytes_of_levels(levels);
        created(call, array, size, result);
    } }

    Required (array: u64)
    [cuArrayDestroy = "cuArrayDestroy" since 2000]
    around { |call| call.freeing(array); |call, begun, result| {
        if result == 0 {
            call.freed(begun, call.here(), (MemoryKind::Array, array), result);
        }
    } }

    Optional (array: u64)
    [cuMipmappedArrayDestroy = "cuMipmappedArrayDestroy" since 5000]
    around { |call| call.freeing(array); |call, begun, result| {
        if result == 0 {
            call.freed(begun, call.here(), (MemoryKind::Array, array), result);
        }
    } }
}

fn created(call: &Call, array: *const u64, size: u64, result: Code) {
    let time = clock::now();
    // SAFETY: a call that succeeded has written the handle.
    let handle = if result == 0 { unsafe { written(array) } } else { 0 };
    call.allocated(time, call.here(), (MemoryKind::Array, handle, size), result);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arrays_take_what_their_elements_take() {
        let flat = ArrayDescriptor { width: 100, height: 0, format: 0x20, channels: 4 };
        assert_eq!(Array3dDescriptor::from(flat).bytes(), 1600);
        let deep =
            Array3dDescriptor { width: 8, height: 4, depth: 0, format: 1, channels: 1, flags: 0 };
        assert_eq!(deep.bytes_of_levels(3), 32 + 8 + 2);
        let huge = Array3dDescriptor { width: usize::MAX, height: 9, ..deep };
        assert_eq!(huge.bytes(), u64::MAX);
    }
}
