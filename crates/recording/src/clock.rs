//! The clock of a recording.

use rustix::time::{ClockId, Timespec, clock_gettime};
use whyoom_trace::Time;

/// The time to stamp an event with: nanoseconds since some start of the machine's own. The reader
/// turns it into Unix time.
///
/// Stamp what takes memory after the call that took it and what gives memory back before the call
/// that gives it: then, merged by time, a free always precedes the allocation that gets its address,
/// whichever threads they are on.
#[must_use]
#[inline]
pub fn now() -> Time {
    Time(nanoseconds(clock_gettime(ClockId::Monotonic)))
}

/// Unix time less [`now`], as closely as three readings tell.
pub(crate) fn unix_offset() -> i64 {
    let before = now().0;
    let unix = nanoseconds(clock_gettime(ClockId::Realtime));
    let after = now().0;
    unix.wrapping_sub(before + (after - before) / 2).cast_signed()
}

#[inline]
fn nanoseconds(time: Timespec) -> u64 {
    (time.tv_sec as u64).wrapping_mul(1_000_000_000).wrapping_add(time.tv_nsec as u64)
}
