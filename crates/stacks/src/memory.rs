//! Reading memory that may not be there: the thread's own stack within its bounds, and anything
//! else through the kernel, which answers instead of faulting.

use std::ffi::{c_int, c_void};
use std::mem::MaybeUninit;

/// Below this distance from the main stack's end an address is on the main stack: the kernel keeps
/// at least 128 MiB free of other maps there.
const MAIN_STACK_GAP: u64 = 128 << 20;

unsafe extern "C" {
    /// The end of the main thread's stack as the loader found it; everything between the stack
    /// pointer and it is mapped.
    static __libc_stack_end: *const c_void;
}

/// The stack of one thread, up to its outermost frame.
#[derive(Clone, Copy, Debug)]
pub(crate) struct StackBounds {
    low: u64,
    high: u64,
}

impl StackBounds {
    /// The bounds of the calling thread's stack. Asked once per thread: glibc allocates in
    /// `pthread_getattr_np`, and reads /proc/self/maps for the main thread, which is why the main
    /// thread's bounds come from the loader.
    pub(crate) fn of_this_thread(sp: u64) -> Self {
        // SAFETY: the loader writes it once, before any code of this library runs.
        let main_end = unsafe { __libc_stack_end } as u64;
        if sp < main_end && main_end - sp < MAIN_STACK_GAP {
            return Self { low: main_end - MAIN_STACK_GAP, high: main_end };
        }
        attribute_bounds().unwrap_or(Self { low: 0, high: 0 })
    }

    /// Whether the stack pointer is on this stack. It is not on a signal's alternate stack or a
    /// fiber's.
    pub(crate) fn contains(self, sp: u64) -> bool {
        self.low <= sp && sp < self.high
    }

    /// The word at `address`, which a frame of this thread holds: at or above `sp`, the stack
    /// pointer of a live frame of the calling thread on this stack.
    #[inline]
    pub(crate) fn read(self, sp: u64, address: u64) -> Result<u64, ()> {
        let end = address.checked_add(8).ok_or(())?;
        if address < sp || end > self.high || !address.is_multiple_of(8) {
            return Err(());
        }
        // SAFETY: the address lies between the stack pointer and the end of this thread's stack,
        // which is mapped, and is aligned; the stack's words are plain numbers to us.
        Ok(unsafe { (address as *const u64).read_volatile() })
    }
}

fn attribute_bounds() -> Option<StackBounds> {
    let mut attributes = MaybeUninit::<libc::pthread_attr_t>::uninit();
    let (mut start, mut size) = (std::ptr::null_mut(), 0);
    // SAFETY: the attributes are initialised by the call that is checked, read, and destroyed.
    let failed: c_int = unsafe {
        let failed = libc::pthread_getattr_np(libc::pthread_self(), attributes.as_mut_ptr());
        if failed != 0 {
            return None;
        }
        let failed = libc::pthread_attr_getstack(attributes.as_ptr(), &raw mut start, &mut size);
        libc::pthread_attr_destroy(attributes.as_mut_ptr());
        failed
    };
    let low = start as u64;
    (failed == 0).then_some(StackBounds { low, high: low.saturating_add(size as u64) })
}

/// The word at an address of this process that may not be mapped; none where it is not, or where
/// the kernel refuses the call.
pub(crate) fn guarded_read(address: u64) -> Option<u64> {
    let mut word = 0u64;
    let local = libc::iovec { iov_base: (&raw mut word).cast(), iov_len: 8 };
    let remote = libc::iovec { iov_base: address as *mut c_void, iov_len: 8 };
    // SAFETY: the kernel writes at most eight bytes into `word` and checks the other address.
    let read = unsafe {
        libc::process_vm_readv(libc::getpid(), &raw const local, 1, &raw const remote, 1, 0)
    };
    (read == 8).then_some(word)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn here() -> u64 {
        let word = 0u64;
        &raw const word as u64
    }

    #[test]
    fn a_thread_knows_its_stack() {
        let sp = here();
        let bounds = StackBounds::of_this_thread(sp);
        assert!(bounds.contains(sp));
        assert!(bounds.read(sp, sp & !7).is_ok());
        assert!(bounds.read(sp, bounds.high - 8).is_ok(), "the last word is mapped");
        assert!(bounds.read(sp, bounds.high - 4).is_err());
        assert!(bounds.read(sp, 8).is_err());
        assert!(bounds.read(sp, u64::MAX - 3).is_err());
    }

    #[test]
    fn an_unmapped_address_is_no_fault() {
        let word = 7u64;
        assert_eq!(guarded_read(&raw const word as u64), Some(7));
        assert_eq!(guarded_read(16), None);
    }
}
