//! How devices reach each other: over the one PCI bus that they are on. There is no NVLink and no
//! fabric of switches.

use nvml_wrapper_sys::bindings as nvml;
use whyoom_lab_abi::{In, Out, exports};

use crate::{
    device::{Device, Handle},
    status::{Code, Failure, Result, given_version, version_of},
};

/// Each device is alone on its bus, and all are under one bridge to the host.
const BETWEEN_DEVICES: u32 = nvml::nvmlGpuLevel_enum_NVML_TOPOLOGY_HOSTBRIDGE;

/// What a device can do with another's memory.
fn peer_status(way: u32, peers: bool) -> Result<u32> {
    match way {
        nvml::nvmlGpuP2PCapsIndex_enum_NVML_P2P_CAPS_INDEX_READ
        | nvml::nvmlGpuP2PCapsIndex_enum_NVML_P2P_CAPS_INDEX_WRITE
        | nvml::nvmlGpuP2PCapsIndex_enum_NVML_P2P_CAPS_INDEX_PCI => Ok(if peers {
            nvml::nvmlGpuP2PStatus_enum_NVML_P2P_STATUS_OK
        } else {
            nvml::nvmlGpuP2PStatus_enum_NVML_P2P_STATUS_NOT_SUPPORTED
        }),
        nvml::nvmlGpuP2PCapsIndex_enum_NVML_P2P_CAPS_INDEX_NVLINK
        | nvml::nvmlGpuP2PCapsIndex_enum_NVML_P2P_CAPS_INDEX_ATOMICS => {
            Ok(nvml::nvmlGpuP2PStatus_enum_NVML_P2P_STATUS_NOT_SUPPORTED)
        }
        _ => Err(Failure::InvalidArgument),
    }
}

/// The other devices, which are all equally near.
fn others(device: &Device) -> Result<Vec<Handle>> {
    let all = 0..device.machine.device_count();
    all.filter(|index| *index != device.index).map(Handle::of).collect()
}

/// Writes handles up to the caller's room, and how many there are.
fn write_nearest(count: Out<u32>, place: Out<Handle>, handles: Vec<Handle>) -> Result {
    let room = In(count.0.cast_const()).get()? as usize;
    let found = u32::try_from(handles.len()).map_err(|_| Failure::Unknown)?;
    if room > 0 {
        place.put_all(handles.into_iter().take(room))?;
    }
    Ok(count.put(found)?)
}

/// The second version of what a device says about its fabric. The state is one byte in NVML's own
/// layout; clients exist that read it together with the padding behind it, which is zero this way.
#[derive(Clone, Copy)]
#[repr(C)]
struct Fabric {
    version: u32,
    cluster_uuid: [u8; 16],
    status: u32,
    clique: u32,
    state: u32,
    health_mask: u32,
}

/// The third version.
#[derive(Clone, Copy)]
#[repr(C)]
struct FabricWithSummary {
    fabric: Fabric,
    health_summary: u32,
}

/// What a device says that is in no fabric.
fn no_fabric(version: u32) -> Fabric {
    Fabric {
        version,
        cluster_uuid: [0; 16],
        status: nvml::nvmlReturn_enum_NVML_SUCCESS,
        clique: 0,
        state: nvml::NVML_GPU_FABRIC_STATE_NOT_SUPPORTED,
        health_mask: 0,
    }
}

/// The call succeeds and the state says that there is none. Assumed for models before Hopper:
/// PyTorch asks any device on its way to an expandable segment and takes a refusal for a fault.
fn write_fabric(handle: Handle, place: Out<FabricWithSummary>) -> Result {
    handle.device()?;
    let version = given_version(place)?;
    let fabric = no_fabric(version);
    if version == version_of::<nvml::nvmlGpuFabricInfo_v3_t>(3) {
        let health_summary = nvml::NVML_GPU_FABRIC_HEALTH_SUMMARY_NOT_SUPPORTED;
        Ok(place.put(FabricWithSummary { fabric, health_summary })?)
    } else if version == version_of::<nvml::nvmlGpuFabricInfo_v2_t>(2) {
        Ok(Out(place.0.cast()).put(fabric)?)
    } else {
        Err(Failure::ArgumentVersionMismatch)
    }
}

/// The layouts are NVML's own.
const _: () = assert!(
    size_of::<Fabric>() == size_of::<nvml::nvmlGpuFabricInfo_v2_t>()
        && size_of::<FabricWithSummary>() == size_of::<nvml::nvmlGpuFabricInfo_v3_t>()
);

exports! { Code;
    // NCCL asks for every pair, a device with itself among them, and stops where that fails.
    fn nvmlDeviceGetP2PStatus(one: Handle, other: Handle, way: u32, status: Out<u32>) {
        let device = one.device()?;
        let same = device.index == other.device()?.index;
        let peers = same || !device.machine.quirks().no_peers;
        Ok(status.put(peer_status(way, peers)?)?)
    }

    fn nvmlDeviceGetTopologyCommonAncestor(one: Handle, other: Handle, level: Out<u32>) {
        let same = one.device()?.index == other.device()?.index;
        let internal = nvml::nvmlGpuLevel_enum_NVML_TOPOLOGY_INTERNAL;
        Ok(level.put(if same { internal } else { BETWEEN_DEVICES })?)
    }

    fn nvmlDeviceGetTopologyNearestGpus(
        handle: Handle,
        level: u32,
        count: Out<u32>,
        place: Out<Handle>,
    ) {
        let device = handle.device()?;
        let at_level = if level == BETWEEN_DEVICES { others(&device)? } else { Vec::new() };
        write_nearest(count, place, at_level)
    }

    fn nvmlDeviceOnSameBoard(one: Handle, other: Handle, same: Out<i32>) {
        Ok(same.put((one.device()?.index == other.device()?.index).into())?)
    }

    fn nvmlDeviceGetGpuFabricInfoV(handle: Handle, place: Out<FabricWithSummary>) {
        write_fabric(handle, place)
    }
}
