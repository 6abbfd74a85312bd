//! A device that is full where memory is mapped: page tables need room too. What was taken for the request goes back,
//! the program hears "out of memory", and a smaller request is served.

mod support;

use support::{Fake, PAGE, Work};
use whyoom_pool::{DevicePool, Options, PoolError, Stream};

const STREAM: Stream = Stream(7);

fn pool(device: &Fake) -> DevicePool {
    DevicePool::new(0, Box::new(device.clone()), Options::default())
}

fn is_out_of_memory(result: &Result<u64, PoolError>) -> bool {
    matches!(result, Err(PoolError::OutOfMemory { .. }))
}

/// The device refuses from a point on until it is asked for little.
fn refused(refuse: impl Fn(&Fake, Option<u64>)) {
    let device = Fake::new(64 * PAGE);
    let pool = pool(&device);
    let kept = pool.alloc(PAGE, STREAM).expect("the device is empty");
    for room in [0, 1, 5, 15] {
        refuse(&device, Some(room));
        let large = pool.alloc(16 * PAGE, STREAM);
        assert!(is_out_of_memory(&large), "{large:?}");
        device.finish();
        assert_eq!(device.in_use(), PAGE, "everything was given back");
        assert_eq!(pool.statistics().reserved, PAGE);
        refuse(&device, None);
        let smaller = pool.alloc(8 * PAGE, STREAM).expect("what is smaller fits");
        pool.free(smaller, Some(STREAM)).expect("it is live");
        device.finish();
        pool.trim(PAGE);
    }
    pool.free(kept, Some(STREAM)).expect("it is live");
}

#[test]
fn a_mapping_is_refused() {
    refused(|device, left| device.state().mappings_left = left);
}

#[test]
fn access_is_refused() {
    refused(|device, left| device.state().accesses_left = left.map(|_| 0));
}

/// One refusal, and room after what lies idle was given back: the request is served.
#[test]
fn a_request_is_tried_once_more() {
    let device = Fake::new(64 * PAGE);
    let pool = pool(&device);
    let idle = pool.alloc(20 * PAGE, Stream(9)).expect("the device is empty");
    pool.free(idle, Some(Stream(9))).expect("it is live");
    device.finish();
    device.state().one_refusal = true;
    assert!(pool.alloc(50 * PAGE, STREAM).is_ok());
    assert_eq!(device.in_use(), 50 * PAGE);
}

/// The device is full, a block is waited for, and then its pages cannot be mapped elsewhere.
#[test]
fn a_mapping_is_refused_after_a_wait() {
    let device = Fake::new(8 * PAGE);
    let pool = pool(&device);
    let (user, other) = (Stream(2), Stream(3));
    let block = pool.alloc(6 * PAGE, STREAM).expect("the device is empty");
    pool.add_use(block, user).expect("it is live");
    device.launch(user, Work::Write { address: block, size: PAGE, tag: 1 });
    pool.free(block, Some(STREAM)).expect("it is live");
    device.state().mappings_left = Some(0);
    let refused = pool.alloc(6 * PAGE, other);
    assert!(is_out_of_memory(&refused), "{refused:?}");
    device.state().mappings_left = None;
    device.finish();
    let served = pool.alloc(6 * PAGE, other).expect("there is room again");
    device.launch(other, Work::Write { address: served, size: 6 * PAGE, tag: 2 });
    device.finish();
}
