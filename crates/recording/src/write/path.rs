//! The paths of a part's files, made without the heap: a full segment is replaced in the middle of
//! somebody's allocation.

use std::{ffi::CStr, os::unix::ffi::OsStrExt, path::Path};

use rustix::io::Errno;

use crate::format::Kind;

/// The kernel takes no longer path.
const LONGEST_PATH: usize = 4096;

/// The path that all files of a part begin with: FOLDER/PID-STARTTIME.
#[derive(Debug)]
pub(crate) struct Stem(Box<[u8]>);

impl Stem {
    pub(crate) fn new(folder: &Path, name: &str) -> Self {
        Self([folder.as_os_str().as_bytes(), b"/", name.as_bytes()].concat().into())
    }

    /// Calls with the path of one of the part's files.
    pub(crate) fn with<R>(
        &self,
        kind: Kind,
        number: Option<u32>,
        call: impl FnOnce(&CStr) -> Result<R, Errno>,
    ) -> Result<R, Errno> {
        let mut room = [0; LONGEST_PATH];
        let mut length = 0;
        let mut put = |text: &[u8]| {
            let place = room.get_mut(length..length + text.len()).ok_or(Errno::NAMETOOLONG)?;
            place.copy_from_slice(text);
            length += text.len();
            Ok(())
        };
        put(&self.0)?;
        if let Some(number) = number {
            let (digits, from) = digits(number);
            put(b"-")?;
            put(&digits[from..])?;
        }
        put(kind.suffix().as_bytes())?;
        put(b"\0")?;
        call(CStr::from_bytes_with_nul(&room[..length]).map_err(|_| Errno::INVAL)?)
    }
}

/// A number in decimal: the digits stand from the second value on.
fn digits(mut number: u32) -> ([u8; 10], usize) {
    let mut digits = [b'0'; 10];
    let mut from = digits.len();
    loop {
        from -= 1;
        digits[from] += (number % 10) as u8;
        number /= 10;
        if number == 0 {
            return (digits, from);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_spelled_out() {
        let stem = Stem::new(Path::new("/tmp/run"), "12-34");
        let path = |kind, number| {
            stem.with(kind, number, |path| Ok(path.to_str().unwrap_or_default().to_owned()))
        };
        assert_eq!(path(Kind::Part, None).as_deref(), Ok("/tmp/run/12-34.part"));
        assert_eq!(path(Kind::Events, Some(0)).as_deref(), Ok("/tmp/run/12-34-0.events"));
        let largest = path(Kind::Tables, Some(u32::MAX));
        assert_eq!(largest.as_deref(), Ok("/tmp/run/12-34-4294967295.tables"));
    }

    #[test]
    fn a_path_that_is_too_long_is_refused() {
        let stem = Stem::new(Path::new(&"x".repeat(5000)), "1-2");
        assert_eq!(stem.with(Kind::Part, None, |_| Ok(())), Err(Errno::NAMETOOLONG));
    }
}
