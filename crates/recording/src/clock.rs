//! The clock of a recording.

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
    Time(read(libc::CLOCK_MONOTONIC))
}

/// Unix time less [`now`], as closely as three readings tell.
pub(crate) fn unix_offset() -> i64 {
    let before = now().0;
    let unix = read(libc::CLOCK_REALTIME);
    let after = now().0;
    unix.wrapping_sub(before + (after - before) / 2).cast_signed()
}

/// Nanoseconds of a clock, by way of the C library, which finds it wherever a program runs.
#[inline]
fn read(clock: libc::clockid_t) -> u64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the C library writes the time where it is told to; both clocks always exist.
    unsafe { libc::clock_gettime(clock, &mut time) };
    (time.tv_sec as u64).wrapping_mul(1_000_000_000).wrapping_add(time.tv_nsec as u64)
}
