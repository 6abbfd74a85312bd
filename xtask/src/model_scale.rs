//! `cargo xtask model-scale`: twenty million events through the model, or with `--deep` a hundred million, none of them
//! kept. They come from a recording, so that what the model takes can be told beside what reading alone takes.

use std::{fs, path::Path, time::Instant};

use anyhow::{Result, ensure};
use harness::{Held, empty_folder, peak_resident};
use whyoom_memory::Model;
use whyoom_recording::{Definition, Lease, Options, Part, RawFrame, Unresolved, now};
use whyoom_sources::recording;
use whyoom_trace::{
    Action, Address, Bytes, DeviceId, Event, FrameId, Origin, SegmentGrowth, SizeClass, StackId,
    StreamId, StringId, Tables, ThreadId, Time,
};

use crate::bare_reading::read_barely;

const EVENTS: u64 = 20_000_000;
const DEEP: u64 = 100_000_000;
const BAR: Bytes = Bytes(1 << 30);
const SLOT: u64 = 4 << 20;
/// Blocks live at a time on each of the devices, as in a large training run.
const LIVE: u64 = 20_000;
const DEVICES: u16 = 8;
const STACKS: u32 = 2000;
const DEPTH: u32 = 40;

pub(crate) fn run(deep: bool) -> Result<Held> {
    let events = if deep { DEEP } else { EVENTS };
    let folder = empty_folder("model-scale")?;
    let written = write(&folder, events)?;
    let bare = read_barely(&folder)?;
    let mut model = Model::default();
    let started = Instant::now();
    recording::import(&folder, &mut Unresolved, &mut Tables::default(), &mut model)?;
    let seconds = started.elapsed().as_secs_f64();
    fs::remove_dir_all(&folder)?;
    let resident = peak_resident()?;
    let live: u64 = model.spaces().map(|(_, _, space)| space.totals().blocks).sum();
    let rate = written as f64 / seconds / 1e6;
    println!("{:<12} {:>14}", "events", model.events());
    println!("{:<12} {live:>14}", "live blocks");
    println!("{:<12} {:>12.1} s", "bare reading", bare.seconds);
    println!("{:<12} {:>12.1} s", "with model", seconds);
    println!("{:<12} {:>14.2}", "ratio", bare.ratio(seconds));
    println!("{:<12} {:>10.2} M/s", "rate", rate);
    println!("{:<12} {:>14}", "resident", resident.to_string());
    ensure!(bare.events == written, "{} of {written} events were read", bare.events);
    ensure!(resident <= BAR, "{resident} resident, over {BAR}");
    ensure!(model.events() >= written && live > 0, "only {} events, {live} live", model.events());
    Ok(Held::new(format!(
        "{written} events at {rate:.1} million a second, {} bare reading, in {resident} resident",
        bare.times(seconds)
    )))
}

/// Writes a recording of at least so many events; how many they are.
fn write(folder: &Path, events: u64) -> Result<u64> {
    let part = Part::create(folder, Options::default())?;
    define(&part)?;
    let lease = part.lease(ThreadId(1))?;
    let random = 0x9E37_79B9_7F4A_7C15;
    let mut source = Source { random, written: 0, start: now(), part: &part, lease };
    source.write_all(events)?;
    Ok(source.written)
}

/// Defines the stacks, each of frames of its own.
fn define(part: &Part) -> Result<()> {
    let function = StringId(1);
    part.define(Definition::String { id: function, text: b"forward" })?;
    let mut last = 1;
    for index in 0..STACKS {
        let mut frames = Vec::new();
        for depth in 0..DEPTH {
            last += 1;
            let (id, file) = (FrameId(last), StringId(last));
            let text = format!("/home/me/layer_{index}_{depth}.py");
            part.define(Definition::String { id: file, text: text.as_bytes() })?;
            part.define(Definition::Frame { id, function, file, line: depth })?;
            frames.push(RawFrame::Named(id));
        }
        part.define(Definition::Stack { id: StackId(index + 1), frames: &frames })?;
    }
    Ok(())
}

struct Source<'a> {
    random: u64,
    written: u64,
    start: Time,
    part: &'a Part,
    lease: Lease,
}

impl Source<'_> {
    fn write_all(&mut self, events: u64) -> Result<()> {
        let mut occupied = vec![vec![false; LIVE as usize * 2]; usize::from(DEVICES)];
        for device in 0..DEVICES {
            let size = Bytes(LIVE * 2 * SLOT);
            let (class, growth) = (SizeClass::Large, SegmentGrowth::Fixed);
            let address = Address(start_of(device));
            self.write(device, Action::SegmentAlloc { address, size, class, growth })?;
        }
        while self.written < events {
            let device = (self.random() % u64::from(DEVICES)) as u16;
            let slot = self.random() % (LIVE * 2);
            let address = Address(start_of(device) + slot * SLOT);
            let taken = &mut occupied[usize::from(device)][slot as usize];
            *taken = !*taken;
            if *taken {
                let requested = Bytes(self.random() % SLOT);
                let action = Action::BlockAlloc { address, requested, size: Bytes(SLOT) };
                self.write(device, action)?;
            } else {
                self.write(device, Action::BlockFreeRequested { address })?;
                self.write(device, Action::BlockFree { address })?;
            }
        }
        Ok(())
    }

    fn write(&mut self, device: u16, action: Action) -> Result<()> {
        let stack = StackId(1 + (self.random() % u64::from(STACKS)) as u32);
        let (device, stream) = (DeviceId(device), StreamId(self.written % 4));
        let origin = Origin { thread: ThreadId(1), device, stream, ..Origin::default() };
        let time = Time(self.start.0 + self.written * 1000);
        let event = Event { time, origin, stack, action, ..Event::default() };
        self.lease.event(self.part, &event)?;
        self.written += 1;
        Ok(())
    }

    /// Xorshift: the events must cost nothing beside the model.
    fn random(&mut self) -> u64 {
        self.random ^= self.random << 13;
        self.random ^= self.random >> 7;
        self.random ^= self.random << 17;
        self.random
    }
}

/// Where a device's memory starts: addresses of all devices of a process are distinct.
fn start_of(device: u16) -> u64 {
    SLOT + (u64::from(device) << 40)
}
