//! A recording as this executable carries it: a compressed tar archive with files in one folder.

use std::{
    fs,
    io::{self, Read},
    path::Path,
};

use flate2::read::GzDecoder;

/// Headers and contents begin at multiples of this.
const UNIT: usize = 512;
const REGULAR: u8 = b'0';

/// Writes the files of an archive into a new folder.
pub(super) fn unpack(archive: &[u8], folder: &Path) -> io::Result<()> {
    let mut tar = Vec::new();
    GzDecoder::new(archive).read_to_end(&mut tar)?;
    fs::create_dir(folder)?;
    for (name, contents) in files(&tar) {
        fs::write(folder.join(name), contents)?;
    }
    Ok(())
}

/// The regular files, each by the last part of its name.
fn files(tar: &[u8]) -> Vec<(String, &[u8])> {
    let mut files = Vec::new();
    let mut rest = tar;
    while let Some((header, after)) = rest.split_at_checked(UNIT)
        && let Some(size) = size_of(header)
        && let Some(contents) = after.get(..size)
    {
        let name = name_of(header);
        if header[156] == REGULAR && !name.is_empty() {
            files.push((name, contents));
        }
        rest = after.get(size.next_multiple_of(UNIT)..).unwrap_or_default();
    }
    files
}

fn name_of(header: &[u8]) -> String {
    let path = header[..100].split(|byte| *byte == 0).next().unwrap_or_default();
    let path = String::from_utf8_lossy(path);
    path.rsplit('/').next().unwrap_or_default().to_owned()
}

/// Nothing at the end of the archive, which is zeros.
fn size_of(header: &[u8]) -> Option<usize> {
    let digits = std::str::from_utf8(&header[124..136]).ok()?;
    usize::from_str_radix(digits.trim_matches(['\0', ' ']), 8).ok()
}

#[cfg(test)]
mod tests {
    use super::{super::stories::STORIES, *};

    #[test]
    fn every_recording_has_its_parts() {
        for story in STORIES {
            let mut tar = Vec::new();
            GzDecoder::new(story.recording).read_to_end(&mut tar).expect("a gzip file");
            let files = files(&tar);
            for end in [".part", ".events", ".tables", "run.json"] {
                assert!(files.iter().any(|(name, _)| name.ends_with(end)), "{}: {end}", story.name);
            }
        }
    }

    #[test]
    fn no_recording_names_the_machine_that_made_it() {
        for story in STORIES {
            let mut tar = Vec::new();
            GzDecoder::new(story.recording).read_to_end(&mut tar).expect("a gzip file");
            let count = |path: &[u8]| tar.windows(path.len()).filter(|part| *part == path).count();
            assert!(count(b"/home/you/") > 0, "{}", story.name);
            assert_eq!(count(b"/home/"), count(b"/home/you/"), "{}", story.name);
            assert_eq!(count(b"/root/") + count(b"/mnt/"), 0, "{}", story.name);
        }
    }

    #[test]
    fn what_is_cut_off_ends_the_archive() {
        assert!(files(&[]).is_empty());
        assert!(files(&[0; 1024]).is_empty());
        let mut header = [0; UNIT];
        header[..6].copy_from_slice(b"a/b.js");
        header[124..135].copy_from_slice(b"00000000007");
        header[156] = REGULAR;
        assert!(files(&header).is_empty());
        let whole = [&header[..], &[7; 7], &[0; UNIT - 7]].concat();
        assert_eq!(files(&whole), [("b.js".to_owned(), &[7; 7][..])]);
    }
}
