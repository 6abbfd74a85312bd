//! Any bytes as a log that grows in pieces while agents come and go: the same messages are found as in one piece,
//! and what runtimes put around lines is taken away, never a panic.
#![no_main]

use std::{
    fs::{self, File},
    io::Write,
    path::{Path, PathBuf},
    sync::OnceLock,
    time::{Duration, Instant},
};

use libfuzzer_sys::fuzz_target;
use whyoom_logs::{Follower, Pattern, Positions, Start, decode};

/// Read at once by the follower: the log is longer or shorter than that.
const CHUNK: usize = 256 << 10;
/// What follows a message belongs to it, and messages so close to each other are one: then pieces do not matter.
const MOST: usize = 16 << 10;
const MOST_PIECES: usize = 8;
/// Long enough for a message to be over.
const QUIET: Duration = Duration::from_secs(3);

/// What was found: where, and the text.
type Messages = Vec<(String, String)>;

fn folder() -> &'static Path {
    static FOLDER: OnceLock<PathBuf> = OnceLock::new();
    FOLDER.get_or_init(|| {
        let folder = std::env::temp_dir().join(format!("whyoom-fuzz-{}-log", std::process::id()));
        let _ = fs::remove_dir_all(&folder);
        fs::create_dir_all(&folder).unwrap();
        folder
    })
}

fn follower(known: Positions) -> Follower {
    let pattern = Pattern::new(&folder().join("*.log")).unwrap();
    Follower::new(vec![pattern], known, Start::First)
}

/// Writes a log in pieces and reads after each; with another agent after each where that is wished.
fn told(pieces: &[&[u8]], is_restarted: bool) -> Messages {
    let path = folder().join("a.log");
    let _ = fs::remove_file(&path);
    let mut log = File::create(&path).unwrap();
    let mut now = Instant::now();
    let (mut follower, mut all) = (follower(Positions::new()), Messages::new());
    for piece in pieces {
        log.write_all(piece).unwrap();
        follower.look(now);
        collect(&mut follower, now, &mut all);
        if is_restarted {
            follower = self::follower(follower.positions());
        }
    }
    follower.look(now);
    for _ in 0..1000 {
        now += QUIET;
        collect(&mut follower, now, &mut all);
        if follower.is_done() {
            assert_eq!(follower.lost, 0);
            return all;
        }
    }
    panic!("it does not come to an end");
}

fn collect(follower: &mut Follower, now: Instant, all: &mut Messages) {
    for found in follower.poll(now, 100) {
        // Without the number of the file and its time.
        let at = found.name.splitn(3, ':').nth(2).unwrap().to_owned();
        all.push((at, found.text));
    }
}

/// The text in each frame is the text again.
fn check_frames(text: &str) {
    let time = "2026-11-18T03:04:05.123456789Z";
    let (mut docker, mut cri) = (String::new(), String::new());
    for line in text.split_terminator('\n') {
        let log = serde_json::to_string(&format!("{line}\n")).unwrap();
        docker += &format!("{{\"log\":{log},\"stream\":\"stderr\",\"time\":\"{time}\"}}\n");
        cri += &format!("{time} stderr F {line}\n");
    }
    for framed in [docker, cri] {
        assert_eq!(decode(framed.as_bytes()).trim_end_matches('\n'), text.trim_end_matches('\n'));
    }
}

fuzz_target!(|bytes: &[u8]| {
    let _ = decode(bytes);
    check_frames(&String::from_utf8_lossy(bytes).replace(['\r', '\0'], ""));
    // Two bytes say what comes before, and the next ones where pieces end.
    let Some((&[low, high, count], rest)) = bytes.split_first_chunk() else { return };
    let before = usize::from(u16::from_le_bytes([low, high]));
    // Seldom as much as is read at once: that takes longer than all the rest.
    let before = if before.is_multiple_of(32) { CHUNK - before / 8 } else { before / 64 };
    let count = usize::from(count) % MOST_PIECES;
    if rest.len() < 2 * count || rest.len() > MOST {
        return;
    }
    let (ends, text) = rest.split_at(2 * count);
    let log = [&b"step\n".repeat(before / 5), text].concat();
    let mut ends: Vec<usize> = ends
        .chunks_exact(2)
        .map(|end| log.len() - usize::from(u16::from_le_bytes([end[0], end[1]])) % (log.len() + 1))
        .chain([0, log.len()])
        .collect();
    ends.sort_unstable();
    let pieces: Vec<&[u8]> = ends.windows(2).map(|ends| &log[ends[0]..ends[1]]).collect();
    let whole = told(&[&log], false);
    assert_eq!(told(&pieces, false), whole, "in pieces");
    assert_eq!(told(&pieces, true), whole, "in pieces, each read by another agent");
});
