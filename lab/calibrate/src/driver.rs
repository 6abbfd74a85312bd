//! The driver and one of its devices, as far as they answer without a context.

use std::{
    ffi::{CStr, c_char},
    ptr,
};

use cudarc::driver::sys::{CUdevice_attribute, CUresult};

use crate::{
    error::{Error, Result},
    functions::{Functions, SUCCESS},
};

/// Room for a name or a place on the bus, with the zero at its end.
const TEXT_ROOM: usize = 256;

/// The driver, initialized.
pub(crate) struct Driver {
    pub(crate) functions: Functions,
}

impl Driver {
    /// Finds and initializes the driver.
    pub(crate) fn open() -> Result<Self> {
        let driver = Self { functions: Functions::load()? };
        // SAFETY: documented to be called first; 0 is the only flag.
        let status = unsafe { (driver.functions.cuInit)(0) };
        if status == CUresult::CUDA_ERROR_NO_DEVICE as i32 {
            return Err(Error::NoGpu);
        }
        driver.check("cuInit", status)?;
        Ok(driver)
    }

    /// Makes a status an outcome.
    pub(crate) fn check(&self, function: &'static str, status: i32) -> Result<()> {
        if status == SUCCESS {
            return Ok(());
        }
        Err(Error::Refused { function, status: self.name_of(status) })
    }

    fn name_of(&self, status: i32) -> String {
        let mut name = ptr::null();
        // SAFETY: the place is valid for the call; the function takes any number.
        let answer = unsafe { (self.functions.cuGetErrorName)(status, &raw mut name) };
        if answer != SUCCESS || name.is_null() {
            return format!("error {status}");
        }
        // SAFETY: documented: a text that ends with zero and is never freed.
        unsafe { CStr::from_ptr(name) }.to_string_lossy().into_owned()
    }

    /// The newest CUDA version that the driver serves.
    pub(crate) fn cuda_version(&self) -> Result<u32> {
        let mut version = 0;
        // SAFETY: the place is valid for the call.
        let status = unsafe { (self.functions.cuDriverGetVersion)(&raw mut version) };
        self.check("cuDriverGetVersion", status)?;
        Ok(version.unsigned_abs())
    }

    /// A device by its number.
    pub(crate) fn device(&self, asked: u32) -> Result<Device<'_>> {
        let mut count = 0;
        // SAFETY: the place is valid for the call.
        let status = unsafe { (self.functions.cuDeviceGetCount)(&raw mut count) };
        self.check("cuDeviceGetCount", status)?;
        let count = u32::try_from(count).unwrap_or(0);
        let ordinal = i32::try_from(asked).ok().filter(|_| asked < count);
        let ordinal = ordinal.ok_or(Error::NoDevice { asked, count })?;
        let mut handle = 0;
        // SAFETY: the place is valid for the call.
        let status = unsafe { (self.functions.cuDeviceGet)(&raw mut handle, ordinal) };
        self.check("cuDeviceGet", status)?;
        Ok(Device { driver: self, handle })
    }
}

/// One device.
pub(crate) struct Device<'driver> {
    pub(crate) driver: &'driver Driver,
    pub(crate) handle: i32,
}

impl Device<'_> {
    /// Its name.
    pub(crate) fn name(&self) -> Result<String> {
        self.text("cuDeviceGetName", self.driver.functions.cuDeviceGetName)
    }

    /// Its place on the PCI bus, by which NVML knows it too.
    pub(crate) fn pci_bus_id(&self) -> Result<String> {
        self.text("cuDeviceGetPCIBusId", self.driver.functions.cuDeviceGetPCIBusId)
    }

    fn text(
        &self,
        name: &'static str,
        function: unsafe extern "C" fn(*mut c_char, i32, i32) -> i32,
    ) -> Result<String> {
        let mut text = [0; TEXT_ROOM];
        // SAFETY: both functions write at most so many characters; one is left as the zero.
        let status = unsafe {
            function(text.as_mut_ptr().cast::<c_char>(), TEXT_ROOM as i32 - 1, self.handle)
        };
        self.driver.check(name, status)?;
        let text = CStr::from_bytes_until_nul(&text).map_err(|_| Error::Zero(name))?;
        Ok(text.to_string_lossy().into_owned())
    }

    /// An attribute. None that is asked for here is 0 on a device that has it.
    pub(crate) fn attribute(&self, attribute: CUdevice_attribute) -> Result<u64> {
        const FUNCTION: &str = "cuDeviceGetAttribute";
        let mut value = 0;
        let function = self.driver.functions.cuDeviceGetAttribute;
        // SAFETY: the place is valid for the call; unknown numbers are refused.
        let status = unsafe { function(&raw mut value, attribute as u32, self.handle) };
        self.driver.check(FUNCTION, status)?;
        u64::try_from(value).ok().filter(|value| *value > 0).ok_or(Error::Zero(FUNCTION))
    }
}
