//! One set of tests for every resource: the pool, each adaptor on it, and all of them on top of each other.

mod support;

use std::sync::Mutex;

use support::Fake;
use whyoom_pool::{
    DevicePool, Options, Stream,
    resource::{Limit, Log, Resource, Statistics},
};
use whyoom_trace::Address;

const GIB: u64 = 1 << 30;
const STREAM: Stream = Stream(10);

fn pool() -> DevicePool {
    DevicePool::new(0, Box::new(Fake::new(4 * GIB)), Options::default())
}

/// Runs a test on each resource, and looks whether everything came back to the pool.
fn on_each(test: impl Fn(&(dyn Resource + Sync))) {
    let pool = pool();
    let checked = |resource: &(dyn Resource + Sync)| {
        test(resource);
        pool.trim(0);
        assert_eq!(pool.statistics().reserved, 0);
    };
    checked(&pool);
    checked(&Limit::new(&pool, 3 * GIB));
    checked(&Statistics::new(&pool));
    checked(&Log::new(&pool, Vec::new()));
    let stacked = Statistics::new(Log::new(Limit::new(&pool, 3 * GIB), Vec::new()));
    checked(&stacked);
    assert_eq!(stacked.bytes().current, 0);
    assert_eq!(stacked.below().below().allocated(), 0);
}

#[test]
fn every_size() {
    on_each(|resource| {
        for size in [4, 511, 512, 1 << 10, 1 << 20, (1 << 20) + 1, 3 << 20, GIB] {
            let address = resource.allocate(size, STREAM).unwrap();
            assert_eq!(address.0 % 512, 0, "{size}");
            resource.deallocate(address, size, STREAM).unwrap();
        }
    });
}

#[test]
fn nothing_is_nowhere() {
    on_each(|resource| {
        assert_eq!(resource.allocate(0, STREAM), Ok(Address(0)));
        resource.deallocate(Address(0), 0, STREAM).unwrap();
    });
}

#[test]
fn a_pebibyte_is_refused() {
    on_each(|resource| {
        let error = resource.allocate(1 << 50, STREAM).unwrap_err();
        assert!(error.is_out_of_memory() && !error.to_string().is_empty());
        assert!(resource.allocate(u64::MAX, STREAM).unwrap_err().is_out_of_memory());
    });
}

#[test]
fn what_is_no_block_is_refused() {
    on_each(|resource| {
        let address = resource.allocate(4096, STREAM).unwrap();
        assert!(resource.deallocate(Address(0x1000), 4096, STREAM).is_err());
        assert!(resource.deallocate(Address(address.0 + 512), 4096, STREAM).is_err());
        resource.deallocate(address, 4096, STREAM).unwrap();
        assert!(resource.deallocate(address, 4096, STREAM).is_err());
    });
}

#[test]
fn the_threads_own_default_stream_is_refused() {
    on_each(|resource| {
        let error = resource.allocate(4096, Stream::PER_THREAD).unwrap_err();
        assert!(!error.is_out_of_memory());
    });
}

/// Threads on streams of their own allocate a little more often than they free; no two live blocks overlap.
#[test]
fn threads_mix_allocations_and_frees() {
    on_each(|resource| {
        let all = Mutex::new(Vec::new());
        std::thread::scope(|scope| {
            for thread in 0..4_u64 {
                let all = &all;
                scope.spawn(move || all.lock().unwrap().extend(mixed(resource, thread)));
            }
        });
        let mut all = all.into_inner().unwrap();
        all.sort_by_key(|block: &Block| block.address);
        assert!(all.windows(2).all(|two| two[0].address.0 + two[0].size <= two[1].address.0));
        for Block { address, size, stream } in all {
            resource.deallocate(address, size, stream).unwrap();
        }
    });
}

struct Block {
    address: Address,
    size: u64,
    stream: Stream,
}

fn mixed(resource: &(dyn Resource + Sync), thread: u64) -> Vec<Block> {
    let stream = Stream(20 + thread);
    let mut live: Vec<Block> = Vec::new();
    let mut random = 0x9E37_79B9_7F4A_7C15 ^ thread;
    for _ in 0..400 {
        random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(thread + 1);
        let (choice, draw) = ((random >> 33) % 100, random >> 40);
        if live.is_empty() || choice < 53 {
            let size = 1 + draw % (5 << 20);
            let address = resource.allocate(size, stream).expect("there is room");
            live.push(Block { address, size, stream });
        } else {
            let Block { address, size, stream } = live.swap_remove(draw as usize % live.len());
            resource.deallocate(address, size, stream).expect("it lives");
        }
    }
    live
}
