//! Lists of processes in the layouts that the versions of NVML have given them.

use nvml_wrapper_sys::bindings as nvml;
use whyoom_lab_abi::{In, Out};
use whyoom_lab_core::machine::Holder;

use crate::status::{Failure, Result};

/// What stands for the part of a divided device that a process is in, where none is divided.
const NO_INSTANCE: u32 = u32::MAX;

impl From<&Holder> for Entry<nvml::nvmlProcessInfo_v1_t> {
    fn from(holder: &Holder) -> Self {
        Self(nvml::nvmlProcessInfo_v1_t { pid: holder.pid, usedGpuMemory: holder.bytes })
    }
}

impl From<&Holder> for Entry<nvml::nvmlProcessInfo_v2_t> {
    fn from(holder: &Holder) -> Self {
        Self(nvml::nvmlProcessInfo_v2_t {
            pid: holder.pid,
            usedGpuMemory: holder.bytes,
            gpuInstanceId: NO_INSTANCE,
            computeInstanceId: NO_INSTANCE,
        })
    }
}

impl From<&Holder> for Entry<nvml::nvmlProcessDetail_v1_t> {
    fn from(holder: &Holder) -> Self {
        Self(nvml::nvmlProcessDetail_v1_t {
            pid: holder.pid,
            usedGpuMemory: holder.bytes,
            gpuInstanceId: NO_INSTANCE,
            computeInstanceId: NO_INSTANCE,
            usedGpuCcProtectedMemory: 0,
        })
    }
}

/// One process in a list of that layout.
#[repr(transparent)]
pub(crate) struct Entry<Layout>(Layout);

/// Writes the processes and how many they are. Where they are more than the caller has room for, it
/// learns the number and nothing else; it asks that way on purpose, with room for none.
pub(crate) fn write_list<Layout>(
    count: Out<u32>,
    list: Out<Entry<Layout>>,
    holders: &[Holder],
) -> Result
where
    for<'holder> Entry<Layout>: From<&'holder Holder>,
{
    let room = In(count.0.cast_const()).get()?;
    let needed = u32::try_from(holders.len()).map_err(|_| Failure::Unknown)?;
    if needed > room {
        count.put(needed)?;
        return Err(Failure::InsufficientSize);
    }
    list.put_all(holders.iter().map(Entry::from))?;
    Ok(count.put(needed)?)
}
