//! NVML, as far as it is asked.

use std::{
    ffi::{CStr, CString},
    ptr,
};

use nvml_wrapper_sys::bindings as sys;

use crate::error::{Error, Result};

const LIBRARY: &str = "libnvidia-ml.so.1";

/// Room that is left in a list of processes for those that come in between.
const SPARE: u32 = 16;

/// The documented number for a size that is not known.
const NOT_AVAILABLE: u64 = sys::NVML_VALUE_NOT_AVAILABLE as i64 as u64;

/// A function of NVML, where the installed one has it.
type Function<F, E> = std::result::Result<F, E>;

/// NVML, initialized until dropped.
pub(crate) struct Nvml {
    library: sys::NvmlLib,
}

impl Nvml {
    /// Finds and initializes NVML.
    pub(crate) fn open() -> Result<Self> {
        // SAFETY: loading the library runs its initializers, as in every program that uses it.
        let library = unsafe { sys::NvmlLib::new(LIBRARY) }.map_err(|_| Error::NoNvml(LIBRARY))?;
        let function = "nvmlInit_v2";
        let initialize = present(function, &library.nvmlInit_v2)?;
        // SAFETY: documented to be called first, from any thread.
        let status = unsafe { initialize() };
        check(&library, function, status)?;
        Ok(Self { library })
    }

    /// The device at a place on the PCI bus. NVML's own numbers are in another order than CUDA's.
    pub(crate) fn device(&self, pci_bus_id: &str) -> Result<Board<'_>> {
        let name = "nvmlDeviceGetHandleByPciBusId_v2";
        let function = present(name, &self.library.nvmlDeviceGetHandleByPciBusId_v2)?;
        let place = CString::new(pci_bus_id).map_err(|_| Error::Zero(name))?;
        let mut handle = ptr::null_mut();
        // SAFETY: the text ends with zero, and both places are valid for the call.
        let status = unsafe { function(place.as_ptr(), &raw mut handle) };
        check(&self.library, name, status)?;
        Ok(Board { library: &self.library, handle })
    }
}

impl Drop for Nvml {
    fn drop(&mut self) {
        if let Ok(shut_down) = &self.library.nvmlShutdown {
            // SAFETY: it was initialized once, and no handle outlives it.
            let _ = unsafe { shut_down() };
        }
    }
}

fn present<F: Copy, E>(name: &'static str, function: &Function<F, E>) -> Result<F> {
    function.as_ref().copied().map_err(|_| Error::Missing(name))
}

fn check(library: &sys::NvmlLib, function: &'static str, status: u32) -> Result<()> {
    if status == sys::nvmlReturn_enum_NVML_SUCCESS {
        return Ok(());
    }
    let status = match &library.nvmlErrorString {
        // SAFETY: documented: any number is taken, and the text is never freed.
        Ok(describe) => unsafe { CStr::from_ptr(describe(status)) }.to_string_lossy().into_owned(),
        Err(_) => format!("error {status}"),
    };
    Err(Error::Refused { function, status })
}

/// A device as NVML sees it.
pub(crate) struct Board<'nvml> {
    library: &'nvml sys::NvmlLib,
    handle: sys::nvmlDevice_t,
}

type GetNumber = unsafe extern "C" fn(sys::nvmlDevice_t, *mut u32) -> u32;

impl Board<'_> {
    /// Total and used memory.
    pub(crate) fn memory(&self) -> Result<(u64, u64)> {
        let name = "nvmlDeviceGetMemoryInfo";
        let function = present(name, &self.library.nvmlDeviceGetMemoryInfo)?;
        let mut memory = sys::nvmlMemory_t { total: 0, free: 0, used: 0 };
        // SAFETY: the handle is NVML's own and the place is valid for the call.
        let status = unsafe { function(self.handle, &raw mut memory) };
        check(self.library, name, status)?;
        Ok((memory.total, memory.used))
    }

    /// What a process holds, where it is listed with a known size.
    pub(crate) fn process_bytes(&self, pid: u32) -> Result<Option<u64>> {
        let name = "nvmlDeviceGetComputeRunningProcesses_v3";
        let function = present(name, &self.library.nvmlDeviceGetComputeRunningProcesses_v3)?;
        let mut count = 0;
        // SAFETY: documented: with room for none, the number of processes is told.
        let status = unsafe { function(self.handle, &raw mut count, ptr::null_mut()) };
        if status != sys::nvmlReturn_enum_NVML_ERROR_INSUFFICIENT_SIZE {
            check(self.library, name, status)?;
            return Ok(None);
        }
        count += SPARE;
        let nobody = sys::nvmlProcessInfo_t {
            pid: 0,
            usedGpuMemory: 0,
            gpuInstanceId: 0,
            computeInstanceId: 0,
        };
        let mut list = vec![nobody; count as usize];
        // SAFETY: the list has room for as many as `count` says.
        let status = unsafe { function(self.handle, &raw mut count, list.as_mut_ptr()) };
        check(self.library, name, status)?;
        let own = list.iter().take(count as usize).find(|process| process.pid == pid);
        Ok(own.map(|own| own.usedGpuMemory).filter(|bytes| *bytes != NOT_AVAILABLE))
    }

    /// The default power limit in watts.
    pub(crate) fn power_limit_watts(&self) -> Result<u64> {
        let function = &self.library.nvmlDeviceGetPowerManagementDefaultLimit;
        let name = "nvmlDeviceGetPowerManagementDefaultLimit";
        Ok(self.number(name, present(name, function)?)? / 1000)
    }

    /// The width of the memory bus.
    pub(crate) fn bus_width_bits(&self) -> Result<u64> {
        let name = "nvmlDeviceGetMemoryBusWidth";
        self.number(name, present(name, &self.library.nvmlDeviceGetMemoryBusWidth)?)
    }

    fn number(&self, name: &'static str, function: GetNumber) -> Result<u64> {
        let mut value = 0;
        // SAFETY: the handle is NVML's own and the place is valid for the call.
        let status = unsafe { function(self.handle, &raw mut value) };
        check(self.library, name, status)?;
        Ok(value.into())
    }

    /// The 16-bit device id on the PCI bus.
    pub(crate) fn pci_device(&self) -> Result<u64> {
        let name = "nvmlDeviceGetPciInfo_v3";
        let function = present(name, &self.library.nvmlDeviceGetPciInfo_v3)?;
        let mut place = sys::nvmlPciInfo_t {
            busIdLegacy: [0; 16],
            domain: 0,
            bus: 0,
            device: 0,
            pciDeviceId: 0,
            pciSubSystemId: 0,
            busId: [0; 32],
        };
        // SAFETY: the handle is NVML's own and the place is valid for the call.
        let status = unsafe { function(self.handle, &raw mut place) };
        check(self.library, name, status)?;
        // The vendor is in the lower half.
        Ok(u64::from(place.pciDeviceId >> 16))
    }
}
