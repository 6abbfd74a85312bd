//! What the live pool relies on, beyond the contract of a policy.

use super::*;
use crate::SimulatedDevice;

const MIB: u64 = 1 << 20;
const TOTAL: u64 = 256 * MIB;

/// A device with lanes' common things.
struct Bench {
    device: SimulatedDevice,
    budget: Budget,
    spare: Vec<Handle>,
}

impl Bench {
    fn new(capacity: u64) -> Self {
        let device = SimulatedDevice::new(capacity);
        Self { device, budget: Budget::new(), spare: Vec::new() }
    }

    fn alloc(&mut self, lane: &mut Lane, size: u64) -> Option<Grant> {
        self.alloc_beside(lane, &mut [], size)
    }

    fn alloc_beside(
        &mut self,
        lane: &mut Lane,
        others: &mut [&mut Lane],
        size: u64,
    ) -> Option<Grant> {
        let granted = lane.take(size).or_else(|| {
            let device = RefCell::new(&mut self.device as &mut dyn Device);
            let mut idle = |most: u64| {
                let mut device = SharedDevice(&device);
                let mut pages = Vec::new();
                for other in others.iter_mut() {
                    pages.extend(other.give_idle(most - pages.len() as u64, &mut device));
                }
                pages
            };
            let mut device = SharedDevice(&device);
            let mut growth = Growth::new(&mut device, &self.budget, &mut self.spare, &mut idle);
            lane.grow(size, &mut growth)
        })?;
        self.budget.allocated(granted.size);
        Some(granted)
    }

    fn free(&self, lane: &mut Lane, grant: Grant) {
        self.budget.freed(lane.free(grant.block));
    }
}

fn free_bytes(lane: &Lane) -> u64 {
    lane.blocks().filter(|block| !block.allocated).map(|block| block.size).sum()
}

#[test]
fn a_growth_that_fails_half_way_loses_no_page() {
    let mut bench = Bench::new(20 * MIB);
    let (mut lane, mut other) = (Lane::new(TOTAL), Lane::new(TOTAL));
    let held = bench.alloc(&mut other, 4 * MIB).expect("it fits");
    let idle = bench.alloc(&mut other, 6 * MIB).expect("it fits");
    bench.free(&mut other, idle);
    let own = bench.alloc(&mut lane, 3 * MIB).expect("it fits");
    let apart = bench.alloc(&mut lane, MIB / 2).expect("it fits");
    bench.free(&mut lane, own);
    // 12 MiB can be had beside what is held.
    assert_eq!(bench.alloc_beside(&mut lane, &mut [&mut other], 40 * MIB), None);
    let mapped = lane.mapped() + other.mapped();
    assert_eq!(mapped + bench.spare.len() as u64 * PAGE, bench.budget.reserved());
    assert_eq!(bench.budget.reserved(), bench.device.in_use());
    bench.alloc_beside(&mut lane, &mut [&mut other], 12 * MIB).expect("every page is still there");
    bench.free(&mut other, held);
    bench.free(&mut lane, apart);
}

#[test]
fn a_device_that_refuses_early_costs_nothing_either() {
    /// Says that it has room, and has none for the third page.
    struct Miser(SimulatedDevice, u32);
    impl Device for Miser {
        fn alloc(&mut self, size: u64) -> Option<u64> {
            self.0.alloc(size)
        }
        fn free(&mut self, address: u64) {
            self.0.free(address);
        }
        fn reserve(&mut self, size: u64) -> u64 {
            self.0.reserve(size)
        }
        fn create(&mut self, size: u64) -> Option<Handle> {
            self.1 = self.1.checked_sub(1)?;
            self.0.create(size)
        }
        fn release(&mut self, handle: Handle) {
            self.0.release(handle);
        }
        fn map(&mut self, address: u64, handle: Handle) {
            self.0.map(address, handle);
        }
        fn unmap(&mut self, address: u64) {
            self.0.unmap(address);
        }
        fn synchronize(&mut self) {}
        fn capacity(&self) -> u64 {
            self.0.capacity()
        }
        fn in_use(&self) -> u64 {
            self.0.in_use()
        }
    }
    let mut device = Miser(SimulatedDevice::new(TOTAL), 2);
    let (budget, mut spare) = (Budget::new(), Vec::new());
    let mut lane = Lane::new(TOTAL);
    let mut nobody = |_| Vec::new();
    let mut growth = Growth::new(&mut device, &budget, &mut spare, &mut nobody);
    assert_eq!(lane.grow(6 * MIB, &mut growth), None);
    assert_eq!((budget.reserved(), device.in_use(), spare.len()), (0, 0, 0));
    assert_eq!((lane.mapped(), lane.blocks().count()), (0, 0));
}

#[test]
fn a_stream_takes_the_idle_pages_of_another() {
    let mut bench = Bench::new(TOTAL);
    let (mut lane, mut other) = (Lane::new(TOTAL), Lane::new(TOTAL));
    let block = bench.alloc(&mut other, 40 * MIB).expect("it fits");
    bench.free(&mut other, block);
    bench.alloc_beside(&mut lane, &mut [&mut other], 30 * MIB).expect("it fits");
    assert_eq!(bench.device.in_use(), 40 * MIB);
    assert_eq!((lane.mapped(), free_bytes(&other)), (30 * MIB, 10 * MIB));
}

#[test]
fn a_private_pool_keeps_its_pages_until_it_is_given_up() {
    let mut bench = Bench::new(TOTAL);
    let (mut lane, mut private) = (Lane::new(TOTAL), Lane::private(TOTAL));
    let block = bench.alloc(&mut private, 40 * MIB).expect("it fits");
    bench.free(&mut private, block);
    bench.alloc_beside(&mut lane, &mut [&mut private], 10 * MIB).expect("it fits");
    assert_eq!((private.mapped(), bench.device.in_use()), (40 * MIB, 50 * MIB));
    // Nor does it move them within itself.
    bench.alloc(&mut private, 30 * MIB).expect("it fits");
    let calls = bench.device.calls();
    bench.alloc(&mut private, 10 * MIB).expect("it fits");
    assert_eq!(bench.device.calls(), calls);
    private.retire();
    assert!(private.give_idle(u64::MAX, &mut bench.device).is_empty(), "all of it is live");
}

#[test]
fn the_whole_of_a_segment_can_go_and_come_again_at_the_same_addresses() {
    let mut bench = Bench::new(TOTAL);
    let mut lane = Lane::new(TOTAL);
    let first = bench.alloc(&mut lane, 8 * MIB).expect("it fits");
    bench.free(&mut lane, first);
    bench.spare = lane.give_idle(u64::MAX, &mut bench.device);
    assert_eq!((bench.spare.len(), lane.mapped()), (4, 0));
    let again = bench.alloc(&mut lane, 8 * MIB).expect("it fits");
    assert_eq!((again.address, bench.spare.len()), (first.address, 0));
}

#[test]
fn counts_go_on_when_their_bits_run_out() {
    let budget = Budget::new();
    let many = (1 << 24) + 5;
    for _ in 0..many {
        budget.allocated(1024);
        budget.freed(1024);
    }
    budget.allocated(512);
    assert_eq!((budget.requests(), budget.live(), budget.peak_live()), (many + 1, 512, 1024));
    budget.reset_peaks();
    assert_eq!(budget.peak_live(), 512);
}
