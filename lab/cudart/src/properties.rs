//! `cudaDeviceProp`, gathered from the driver.

use std::mem::MaybeUninit;

use cudarc::runtime::sys::{CUuuid_st, cudaDeviceAttr as Attribute, cudaDeviceProp};

use crate::{driver::Driver, error::Failure};

/// All properties of a device.
pub fn of(driver: &Driver, device: i32) -> Result<cudaDeviceProp, Failure> {
    // SAFETY: the struct is made of numbers, for which zero is a value.
    let mut properties: cudaDeviceProp = unsafe { MaybeUninit::zeroed().assume_init() };
    identity(driver, device, &mut properties)?;
    let asker = Asker { driver, device };
    asker.shape(&mut properties);
    asker.memory(&mut properties);
    asker.abilities(&mut properties);
    asker.textures(&mut properties);
    asker.surfaces(&mut properties);
    Ok(properties)
}

fn identity(driver: &Driver, device: i32, p: &mut cudaDeviceProp) -> Result<(), Failure> {
    driver.cuDeviceGetName(p.name.as_mut_ptr(), p.name.len() as i32, device)?;
    driver.cuDeviceTotalMem(&mut p.totalGlobalMem, device)?;
    let mut uuid = cudarc::driver::sys::CUuuid { bytes: [0; 16] };
    driver.cuDeviceGetUuid(&mut uuid, device)?;
    p.uuid = CUuuid_st { bytes: uuid.bytes };
    Ok(())
}

/// Whoever wants to know single attributes of a device.
pub struct Asker<'a> {
    /// The driver to ask.
    pub driver: &'a Driver,
    /// The device.
    pub device: i32,
}

#[rustfmt::skip]
impl Asker<'_> {
    /// One attribute; both APIs number them alike. What a driver does not know, its device cannot.
    pub fn number(&self, attribute: Attribute) -> i32 {
        let mut value = 0;
        match self.driver.cuDeviceGetAttribute(&mut value, attribute as u32, self.device) {
            Ok(()) => value,
            Err(_) => 0,
        }
    }

    fn size(&self, attribute: Attribute) -> usize {
        usize::try_from(self.number(attribute)).unwrap_or(0)
    }

    fn numbers<const N: usize>(&self, attributes: [Attribute; N]) -> [i32; N] {
        attributes.map(|attribute| self.number(attribute))
    }

    fn shape(&self, p: &mut cudaDeviceProp) {
        use Attribute::*;
        p.major = self.number(cudaDevAttrComputeCapabilityMajor);
        p.minor = self.number(cudaDevAttrComputeCapabilityMinor);
        p.multiProcessorCount = self.number(cudaDevAttrMultiProcessorCount);
        p.warpSize = self.number(cudaDevAttrWarpSize);
        p.maxThreadsPerBlock = self.number(cudaDevAttrMaxThreadsPerBlock);
        p.maxThreadsDim = self.numbers([cudaDevAttrMaxBlockDimX, cudaDevAttrMaxBlockDimY, cudaDevAttrMaxBlockDimZ]);
        p.maxGridSize = self.numbers([cudaDevAttrMaxGridDimX, cudaDevAttrMaxGridDimY, cudaDevAttrMaxGridDimZ]);
        p.maxThreadsPerMultiProcessor = self.number(cudaDevAttrMaxThreadsPerMultiProcessor);
        p.maxBlocksPerMultiProcessor = self.number(cudaDevAttrMaxBlocksPerMultiprocessor);
        p.regsPerBlock = self.number(cudaDevAttrMaxRegistersPerBlock);
        p.regsPerMultiprocessor = self.number(cudaDevAttrMaxRegistersPerMultiprocessor);
        p.asyncEngineCount = self.number(cudaDevAttrAsyncEngineCount);
        p.integrated = self.number(cudaDevAttrIntegrated);
        p.isMultiGpuBoard = self.number(cudaDevAttrIsMultiGpuBoard);
        p.multiGpuBoardGroupID = self.number(cudaDevAttrMultiGpuBoardGroupID);
        p.pciBusID = self.number(cudaDevAttrPciBusId);
        p.pciDeviceID = self.number(cudaDevAttrPciDeviceId);
        p.pciDomainID = self.number(cudaDevAttrPciDomainId);
        p.gpuPciDeviceID = self.number(cudaDevAttrGpuPciDeviceId) as u32;
        p.gpuPciSubsystemID = self.number(cudaDevAttrGpuPciSubsystemId) as u32;
        p.deviceNumaConfig = self.number(cudaDevAttrNumaConfig);
        p.deviceNumaId = self.number(cudaDevAttrNumaId);
        p.hostNumaId = self.number(cudaDevAttrHostNumaId);
    }

    fn memory(&self, p: &mut cudaDeviceProp) {
        use Attribute::*;
        p.memoryBusWidth = self.number(cudaDevAttrGlobalMemoryBusWidth);
        p.l2CacheSize = self.number(cudaDevAttrL2CacheSize);
        p.persistingL2CacheMaxSize = self.number(cudaDevAttrMaxPersistingL2CacheSize);
        p.accessPolicyMaxWindowSize = self.number(cudaDevAttrMaxAccessPolicyWindowSize);
        p.sharedMemPerBlock = self.size(cudaDevAttrMaxSharedMemoryPerBlock);
        p.sharedMemPerBlockOptin = self.size(cudaDevAttrMaxSharedMemoryPerBlockOptin);
        p.sharedMemPerMultiprocessor = self.size(cudaDevAttrMaxSharedMemoryPerMultiprocessor);
        p.reservedSharedMemPerBlock = self.size(cudaDevAttrReservedSharedMemoryPerBlock);
        p.totalConstMem = self.size(cudaDevAttrTotalConstantMemory);
        p.memPitch = self.size(cudaDevAttrMaxPitch);
        p.managedMemory = self.number(cudaDevAttrManagedMemory);
        p.concurrentManagedAccess = self.number(cudaDevAttrConcurrentManagedAccess);
        p.directManagedMemAccessFromHost = self.number(cudaDevAttrDirectManagedMemAccessFromHost);
        p.pageableMemoryAccess = self.number(cudaDevAttrPageableMemoryAccess);
        p.pageableMemoryAccessUsesHostPageTables = self.number(cudaDevAttrPageableMemoryAccessUsesHostPageTables);
        p.memoryPoolsSupported = self.number(cudaDevAttrMemoryPoolsSupported);
        p.memoryPoolSupportedHandleTypes = self.number(cudaDevAttrMemoryPoolSupportedHandleTypes) as u32;
        p.hostRegisterSupported = self.number(cudaDevAttrHostRegisterSupported);
        p.hostRegisterReadOnlySupported = self.number(cudaDevAttrHostRegisterReadOnlySupported);
        p.canMapHostMemory = self.number(cudaDevAttrCanMapHostMemory);
        p.canUseHostPointerForRegisteredMem = self.number(cudaDevAttrCanUseHostPointerForRegisteredMem);
        p.unifiedAddressing = self.number(cudaDevAttrUnifiedAddressing);
        p.gpuDirectRDMASupported = self.number(cudaDevAttrGPUDirectRDMASupported);
        p.gpuDirectRDMAFlushWritesOptions = self.number(cudaDevAttrGPUDirectRDMAFlushWritesOptions) as u32;
        p.gpuDirectRDMAWritesOrdering = self.number(cudaDevAttrGPUDirectRDMAWritesOrdering);
    }

    fn abilities(&self, p: &mut cudaDeviceProp) {
        use Attribute::*;
        p.ECCEnabled = self.number(cudaDevAttrEccEnabled);
        p.tccDriver = self.number(cudaDevAttrTccDriver);
        p.mpsEnabled = self.number(cudaDevAttrMpsEnabled);
        p.concurrentKernels = self.number(cudaDevAttrConcurrentKernels);
        p.cooperativeLaunch = self.number(cudaDevAttrCooperativeLaunch);
        p.clusterLaunch = self.number(cudaDevAttrClusterLaunch);
        p.computePreemptionSupported = self.number(cudaDevAttrComputePreemptionSupported);
        p.streamPrioritiesSupported = self.number(cudaDevAttrStreamPrioritiesSupported);
        p.globalL1CacheSupported = self.number(cudaDevAttrGlobalL1CacheSupported);
        p.localL1CacheSupported = self.number(cudaDevAttrLocalL1CacheSupported);
        p.hostNativeAtomicSupported = self.number(cudaDevAttrHostNativeAtomicSupported);
        p.sparseCudaArraySupported = self.number(cudaDevAttrSparseCudaArraySupported);
        p.deferredMappingCudaArraySupported = self.number(cudaDevAttrDeferredMappingCudaArraySupported);
        p.timelineSemaphoreInteropSupported = self.number(cudaDevAttrTimelineSemaphoreInteropSupported);
        p.ipcEventSupported = self.number(cudaDevAttrIpcEventSupport);
        p.hostNumaMultinodeIpcSupported = self.number(cudaDevAttrHostNumaMultinodeIpcSupported);
    }

    fn textures(&self, p: &mut cudaDeviceProp) {
        use Attribute::*;
        p.textureAlignment = self.size(cudaDevAttrTextureAlignment);
        p.texturePitchAlignment = self.size(cudaDevAttrTexturePitchAlignment);
        p.maxTexture1D = self.number(cudaDevAttrMaxTexture1DWidth);
        p.maxTexture1DMipmap = self.number(cudaDevAttrMaxTexture1DMipmappedWidth);
        p.maxTexture2D = self.numbers([cudaDevAttrMaxTexture2DWidth, cudaDevAttrMaxTexture2DHeight]);
        p.maxTexture2DMipmap = self.numbers([cudaDevAttrMaxTexture2DMipmappedWidth, cudaDevAttrMaxTexture2DMipmappedHeight]);
        p.maxTexture2DLinear = self.numbers([cudaDevAttrMaxTexture2DLinearWidth, cudaDevAttrMaxTexture2DLinearHeight, cudaDevAttrMaxTexture2DLinearPitch]);
        p.maxTexture2DGather = self.numbers([cudaDevAttrMaxTexture2DGatherWidth, cudaDevAttrMaxTexture2DGatherHeight]);
        p.maxTexture3D = self.numbers([cudaDevAttrMaxTexture3DWidth, cudaDevAttrMaxTexture3DHeight, cudaDevAttrMaxTexture3DDepth]);
        p.maxTexture3DAlt = self.numbers([cudaDevAttrMaxTexture3DWidthAlt, cudaDevAttrMaxTexture3DHeightAlt, cudaDevAttrMaxTexture3DDepthAlt]);
        p.maxTextureCubemap = self.number(cudaDevAttrMaxTextureCubemapWidth);
        p.maxTexture1DLayered = self.numbers([cudaDevAttrMaxTexture1DLayeredWidth, cudaDevAttrMaxTexture1DLayeredLayers]);
        p.maxTexture2DLayered = self.numbers([cudaDevAttrMaxTexture2DLayeredWidth, cudaDevAttrMaxTexture2DLayeredHeight, cudaDevAttrMaxTexture2DLayeredLayers]);
        p.maxTextureCubemapLayered = self.numbers([cudaDevAttrMaxTextureCubemapLayeredWidth, cudaDevAttrMaxTextureCubemapLayeredLayers]);
    }

    fn surfaces(&self, p: &mut cudaDeviceProp) {
        use Attribute::*;
        p.surfaceAlignment = self.size(cudaDevAttrSurfaceAlignment);
        p.maxSurface1D = self.number(cudaDevAttrMaxSurface1DWidth);
        p.maxSurface2D = self.numbers([cudaDevAttrMaxSurface2DWidth, cudaDevAttrMaxSurface2DHeight]);
        p.maxSurface3D = self.numbers([cudaDevAttrMaxSurface3DWidth, cudaDevAttrMaxSurface3DHeight, cudaDevAttrMaxSurface3DDepth]);
        p.maxSurface1DLayered = self.numbers([cudaDevAttrMaxSurface1DLayeredWidth, cudaDevAttrMaxSurface1DLayeredLayers]);
        p.maxSurface2DLayered = self.numbers([cudaDevAttrMaxSurface2DLayeredWidth, cudaDevAttrMaxSurface2DLayeredHeight, cudaDevAttrMaxSurface2DLayeredLayers]);
        p.maxSurfaceCubemap = self.number(cudaDevAttrMaxSurfaceCubemapWidth);
        p.maxSurfaceCubemapLayered = self.numbers([cudaDevAttrMaxSurfaceCubemapLayeredWidth, cudaDevAttrMaxSurfaceCubemapLayeredLayers]);
    }
}
