//! `cudaDeviceProp` before CUDA 13: with fields that 13 dropped, in two lengths.

use std::ffi::c_char;

use cudarc::runtime::sys::{CUuuid_st, cudaDeviceAttr as Attribute, cudaDeviceProp};
use whyoom_lab_abi::{Out, exports};

use crate::{
    device,
    error::{Failure, Status},
    properties::{self, Asker},
};

exports! { Status;
    // What was compiled with CUDA 12 asks under this name.
    fn cudaGetDeviceProperties_v2(properties: Out<Properties>, device: i32) {
        let known = Known::of(device)?;
        let common = Common::from(&known);
        Ok(properties.put(Properties { common, since_12: Since12::from(&known), reserved: [0; 63] })?)
    }

    // What was compiled before asks under this one, and has no room for more.
    fn cudaGetDeviceProperties(properties: Out<Common>, device: i32) {
        Ok(properties.put(Common::from(&Known::of(device)?))?)
    }
}

/// The whole struct.
#[repr(C)]
struct Properties {
    common: Common,
    since_12: Since12,
    reserved: [i32; 63],
}

/// What the fields are filled from.
struct Known<'a> {
    /// What 13 still has.
    properties: cudaDeviceProp,
    /// For what it has not.
    asker: Asker<'a>,
}

impl Known<'_> {
    fn of(device: i32) -> Result<Self, Failure> {
        let (driver, device) = device::at(device)?;
        Ok(Self { properties: properties::of(driver, device)?, asker: Asker { driver, device } })
    }
}

/// Declares a part of the struct: fields that 13 has too, and those that have to be asked for by
/// the attribute behind them.
macro_rules! part {
    (@value $known:ident $field:ident) => { $known.properties.$field };
    (@value $known:ident $field:ident $attribute:ident) => {
        $known.asker.number(Attribute::$attribute)
    };
    (
        $(#[$meta:meta])*
        $name:ident { $($field:ident: $type:ty $(= $attribute:ident)?,)* }
    ) => {
        $(#[$meta])*
        #[repr(C)]
        #[allow(non_snake_case)]
        struct $name { $($field: $type,)* }

        impl From<&Known<'_>> for $name {
            fn from(known: &Known<'_>) -> Self {
                Self { $($field: part!(@value known $field $($attribute)?),)* }
            }
        }
    };
}

part! {
    /// All of it in CUDA 11.
    Common {
        name: [c_char; 256], uuid: CUuuid_st, luid: [c_char; 8], luidDeviceNodeMask: u32,
        totalGlobalMem: usize, sharedMemPerBlock: usize, regsPerBlock: i32, warpSize: i32,
        memPitch: usize, maxThreadsPerBlock: i32, maxThreadsDim: [i32; 3], maxGridSize: [i32; 3],
        clockRate: i32 = cudaDevAttrClockRate, totalConstMem: usize, major: i32, minor: i32,
        textureAlignment: usize, texturePitchAlignment: usize,
        deviceOverlap: i32 = cudaDevAttrGpuOverlap, multiProcessorCount: i32,
        kernelExecTimeoutEnabled: i32 = cudaDevAttrKernelExecTimeout, integrated: i32,
        canMapHostMemory: i32, computeMode: i32 = cudaDevAttrComputeMode, maxTexture1D: i32,
        maxTexture1DMipmap: i32, maxTexture1DLinear: i32 = cudaDevAttrMaxTexture1DLinearWidth,
        maxTexture2D: [i32; 2], maxTexture2DMipmap: [i32; 2], maxTexture2DLinear: [i32; 3],
        maxTexture2DGather: [i32; 2], maxTexture3D: [i32; 3], maxTexture3DAlt: [i32; 3],
        maxTextureCubemap: i32, maxTexture1DLayered: [i32; 2], maxTexture2DLayered: [i32; 3],
        maxTextureCubemapLayered: [i32; 2], maxSurface1D: i32, maxSurface2D: [i32; 2],
        maxSurface3D: [i32; 3], maxSurface1DLayered: [i32; 2], maxSurface2DLayered: [i32; 3],
        maxSurfaceCubemap: i32, maxSurfaceCubemapLayered: [i32; 2], surfaceAlignment: usize,
        concurrentKernels: i32, ECCEnabled: i32, pciBusID: i32, pciDeviceID: i32, pciDomainID: i32,
        tccDriver: i32, asyncEngineCount: i32, unifiedAddressing: i32,
        memoryClockRate: i32 = cudaDevAttrMemoryClockRate, memoryBusWidth: i32, l2CacheSize: i32,
        persistingL2CacheMaxSize: i32, maxThreadsPerMultiProcessor: i32,
        streamPrioritiesSupported: i32, globalL1CacheSupported: i32, localL1CacheSupported: i32,
        sharedMemPerMultiprocessor: usize, regsPerMultiprocessor: i32, managedMemory: i32,
        isMultiGpuBoard: i32, multiGpuBoardGroupID: i32, hostNativeAtomicSupported: i32,
        singleToDoublePrecisionPerfRatio: i32 = cudaDevAttrSingleToDoublePrecisionPerfRatio,
        pageableMemoryAccess: i32, concurrentManagedAccess: i32, computePreemptionSupported: i32,
        canUseHostPointerForRegisteredMem: i32, cooperativeLaunch: i32,
        cooperativeMultiDeviceLaunch: i32 = cudaDevAttrReserved96, sharedMemPerBlockOptin: usize,
        pageableMemoryAccessUsesHostPageTables: i32, directManagedMemAccessFromHost: i32,
        maxBlocksPerMultiProcessor: i32, accessPolicyMaxWindowSize: i32,
        reservedSharedMemPerBlock: usize,
    }
}

part! {
    /// What 12 added.
    Since12 {
        hostRegisterSupported: i32, sparseCudaArraySupported: i32,
        hostRegisterReadOnlySupported: i32, timelineSemaphoreInteropSupported: i32,
        memoryPoolsSupported: i32, gpuDirectRDMASupported: i32,
        gpuDirectRDMAFlushWritesOptions: u32, gpuDirectRDMAWritesOrdering: i32,
        memoryPoolSupportedHandleTypes: u32, deferredMappingCudaArraySupported: i32,
        ipcEventSupported: i32, clusterLaunch: i32, unifiedFunctionPointers: i32,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::mem::{offset_of, size_of};

    /// The sizes that cudarc's declarations for 11.8 and 12.4 have.
    #[test]
    fn sizes_are_those_that_programs_were_compiled_with() {
        assert_eq!(size_of::<Common>(), 728);
        assert_eq!(size_of::<Properties>(), 1032);
        assert_eq!(offset_of!(Properties, since_12), 728);
    }
}
