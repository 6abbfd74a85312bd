//! A library that programs of the tests load: it writes down the stack of its caller.

use std::ffi::{c_char, c_void};
use std::sync::LazyLock;

use whyoom_stacks::{Capturer, Fingerprint, MAX_FRAMES, Raw};

static CAPTURER: LazyLock<Capturer> = LazyLock::new(Capturer::new);

/// The fingerprint of the caller's stack: as it is learned, then as it is known. Both must be what the frames
/// give.
fn fingerprints() -> [Option<Fingerprint>; 2] {
    std::array::from_fn(|_| CAPTURER.fingerprint())
}

/// One line a frame: `native FILE+OFFSET` or `python FILE:LINE FUNCTION`.
fn stack() -> String {
    let mut frames = [Raw::Native(0); MAX_FRAMES];
    let prints = fingerprints();
    let count = CAPTURER.capture(&mut frames);
    let own = Fingerprint::of(&frames[..count]);
    if prints.into_iter().flatten().any(|print| print != own) {
        return format!("fingerprints {prints:?}, of the frames {own:?}");
    }
    let modules = CAPTURER.modules().unwrap_or_default();
    let line = |frame: &Raw| match *frame {
        Raw::Native(address) => {
            let module = modules.iter().find(|module| module.contains(address));
            module.map_or("native ?\n".to_owned(), |module| {
                let file = module.path.file_name().unwrap_or_default().display();
                format!("native {file}+{:#x}\n", address - module.bias)
            })
        }
        Raw::Python { code, position } => match CAPTURER.python_frame(code, position) {
            Some(frame) => format!("python {}:{} {}\n", frame.file, frame.line, frame.function),
            None => "python ?\n".to_owned(),
        },
    };
    frames[..count].iter().map(line).collect()
}

/// Writes the caller's stack as text that ends with 0; returns its length.
///
/// # Safety
/// `out` has room for `room` bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn probe_stack(out: *mut c_char, room: usize) -> usize {
    let text = stack();
    let length = text.len().min(room.saturating_sub(1));
    // SAFETY: the caller's promise.
    unsafe {
        std::ptr::copy_nonoverlapping(text.as_ptr(), out.cast(), length);
        *out.add(length) = 0;
    }
    length
}

/// Writes the stack of a thread that knows nothing of Python, while the caller waits.
///
/// # Safety
/// `out` has room for `room` bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn probe_stack_of_thread(out: *mut c_char, room: usize) -> usize {
    let out = out as usize;
    // SAFETY: the caller's promise, and the caller waits.
    let thread = std::thread::spawn(move || unsafe { probe_stack(out as *mut c_char, room) });
    thread.join().unwrap_or_default()
}

/// Calls back, as a library does that takes a function from Python.
///
/// # Safety
/// `function` may be called with null.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn probe_call(function: unsafe extern "C" fn(*mut c_void) -> usize) -> usize {
    // SAFETY: the caller's promise.
    std::hint::black_box(unsafe { function(std::ptr::null_mut()) })
}

/// Whether the stack of the caller has a fingerprint.
#[unsafe(no_mangle)]
pub extern "C" fn probe_is_known() -> bool {
    fingerprints().iter().all(Option::is_some)
}

/// How long one fingerprint takes, in nanoseconds, over `rounds`.
#[unsafe(no_mangle)]
pub extern "C" fn probe_fingerprint_cost(rounds: u32) -> f64 {
    let start = std::time::Instant::now();
    for _ in 0..rounds {
        std::hint::black_box(CAPTURER.fingerprint());
    }
    start.elapsed().as_nanos() as f64 / f64::from(rounds.max(1))
}

/// How long one capture takes, in nanoseconds, over `rounds` captures; frames in `frames`.
///
/// # Safety
/// `frames` can be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn probe_cost(rounds: u32, frames: *mut u32) -> f64 {
    let mut out = [Raw::Native(0); MAX_FRAMES];
    let start = std::time::Instant::now();
    let mut count = 0;
    for _ in 0..rounds {
        count = CAPTURER.capture(&mut out);
    }
    // SAFETY: the caller's promise.
    unsafe { *frames = count as u32 };
    start.elapsed().as_nanos() as f64 / f64::from(rounds.max(1))
}
