//! The state of a part while its process runs: totals, failures, how it ended. It lies in the part's
//! mapped file, where others watch it.

use std::{
    fmt::{self, Write as _},
    mem::offset_of,
    sync::atomic::{AtomicU8, AtomicU32, AtomicU64, Ordering},
};

use crate::format::{PART_FILE, PART_IDENTITY};

/// How many devices have totals. A process that uses more has none for the rest.
pub const LIVE_DEVICES: usize = 16;
/// The longest reason for a stop that is kept.
pub(crate) const LONGEST_REASON: usize = 256;

/// What a recorded process holds now. The recorder stores, anybody loads; `Relaxed` is enough.
#[repr(C)]
#[derive(Debug)]
pub struct LiveTotals {
    /// Events recorded so far. Threads add theirs a few hundred at a time.
    pub events: AtomicU64,
    /// Allocations that failed: a futex word, see [`crate::Part::failed`].
    pub failures: AtomicU32,
    /// Whether somebody looks at failures: see [`crate::watcher_sync`].
    pub(crate) watcher_sync: AtomicU32,
    /// By the device's ordinal as the process sees it.
    pub devices: [LiveDevice; LIVE_DEVICES],
}

/// What a recorded process holds on one device, in bytes.
#[repr(C)]
#[derive(Debug)]
pub struct LiveDevice {
    /// What the framework's allocator has given to tensors.
    pub allocated: AtomicU64,
    /// What the framework's allocator has taken from the driver.
    pub reserved: AtomicU64,
    /// What the process has taken from the driver by calls of any kind.
    pub driver: AtomicU64,
    /// Page-locked host memory that was taken while this device was current.
    pub pinned: AtomicU64,
    /// The most that `allocated` has been.
    pub peak_allocated: AtomicU64,
    /// The most that `reserved` has been.
    pub peak_reserved: AtomicU64,
    /// Blocks or allocations that are live.
    pub live: AtomicU64,
    spare: AtomicU64,
}

/// The second page of a part's file.
#[repr(C)]
#[derive(Debug)]
pub(crate) struct State {
    pub(crate) totals: LiveTotals,
    /// 1 once the process ended in order.
    pub(crate) ended: AtomicU32,
    /// How many segments were made.
    pub(crate) segments: AtomicU32,
    /// How many pieces of tables were made.
    pub(crate) pieces: AtomicU32,
    /// The length of the reason; stored after it.
    pub(crate) reason_length: AtomicU32,
    /// Segments that ring mode dropped, and what was in them.
    pub(crate) dropped_segments: AtomicU64,
    pub(crate) dropped_events: AtomicU64,
    /// No event that was dropped is younger.
    pub(crate) dropped_until: AtomicU64,
    pub(crate) reason: [AtomicU8; LONGEST_REASON],
    /// How often a look was asked for though nothing failed.
    pub(crate) asked: AtomicU32,
    /// Events whose stack had no room: one stands for all of these.
    pub(crate) stand_ins: AtomicU64,
}

// The places that the format names.
const _: () = {
    assert!(size_of::<State>() <= PART_FILE - PART_IDENTITY);
    assert!(offset_of!(LiveTotals, failures) == 8 && offset_of!(LiveTotals, devices) == 16);
    assert!(offset_of!(LiveTotals, watcher_sync) == 12);
    assert!(PART_IDENTITY + offset_of!(State, ended) == 5136);
    assert!(PART_IDENTITY + offset_of!(State, reason_length) == 5148);
    assert!(PART_IDENTITY + offset_of!(State, dropped_segments) == 5152);
    assert!(PART_IDENTITY + offset_of!(State, reason) == 5176);
    assert!(PART_IDENTITY + offset_of!(State, asked) == 5432);
    assert!(PART_IDENTITY + offset_of!(State, stand_ins) == 5440);
};

impl State {
    /// Keeps why recording stopped; the first reason stays.
    pub(crate) fn stop(&self, reason: fmt::Arguments<'_>) {
        // A length that no reason has: somebody is at it.
        const BUSY: u32 = u32::MAX;
        let free =
            self.reason_length.compare_exchange(0, BUSY, Ordering::Relaxed, Ordering::Relaxed);
        if free.is_ok() {
            let mut text = Reason { places: &self.reason, length: 0 };
            let _ = text.write_fmt(reason);
            self.reason_length.store(text.length as u32, Ordering::Release);
        }
    }

    /// Why recording stopped; empty where it did not.
    pub(crate) fn reason(&self) -> String {
        let length = self.reason_length.load(Ordering::Acquire) as usize;
        if length > LONGEST_REASON {
            return String::new();
        }
        let bytes: Vec<u8> =
            self.reason[..length].iter().map(|byte| byte.load(Ordering::Relaxed)).collect();
        String::from_utf8_lossy(&bytes).into_owned()
    }
}

/// Takes as much text as there are places, without the heap.
struct Reason<'a> {
    places: &'a [AtomicU8],
    length: usize,
}

impl fmt::Write for Reason<'_> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        for &byte in text.as_bytes() {
            let place = self.places.get(self.length).ok_or(fmt::Error)?;
            place.store(byte, Ordering::Relaxed);
            self.length += 1;
        }
        Ok(())
    }
}
