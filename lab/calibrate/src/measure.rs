//! Each figure by its method.

use std::collections::BTreeMap;

use cudarc::driver::sys::CUdevice_attribute::{self as Attribute, *};

use crate::{
    calibration::Calibration,
    context::Context,
    driver::{Device, Driver},
    error::{Error, Result},
    figure::{Figure, version},
    nvml::{Board, Nvml},
    small,
};

/// What the driver simply tells. Clocks and the bus too: the table has them as the driver tells
/// them, and NVML's highest clocks are those of overclocking.
const ATTRIBUTES: &[(Figure, Attribute)] = &[
    (Figure::Multiprocessors, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT),
    (Figure::SharedPerBlockOptin, CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN),
    (Figure::SharedPerMultiprocessor, CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR),
    (Figure::ThreadsPerMultiprocessor, CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR),
    (Figure::RegistersPerMultiprocessor, CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_MULTIPROCESSOR),
    (Figure::L2Bytes, CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE),
    (Figure::BusWidthBits, CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH),
    (Figure::MemoryClockKhz, CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE),
    (Figure::ClockKhz, CU_DEVICE_ATTRIBUTE_CLOCK_RATE),
];

/// Measures a device. All memory that this takes is given back.
pub fn calibrate(device: u32) -> Result<Calibration> {
    let driver = Driver::open()?;
    let cuda = driver.device(device)?;
    let pci_bus_id = cuda.pci_bus_id()?;
    let mut calibration = Calibration {
        device_name: cuda.name()?,
        device,
        cuda_version: driver.cuda_version()?,
        measured: BTreeMap::new(),
        pci_bus_id,
    };
    let nvml = Nvml::open();
    let nvml = nvml.as_ref().map_err(Error::clone);
    let board = nvml.and_then(|nvml| nvml.device(&calibration.pci_bus_id));
    let board = board.as_ref().map_err(Error::clone);
    told_by_driver(&mut calibration, &cuda);
    told_by_nvml(&mut calibration, board.clone());
    let before = Usage::read(board.clone());
    let context = Context::create(&cuda)?;
    let after = Usage::read(board);
    let (bytes, by) = context_bytes(before, after);
    calibration.record(Figure::Context, bytes, by);
    told_by_context(&mut calibration, &context);
    Ok(calibration)
}

fn told_by_driver(calibration: &mut Calibration, cuda: &Device<'_>) {
    let major = cuda.attribute(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR);
    // A minor version of 0 is an answer, unlike with the other attributes.
    let minor = match cuda.attribute(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR) {
        Err(Error::Zero(_)) => Ok(0),
        answer => answer,
    };
    let capability = major.and_then(|major| Ok(version(major, minor?)));
    calibration.record(Figure::ComputeCapability, capability, "device attributes");
    for (figure, attribute) in ATTRIBUTES {
        calibration.record(*figure, cuda.attribute(*attribute), "device attribute");
    }
}

fn told_by_nvml<'nvml>(calibration: &mut Calibration, board: Result<&Board<'nvml>>) {
    let ask = |question: fn(&Board<'nvml>) -> Result<u64>| board.clone().and_then(question);
    let total = ask(|board| board.memory().map(|(total, _)| total));
    calibration.record(Figure::NvmlTotal, total, "NVML's memory information");
    let watts = ask(Board::power_limit_watts);
    calibration.record(Figure::PowerLimitWatts, watts, "NVML's default power limit");
    calibration.record(Figure::PciDevice, ask(Board::pci_device), "NVML's PCI information");
    if calibration.value(Figure::BusWidthBits).is_none() {
        let bits = ask(Board::bus_width_bits);
        calibration.record(Figure::BusWidthBits, bits, "NVML's memory bus width");
    }
}

fn told_by_context(calibration: &mut Calibration, context: &Context<'_>) {
    calibration.record(Figure::Total, context.total(), "cuMemGetInfo");
    calibration.record(
        Figure::Granularity,
        context.granularity(),
        "cuMemGetAllocationGranularity, minimum",
    );
    calibration.record(
        Figure::PoolChunk,
        context.pool_chunk(),
        "what a new pool has reserved after 1 byte",
    );
    let small = small::measure(context);
    let ask = |value: fn(&small::Small) -> Result<u64>| {
        small.as_ref().map_err(Error::clone).and_then(value)
    };
    let in_slab = small.as_ref().map_or(0, |small| small.in_slab);
    calibration.record(
        Figure::Slab,
        ask(|small| Ok(small.slab)),
        format!("free memory fell by it, and again {in_slab} allocations of 1 byte later"),
    );
    calibration.record(
        Figure::SmallLimit,
        ask(|small| small.limit.clone()),
        "largest size of which one takes nothing from free memory",
    );
    calibration.record(
        Figure::SmallUnit,
        ask(|small| Ok(small.unit)),
        "smallest distance of allocations of 1 byte",
    );
}

/// What NVML says is in use: on the device, and by this process.
struct Usage {
    device: Result<u64>,
    own: Option<u64>,
}

impl Usage {
    fn read(board: Result<&Board<'_>>) -> Self {
        let own = board.clone().and_then(|board| board.process_bytes(std::process::id()));
        let device = board.and_then(Board::memory).map(|(_, used)| used);
        Self { device, own: own.ok().flatten() }
    }
}

/// What the context took. NVML's figure for this process does not depend on what others do in the
/// meantime; in a container it may be missing, or a stranger may have our number, who is then listed
/// before already. The device's figure serves in those cases.
fn context_bytes(before: Usage, after: Usage) -> (Result<u64>, &'static str) {
    if let (None, Some(own @ 1..)) = (before.own, after.own) {
        return (Ok(own), "NVML's list of processes: this one, with nothing but a context");
    }
    let risen = |before: u64, after: u64| {
        after.checked_sub(before).filter(|bytes| *bytes > 0).ok_or(Error::Unsteady)
    };
    let difference = before.device.and_then(|before| risen(before, after.device?));
    (difference, "NVML's used memory, before and after the context")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn usage(device: u64, own: Option<u64>) -> Usage {
        Usage { device: Ok(device), own }
    }

    #[test]
    fn a_context_is_measured_by_process_where_that_can_be_trusted() {
        let by_process = context_bytes(usage(100, None), usage(900, Some(300))).0;
        assert_eq!(by_process, Ok(300), "whatever another process took meanwhile");
        let container = context_bytes(usage(100, None), usage(400, None)).0;
        assert_eq!(container, Ok(300));
        let stranger = context_bytes(usage(100, Some(50)), usage(400, Some(50))).0;
        assert_eq!(stranger, Ok(300));
        let fallen = context_bytes(usage(400, None), usage(100, None)).0;
        assert_eq!(fallen, Err(Error::Unsteady));
    }
}
