use std::{
    fs::{self, File, OpenOptions},
    io::Write as _,
    path::{Path, PathBuf},
    time::{Duration, Instant},
};

use crate::{Follower, Found, Pattern, Positions, Start};

const MESSAGE: &str = "Traceback (most recent call last):\n  File \"train.py\", line 4, in <module>\n\
    torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has a total capacity of 79.25 \
    GiB of which 1.10 GiB is free.\n";

struct Logs {
    folder: tempfile::TempDir,
    follower: Follower,
    now: Instant,
}

impl Logs {
    fn new(start: Start) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let follower = Self::follower(folder.path(), Positions::new(), start);
        Self { folder, follower, now: Instant::now() }
    }

    fn follower(folder: &Path, known: Positions, start: Start) -> Follower {
        Follower::new(vec![Pattern::new(&folder.join("*.log")).expect("a pattern")], known, start)
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn add(&self, name: &str, text: &str) {
        let file = OpenOptions::new().append(true).create(true).open(self.path(name));
        file.and_then(|mut file| file.write_all(text.as_bytes())).expect("it is written");
    }

    /// A round, and one that comes after what is quiet is taken for complete.
    fn found(&mut self) -> Vec<Found> {
        self.follower.look(self.now);
        let mut all = self.follower.poll(self.now, 100);
        self.now += Duration::from_secs(3);
        all.extend(self.follower.poll(self.now, 100));
        all
    }

    fn restart(&mut self) {
        let known = self.follower.positions();
        self.follower = Self::follower(self.folder.path(), known, Start::First);
    }
}

#[test]
fn a_message_is_found_once_with_its_traceback() {
    let mut logs = Logs::new(Start::First);
    logs.add("a.log", &"step\n".repeat(100_000));
    logs.add("a.log", MESSAGE);
    let found = logs.found();
    assert_eq!(found.len(), 1);
    assert!(found[0].text.contains("train.py\", line 4"), "{}", found[0].text.len());
    assert!(found[0].text.len() < 70_000);
    assert!(logs.found().is_empty());
    logs.add("a.log", "step\n");
    assert!(logs.found().is_empty());
    logs.add("a.log", MESSAGE);
    let again = logs.found();
    assert_eq!(again.len(), 1);
    assert_eq!(
        again[0].text.matches("CUDA out of memory").count(),
        1,
        "the earlier one is done with"
    );
}

#[test]
fn a_message_that_comes_in_pieces_is_one() {
    let mut logs = Logs::new(Start::First);
    logs.follower.look(logs.now);
    let (first, rest) = MESSAGE.split_at(MESSAGE.find("of memory").expect("it is there"));
    logs.add("a.log", first);
    logs.follower.look(logs.now);
    assert!(logs.follower.poll(logs.now, 100).is_empty());
    logs.add("a.log", rest);
    let found = logs.found();
    assert_eq!(found.len(), 1);
    assert!(found[0].text.contains("1.10 GiB is free"));
}

#[test]
fn lines_that_look_like_it_are_none() {
    let mut logs = Logs::new(Start::First);
    for step in 0..1000 {
        logs.add("a.log", &format!("step {step}: there is enough memory for {step} samples\n"));
    }
    assert!(logs.found().is_empty());
    logs.add("a.log", MESSAGE);
    assert_eq!(logs.found().len(), 1);
}

#[test]
fn what_was_there_before_the_first_start_is_not_told() {
    let mut logs = Logs::new(Start::Now);
    logs.add("a.log", MESSAGE);
    assert!(logs.found().is_empty());
    logs.add("a.log", MESSAGE);
    logs.add("b.log", MESSAGE);
    assert_eq!(logs.found().len(), 2);
}

#[test]
fn a_file_that_is_renamed_is_read_to_its_end() {
    let mut logs = Logs::new(Start::First);
    logs.add("a.log", "step\n");
    assert!(logs.found().is_empty());
    let mut writer =
        OpenOptions::new().append(true).open(logs.path("a.log")).expect("it is opened");
    fs::rename(logs.path("a.log"), logs.path("a.log.1")).expect("it is renamed");
    writer.write_all(MESSAGE.as_bytes()).expect("it is written");
    logs.add("a.log", MESSAGE);
    assert_eq!(logs.found().len(), 2);
    writer.write_all(MESSAGE.as_bytes()).expect("it is written");
    assert_eq!(logs.found().len(), 1, "its writer does not know yet");
    logs.now += Duration::from_secs(100);
    logs.found();
    assert_eq!(logs.follower.files(), 1, "the old one is let go");
}

#[test]
fn a_file_that_is_emptied_is_read_anew() {
    let mut logs = Logs::new(Start::First);
    logs.add("a.log", &"step\n".repeat(1000));
    assert!(logs.found().is_empty());
    File::create(logs.path("a.log")).expect("it is emptied");
    logs.add("a.log", MESSAGE);
    assert_eq!(logs.found().len(), 1);
}

#[test]
fn what_was_pending_when_a_file_is_emptied_is_told() {
    let mut logs = Logs::new(Start::First);
    let mut names = Vec::new();
    for _ in 0..3 {
        File::create(logs.path("a.log")).expect("it is emptied");
        logs.add("a.log", MESSAGE);
        logs.follower.look(logs.now);
        names.extend(logs.follower.poll(logs.now, 100).into_iter().map(|found| found.name));
        // As long as before, and the same up to there: only the bytes tell.
        logs.now += Duration::from_millis(100);
        File::create(logs.path("a.log")).expect("it is emptied");
        logs.add("a.log", &"another step\n".repeat(1000));
        names.extend(logs.found().into_iter().map(|found| found.name));
    }
    assert_eq!(names.len(), 3, "{names:?}");
    names.dedup();
    assert_eq!(names.len(), 3, "three incidents have three names");
}

#[test]
fn a_flood_in_one_file_is_bounded_and_keeps_nobody_waiting() {
    let mut logs = Logs::new(Start::First);
    logs.add("a.log", &MESSAGE.repeat(20_000));
    logs.add("b.log", MESSAGE);
    logs.follower.look(logs.now);
    let mut of_b = 0;
    for _ in 0..3 {
        logs.now += Duration::from_secs(3);
        for found in logs.follower.poll(logs.now, 2) {
            assert!(found.text.len() < 300_000, "{}", found.text.len());
            of_b += usize::from(found.path.ends_with("b.log"));
        }
    }
    assert_eq!(of_b, 1);
}

#[test]
fn lines_that_are_none_do_not_hide_those_of_others() {
    let mut logs = Logs::new(Start::First);
    let mut flood = String::new();
    for number in 0..12_000 {
        flood += &format!(
            "enough memory {}\n",
            format!("{number:b}").replace('0', "a").replace('1', "b")
        );
    }
    logs.add("a.log", &(flood + MESSAGE));
    for _ in 0..10 {
        logs.found();
    }
    logs.add("b.log", MESSAGE);
    assert_eq!(logs.found().len(), 1);
}

#[test]
fn a_message_behind_a_bar_of_progress_is_found() {
    let mut logs = Logs::new(Start::First);
    let bar = "\r 10%|#         | 10/100".repeat(10_000);
    logs.add("a.log", &format!("{bar}CUDA out of memory. Tried to allocate 2.00 GiB\n"));
    assert_eq!(logs.found().len(), 1);
}

#[test]
fn a_second_message_in_a_framed_log_is_decoded() {
    let mut logs = Logs::new(Start::First);
    let framed = |text: &str| -> String {
        text.lines()
            .map(|line| format!("2026-11-18T03:04:05.123456789Z stderr F {line}\n"))
            .collect()
    };
    logs.add("a.log", &framed(MESSAGE));
    logs.add("a.log", &framed(&"a line that is long\n".repeat(1000)));
    assert_eq!(logs.found().len(), 1);
    logs.add("a.log", &framed(MESSAGE));
    let found = logs.found();
    assert_eq!(found.len(), 1);
    assert!(!found[0].text.contains("stderr F"), "{}", &found[0].text[..200]);
}

#[test]
fn holes_are_passed_over() {
    let mut logs = Logs::new(Start::First);
    let file = File::create(logs.path("a.log")).expect("it is made");
    file.set_len(1 << 40).expect("it is long");
    logs.add("a.log", MESSAGE);
    assert_eq!(logs.found().len(), 1);
}

#[test]
fn a_restart_neither_loses_nor_repeats() {
    let mut logs = Logs::new(Start::First);
    logs.add("a.log", MESSAGE);
    assert_eq!(logs.found().len(), 1);
    logs.restart();
    assert!(logs.found().is_empty());
    // Half of a message before the restart, half after.
    let (first, rest) = MESSAGE.split_at(MESSAGE.len() - 20);
    logs.add("a.log", first);
    logs.follower.poll(logs.now, 100);
    logs.restart();
    logs.add("a.log", rest);
    let found = logs.found();
    assert_eq!(found.len(), 1);
    assert!(found[0].text.starts_with("Traceback"), "{}", found[0].text);
    // Rotated while nobody read.
    logs.add("a.log", MESSAGE);
    logs.restart();
    fs::rename(logs.path("a.log"), logs.path("a.log.20261118")).expect("it is renamed");
    logs.add("a.log", MESSAGE);
    assert_eq!(logs.found().len(), 2);
}

#[test]
fn what_has_no_room_waits() {
    let mut logs = Logs::new(Start::First);
    for name in ["a.log", "b.log", "c.log"] {
        logs.add(name, MESSAGE);
    }
    logs.follower.look(logs.now);
    assert!(logs.follower.poll(logs.now, 0).is_empty());
    logs.now += Duration::from_secs(3);
    assert_eq!(logs.follower.poll(logs.now, 2).len(), 2);
    assert_eq!(logs.follower.poll(logs.now, 2).len(), 1);
}

#[test]
fn links_are_not_followed_and_pipes_not_waited_for() {
    let mut logs = Logs::new(Start::First);
    let secret = tempfile::NamedTempFile::new().expect("a file");
    fs::write(secret.path(), MESSAGE).expect("it is written");
    std::os::unix::fs::symlink(secret.path(), logs.path("a.log")).expect("a link");
    let made = std::process::Command::new("mkfifo").arg(logs.path("b.log")).status();
    assert!(made.expect("mkfifo runs").success());
    assert!(logs.found().is_empty());
    assert_eq!(logs.follower.files(), 0);
}

#[test]
fn a_line_without_an_end_is_read_in_bounded_memory() {
    let mut logs = Logs::new(Start::First);
    let piece = "x".repeat(1 << 20);
    for _ in 0..20 {
        logs.add("a.log", &piece);
    }
    logs.add("a.log", "CUDA out of memory. Tried to allocate 2.00 GiB");
    let found = logs.found();
    assert_eq!(found.len(), 1);
    assert!(found[0].text.len() < 100_000, "{}", found[0].text.len());
}

#[test]
fn a_folder_that_became_a_link_is_not_looked_into() {
    let folder = tempfile::tempdir().expect("a folder");
    let at = |name: &str| folder.path().join(name);
    fs::create_dir_all(at("pods/a/main")).expect("a folder");
    fs::write(at("pods/a/main/0.log"), "step\n").expect("it is written");
    let follower = |known| {
        let pattern = Pattern::new(&at("pods/*/*/*.log")).expect("a pattern");
        Follower::new(vec![pattern], known, Start::First)
    };
    let mut first = follower(Positions::new());
    first.look(Instant::now());
    first.poll(Instant::now(), 9);
    let known = first.positions();
    assert_eq!(known.len(), 1);
    // What was rotated while nobody read is read on, and a link to it is not followed.
    fs::rename(at("pods/a/main/0.log"), at("pods/a/main/0.log.1")).expect("it is renamed");
    let mut second = follower(known.clone());
    second.look(Instant::now());
    assert_eq!(second.files(), 1);
    fs::rename(at("pods/a/main"), at("outside")).expect("it is moved");
    std::os::unix::fs::symlink(at("outside"), at("pods/a/main")).expect("a link");
    let mut third = follower(known);
    third.look(Instant::now());
    assert_eq!(third.files(), 0);
}
