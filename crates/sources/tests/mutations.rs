//! Files of other tools with bytes changed, cut and repeated: read or refused, never a panic. The fuzz targets go on
//! from here.
#![allow(clippy::disallowed_methods, reason = "a test's own files")]
#![expect(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

use std::fs;

use whyoom_sources::{nsys, rmm_log};
use whyoom_trace::{DeviceId, Event, Tables};

const FIXTURES: &str = "../../tests/fixtures/imports";

/// Numbers that look like chance, the same each time.
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, limit: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 % limit as u64).unwrap()
    }
}

fn mutate(sound: &[u8], numbers: &mut Numbers) -> Vec<u8> {
    let mut bytes = sound.to_vec();
    for _ in 0..=numbers.below(12) {
        let place = numbers.below(bytes.len());
        bytes[place] = u8::try_from(numbers.below(256)).unwrap();
    }
    match numbers.below(4) {
        0 => bytes.truncate(numbers.below(bytes.len()).max(1)),
        1 => {
            let from = numbers.below(bytes.len());
            bytes.extend_from_within(from..);
        }
        _ => {}
    }
    bytes
}

#[test]
fn a_log_of_rmm_with_faults_is_read() {
    let sound = fs::read(format!("{FIXTURES}/rmm.dev0.csv")).unwrap();
    let mut numbers = Numbers(41);
    for _ in 0..500 {
        let bytes = mutate(&sound, &mut numbers);
        let (mut tables, mut events) = (Tables::default(), Vec::<Event>::new());
        rmm_log::import(&bytes[..], "log", DeviceId(0), &mut tables, &mut events).unwrap();
        let lines = bytes.split(|byte| *byte == b'\n').count();
        assert!(events.len() <= lines + 64, "{} of {lines} lines", events.len());
    }
}

#[test]
fn an_export_with_faults_is_read_or_refused() {
    let sound = fs::read(format!("{FIXTURES}/nsys-growth.sqlite")).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("export.sqlite");
    let (mut numbers, mut read) = (Numbers(43), 0);
    for _ in 0..200 {
        fs::write(&path, mutate(&sound, &mut numbers)).unwrap();
        let (mut tables, mut events) = (Tables::default(), Vec::<Event>::new());
        read += u32::from(nsys::import(&path, "export", &mut tables, &mut events).is_ok());
        assert!(events.len() <= sound.len());
    }
    assert!(read > 20, "only {read} were read: the others say nothing of the importer");
}
