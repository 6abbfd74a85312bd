//! Native stacks: the right frames, on any stack, and libraries that come and go.
#![allow(clippy::disallowed_methods, reason = "a test's own files")]

use std::ffi::{CString, c_int, c_void};
use std::sync::atomic::{AtomicUsize, Ordering};

use std::collections::HashMap;

use whyoom_stacks::{Capturer, Fingerprint, MAX_FRAMES, Raw, code_may_go};

fn addresses(capturer: &Capturer) -> Vec<u64> {
    let mut out = [Raw::Native(0); MAX_FRAMES];
    let count = capturer.capture(&mut out);
    let address = |frame: &Raw| match frame {
        Raw::Native(address) => *address,
        Raw::Python { .. } => 0,
    };
    out[..count].iter().map(address).collect()
}

unsafe extern "C" {
    fn _Unwind_Backtrace(
        each: unsafe extern "C" fn(*mut c_void, *mut c_void) -> c_int,
        into: *mut c_void,
    ) -> c_int;
    fn _Unwind_GetIP(context: *mut c_void) -> usize;
}

unsafe extern "C" fn collect(context: *mut c_void, into: *mut c_void) -> c_int {
    // SAFETY: the unwinder passes its context and our list.
    unsafe { (*into.cast::<Vec<u64>>()).push((_Unwind_GetIP(context) as u64).wrapping_sub(1)) };
    0
}

#[inline(never)]
fn compare(capturer: &Capturer) {
    let ours = addresses(capturer);
    let mut theirs = Vec::<u64>::new();
    // SAFETY: the callback casts back to what is passed.
    unsafe { _Unwind_Backtrace(collect, (&raw mut theirs).cast()) };
    // The frames of the two calls themselves differ; from the caller of this function on, none may.
    let tail = |list: &[u64], start: usize| list[start..].to_vec();
    let ours = tail(&ours, 3.min(ours.len()));
    let place = theirs.iter().position(|address| Some(address) == ours.first());
    let theirs = tail(&theirs, place.expect("a common frame"));
    let length = ours.len().min(theirs.len());
    assert!(length > 5, "{ours:x?} {theirs:x?}");
    assert_eq!(ours[..length], theirs[..length]);
    assert!(theirs.len() - length <= 1, "libgcc may give the end of the stack a frame of its own");
}

#[test]
fn the_frames_are_those_of_libgcc() {
    let capturer = Capturer::new();
    compare(&capturer);
    let mut numbers = [3, 1, 2];
    numbers.sort_by(|a, b| {
        compare(&capturer);
        a.cmp(b)
    });
    std::thread::scope(|scope| {
        scope.spawn(|| compare(&capturer));
    });
}

static CAPTURER: std::sync::LazyLock<Capturer> = std::sync::LazyLock::new(Capturer::new);
static SEEN: AtomicUsize = AtomicUsize::new(0);

extern "C" fn on_signal(_: c_int) {
    SEEN.store(addresses(&CAPTURER).len(), Ordering::SeqCst);
}

#[test]
fn a_stack_that_is_not_the_threads_is_read_with_care() {
    let mut room = vec![0u8; 256 << 10];
    addresses(&CAPTURER);
    // SAFETY: the room outlives the signal, which is raised here and handled before the call ends.
    unsafe {
        let stack =
            libc::stack_t { ss_sp: room.as_mut_ptr().cast(), ss_flags: 0, ss_size: room.len() };
        assert_eq!(libc::sigaltstack(&raw const stack, std::ptr::null_mut()), 0);
        let mut action: libc::sigaction = std::mem::zeroed();
        action.sa_sigaction = on_signal as extern "C" fn(c_int) as usize;
        action.sa_flags = libc::SA_ONSTACK;
        libc::sigaction(libc::SIGUSR2, &raw const action, std::ptr::null_mut());
        libc::raise(libc::SIGUSR2);
        let off = libc::stack_t { ss_flags: libc::SS_DISABLE, ..stack };
        libc::sigaltstack(&raw const off, std::ptr::null_mut());
    }
    assert!(SEEN.load(Ordering::SeqCst) >= 2, "at least the handler and what called it");
}

#[test]
fn a_library_that_comes_and_goes_is_noticed() {
    let probe = std::env::current_exe().expect("this test");
    let probe = probe.parent().and_then(|deps| deps.parent()).expect("its folder");
    let path = probe.join("examples/libstacks_probe.so");
    let capturer = Capturer::new();
    let known = |capturer: &Capturer| {
        let modules = capturer.modules().expect("nobody else looks");
        modules.iter().any(|module| module.path.ends_with("libstacks_probe.so"))
    };
    assert!(!known(&capturer));
    let before = capturer.generation();
    let name = CString::new(path.to_string_lossy().into_owned()).expect("a path");
    // SAFETY: loads a library of this package.
    let library = unsafe { libc::dlopen(name.as_ptr(), libc::RTLD_NOW) };
    assert!(!library.is_null(), "build the examples first: cargo build --examples");
    capturer.refresh();
    assert!(known(&capturer) && capturer.generation() > before);
    // SAFETY: nothing of the library is in use.
    unsafe { libc::dlclose(library) };
    capturer.refresh();
    // glibc keeps a library whose thread-locals have destructors; then it is still loaded.
    let loaded = std::fs::read_to_string("/proc/self/maps").expect("own maps");
    assert_eq!(known(&capturer), loaded.contains("libstacks_probe.so"));
}

unsafe extern "C" {
    fn whyoom_test_by_frame_pointer(
        room: u64,
        argument: *mut c_void,
        body: extern "C" fn(*mut c_void),
    );
}

// A frame whose size the caller chooses, so that it can be unwound only by its frame pointer.
#[cfg(target_arch = "x86_64")]
std::arch::global_asm!(
    ".globl whyoom_test_by_frame_pointer",
    ".type whyoom_test_by_frame_pointer, @function",
    "whyoom_test_by_frame_pointer:",
    ".cfi_startproc",
    "push rbp",
    ".cfi_def_cfa_offset 16",
    ".cfi_offset rbp, -16",
    "mov rbp, rsp",
    ".cfi_def_cfa_register rbp",
    "sub rsp, rdi",
    "mov rdi, rsi",
    "call rdx",
    "mov rsp, rbp",
    "pop rbp",
    ".cfi_def_cfa rsp, 8",
    "ret",
    ".cfi_endproc",
    ".size whyoom_test_by_frame_pointer, .-whyoom_test_by_frame_pointer",
);

/// A way through functions, and what is found at its end.
struct Way<'a> {
    capturer: &'a Capturer,
    left: &'a [u8],
    found: Option<Fingerprint>,
}

#[inline(never)]
fn small(way: &mut Way<'_>) {
    let room = std::hint::black_box([1_u64; 2]);
    onwards(way);
    std::hint::black_box(room);
}

#[inline(never)]
fn large(way: &mut Way<'_>) {
    let room = std::hint::black_box([1_u64; 20]);
    onwards(way);
    std::hint::black_box(room);
}

/// Two calls with the same frame: only the return address tells them apart.
#[inline(never)]
fn twice(way: &mut Way<'_>, second: bool) {
    if second {
        onwards(way);
        std::hint::black_box(2);
    } else {
        onwards(way);
        std::hint::black_box(1);
    }
}

extern "C" fn go_on(way: *mut c_void) {
    // SAFETY: `onwards` passes its way, and waits.
    onwards(unsafe { &mut *way.cast::<Way<'_>>() });
}

#[inline(never)]
fn onwards(way: &mut Way<'_>) {
    let Some((step, left)) = way.left.split_first() else {
        way.found = way.capturer.fingerprint();
        return;
    };
    way.left = left;
    match step % 6 {
        0 => small(way),
        1 => large(way),
        2 | 3 => twice(way, step % 6 == 3),
        // Two sizes of one frame: where it lies differs, and its return address does not.
        #[cfg(target_arch = "x86_64")]
        room => {
            let room = if room == 4 { 64 } else { 256 };
            // SAFETY: the function passes its argument on, and the room is a multiple of 16.
            unsafe { whyoom_test_by_frame_pointer(room, std::ptr::from_mut(way).cast(), go_on) };
        }
        #[cfg(not(target_arch = "x86_64"))]
        _ => small(way),
    }
    std::hint::black_box(way.left.len());
}

/// Numbers that look random and are the same in each run.
fn numbers(mut state: u64) -> impl Iterator<Item = u8> {
    std::iter::repeat_with(move || {
        state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 56) as u8
    })
}

#[test]
fn a_fingerprint_is_that_of_one_way_alone() {
    let capturer = Capturer::new();
    let mut by_way: HashMap<Vec<u8>, Fingerprint> = HashMap::new();
    let mut by_print: HashMap<Fingerprint, Vec<u8>> = HashMap::new();
    let mut numbers = numbers(7);
    for round in 0..20_000 {
        let length = usize::from(numbers.next().expect("a number") % 6);
        let steps: Vec<u8> = numbers.by_ref().take(length).map(|step| step % 6).collect();
        let mut way = Way { capturer: &capturer, left: &steps, found: None };
        onwards(&mut way);
        let found = way.found.expect("a stack of this program");
        let steps: Vec<u8> = steps.iter().map(|step| *step.min(&4)).collect();
        assert_eq!(*by_way.entry(steps.clone()).or_insert(found), found, "{steps:?}");
        assert_eq!(*by_print.entry(found).or_insert(steps.clone()), steps, "{found:?}");
        if round % 5000 == 0 {
            code_may_go();
        }
    }
    assert!(by_way.len() > 2_000, "{} ways", by_way.len());
}
