//! Once warm, a capture allocates nothing.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

use whyoom_stacks::{Capturer, MAX_FRAMES, Raw};

struct Counting;

thread_local! {
    static ALLOCATIONS: Cell<u64> = const { Cell::new(0) };
}

// SAFETY: passes everything on.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let _ = ALLOCATIONS.try_with(|count| count.set(count.get() + 1));
        // SAFETY: the caller's promise.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: the caller's promise.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static COUNTING: Counting = Counting;

fn deep(capturer: &Capturer, depth: usize, out: &mut [Raw; MAX_FRAMES]) -> usize {
    let count = if depth == 0 { capturer.capture(out) } else { deep(capturer, depth - 1, out) };
    std::hint::black_box(count)
}

#[test]
fn nothing_is_allocated_once_warm() {
    let capturer = Capturer::new();
    let capturer = &capturer;
    let body = || {
        let mut out = [Raw::Native(0); MAX_FRAMES];
        assert!(capturer.capture(&mut out) > 0);
        let before = ALLOCATIONS.get();
        for depth in 0..60 {
            let frames = deep(capturer, depth, &mut out);
            assert!(frames > depth, "{frames} frames under {depth} calls");
        }
        assert_eq!(ALLOCATIONS.get(), before);
    };
    body();
    std::thread::scope(|scope| {
        (0..4).for_each(|_| drop(scope.spawn(body)));
    });
}
