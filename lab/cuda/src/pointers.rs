//! What a pointer is.

use std::ffi::c_void;

use cudarc::driver::sys::CUpointer_attribute as Attribute;
use whyoom_lab_abi::{In, Out, exports};
use whyoom_lab_core::{
    Error,
    driver::{Allocation, AllocationKind, Driver},
};

use crate::{
    process::with,
    status::{Result, Status},
};

/// `CU_MEMORYTYPE_HOST` and `CU_MEMORYTYPE_DEVICE`.
const HOST: u32 = 1;
const DEVICE: u32 = 2;

fn write(
    driver: &Driver,
    number: u32,
    held: &Allocation,
    address: u64,
    out: *mut c_void,
) -> Result<()> {
    let is = |attribute: Attribute| attribute as u32 == number;
    let host = !held.is_on_device();
    let managed = held.kind == AllocationKind::Managed;
    let primary = || {
        let owner = driver.primary_context(held.device).unwrap_or(0);
        if held.context == 0 { owner } else { held.context }
    };
    let pool = if let AllocationKind::Pooled(pool) = held.kind { pool } else { 0 };
    let out8 = Out(out.cast::<u64>());
    let out4 = Out(out.cast::<u32>());
    let out1 = Out(out.cast::<u8>());
    if is(Attribute::CU_POINTER_ATTRIBUTE_CONTEXT) {
        out8.put(primary())?;
    } else if is(Attribute::CU_POINTER_ATTRIBUTE_MEMORY_TYPE) {
        out4.put(if host { HOST } else { DEVICE })?;
    } else if is(Attribute::CU_POINTER_ATTRIBUTE_DEVICE_POINTER) {
        out8.put(address)?;
    } else if is(Attribute::CU_POINTER_ATTRIBUTE_HOST_POINTER) {
        if !host && !managed {
            return Err(Error::InvalidValue.into());
        }
        out8.put(address)?;
    } else if is(Attribute::CU_POINTER_ATTRIBUTE_BUFFER_ID) {
        out8.put(held.id)?;
    } else if is(Attribute::CU_POINTER_ATTRIBUTE_IS_MANAGED) {
        out1.put(managed.into())?;
    } else if is(Attribute::CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL) {
        out4.put(held.device as u32)?;
    } else if is(Attribute::CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE) {
        let capable = matches!(held.kind, AllocationKind::Device | AllocationKind::Small);
        out1.put(capable.into())?;
    } else if is(Attribute::CU_POINTER_ATTRIBUTE_RANGE_START_ADDR) {
        out8.put(held.start)?;
    } else if is(Attribute::CU_POINTER_ATTRIBUTE_RANGE_SIZE) {
        out8.put(held.size)?;
    } else if is(Attribute::CU_POINTER_ATTRIBUTE_MAPPED) {
        out1.put(1)?;
    } else if is(Attribute::CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE) {
        out8.put(pool)?;
    } else {
        return Err(Error::NotSupported.into());
    }
    Ok(())
}

exports! { Status;
    fn cuPointerGetAttribute(out: *mut c_void, attribute: u32, address: u64) {
        with(|driver| {
            let held = driver.find(address).ok_or(Error::InvalidValue)?;
            write(driver, attribute, &held, address, out)
        })
    }

    // Documented: for a pointer that is not known, attributes are zero and the call succeeds.
    fn cuPointerGetAttributes(count: u32, list: In<u32>, outs: In<*mut c_void>, address: u64) {
        let (attributes, outs) = (list.list(count as usize)?, outs.list(count as usize)?);
        with(|driver| {
            let held = driver.find(address);
            for (attribute, out) in attributes.into_iter().zip(outs) {
                let written = held.map(|held| write(driver, attribute, &held, address, out));
                if !matches!(written, Some(Ok(()))) {
                    zero(attribute, out);
                }
            }
            Ok(())
        })
    }

    fn cuPointerSetAttribute(_value: *const c_void, _attribute: u32, address: u64) {
        with(|driver| Ok(driver.find(address).map(|_| ()).ok_or(Error::InvalidValue)?))
    }
}

fn zero(number: u32, out: *mut c_void) {
    let is = |attribute: Attribute| attribute as u32 == number;
    if is(Attribute::CU_POINTER_ATTRIBUTE_IS_MANAGED)
        || is(Attribute::CU_POINTER_ATTRIBUTE_MAPPED)
        || is(Attribute::CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE)
    {
        Out(out.cast::<u8>()).put_if_wanted(0);
    } else if is(Attribute::CU_POINTER_ATTRIBUTE_MEMORY_TYPE) {
        Out(out.cast::<u32>()).put_if_wanted(0);
    } else if is(Attribute::CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL) {
        // Documented: -2 for a pointer that belongs to no device.
        Out(out.cast::<i32>()).put_if_wanted(-2);
    } else {
        Out(out.cast::<u64>()).put_if_wanted(0);
    }
}
