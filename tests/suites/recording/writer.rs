//! The process that is killed: threads that record, and tell of each event before they do.

use std::{
    fs::{File, OpenOptions},
    io::Write,
    os::unix::fs::FileExt,
    path::{Path, PathBuf},
};

use anyhow::Result;
use whyoom_recording::{Definition, Options, Part, now};
use whyoom_trace::{Event, StackId, StringId, ThreadId};

use super::made;

pub(super) const THREADS: u32 = 4;
/// Small, so that many are filled before the end.
const SEGMENT: u32 = 32 << 10;
/// A thread's share of the ids.
const SHARE: u32 = 1 << 20;
/// One event in so many names a stack that was defined just before.
pub(super) const DEFINED_EVERY: u64 = 50;

/// Where a thread tells which event it is about to record.
pub(super) fn diary(folder: &Path, thread: u32) -> PathBuf {
    folder.join(format!("begun-{thread}"))
}

/// Records until it is killed.
pub(super) fn run(folder: &Path) -> Result<()> {
    let diaries: Vec<File> = (1..=THREADS)
        .map(|thread| {
            OpenOptions::new().create(true).truncate(true).write(true).open(diary(folder, thread))
        })
        .collect::<Result<_, _>>()?;
    // The other side starts its clock now: it may strike before there is a part.
    std::io::stdout().write_all(b"!")?;
    std::io::stdout().flush()?;
    let part = Part::create(folder, Options { segment_bytes: SEGMENT, limit: None })?;
    std::thread::scope(|scope| {
        for (thread, diary) in (1..).zip(&diaries) {
            let part = &part;
            scope.spawn(move || {
                // Only the kill ends a thread: the other side sees a process that ended by itself.
                if let Err(error) = record(part, thread, diary) {
                    eprintln!("thread {thread}: {error:#}");
                }
                std::process::exit(1)
            });
        }
    });
    Ok(())
}

fn record(part: &Part, thread: u32, diary: &File) -> Result<()> {
    let mut lease = part.lease(ThreadId(thread))?;
    for number in 0.. {
        diary.write_all_at(&u64::to_le_bytes(number), 0)?;
        let stack = match number % DEFINED_EVERY {
            0 => define(part, thread, number)?,
            _ => StackId(0),
        };
        let event = Event { time: now(), stack, ..made::event(thread, number) };
        lease.event(part, &event)?;
        if number % 1000 == 999 {
            // As if the thread had ended and another of the same number had come.
            drop(lease);
            lease = part.lease(ThreadId(thread))?;
        }
    }
    Ok(())
}

/// Defines a stack, with a name in it that no other has.
fn define(part: &Part, thread: u32, number: u64) -> Result<StackId> {
    let id = thread * SHARE + (number / DEFINED_EVERY) as u32;
    let text = format!("event {number} of thread {thread}");
    let frame = whyoom_trace::FrameId(id);
    part.define(Definition::String { id: StringId(id), text: text.as_bytes() })?;
    let (function, file) = (StringId(id), StringId(0));
    part.define(Definition::Frame { id: frame, function, file, line: 1 })?;
    let frames = [whyoom_recording::RawFrame::Named(frame)];
    part.define(Definition::Stack { id: StackId(id), frames: &frames })?;
    Ok(StackId(id))
}
