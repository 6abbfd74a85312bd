//! Any bytes as a run of requests, through every policy: never a panic, never a block that is not
//! what it should be, and at the end nothing that is not given back.
#![no_main]

use libfuzzer_sys::fuzz_target;
use whyoom_allocators::{
    Device, Grant, PAGE, Policy, Request, SimulatedDevice, Validator, Violation,
    policies::{
        bfc::{self, Bfc},
        binned::{self, Binned},
        pytorch::{PyTorch, PyTorchSettings, TieBreak},
        rmm_pool::{self, RmmPool},
        stitch::Stitch,
        stream_ordered::{self, StreamOrdered},
    },
};
use whyoom_trace::{PoolId, StreamId};

const MIB: u64 = 1 << 20;
/// The first byte chooses the device: one that is soon full, or one that hardly ever is.
const CAPACITIES: [u64; 4] = [30 * MIB, 64 * MIB, 256 * MIB + 1, 1024 * MIB];
const STREAMS: u64 = 3;
/// The common pool and private ones.
const POOLS: u32 = 3;
/// More steps find nothing that fewer do not, and take their time with every policy.
const MOST_STEPS: usize = 200;

fuzz_target!(|bytes: &[u8]| {
    let Some((first, bytes)) = bytes.split_first() else { return };
    let capacity = CAPACITIES[usize::from(*first) % CAPACITIES.len()];
    let (steps, _) = bytes.as_chunks::<4>();
    let steps: Vec<Step> = steps.iter().take(MOST_STEPS).map(Step::read).collect();
    for (name, policy) in policies(capacity) {
        let mut run = Run {
            policy,
            device: SimulatedDevice::new(capacity),
            validator: Validator::default(),
            live: Vec::new(),
        };
        if let Err(violation) = run.all(&steps) {
            panic!("{name}: {violation}");
        }
        assert_eq!(run.device.in_use(), 0, "{name}: memory is left");
    }
});

/// Every policy, and every setting that changes how one works.
fn policies(capacity: u64) -> Vec<(&'static str, Box<dyn Policy>)> {
    let native = PyTorchSettings { device_total: capacity, ..PyTorchSettings::default() };
    let changed = |change: fn(&mut PyTorchSettings)| {
        let mut settings = native.clone();
        change(&mut settings);
        Box::new(PyTorch::new(settings)) as Box<dyn Policy>
    };
    let async_default = stream_ordered::Settings::default();
    let trimmed = stream_ordered::Settings { release_threshold: 0, ..async_default };
    let own_streams = stream_ordered::Settings { across_streams: false, ..async_default };
    let rmm_bounds = rmm_pool::Settings { initial: 8 * MIB, maximum: Some(256 * MIB) };
    vec![
        ("native", changed(|_| {})),
        ("native before 2026", changed(|settings| settings.tie_break = TieBreak::Address)),
        ("max split", changed(|settings| settings.max_split_size = Some(20 * MIB))),
        ("roundup", changed(|settings| settings.roundup_divisions = [8; 16])),
        ("capped", changed(|settings| settings.allowed = Some(48 * MIB))),
        ("garbage collection", changed(collecting)),
        ("expandable", changed(|settings| settings.expandable_segments = true)),
        (
            "expandable, collecting",
            changed(|settings| {
                collecting(settings);
                settings.expandable_segments = true;
            }),
        ),
        (
            "expandable, max split",
            changed(|settings| {
                settings.expandable_segments = true;
                settings.max_split_size = Some(20 * MIB);
            }),
        ),
        (
            "expandable, small pages",
            changed(|settings| {
                settings.expandable_segments = true;
                settings.large_segment_size = PAGE;
            }),
        ),
        ("stitch", Box::new(Stitch::new(capacity))),
        ("stream ordered", Box::new(StreamOrdered::new(async_default))),
        ("stream ordered, trimmed", Box::new(StreamOrdered::new(trimmed))),
        ("stream ordered, own streams", Box::new(StreamOrdered::new(own_streams))),
        ("rmm", Box::new(RmmPool::new(rmm_pool::Settings::default()))),
        ("rmm with bounds", Box::new(RmmPool::new(rmm_bounds))),
        ("bfc", Box::new(Bfc::new(bfc::Settings::default()))),
        ("bfc as jax has it", Box::new(Bfc::new(bfc::Settings::JAX))),
        ("binned", Box::new(Binned::new(binned::Settings::default()))),
    ]
}

fn collecting(settings: &mut PyTorchSettings) {
    settings.garbage_collection_threshold = 0.5;
    settings.allowed = Some(200 * MIB);
}

enum Step {
    Alloc(Request),
    /// The live block at that place, counted around.
    Free(usize),
    ReleaseCached,
    RetirePool(PoolId),
}

impl Step {
    fn read(&[what, a, b, c]: &[u8; 4]) -> Self {
        match what % 16 {
            0..8 => Self::Alloc(Request {
                size: size(a, c),
                stream: StreamId(u64::from(b) % STREAMS),
                pool: PoolId(u32::from(b) / 16 % POOLS),
            }),
            8..14 => Self::Free(usize::from(a) << 8 | usize::from(b)),
            14 => Self::ReleaseCached,
            _ => Self::RetirePool(PoolId(u32::from(a) % (POOLS - 1) + 1)),
        }
    }
}

/// Any size, and often one at the bounds where policies change their ways.
fn size(a: u8, c: u8) -> u64 {
    let power = 1_u64 << (a % 30);
    let size = match a / 32 {
        0 => power + u64::from(c % 3) - 1,
        1..7 => power + (power >> 8) * u64::from(c),
        _ => u64::MAX - (power << (c % 32)) + 1,
    };
    size.max(1)
}

struct Run {
    policy: Box<dyn Policy>,
    device: SimulatedDevice,
    validator: Validator,
    live: Vec<Grant>,
}

impl Run {
    fn all(&mut self, steps: &[Step]) -> Result<(), Violation> {
        for step in steps {
            self.step(step)?;
            self.validator.conserved(&self.device)?;
        }
        while !self.live.is_empty() {
            self.free(0)?;
        }
        (1..POOLS).for_each(|pool| self.policy.retire_pool(PoolId(pool), &mut self.device));
        self.policy.release_cached(&mut self.device);
        Ok(())
    }

    fn step(&mut self, step: &Step) -> Result<(), Violation> {
        match *step {
            Step::Alloc(request) => {
                if let Ok(grant) = self.policy.alloc(request, &mut self.device) {
                    self.validator.granted(request, grant, &self.device)?;
                    self.live.push(grant);
                }
            }
            Step::Free(_) if self.live.is_empty() => {}
            Step::Free(place) => self.free(place % self.live.len())?,
            Step::ReleaseCached => self.policy.release_cached(&mut self.device),
            Step::RetirePool(pool) => self.policy.retire_pool(pool, &mut self.device),
        }
        Ok(())
    }

    fn free(&mut self, place: usize) -> Result<(), Violation> {
        let grant = self.live.swap_remove(place);
        self.validator.freed(grant, &self.device)?;
        self.policy.free(grant.block, &mut self.device);
        Ok(())
    }
}
