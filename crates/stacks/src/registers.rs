//! The registers that unwinding starts from.

use framehop::UnwindRegsNative;

use crate::reads::Start;

/// Numbers that no register holds: no address has them.
const POISON: u64 = 0x5a5a_0000_0000_0000;

/// Where this function's caller stands: the instruction pointer and what framehop follows.
///
/// Always inlined, so that the registers are those of a frame that is still alive while it is
/// unwound.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
pub(crate) fn here() -> (u64, Start) {
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
    (ip, Start { sp, frame_pointer: bp, link: 0 })
}

/// Where this function's caller stands: the instruction pointer and what framehop follows.
#[cfg(target_arch = "aarch64")]
#[inline(always)]
pub(crate) fn here() -> (u64, Start) {
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
    (ip, Start { sp, frame_pointer: fp, link: lr })
}

/// The same for framehop.
#[cfg(target_arch = "x86_64")]
pub(crate) fn for_framehop(ip: u64, start: Start) -> UnwindRegsNative {
    UnwindRegsNative::new(ip, start.sp, start.frame_pointer)
}

/// The same for framehop.
#[cfg(target_arch = "aarch64")]
pub(crate) fn for_framehop(_ip: u64, start: Start) -> UnwindRegsNative {
    UnwindRegsNative::new(start.link, start.sp, start.frame_pointer)
}

/// The registers that frames are unwound with.
#[cfg(target_arch = "x86_64")]
pub(crate) fn registers(regs: &UnwindRegsNative) -> Start {
    Start { sp: regs.sp(), frame_pointer: regs.bp(), link: 0 }
}

/// The registers that frames are unwound with.
#[cfg(target_arch = "aarch64")]
pub(crate) fn registers(regs: &UnwindRegsNative) -> Start {
    Start { sp: regs.sp(), frame_pointer: regs.fp(), link: regs.lr() }
}

/// The same with another frame pointer, and nothing in registers that are not followed.
#[cfg(target_arch = "x86_64")]
pub(crate) fn without_frame_pointer(regs: &UnwindRegsNative) -> UnwindRegsNative {
    UnwindRegsNative::new(regs.ip(), regs.sp(), regs.bp() ^ POISON)
}

/// The same with another frame pointer.
#[cfg(target_arch = "aarch64")]
pub(crate) fn without_frame_pointer(regs: &UnwindRegsNative) -> UnwindRegsNative {
    UnwindRegsNative::new(regs.lr(), regs.sp(), regs.fp() ^ POISON)
}

/// The same with nothing in registers that are not followed.
#[cfg(target_arch = "x86_64")]
pub(crate) fn followed_alone(regs: &UnwindRegsNative) -> UnwindRegsNative {
    UnwindRegsNative::new(regs.ip(), regs.sp(), regs.bp())
}

/// The same: there are no others.
#[cfg(target_arch = "aarch64")]
pub(crate) fn followed_alone(regs: &UnwindRegsNative) -> UnwindRegsNative {
    *regs
}
