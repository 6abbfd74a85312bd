//! `cargo xtask model-scale`: twenty million events through the model, or with `--deep` a hundred million, none
//! of them kept.

use std::time::Instant;

use anyhow::{Result, ensure};
use harness::{Held, peak_resident};
use whyoom_memory::Model;
use whyoom_trace::{
    Action, Address, Bytes, DeviceId, Event, EventSink, Origin, SegmentGrowth, SizeClass, StackId,
    StreamId, Tables, Time,
};

const EVENTS: u64 = 20_000_000;
const DEEP: u64 = 100_000_000;
const BAR: Bytes = Bytes(1 << 30);
const SLOT: u64 = 4 << 20;
/// Blocks live at a time on each of the devices, as in a large training run.
const LIVE: u64 = 20_000;
const DEVICES: u16 = 8;
const STACKS: u32 = 2000;

pub(crate) fn run(deep: bool) -> Result<Held> {
    let events = if deep { DEEP } else { EVENTS };
    let mut tables = Tables::default();
    let process = tables.process("generated");
    let stacks: Vec<StackId> = (0..STACKS).map(|index| stack(&mut tables, index)).collect();
    let mut model = Model::default();
    let started = Instant::now();
    let mut source = Source { random: 0x9E37_79B9_7F4A_7C15, pushed: 0, process, stacks: &stacks };
    source.push_all(events, &tables, &mut model);
    let seconds = started.elapsed().as_secs_f64();
    let resident = peak_resident()?;
    let live: u64 = model.spaces().map(|(_, _, space)| space.totals().blocks).sum();
    let rate = events as f64 / seconds / 1e6;
    println!("{:<12} {:>14}", "events", model.events());
    println!("{:<12} {live:>14}", "live blocks");
    println!("{:<12} {:>12.1} s", "time", seconds);
    println!("{:<12} {:>10.2} M/s", "rate", rate);
    println!("{:<12} {:>14}", "resident", resident.to_string());
    ensure!(resident <= BAR, "{resident} resident, over {BAR}");
    ensure!(model.events() >= events && live > 0, "only {} events, {live} live", model.events());
    Ok(Held::new(format!("{events} events at {rate:.1} million a second in {resident} resident")))
}

fn stack(tables: &mut Tables, index: u32) -> StackId {
    let frames: Vec<_> = (0..40)
        .map(|depth| {
            tables.frame_text("forward", &format!("/home/me/layer_{index}_{depth}.py"), depth)
        })
        .collect();
    tables.stack(&frames)
}

struct Source<'a> {
    random: u64,
    pushed: u64,
    process: whyoom_trace::ProcessId,
    stacks: &'a [StackId],
}

impl Source<'_> {
    fn push_all(&mut self, events: u64, tables: &Tables, model: &mut Model) {
        let mut occupied = vec![vec![false; LIVE as usize * 2]; usize::from(DEVICES)];
        for device in 0..DEVICES {
            let size = Bytes(LIVE * 2 * SLOT);
            let (class, growth) = (SizeClass::Large, SegmentGrowth::Fixed);
            let action = Action::SegmentAlloc { address: Address(SLOT), size, class, growth };
            self.push(device, action, tables, model);
        }
        while self.pushed < events {
            let device = (self.random() % u64::from(DEVICES)) as u16;
            let slot = self.random() % (LIVE * 2);
            let address = Address(SLOT + slot * SLOT);
            let taken = &mut occupied[usize::from(device)][slot as usize];
            *taken = !*taken;
            if *taken {
                let requested = Bytes(self.random() % SLOT);
                let action = Action::BlockAlloc { address, requested, size: Bytes(SLOT) };
                self.push(device, action, tables, model);
            } else {
                self.push(device, Action::BlockFreeRequested { address }, tables, model);
                self.push(device, Action::BlockFree { address }, tables, model);
            }
        }
    }

    fn push(&mut self, device: u16, action: Action, tables: &Tables, model: &mut Model) {
        let stack = self.stacks[(self.random() % u64::from(STACKS)) as usize];
        let (device, stream) = (DeviceId(device), StreamId(self.pushed % 4));
        let origin = Origin { process: self.process, device, stream, ..Origin::default() };
        let time = Time(self.pushed * 1000);
        model.event(&Event { time, origin, stack, action, ..Event::default() }, tables);
        self.pushed += 1;
    }

    /// Xorshift: the events must cost nothing beside the model.
    fn random(&mut self) -> u64 {
        self.random ^= self.random << 13;
        self.random ^= self.random >> 7;
        self.random ^= self.random << 17;
        self.random
    }
}
