//! What compiled code calls before `main`, to register its device code. These are the entry points
//! that the compiler's public headers declare.

use std::ffi::{c_char, c_void};

use cudarc::driver::sys::CUdeviceptr;
use whyoom_lab_abi::{In, Out};

use crate::{
    context,
    error::Failure,
    registry::{self, Binary},
};

/// The handle of a fat binary: the address of its wrapper, which is unique.
type Handle = *mut *mut c_void;

/// What the compiler wraps a fat binary in.
#[derive(Clone, Copy)]
#[repr(C)]
struct Wrapper {
    magic: u32,
    version: u32,
    image: *const c_void,
    prelinked: *const c_void,
}

const WRAPPER_MAGIC: u32 = 0x4662_43b1;

/// Registers a fat binary; nothing is loaded.
#[unsafe(no_mangle)]
pub extern "C" fn __cudaRegisterFatBinary(wrapper: *mut c_void) -> Handle {
    let read = In(wrapper.cast_const().cast::<Wrapper>()).if_given();
    let image = read.filter(|wrapper| wrapper.magic == WRAPPER_MAGIC).map(|read| read.image);
    registry::add_binary(Binary::of(wrapper), image);
    wrapper.cast()
}

/// Everything of the binary is registered.
#[unsafe(no_mangle)]
pub extern "C" fn __cudaRegisterFatBinaryEnd(_binary: Handle) {}

/// The library that a fat binary belongs to is being unloaded.
#[unsafe(no_mangle)]
pub extern "C" fn __cudaUnregisterFatBinary(binary: Handle) {
    registry::remove_binary(Binary::of(binary.cast()));
}

/// Registers a kernel by its host stub. Limits that the compiler may add are not used.
#[unsafe(no_mangle)]
pub extern "C" fn __cudaRegisterFunction(
    binary: Handle,
    stub: *const c_void,
    _device_stub: *mut c_char,
    name: *const c_char,
) {
    registry::add_function(Binary::of(binary.cast()), stub, name);
}

/// Registers a variable by its host shadow.
#[unsafe(no_mangle)]
pub extern "C" fn __cudaRegisterVar(
    binary: Handle,
    shadow: *const c_void,
    _device_address: *mut c_char,
    name: *const c_char,
    _external: i32,
    size: usize,
) {
    registry::add_variable(Binary::of(binary.cast()), shadow, name, size);
}

/// Registers a managed variable: its shadow is a pointer, written when the module is initialized.
#[unsafe(no_mangle)]
pub extern "C" fn __cudaRegisterManagedVar(
    binary: Handle,
    shadow: *mut *mut c_void,
    _device_address: *mut c_char,
    name: *const c_char,
    _external: i32,
    size: usize,
) {
    registry::add_managed(Binary::of(binary.cast()), shadow.cast_const().cast(), name, size);
}

/// Gives the managed variables of a binary their addresses, before the program's first use of one.
#[unsafe(no_mangle)]
pub extern "C" fn __cudaInitModule(binary: Handle) -> c_char {
    let shadows = registry::managed_of(Binary::of(binary.cast()));
    let written = shadows.into_iter().try_for_each(|shadow| {
        let shadow = shadow.pointer::<c_void>();
        let variable = registry::variable(&context::current()?, shadow)?;
        Ok::<_, Failure>(Out(shadow as *mut CUdeviceptr).put(variable.address)?)
    });
    c_char::from(written.is_ok())
}
