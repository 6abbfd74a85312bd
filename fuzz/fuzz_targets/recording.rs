//! Any bytes as the files of a recording, as they are or over files that were written in order:
//! read, never a panic, never more memory than their share.
#![no_main]

use std::{fs, path::Path, sync::OnceLock};

use libfuzzer_sys::fuzz_target;
use whyoom_recording::{Definition, Options, Part, RawFrame, Recording, Unresolved};
use whyoom_trace::{
    Action, Address, Bytes, Event, EventSink, FrameId, StackId, StringId, Tables, ThreadId, Time,
};

/// Events that the files written in order hold: enough for several blocks.
const EVENTS: u64 = 4000;
/// No record of an event is shorter.
const SHORTEST_RECORD: u64 = 3;

/// Counts events, and keeps none.
struct Count(u64);

impl EventSink for Count {
    fn event(&mut self, event: &Event, tables: &Tables) {
        self.0 += 1;
        // Whatever an event names is there.
        let _ = (tables.frames(event.stack).count(), tables.process_name(event.origin.process));
    }
}

/// The files of a recording that was written in order.
fn sound() -> &'static [(String, Vec<u8>)] {
    static FILES: OnceLock<Vec<(String, Vec<u8>)>> = OnceLock::new();
    FILES.get_or_init(|| {
        let folder = scratch("sound");
        write(&folder);
        let entries = fs::read_dir(folder).unwrap().map(Result::unwrap);
        let mut files: Vec<_> = entries
            .map(|entry| {
                (entry.file_name().into_string().unwrap(), fs::read(entry.path()).unwrap())
            })
            .collect();
        files.sort();
        files
    })
}

fn write(folder: &Path) {
    let part = Part::create(folder, Options { segment_bytes: 32 << 10, limit: None }).unwrap();
    let (id, text) = (StringId(1), b"step".as_slice());
    part.define(Definition::String { id, text }).unwrap();
    let (path, build_id) = (StringId(1), [7; 20].as_slice());
    part.define(Definition::Module { start: 0, end: 9, bias: 0, path, build_id }).unwrap();
    let (function, file) = (StringId(1), StringId(0));
    part.define(Definition::Frame { id: FrameId(1), function, file, line: 3 }).unwrap();
    let frames = [RawFrame::Native(5), RawFrame::Named(FrameId(1))];
    part.define(Definition::Stack { id: StackId(1), frames: &frames }).unwrap();
    let mut lease = part.lease(ThreadId(1)).unwrap();
    for at in 0..EVENTS {
        let (address, size) = (Address(at % 100 * 512), Bytes(at));
        let action = Action::BlockAlloc { address, requested: size, size };
        let (time, stack) = (Time(at * 10), StackId(1));
        lease.event(&part, &Event { time, stack, action, ..Event::default() }).unwrap();
    }
}

fn scratch(name: &str) -> std::path::PathBuf {
    let folder = std::env::temp_dir().join(format!("whyoom-fuzz-{}-{name}", std::process::id()));
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(&folder).unwrap();
    folder
}

/// The files that the bytes stand for: the first byte chooses how.
fn files(bytes: &[u8]) -> Vec<(String, Vec<u8>)> {
    let Some((&how, rest)) = bytes.split_first() else { return Vec::new() };
    let names = ["1-2-0.events", "1-2-0.tables", "1-2.part"];
    let choice = usize::from(how >> 2) % names.len();
    match how % 4 {
        // One file of these bytes.
        0 => vec![(names[choice].to_owned(), rest.to_vec())],
        // Three files, cut at places that the bytes name.
        1 => {
            let cut = rest.first().map_or(0, |&cut| usize::from(cut) * 16).min(rest.len());
            let (first, second) = rest.split_at(cut);
            let bytes = [first, second, rest];
            names.into_iter().zip(bytes).map(|(name, b)| (name.to_owned(), b.to_vec())).collect()
        }
        // Bytes over, or in place of the end of, a file that was written in order.
        way => {
            let mut files = sound().to_vec();
            let file = choice % files.len();
            let place = rest.first_chunk().map_or(0, |place| u32::from_le_bytes(*place) as usize);
            let (place, rest) = (place % (files[file].1.len() + 1), rest.get(4..).unwrap_or(&[]));
            if way == 2 {
                files[file].1.truncate(place);
                files[file].1.extend_from_slice(rest);
            } else {
                for (old, new) in files[file].1[place..].iter_mut().zip(rest) {
                    *old = *new;
                }
            }
            files
        }
    }
}

fuzz_target!(|bytes: &[u8]| {
    static FOLDER: OnceLock<std::path::PathBuf> = OnceLock::new();
    let folder = FOLDER.get_or_init(|| scratch("read"));
    for entry in fs::read_dir(folder).unwrap() {
        fs::remove_file(entry.unwrap().path()).unwrap();
    }
    let files = files(bytes);
    for (name, bytes) in &files {
        fs::write(folder.join(name), bytes).unwrap();
    }
    let Ok(recording) = Recording::open(folder) else { return };
    let (mut tables, mut count) = (Tables::default(), Count(0));
    let losses = recording.read(&mut Unresolved, &mut tables, &mut count).unwrap();
    let total: usize = files.iter().map(|(_, bytes)| bytes.len()).sum();
    assert!(count.0 <= total as u64 / SHORTEST_RECORD, "more events than bytes for them");
    assert!(losses.words().len() < 40 && losses.words().iter().all(|word| word.len() < 6000));
});
