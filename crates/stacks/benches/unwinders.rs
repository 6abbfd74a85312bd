//! What a frame costs: this crate (framehop and its rule caches), libgcc's `_Unwind_Backtrace`,
//! and following frame pointers. `cargo bench -p whyoom-stacks`.

use std::ffi::{c_int, c_void};
use std::hint::black_box;
use std::time::Instant;

use whyoom_stacks::{Capturer, MAX_FRAMES, Raw};

const ROUNDS: u32 = 2000;
const SAMPLES: usize = 30;

unsafe extern "C" {
    fn _Unwind_Backtrace(
        each: unsafe extern "C" fn(*mut c_void, *mut c_void) -> c_int,
        into: *mut c_void,
    ) -> c_int;
    fn _Unwind_GetIP(context: *mut c_void) -> usize;
    fn whyoom_bench_deep(depth: u64, body: extern "C" fn(usize));
}

// Frames with frame pointers, which rustc does not make: each frame pushes rbp.
std::arch::global_asm!(
    ".globl whyoom_bench_deep",
    ".type whyoom_bench_deep, @function",
    "whyoom_bench_deep:",
    ".cfi_startproc",
    "push rbp",
    ".cfi_def_cfa_offset 16",
    ".cfi_offset rbp, -16",
    "mov rbp, rsp",
    ".cfi_def_cfa_register rbp",
    "test rdi, rdi",
    "jz 2f",
    "dec rdi",
    "call whyoom_bench_deep",
    "jmp 3f",
    "2:",
    "mov rdi, rbp",
    "call rsi",
    "3:",
    "pop rbp",
    ".cfi_def_cfa rsp, 8",
    "ret",
    ".cfi_endproc",
    ".size whyoom_bench_deep, .-whyoom_bench_deep",
);

/// Functions that call each other, compiled as usual: every frame has its own return address, and
/// no frame pointer.
macro_rules! chain {
    ($body:ident: $first:ident $($rest:ident)*) => {
        chain!(@ $body $first $($rest)*);
    };
    (@ $body:ident $this:ident $next:ident $($rest:ident)*) => {
        #[inline(never)]
        fn $this(number: u64) -> u64 {
            let room = black_box([number; 5]);
            $next(room[1] + 1) + black_box(room)[2]
        }
        chain!(@ $body $next $($rest)*);
    };
    (@ $body:ident $this:ident) => {
        #[inline(never)]
        fn $this(number: u64) -> u64 {
            $body(0);
            black_box(number)
        }
    };
}

chain!(measure: a0 a1 a2 a3 a4 a5 a6 a7 a8 a9 b0 b1 b2 b3 b4 b5 b6 b7 b8 b9 c0 c1 c2 c3 c4 c5 c6 c7
    c8 c9 d0 d1 d2 d3 d4 d5 d6 d7 d8 d9 e0 e1 e2 e3 e4 e5 e6 e7 e8 e9 f0 f1 f2 f3 f4 f5 f6 f7 f8 f9);

struct Counter {
    addresses: [usize; MAX_FRAMES],
    count: usize,
}

unsafe extern "C" fn count(context: *mut c_void, into: *mut c_void) -> c_int {
    // SAFETY: the unwinder passes its context and our counter.
    unsafe {
        let counter = &mut *into.cast::<Counter>();
        if counter.count == MAX_FRAMES {
            return 4;
        }
        counter.addresses[counter.count] = _Unwind_GetIP(context);
        counter.count += 1;
    }
    0
}

fn libgcc() -> usize {
    let mut counter = Counter { addresses: [0; MAX_FRAMES], count: 0 };
    // SAFETY: the callback casts back to what is passed.
    unsafe { _Unwind_Backtrace(count, (&raw mut counter).cast()) };
    black_box(counter.addresses);
    counter.count
}

/// Follows saved frame pointers from one on, for as long as they point further up this stack.
#[inline(never)]
fn frame_pointers(mut pointer: usize) -> usize {
    let here = &raw const pointer as usize;
    let mut addresses = [0; MAX_FRAMES];
    let (mut count, mut low) = (0, here);
    while count < MAX_FRAMES
        && pointer > low
        && pointer - here < 1 << 16
        && pointer.is_multiple_of(8)
    {
        // SAFETY: within 64 KiB above a live frame, which the benchmark's stacks have.
        let [next, address] = unsafe { *(pointer as *const [usize; 2]) };
        addresses[count] = address;
        count += 1;
        (low, pointer) = (pointer, next);
    }
    black_box(addresses);
    count
}

/// The least of the samples: others use the machine too, and they only ever add.
fn least(mut body: impl FnMut() -> usize) -> (f64, usize) {
    let mut frames = body();
    let samples: Vec<f64> = (0..SAMPLES)
        .map(|_| {
            let start = Instant::now();
            for _ in 0..ROUNDS {
                frames = black_box(body());
            }
            start.elapsed().as_nanos() as f64 / f64::from(ROUNDS)
        })
        .collect();
    (samples.into_iter().fold(f64::INFINITY, f64::min), frames)
}

fn row(method: &str, (nanoseconds, frames): (f64, usize)) {
    let each = nanoseconds / frames.max(1) as f64;
    println!("  {method:<28} {frames:>6} {nanoseconds:>12.0} {each:>12.1}");
}

/// Measures from here; the frame pointer of the caller is 0 where it has none.
extern "C" fn measure(frame_pointer: usize) {
    let first = Instant::now();
    let capturer = Capturer::new();
    let setup = first.elapsed();
    let mut out = [Raw::Native(0); MAX_FRAMES];
    let first = Instant::now();
    let frames = capturer.capture(&mut out);
    let cold = first.elapsed();
    println!("  {:<28} {:>6} {:>12} {:>12}", "", "frames", "ns", "ns a frame");
    row("framehop, this crate", least(|| capturer.capture(&mut out)));
    row("framehop, first capture", (cold.as_nanos() as f64, frames));
    row("_Unwind_Backtrace", least(libgcc));
    row("frame pointers", least(|| frame_pointers(black_box(frame_pointer))));
    println!("  (making the capturer: {} us)", setup.as_micros());
}

fn main() {
    println!("Compiled as usual, 60 functions:");
    a0(1);
    println!("With frame pointers, 60 frames of one function:");
    // SAFETY: calls `measure` under as many frames.
    unsafe { whyoom_bench_deep(59, measure) };
}
