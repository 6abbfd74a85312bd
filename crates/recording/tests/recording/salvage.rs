//! Damaged recordings: what is left is read, what is lost is told, nothing is made up.

use std::{
    fs,
    os::unix::{
        ffi::OsStringExt,
        fs::{FileExt, symlink},
    },
    path::{Path, PathBuf},
};

use proptest::{prelude::*, sample::Index};
use whyoom_recording::{Definition, Losses, OpenError, Recording};
use whyoom_trace::{Event, StackId, StringId, ThreadId};

use crate::{
    common::{alloc, number, part, read},
    model,
};

fn files(folder: &Path, kind: &str) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let mut files: Vec<_> =
        entries.filter(|path| path.extension().is_some_and(|e| e == kind)).collect();
    files.sort();
    files
}

/// A recording of one thread whose events are numbered, ended in order.
fn recording(events: u64) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let part = part(folder.path(), None);
    part.define(Definition::String { id: StringId(1), text: b"one" }).unwrap();
    part.define(Definition::Stack { id: StackId(1), frames: &[] }).unwrap();
    let mut lease = part.lease(ThreadId(1)).unwrap();
    for at in 0..events {
        lease.event(&part, &alloc(1, at)).unwrap();
    }
    folder
}

fn change(path: &Path, change: impl FnOnce(&mut Vec<u8>)) {
    let mut bytes = fs::read(path).unwrap();
    change(&mut bytes);
    fs::write(path, bytes).unwrap();
}

fn numbers(events: &[Event]) -> Vec<u64> {
    events.iter().map(number).collect()
}

#[test]
fn a_flipped_bit_costs_its_block() {
    let folder = recording(10_000);
    let file = &files(folder.path(), "events")[0];
    change(file, |bytes| bytes[20_000] ^= 4);
    let (events, _, losses) = read(folder.path());
    assert_eq!((losses.damaged_blocks, losses.lost_events), (1, 10_000 - events.len() as u64));
    assert!((500..3000).contains(&losses.lost_events), "{}", losses.lost_events);
    assert!(events.is_sorted_by_key(number));
    let said = losses.words().join(" ");
    assert!(said.contains("1 block was damaged: 16.00 KiB of events skipped."), "{said}");
    assert!(said.contains(&format!("At least {} events are lost", losses.lost_events)), "{said}");
}

#[test]
fn a_cut_file_is_read_up_to_the_cut() {
    let whole = recording(2000);
    let file = &files(whole.path(), "events")[0];
    let intact = fs::read(file).unwrap();
    let length = intact.len() as u64;
    for cut in [0, 1, 100, 128, 129, 1000, 16_383, 16_384, 16_390, length - 1] {
        fs::write(file, &intact[..cut as usize]).unwrap();
        let (events, _, losses) = read(whole.path());
        assert!(numbers(&events).into_iter().eq(0..events.len() as u64), "cut at {cut}");
        assert!(cut < 128 || losses.cut_bytes == length - cut, "cut at {cut}: {losses:?}");
        assert!(cut < 200 || !events.is_empty());
    }
}

#[test]
fn zeroed_pages_cost_their_blocks() {
    let folder = recording(10_000);
    let file = &files(folder.path(), "events")[0];
    change(file, |bytes| bytes[..4096].fill(0));
    let (events, _, losses) = read(folder.path());
    assert_eq!(losses.damaged_blocks, 1, "{losses:?}");
    assert!(events.len() > 8000 && events.is_sorted_by_key(number));
}

#[test]
fn a_hole_is_skipped() {
    const HOLE: u64 = 1 << 40;
    let folder = recording(1000);
    let before = numbers(&read(folder.path()).0);
    let file = &files(folder.path(), "events")[0];
    let sparse = fs::OpenOptions::new().write(true).open(file).unwrap();
    sparse.set_len(HOLE).unwrap();
    assert_eq!(numbers(&read(folder.path()).0), before);
    // The writer was at its end, as it says.
    sparse.write_all_at(&HOLE.to_le_bytes(), 64).unwrap();
    assert!(read(folder.path()).2.damaged_bytes > HOLE / 2);
    // It says nothing at all.
    sparse.write_all_at(&[0; 128], 0).unwrap();
    assert_eq!(read(folder.path()).2.damaged_headers, 0);
}

#[test]
fn only_regular_files_of_the_folder_are_read() {
    let (folder, other) = (recording(1000), recording(1000));
    let moved = other.path().join("moved");
    for kind in ["tables", "events", "part"] {
        let file = &files(folder.path(), kind)[0];
        fs::rename(file, &moved).unwrap();
        symlink(&moved, file).unwrap();
        let events = Recording::open(folder.path()).map(|_| read(folder.path()).0.len());
        assert_eq!(events.unwrap_or_default(), if kind == "events" { 0 } else { 1000 }, "{kind}");
        fs::remove_file(file).unwrap();
        fs::rename(&moved, file).unwrap();
    }
}

#[test]
fn a_piece_of_the_largest_number_is_the_last() {
    let folder = recording(10);
    let piece = &files(folder.path(), "tables")[0];
    let name = piece.to_str().unwrap().replace("-0.tables", "-4294967295.tables");
    fs::copy(piece, name).unwrap();
    assert_eq!(read(folder.path()).0.len(), 10);
}

#[test]
fn a_removed_file_is_missed() {
    let folder = recording(20_000);
    let segments = files(folder.path(), "events");
    assert!(segments.len() > 2);
    fs::remove_file(&segments[1]).unwrap();
    let (events, _, losses) = read(folder.path());
    assert_eq!(losses.words(), ["1 file was removed from the recording."]);
    assert!(events.is_sorted_by_key(number) && events.len() < 20_000);
    fs::remove_file(&files(folder.path(), "tables")[0]).unwrap();
    assert_eq!(read(folder.path()).2.missing_files, 2);
}

#[test]
fn events_outlive_the_file_that_says_whose_they_are() {
    let folder = recording(100);
    let before = read(folder.path()).0;
    fs::remove_file(&files(folder.path(), "part")[0]).unwrap();
    let (events, tables, losses) = read(folder.path());
    assert_eq!(losses.nameless_parts, 1);
    assert_eq!(numbers(&events), numbers(&before));
    assert_eq!(events[0].time, before[0].time, "segments know the clock too");
    let name = format!("PID {}", std::process::id());
    assert_eq!(tables.process_name(events[0].origin.process), name);
}

#[test]
fn a_damaged_definition_costs_itself() {
    let folder = tempfile::tempdir().unwrap();
    let part = part(folder.path(), None);
    for id in 1..=100 {
        let text = format!("text number {id}");
        part.define(Definition::String { id: StringId(id), text: text.as_bytes() }).unwrap();
    }
    let mark = |name| whyoom_trace::Action::Mark {
        kind: whyoom_trace::MarkKind::Phase,
        name: StringId(name),
    };
    let mut lease = part.lease(ThreadId(1)).unwrap();
    for id in 1..=100u32 {
        lease.event(&part, &Event { action: mark(id), ..alloc(1, id.into()) }).unwrap();
    }
    drop(lease);
    drop(part);
    change(&files(folder.path(), "tables")[0], |bytes| bytes[1000] ^= 0xff);
    let (events, tables, losses) = read(folder.path());
    assert_eq!(events.len(), 100);
    assert_eq!(losses.undefined, 1, "{losses}");
    assert!(losses.damaged_definitions > 0);
    let names = events.iter().filter(|event| match event.action {
        whyoom_trace::Action::Mark { name, .. } => tables.text(name).starts_with("text number"),
        _ => false,
    });
    assert_eq!(names.count(), 99);
}

#[test]
fn a_newer_format_is_refused_by_name() {
    let folder = recording(10);
    for kind in ["part", "tables", "events"] {
        for file in files(folder.path(), kind) {
            change(&file, |bytes| bytes[8] = 9);
        }
    }
    let error = Recording::open(folder.path()).unwrap_err();
    assert!(matches!(error, OpenError::Newer { version: 9, .. }), "{error}");
}

#[test]
fn a_folder_without_a_recording_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("notes.txt"), "x").unwrap();
    assert!(matches!(Recording::open(folder.path()), Err(OpenError::Empty(_))));
    let nowhere = folder.path().join("nowhere");
    assert!(matches!(Recording::open(&nowhere), Err(OpenError::Unreadable { .. })));
}

#[test]
fn what_is_no_file_is_left_alone() {
    let folder = recording(10);
    let pipe = folder.path().join("1-1-0.events\0");
    let pipe = std::ffi::CString::from_vec_with_nul(pipe.into_os_string().into_vec()).unwrap();
    // SAFETY: the path is a string.
    assert_eq!(unsafe { libc::mkfifo(pipe.as_ptr(), 0o600) }, 0);
    fs::create_dir(folder.path().join("1-1.part")).unwrap();
    assert_eq!(read(folder.path()).0.len(), 10);
}

/// One thing that befalls a file.
#[derive(Clone, Debug)]
enum Harm {
    Cut(Index),
    Zero(Index, usize),
    Garbage(Index, Vec<u8>),
    Delete,
}

fn harm() -> impl Strategy<Value = (Index, Harm)> {
    let garbage = prop::collection::vec(any::<u8>(), 1..64);
    let harm = prop_oneof![
        any::<Index>().prop_map(Harm::Cut),
        (any::<Index>(), 1..20_000usize).prop_map(|(at, length)| Harm::Zero(at, length)),
        (any::<Index>(), garbage).prop_map(|(at, bytes)| Harm::Garbage(at, bytes)),
        Just(Harm::Delete),
    ];
    (any::<Index>(), harm)
}

fn befall(path: &Path, harm: &Harm) {
    match harm {
        Harm::Delete => fs::remove_file(path).unwrap(),
        // A file that is cut to nothing is like one that was just made.
        Harm::Cut(at) => change(path, |bytes| bytes.truncate(at.index(bytes.len()) + 1)),
        Harm::Zero(at, length) => change(path, |bytes| {
            let start = at.index(bytes.len() + 1);
            let end = (start + length).min(bytes.len());
            bytes[start..end].fill(0);
        }),
        Harm::Garbage(at, garbage) => change(path, |bytes| {
            let start = at.index(bytes.len() + 1);
            for (byte, garbage) in bytes[start..].iter_mut().zip(garbage) {
                *byte = *garbage;
            }
        }),
    }
}

/// Whether a thread's events are some of those that it wrote, in its order. Names may be missing.
fn some_of(read: &[Event], written: &[Event]) -> bool {
    let mut written = written.iter();
    let plain = |event: &Event| (event.time, event.result, std::mem::discriminant(&event.action));
    read.iter().all(|event| written.any(|other| plain(other) == plain(event)))
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]

    #[test]
    fn whatever_befalls_a_file_nothing_is_made_up(
        steps in model::steps(4000),
        harms in prop::collection::vec(harm(), 1..4),
    ) {
        let folder = tempfile::tempdir().unwrap();
        let written = model::write(folder.path(), &steps, None);
        let offset = model::offset(folder.path());
        // One harm a file: the last block of a file that was cut has no checksum, so that what is
        // overwritten in it can pass for what was written.
        let mut sound = [files(folder.path(), "events"), files(folder.path(), "tables")].concat();
        for (which, harm) in &harms {
            if !sound.is_empty() {
                befall(&sound.swap_remove(which.index(sound.len())), harm);
            }
        }
        let (events, _, losses) = read(folder.path());
        let threads = model::by_thread(&events, offset);
        for (read, written) in threads.iter().zip(&written) {
            prop_assert!(some_of(read, written), "made up");
        }
        let lost = written.iter().flatten().count() - events.len();
        prop_assert!(lost == 0 || losses != Losses::default(), "{} lost in silence", lost);
    }
}
