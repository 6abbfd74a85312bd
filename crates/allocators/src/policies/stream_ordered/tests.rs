use super::*;
use crate::SimulatedDevice;

const MIB: u64 = 1 << 20;

fn ask(size: u64, stream: u64) -> Request {
    Request { size, stream: StreamId(stream), pool: PoolId(0) }
}

#[test]
fn a_request_takes_a_chunk_and_is_cut_to_units() {
    let mut device = SimulatedDevice::new(64 * MIB);
    let mut policy = StreamOrdered::new(Settings::default());
    let first = policy.alloc(ask(1, 0), &mut device).unwrap();
    let second = policy.alloc(ask(1, 0), &mut device).unwrap();
    assert_eq!((first.size, second.address), (512, first.address + 512));
    assert_eq!(device.in_use(), 32 * MIB);
    policy.alloc(ask(33 * MIB, 0), &mut device).unwrap_err();
}

#[test]
fn idle_chunks_go_back_before_a_request_fails() {
    let mut device = SimulatedDevice::new(64 * MIB);
    let mut policy = StreamOrdered::new(Settings::default());
    let small = policy.alloc(ask(20 * MIB, 0), &mut device).unwrap();
    policy.free(small.block, &mut device);
    assert_eq!(device.in_use(), 32 * MIB, "kept");
    policy.alloc(ask(64 * MIB, 0), &mut device).unwrap();
    assert_eq!(device.in_use(), 64 * MIB);
}

#[test]
fn memory_above_the_threshold_goes_back() {
    let mut device = SimulatedDevice::new(128 * MIB);
    let settings = Settings { release_threshold: 32 * MIB, ..Settings::default() };
    let mut policy = StreamOrdered::new(settings);
    let blocks = [0, 1].map(|_| policy.alloc(ask(32 * MIB, 0), &mut device).unwrap());
    policy.free(blocks[0].block, &mut device);
    assert_eq!(device.in_use(), 32 * MIB);
    policy.free(blocks[1].block, &mut device);
    assert_eq!(device.in_use(), 32 * MIB, "that much is kept");
}

#[test]
fn another_stream_uses_a_freed_block_unless_that_is_switched_off() {
    for across_streams in [true, false] {
        let mut device = SimulatedDevice::new(128 * MIB);
        let settings = Settings { across_streams, ..Settings::default() };
        let mut policy = StreamOrdered::new(settings);
        let whole = policy.alloc(ask(32 * MIB, 1), &mut device).unwrap();
        policy.free(whole.block, &mut device);
        let other = policy.alloc(ask(MIB, 2), &mut device).unwrap();
        assert_eq!(other.address == whole.address, across_streams);
        let own = policy.alloc(ask(32 * MIB, 1), &mut device);
        let again = own.is_ok_and(|own| own.address == whole.address);
        assert_eq!(again, !across_streams, "it is left to its own stream");
    }
}
