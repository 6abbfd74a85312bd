//! One event as bytes: what changed since the one before.

mod action;
mod fields;
mod varint;

use whyoom_trace::{
    ContextId, DeviceId, Event, Origin, PoolId, ResultCode, StackId, StreamId, ThreadId, Time,
};

pub(crate) use varint::{Pen, Scan};

/// More than any record takes: a tag, the flags, and at most 12 numbers of at most 10 bytes.
pub(crate) const LONGEST_RECORD: usize = 128;

/// A tag, the flags and a time.
pub(crate) const SHORTEST_RECORD: u64 = 3;

/// Which fields follow. Those that do not are as in the record before; a result then is 0.
mod flag {
    pub(super) const THREAD: u8 = 1 << 0;
    pub(super) const DEVICE: u8 = 1 << 1;
    pub(super) const CONTEXT: u8 = 1 << 2;
    pub(super) const STREAM: u8 = 1 << 3;
    pub(super) const POOL: u8 = 1 << 4;
    pub(super) const STACK: u8 = 1 << 5;
    pub(super) const RESULT: u8 = 1 << 6;
    /// Time went back by the number that follows, instead of on.
    pub(super) const BACK: u8 = 1 << 7;
}

/// What the record before said. At the start of each block all of it is 0.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Last {
    time: u64,
    origin: Origin,
    stack: StackId,
    address: u64,
    handle: u64,
}

/// Writes an event and returns the record's length; 0 where the format has no word for its action.
#[inline]
pub(crate) fn encode(event: &Event, last: &mut Last, room: &mut [u8]) -> usize {
    let tag = action::tag(&event.action);
    if tag == 0 {
        return 0;
    }
    let flags = flags(event, last);
    let mut pen = Pen::new(room);
    pen.byte(tag);
    pen.byte(flags);
    pen.number(event.time.0.abs_diff(last.time));
    put_changes(event, flags, &mut pen);
    last.time = event.time.0;
    last.origin = event.origin;
    last.stack = event.stack;
    action::put(&event.action, &mut pen, last);
    pen.written()
}

#[inline]
fn flags(event: &Event, last: &Last) -> u8 {
    let (now, before) = (&event.origin, &last.origin);
    let set = |flag, changed: bool| if changed { flag } else { 0 };
    set(flag::THREAD, now.thread != before.thread)
        | set(flag::DEVICE, now.device != before.device)
        | set(flag::CONTEXT, now.context != before.context)
        | set(flag::STREAM, now.stream != before.stream)
        | set(flag::POOL, now.pool != before.pool)
        | set(flag::STACK, event.stack != last.stack)
        | set(flag::RESULT, event.result.0 != 0)
        | set(flag::BACK, event.time.0 < last.time)
}

#[inline]
fn put_changes(event: &Event, flags: u8, pen: &mut Pen<'_>) {
    let origin = &event.origin;
    let mut put = |flag, number| {
        if flags & flag != 0 {
            pen.number(number);
        }
    };
    put(flag::THREAD, u64::from(origin.thread.0));
    put(flag::DEVICE, u64::from(origin.device.0));
    put(flag::CONTEXT, u64::from(origin.context.0));
    put(flag::STREAM, origin.stream.0);
    put(flag::POOL, u64::from(origin.pool.0));
    put(flag::STACK, u64::from(event.stack.0));
    put(flag::RESULT, u64::from(event.result.0.cast_unsigned()));
}

/// Reads one record; `None` where the bytes are none.
#[inline]
pub(crate) fn decode(scan: &mut Scan<'_>, last: &mut Last) -> Option<Event> {
    let tag = scan.byte()?;
    let flags = scan.byte()?;
    let way = scan.number()?;
    last.time = if flags & flag::BACK == 0 {
        last.time.checked_add(way)?
    } else {
        last.time.checked_sub(way)?
    };
    let result = take_changes(scan, flags, last)?;
    let action = action::take(tag, scan, last)?;
    Some(Event {
        time: Time(last.time),
        origin: last.origin,
        stack: last.stack,
        result: ResultCode(result.cast_signed()),
        action,
    })
}

#[inline]
fn take_changes(scan: &mut Scan<'_>, flags: u8, last: &mut Last) -> Option<u32> {
    let origin = &mut last.origin;
    if flags & flag::THREAD != 0 {
        origin.thread = ThreadId(scan.small()?);
    }
    if flags & flag::DEVICE != 0 {
        origin.device = DeviceId(scan.small()?);
    }
    if flags & flag::CONTEXT != 0 {
        origin.context = ContextId(scan.small()?);
    }
    if flags & flag::STREAM != 0 {
        origin.stream = StreamId(scan.number()?);
    }
    if flags & flag::POOL != 0 {
        origin.pool = PoolId(scan.small()?);
    }
    if flags & flag::STACK != 0 {
        last.stack = StackId(scan.small()?);
    }
    if flags & flag::RESULT == 0 { Some(0) } else { scan.small() }
}
