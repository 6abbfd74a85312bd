//! The memory of a process.

use std::{
    fs::{File, OpenOptions},
    io,
    os::unix::fs::FileExt,
};

/// Memory that is read and written by its addresses.
pub trait Memory {
    /// Fills a buffer from an address.
    ///
    /// # Errors
    /// Where any of it is not mapped.
    fn read(&self, address: u64, into: &mut [u8]) -> io::Result<()>;

    /// Writes bytes to an address.
    ///
    /// # Errors
    /// Where any of it is not mapped.
    fn write(&self, address: u64, bytes: &[u8]) -> io::Result<()>;

    /// A word at an address.
    ///
    /// # Errors
    /// Where it is not mapped.
    fn word(&self, address: u64) -> io::Result<u64> {
        let mut bytes = [0; 8];
        self.read(address, &mut bytes)?;
        Ok(u64::from_ne_bytes(bytes))
    }
}

/// That of a living process, through `/proc/PID/mem`. The kernel checks with it whether we may trace the process.
#[derive(Debug)]
pub struct ProcessMemory(File);

impl ProcessMemory {
    /// Opens that of a process.
    ///
    /// # Errors
    /// Where the kernel does not permit it.
    pub fn open(pid: u32) -> io::Result<Self> {
        let file = OpenOptions::new().read(true).write(true).open(format!("/proc/{pid}/mem"))?;
        Ok(Self(file))
    }
}

impl Memory for ProcessMemory {
    fn read(&self, address: u64, into: &mut [u8]) -> io::Result<()> {
        self.0.read_exact_at(into, address)
    }

    fn write(&self, address: u64, bytes: &[u8]) -> io::Result<()> {
        self.0.write_all_at(bytes, address)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ones_own_memory_is_read_and_written() {
        let memory = ProcessMemory::open(std::process::id()).expect("our own");
        let place = std::hint::black_box(Box::new(7_u64));
        let address = std::ptr::from_ref::<u64>(&place).addr() as u64;
        assert_eq!(memory.word(address).expect("it is mapped"), 7);
        assert!(memory.word(8).is_err(), "nothing is mapped there");
    }
}
