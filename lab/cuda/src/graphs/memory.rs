//! Memory of graphs.

use whyoom_lab_abi::{In, Out, exports};
use whyoom_lab_core::{
    Error,
    driver::{Driver, GraphMemoryAttribute, Work},
};

use super::{
    PLAIN, edges,
    nodes::{add, other_kind, work},
    parameters::Alloc,
};
use crate::{
    devices::known,
    pools::PoolProperties,
    process::with,
    status::{Result, Status},
};

fn attribute_of(number: u32) -> Result<GraphMemoryAttribute> {
    use GraphMemoryAttribute::*;
    [Used, UsedHigh, Reserved, ReservedHigh]
        .get(number as usize)
        .copied()
        .ok_or(Error::InvalidValue.into())
}

/// The device that an allocation is to be on. Documented: memory of graphs cannot be shared between
/// processes.
pub(super) fn device_of(driver: &Driver, alloc: &Alloc) -> Result<usize> {
    if alloc.pool.handle_types != 0 || alloc.access_count > driver.device_count() {
        return Err(Error::InvalidValue.into());
    }
    known(driver, alloc.pool.location.device()?)
}

/// The properties of an allocation on a device.
pub(super) fn properties_of(device: usize) -> PoolProperties {
    PoolProperties::on(device)
}

exports! { Status;
    fn cuGraphAddMemAllocNode(
        node: Out<u64>,
        graph: u64,
        before: In<u64>,
        count: usize,
        parameters: *mut Alloc,
    ) {
        let wanted = In(parameters.cast_const()).get()?;
        let edges = edges(before, PLAIN, count)?;
        if node.is_null() {
            return Err(Error::InvalidValue.into());
        }
        with(|driver| {
            let device = device_of(driver, &wanted)?;
            let (made, address) = driver.add_alloc(graph, &edges, device, wanted.size as u64)?;
            Out(parameters).put(Alloc { address, ..wanted })?;
            Ok(node.put(made)?)
        })
    }

    fn cuGraphMemAllocNodeGetParams(node: u64, parameters: Out<Alloc>) {
        let Work::Alloc(found) = work(node)? else { return other_kind() };
        let (size, address) = (found.size as usize, found.address);
        let pool = properties_of(found.device);
        let (access, access_count) = (0, 0);
        let told = Alloc { pool, pool_rest: [0; 9], access, access_count, size, address };
        Ok(parameters.put(told)?)
    }

    fn cuGraphAddMemFreeNode(
        node: Out<u64>,
        graph: u64,
        before: In<u64>,
        count: usize,
        address: u64,
    ) {
        add(node, graph, before, count, Work::Free(address))
    }

    fn cuGraphMemFreeNodeGetParams(node: u64, address: Out<u64>) {
        match work(node)? {
            Work::Free(found) => Ok(address.put(found)?),
            _ => other_kind(),
        }
    }

    fn cuDeviceGraphMemTrim(device: i32) {
        with(|driver| Ok(driver.trim_graph_memory(known(driver, device)?)?))
    }

    fn cuDeviceGetGraphMemAttribute(device: i32, attribute: u32, value: Out<u64>) {
        let attribute = attribute_of(attribute)?;
        with(|driver| Ok(value.put(driver.graph_memory(known(driver, device)?, attribute)?)?))
    }

    // Documented: high marks only, and only to zero.
    fn cuDeviceSetGraphMemAttribute(device: i32, attribute: u32, value: In<u64>) {
        let attribute = attribute_of(attribute)?;
        if value.get()? != 0 {
            return Err(Error::InvalidValue.into());
        }
        with(|driver| Ok(driver.reset_graph_memory(known(driver, device)?, attribute)?))
    }
}
