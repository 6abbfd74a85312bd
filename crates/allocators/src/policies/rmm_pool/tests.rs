use super::*;
use crate::SimulatedDevice;

const MIB: u64 = 1 << 20;

fn ask(size: u64, stream: u64) -> Request {
    Request { size, stream: StreamId(stream), pool: PoolId(0) }
}

fn started(initial: u64, maximum: Option<u64>, capacity: u64) -> (RmmPool, SimulatedDevice) {
    (RmmPool::new(Settings { initial, maximum }), SimulatedDevice::new(capacity))
}

#[test]
fn the_best_fit_is_taken_and_always_cut() {
    let (mut pool, mut device) = started(MIB, None, MIB);
    let sizes = [1024, 256, 512, 256, 768, 256];
    let blocks = sizes.map(|size| pool.alloc(ask(size, 0), &mut device).unwrap());
    for hole in [0, 2, 4] {
        pool.free(blocks[hole].block, &mut device);
    }
    let fit = pool.alloc(ask(257, 0), &mut device).unwrap();
    assert_eq!((fit.address, fit.size), (blocks[2].address, 512));
    let cut = pool.alloc(ask(1, 0), &mut device).unwrap();
    assert_eq!((cut.address, cut.size), (blocks[4].address, 256));
}

#[test]
fn a_stream_prefers_its_own_blocks_then_those_of_others() {
    let (mut pool, mut device) = started(0, None, 4 * MIB);
    let first = pool.alloc(ask(MIB, 1), &mut device).unwrap();
    let second = pool.alloc(ask(MIB, 2), &mut device).unwrap();
    pool.free(first.block, &mut device);
    pool.free(second.block, &mut device);
    let own = pool.alloc(ask(256, 2), &mut device).unwrap();
    assert_eq!(own.address, second.address);
    let others = pool.alloc(ask(MIB, 2), &mut device).unwrap();
    assert_eq!(others.address, first.address);
    assert_eq!(device.in_use(), 2 * MIB);
}

#[test]
fn neighbours_freed_by_two_streams_are_joined_when_nothing_else_fits() {
    let (mut pool, mut device) = started(2 * MIB, None, 2 * MIB);
    let first = pool.alloc(ask(MIB, 1), &mut device).unwrap();
    let second = pool.alloc(ask(MIB, 2), &mut device).unwrap();
    pool.free(first.block, &mut device);
    pool.free(second.block, &mut device);
    let whole = pool.alloc(ask(2 * MIB, 1), &mut device).unwrap();
    assert_eq!(whole.address, first.address);
    assert_eq!(device.calls(), 1, "the pool did not grow");
}

#[test]
fn the_pool_doubles_and_takes_less_where_the_device_refuses() {
    let (mut pool, mut device) = started(4 * MIB, None, 11 * MIB);
    let mut reserved = Vec::new();
    for _ in 0..11 {
        pool.alloc(ask(MIB, 0), &mut device).unwrap();
        reserved.push(device.in_use() / MIB);
    }
    assert_eq!(reserved, [4, 4, 4, 4, 8, 8, 8, 8, 10, 10, 11]);
    pool.alloc(ask(1, 0), &mut device).unwrap_err();
}

#[test]
fn under_a_maximum_the_pool_takes_half_of_what_is_left() {
    let (mut pool, mut device) = started(0, Some(8 * MIB), 100 * MIB);
    let first = pool.alloc(ask(MIB, 0), &mut device).unwrap();
    assert_eq!(device.in_use(), 4 * MIB);
    pool.free(first.block, &mut device);
    pool.alloc(ask(9 * MIB, 0), &mut device).unwrap_err();
    pool.alloc(ask(8 * MIB, 0), &mut device).unwrap();
    assert_eq!(device.in_use(), 8 * MIB, "the idle segment went back");
}
