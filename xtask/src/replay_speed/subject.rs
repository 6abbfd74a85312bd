//! What is measured, and the loop that it is measured in.

use anyhow::{Context, Result};
use whyoom_allocators::{
    BlockId, Device, Grant, OutOfMemory, Policy, Request, SimulatedDevice,
    policies::{
        binned::{self, Binned},
        pytorch::{PyTorch, PyTorchSettings, TieBreak},
        stitch::Stitch,
    },
};

use super::{
    reference::Reference,
    turn::{Happening, Turn},
};

/// More than the run takes: nothing may fail.
const ROOM: u64 = 1 << 40;

/// An allocator that a turn goes through again and again.
pub(super) trait Subject {
    fn replay(&mut self, turn: &Turn) -> Result<()>;
    fn peak_reserved(&self) -> u64;
    /// All addresses that were given, in order, folded into one number.
    fn addresses(&self) -> u64;
}

/// A name, and how the subject is made and brought to the turn's start.
pub(super) type Entry = (&'static str, fn(&Turn) -> Result<Box<dyn Subject>>);

/// The loop alone, which is taken off the others' figures; what is the measure; what is measured.
pub(super) const SUBJECTS: [Entry; 5] = [
    ("loop alone", |turn| started(turn, Nothing)),
    ("reference", |turn| started(turn, Reference::new())),
    ("native", |turn| started(turn, PyTorch::new(settings()))),
    ("stitch", |turn| started(turn, Stitch::new(settings().device_total))),
    ("binned", |turn| started(turn, Binned::new(binned::Settings::default()))),
];

/// Equal blocks in the order that ordered sets of (stream, size, address) give.
fn settings() -> PyTorchSettings {
    PyTorchSettings { tie_break: TieBreak::Address, ..PyTorchSettings::default() }
}

fn started<P: Policy + 'static>(turn: &Turn, policy: P) -> Result<Box<dyn Subject>> {
    let device = SimulatedDevice::new(ROOM);
    let live = vec![BlockId(0); turn.items];
    let mut replaying = Replaying { policy, device, live, addresses: 0 };
    replaying.follow(&turn.start)?;
    Ok(Box::new(replaying))
}

struct Replaying<P> {
    policy: P,
    device: SimulatedDevice,
    live: Vec<BlockId>,
    addresses: u64,
}

impl<P: Policy> Replaying<P> {
    fn follow(&mut self, happenings: &[Happening]) -> Result<()> {
        for happening in happenings {
            match *happening {
                Happening::Alloc { item, request } => {
                    let grant = self.policy.alloc(request, &mut self.device);
                    let grant = grant.context("the device is too small")?;
                    self.live[item as usize] = grant.block;
                    self.addresses = self.addresses.rotate_left(5) ^ grant.address;
                }
                Happening::Free { item } => {
                    self.policy.free(self.live[item as usize], &mut self.device);
                }
            }
        }
        Ok(())
    }
}

impl<P: Policy> Subject for Replaying<P> {
    /// Instructions are counted by this function's name.
    #[inline(never)]
    fn replay(&mut self, turn: &Turn) -> Result<()> {
        self.follow(&turn.events)
    }

    fn peak_reserved(&self) -> u64 {
        self.device.peak()
    }

    fn addresses(&self) -> u64 {
        self.addresses
    }
}

/// No allocator: what is left is the loop.
struct Nothing;

impl Policy for Nothing {
    #[inline(never)]
    fn alloc(&mut self, request: Request, _: &mut dyn Device) -> Result<Grant, OutOfMemory> {
        Ok(Grant { block: BlockId(0), address: 0, size: request.size })
    }

    #[inline(never)]
    fn free(&mut self, _: BlockId, _: &mut dyn Device) {}

    fn release_cached(&mut self, _: &mut dyn Device) {}
}
