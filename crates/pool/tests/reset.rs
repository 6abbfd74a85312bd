//! A device that is reset under the pool, and streams that are freed by others after they have gone.

mod support;

use support::{Fake, PAGE};
use whyoom_pool::{DevicePool, Options, PoolError, Stream};

fn pool(pages: u64) -> (Fake, DevicePool) {
    let device = Fake::new(pages * PAGE);
    let pool = DevicePool::new(0, Box::new(device.clone()), Options::default());
    (device, pool)
}

#[test]
fn after_a_reset_everything_begins_anew() {
    let (device, pool) = pool(8);
    let stream = Stream(10);
    let idle = pool.alloc(3 * PAGE, stream).expect("memory");
    let live = pool.alloc(PAGE, stream).expect("memory");
    pool.free(idle, Some(stream)).expect("it is live");
    pool.forget();
    assert_eq!(
        (device.in_use(), pool.statistics().reserved, pool.statistics().allocated),
        (0, 0, 0)
    );
    assert_eq!(pool.free(live, Some(stream)), Err(PoolError::Foreign { address: live }));
    // As many as the device has: nothing is counted twice, and nothing stale is handed out.
    let blocks: Vec<u64> = (0..8).map(|_| pool.alloc(PAGE, stream).expect("memory")).collect();
    assert_eq!(device.in_use(), 8 * PAGE);
    for block in blocks {
        pool.free(block, Some(stream)).expect("it is live");
    }
    pool.trim(0);
    assert_eq!(device.in_use(), 0);
}

/// More streams than the pool tells apart at a time, one after the other, whose blocks are freed by
/// another stream when they have gone.
#[test]
fn streams_that_go_leave_room_for_others() {
    let (device, pool) = pool(8);
    let other = Stream(5);
    for number in 0..3000 {
        let stream = Stream(1000 + number);
        let block = pool.alloc(600, stream).expect("a lane");
        pool.end_stream(stream);
        pool.free(block, Some(other)).expect("it is live");
        device.finish();
    }
    pool.trim(0);
    assert_eq!(pool.statistics().reserved, 0);
}
