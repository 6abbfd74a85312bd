//! Addresses, and what is mapped at them.
#![expect(unsafe_code, reason = "functions of the driver are called here")]

use super::{Code, Driver, PhysicalHandle, physical::location, sys};

impl Driver {
    /// Reserves so many addresses; nothing is behind them yet.
    ///
    /// # Errors
    /// The driver's own.
    pub fn reserve(&self, size: u64) -> Result<u64, Code> {
        let mut address = 0;
        let reserve = self.functions.address_reserve;
        // SAFETY: one address is written to the place given for it; alignment and place are left to
        // the driver.
        Code::check(unsafe { reserve(&raw mut address, size as usize, 0, 0, 0) })?;
        Ok(address)
    }

    /// Gives a whole reservation back, as [`Self::reserve`] gave it. Nothing may be mapped there.
    ///
    /// # Errors
    /// The driver's own.
    pub fn unreserve(&self, address: u64, size: u64) -> Result<(), Code> {
        // SAFETY: a range that is no reservation, or is mapped, is answered with a code.
        Code::check(unsafe { (self.functions.address_free)(address, size as usize) })
    }

    /// Maps the whole of a piece of physical memory at reserved addresses. Nobody may use them before
    /// [`Self::set_access`]. The piece may be mapped elsewhere too.
    ///
    /// # Errors
    /// The driver's own.
    pub fn map(&self, address: u64, size: u64, handle: PhysicalHandle) -> Result<(), Code> {
        let map = self.functions.memory_map;
        // SAFETY: addresses that are not reserved or are mapped already, and a number that is no
        // handle, are answered with a code.
        Code::check(unsafe { map(address, size as usize, 0, handle.0, 0) })
    }

    /// Takes mappings away: whole ones, any number of them side by side. No work that uses these
    /// addresses may be under way: it would fail, and its context with it.
    ///
    /// # Errors
    /// The driver's own.
    pub fn unmap(&self, address: u64, size: u64) -> Result<(), Code> {
        // SAFETY: a range that is not mapped or cuts a mapping is answered with a code.
        Code::check(unsafe { (self.functions.memory_unmap)(address, size as usize) })
    }

    /// Lets these devices read and write what is mapped there.
    ///
    /// # Errors
    /// The driver's own.
    pub fn set_access(&self, address: u64, size: u64, devices: &[u32]) -> Result<(), Code> {
        let access = |&device: &u32| {
            Ok(sys::Access { location: location(device)?, flags: sys::READ_AND_WRITE })
        };
        if let [device] = devices {
            return self.set(address, size, &[access(device)?]);
        }
        self.set(address, size, &devices.iter().map(access).collect::<Result<Vec<_>, Code>>()?)
    }

    fn set(&self, address: u64, size: u64, access: &[sys::Access]) -> Result<(), Code> {
        let set = self.functions.memory_set_access;
        // SAFETY: the list is read, which has as many entries as said and lives until the call is
        // over; a range that is not mapped is answered with a code.
        Code::check(unsafe { set(address, size as usize, access.as_ptr(), access.len()) })
    }
}
