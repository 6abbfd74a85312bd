//! Questions that the wrapper has no function for, asked through its own bindings.
#![expect(unsafe_code, reason = "C functions of the driver's library are called here")]

use nvml_wrapper::{
    Device,
    error::{NvmlError, nvml_try},
    struct_wrappers::device::ProcessInfo,
};

use crate::device::{Memory, ProcessKind};

/// Room for processes at the first attempt: enough for all but the busiest device.
const USUAL_ROOM: u32 = 128;
/// More than any driver lists: an answer beyond this is wrong.
const MOST_ROOM: u32 = 1 << 16;
/// Attempts, each with more room: processes may come between two of them.
const ATTEMPTS: usize = 4;

/// The error for a function that this driver's library does not have.
fn missing<E: ToString>(error: &E) -> NvmlError {
    NvmlError::FailedToLoadSymbol(error.to_string())
}

/// Rows of memory replaced after uncorrectable errors (Ampere and newer).
pub(crate) fn uncorrectable_remapped_rows(device: &Device<'_>) -> Result<u32, NvmlError> {
    let ask = device.nvml().lib().nvmlDeviceGetRemappedRows.as_ref().map_err(missing)?;
    let (mut correctable, mut uncorrectable, mut pending, mut failed) = (0, 0, 0, 0);
    // SAFETY: the handle comes from the library that is called and lives as long as it, by the
    // wrapper's lifetime; the function is documented to write one number to each of four places,
    // which are distinct local variables of the declared type.
    let code = unsafe {
        ask(device.handle(), &mut correctable, &mut uncorrectable, &mut pending, &mut failed)
    };
    nvml_try(code)?;
    Ok(uncorrectable)
}

/// The first version of the answer about memory, which drivers before 510 have only. It does not tell
/// what the driver keeps for itself.
pub(crate) fn memory_of_older_drivers(device: &Device<'_>) -> Result<Memory, NvmlError> {
    let ask = device.nvml().lib().nvmlDeviceGetMemoryInfo.as_ref().map_err(missing)?;
    let mut answer = std::mem::MaybeUninit::zeroed();
    // SAFETY: the handle is as above; the function is documented to write one structure, and the
    // place has room for exactly that structure by its type.
    let code = unsafe { ask(device.handle(), answer.as_mut_ptr()) };
    nvml_try(code)?;
    // SAFETY: the structure is three numbers, for which zeroes are valid already.
    let answer = unsafe { answer.assume_init() };
    Ok(Memory { total: answer.total, free: answer.free, used: answer.used, reserved: None })
}

/// The processes of one list. The wrapper asks for their number first; with room at hand one question
/// does, and processes that come in between are no error.
pub(crate) fn processes(
    device: &Device<'_>,
    kind: ProcessKind,
) -> Result<Vec<ProcessInfo>, NvmlError> {
    let lib = device.nvml().lib();
    let ask = match kind {
        ProcessKind::Compute => &lib.nvmlDeviceGetComputeRunningProcesses_v3,
        ProcessKind::Graphics => &lib.nvmlDeviceGetGraphicsRunningProcesses_v3,
        ProcessKind::Mps => &lib.nvmlDeviceGetMPSComputeRunningProcesses_v3,
    };
    let ask = ask.as_ref().map_err(missing)?;
    let mut room = USUAL_ROOM;
    for _ in 0..ATTEMPTS {
        let mut list = Vec::with_capacity(room as usize);
        let mut count = room;
        // SAFETY: the handle is as above; the function is documented to write at most `count` structures
        // to the list, which has room for that many, and to set `count` to their number.
        let code = unsafe { ask(device.handle(), &mut count, list.as_mut_ptr()) };
        match nvml_try(code) {
            Err(NvmlError::InsufficientSize(_)) => {
                room = count.saturating_add(USUAL_ROOM).min(MOST_ROOM);
            }
            Err(error) => return Err(error),
            Ok(()) => {
                // SAFETY: that many structures were written, and no more than there was room for.
                unsafe { list.set_len(count.min(room) as usize) };
                return Ok(list.into_iter().map(ProcessInfo::from).collect());
            }
        }
    }
    Err(NvmlError::InsufficientSize(None))
}
