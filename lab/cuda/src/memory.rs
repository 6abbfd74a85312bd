//! Plain device memory, managed memory, arrays.

use cudarc::driver::sys;
use whyoom_lab_abi::{In, Out, exports};
use whyoom_lab_core::{Error, driver::ArrayShape};

use crate::{
    process::{in_context, unseen_by_captures, wait_for_context, with},
    status::{Result, Status},
};

/// Rows of pitched memory start at multiples of this. Observed on common devices.
const PITCH: usize = 512;

/// `CUDA_ARRAY3D_DESCRIPTOR`, with its enumeration as a number: C may pass any.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct ArrayDescriptor3D {
    width: usize,
    height: usize,
    depth: usize,
    format: u32,
    channels: u32,
    flags: u32,
}

/// `CUDA_ARRAY_DESCRIPTOR`, likewise.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct ArrayDescriptor {
    width: usize,
    height: usize,
    format: u32,
    channels: u32,
}

const _: () = assert!(size_of::<ArrayDescriptor3D>() == size_of::<sys::CUDA_ARRAY3D_DESCRIPTOR>());
const _: () = assert!(size_of::<ArrayDescriptor>() == size_of::<sys::CUDA_ARRAY_DESCRIPTOR>());

impl From<ArrayDescriptor> for ArrayDescriptor3D {
    fn from(flat: ArrayDescriptor) -> Self {
        let ArrayDescriptor { width, height, format, channels } = flat;
        Self { width, height, depth: 0, format, channels, flags: 0 }
    }
}

fn create_array(array: Out<u64>, descriptor: ArrayDescriptor3D) -> Result<()> {
    // The documented formats by their numbers: 8, 16 and 32 bits.
    let channel = match descriptor.format {
        0x01 | 0x08 => 1,
        0x02 | 0x09 | 0x10 => 2,
        0x03 | 0x0a | 0x20 => 4,
        _ => return Err(Error::NotSupported.into()),
    };
    if descriptor.width == 0 || !matches!(descriptor.channels, 1 | 2 | 4) {
        return Err(Error::InvalidValue.into());
    }
    let shape = ArrayShape {
        width: descriptor.width as u64,
        height: descriptor.height as u64,
        depth: descriptor.depth as u64,
        element: channel * u64::from(descriptor.channels),
        format: [descriptor.format, descriptor.channels, descriptor.flags],
    };
    unseen_by_captures(|driver, context| Ok(array.put(driver.create_array(context, shape)?)?))
}

fn described(array: u64) -> Result<ArrayDescriptor3D> {
    let shape = with(|driver| Ok(driver.array_shape(array)?))?;
    let [format, channels, flags] = shape.format;
    let (width, height, depth) =
        (shape.width as usize, shape.height as usize, shape.depth as usize);
    Ok(ArrayDescriptor3D { width, height, depth, format, channels, flags })
}

exports! { Status;
    fn cuMemGetInfo_v2(free: Out<usize>, total: Out<usize>) {
        in_context(|driver, context| {
            let (now_free, all) = driver.memory_info(driver.device_of(context)?)?;
            free.put_if_wanted(now_free as usize);
            total.put_if_wanted(all as usize);
            Ok(())
        })
    }

    fn cuMemAlloc_v2(address: Out<u64>, bytes: usize) {
        if address.is_null() {
            return Err(Error::InvalidValue.into());
        }
        unseen_by_captures(|driver, context| Ok(address.put(driver.alloc(context, bytes as u64)?)?))
    }

    fn cuMemAllocPitch_v2(
        address: Out<u64>,
        pitch: Out<usize>,
        width: usize,
        height: usize,
        element: u32,
    ) {
        let row = width.checked_next_multiple_of(PITCH).ok_or(Error::InvalidValue)?;
        let bytes = row.checked_mul(height).ok_or(Error::InvalidValue)?;
        if !matches!(element, 4 | 8 | 16) || address.is_null() {
            return Err(Error::InvalidValue.into());
        }
        pitch.put(row)?;
        unseen_by_captures(|driver, context| Ok(address.put(driver.alloc(context, bytes as u64)?)?))
    }

    // Freeing waits for the work that may still use the memory.
    fn cuMemFree_v2(address: u64) {
        wait_for_context()?;
        if address == 0 {
            return Ok(());
        }
        in_context(|driver, context| Ok(driver.free(context, address)?))
    }

    fn cuMemAllocManaged(address: Out<u64>, bytes: usize, flags: u32) {
        if address.is_null() || !matches!(flags, 1 | 2) {
            return Err(Error::InvalidValue.into());
        }
        unseen_by_captures(|driver, context| {
            Ok(address.put(driver.alloc_managed(context, bytes as u64)?)?)
        })
    }

    fn cuMemGetAddressRange_v2(base: Out<u64>, size: Out<usize>, address: u64) {
        with(|driver| {
            let held = driver.find(address).ok_or(Error::NotFound)?;
            base.put_if_wanted(held.start);
            size.put_if_wanted(held.size as usize);
            Ok(())
        })
    }

    fn cuArrayCreate_v2(array: Out<u64>, descriptor: In<ArrayDescriptor>) {
        create_array(array, descriptor.get()?.into())
    }

    fn cuArray3DCreate_v2(array: Out<u64>, descriptor: In<ArrayDescriptor3D>) {
        create_array(array, descriptor.get()?)
    }

    fn cuArrayGetDescriptor_v2(descriptor: Out<ArrayDescriptor>, array: u64) {
        let ArrayDescriptor3D { width, height, format, channels, .. } = described(array)?;
        Ok(descriptor.put(ArrayDescriptor { width, height, format, channels })?)
    }

    fn cuArray3DGetDescriptor_v2(descriptor: Out<ArrayDescriptor3D>, array: u64) {
        Ok(descriptor.put(described(array)?)?)
    }

    fn cuArrayDestroy(array: u64) { with(|driver| Ok(driver.destroy_array(array)?)) }

    // Advice and prefetching change where managed memory lies, and nothing here depends on that.
    fn cuMemAdvise(address: u64, _bytes: usize, _advice: u32, _device: i32) { managed(address) }

    fn cuMemAdvise_v2(address: u64, _bytes: usize, _advice: u32, _location: u64) {
        managed(address)
    }

    fn cuMemPrefetchAsync(address: u64, _bytes: usize, _device: i32, _stream: u64) {
        managed(address)
    }

    fn cuMemPrefetchAsync_v2(
        address: u64,
        _bytes: usize,
        _location: u64,
        _flags: u32,
        _stream: u64,
    ) {
        managed(address)
    }
}

fn managed(address: u64) -> Result<()> {
    use whyoom_lab_core::driver::AllocationKind;
    with(|driver| match driver.find(address).map(|held| held.kind) {
        Some(AllocationKind::Managed) => Ok(()),
        _ => Err(Error::InvalidValue.into()),
    })
}
