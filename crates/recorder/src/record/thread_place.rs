//! A place of each thread's own, found in two instructions.
//!
//! A `thread_local!` of a shared library is found by a call of the loader's, several times in each recorded call: as
//! long as all else that a call does. A library that is loaded with the program may have a fixed place beside each
//! thread's stack, but Rust has no way to ask for one ("initial-exec").

use std::arch::{asm, global_asm};

/// How much there is, all zeros at a thread's start.
pub(super) const BYTES: usize = 128;

global_asm!(
    ".pushsection .tbss.whyoom_recorder_thread, \"awT\", @nobits",
    ".hidden whyoom_recorder_thread",
    ".globl whyoom_recorder_thread",
    ".type whyoom_recorder_thread, @tls_object",
    ".size whyoom_recorder_thread, {bytes}",
    ".p2align 4",
    "whyoom_recorder_thread:",
    ".zero {bytes}",
    ".popsection",
    bytes = const BYTES,
);

/// Where it is.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
pub(super) fn address() -> *mut u8 {
    let address: *mut u8;
    // SAFETY: reads the distance of the place, which the loader wrote before any code ran, and the thread's own
    // base, which the C library keeps at offset 0 of it.
    unsafe {
        asm!(
            "mov {address}, qword ptr [rip + whyoom_recorder_thread@GOTTPOFF]",
            "add {address}, qword ptr fs:[0]",
            address = out(reg) address,
            options(pure, readonly, nostack),
        );
    }
    address
}

/// Where it is.
#[cfg(target_arch = "aarch64")]
#[inline(always)]
pub(super) fn address() -> *mut u8 {
    let address: *mut u8;
    // SAFETY: reads the distance of the place, which the loader wrote before any code ran, and the thread's own
    // base.
    unsafe {
        asm!(
            "adrp {address}, :gottprel:whyoom_recorder_thread",
            "ldr {address}, [{address}, :gottprel_lo12:whyoom_recorder_thread]",
            "mrs {base}, tpidr_el0",
            "add {address}, {address}, {base}",
            address = out(reg) address,
            base = out(reg) _,
            options(pure, readonly, nostack),
        );
    }
    address
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_thread_has_its_own_and_it_begins_with_zeros() {
        let fill = || {
            // SAFETY: the place of this thread, which no test fills otherwise.
            let place = unsafe { std::slice::from_raw_parts_mut(address(), BYTES) };
            let before = place.to_vec();
            place.fill(7);
            (place.as_ptr() as usize, before)
        };
        let threads: Vec<_> = (0..3).map(|_| std::thread::spawn(fill).join()).collect();
        for thread in threads {
            assert_eq!(thread.expect("ends").1, [0; BYTES]);
        }
        let other = std::thread::spawn(fill);
        assert_ne!(other.join().expect("ends").0, address() as usize);
        assert!((address() as usize).is_multiple_of(16));
    }
}
