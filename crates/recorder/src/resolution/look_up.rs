//! `dlsym` and `dlvsym`, hooked: who asks for a driver function gets its hook.
//!
//! What `RTLD_NEXT` and `RTLD_DEFAULT` mean depends on who calls, which the loader reads off the
//! return address. So both functions are naked: they ask `answer` and, where the name is not ours,
//! jump to the real function with the caller's own arguments and return address.

use std::{
    ffi::{CStr, c_char, c_void},
    ptr,
};

use super::{lookup_log, real};
use crate::{hook::Hook, hook_table};

/// What is to be returned, or nothing where the real function is to answer.
#[repr(C)]
struct Answer {
    /// Not 0: `address` is the answer.
    given: usize,
    address: *mut c_void,
}

const PASS: Answer = Answer { given: 0, address: ptr::null_mut() };

/// Answers for `dlsym` (no version) and `dlvsym`.
extern "C" fn answer(handle: *mut c_void, name: *const c_char, version: *const c_char) -> Answer {
    if !real::find_loader() {
        // Nothing to jump to. Not seen on glibc; "not found" is the only answer left.
        return Answer { given: 1, address: ptr::null_mut() };
    }
    if name.is_null() {
        return PASS;
    }
    // SAFETY: by the contract of both functions the name ends with a zero.
    let name = unsafe { CStr::from_ptr(name) };
    if !name.to_bytes().starts_with(b"cu") {
        return PASS;
    }
    match hook_table::by_symbol(name) {
        Some(hook) => Answer { given: 1, address: hooked(hook, handle, name, version) },
        None => PASS,
    }
}

/// What a look-up of a hooked name finds: the hook for the driver's own function, and for any other
/// library's function of that name (a test's stand-in, another tool) that function itself.
fn hooked(
    hook: &'static Hook,
    handle: *mut c_void,
    name: &CStr,
    version: *const c_char,
) -> *mut c_void {
    let special = handle == libc::RTLD_DEFAULT || handle == libc::RTLD_NEXT;
    let ask = |handle| match version.is_null() {
        true => real::symbol(handle, name),
        false => real::versioned_symbol(handle, name, version),
    };
    // Asked from here, `RTLD_NEXT` is everything global but us.
    let mut found = ask(if special { libc::RTLD_NEXT } else { handle });
    let ours = hook.wrapper.cast_mut();
    if found == ours || (special && found.is_null()) {
        found = real::driver_symbol(name);
    }
    if found.is_null() {
        // Asked of a library that has no such function, the loader leaves its error for `dlerror`.
        return real::symbol(real::loaded(c"libc.so.6"), name);
    }
    if found != real::driver_symbol(name) {
        return found;
    }
    hook.found(found);
    lookup_log::saw("dlsym", name, 0, Some(hook));
    ours
}

/// The body of a naked function: asks `answer` with the three arguments, and where that has none jumps
/// to the real function with all of them as they came. `dlsym` has no version: the register is cleared
/// for the question, and has its own value again for the jump.
#[cfg(target_arch = "x86_64")]
macro_rules! ask_or_jump {
    (without version, $real:path) => {
        ask_or_jump!($real, "xor edx, edx")
    };
    ($real:path $(, $clear_version:literal)?) => {
        std::arch::naked_asm!(
            "endbr64",
            "push rdi",
            "push rsi",
            "push rdx",
            $($clear_version,)?
            "call {answer}",
            "mov rcx, rdx",
            "pop rdx",
            "pop rsi",
            "pop rdi",
            "test rax, rax",
            "jz 2f",
            "mov rax, rcx",
            "ret",
            "2:",
            "jmp qword ptr [rip + {real}]",
            answer = sym answer,
            real = sym $real,
        )
    };
}

/// The same on another processor.
#[cfg(target_arch = "aarch64")]
macro_rules! ask_or_jump {
    (without version, $real:path) => {
        ask_or_jump!($real, "mov x2, #0")
    };
    ($real:path $(, $clear_version:literal)?) => {
        std::arch::naked_asm!(
            "stp x29, x30, [sp, #-48]!",
            "mov x29, sp",
            "stp x0, x1, [sp, #16]",
            "str x2, [sp, #32]",
            $($clear_version,)?
            "bl {answer}",
            "mov x9, x0",
            "mov x10, x1",
            "ldp x0, x1, [sp, #16]",
            "ldr x2, [sp, #32]",
            "ldp x29, x30, [sp], #48",
            "cbz x9, 2f",
            "mov x0, x10",
            "ret",
            "2:",
            "adrp x16, {real}",
            "ldr x16, [x16, #:lo12:{real}]",
            "br x16",
            answer = sym answer,
            real = sym $real,
        )
    };
}

/// The hook of `dlsym`.
///
/// # Safety
/// That of `dlsym`: the handle is valid and the name ends with a zero.
#[unsafe(naked)]
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn dlsym(handle: *mut c_void, name: *const c_char) -> *mut c_void {
    ask_or_jump!(without version, real::DLSYM)
}

/// The hook of `dlvsym`.
///
/// # Safety
/// That of `dlvsym`: the handle is valid, and name and version end with a zero.
#[unsafe(naked)]
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn dlvsym(
    handle: *mut c_void,
    name: *const c_char,
    version: *const c_char,
) -> *mut c_void {
    ask_or_jump!(real::DLVSYM)
}
