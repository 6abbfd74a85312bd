//! What a pointer points to.

use std::{ffi::c_void, ptr};

use cudarc::{
    driver::sys::{CUdeviceptr, CUmemorytype, CUpointer_attribute},
    runtime::sys::{cudaMemoryType, cudaPointerAttributes},
};

use crate::{context::Current, error::Failure};

/// The documented device of memory that CUDA does not know.
const NO_DEVICE: i32 = -2;

/// All that is known about a pointer.
pub fn attributes_of(
    current: &Current,
    pointer: CUdeviceptr,
) -> Result<cudaPointerAttributes, Failure> {
    use CUpointer_attribute as Attribute;
    let ask = |attribute: Attribute| ask(current, attribute, pointer);
    let kind = match ask(Attribute::CU_POINTER_ATTRIBUTE_MEMORY_TYPE) {
        Ok(kind) => kind as u32,
        // Memory that the driver does not know is ordinary memory of the program.
        Err(Failure::INVALID_VALUE) => return Ok(unregistered(pointer)),
        Err(failure) => return Err(failure),
    };
    // Only one of the two sides may be able to reach the memory: no pointer for the other.
    let or_null = |attribute| ask(attribute).unwrap_or(0) as *mut c_void;
    Ok(cudaPointerAttributes {
        type_: memory_type(kind, or_null(Attribute::CU_POINTER_ATTRIBUTE_IS_MANAGED)),
        device: ask(Attribute::CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL)? as i32,
        devicePointer: or_null(Attribute::CU_POINTER_ATTRIBUTE_DEVICE_POINTER),
        hostPointer: or_null(Attribute::CU_POINTER_ATTRIBUTE_HOST_POINTER),
        reserved: [0; 8],
    })
}

fn ask(
    current: &Current,
    attribute: CUpointer_attribute,
    pointer: CUdeviceptr,
) -> Result<u64, Failure> {
    // Every attribute that is asked for here fits; shorter ones leave the upper bytes zero.
    let mut value = 0_u64;
    let place = ptr::from_mut(&mut value).cast();
    current.cuPointerGetAttribute(place, attribute as u32, pointer)?;
    Ok(value)
}

fn memory_type(kind: u32, managed: *mut c_void) -> cudaMemoryType {
    if !managed.is_null() {
        cudaMemoryType::cudaMemoryTypeManaged
    } else if kind == CUmemorytype::CU_MEMORYTYPE_HOST as u32 {
        cudaMemoryType::cudaMemoryTypeHost
    } else {
        cudaMemoryType::cudaMemoryTypeDevice
    }
}

fn unregistered(pointer: CUdeviceptr) -> cudaPointerAttributes {
    cudaPointerAttributes {
        type_: cudaMemoryType::cudaMemoryTypeUnregistered,
        device: NO_DEVICE,
        devicePointer: ptr::null_mut(),
        hostPointer: pointer as *mut c_void,
        reserved: [0; 8],
    }
}
