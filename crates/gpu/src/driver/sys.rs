//! The driver's functions and structures as the CUDA driver API's reference documents them.
//!
//! Declared here and not taken from a crate of bindings: those load the library themselves and panic
//! where it is missing, which may not happen in somebody's process. A test compares the structures
//! with such a crate's.

use std::ffi::{c_char, c_int, c_uchar, c_uint, c_ulonglong, c_ushort, c_void};

/// `CUresult`: a number, for a newer driver may answer one that nobody here has heard of.
pub(super) type Result = c_uint;
/// `CUdevice`.
pub(super) type Device = c_int;
/// `CUdeviceptr`.
pub(super) type Address = c_ulonglong;
/// `CUcontext`, `CUstream`, `CUevent`: pointers that only the driver looks behind.
pub(super) type Opaque = *mut c_void;
/// `CUmemGenericAllocationHandle`.
pub(super) type Handle = c_ulonglong;

/// `CU_MEM_ALLOCATION_TYPE_PINNED`.
pub(super) const PINNED: c_uint = 1;
/// `CU_MEM_HANDLE_TYPE_NONE`: not to be exported to other processes.
pub(super) const NOT_EXPORTED: c_uint = 0;
/// `CU_MEM_LOCATION_TYPE_DEVICE`.
pub(super) const ON_DEVICE: c_uint = 1;
/// `CU_MEM_ACCESS_FLAGS_PROT_READWRITE`.
pub(super) const READ_AND_WRITE: c_uint = 3;
/// `CU_MEM_ALLOC_GRANULARITY_MINIMUM`.
pub(super) const LEAST_GRANULARITY: c_uint = 0;
/// `CU_DEVICE_ATTRIBUTE_GPU_DIRECT_RDMA_WITH_CUDA_VMM_SUPPORTED`.
pub(super) const RDMA_WITH_VIRTUAL_MEMORY: c_uint = 110;
/// `CU_DEVICE_ATTRIBUTE_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED`.
pub(super) const VIRTUAL_MEMORY: c_uint = 102;
/// `CU_EVENT_DISABLE_TIMING`.
pub(super) const WITHOUT_TIMING: c_uint = 2;
/// `CU_STREAM_NON_BLOCKING`: does not wait for the legacy stream.
pub(super) const NON_BLOCKING: c_uint = 1;
/// `CU_STREAM_CAPTURE_STATUS_NONE`.
pub(super) const NOT_CAPTURING: c_uint = 0;
/// `CU_STREAM_CAPTURE_MODE_RELAXED`.
pub(super) const RELAXED: c_uint = 2;

/// `CUmemLocation`.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub(super) struct Location {
    pub(super) kind: c_uint,
    pub(super) id: c_int,
}

/// `CUmemAllocationProp::allocFlags`.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub(super) struct AllocationFlags {
    pub(super) compression: c_uchar,
    pub(super) rdma_capable: c_uchar,
    pub(super) usage: c_ushort,
    pub(super) reserved: [c_uchar; 4],
}

/// `CUmemAllocationProp`.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub(super) struct AllocationProperties {
    pub(super) kind: c_uint,
    pub(super) handle_types: c_uint,
    pub(super) location: Location,
    pub(super) security_attributes: Opaque,
    pub(super) flags: AllocationFlags,
}

/// `CUmemAccessDesc`.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub(super) struct Access {
    pub(super) location: Location,
    pub(super) flags: c_uint,
}

/// Declares the table: for each function the name of its field, the name under which the library
/// exports it, and its arguments.
macro_rules! functions {
    ($($field:ident = $name:literal ($($argument:ty),*);)*) => {
        /// The functions, all of them found.
        pub(super) struct Functions {
            $(pub(super) $field: unsafe extern "C" fn($($argument),*) -> Result,)*
        }

        impl Functions {
            /// The table of what `find` finds, or the name of the first function that it does not.
            ///
            /// # Safety
            /// What `find` gives for a name is the driver's function of that name.
            #[expect(unsafe_code, reason = "addresses become functions here")]
            pub(super) unsafe fn find(
                mut find: impl FnMut(&std::ffi::CStr) -> Option<std::ptr::NonNull<c_void>>,
            ) -> std::result::Result<Self, &'static str> {
                Ok(Self {
                    $($field: {
                        const NAME: &std::ffi::CStr = $name;
                        let found = find(NAME).ok_or(NAME.to_str().unwrap_or_default())?;
                        // SAFETY: the address is that of the named function, by this function's own
                        // contract, and the type is the one documented for it.
                        unsafe {
                            std::mem::transmute::<
                                *mut c_void,
                                unsafe extern "C" fn($($argument),*) -> Result,
                            >(found.as_ptr())
                        }
                    },)*
                })
            }
        }
    };
}

functions! {
    init = c"cuInit" (c_uint);
    version = c"cuDriverGetVersion" (*mut c_int);
    device_uuid = c"cuDeviceGetUuid" (*mut [u8; 16], Device);
    memory_alloc = c"cuMemAlloc_v2" (*mut Address, usize);
    memory_free = c"cuMemFree_v2" (Address);
    device_count = c"cuDeviceGetCount" (*mut c_int);
    device_get = c"cuDeviceGet" (*mut Device, c_int);
    device_total_memory = c"cuDeviceTotalMem_v2" (*mut usize, Device);
    device_attribute = c"cuDeviceGetAttribute" (*mut c_int, c_uint, Device);
    device_can_access_peer = c"cuDeviceCanAccessPeer" (*mut c_int, Device, Device);
    primary_context_retain = c"cuDevicePrimaryCtxRetain" (*mut Opaque, Device);
    context_current = c"cuCtxGetCurrent" (*mut Opaque);
    context_device = c"cuCtxGetDevice" (*mut Device);
    context_push = c"cuCtxPushCurrent_v2" (Opaque);
    context_pop = c"cuCtxPopCurrent_v2" (*mut Opaque);
    context_synchronize = c"cuCtxSynchronize" ();
    memory_info = c"cuMemGetInfo_v2" (*mut usize, *mut usize);
    address_reserve = c"cuMemAddressReserve" (*mut Address, usize, usize, Address, c_ulonglong);
    address_free = c"cuMemAddressFree" (Address, usize);
    memory_granularity = c"cuMemGetAllocationGranularity"
        (*mut usize, *const AllocationProperties, c_uint);
    memory_create = c"cuMemCreate"
        (*mut Handle, usize, *const AllocationProperties, c_ulonglong);
    memory_release = c"cuMemRelease" (Handle);
    memory_map = c"cuMemMap" (Address, usize, usize, Handle, c_ulonglong);
    memory_unmap = c"cuMemUnmap" (Address, usize);
    memory_set_access = c"cuMemSetAccess" (Address, usize, *const Access, usize);
    event_create = c"cuEventCreate" (*mut Opaque, c_uint);
    event_record = c"cuEventRecord" (Opaque, Opaque);
    event_query = c"cuEventQuery" (Opaque);
    event_synchronize = c"cuEventSynchronize" (Opaque);
    event_destroy = c"cuEventDestroy_v2" (Opaque);
    stream_create = c"cuStreamCreate" (*mut Opaque, c_uint);
    stream_destroy = c"cuStreamDestroy_v2" (Opaque);
    stream_synchronize = c"cuStreamSynchronize" (Opaque);
    stream_wait_event = c"cuStreamWaitEvent" (Opaque, Opaque, c_uint);
    stream_is_capturing = c"cuStreamIsCapturing" (Opaque, *mut c_uint);
    exchange_capture_mode = c"cuThreadExchangeStreamCaptureMode" (*mut c_uint);
    fill_bytes = c"cuMemsetD8Async" (Address, c_uchar, usize, Opaque);
    copy_between = c"cuMemcpyPeerAsync" (Address, Opaque, Address, Opaque, usize, Opaque);
    module_load = c"cuModuleLoadData" (*mut Opaque, *const c_char);
    module_function = c"cuModuleGetFunction" (*mut Opaque, Opaque, *const c_char);
    launch = c"cuLaunchKernel" (
        Opaque, c_uint, c_uint, c_uint, c_uint, c_uint, c_uint, c_uint, Opaque, *mut *mut c_void,
        *mut *mut c_void
    );
    copy_to_host = c"cuMemcpyDtoHAsync_v2" (*mut c_char, Address, usize, Opaque);
}

/// A handle as the driver wants it.
pub(super) fn opaque(handle: u64) -> Opaque {
    std::ptr::with_exposed_provenance_mut(handle as usize)
}

/// A handle as it is kept here.
pub(super) fn number(handle: Opaque) -> u64 {
    handle.expose_provenance() as u64
}

#[cfg(test)]
mod tests {
    use std::mem::{align_of, offset_of, size_of};

    use cudarc::driver::sys;

    use super::*;

    #[test]
    fn the_structures_are_laid_out_as_the_bindings_crate_has_them() {
        assert_eq!(size_of::<Location>(), size_of::<sys::CUmemLocation>());
        assert_eq!(offset_of!(Location, kind), offset_of!(sys::CUmemLocation, type_));
        assert_eq!(offset_of!(Location, id), offset_of!(sys::CUmemLocation, __bindgen_anon_1));

        type Theirs = sys::CUmemAllocationProp;
        type Ours = AllocationProperties;
        assert_eq!(size_of::<Ours>(), size_of::<Theirs>());
        assert_eq!(align_of::<Ours>(), align_of::<Theirs>());
        assert_eq!(offset_of!(Ours, kind), offset_of!(Theirs, type_));
        assert_eq!(offset_of!(Ours, handle_types), offset_of!(Theirs, requestedHandleTypes));
        assert_eq!(offset_of!(Ours, location), offset_of!(Theirs, location));
        assert_eq!(offset_of!(Ours, flags), offset_of!(Theirs, allocFlags));
        assert_eq!(
            offset_of!(Ours, flags.rdma_capable),
            offset_of!(Theirs, allocFlags.gpuDirectRDMACapable)
        );

        assert_eq!(size_of::<Access>(), size_of::<sys::CUmemAccessDesc>());
        assert_eq!(offset_of!(Access, flags), offset_of!(sys::CUmemAccessDesc, flags));
    }

    #[test]
    fn the_constants_are_those_of_the_bindings_crate() {
        use sys::*;
        for (ours, theirs) in [
            (PINNED, CUmemAllocationType::CU_MEM_ALLOCATION_TYPE_PINNED as c_uint),
            (NOT_EXPORTED, CUmemAllocationHandleType::CU_MEM_HANDLE_TYPE_NONE.0),
            (ON_DEVICE, CUmemLocationType::CU_MEM_LOCATION_TYPE_DEVICE as c_uint),
            (READ_AND_WRITE, CUmemAccess_flags::CU_MEM_ACCESS_FLAGS_PROT_READWRITE as c_uint),
            (
                LEAST_GRANULARITY,
                CUmemAllocationGranularity_flags::CU_MEM_ALLOC_GRANULARITY_MINIMUM as c_uint,
            ),
            (
                RDMA_WITH_VIRTUAL_MEMORY,
                CUdevice_attribute::CU_DEVICE_ATTRIBUTE_GPU_DIRECT_RDMA_WITH_CUDA_VMM_SUPPORTED
                    as c_uint,
            ),
            (
                VIRTUAL_MEMORY,
                CUdevice_attribute::CU_DEVICE_ATTRIBUTE_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED
                    as c_uint,
            ),
            (WITHOUT_TIMING, CUevent_flags::CU_EVENT_DISABLE_TIMING as c_uint),
            (NON_BLOCKING, CUstream_flags::CU_STREAM_NON_BLOCKING as c_uint),
            (NOT_CAPTURING, CUstreamCaptureStatus::CU_STREAM_CAPTURE_STATUS_NONE as c_uint),
            (RELAXED, CUstreamCaptureMode::CU_STREAM_CAPTURE_MODE_RELAXED as c_uint),
        ] {
            assert_eq!(ours, theirs);
        }
    }

    #[test]
    #[expect(unsafe_code, reason = "a table is made of functions that are never called")]
    fn the_first_missing_function_is_named() {
        let mut asked = 0;
        // SAFETY: no function of this table is called; it is not even made.
        let missing = unsafe {
            Functions::find(|name| {
                asked += 1;
                (name != c"cuMemAddressReserve").then_some(std::ptr::NonNull::dangling())
            })
        };
        assert_eq!(missing.err(), Some("cuMemAddressReserve"));
        assert!(asked > 1, "the ones before it were found");
    }
}
