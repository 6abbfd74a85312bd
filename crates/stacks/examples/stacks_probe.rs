//! A library that programs of the tests load: it writes down the stack of its caller.

use std::ffi::{c_char, c_void};
use std::sync::LazyLock;

use whyoom_stacks::{Capturer, MAX_FRAMES, Raw};

static CAPTURER: LazyLock<Capturer> = LazyLock::new(Capturer::new);

/// One line a frame: `native FILE+OFFSET` or `python FILE:LINE FUNCTION`.
fn stack() -> String {
    let mut frames = [Raw::Native(0); MAX_FRAMES];
    let count = CAPTURER.capture(&mut frames);
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
