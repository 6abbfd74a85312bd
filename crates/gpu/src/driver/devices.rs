//! The devices and what they say of themselves.
#![expect(unsafe_code, reason = "functions of the driver are called here")]

use std::ffi::{c_int, c_uint};

use super::{Code, Driver, sys};

impl Driver {
    /// Makes the driver ready. To be called before the others; again does no harm.
    ///
    /// # Errors
    /// The driver's own.
    pub fn init(&self) -> Result<(), Code> {
        // SAFETY: the one argument must be nought, and is.
        Code::check(unsafe { (self.functions.init)(0) })
    }

    /// The newest version of CUDA that the driver serves: 1000 × major + 10 × minor.
    ///
    /// # Errors
    /// The driver's own.
    pub fn version(&self) -> Result<u32, Code> {
        let mut version = 0;
        // SAFETY: one number is written to the place given for it.
        Code::check(unsafe { (self.functions.version)(&raw mut version) })?;
        Ok(u32::try_from(version).unwrap_or(0))
    }

    /// A device's UUID, as NVML writes it behind the kind.
    ///
    /// # Errors
    /// The driver's own.
    pub fn uuid(&self, device: u32) -> Result<String, Code> {
        let device = self.device(device)?;
        let mut bytes = [0; 16];
        // SAFETY: sixteen bytes are written to the place given for them.
        Code::check(unsafe { (self.functions.device_uuid)(&raw mut bytes, device) })?;
        let digits: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
        let parts = [0..8, 8..12, 12..16, 16..20, 20..32].map(|part| &digits[part]);
        Ok(parts.join("-"))
    }

    /// The number of devices that this process sees.
    ///
    /// # Errors
    /// The driver's own.
    pub fn device_count(&self) -> Result<u32, Code> {
        let mut count = 0;
        // SAFETY: one number is written to the place given for it.
        Code::check(unsafe { (self.functions.device_count)(&raw mut count) })?;
        Ok(u32::try_from(count).unwrap_or(0))
    }

    /// All the memory of a device.
    ///
    /// # Errors
    /// The driver's own.
    pub fn total_memory(&self, device: u32) -> Result<u64, Code> {
        let device = self.device(device)?;
        let mut total = 0;
        // SAFETY: one number is written to the place given for it.
        Code::check(unsafe { (self.functions.device_total_memory)(&raw mut total, device) })?;
        Ok(total as u64)
    }

    /// Whether `device` can use the memory of `peer`. Not of itself: that is answered with no.
    ///
    /// # Errors
    /// The driver's own.
    pub fn can_access_peer(&self, device: u32, peer: u32) -> Result<bool, Code> {
        let (device, peer) = (self.device(device)?, self.device(peer)?);
        let mut can = 0;
        let ask = self.functions.device_can_access_peer;
        // SAFETY: one number is written to the place given for it.
        Code::check(unsafe { ask(&raw mut can, device, peer) })?;
        Ok(can != 0)
    }

    /// The pairs of devices that do not reach each other's memory.
    ///
    /// # Errors
    /// The driver's own.
    pub fn pairs_apart(&self) -> Result<Vec<(u32, u32)>, Code> {
        let count = self.device_count()?;
        let pairs = (0..count).flat_map(|one| (0..one).map(move |other| (other, one)));
        let reach = |one, other| self.can_access_peer(one, other).unwrap_or(false);
        Ok(pairs.filter(|(one, other)| !reach(*one, *other)).collect())
    }

    /// Why nobody can map pages of that size on the device; nothing where one can.
    ///
    /// # Errors
    /// The driver's own.
    pub fn why_no_pages(&self, device: u32, page: u64) -> Result<Option<String>, Code> {
        // Some vGPUs have none, and a driver that does not know the question neither.
        match self.attribute(device, sys::VIRTUAL_MEMORY) {
            Ok(0) | Err(Code::INVALID_VALUE) => {
                return Ok(Some(format!(
                    "GPU {device} does not support virtual memory management"
                )));
            }
            answer => answer?,
        };
        let unit = self.granularity(device)?;
        let fits = unit > 0 && page.is_multiple_of(unit);
        Ok((!fits).then(|| {
            format!("the memory of GPU {device} is mapped in units of {unit} bytes, not {page}")
        }))
    }

    /// Whether memory that is created and mapped on the device can be reached by RDMA. Asked once.
    pub(super) fn reachable_by_rdma(&self, device: u32) -> Result<bool, Code> {
        self.remembered(device, || match self.attribute(device, sys::RDMA_WITH_VIRTUAL_MEMORY) {
            // A driver that does not know the question cannot do it.
            Err(Code::INVALID_VALUE) => Ok(false),
            answer => answer.map(|value| value != 0),
        })
    }

    fn attribute(&self, device: u32, attribute: c_uint) -> Result<c_int, Code> {
        let device = self.device(device)?;
        let mut value = 0;
        let ask = self.functions.device_attribute;
        // SAFETY: one number is written to the place given for it; a number that is no attribute is
        // answered with a code.
        Code::check(unsafe { ask(&raw mut value, attribute, device) })?;
        Ok(value)
    }

    /// The driver's handle of a device.
    pub(super) fn device(&self, index: u32) -> Result<sys::Device, Code> {
        let index = c_int::try_from(index).map_err(|_| Code::INVALID_DEVICE)?;
        let mut device = 0;
        // SAFETY: one handle is written to the place given for it.
        Code::check(unsafe { (self.functions.device_get)(&raw mut device, index) })?;
        Ok(device)
    }
}
