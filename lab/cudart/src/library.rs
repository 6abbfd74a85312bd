//! Device code that programs load at run time. Handles are the driver's own.

use std::ffi::{c_char, c_void};

use cudarc::driver::sys::{CUdeviceptr, CUkernel, CUlibrary};
use whyoom_lab_abi::{In, Out, exports};

use crate::{context, error::Status, function, registry};

exports! { Status;
    #[allow(clippy::too_many_arguments)]
    fn cudaLibraryLoadData(library: Out<CUlibrary>, code: *const c_void, jit: *mut u32, jit_values: *mut *mut c_void, jit_count: u32, options: *mut u32, values: *mut *mut c_void, count: u32) {
        context::current()?.cuLibraryLoadData(library.0, code, jit, jit_values, jit_count, options, values, count)
    }

    #[allow(clippy::too_many_arguments)]
    fn cudaLibraryLoadFromFile(library: Out<CUlibrary>, path: *const c_char, jit: *mut u32, jit_values: *mut *mut c_void, jit_count: u32, options: *mut u32, values: *mut *mut c_void, count: u32) {
        context::current()?.cuLibraryLoadFromFile(library.0, path, jit, jit_values, jit_count, options, values, count)
    }

    fn cudaLibraryUnload(library: CUlibrary) {
        context::current()?.cuLibraryUnload(library)?;
        registry::forget_library(library);
        Ok(())
    }

    fn cudaLibraryGetKernel(kernel: Out<CUkernel>, library: CUlibrary, name: *const c_char) {
        context::current()?.cuLibraryGetKernel(kernel.0, library, name)?;
        registry::add_library_kernel(library, In(kernel.0.cast_const()).get()?);
        Ok(())
    }

    fn cudaLibraryGetKernelCount(count: Out<u32>, library: CUlibrary) {
        context::current()?.cuLibraryGetKernelCount(count.0, library)
    }

    fn cudaLibraryEnumerateKernels(kernels: Out<CUkernel>, room: u32, library: CUlibrary) {
        let current = context::current()?;
        let mut count = 0;
        current.cuLibraryGetKernelCount(&mut count, library)?;
        current.cuLibraryEnumerateKernels(kernels.0, room, library)?;
        for kernel in In(kernels.0.cast_const()).list(room.min(count) as usize)? {
            registry::add_library_kernel(library, kernel);
        }
        Ok(())
    }

    fn cudaLibraryGetGlobal(pointer: Out<CUdeviceptr>, size: Out<usize>, library: CUlibrary, name: *const c_char) {
        context::current()?.cuLibraryGetGlobal(pointer.0, size.0, library, name)
    }

    fn cudaLibraryGetManaged(pointer: Out<CUdeviceptr>, size: Out<usize>, library: CUlibrary, name: *const c_char) {
        context::current()?.cuLibraryGetManaged(pointer.0, size.0, library, name)
    }

    fn cudaLibraryGetUnifiedFunction(function: Out<*mut c_void>, library: CUlibrary, name: *const c_char) {
        context::current()?.cuLibraryGetUnifiedFunction(function.0, library, name)
    }

    fn cudaKernelSetAttributeForDevice(kernel: CUkernel, attribute: u32, value: i32, device: i32) {
        let current = context::current()?;
        if registry::is_library_kernel(kernel.cast()) {
            let device = context::handle(&current, device)?;
            return current.cuKernelSetAttribute(attribute, value, kernel, device);
        }
        let function = function::resolved(&current, kernel.cast())?;
        current.cuFuncSetAttribute(function, attribute, value)
    }
}
