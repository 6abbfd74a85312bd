//! What a device says of itself. Values that the model table does not have are either the same for
//! every device (documented), or 0: not supported here.

use cudarc::driver::sys::CUdevice_attribute as Attribute;
use whyoom_lab_core::{
    identity,
    machine::{DeviceSpec, Quirks},
};

/// The value of an attribute; nothing where the number names none.
pub(crate) fn value(
    attribute: u32,
    device: usize,
    spec: &DeviceSpec,
    quirks: Quirks,
) -> Option<i64> {
    let last = Attribute::CU_DEVICE_ATTRIBUTE_MAX as u32;
    if !(1..last).contains(&attribute) {
        return None;
    }
    let virtual_memory = Attribute::CU_DEVICE_ATTRIBUTE_VIRTUAL_ADDRESS_MANAGEMENT_SUPPORTED;
    if quirks.no_virtual_memory && attribute == virtual_memory as u32 {
        return Some(0);
    }
    let fixed = FIXED.iter().find(|(known, _)| *known as u32 == attribute);
    let value = fixed.map(|(_, value)| *value).or_else(|| of_model(attribute, spec));
    Some(value.or_else(|| of_place(attribute, device)).unwrap_or(0))
}

fn of_place(attribute: u32, device: usize) -> Option<i64> {
    let bus = Attribute::CU_DEVICE_ATTRIBUTE_PCI_BUS_ID as u32;
    (attribute == bus).then(|| i64::from(identity::pci_bus(device)))
}

fn of_model(attribute: u32, spec: &DeviceSpec) -> Option<i64> {
    use Attribute::*;
    let model = spec.model;
    let (major, minor) = model.compute_capability;
    // Documented: 32 blocks fit a multiprocessor from 7.0 on, but 16 with 7.5 and 8.6, 24 with 8.9.
    let blocks = match (major, minor) {
        (7, 5) | (8, 6) => 16,
        (8, 9) | (12, _) => 24,
        _ => 32,
    };
    let values: &[(Attribute, i64)] = &[
        (CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, model.multiprocessors.value.into()),
        (CU_DEVICE_ATTRIBUTE_CLOCK_RATE, model.clock_khz.value.into()),
        (CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE, model.memory_clock_khz.value.into()),
        (CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH, model.bus_width_bits.value.into()),
        (CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE, model.l2_bytes.value as i64),
        (
            CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR,
            model.threads_per_multiprocessor.value.into(),
        ),
        (
            CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR,
            model.shared_per_multiprocessor.value.into(),
        ),
        (
            CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN,
            model.shared_per_block_optin.value.into(),
        ),
        (
            CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_MULTIPROCESSOR,
            model.registers_per_multiprocessor.value.into(),
        ),
        (CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, major.into()),
        (CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, minor.into()),
        (CU_DEVICE_ATTRIBUTE_MAX_BLOCKS_PER_MULTIPROCESSOR, blocks),
        (CU_DEVICE_ATTRIBUTE_CLUSTER_LAUNCH, (major >= 9).into()),
        (CU_DEVICE_ATTRIBUTE_RESERVED_SHARED_MEMORY_PER_BLOCK, if major >= 8 { 1024 } else { 0 }),
    ];
    values.iter().find(|(known, _)| *known as u32 == attribute).map(|(_, value)| *value)
}

/// The same for every device that CUDA 13 serves, from the programming guide's table, or a feature
/// that the lab has.
const FIXED: &[(Attribute, i64)] = {
    use Attribute::*;
    &[
        (CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK, 1024),
        (CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_X, 1024),
        (CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Y, 1024),
        (CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Z, 64),
        (CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_X, i32::MAX as i64),
        (CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Y, 65535),
        (CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Z, 65535),
        (CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK, 48 << 10),
        (CU_DEVICE_ATTRIBUTE_TOTAL_CONSTANT_MEMORY, 64 << 10),
        (CU_DEVICE_ATTRIBUTE_WARP_SIZE, 32),
        (CU_DEVICE_ATTRIBUTE_MAX_PITCH, i32::MAX as i64),
        (CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_BLOCK, 65536),
        (CU_DEVICE_ATTRIBUTE_TEXTURE_ALIGNMENT, 512),
        (CU_DEVICE_ATTRIBUTE_TEXTURE_PITCH_ALIGNMENT, 32),
        (CU_DEVICE_ATTRIBUTE_SURFACE_ALIGNMENT, 512),
        (CU_DEVICE_ATTRIBUTE_CAN_MAP_HOST_MEMORY, 1),
        (CU_DEVICE_ATTRIBUTE_CONCURRENT_KERNELS, 1),
        (CU_DEVICE_ATTRIBUTE_ASYNC_ENGINE_COUNT, 2),
        (CU_DEVICE_ATTRIBUTE_GPU_OVERLAP, 1),
        (CU_DEVICE_ATTRIBUTE_UNIFIED_ADDRESSING, 1),
        (CU_DEVICE_ATTRIBUTE_STREAM_PRIORITIES_SUPPORTED, 1),
        (CU_DEVICE_ATTRIBUTE_GLOBAL_L1_CACHE_SUPPORTED, 1),
        (CU_DEVICE_ATTRIBUTE_LOCAL_L1_CACHE_SUPPORTED, 1),
        (CU_DEVICE_ATTRIBUTE_MANAGED_MEMORY, 1),
        (CU_DEVICE_ATTRIBUTE_CONCURRENT_MANAGED_ACCESS, 1),
        (CU_DEVICE_ATTRIBUTE_COMPUTE_PREEMPTION_SUPPORTED, 1),
        (CU_DEVICE_ATTRIBUTE_CAN_USE_HOST_POINTER_FOR_REGISTERED_MEM, 1),
        (CU_DEVICE_ATTRIBUTE_COOPERATIVE_LAUNCH, 1),
        (CU_DEVICE_ATTRIBUTE_HOST_REGISTER_SUPPORTED, 1),
        (CU_DEVICE_ATTRIBUTE_VIRTUAL_ADDRESS_MANAGEMENT_SUPPORTED, 1),
        (CU_DEVICE_ATTRIBUTE_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR_SUPPORTED, 1),
        (CU_DEVICE_ATTRIBUTE_IPC_EVENT_SUPPORTED, 1),
        (CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED, 1),
    ]
};
