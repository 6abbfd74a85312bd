//! Any bytes as a plan of a whole recording's folder: files with the right names and first bytes, links, FIFOs,
//! holes, what lies beside the events. It is imported and judged: never a panic, never a wait, never more memory
//! than its share.
#![no_main]

use std::{
    fs::{self, File},
    io::Write,
    os::unix::fs::{FileExt, symlink},
    path::{Path, PathBuf},
    process::Command,
    sync::OnceLock,
};

use libfuzzer_sys::fuzz_target;
use whyoom_causes::judge;
use whyoom_memory::Model;
use whyoom_recording::{Definition, Options, Part, RawFrame};
use whyoom_sources::recording::import;
use whyoom_symbols::Symbols;
use whyoom_trace::{
    Action, Address, Bytes, Event, FrameId, StackId, StringId, Tables, ThreadId, Time,
};

/// Entries of a folder: each names one, or a file of the process that was recorded.
const NAMES: [&str; 12] = [
    "run.json",
    "machine.jsonl",
    "keepers-1.json",
    "torch",
    "7-7.part",
    "7-7-0.events",
    "7-7-0.tables",
    "7-7-4294967295.tables",
    "7-7-EXEC1.part",
    ".part",
    "-0.events",
    "-0.tables",
];
/// What JSON files begin with.
const JSON: [&str; 3] = [
    r#"{"command":["a"],"pid":1,"time":1,"status":null,"signal":9,"killed_for_memory":1}"#,
    r#"{"time":1,"pid":1,"devices":[{"index":0,"uuid":"GPU-1","total":9,"free":1,"holders":[]}]}"#,
    "",
];

/// The steps of a plan, byte by byte; zeros where it has ended.
struct Plan<'a>(&'a [u8]);

impl<'a> Plan<'a> {
    fn byte(&mut self) -> u8 {
        let (first, rest) = self.0.split_first().unwrap_or((&0, &[]));
        self.0 = rest;
        *first
    }

    fn word(&mut self) -> u64 {
        u64::from_le_bytes(std::array::from_fn(|_| self.byte()))
    }

    fn bytes(&mut self) -> &'a [u8] {
        let length = usize::from(self.byte()) * 8;
        let (first, rest) = self.0.split_at(length.min(self.0.len()));
        self.0 = rest;
        first
    }
}

fn scratch(name: &str) -> PathBuf {
    let folder = std::env::temp_dir().join(format!("whyoom-fuzz-{}-{name}", std::process::id()));
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(&folder).unwrap();
    folder
}

/// The files of a recording that was written in order, and what they are called after.
fn sound() -> &'static (Vec<(String, Vec<u8>)>, String) {
    static FILES: OnceLock<(Vec<(String, Vec<u8>)>, String)> = OnceLock::new();
    FILES.get_or_init(|| {
        let folder = scratch("sound");
        write(&folder);
        let entries = fs::read_dir(&folder).unwrap().map(Result::unwrap);
        let mut files: Vec<_> = entries
            .map(|entry| {
                (entry.file_name().into_string().unwrap(), fs::read(entry.path()).unwrap())
            })
            .collect();
        files.sort();
        let stem = files.iter().find_map(|(name, _)| name.strip_suffix(".part")).unwrap();
        let stem = stem.to_owned();
        (files, stem)
    })
}

fn write(folder: &Path) {
    let part = Part::create(folder, Options { segment_bytes: 16 << 10, limit: None }).unwrap();
    for (id, text) in [(1, "step"), (2, "/dev/zero"), (3, "/bin/true")] {
        part.define(Definition::String { id: StringId(id), text: text.as_bytes() }).unwrap();
    }
    for (at, path) in [(0, StringId(2)), (9, StringId(3))] {
        let (start, end) = (at, at + 9);
        part.define(Definition::Module { start, end, bias: 0, path, build_id: &[] }).unwrap();
    }
    let (function, file) = (StringId(1), StringId(0));
    part.define(Definition::Frame { id: FrameId(1), function, file, line: 3 }).unwrap();
    let frames = [RawFrame::Native(5), RawFrame::Native(12), RawFrame::Named(FrameId(1))];
    part.define(Definition::Stack { id: StackId(1), frames: &frames }).unwrap();
    let mut lease = part.lease(ThreadId(1)).unwrap();
    for at in 0..500 {
        let (address, size) = (Address(at % 100 * 512), Bytes(at));
        let action = match at % 50 {
            0 => Action::OutOfMemory { requested: size },
            _ => Action::BlockAlloc { address, requested: size, size },
        };
        let (time, stack) = (Time(at * 10), StackId(1));
        lease.event(&part, &Event { time, stack, action, ..Event::default() }).unwrap();
    }
}

/// Makes the folder that a plan asks for.
fn make(folder: &Path, plan: &mut Plan<'_>) {
    let (files, stem) = sound();
    if plan.byte() % 4 > 0 {
        for (name, bytes) in files {
            fs::write(folder.join(name), bytes).unwrap();
        }
    }
    while !plan.0.is_empty() {
        let name = NAMES[usize::from(plan.byte()) % NAMES.len()];
        let own = if name.starts_with(['.', '-']) { stem.as_str() } else { "" };
        put(&folder.join(format!("{own}{name}")), plan);
    }
}

fn put(path: &Path, plan: &mut Plan<'_>) {
    let way = plan.byte() % 8;
    // Over a file that is there, or in place of it.
    if way > 1 || !path.is_file() {
        let _ = fs::remove_file(path);
        let _ = fs::remove_dir_all(path);
    }
    match way {
        0 => {
            let Ok(file) = File::options().write(true).create(true).truncate(false).open(path)
            else {
                return;
            };
            let place = plan.word() % (1 << 16);
            let _ = file.write_all_at(plan.bytes(), place);
        }
        // Longer or shorter: mostly a hole.
        1 => {
            let length = plan.word() % (1 << 41);
            let file = File::options().write(true).create(true).truncate(false).open(path);
            let _ = file.and_then(|file| file.set_len(length));
        }
        2 => drop(symlink("/dev/zero", path)),
        3 => drop(symlink(path.parent().unwrap(), path)),
        4 => {
            static FIFO: OnceLock<PathBuf> = OnceLock::new();
            // Made once by another program, and linked: a link is a name like any other.
            let fifo = FIFO.get_or_init(|| {
                let fifo = scratch("fifo").join("fifo");
                assert!(Command::new("mkfifo").arg(&fifo).status().unwrap().success());
                fifo
            });
            let _ = fs::hard_link(fifo, path);
        }
        5 => drop(fs::create_dir(path)),
        6 => {
            let start = JSON[usize::from(plan.byte()) % JSON.len()];
            let Ok(mut file) = File::create(path) else { return };
            for _ in 0..=plan.byte() % 4 {
                let _ = file.write_all(start.as_bytes());
                let _ = file.write_all(plan.bytes());
            }
        }
        _ => drop(fs::write(path, plan.bytes())),
    }
}

fuzz_target!(|bytes: &[u8]| {
    static FOLDER: OnceLock<PathBuf> = OnceLock::new();
    let folder = FOLDER.get_or_init(|| scratch("folder"));
    fs::remove_dir_all(folder).unwrap();
    fs::create_dir(folder).unwrap();
    make(folder, &mut Plan(bytes));
    let (mut tables, mut model) = (Tables::default(), Model::default());
    let Ok(summary) = import(folder, &mut Symbols::default(), &mut tables, &mut model) else {
        return;
    };
    assert!(summary.notes.len() < 60 && summary.notes.iter().all(|note| note.len() < 20_000));
    let _ = judge(&model, &tables);
});
