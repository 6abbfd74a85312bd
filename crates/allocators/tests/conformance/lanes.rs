//! Lanes as the live pool uses them: pages go from one to another while blocks of all are live.

use std::cell::RefCell;

use proptest::prelude::*;
use whyoom_allocators::{
    BlockId, Device, Grant, Handle, PAGE, Request, SimulatedDevice, Validator,
    policies::stitch::{Budget, Growth, Lane, SharedDevice},
};
use whyoom_trace::{PoolId, StreamId};

use crate::MIB;

/// Less than the requests of a run add up to.
const CAPACITY: u64 = 96 * MIB;
/// Two streams, and one of them in a private pool.
const LANES: usize = 3;

#[derive(Clone, Debug)]
enum Step {
    Alloc {
        lane: usize,
        size: u64,
    },
    /// The live block at that place, counted around.
    Free(usize),
    GiveIdle {
        lane: usize,
        most: u64,
    },
    Retire,
}

fn step() -> impl Strategy<Value = Step> {
    let size = prop_oneof![1..=4_096_u64, 1..=3 * MIB, 1..=30 * MIB];
    prop_oneof![
        10 => (0..LANES, size).prop_map(|(lane, size)| Step::Alloc { lane, size }),
        9 => any::<usize>().prop_map(Step::Free),
        2 => (0..LANES, 0..6_u64).prop_map(|(lane, most)| Step::GiveIdle { lane, most }),
        1 => Just(Step::Retire),
    ]
}

struct Bench {
    device: SimulatedDevice,
    budget: Budget,
    spare: Vec<Handle>,
    lanes: Vec<Lane>,
    validator: Validator,
    /// The lane of each live block, what it is called there, and what the validator knows of it.
    live: Vec<(usize, BlockId, Grant)>,
    given: u32,
}

impl Bench {
    fn new() -> Self {
        let common = || Lane::new(CAPACITY);
        Self {
            device: SimulatedDevice::new(CAPACITY),
            budget: Budget::new(),
            spare: Vec::new(),
            lanes: vec![common(), common(), Lane::private(CAPACITY)],
            validator: Validator::default(),
            live: Vec::new(),
            given: 0,
        }
    }

    fn alloc(&mut self, at: usize, size: u64) {
        let taken = self.lanes[at].take(size);
        let Some(held) = taken.or_else(|| self.grow(at, size)) else { return };
        self.budget.allocated(held.size);
        self.given += 1;
        let grant = Grant { block: BlockId(self.given), ..held };
        let request = Request { size, stream: StreamId(0), pool: PoolId(0) };
        self.validator.granted(request, grant, &self.device).expect("it shares memory with none");
        self.live.push((at, held.block, grant));
    }

    fn grow(&mut self, at: usize, size: u64) -> Option<Grant> {
        let mut lanes: Vec<&mut Lane> = self.lanes.iter_mut().collect();
        let growing = lanes.remove(at);
        let device = RefCell::new(&mut self.device as &mut dyn Device);
        let mut others = |most: u64| {
            let mut pages = Vec::new();
            for lane in &mut lanes {
                pages.extend(lane.give_idle(most - pages.len() as u64, &mut SharedDevice(&device)));
            }
            pages
        };
        let mut own = SharedDevice(&device);
        let mut growth = Growth::new(&mut own, &self.budget, &mut self.spare, &mut others);
        growing.grow(size, &mut growth)
    }

    fn free(&mut self, at: usize) {
        let (lane, block, grant) = self.live.swap_remove(at);
        self.validator.freed(grant, &self.device).expect("nobody touched its memory");
        let size = self.lanes[lane].free(block);
        assert_eq!(size, grant.size);
        self.budget.freed(size);
    }

    fn run(&mut self, step: &Step) {
        match *step {
            Step::Alloc { lane, size } => self.alloc(lane, size),
            Step::Free(_) if self.live.is_empty() => {}
            Step::Free(at) => self.free(at % self.live.len()),
            Step::GiveIdle { lane, most } => {
                let given = self.lanes[lane].give_idle(most, &mut self.device);
                assert!(given.len() as u64 <= most);
                self.spare.extend(given);
            }
            Step::Retire => self.lanes[LANES - 1].retire(),
        }
    }

    /// No page is lost, and every byte is counted once.
    fn check(&self) {
        let mapped: u64 = self.lanes.iter().map(Lane::mapped).sum();
        assert_eq!(mapped + self.spare.len() as u64 * PAGE, self.device.in_use());
        assert_eq!(self.budget.reserved(), self.device.in_use());
        let blocks = || self.lanes.iter().flat_map(Lane::blocks);
        assert_eq!(blocks().map(|block| block.size).sum::<u64>(), mapped);
        let allocated: u64 = blocks().filter(|block| block.allocated).map(|block| block.size).sum();
        assert_eq!(allocated, self.budget.live());
        assert_eq!(allocated, self.live.iter().map(|(_, _, grant)| grant.size).sum::<u64>());
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None, ..Default::default() })]

    #[test]
    fn pages_that_wander_between_lanes_are_never_shared_or_lost(
        steps in prop::collection::vec(step(), 1..150)
    ) {
        let mut bench = Bench::new();
        for step in &steps {
            bench.run(step);
            bench.check();
        }
        while !bench.live.is_empty() {
            bench.free(0);
        }
        bench.run(&Step::Retire);
        (0..LANES).for_each(|lane| bench.run(&Step::GiveIdle { lane, most: u64::MAX }));
        bench.check();
        prop_assert_eq!(bench.spare.len() as u64 * PAGE, bench.device.in_use());
    }
}
