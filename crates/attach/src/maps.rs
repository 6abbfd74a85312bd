//! `/proc/PID/maps`. Names in it are whatever the process called its files.

/// One line: a range of addresses, and what is mapped there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mapping<'a> {
    /// The first address.
    pub start: u64,
    /// The address behind the last.
    pub end: u64,
    /// Whether the process may write there.
    pub writable: bool,
    /// Where in the file it begins.
    pub offset: u64,
    /// The device of the file's file system, as the kernel writes it.
    pub device: &'a str,
    /// The file's number in its file system; 0 without a file.
    pub inode: u64,
    /// The file, a name in brackets, or nothing.
    pub path: &'a str,
}

/// What the kernel adds to the name of a file that is gone.
const DELETED: &str = " (deleted)";

/// The lines that are well formed.
pub fn parse(text: &str) -> impl Iterator<Item = Mapping<'_>> {
    text.lines().filter_map(line)
}

fn line(line: &str) -> Option<Mapping<'_>> {
    let (range, rest) = line.split_once(' ')?;
    let (rights, rest) = rest.split_once(' ')?;
    let (offset, rest) = rest.split_once(' ')?;
    let (device, rest) = rest.split_once(' ')?;
    let (inode, path) = rest.split_once(' ').unwrap_or((rest, ""));
    let (start, end) = range.split_once('-')?;
    let (start, end) = (hexadecimal(start)?, hexadecimal(end)?);
    (start < end).then_some(())?;
    Some(Mapping {
        start,
        end,
        writable: rights.as_bytes().get(1) == Some(&b'w'),
        offset: hexadecimal(offset)?,
        device,
        inode: inode.parse().ok()?,
        path: path.trim_start(),
    })
}

fn hexadecimal(digits: &str) -> Option<u64> {
    // The parser would take a sign.
    let plain = digits.bytes().all(|byte| byte.is_ascii_hexdigit());
    plain.then(|| u64::from_str_radix(digits, 16).ok())?
}

/// A file that a process has mapped from its beginning.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MappedFile<'a> {
    /// Where its first byte is.
    pub start: u64,
    /// The device of its file system, as the kernel writes it.
    pub device: &'a str,
    /// Its number in its file system.
    pub inode: u64,
    /// Its name.
    pub path: &'a str,
}

/// The files that are mapped from their beginning, each once.
#[must_use]
pub fn files(text: &str) -> Vec<MappedFile<'_>> {
    let mut files: Vec<MappedFile<'_>> = Vec::new();
    let first = parse(text).filter(|one| one.offset == 0 && one.path.starts_with('/'));
    for Mapping { start, device, inode, path, .. } in first {
        let path = path.strip_suffix(DELETED).unwrap_or(path);
        // A loader maps a file's parts one after the other: another mapping of it is somebody's data.
        if files.last().is_none_or(|last| last.path != path) {
            files.push(MappedFile { start, device, inode, path });
        }
    }
    files
}

/// Whether a range is inside one mapping that the process may write to.
#[must_use]
pub fn is_writable(text: &str, start: u64, length: u64) -> bool {
    let Some(end) = start.checked_add(length) else { return false };
    parse(text).any(|one| one.writable && one.start <= start && end <= one.end)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const TEXT: &str = "\
55c929fce000-55c929fcf000 r--p 00000000 fe:00 18504                      /opt/py thon/bin/python3.11
55c929fd2000-55c929fd3000 rw-p 00003000 fe:00 18504                      /opt/py thon/bin/python3.11
7fbeb3200000-7fbeb32f5000 r--p 00000000 fe:00 18714                      /lib/libpython3.11.so.1.0 (deleted)
7fbeb3778000-7fbeb37ba000 rw-p 00000000 00:00 0 
7ffd9740d000-7ffd9742e000 rw-p 00000000 00:00 0                          [stack]
nonsense
2-1 rw-p 00000000 00:00 0
+1-2 rw-p 00000000 00:00 0
";

    #[test]
    fn lines_of_the_kernel() {
        assert_eq!(parse(TEXT).count(), 5);
        let found = files(TEXT);
        assert_eq!(found.len(), 2);
        assert_eq!((found[0].path, found[0].inode), ("/opt/py thon/bin/python3.11", 18504));
        assert_eq!(found[0].device, "fe:00");
        let library = &found[1];
        assert_eq!((library.path, library.start), ("/lib/libpython3.11.so.1.0", 0x7fbe_b320_0000));
        assert!(is_writable(TEXT, 0x7fbe_b377_8000, 16));
        assert!(!is_writable(TEXT, 0x7fbe_b37b_9ff8, 16), "beyond the end");
        assert!(!is_writable(TEXT, 0x7fbe_b320_0000, 16), "read only");
        assert!(!is_writable(TEXT, u64::MAX, 2));
    }

    proptest! {
        #[test]
        fn any_text_is_read_or_left(text in "(?s).{0,400}") {
            prop_assert!(files(&text).len() <= parse(&text).count());
        }

        #[test]
        fn what_is_written_is_read(start in 0..u64::MAX, offset: u64, inode: u64, path in "/[ -~]{0,40}") {
            let line = format!("{start:x}-{:x} rw-p {offset:08x} fe:00 {inode}     {path}", start + 1);
            let read: Vec<_> = parse(&line).collect();
            prop_assert_eq!(read.len(), 1);
            prop_assert_eq!((read[0].start, read[0].offset, read[0].inode), (start, offset, inode));
            prop_assert_eq!(read[0].path, path);
        }
    }
}
