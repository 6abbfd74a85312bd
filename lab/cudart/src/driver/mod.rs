//! The way to the driver, the one that the genuine runtime takes: `dlopen("libcuda.so.1")`, then
//! every function by `cuGetProcAddress`.

mod table;

use std::{
    ffi::{CStr, c_char, c_int, c_void},
    ptr,
    sync::OnceLock,
};

pub use table::{Driver, Location};

use crate::error::{self, Failure};

/// `cuGetProcAddress_v2`, as documented.
type GetProcAddress =
    unsafe extern "C" fn(*const c_char, *mut *mut c_void, c_int, u64, *mut u32) -> u32;

/// The version of the driver API whose signatures the table has, whatever the runtime's own is.
const API_VERSION: c_int = 13_020;

/// The driver, loaded at the first use and initialized.
pub fn initialized() -> Result<&'static Driver, Failure> {
    static INITIALIZED: OnceLock<Result<(), Failure>> = OnceLock::new();
    let driver = loaded()?;
    (*INITIALIZED.get_or_init(|| driver.cuInit(0)))?;
    Ok(driver)
}

/// The driver, loaded at the first use.
pub fn loaded() -> Result<&'static Driver, Failure> {
    static LOADED: OnceLock<Option<Driver>> = OnceLock::new();
    let driver = LOADED.get_or_init(|| Some(Driver::resolved_by(&look_up()?)));
    driver.as_ref().ok_or(Failure::INSUFFICIENT_DRIVER)
}

/// How functions of the driver are found.
pub struct LookUp(GetProcAddress);

impl LookUp {
    /// The address of a function in the form that it had in a version of the API; null if the
    /// driver has none.
    fn address(&self, name: &CStr, version: c_int) -> *mut c_void {
        self.ask(name.as_ptr(), version, 0).map_or(ptr::null_mut(), |found| found.address)
    }

    /// What the driver answers to a look-up.
    pub fn ask(&self, name: *const c_char, version: c_int, flags: u64) -> Result<Found, Failure> {
        let mut found = Found { address: ptr::null_mut(), status: 0 };
        // SAFETY: the function has the documented signature; `name` ends with a zero by the
        // contract of all C APIs, and the places to write to are ours.
        let answer =
            unsafe { (self.0)(name, &mut found.address, version, flags, &mut found.status) };
        match error::of_driver(answer) {
            // That there is no such function is a result, told by the status.
            Err(Failure::NOT_FOUND) => Ok(Found { address: ptr::null_mut(), ..found }),
            other => other.map(|()| found),
        }
    }
}

/// The result of a look-up.
pub struct Found {
    /// The function; null if there is none.
    pub address: *mut c_void,
    /// A `CUdriverProcAddressQueryResult`, the same number as the runtime's.
    pub status: u32,
}

/// The driver's own look-up function; none if there is no driver.
pub fn look_up() -> Option<LookUp> {
    // SAFETY: the name ends with a zero. Loading a driver has no conditions.
    let library = unsafe { libc::dlopen(c"libcuda.so.1".as_ptr(), libc::RTLD_NOW) };
    if library.is_null() {
        return None;
    }
    // SAFETY: the library was just opened and is never closed; the name ends with a zero.
    let address = unsafe { libc::dlsym(library, c"cuGetProcAddress_v2".as_ptr()) };
    // SAFETY: the symbol of this name is a function of this documented signature, or null, which is
    // what `None` looks like.
    unsafe { std::mem::transmute::<*mut c_void, Option<GetProcAddress>>(address) }.map(LookUp)
}
