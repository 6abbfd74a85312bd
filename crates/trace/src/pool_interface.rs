//! The two C interfaces by which the recorder and the memory pool know each other. Both are libraries of
//! their own, either works without the other, and each looks the other's functions up by name at run time.
//!
//! - The pool tells the recorder of its blocks and pages: [`PoolCallbacks`], which
//!   [`FIND_CALLBACKS`] answers.
//! - The recorder hands the driver calls to the pool that it is to serve: the functions from [`SERVING`] on.
//!
//! Streams are the driver's handles, device numbers are the driver's own.

use std::{
    ffi::{CStr, c_int, c_void},
    marker::PhantomData,
};

/// A function of the other library: the name under which it is exported, and its signature `F`.
#[derive(Debug)]
pub struct Symbol<F> {
    /// The name.
    pub name: &'static CStr,
    signature: PhantomData<F>,
}

impl<F> Symbol<F> {
    const fn named(name: &'static CStr) -> Self {
        Self { name, signature: PhantomData }
    }
}

/// The version of [`PoolCallbacks`]. Functions are only added, at the end.
pub const CALLBACKS_VERSION: u32 = 1;

/// What a pool calls, with a lock of its own held, from any thread. Pool 0 is the one that everybody shares.
#[derive(Debug)]
#[repr(C)]
pub struct PoolCallbacks {
    /// [`CALLBACKS_VERSION`].
    pub version: u32,
    /// How many bytes this structure has: a later recorder may have more.
    pub size: u32,
    /// A block was given: device, stream, pool, address, what was asked for, what it takes.
    pub block_alloc: extern "C" fn(i32, u64, u64, u64, u64, u64),
    /// A block was given back and waits for a stream: device, stream, pool, address.
    pub block_free_requested: extern "C" fn(i32, u64, u64, u64),
    /// A block can be used again: likewise.
    pub block_free: extern "C" fn(i32, u64, u64, u64),
    /// Memory came behind addresses: device, stream, pool, address, size, 1 where it serves small requests.
    pub segment_map: extern "C" fn(i32, u64, u64, u64, u64, u32),
    /// It went: device, stream, pool, address, size.
    pub segment_unmap: extern "C" fn(i32, u64, u64, u64, u64),
    /// A request failed: device, stream, what was asked for, what is in blocks, what the pool holds.
    pub out_of_memory: extern "C" fn(i32, u64, u64, u64, u64),
    /// What is in blocks and what the pool holds now, for who watches: device, both.
    pub totals: extern "C" fn(i32, u64, u64),
    /// The most that the pool may hold; 0 takes that away: device, bytes.
    pub cap: extern "C" fn(i32, u64),
}

impl PoolCallbacks {
    /// Its [`size`](Self::size), as it is known here.
    pub const SIZE: u32 = size_of::<Self>() as u32;

    /// Whether one that begins with these has all that is known here. Before that is known only these two
    /// may be read: another version may be shorter.
    #[must_use]
    pub const fn fits(version: u32, size: u32) -> bool {
        version == CALLBACKS_VERSION && size >= Self::SIZE
    }
}

/// Answers the recorder's table, which lives as long as the process; null where nothing is recorded.
pub type FindCallbacks = extern "C" fn() -> *const PoolCallbacks;
/// The recorder's function of that signature.
pub const FIND_CALLBACKS: Symbol<FindCallbacks> = Symbol::named(c"whyoom_recorder_port");

/// The pool's library, as it is loaded.
pub const POOL_LIBRARY: &str = "libwhyoom_pool.so";

/// What the pool answers where a call is not its own: a pointer that it did not give, a stream that
/// captures, a call of its own, or when it is off. The driver is to answer it. Other answers are the
/// driver's codes.
pub const NOT_MINE: c_int = -1;

/// Whether driver allocations are to be served from the pool.
pub type Serving = extern "C" fn() -> c_int;
/// The pool's function of that signature.
pub const SERVING: Symbol<Serving> = Symbol::named(c"whyoom_pool_serving");

/// `cuMemAlloc`: where the address is written, bytes.
pub type MemAlloc = unsafe extern "C" fn(*mut u64, usize) -> c_int;
/// The pool's function of that signature.
pub const MEM_ALLOC: Symbol<MemAlloc> = Symbol::named(c"whyoom_pool_mem_alloc");

/// `cuMemFree`: address.
pub type MemFree = extern "C" fn(u64) -> c_int;
/// The pool's function of that signature.
pub const MEM_FREE: Symbol<MemFree> = Symbol::named(c"whyoom_pool_mem_free");

/// `cuMemAllocAsync`: where the address is written, bytes, stream.
pub type MemAllocAsync = unsafe extern "C" fn(*mut u64, usize, *mut c_void) -> c_int;
/// The pool's function of that signature.
pub const MEM_ALLOC_ASYNC: Symbol<MemAllocAsync> = Symbol::named(c"whyoom_pool_mem_alloc_async");

/// `cuMemFreeAsync`: address, stream.
pub type MemFreeAsync = extern "C" fn(u64, *mut c_void) -> c_int;
/// The pool's function of that signature.
pub const MEM_FREE_ASYNC: Symbol<MemFreeAsync> = Symbol::named(c"whyoom_pool_mem_free_async");

/// A stream is about to be destroyed.
pub type StreamGone = extern "C" fn(*mut c_void) -> c_int;
/// The pool's function of that signature.
pub const STREAM_GONE: Symbol<StreamGone> = Symbol::named(c"whyoom_pool_stream_gone");

/// A device is about to be reset: everything on it goes.
pub type Forget = extern "C" fn(c_int) -> c_int;
/// The pool's function of that signature.
pub const FORGET: Symbol<Forget> = Symbol::named(c"whyoom_pool_forget");

/// Bytes of the current device that lie idle in the pool while it serves.
pub type Idle = extern "C" fn() -> u64;
/// The pool's function of that signature.
pub const IDLE: Symbol<Idle> = Symbol::named(c"whyoom_pool_idle");

/// A copy: target, source, bytes, stream.
pub type Copy = extern "C" fn(u64, u64, usize, *mut c_void) -> c_int;
/// The pool's function of that signature.
pub const COPY: Symbol<Copy> = Symbol::named(c"whyoom_pool_copy");

#[cfg(test)]
mod tests {
    use std::mem::offset_of;

    use super::*;

    #[test]
    fn the_layout_of_the_callbacks_stays() {
        assert_eq!(CALLBACKS_VERSION, 1);
        assert_eq!(PoolCallbacks::SIZE, 72);
        assert_eq!((offset_of!(PoolCallbacks, version), offset_of!(PoolCallbacks, size)), (0, 4));
        let functions = [
            offset_of!(PoolCallbacks, block_alloc),
            offset_of!(PoolCallbacks, block_free_requested),
            offset_of!(PoolCallbacks, block_free),
            offset_of!(PoolCallbacks, segment_map),
            offset_of!(PoolCallbacks, segment_unmap),
            offset_of!(PoolCallbacks, out_of_memory),
            offset_of!(PoolCallbacks, totals),
            offset_of!(PoolCallbacks, cap),
        ];
        assert_eq!(functions, [8, 16, 24, 32, 40, 48, 56, 64]);
    }
}
