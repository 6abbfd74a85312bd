//! A recording as this executable carries it: packed.

use std::{fs, path::Path};

use anyhow::Result;
use whyoom_reading::unpack;

/// Writes the files of a recording into a new folder.
pub(super) fn unpack_into(recording: &[u8], folder: &Path) -> Result<()> {
    fs::create_dir(folder)?;
    for (name, contents) in unpack(recording)? {
        let path = folder.join(name);
        fs::create_dir_all(path.parent().unwrap_or(folder))?;
        fs::write(path, contents.to_vec()?)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::{super::stories::STORIES, *};

    #[test]
    fn every_recording_has_its_parts() {
        for story in STORIES {
            let files = unpack(story.recording).expect("an archive");
            for end in [".part", ".events", ".tables", "run.json"] {
                assert!(files.keys().any(|name| name.ends_with(end)), "{}: {end}", story.name);
            }
        }
    }

    #[test]
    fn no_recording_names_the_machine_that_made_it() {
        for story in STORIES {
            let files = unpack(story.recording).expect("an archive");
            let all: Vec<u8> = files
                .values()
                .flat_map(|contents| contents.to_vec().expect("they are in memory"))
                .collect();
            let count = |path: &[u8]| all.windows(path.len()).filter(|part| *part == path).count();
            assert!(count(b"/home/you/") > 0, "{}", story.name);
            assert_eq!(count(b"/home/"), count(b"/home/you/"), "{}", story.name);
            assert_eq!(count(b"/root/") + count(b"/mnt/"), 0, "{}", story.name);
        }
    }
}
