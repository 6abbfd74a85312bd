//! A recording's folder that somebody sent: each of its files may be something else, longer than any disk, or
//! made to become much more than it is.

use std::{
    fs::{self, File},
    io::Write,
    os::unix::fs::FileExt,
    path::Path,
};

use anyhow::{Result, ensure};
use harness::{Held, input_bytes};
use whyoom_recording::{Definition, Options, Part, RawFrame};
use whyoom_sources::recording::{Ending, MachineSample, SeenDevice, SeenHolder};
use whyoom_trace::{Action, Bytes, Event, PoolId, ResultCode, StackId, StringId, ThreadId, Time};

use super::made::{HOLE, Instead, files, place, read_by_all, recording, written};

/// Files that a recording may have beside its events, its tables and its part.
const BESIDE: [&str; 5] =
    ["run.json", "machine.jsonl", "keepers-1.json", "torch/1.pickle", "torch"];

pub(super) fn fifos() -> Result<Held> {
    everywhere("fifos", &[Instead::Fifo, Instead::LinkToFifo])
}

pub(super) fn devices() -> Result<Held> {
    everywhere("devices", &[Instead::LinkToDevice])
}

pub(super) fn links() -> Result<Held> {
    everywhere("links", &[Instead::LinkToSecret, Instead::LinkToFolder])
}

pub(super) fn holes() -> Result<Held> {
    everywhere("holes", &[Instead::Hole, Instead::Folder])
}

/// Puts each of these in the place of each file.
fn everywhere(name: &str, all: &[Instead]) -> Result<Held> {
    let mut commands = 0;
    for instead in all {
        let (folder, beside) = place(name)?;
        let part = recording(&folder)?;
        let own = [".part", "-0.tables", "-0.events"].map(|end| format!("{part}{end}"));
        let names = own.iter().map(String::as_str).chain(BESIDE);
        // All in one folder would stop at the first: one at a time, each in a copy.
        for file in names {
            let (copy, beside) = (beside.join("copy"), &beside);
            copy_of(&folder, &copy)?;
            let bytes = input_bytes(&copy)?;
            instead.put(&copy.join(file), beside)?;
            commands += read_by_all(&copy, beside, bytes, &format!("{instead:?} for {file}"))?;
            fs::remove_dir_all(copy)?;
        }
        fs::remove_dir_all(beside)?;
    }
    Ok(Held::new("each read in bounds").count("commands", commands))
}

fn copy_of(folder: &Path, copy: &Path) -> Result<()> {
    fs::create_dir(copy)?;
    for name in files(folder)? {
        let (from, to) = (folder.join(&name), copy.join(&name));
        if from.is_dir() {
            copy_of(&from, &to)?;
        } else {
            fs::copy(from, to)?;
        }
    }
    Ok(())
}

/// A segment and a piece of the tables, each a terabyte that begins as it should; a hundred of them.
pub(super) fn sparse_segments() -> Result<Held> {
    let (folder, beside) = place("sparse")?;
    let part = recording(&folder)?;
    let bytes = input_bytes(&folder)?;
    for end in ["-0.tables", "-0.events"] {
        let file = folder.join(format!("{part}{end}"));
        for number in 1..100 {
            let other = folder.join(format!("{part}{}", end.replace('0', &number.to_string())));
            fs::copy(&file, &other)?;
            let other = File::options().write(true).open(other)?;
            other.set_len(HOLE)?;
            // Where the writer was, as it says: at the end.
            other.write_all_at(&HOLE.to_le_bytes(), 64)?;
        }
    }
    let commands = read_by_all(&folder, &beside, 100 * bytes, "sparse segments")?;
    fs::remove_dir_all(beside)?;
    Ok(Held::new("read as far as there is anything").count("commands", commands))
}

/// As many names as a folder can have.
pub(super) fn many_files() -> Result<Held> {
    const FILES: u32 = 50_000;
    let (folder, beside) = place("many")?;
    recording(&folder)?;
    for number in 0..FILES {
        let name = match number % 2 {
            0 => format!("{number}-1.part"),
            _ => format!("7-1-{number}.events"),
        };
        File::create_new(folder.join(name))?;
    }
    let commands = read_by_all(&folder, &beside, u64::from(FILES) * 32, "many files")?;
    fs::remove_dir_all(beside)?;
    Ok(Held::new(format!("{FILES} files listed in bounds")).count("commands", commands))
}

/// What lies beside the events, as long as somebody likes.
pub(super) fn long_files() -> Result<Held> {
    let (folder, beside) = place("long")?;
    recording(&folder)?;
    let words = vec![String::new(); 1 << 21];
    Ending { command: words, pid: 1, status: Some(1), ..Ending::default() }.write(&folder)?;
    let holder = |pid| SeenHolder { pid, command: "x".to_owned(), ..SeenHolder::default() };
    let devices =
        vec![SeenDevice { holders: (0..20_000).map(holder).collect(), ..SeenDevice::default() }];
    let own = std::process::id();
    for time in 0..3 {
        MachineSample { time, pid: own, devices: devices.clone() }.append(&folder)?;
    }
    let mut long = File::create(folder.join("keepers-1.json"))?;
    long.write_all(&vec![b'['; 20 << 20])?;
    let commands = read_by_all(&folder, &beside, input_bytes(&folder)?, "long files")?;
    fs::remove_dir_all(beside)?;
    Ok(Held::new("read in bounds").count("commands", commands))
}

/// Thousands of failures, for each of which the machine was seen with thousands of holders.
pub(super) fn looks() -> Result<Held> {
    let (folder, beside) = place("looks")?;
    let part = Part::create(&folder, Options { segment_bytes: 1 << 20, limit: None })?;
    let mut lease = part.lease(ThreadId(1))?;
    let mut failure = Event { result: ResultCode(2), ..Event::default() };
    for at in 0..20_000 {
        let action = Action::OutOfMemory { requested: Bytes(1) };
        failure = Event { time: Time(at), action, ..failure };
        lease.event(&part, &failure)?;
    }
    drop((lease, part));
    let holder = |pid| SeenHolder { pid, bytes: 1, ..SeenHolder::default() };
    let devices =
        vec![SeenDevice { holders: (0..10_000).map(holder).collect(), ..SeenDevice::default() }];
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH)?;
    let boot = now.as_nanos() as u64 - whyoom_recording::now().0;
    MachineSample { time: boot + 1_000_000, pid: std::process::id(), devices }.append(&folder)?;
    let commands = read_by_all(&folder, &beside, input_bytes(&folder)?, "looks")?;
    fs::remove_dir_all(beside)?;
    Ok(Held::new("told in bounds").count("commands", commands))
}

type Define<'a> = dyn Fn(&Part) -> Result<(), whyoom_recording::Stop> + 'a;

/// Definitions that become much more than they are: long paths of many modules, names for many addresses, ids
/// far apart.
pub(super) fn definitions() -> Result<Held> {
    let mut commands = 0;
    let long = "x".repeat(40_000);
    let module = |at: u64| Definition::Module {
        start: at << 20,
        end: (at + 1) << 20,
        bias: 0,
        path: StringId(1),
        build_id: &[],
    };
    let cases: [(&str, &Define<'_>); 3] = [
        ("long paths", &|part| {
            part.define(Definition::String { id: StringId(1), text: long.as_bytes() })?;
            (0..20_000).try_for_each(|at| part.define(module(at)))
        }),
        ("long names", &|part| {
            part.define(Definition::String { id: StringId(1), text: long.as_bytes() })?;
            part.define(module(0))?;
            (0..100).try_for_each(|stack| {
                let frames: Vec<_> =
                    (0..2000).map(|at| RawFrame::Native(stack * 2000 + at)).collect();
                part.define(Definition::Stack { id: StackId(stack as u32 + 1), frames: &frames })
            })
        }),
        ("ids far apart", &|part| {
            (1..60_000).try_for_each(|at| {
                part.define(Definition::Pool { id: PoolId(at * 1000), first: 0, second: 0 })
            })
        }),
    ];
    for (name, define) in cases {
        let (folder, beside) = place("definitions")?;
        written(&folder, define)?;
        let bytes = input_bytes(&folder)?;
        ensure!(bytes < 8 << 20, "{name}: {bytes} bytes");
        commands += read_by_all(&folder, &beside, bytes, name)?;
        fs::remove_dir_all(beside)?;
    }
    Ok(Held::new("taken in bounds").count("commands", commands))
}
