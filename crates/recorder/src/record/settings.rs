//! The settings of the process, of those that decide about memory.

use std::{
    env,
    ffi::{c_char, c_void},
    os::unix::ffi::OsStringExt,
    sync::{
        OnceLock,
        atomic::{AtomicU32, Ordering::Relaxed},
    },
};

use whyoom_redact::{is_recorded, mask};
use whyoom_trace::Action;

use super::{
    clock,
    event::{NO_STACK, event},
    location::Location,
    names::Names,
    part::OwnPart,
    thread,
};

/// A variable of the environment: its name and its value.
pub(super) type Setting = (Vec<u8>, Vec<u8>);

/// Longer ones, and more of them, are not looked for.
const LONGEST: usize = 4096;
const MOST: usize = 16_384;
/// Those that were written when the process began to use the device.
static BEGUN_WITH: OnceLock<Vec<Setting>> = OnceLock::new();
/// How often they were compared with those of now.
static LOOKS: AtomicU32 = AtomicU32::new(0);
const MOST_LOOKS: u32 = 16;
/// Pages are at least as large: what does not cross a multiple of it is there or is not.
const PAGE: usize = 4096;

unsafe extern "C" {
    /// The C library's list of variables, which ends with a null.
    static environ: *const *const c_char;
}

/// Those that the process was started with. Called before the program's own code.
pub(super) fn told() -> Vec<Setting> {
    let all = env::vars_os().map(|(name, value)| (name.into_vec(), value.into_vec()));
    all.filter(|(name, _)| is_recorded(name)).collect()
}

/// Writes them, once: those of now, for programs set some before they use the device; those of the
/// start where these cannot be read.
pub(super) fn write(part: &'static OwnPart, names: &Names, started_with: &[Setting]) {
    let begun_with = current().unwrap_or_else(|| started_with.to_vec());
    for (name, value) in &begun_with {
        tell(part, names, name, value);
    }
    let _ = BEGUN_WITH.set(begun_with);
}

/// Writes those that the program has changed since it began to use the device, as `late_NAME`: who has read
/// them before does not know. Called when memory runs out, of which a loop may make thousands.
pub(super) fn write_changed(part: &'static OwnPart, names: &Names) {
    let Some(begun_with) = BEGUN_WITH.get().filter(|_| LOOKS.fetch_add(1, Relaxed) < MOST_LOOKS)
    else {
        return;
    };
    let now = current().unwrap_or_default();
    for (name, value) in now.iter().filter(|setting| !begun_with.contains(setting)) {
        tell(part, names, &[b"late_", name.as_slice()].concat(), value);
    }
}

fn tell(part: &'static OwnPart, names: &Names, name: &[u8], value: &[u8]) {
    let name = names.string(part, name);
    // Also one that is allowed may hold what it should not.
    let text = String::from_utf8_lossy(value);
    let masked = mask(&text);
    let value = if masked == text { value } else { masked.as_bytes() };
    let value = names.string(part, value);
    let action = Action::Setting { name, value };
    thread::write(part, &event(clock::now(), Location::NOWHERE, NO_STACK, 0, action));
}

/// Those of now. Another thread may be changing the list, and give back the memory that it was in:
/// it is read through the kernel, which answers instead of faulting.
fn current() -> Option<Vec<Setting>> {
    // SAFETY: a word of the C library's own, which is always there.
    let list = unsafe { (&raw const environ).read_volatile() } as usize;
    let mut told = Vec::new();
    for number in 0..MOST {
        let mut word = [0; size_of::<usize>()];
        copy(list.checked_add(number * word.len())?, &mut word)?;
        let entry = usize::from_ne_bytes(word);
        if entry == 0 {
            return Some(told);
        }
        told.extend(text_at(entry).and_then(setting).filter(|(name, _)| is_recorded(name)));
    }
    None
}

fn setting(text: Vec<u8>) -> Option<Setting> {
    let end = text.iter().position(|byte| *byte == b'=')?;
    Some((text[..end].to_vec(), text[end + 1..].to_vec()))
}

/// The text that ends with a zero.
fn text_at(address: usize) -> Option<Vec<u8>> {
    let mut text = Vec::new();
    while text.len() < LONGEST {
        let from = address.checked_add(text.len())?;
        let mut room = [0; 256];
        let piece = &mut room[..(PAGE - from % PAGE).min(256)];
        copy(from, piece)?;
        let end = piece.iter().position(|byte| *byte == 0);
        text.extend_from_slice(&piece[..end.unwrap_or(piece.len())]);
        if end.is_some() {
            return Some(text);
        }
    }
    None
}

/// Copies from an address that may not be there.
fn copy(address: usize, room: &mut [u8]) -> Option<()> {
    let local = libc::iovec { iov_base: room.as_mut_ptr().cast(), iov_len: room.len() };
    let remote = libc::iovec { iov_base: address as *mut c_void, iov_len: room.len() };
    // SAFETY: the kernel writes to the room only, and checks the other address.
    let read = unsafe { libc::process_vm_readv(libc::getpid(), &local, 1, &remote, 1, 0) };
    (usize::try_from(read) == Ok(room.len())).then_some(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_program_sets_later_is_told() {
        let long = "x".repeat(3000);
        // SAFETY: a test is a process of its own, and this is its only thread that asks.
        unsafe { env::set_var("CUDA_DEVICE_ORDER", &long) };
        let mut found = current().expect("this process may read itself");
        found.retain(|(name, _)| name == b"CUDA_DEVICE_ORDER");
        assert_eq!(found, [(b"CUDA_DEVICE_ORDER".to_vec(), long.into_bytes())]);
        assert_eq!(text_at(16), None, "nothing is there");
    }
}
