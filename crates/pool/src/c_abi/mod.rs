//! The C interface: `include/whyoom_pool.h`.

mod pool;
mod served;
mod torch;

use std::{
    cell::RefCell,
    ffi::{CString, c_char, c_int},
};

use crate::{device::DevicePool, error::PoolError, message, process};

thread_local! {
    /// The last failure of this thread, in words.
    static MESSAGE: RefCell<CString> = RefCell::default();
}

/// A result as C takes it; why it failed is kept for whoever asks.
fn answer(result: Result<(), PoolError>) -> c_int {
    complain(&result);
    result.map_or_else(|error| error.code() as c_int, |()| 0)
}

/// As [`answer`] of an allocation from a pool.
fn answer_of(pool: &DevicePool, result: Result<(), PoolError>) -> c_int {
    if let Err(PoolError::OutOfMemory { requested }) = result {
        keep_text(&message::plain(pool, requested));
        return PoolError::OutOfMemory { requested }.code() as c_int;
    }
    answer(result)
}

/// Keeps why something failed; whoever debugs hears of addresses that are not the pool's.
fn complain(result: &Result<(), PoolError>) {
    let Err(error) = result else { return };
    keep_error(error);
    if let PoolError::Foreign { address } = error {
        let debugs = process::devices().filter_map(|pool| pool.debug.as_ref());
        debugs.take(1).for_each(|debug| debug.foreign(*address));
    }
}

fn keep_error(error: &PoolError) {
    keep_text(&error.to_string());
}

#[cold]
fn keep_text(text: &str) {
    let text = CString::new(text).unwrap_or_default();
    // A thread that is ending has no place to keep it.
    let _ = MESSAGE.try_with(|message| message.replace(text));
}

/// Why the pool cannot serve the devices of this process, in words that stay until this thread's next failure; null
/// where it can.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn whyoom_pool_obstacle(hooked: c_int) -> *const c_char {
    match process::obstacle(hooked != 0) {
        Some(why) => {
            keep_text(&why);
            whyoom_pool_message()
        }
        None => std::ptr::null(),
    }
}

/// The calling thread's last failure in words; empty before the first. It stays until the next one.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn whyoom_pool_message() -> *const c_char {
    MESSAGE.try_with(|message| message.borrow().as_ptr()).unwrap_or(c"".as_ptr())
}
