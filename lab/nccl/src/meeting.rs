//! Where ranks meet: to split a communicator, each must know what the others chose.
//!
//! Every rank leaves a note in the lab's folder, which goes when the lab ends, and waits for the
//! notes of the others.

use std::{
    env, fs,
    path::{Path, PathBuf},
    thread,
    time::{Duration, Instant},
};

use whyoom_files::{private, untrusted};

use crate::{
    communicator::{Communicator, Place},
    status::Failure,
};

/// The variable that names a file in the lab's folder.
const LAB: &str = "WHYOOM_LAB";

/// Ranks that are this late are not coming.
const PATIENCE: Duration = Duration::from_secs(60);
/// Two numbers.
const LONGEST_NOTE: u64 = 64;
const PAUSE: Duration = Duration::from_millis(2);

/// What a rank chose.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Choice {
    color: i32,
    key: i32,
}

/// This rank's place in the communicator that those of its colour make together.
pub(crate) fn split(parent: &Communicator, color: i32, key: i32) -> Result<Place, Failure> {
    let split = parent.next_split();
    let note = |rank| note(parent.identity, split, rank);
    leave(&note(parent.rank)?, Choice { color, key })?;
    let until = Instant::now() + PATIENCE;
    let choices: Result<Vec<_>, _> =
        (0..parent.ranks).map(|rank| wait_for(&note(rank)?, until)).collect();
    let (rank, ranks) = placed(&choices?, parent.rank as usize);
    Ok(Place { identity: descendant(parent.identity, split, color), rank, ranks })
}

/// Rank and number of ranks of one among those of its colour, in the order of their keys.
fn placed(choices: &[Choice], own: usize) -> (u32, u32) {
    let mut alike: Vec<usize> =
        (0..choices.len()).filter(|&rank| choices[rank].color == choices[own].color).collect();
    // Stable: equal keys keep the order of the parent.
    alike.sort_by_key(|&rank| choices[rank].key);
    let rank = alike.iter().position(|&rank| rank == own).unwrap_or_default();
    (rank as u32, alike.len() as u32)
}

/// The identity of a communicator made from another, alike on all its ranks.
pub(crate) fn descendant(parent: u64, split: u64, color: i32) -> u64 {
    // FNV-1a: any mixing that is the same in all processes will do.
    let bytes = [parent, split, u64::from(color as u32)].map(u64::to_ne_bytes);
    bytes.as_flattened().iter().fold(0xcbf2_9ce4_8422_2325, |hash, &byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    })
}

fn note(communicator: u64, split: u64, rank: u32) -> Result<PathBuf, Failure> {
    let lab = env::var_os(LAB).map(PathBuf::from).ok_or(Failure::System)?;
    let folder = lab.parent().ok_or(Failure::System)?;
    Ok(folder.join(format!("nccl-{communicator:016x}-{split}-{rank}")))
}

/// Writes a note that nobody can read half of.
fn leave(note: &Path, choice: Choice) -> Result<(), Failure> {
    let draft = note.with_extension("draft");
    let text = format!("{} {}", choice.color, choice.key);
    let written = private::write(&draft, text).and_then(|()| fs::rename(&draft, note));
    written.map_err(|_| Failure::System)
}

fn wait_for(note: &Path, until: Instant) -> Result<Choice, Failure> {
    loop {
        let bytes = untrusted::read_entry(note, LONGEST_NOTE).ok();
        if let Some(choice) = bytes.as_deref().and_then(|bytes| read(str::from_utf8(bytes).ok()?)) {
            return Ok(choice);
        }
        if Instant::now() > until {
            let seconds = PATIENCE.as_secs();
            eprintln!(
                "whyoom lab: ncclCommSplit waited {seconds} s for another rank; start all ranks \
                 inside one `whyoom lab run`"
            );
            return Err(Failure::System);
        }
        thread::sleep(PAUSE);
    }
}

fn read(text: &str) -> Option<Choice> {
    let (color, key) = text.split_once(' ')?;
    Some(Choice { color: color.parse().ok()?, key: key.parse().ok()? })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn choices(pairs: &[(i32, i32)]) -> Vec<Choice> {
        pairs.iter().map(|&(color, key)| Choice { color, key }).collect()
    }

    #[test]
    fn ranks_of_a_colour_are_ordered_by_key() {
        let four = choices(&[(0, 5), (1, 0), (0, 3), (1, 0)]);
        assert_eq!([0, 1, 2, 3].map(|own| placed(&four, own)), [(1, 2), (0, 2), (0, 2), (1, 2)]);
    }

    #[test]
    fn a_note_says_what_was_left() {
        let folder = env::temp_dir().join(format!("whyoom-nccl-test-{}", std::process::id()));
        fs::create_dir_all(&folder).expect("a folder for the test");
        let note = folder.join("note-1");
        leave(&note, Choice { color: -1, key: 7 }).expect("written");
        let choice = wait_for(&note, Instant::now()).expect("read");
        assert_eq!(choice, Choice { color: -1, key: 7 });
        fs::remove_dir_all(folder).expect("removed");
    }

    #[test]
    fn descendants_differ() {
        let all = [descendant(1, 0, 0), descendant(1, 0, 1), descendant(1, 1, 0), 1];
        assert_eq!(all.iter().collect::<std::collections::BTreeSet<_>>().len(), 4);
    }
}
