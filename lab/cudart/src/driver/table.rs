//! The functions of the driver that the runtime is made of.
//!
//! Names are without their version suffix: `cuGetProcAddress` gives the form of the version that is
//! asked for. Where a later version changed the signature, the version of the form used here stands
//! behind the signature. Enumerations are plain integers: numbers pass through as the program gave
//! them.

use std::ffi::{c_char, c_void};

use cudarc::driver::sys::{
    CUDA_ARRAY3D_DESCRIPTOR, CUDA_KERNEL_NODE_PARAMS_v2, CUDA_MEMCPY2D, CUDA_MEMCPY3D, CUarray,
    CUcontext, CUdevice, CUdeviceptr, CUevent, CUfunction, CUhostFn, CUipcEventHandle,
    CUipcMemHandle, CUkernel, CUlaunchConfig, CUlibrary, CUmemoryPool, CUmodule, CUstream, CUuuid,
};

use super::{API_VERSION, LookUp};
use crate::error::{self, Failure};

/// A place in memory by kind and number, `CUmemLocation` and `cudaMemLocation` alike.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct Location {
    pub kind: u32,
    pub id: i32,
}

macro_rules! driver_functions {
    (@version) => { API_VERSION };
    (@version $version:literal) => { $version };
    ($($name:ident($($argument:ident: $type:ty),*) $(as of $version:literal)?;)*) => {
        /// The functions that the driver has.
        #[allow(non_snake_case)]
        pub struct Driver { $($name: Option<unsafe extern "C" fn($($type),*) -> u32>,)* }

        #[allow(non_snake_case, clippy::too_many_arguments)]
        impl Driver {
            /// Looks up every function, once.
            pub fn resolved_by(look_up: &LookUp) -> Self {
                Self {$(
                    $name: {
                        const NAME: &str = concat!(stringify!($name), "\0");
                        let name = std::ffi::CStr::from_bytes_with_nul(NAME.as_bytes());
                        let version = driver_functions!(@version $($version)?);
                        let address = name
                            .map_or(std::ptr::null_mut(), |name| look_up.address(name, version));
                        // SAFETY: the driver's function of this name and version has the documented
                        // signature, which is the one here; null is what `None` looks like.
                        unsafe {
                            std::mem::transmute::<
                                *mut c_void,
                                Option<unsafe extern "C" fn($($type),*) -> u32>,
                            >(address)
                        }
                    },
                )*}
            }

            $(
                pub fn $name(&self, $($argument: $type),*) -> Result<(), Failure> {
                    let function = self.$name.ok_or(Failure::NOT_SUPPORTED)?;
                    // SAFETY: pointers are our own, or the program's, which hold by the contract of
                    // its own call; the driver checks all else.
                    error::of_driver(unsafe { function($($argument),*) })
                }
            )*
        }
    };
}

driver_functions! {
    cuInit(flags: u32);
    cuDriverGetVersion(version: *mut i32);
    cuDeviceGet(device: *mut CUdevice, ordinal: i32);
    cuDeviceGetCount(count: *mut i32);
    cuDeviceGetName(name: *mut c_char, room: i32, device: CUdevice);
    cuDeviceGetUuid(uuid: *mut CUuuid, device: CUdevice);
    cuDeviceTotalMem(bytes: *mut usize, device: CUdevice);
    cuDeviceGetAttribute(value: *mut i32, attribute: u32, device: CUdevice);
    cuDeviceGetPCIBusId(id: *mut c_char, room: i32, device: CUdevice);
    cuDeviceGetByPCIBusId(device: *mut CUdevice, id: *const c_char);
    cuDeviceGetDefaultMemPool(pool: *mut CUmemoryPool, device: CUdevice);
    cuDeviceGetMemPool(pool: *mut CUmemoryPool, device: CUdevice);
    cuDeviceSetMemPool(device: CUdevice, pool: CUmemoryPool);
    cuDeviceCanAccessPeer(can: *mut i32, device: CUdevice, peer: CUdevice);
    cuDeviceGetP2PAttribute(value: *mut i32, attribute: u32, from: CUdevice, to: CUdevice);
    cuDevicePrimaryCtxRetain(context: *mut CUcontext, device: CUdevice);
    cuDevicePrimaryCtxReset(device: CUdevice);
    cuDevicePrimaryCtxSetFlags(device: CUdevice, flags: u32);
    cuDevicePrimaryCtxGetState(device: CUdevice, flags: *mut u32, active: *mut i32);

    cuCtxGetCurrent(context: *mut CUcontext);
    cuCtxSetCurrent(context: CUcontext);
    cuCtxGetDevice(device: *mut CUdevice) as of 12000;
    cuCtxSynchronize() as of 12000;
    cuCtxSetLimit(limit: u32, value: usize);
    cuCtxGetLimit(value: *mut usize, limit: u32);
    cuCtxGetCacheConfig(config: *mut u32);
    cuCtxSetCacheConfig(config: u32);
    cuCtxResetPersistingL2Cache();
    cuCtxGetStreamPriorityRange(least: *mut i32, greatest: *mut i32);
    cuCtxEnablePeerAccess(peer: CUcontext, flags: u32);
    cuCtxDisablePeerAccess(peer: CUcontext);

    cuMemGetInfo(free: *mut usize, total: *mut usize);
    cuMemAlloc(pointer: *mut CUdeviceptr, size: usize);
    cuMemAllocPitch(pointer: *mut CUdeviceptr, pitch: *mut usize, width: usize, height: usize, element: u32);
    cuMemFree(pointer: CUdeviceptr);
    cuMemAllocManaged(pointer: *mut CUdeviceptr, size: usize, flags: u32);
    cuMemAllocHost(pointer: *mut *mut c_void, size: usize);
    cuMemHostAlloc(pointer: *mut *mut c_void, size: usize, flags: u32);
    cuMemFreeHost(pointer: *mut c_void);
    cuMemHostRegister(pointer: *mut c_void, size: usize, flags: u32);
    cuMemHostUnregister(pointer: *mut c_void);
    cuMemHostGetDevicePointer(device: *mut CUdeviceptr, host: *mut c_void, flags: u32);
    cuMemHostGetFlags(flags: *mut u32, host: *mut c_void);
    cuMemPrefetchAsync(pointer: CUdeviceptr, size: usize, to: Location, flags: u32, stream: CUstream);
    cuMemAdvise(pointer: CUdeviceptr, size: usize, advice: u32, location: Location);
    cuMemRangeGetAttribute(data: *mut c_void, room: usize, attribute: u32, pointer: CUdeviceptr, size: usize);
    cuStreamAttachMemAsync(stream: CUstream, pointer: CUdeviceptr, size: usize, flags: u32);
    cuPointerGetAttribute(data: *mut c_void, attribute: u32, pointer: CUdeviceptr);
    cuArray3DCreate(array: *mut CUarray, descriptor: *const CUDA_ARRAY3D_DESCRIPTOR);
    cuArrayDestroy(array: CUarray);

    cuMemcpy(to: CUdeviceptr, from: CUdeviceptr, size: usize);
    cuMemcpyAsync(to: CUdeviceptr, from: CUdeviceptr, size: usize, stream: CUstream);
    cuMemcpyPeer(to: CUdeviceptr, there: CUcontext, from: CUdeviceptr, here: CUcontext, size: usize);
    cuMemcpyPeerAsync(to: CUdeviceptr, there: CUcontext, from: CUdeviceptr, here: CUcontext, size: usize, stream: CUstream);
    cuMemcpy2DUnaligned(copy: *const CUDA_MEMCPY2D);
    cuMemcpy2DAsync(copy: *const CUDA_MEMCPY2D, stream: CUstream);
    cuMemcpy3D(copy: *const CUDA_MEMCPY3D);
    cuMemcpy3DAsync(copy: *const CUDA_MEMCPY3D, stream: CUstream);
    cuMemsetD8(pointer: CUdeviceptr, value: u8, count: usize);
    cuMemsetD8Async(pointer: CUdeviceptr, value: u8, count: usize, stream: CUstream);
    cuMemsetD2D8(pointer: CUdeviceptr, pitch: usize, value: u8, width: usize, height: usize);
    cuMemsetD2D8Async(pointer: CUdeviceptr, pitch: usize, value: u8, width: usize, height: usize, stream: CUstream);

    cuMemAllocAsync(pointer: *mut CUdeviceptr, size: usize, stream: CUstream);
    cuMemAllocFromPoolAsync(pointer: *mut CUdeviceptr, size: usize, pool: CUmemoryPool, stream: CUstream);
    cuMemFreeAsync(pointer: CUdeviceptr, stream: CUstream);
    cuMemPoolCreate(pool: *mut CUmemoryPool, properties: *const c_void);
    cuMemPoolDestroy(pool: CUmemoryPool);
    cuMemPoolTrimTo(pool: CUmemoryPool, kept: usize);
    cuMemPoolSetAttribute(pool: CUmemoryPool, attribute: u32, value: *mut c_void);
    cuMemPoolGetAttribute(pool: CUmemoryPool, attribute: u32, value: *mut c_void);
    cuMemPoolSetAccess(pool: CUmemoryPool, list: *const c_void, count: usize);
    cuMemPoolGetAccess(flags: *mut u32, pool: CUmemoryPool, location: *mut Location);
    cuMemPoolExportToShareableHandle(handle: *mut c_void, pool: CUmemoryPool, kind: u32, flags: u64);
    cuMemPoolImportFromShareableHandle(pool: *mut CUmemoryPool, handle: *mut c_void, kind: u32, flags: u64);
    cuMemPoolExportPointer(data: *mut c_void, pointer: CUdeviceptr);
    cuMemPoolImportPointer(pointer: *mut CUdeviceptr, pool: CUmemoryPool, data: *mut c_void);

    cuStreamCreate(stream: *mut CUstream, flags: u32);
    cuStreamCreateWithPriority(stream: *mut CUstream, flags: u32, priority: i32);
    cuStreamDestroy(stream: CUstream);
    cuStreamSynchronize(stream: CUstream);
    cuStreamQuery(stream: CUstream);
    cuStreamWaitEvent(stream: CUstream, event: CUevent, flags: u32);
    cuStreamGetPriority(stream: CUstream, priority: *mut i32);
    cuStreamGetFlags(stream: CUstream, flags: *mut u32);
    cuStreamGetId(stream: CUstream, id: *mut u64);
    cuStreamGetDevice(stream: CUstream, device: *mut CUdevice);
    cuStreamCopyAttributes(to: CUstream, from: CUstream);
    cuStreamGetAttribute(stream: CUstream, attribute: u32, value: *mut c_void);
    cuStreamSetAttribute(stream: CUstream, attribute: u32, value: *const c_void);
    cuStreamAddCallback(stream: CUstream, callback: *const c_void, data: *mut c_void, flags: u32);
    cuLaunchHostFunc(stream: CUstream, function: CUhostFn, data: *mut c_void) as of 12000;
    cuEventCreate(event: *mut CUevent, flags: u32);
    cuEventDestroy(event: CUevent);
    cuEventRecord(event: CUevent, stream: CUstream);
    cuEventRecordWithFlags(event: CUevent, stream: CUstream, flags: u32);
    cuEventQuery(event: CUevent);
    cuEventSynchronize(event: CUevent);
    cuEventElapsedTime(milliseconds: *mut f32, start: CUevent, end: CUevent);

    cuStreamBeginCapture(stream: CUstream, mode: u32);
    cuStreamBeginCaptureToGraph(stream: CUstream, graph: u64, nodes: *const u64, data: *const c_void, count: usize, mode: u32);
    cuStreamEndCapture(stream: CUstream, graph: *mut u64);
    cuStreamIsCapturing(stream: CUstream, status: *mut u32);
    cuStreamGetCaptureInfo(stream: CUstream, status: *mut u32, id: *mut u64, graph: *mut u64, nodes: *mut *const u64, data: *mut *const c_void, count: *mut usize);
    cuStreamUpdateCaptureDependencies(stream: CUstream, nodes: *mut u64, data: *const c_void, count: usize, flags: u32);
    cuThreadExchangeStreamCaptureMode(mode: *mut u32);

    cuGraphCreate(graph: *mut u64, flags: u32);
    cuGraphDestroy(graph: u64);
    cuGraphClone(copy: *mut u64, graph: u64);
    cuGraphNodeFindInClone(node: *mut u64, original: u64, clone: u64);
    cuGraphGetNodes(graph: u64, nodes: *mut u64, count: *mut usize);
    cuGraphGetRootNodes(graph: u64, nodes: *mut u64, count: *mut usize);
    cuGraphGetEdges(graph: u64, from: *mut u64, to: *mut u64, data: *mut c_void, count: *mut usize);
    cuGraphNodeGetDependencies(node: u64, nodes: *mut u64, data: *mut c_void, count: *mut usize);
    cuGraphNodeGetDependentNodes(node: u64, nodes: *mut u64, data: *mut c_void, count: *mut usize);
    cuGraphAddDependencies(graph: u64, from: *const u64, to: *const u64, data: *const c_void, count: usize);
    cuGraphRemoveDependencies(graph: u64, from: *const u64, to: *const u64, data: *const c_void, count: usize);
    cuGraphNodeGetType(node: u64, kind: *mut u32);
    cuGraphNodeGetContainingGraph(node: u64, graph: *mut u64);
    cuGraphNodeGetLocalId(node: u64, number: *mut u32);
    cuGraphNodeGetToolsId(node: u64, number: *mut u64);
    cuGraphGetId(graph: u64, number: *mut u32);
    cuGraphExecGetId(exec: u64, number: *mut u32);
    cuGraphDestroyNode(node: u64);
    cuGraphDebugDotPrint(graph: u64, path: *const c_char, flags: u32);
    cuGraphConditionalHandleCreate(handle: *mut u64, graph: u64, context: CUcontext, value: u32, flags: u32);
    cuGraphAddNode(node: *mut u64, graph: u64, nodes: *const u64, data: *const c_void, count: usize, parameters: *mut c_void);
    cuGraphNodeSetParams(node: u64, parameters: *mut c_void);
    cuGraphExecNodeSetParams(exec: u64, node: u64, parameters: *mut c_void);
    cuGraphAddKernelNode(node: *mut u64, graph: u64, nodes: *const u64, count: usize, kernel: *const CUDA_KERNEL_NODE_PARAMS_v2);
    cuGraphKernelNodeGetParams(node: u64, kernel: *mut CUDA_KERNEL_NODE_PARAMS_v2);
    cuGraphKernelNodeSetParams(node: u64, kernel: *const CUDA_KERNEL_NODE_PARAMS_v2);
    cuGraphExecKernelNodeSetParams(exec: u64, node: u64, kernel: *const CUDA_KERNEL_NODE_PARAMS_v2);
    cuGraphAddMemcpyNode(node: *mut u64, graph: u64, nodes: *const u64, count: usize, copy: *const CUDA_MEMCPY3D, context: CUcontext);
    cuGraphMemcpyNodeGetParams(node: u64, copy: *mut CUDA_MEMCPY3D);
    cuGraphMemcpyNodeSetParams(node: u64, copy: *const CUDA_MEMCPY3D);
    cuGraphExecMemcpyNodeSetParams(exec: u64, node: u64, copy: *const CUDA_MEMCPY3D, context: CUcontext);
    cuGraphAddMemsetNode(node: *mut u64, graph: u64, nodes: *const u64, count: usize, fill: *const c_void, context: CUcontext);
    cuGraphMemsetNodeGetParams(node: u64, fill: *mut c_void);
    cuGraphMemsetNodeSetParams(node: u64, fill: *const c_void);
    cuGraphExecMemsetNodeSetParams(exec: u64, node: u64, fill: *const c_void, context: CUcontext);
    cuGraphAddHostNode(node: *mut u64, graph: u64, nodes: *const u64, count: usize, call: *const c_void);
    cuGraphHostNodeGetParams(node: u64, call: *mut c_void);
    cuGraphHostNodeSetParams(node: u64, call: *const c_void);
    cuGraphExecHostNodeSetParams(exec: u64, node: u64, call: *const c_void);
    cuGraphAddEmptyNode(node: *mut u64, graph: u64, nodes: *const u64, count: usize);
    cuGraphAddChildGraphNode(node: *mut u64, graph: u64, nodes: *const u64, count: usize, child: u64);
    cuGraphChildGraphNodeGetGraph(node: u64, child: *mut u64);
    cuGraphAddEventRecordNode(node: *mut u64, graph: u64, nodes: *const u64, count: usize, event: CUevent);
    cuGraphEventRecordNodeGetEvent(node: u64, event: *mut CUevent);
    cuGraphEventRecordNodeSetEvent(node: u64, event: CUevent);
    cuGraphExecEventRecordNodeSetEvent(exec: u64, node: u64, event: CUevent);
    cuGraphAddEventWaitNode(node: *mut u64, graph: u64, nodes: *const u64, count: usize, event: CUevent);
    cuGraphEventWaitNodeGetEvent(node: u64, event: *mut CUevent);
    cuGraphEventWaitNodeSetEvent(node: u64, event: CUevent);
    cuGraphExecEventWaitNodeSetEvent(exec: u64, node: u64, event: CUevent);
    cuGraphAddMemAllocNode(node: *mut u64, graph: u64, nodes: *const u64, count: usize, alloc: *mut c_void);
    cuGraphMemAllocNodeGetParams(node: u64, alloc: *mut c_void);
    cuGraphAddMemFreeNode(node: *mut u64, graph: u64, nodes: *const u64, count: usize, pointer: CUdeviceptr);
    cuGraphMemFreeNodeGetParams(node: u64, pointer: *mut CUdeviceptr);
    cuDeviceGetGraphMemAttribute(device: CUdevice, attribute: u32, value: *mut c_void);
    cuDeviceSetGraphMemAttribute(device: CUdevice, attribute: u32, value: *mut c_void);
    cuDeviceGraphMemTrim(device: CUdevice);
    cuGraphInstantiate(exec: *mut u64, graph: u64, flags: u64);
    cuGraphInstantiateWithParams(exec: *mut u64, graph: u64, parameters: *mut c_void);
    cuGraphExecGetFlags(exec: u64, flags: *mut u64);
    cuGraphExecDestroy(exec: u64);
    cuGraphExecUpdate(exec: u64, graph: u64, result: *mut c_void);
    cuGraphUpload(exec: u64, stream: CUstream);
    cuGraphLaunch(exec: u64, stream: CUstream);
    cuGraphNodeSetEnabled(exec: u64, node: u64, enabled: u32);
    cuGraphNodeGetEnabled(exec: u64, node: u64, enabled: *mut u32);
    cuUserObjectCreate(object: *mut u64, data: *mut c_void, destroy: CUhostFn, references: u32, flags: u32);
    cuUserObjectRetain(object: u64, count: u32);
    cuUserObjectRelease(object: u64, count: u32);
    cuGraphRetainUserObject(graph: u64, object: u64, count: u32, flags: u32);
    cuGraphReleaseUserObject(graph: u64, object: u64, count: u32);

    cuIpcGetMemHandle(handle: *mut CUipcMemHandle, pointer: CUdeviceptr);
    cuIpcOpenMemHandle(pointer: *mut CUdeviceptr, handle: CUipcMemHandle, flags: u32);
    cuIpcCloseMemHandle(pointer: CUdeviceptr);
    cuIpcGetEventHandle(handle: *mut CUipcEventHandle, event: CUevent);
    cuIpcOpenEventHandle(event: *mut CUevent, handle: CUipcEventHandle);

    cuModuleLoadFatBinary(module: *mut CUmodule, image: *const c_void);
    cuModuleGetFunction(function: *mut CUfunction, module: CUmodule, name: *const c_char);
    cuModuleGetGlobal(pointer: *mut CUdeviceptr, size: *mut usize, module: CUmodule, name: *const c_char);
    cuLibraryLoadData(library: *mut CUlibrary, code: *const c_void, jit: *mut u32, jit_values: *mut *mut c_void, jit_count: u32, options: *mut u32, values: *mut *mut c_void, count: u32);
    cuLibraryLoadFromFile(library: *mut CUlibrary, path: *const c_char, jit: *mut u32, jit_values: *mut *mut c_void, jit_count: u32, options: *mut u32, values: *mut *mut c_void, count: u32);
    cuLibraryUnload(library: CUlibrary);
    cuLibraryGetKernel(kernel: *mut CUkernel, library: CUlibrary, name: *const c_char);
    cuLibraryGetKernelCount(count: *mut u32, library: CUlibrary);
    cuLibraryEnumerateKernels(kernels: *mut CUkernel, room: u32, library: CUlibrary);
    cuLibraryGetGlobal(pointer: *mut CUdeviceptr, size: *mut usize, library: CUlibrary, name: *const c_char);
    cuLibraryGetManaged(pointer: *mut CUdeviceptr, size: *mut usize, library: CUlibrary, name: *const c_char);
    cuLibraryGetUnifiedFunction(function: *mut *mut c_void, library: CUlibrary, name: *const c_char);
    cuKernelGetFunction(function: *mut CUfunction, kernel: CUkernel);
    cuKernelGetName(name: *mut *const c_char, kernel: CUkernel);
    cuKernelSetAttribute(attribute: u32, value: i32, kernel: CUkernel, device: CUdevice);
    cuFuncGetAttribute(value: *mut i32, attribute: u32, function: CUfunction);
    cuFuncSetAttribute(function: CUfunction, attribute: u32, value: i32);
    cuFuncSetCacheConfig(function: CUfunction, config: u32);
    cuFuncGetParamInfo(function: CUfunction, index: usize, offset: *mut usize, size: *mut usize);
    cuFuncGetParamCount(function: CUfunction, count: *mut usize);
    cuLaunchKernel(function: CUfunction, grid_x: u32, grid_y: u32, grid_z: u32, block_x: u32, block_y: u32, block_z: u32, shared: u32, stream: CUstream, arguments: *mut *mut c_void, extra: *mut *mut c_void);
    cuLaunchCooperativeKernel(function: CUfunction, grid_x: u32, grid_y: u32, grid_z: u32, block_x: u32, block_y: u32, block_z: u32, shared: u32, stream: CUstream, arguments: *mut *mut c_void);
    cuLaunchKernelEx(config: *const CUlaunchConfig, function: CUfunction, arguments: *mut *mut c_void, extra: *mut *mut c_void);
    cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(blocks: *mut i32, function: CUfunction, size: i32, shared: usize, flags: u32);
    cuOccupancyAvailableDynamicSMemPerBlock(shared: *mut usize, function: CUfunction, blocks: i32, size: i32);
    cuOccupancyMaxPotentialClusterSize(size: *mut i32, function: CUfunction, config: *const CUlaunchConfig);
    cuOccupancyMaxActiveClusters(clusters: *mut i32, function: CUfunction, config: *const CUlaunchConfig);
}
