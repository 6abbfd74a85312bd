//! Libraries and kernels: code that belongs to no context. A kernel's handle serves as a function's.

use std::ffi::{c_char, c_void};

use whyoom_lab_abi::{Out, Text, exports};
use whyoom_lab_core::{Error, image::Image};

use crate::{
    modules::{attribute_of, image_at, image_in, set_attribute},
    names::kept_name,
    process::{in_context, with},
    status::{self, Status},
};

fn load(library: Out<u64>, image: Image) -> status::Result<()> {
    with(|driver| Ok(library.put(driver.load_module(None, image))?))
}

exports! { Status;
    fn cuLibraryLoadData(
        library: Out<u64>,
        data: *const c_void,
        _jit: *const c_void,
        _jit_values: *const c_void,
        _jit_count: u32,
        _options: *const c_void,
        _values: *const c_void,
        _count: u32,
    ) {
        load(library, image_at(data)?)
    }

    fn cuLibraryLoadFromFile(
        library: Out<u64>,
        path: Text,
        _jit: *const c_void,
        _jit_values: *const c_void,
        _jit_count: u32,
        _options: *const c_void,
        _values: *const c_void,
        _count: u32,
    ) {
        load(library, image_in(path)?)
    }

    fn cuLibraryUnload(library: u64) { with(|driver| Ok(driver.unload_module(library)?)) }

    fn cuLibraryGetKernel(kernel: Out<u64>, library: u64, name: Text) {
        let name = name.get()?;
        with(|driver| Ok(kernel.put(driver.function(library, &name)?)?))
    }

    fn cuLibraryGetModule(module: Out<u64>, library: u64) {
        in_context(|driver, _| {
            // A library's handle serves as its module's.
            if matches!(driver.kernel_names(library), Err(Error::InvalidHandle)) {
                return Err(Error::InvalidHandle.into());
            }
            Ok(module.put(library)?)
        })
    }

    fn cuLibraryGetKernelCount(count: Out<u32>, library: u64) {
        with(|driver| Ok(count.put(driver.kernel_names(library)?.len() as u32)?))
    }

    fn cuLibraryEnumerateKernels(kernels: Out<u64>, room: u32, library: u64) {
        with(|driver| {
            let names = driver.kernel_names(library)?;
            let handles = names.iter().take(room as usize).map(|name| driver.function(library, name));
            let handles = handles.collect::<Result<Vec<_>, Error>>()?;
            Ok(kernels.put_all(handles)?)
        })
    }

    fn cuLibraryGetGlobal(address: Out<u64>, bytes: Out<usize>, library: u64, name: Text) {
        let name = name.get()?;
        in_context(|driver, context| {
            let (place, size) = driver.variable(context, library, &name)?;
            address.put_if_wanted(place);
            bytes.put_if_wanted(size as usize);
            Ok(())
        })
    }

    fn cuKernelGetFunction(function: Out<u64>, kernel: u64) {
        in_context(|driver, _| {
            driver.function_name(kernel)?;
            Ok(function.put(kernel)?)
        })
    }

    fn cuKernelGetLibrary(library: Out<u64>, kernel: u64) {
        with(|driver| Ok(library.put(driver.function_module(kernel)?)?))
    }

    fn cuKernelGetName(name: Out<*const c_char>, kernel: u64) {
        with(|driver| Ok(name.put(kept_name(driver.function_name(kernel)?))?))
    }

    fn cuKernelGetAttribute(value: Out<i32>, attribute: u32, kernel: u64, _device: i32) {
        with(|driver| Ok(value.put(attribute_of(driver, kernel, attribute)? as i32)?))
    }

    fn cuKernelSetAttribute(attribute: u32, value: i32, kernel: u64, _device: i32) {
        with(|driver| set_attribute(driver, kernel, attribute, value))
    }

    fn cuKernelSetCacheConfig(kernel: u64, _config: u32, _device: i32) {
        with(|driver| Ok(driver.function_name(kernel).map(|_| ())?))
    }
}
