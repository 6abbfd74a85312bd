//! The kernel's log: the driver's failures (`NVRM: Xid`).

use std::{
    fs::{File, OpenOptions},
    io::{ErrorKind, Read},
    os::unix::fs::OpenOptionsExt,
    path::Path,
};

use rustix::fs::OFlags;

use crate::capture::Xid;

/// Records read at most in one go; a log holds some thousands.
const MOST_RECORDS: usize = 50_000;
/// Failures kept, the newest.
const MOST_XIDS: usize = 64;
/// More than the kernel writes in one record.
const RECORD: usize = 8192;

/// The failure that a line of the log tells of:
/// `NVRM: Xid (PCI:0000:3b:00): 79, pid=1234, GPU has fallen off the bus.`
#[must_use]
pub fn xid(line: &str) -> Option<Xid> {
    let (_, rest) = line.split_once("NVRM: Xid (PCI:")?;
    let (bus, rest) = rest.split_once("): ")?;
    let digits = rest.split(|character: char| !character.is_ascii_digit()).next()?;
    Some(Xid { bus: bus.to_owned(), number: digits.parse().ok()? })
}

/// The log, kept open: each look reads only what is new.
#[derive(Debug)]
pub struct KernelLog {
    file: File,
    xids: Vec<Xid>,
}

impl KernelLog {
    /// Opens the log; `None` where this user may not read it.
    #[must_use]
    pub fn open(path: &Path) -> Option<Self> {
        let flags = i32::try_from(OFlags::NONBLOCK.bits()).ok()?;
        let file = OpenOptions::new().read(true).custom_flags(flags).open(path).ok()?;
        Some(Self { file, xids: Vec::new() })
    }

    /// The failures since the machine started, as far as the log goes back.
    pub fn xids(&mut self) -> Vec<Xid> {
        let mut record = [0; RECORD];
        for _ in 0..MOST_RECORDS {
            match self.file.read(&mut record) {
                Ok(0) => break,
                Ok(length) => self.take(record.get(..length).unwrap_or_default()),
                // Old records were overwritten while reading: it goes on with the oldest left.
                Err(error)
                    if error.raw_os_error() == Some(rustix::io::Errno::PIPE.raw_os_error()) => {}
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(_) => break,
            }
        }
        self.xids.clone()
    }

    fn take(&mut self, record: &[u8]) {
        // Almost no record is the driver's: looked for before it is made into text.
        if record.windows(4).any(|part| part == b"Xid ") {
            let found = xid(&String::from_utf8_lossy(record));
            self.xids.extend(found);
            let old = self.xids.len().saturating_sub(MOST_XIDS);
            self.xids.drain(..old);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_of_the_driver() {
        let line = "4,1234,5678,-;NVRM: Xid (PCI:0000:3b:00): 79, pid='<unknown>', GPU has fallen";
        assert_eq!(xid(line), Some(Xid { bus: "0000:3b:00".to_owned(), number: 79 }));
        for line in ["", "NVRM: Xid (PCI:", "NVRM: Xid (PCI:0000:3b:00): ", "Xid 79"] {
            assert_eq!(xid(line), None, "{line}");
        }
    }
}
