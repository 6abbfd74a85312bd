use whyoom_trace::StreamId;

use super::*;
use crate::SimulatedDevice;

const MIB: u64 = 1 << 20;

fn ask(size: u64) -> Request {
    Request { size, stream: StreamId(0), pool: PoolId(0) }
}

#[test]
fn regions_double_from_two_mebibytes() {
    let mut device = SimulatedDevice::new(100 * MIB);
    let mut bfc = Bfc::new(Settings::default());
    let mut reserved = Vec::new();
    for _ in 0..8 {
        bfc.alloc(ask(2 * MIB), &mut device).unwrap();
        reserved.push(device.in_use() / MIB);
    }
    assert_eq!(reserved, [2, 6, 6, 14, 14, 14, 14, 30]);
    bfc.alloc(ask(17 * MIB), &mut device).unwrap();
    assert_eq!(device.in_use() / MIB, 62, "16 MiB were next, and doubled once");
}

#[test]
fn a_chunk_is_cut_if_half_of_it_would_be_lost() {
    let mut device = SimulatedDevice::new(100 * MIB);
    let mut bfc = Bfc::new(Settings::default());
    let whole = bfc.alloc(ask(MIB + 1), &mut device).unwrap();
    assert_eq!(whole.size, 2 * MIB);
    bfc.free(whole.block, &mut device);
    let half = bfc.alloc(ask(MIB), &mut device).unwrap();
    assert_eq!(half.size, MIB);
}

#[test]
fn a_large_chunk_is_cut_before_128_mebibytes_are_lost() {
    let mut device = SimulatedDevice::new(1024 * MIB);
    let mut bfc = Bfc::new(Settings { preallocate: true, fraction: 0.5 });
    let most = bfc.alloc(ask(384 * MIB), &mut device).unwrap();
    assert_eq!((most.size, device.in_use()), (384 * MIB, 512 * MIB));
    bfc.free(most.block, &mut device);
    let most = bfc.alloc(ask(384 * MIB + 1), &mut device).unwrap();
    assert_eq!(most.size, 512 * MIB);
    bfc.alloc(ask(1), &mut device).unwrap_err();
}

#[test]
fn where_the_device_refuses_less_is_taken() {
    let mut device = SimulatedDevice::new(10 * MIB);
    let mut bfc = Bfc::new(Settings::default());
    let other = device.alloc(MIB).unwrap();
    let block = bfc.alloc(ask(8 * MIB), &mut device).unwrap();
    assert_eq!(block.size, 8 * MIB);
    bfc.free(block.block, &mut device);
    device.free(other);
    bfc.alloc(ask(10 * MIB), &mut device).unwrap();
}
