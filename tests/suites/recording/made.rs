//! Events as a training run makes them, each known by its thread and its number.

use anyhow::{Context, Result, bail, ensure};
use whyoom_recording::{Definition, Part, RawFrame};
use whyoom_trace::{
    Action, Address, Bytes, DeviceId, Event, EventSink, Origin, StackId, StreamId, StringId,
    Tables, ThreadId, Time,
};

pub(super) const STACKS: u32 = 2000;
const STRINGS: u32 = 1000;
/// How many blocks a thread holds at a time.
const HELD: u64 = 1000;

/// The event of a thread with that number, but for its time. An allocation's block is freed a
/// thousand events later.
pub(super) fn event(thread: u32, number: u64) -> Event {
    let pair = number / 2;
    let of = if number.is_multiple_of(2) { pair } else { pair.saturating_sub(HELD) };
    let random = mix(of ^ u64::from(thread) << 48);
    let address = Address(0x7f00_0000_0000 + (random >> 20) % (1 << 25) * 512);
    let requested = Bytes(1 + (random >> 8) % (64 << ((random & 7) * 2)));
    let size = Bytes(requested.0.next_multiple_of(512));
    let action = match number % 2 {
        0 => Action::BlockAlloc { address, requested, size },
        _ => Action::BlockFree { address },
    };
    // A loop runs through its stacks in order; one allocation in sixteen is on another stream.
    let stack = 1 + (mix(number % 5000) % u64::from(STACKS)) as u32;
    let stream = if random.is_multiple_of(16) { 0x55aa_0000_1230 } else { 0 };
    Event {
        origin: Origin {
            thread: ThreadId(thread),
            device: DeviceId(thread as u16 % 4),
            stream: StreamId(stream),
            ..Origin::default()
        },
        stack: StackId(stack),
        action,
        ..Event::default()
    }
}

/// Scatters the bits of a number (the finalizer of splitmix64).
pub(super) fn mix(number: u64) -> u64 {
    let number = number.wrapping_add(0x9E37_79B9_7F4A_7C15);
    let number = (number ^ number >> 30).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    let number = (number ^ number >> 27).wrapping_mul(0x94D0_49BB_1331_11EB);
    number ^ number >> 31
}

/// Defines the stacks that the events name.
pub(super) fn define(part: &Part) -> Result<()> {
    for id in 1..=STRINGS {
        let text = format!("/home/me/models/layer_{id}.py");
        part.define(Definition::String { id: StringId(id), text: text.as_bytes() })?;
    }
    for id in 1..=STACKS {
        let address = |depth: u64| RawFrame::Native(0x7f12_0000_0000 + mix(u64::from(id) + depth));
        let frames: Vec<_> = (0..40).map(address).collect();
        part.define(Definition::Stack { id: StackId(id), frames: &frames })?;
    }
    Ok(())
}

/// Takes every event back and compares it with the one that was made.
pub(super) struct Checked {
    /// The number that each thread's next event must have.
    next: Vec<u64>,
    /// The tables' id of each stack of the recording.
    stacks: Vec<Option<StackId>>,
    last: Time,
    out_of_order: u64,
    wrong: Option<String>,
}

impl Checked {
    /// For threads 1 to `threads`.
    pub(super) fn new(threads: u32) -> Self {
        Self {
            next: vec![0; threads as usize],
            stacks: vec![None; STACKS as usize + 1],
            last: Time(0),
            out_of_order: 0,
            wrong: None,
        }
    }

    /// Each thread wrote that many, and every event is as it was made.
    pub(super) fn finish(self, each: u64) -> Result<u64> {
        if let Some(wrong) = self.wrong {
            bail!("{wrong}");
        }
        ensure!(self.out_of_order == 0, "{} events are out of order", self.out_of_order);
        let short = self.next.iter().position(|&next| next != each);
        ensure!(short.is_none(), "threads have {:?} events, not {each}", self.next);
        Ok(self.next.iter().sum())
    }

    fn check(&mut self, event: &Event) -> Result<()> {
        let thread = event.origin.thread;
        let next = self.next.get_mut(thread.0 as usize - 1).context("a thread of nobody")?;
        let made = self::event(thread.0, *next);
        *next += 1;
        let stack = &mut self.stacks[made.stack.0 as usize];
        let stack = *stack.get_or_insert(event.stack);
        let origin = Origin { process: event.origin.process, ..made.origin };
        let expected = Event { time: event.time, origin, stack, ..made };
        ensure!(*event == expected, "read {event:?}, made {expected:?}");
        Ok(())
    }
}

impl EventSink for Checked {
    fn event(&mut self, event: &Event, _: &Tables) {
        self.out_of_order += u64::from(event.time < self.last);
        self.last = event.time;
        if self.wrong.is_none()
            && let Err(wrong) = self.check(event)
        {
            self.wrong = Some(wrong.to_string());
        }
    }
}
