//! The registers that unwinding starts from.

use framehop::UnwindRegsNative;

/// Where this function's caller stands: the instruction pointer and what framehop follows.
///
/// Always inlined, so that the registers are those of a frame that is still alive while it is
/// unwound.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
pub(crate) fn here() -> (u64, UnwindRegsNative) {
    let (ip, sp, bp): (u64, u64, u64);
    // SAFETY: reads three registers, touches neither memory nor flags.
    unsafe {
        std::arch::asm!(
            "lea {ip}, [rip]",
            "mov {sp}, rsp",
            "mov {bp}, rbp",
            ip = out(reg) ip,
            sp = out(reg) sp,
            bp = out(reg) bp,
            options(nomem, nostack, preserves_flags),
        );
    }
    (ip, UnwindRegsNative::new(ip, sp, bp))
}

/// Where this function's caller stands: the instruction pointer and what framehop follows.
#[cfg(target_arch = "aarch64")]
#[inline(always)]
pub(crate) fn here() -> (u64, UnwindRegsNative) {
    let (ip, sp, fp, lr): (u64, u64, u64, u64);
    // SAFETY: reads four registers, touches neither memory nor flags.
    unsafe {
        std::arch::asm!(
            "adr {ip}, .",
            "mov {sp}, sp",
            "mov {fp}, x29",
            "mov {lr}, x30",
            ip = out(reg) ip,
            sp = out(reg) sp,
            fp = out(reg) fp,
            lr = out(reg) lr,
            options(nomem, nostack, preserves_flags),
        );
    }
    (ip, UnwindRegsNative::new(lr, sp, fp))
}
