//! Kernels as functions of the current context, and their attributes.

use std::{
    ffi::{c_char, c_void},
    ptr,
};

use cudarc::{
    driver::sys::{CUfunction, CUfunction_attribute, CUkernel},
    runtime::sys::cudaFuncAttributes,
};
use whyoom_lab_abi::{Out, exports};

use crate::{
    context::{self, Current},
    device_settings::hint,
    error::{Failure, Status},
    registry,
};

exports! { Status;
    fn cudaFuncGetAttributes(attributes: Out<cudaFuncAttributes>, kernel: *const c_void) {
        let current = context::current()?;
        let function = resolved(&current, kernel)?;
        Ok(attributes.put(attributes_of(&current, function)?)?)
    }

    fn cudaFuncSetAttribute(kernel: *const c_void, attribute: u32, value: i32) {
        let current = context::current()?;
        current.cuFuncSetAttribute(resolved(&current, kernel)?, attribute, value)
    }

    fn cudaFuncSetCacheConfig(kernel: *const c_void, config: u32) {
        let current = context::current()?;
        hint(current.cuFuncSetCacheConfig(resolved(&current, kernel)?, config))
    }

    fn cudaFuncGetName(name: Out<*const c_char>, kernel: *const c_void) {
        let current = context::current()?;
        if registry::is_library_kernel(kernel) {
            return current.cuKernelGetName(name.0, kernel as CUkernel);
        }
        Ok(name.put(registry::function_name(kernel).ok_or(Failure::INVALID_FUNCTION)?)?)
    }

    fn cudaFuncGetParamInfo(kernel: *const c_void, index: usize, offset: Out<usize>, size: Out<usize>) {
        let current = context::current()?;
        current.cuFuncGetParamInfo(resolved(&current, kernel)?, index, offset.0, size.0)
    }

    fn cudaFuncGetParamCount(kernel: *const c_void, count: Out<usize>) {
        let current = context::current()?;
        current.cuFuncGetParamCount(resolved(&current, kernel)?, count.0)
    }

    fn cudaGetFuncBySymbol(function: Out<CUfunction>, kernel: *const c_void) {
        Ok(function.put(resolved(&context::current()?, kernel)?)?)
    }
}

/// The function of the current context that a kernel is: one that the program registered, or one of
/// a library that it loaded.
pub fn resolved(current: &Current, kernel: *const c_void) -> Result<CUfunction, Failure> {
    if registry::is_library_kernel(kernel) {
        let mut function = ptr::null_mut();
        current.cuKernelGetFunction(&mut function, kernel as CUkernel)?;
        return Ok(function);
    }
    registry::function(current, kernel)
}

#[rustfmt::skip]
fn attributes_of(current: &Current, function: CUfunction) -> Result<cudaFuncAttributes, Failure> {
    use CUfunction_attribute as Attribute;
    let ask = |attribute: Attribute| {
        let mut value = 0;
        current.cuFuncGetAttribute(&mut value, attribute as u32, function).map(|()| value)
    };
    // Attributes of clusters came later; a driver without them has no clusters.
    let or_zero = |attribute| ask(attribute).unwrap_or(0);
    Ok(cudaFuncAttributes {
        sharedSizeBytes: ask(Attribute::CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES)? as usize,
        constSizeBytes: ask(Attribute::CU_FUNC_ATTRIBUTE_CONST_SIZE_BYTES)? as usize,
        localSizeBytes: ask(Attribute::CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES)? as usize,
        maxThreadsPerBlock: ask(Attribute::CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK)?,
        numRegs: ask(Attribute::CU_FUNC_ATTRIBUTE_NUM_REGS)?,
        ptxVersion: ask(Attribute::CU_FUNC_ATTRIBUTE_PTX_VERSION)?,
        binaryVersion: ask(Attribute::CU_FUNC_ATTRIBUTE_BINARY_VERSION)?,
        cacheModeCA: or_zero(Attribute::CU_FUNC_ATTRIBUTE_CACHE_MODE_CA),
        maxDynamicSharedSizeBytes: or_zero(Attribute::CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES),
        preferredShmemCarveout: or_zero(Attribute::CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT),
        clusterDimMustBeSet: or_zero(Attribute::CU_FUNC_ATTRIBUTE_CLUSTER_SIZE_MUST_BE_SET),
        requiredClusterWidth: or_zero(Attribute::CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH),
        requiredClusterHeight: or_zero(Attribute::CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_HEIGHT),
        requiredClusterDepth: or_zero(Attribute::CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_DEPTH),
        clusterSchedulingPolicyPreference: or_zero(Attribute::CU_FUNC_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE),
        nonPortableClusterSizeAllowed: or_zero(Attribute::CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED),
        reserved0: 0,
        reserved: [0; 15],
    })
}
