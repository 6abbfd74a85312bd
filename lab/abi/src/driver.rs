//! The way to the driver for libraries above it, the one that NVIDIA's own take.
//!
//! They carry a copy of the CUDA runtime, which opens `libcuda.so.1` and asks `cuGetProcAddress` for
//! everything else. A recorder that watches this road must meet the stand-ins on it too, and exactly
//! that file name must be opened: `libcuda.so` could be another driver than the simulated one.

use std::{
    ffi::{CStr, c_char, c_int, c_void},
    mem,
    ptr::{self, NonNull},
    sync::OnceLock,
};

/// What driver functions answer with; 0 is success. Never a Rust enum: new drivers have new codes.
pub type Code = u32;

/// The CUDA version whose functions are asked for: tables hold the signatures of this one.
const VERSION: c_int = 12_000;

type GetProcAddress =
    unsafe extern "C" fn(*const c_char, *mut *mut c_void, c_int, u64, *mut u32) -> Code;

/// The address of a driver function, by its base name.
#[must_use]
pub fn look_up(name: &CStr) -> Option<NonNull<c_void>> {
    static DRIVER: OnceLock<Option<GetProcAddress>> = OnceLock::new();
    let get = (*DRIVER.get_or_init(open))?;
    let (mut address, mut status) = (ptr::null_mut(), 0);
    // SAFETY: the name ends with a zero, and both places live through the call.
    let code = unsafe { get(name.as_ptr(), &mut address, VERSION, 0, &mut status) };
    NonNull::new(address).filter(|_| code == 0)
}

/// Opens the driver; it is never closed.
fn open() -> Option<GetProcAddress> {
    // SAFETY: the name ends with a zero; a driver's initialisers are as safe as the driver.
    let library = unsafe { libc::dlopen(c"libcuda.so.1".as_ptr(), libc::RTLD_NOW) };
    if library.is_null() {
        return None;
    }
    // SAFETY: the library was opened just now, and the name ends with a zero.
    let address = unsafe { libc::dlsym(library, c"cuGetProcAddress_v2".as_ptr()) };
    // SAFETY: the documented function of that name has this signature; null becomes `None`.
    unsafe { mem::transmute::<*mut c_void, Option<GetProcAddress>>(address) }
}

/// Declares a table of driver functions: their base names and documented signatures. `find` gives the
/// table of this process's driver; one that lacks a function lacks the table.
#[macro_export]
macro_rules! driver_table {
    ($(#[$meta:meta])* $table:ident { $($field:ident = $name:literal: $signature:ty;)* }) => {
        $(#[$meta])*
        pub(crate) struct $table {
            $(pub(crate) $field: $signature,)*
        }

        impl $table {
            /// The table of this process's driver, if it has one.
            pub(crate) fn find() -> Option<&'static Self> {
                static TABLE: ::std::sync::OnceLock<Option<$table>> = ::std::sync::OnceLock::new();
                TABLE.get_or_init(Self::read).as_ref()
            }

            fn read() -> Option<Self> {
                Some(Self {
                    $($field: {
                        let address = $crate::driver::look_up($name)?;
                        // SAFETY: the driver answered with the function of this name in the
                        // version asked for, which is documented to have this signature.
                        unsafe {
                            ::std::mem::transmute::<
                                ::std::ptr::NonNull<::std::ffi::c_void>,
                                $signature,
                            >(address)
                        }
                    },)*
                })
            }
        }
    };
}
