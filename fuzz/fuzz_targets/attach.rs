//! Any bytes as what a process that is attached to has mapped, as its interpreter's file, and as its memory: read or
//! refused, never a panic, and nothing endless.
#![no_main]

use std::{cell::RefCell, io};

use libfuzzer_sys::fuzz_target;
use whyoom_attach::{Image, Memory, maps, remote_exec};

struct Bytes(RefCell<Vec<u8>>);

impl Memory for Bytes {
    fn read(&self, address: u64, into: &mut [u8]) -> io::Result<()> {
        let bytes = self.0.borrow();
        into.copy_from_slice(
            bytes.get(range(address, into.len())?).ok_or(io::ErrorKind::NotFound)?,
        );
        Ok(())
    }

    fn write(&self, address: u64, new: &[u8]) -> io::Result<()> {
        let mut bytes = self.0.borrow_mut();
        let place = bytes.get_mut(range(address, new.len())?);
        place.ok_or(io::ErrorKind::NotFound)?.copy_from_slice(new);
        Ok(())
    }
}

fn range(address: u64, length: usize) -> io::Result<std::ops::Range<usize>> {
    let start = usize::try_from(address).map_err(|_| io::ErrorKind::NotFound)?;
    Ok(start..start.checked_add(length).ok_or(io::ErrorKind::NotFound)?)
}

fuzz_target!(|bytes: &[u8]| {
    let text = String::from_utf8_lossy(bytes);
    let _ = (maps::files(&text), maps::is_writable(&text, 4096, 512));
    let _ = Image::parse(bytes, &["_PyRuntime", "Py_AddPendingCall"]);
    let memory = Bytes(RefCell::new(bytes.to_vec()));
    if let Ok(asked) = remote_exec::ask(&memory, 0, b"/tmp/start.py") {
        asked.withdraw(&memory);
    }
});
