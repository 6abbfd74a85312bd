//! A stream that uses a block and was never told of (`record_stream` is missing). The pool cannot know; in debug mode it
//! lets such a stream find old data, as other allocators do, where it would fault otherwise.

mod support;

use std::panic::{AssertUnwindSafe, catch_unwind};

use support::{Fake, PAGE, Work};
use whyoom_pool::{DevicePool, Options, Stream};

/// Whether the work of a stream that was not told of finds memory at its address.
fn is_mapped(debug: bool) -> bool {
    let device = Fake::new(8 * PAGE);
    let options = Options { debug, ..Options::default() };
    let pool = DevicePool::new(0, Box::new(device.clone()), options);
    let (own, untold, other) = (Stream(1), Stream(2), Stream(3));
    let block = pool.alloc(4 * PAGE, own).expect("the device is empty");
    device.launch(own, Work::Write { address: block, size: PAGE, tag: 7 });
    device.finish();
    pool.free(block, Some(own)).expect("it is live");
    // Another stream gets its pages, and asks once more when the old ones may go.
    let moved = pool.alloc(6 * PAGE, other).expect("idle pages are moved");
    device.finish();
    pool.free(moved, Some(other)).expect("it is live");
    pool.alloc(7 * PAGE, other).expect("it grows");
    device.finish();
    let late = || {
        device.launch(untold, Work::Write { address: block, size: PAGE, tag: 9 });
        device.finish();
    };
    catch_unwind(AssertUnwindSafe(late)).is_ok()
}

#[test]
fn debug_mode_keeps_old_mappings() {
    assert!(!is_mapped(false), "the lab sees what a device would fault at");
    assert!(is_mapped(true));
}
