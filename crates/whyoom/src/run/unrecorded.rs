//! Why nothing was recorded, as far as it can be told afterwards, and what to do.

use std::{ffi::OsString, path::Path};

use rustix::fs::statvfs;
use whyoom_causes::for_shell;
use whyoom_gpu::{GpuError, Gpus};

use crate::{
    obstacle::{Obstacle, Sureness},
    visible,
};

/// The recorder leaves so much of a disk to the program, or a twentieth of it.
const LEFT_ON_DISK: u64 = 1 << 30;
const PART_OF_DISK: u64 = 20;
/// A recording that has just begun.
const SMALLEST: u64 = 128 << 10;

/// What is true of a run of which nothing was recorded.
#[derive(Clone, Debug, Default)]
pub(super) struct Circumstances {
    disk_is_full: bool,
    /// What hides every GPU, in words.
    hidden: Option<String>,
    no_driver: bool,
    obstacle: Option<Obstacle>,
    failed: bool,
    command: String,
}

impl Circumstances {
    /// Those of a command that has run.
    pub(super) fn look(command: &[OsString], status: Option<i32>, folder: &Path) -> Self {
        Self {
            disk_is_full: is_full(folder),
            hidden: visible::hides_all(),
            no_driver: matches!(Gpus::open(), Err(GpuError::NoLibrary(_))),
            obstacle: Obstacle::of(command),
            failed: status != Some(0),
            command: shortly(command),
        }
    }

    /// One line that says why, and what to do.
    pub(super) fn words(&self) -> String {
        let certain = |one: &&Obstacle| one.sureness != Sureness::Possible;
        if self.disk_is_full {
            return "the disk of the recording is full: free some space, or record to another disk \
                    with -o".to_owned();
        }
        if let Some(obstacle) = self.obstacle.as_ref().filter(certain) {
            // What to do about it was said before.
            return obstacle.why.clone();
        }
        if let Some(shown) = &self.hidden {
            return shown.clone();
        }
        let why = match self.failed {
            true => "it failed before it used CUDA (its output may say why)",
            false => "none of its processes used CUDA",
        };
        if self.no_driver {
            let command = &self.command;
            return format!(
                "{why}; there is no NVIDIA driver here (see whyoom who): to use a simulated GPU, \
                 run whyoom lab run -- whyoom run -- {command}"
            );
        }
        match &self.obstacle {
            Some(obstacle) => format!("{why}; {}: {}", obstacle.why, obstacle.instead),
            None => why.to_owned(),
        }
    }
}

/// Returns true if the recorder would take no more of the disk that a folder is on.
pub(super) fn is_full(folder: &Path) -> bool {
    statvfs(folder).is_ok_and(|disk| {
        let (free, size) = (disk.f_bavail * disk.f_frsize, disk.f_blocks * disk.f_frsize);
        size > 0 && free < LEFT_ON_DISK.min(size / PART_OF_DISK) + SMALLEST
    })
}

/// The first words: they are meant to be recognised.
fn shortly(command: &[OsString]) -> String {
    let words: Vec<_> =
        command.iter().take(3).map(|word| for_shell(&word.to_string_lossy())).collect();
    let more = if command.len() > words.len() { " …" } else { "" };
    format!("{}{more}", words.join(" "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_circumstance_says_what_to_do() {
        let command = [OsString::from("python"), OsString::from("train.py")];
        let plain = Circumstances { command: shortly(&command), ..Circumstances::default() };
        let possible = Obstacle {
            sureness: Sureness::Possible,
            why: "it is so".to_owned(),
            instead: "do that".to_owned(),
        };
        let certain = Obstacle { sureness: Sureness::Certain, ..possible.clone() };
        let with = |obstacle: &Obstacle| Some(obstacle.clone());
        let cases = [
            (plain.clone(), "none of its processes used CUDA"),
            (Circumstances { failed: true, ..plain.clone() }, "(its output may say why)"),
            (Circumstances { disk_is_full: true, ..plain.clone() }, "another disk with -o"),
            (
                Circumstances { hidden: Some("all is hidden".to_owned()), ..plain.clone() },
                "all is hidden",
            ),
            (
                Circumstances { no_driver: true, ..plain.clone() },
                "whyoom lab run -- whyoom run -- python train.py",
            ),
            (Circumstances { obstacle: with(&possible), ..plain.clone() }, "it is so: do that"),
            (Circumstances { obstacle: with(&certain), no_driver: true, ..plain }, "it is so"),
        ];
        for (circumstances, words) in cases {
            assert!(circumstances.words().ends_with(words), "{}", circumstances.words());
        }
    }
}
