//! Any bytes as an object of the archive, as they are or over one that was written in order: read or refused,
//! never a panic outside, never more memory than is allowed.
#![no_main]

use std::{
    alloc::{GlobalAlloc, Layout, System},
    sync::{
        OnceLock,
        atomic::{AtomicUsize, Ordering},
    },
};

use libfuzzer_sys::fuzz_target;
use whyoom_incident::parquet;

/// What a file may be read into, and what that may take in all.
const MOST: u64 = 16 << 20;
const MOST_TAKEN: usize = 64 << 20;
/// What the footer becomes, for each byte of a file.
const PER_BYTE: usize = 256;

/// Counts what is taken at a time.
struct Counting;

static TAKEN: AtomicUsize = AtomicUsize::new(0);
static PEAK: AtomicUsize = AtomicUsize::new(0);

// SAFETY: it counts, and hands everything on to the system's allocator.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let taken = TAKEN.fetch_add(layout.size(), Ordering::Relaxed) + layout.size();
        PEAK.fetch_max(taken, Ordering::Relaxed);
        // SAFETY: as the caller promises.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, place: *mut u8, layout: Layout) {
        TAKEN.fetch_sub(layout.size(), Ordering::Relaxed);
        // SAFETY: as the caller promises.
        unsafe { System.dealloc(place, layout) }
    }
}

#[global_allocator]
static COUNTING: Counting = Counting;

/// An object that was written in order.
const SOUND: &[u8] = include_bytes!("../../tests/fixtures/incidents/version-1.parquet");

/// The object that the bytes stand for: the first byte chooses how.
fn object(bytes: &[u8]) -> Vec<u8> {
    let Some((&how, rest)) = bytes.split_first() else { return Vec::new() };
    // An object begins with a P.
    if how == b'P' {
        return bytes.to_vec();
    }
    let place = rest.first_chunk().map_or(0, |place| u16::from_le_bytes(*place).into());
    let (mut object, rest) = (SOUND.to_vec(), rest.get(2..).unwrap_or(&[]));
    let place = place % SOUND.len();
    match how % 2 {
        0 => object[place..].iter_mut().zip(rest).for_each(|(old, new)| *old = *new),
        _ => drop(object.splice(place..place, rest.iter().copied())),
    }
    object
}

fuzz_target!(|bytes: &[u8]| {
    // What panics inside is caught there; libFuzzer would end at it.
    static QUIET: OnceLock<()> = OnceLock::new();
    QUIET.get_or_init(|| std::panic::set_hook(Box::new(|_| {})));
    let object = object(bytes);
    let allowed = MOST_TAKEN + PER_BYTE * object.len();
    let before = TAKEN.load(Ordering::Relaxed);
    PEAK.store(before, Ordering::Relaxed);
    let read = parquet::read_within(object.clone().into(), MOST);
    let taken = PEAK.load(Ordering::Relaxed).saturating_sub(before);
    assert!(taken <= allowed, "{taken} bytes for {} of an object", object.len());
    if let Ok(incidents) = read {
        let again = parquet::write(&incidents).and_then(|bytes| parquet::read(bytes.into()));
        assert!(
            again.is_ok_and(|again| again == incidents),
            "what was read is not what is written"
        );
    }
    let _ = parquet::unknown_columns(object.into());
});
