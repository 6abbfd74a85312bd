//! Where memory should be: by the number of a device before 12.2, by kind and number since.

use cudarc::driver::sys::{CUdeviceptr, CUmemLocationType, CUstream};
use whyoom_lab_abi::exports;

use crate::{context, driver::Location, error::Status};

exports! { Status;
    fn cudaMemPrefetchAsync(pointer: CUdeviceptr, size: usize, device: i32, stream: CUstream) {
        context::current()?.cuMemPrefetchAsync(pointer, size, of_device(device), 0, stream)
    }

    fn cudaMemPrefetchAsync_v2(pointer: CUdeviceptr, size: usize, to: Location, flags: u32, stream: CUstream) {
        context::current()?.cuMemPrefetchAsync(pointer, size, to, flags, stream)
    }

    fn cudaMemAdvise(pointer: CUdeviceptr, size: usize, advice: u32, device: i32) {
        context::current()?.cuMemAdvise(pointer, size, advice, of_device(device))
    }

    fn cudaMemAdvise_v2(pointer: CUdeviceptr, size: usize, advice: u32, location: Location) {
        context::current()?.cuMemAdvise(pointer, size, advice, location)
    }
}

/// The host has a number among the devices in the old forms.
fn of_device(device: i32) -> Location {
    const HOST: i32 = -1;
    let kind = match device {
        HOST => CUmemLocationType::CU_MEM_LOCATION_TYPE_HOST,
        _ => CUmemLocationType::CU_MEM_LOCATION_TYPE_DEVICE,
    };
    Location { kind: kind as u32, id: device.max(0) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn minus_one_is_the_host() {
        assert_eq!(of_device(-1).kind, CUmemLocationType::CU_MEM_LOCATION_TYPE_HOST as u32);
        let device = of_device(3);
        assert_eq!(device.kind, CUmemLocationType::CU_MEM_LOCATION_TYPE_DEVICE as u32);
        assert_eq!(device.id, 3);
    }
}
