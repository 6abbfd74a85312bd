//! Maps whose file may become shorter while they are used.
//!
//! The kernel answers an access behind the end of a mapped file with SIGBUS, and so it does where a disk or a
//! network file system fails. A program that cuts a file of its own recording would be ended by it, and
//! `whyoom run`, which watches the same file, with it. So a handler of our own stands before whatever handled
//! SIGBUS: where the address lies in one of our maps, the page is replaced by an empty one, and who wrote
//! there goes on; what was in the page is lost, and [`has_lost`] says so. Every other SIGBUS is passed on,
//! to the handler that was there before, with all that it would have seen, or to the kernel.
//!
//! There is no way without a handler: a file on a disk cannot be sealed against its own user, and a system
//! call for each event instead of a map would cost more than all the rest of recording it. A program that
//! sets a handler of its own later takes ours away, and is then as it would be without it.

use std::{
    cell::UnsafeCell,
    ffi::{c_int, c_void},
    mem, ptr,
    sync::atomic::{
        AtomicBool, AtomicUsize,
        Ordering::{Acquire, Relaxed, Release, SeqCst},
    },
};

use rustix::mm::{self, MapFlags, ProtFlags};

/// Maps at a time that are guarded; a thread that records has one. More are not.
const MOST: usize = 4096;
/// A place that is being filled in.
const BUSY: usize = 1;
/// `BUS_ADRERR`: there is nothing at the address.
const NOTHING_THERE: c_int = 2;

/// From where to where a map goes; free where it starts at 0.
struct Range {
    start: AtomicUsize,
    end: AtomicUsize,
}

static RANGES: [Range; MOST] =
    [const { Range { start: AtomicUsize::new(0), end: AtomicUsize::new(0) } }; MOST];
static LOST: AtomicBool = AtomicBool::new(false);
static INSTALLED: AtomicBool = AtomicBool::new(false);
static PAGE: AtomicUsize = AtomicUsize::new(0);
static BEFORE: Before = Before { action: UnsafeCell::new(None), known: AtomicBool::new(false) };

/// What handled the signal before.
struct Before {
    action: UnsafeCell<Option<libc::sigaction>>,
    known: AtomicBool,
}

// SAFETY: written once, before `known` is set, and only read after.
unsafe impl Sync for Before {}

/// A map that is guarded while this lives.
#[derive(Debug)]
pub(crate) struct Guard(Option<usize>);

impl Guard {
    /// Guards a map. It must be unmapped after this is dropped.
    pub(crate) fn new(start: usize, length: usize) -> Self {
        if !INSTALLED.swap(true, SeqCst) {
            install();
        }
        let free = |range: &Range| {
            range.start.compare_exchange(0, BUSY, Acquire, Relaxed).is_ok_and(|_| {
                range.end.store(start + length, Relaxed);
                range.start.store(start, Release);
                true
            })
        };
        Self(RANGES.iter().position(free))
    }
}

impl Drop for Guard {
    fn drop(&mut self) {
        if let Some(range) = self.0.and_then(|place| RANGES.get(place)) {
            range.start.store(0, Release);
        }
    }
}

/// Whether a page of a map was lost since [`forget_losses`].
pub(crate) fn has_lost() -> bool {
    LOST.load(Relaxed)
}

/// Begins anew, as a forked child does.
pub(crate) fn forget_losses() {
    LOST.store(false, Relaxed);
}

fn install() {
    PAGE.store(page_size(), Relaxed);
    // SAFETY: all of its fields are numbers or an optional function, for which zero is a value; the call
    // only reads what is there.
    let before = unsafe {
        let mut before: libc::sigaction = mem::zeroed();
        (libc::sigaction(libc::SIGBUS, ptr::null(), &raw mut before) == 0).then_some(before)
    };
    let Some(before) = before else { return };
    let handled = !matches!(before.sa_sigaction, libc::SIG_DFL | libc::SIG_IGN);
    // SAFETY: `install` is called once, and nobody reads before `known` is set.
    unsafe { *BEFORE.action.get() = Some(before) };
    BEFORE.known.store(true, Release);
    let mut ours = before;
    ours.sa_sigaction = on_bus_error as *const () as usize;
    ours.sa_flags &= !libc::SA_RESETHAND;
    ours.sa_flags |= libc::SA_SIGINFO;
    if !handled {
        ours.sa_flags |= libc::SA_ONSTACK;
    }
    // SAFETY: the handler makes system calls and reads atomics, and nothing else.
    unsafe { libc::sigaction(libc::SIGBUS, &raw const ours, ptr::null_mut()) };
}

unsafe extern "C" fn on_bus_error(signal: c_int, info: *mut libc::siginfo_t, context: *mut c_void) {
    // SAFETY: the kernel gives a handler with SA_SIGINFO what happened; a fault has an address.
    let (code, address) = unsafe { ((*info).si_code, (*info).si_addr() as usize) };
    if code == NOTHING_THERE && is_ours(address) && replace_page(address) {
        LOST.store(true, Relaxed);
        return;
    }
    let known = BEFORE.known.load(Acquire);
    // SAFETY: `known` is set after the last write.
    let before = if known { unsafe { *BEFORE.action.get() } } else { None };
    // SAFETY: the handler before ours gets what the kernel gave us.
    unsafe { pass_on(before, signal, info, context) };
}

fn is_ours(address: usize) -> bool {
    RANGES.iter().any(|range| {
        let start = range.start.load(Acquire);
        let end = range.end.load(Relaxed);
        // The second look sees to it that both are of one map.
        start > BUSY && (start..end).contains(&address) && range.start.load(Acquire) == start
    })
}

fn replace_page(address: usize) -> bool {
    let page = PAGE.load(Relaxed);
    let start = ptr::with_exposed_provenance_mut(address & !(page - 1));
    let (protection, flags) =
        (ProtFlags::READ | ProtFlags::WRITE, MapFlags::PRIVATE | MapFlags::FIXED);
    // SAFETY: the page lies in a map of ours, which its owner keeps mapped while it is guarded, and has no
    // contents any more. Whoever refers to it finds zeros, which are valid for all that lies in our maps.
    unsafe { mm::mmap_anonymous(start, page, protection, flags) }.is_ok()
}

/// Does what would have happened without our handler.
unsafe fn pass_on(
    before: Option<libc::sigaction>,
    signal: c_int,
    info: *mut libc::siginfo_t,
    context: *mut c_void,
) {
    type Plain = unsafe extern "C" fn(c_int);
    type Informed = unsafe extern "C" fn(c_int, *mut libc::siginfo_t, *mut c_void);
    // SAFETY: as in `on_bus_error`.
    let is_fault = unsafe { (*info).si_code } > 0;
    match before {
        // What is ignored is so only where somebody sent it: a fault ends the process all the same.
        Some(before) if before.sa_sigaction == libc::SIG_IGN && !is_fault => {}
        Some(before) if !matches!(before.sa_sigaction, libc::SIG_DFL | libc::SIG_IGN) => {
            if before.sa_flags & libc::SA_RESETHAND != 0 {
                // SAFETY: as `die`; what the handler before ours asked for.
                unsafe { set_default(signal) };
            }
            // SAFETY: whoever set the handler said by this flag which of the two kinds it is.
            unsafe {
                if before.sa_flags & libc::SA_SIGINFO != 0 {
                    let handler: Informed = mem::transmute(before.sa_sigaction);
                    handler(signal, info, context);
                } else {
                    let handler: Plain = mem::transmute(before.sa_sigaction);
                    handler(signal);
                }
            }
        }
        // SAFETY: what the kernel would have done.
        _ => unsafe {
            set_default(signal);
            // A fault comes again when this returns. What was sent, or tells of a memory failure elsewhere,
            // does not; it is blocked until then.
            if !is_fault || (*info).si_code != NOTHING_THERE {
                libc::raise(signal);
            }
        },
    }
}

unsafe fn set_default(signal: c_int) {
    // SAFETY: all of its fields are numbers or an optional function, for which zero is a value.
    unsafe {
        let mut default: libc::sigaction = mem::zeroed();
        default.sa_sigaction = libc::SIG_DFL;
        libc::sigaction(signal, &raw const default, ptr::null_mut());
    }
}

/// The C library's answer. rustix looks for it in what the kernel gave the process at its start, of which valgrind
/// hides a part, and faults there.
fn page_size() -> usize {
    // SAFETY: takes a number and answers with one.
    let size = unsafe { libc::sysconf(libc::_SC_PAGESIZE) };
    usize::try_from(size).unwrap_or(4096)
}

#[cfg(test)]
mod tests {
    use std::{
        fs::File,
        os::unix::{fs::FileExt, process::ExitStatusExt},
        process::Command,
    };

    use crate::mapped::Mapped;

    use super::*;

    fn file(length: u64) -> File {
        let file = tempfile::tempfile().unwrap();
        file.set_len(length).unwrap();
        file
    }

    #[test]
    fn a_page_that_is_gone_is_empty() {
        let page = page_size();
        let file = file(2 * page as u64);
        file.write_all_at(b"first", 0).unwrap();
        let map = Mapped::write(&file, 2 * page).unwrap();
        file.set_len(page as u64).unwrap();
        // SAFETY: within the map.
        unsafe {
            let second = map.start().add(page + 8);
            second.write_volatile(7);
            assert_eq!(second.read_volatile(), 7);
            assert_eq!(second.add(1).read_volatile(), 0);
            assert_eq!(map.start().read_volatile(), b'f');
        }
        assert!(has_lost());
    }

    /// Runs a test of this binary in a process of its own.
    fn ended_by(test: &str) -> Option<i32> {
        let mut command = Command::new(std::env::current_exe().unwrap());
        command.args(["--exact", "--ignored", &format!("guard::tests::{test}")]);
        command.output().unwrap().status.signal()
    }

    #[test]
    fn other_faults_end_the_process() {
        assert_eq!(ended_by("fault_of_anothers_map"), Some(libc::SIGBUS));
        assert_eq!(ended_by("sent_by_somebody"), Some(libc::SIGBUS));
        assert_eq!(ended_by("fault_after_the_map"), Some(libc::SIGBUS));
    }

    #[test]
    fn who_handled_it_before_still_does() {
        assert_eq!(ended_by("handled_before"), None);
    }

    fn guarded() -> Mapped {
        Mapped::read(&file(4096), 4096).unwrap()
    }

    fn touch_a_cut_map() {
        let file = file(4096);
        let protection = ProtFlags::READ;
        // SAFETY: a new map at a place of the kernel's choice, read once.
        unsafe {
            let map = mm::mmap(ptr::null_mut(), 4096, protection, MapFlags::SHARED, &file, 0);
            file.set_len(0).unwrap();
            map.unwrap().cast::<u8>().read_volatile();
        }
    }

    #[test]
    #[ignore = "ends its process"]
    fn fault_of_anothers_map() {
        let _ours = guarded();
        touch_a_cut_map();
    }

    #[test]
    #[ignore = "ends its process"]
    fn fault_after_the_map() {
        drop(guarded());
        touch_a_cut_map();
    }

    #[test]
    #[ignore = "ends its process"]
    fn sent_by_somebody() {
        // Rust's own handler would take the signal for a fault that comes again.
        // SAFETY: as without one.
        unsafe { set_default(libc::SIGBUS) };
        let _ours = guarded();
        // SAFETY: a signal to this thread.
        unsafe { libc::raise(libc::SIGBUS) };
    }

    #[test]
    #[ignore = "needs a process of its own"]
    fn handled_before() {
        static SEEN: AtomicUsize = AtomicUsize::new(0);
        extern "C" fn handler(_: c_int, info: *mut libc::siginfo_t, _: *mut c_void) {
            // SAFETY: the kernel's own.
            let address = unsafe { (*info).si_addr() as usize };
            SEEN.store(address, Relaxed);
            // So that the read that failed can be made again.
            replace_page(address);
        }
        // SAFETY: a handler of the right kind.
        unsafe {
            let mut action: libc::sigaction = mem::zeroed();
            action.sa_sigaction = handler as *const () as usize;
            action.sa_flags = libc::SA_SIGINFO;
            libc::sigaction(libc::SIGBUS, &raw const action, ptr::null_mut());
        }
        let _ours = guarded();
        touch_a_cut_map();
        assert_ne!(SEEN.load(Relaxed), 0);
    }
}
