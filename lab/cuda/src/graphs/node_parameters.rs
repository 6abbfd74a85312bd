//! Nodes of any kind by one structure.

use std::mem::MaybeUninit;

use cudarc::driver::sys;
use whyoom_lab_abi::{In, Out, exports};
use whyoom_lab_core::{
    Error,
    driver::{Conditional, Edge, GraphAllocation, Work},
};

use super::{
    EdgeData, PLAIN, edges,
    memory::{device_of, properties_of},
    nodes::work,
    parameters::{Alloc, Child, Condition, Host, Kernel, Memcpy, Memset},
};
use crate::{
    copies::Copy3D,
    process::{in_context, with},
    status::{Result, Status},
};

/// `CUgraphNodeParams`: a number that says the kind, and room for the structure of any.
#[repr(C)]
pub struct NodeParameters {
    kind: u32,
    reserved: [u32; 3],
    body: [u64; 29],
    reserved_behind: u64,
}

const _: () = assert!(size_of::<NodeParameters>() == size_of::<sys::CUgraphNodeParams>());

/// Where the kind and the body of a structure stand.
struct Parts {
    kind: u32,
    body: *mut u64,
}

impl Parts {
    fn of(place: *mut NodeParameters) -> Result<Self> {
        let kind = In(place.cast_const().cast::<u32>()).get()?;
        // SAFETY: not null, so by the contract a whole structure stands there.
        let body = unsafe { (&raw mut (*place).body).cast() };
        Ok(Self { kind, body })
    }

    fn body<T: Copy>(&self) -> Result<T> {
        Ok(In(self.body.cast_const().cast::<T>()).get()?)
    }

    fn answer<T>(&self, value: T) -> Result<()> {
        Ok(Out(self.body.cast::<T>()).put(value)?)
    }

    /// The work of the kinds that bring nothing of their own.
    fn work(&self) -> Result<Work> {
        Ok(match self.kind {
            0 => self.body::<Kernel>()?.work(),
            1 => self.body::<Memcpy>()?.copy.work()?,
            2 => self.body::<Memset>()?.work()?,
            3 => self.body::<Host>()?.work()?,
            5 => Work::Empty,
            6 => Work::Wait(self.body()?),
            7 => Work::Record(self.body()?),
            11 => Work::Free(self.body()?),
            _ => return Err(Error::NotSupported.into()),
        })
    }

    fn add(&self, graph: u64, edges: &[Edge]) -> Result<u64> {
        match self.kind {
            4 => {
                let Child { graph: child, ownership } = self.body()?;
                with(|driver| Ok(driver.add_child(graph, edges, child, ownership == 1)?))
            }
            10 => {
                let alloc: Alloc = self.body()?;
                let (node, address) = with(|driver| {
                    let device = device_of(driver, &alloc)?;
                    Ok(driver.add_alloc(graph, edges, device, alloc.size as u64)?)
                })?;
                self.answer(Alloc { address, ..alloc })?;
                Ok(node)
            }
            13 => self.add_conditional(graph, edges),
            _ => {
                let work = self.work()?;
                with(|driver| Ok(driver.add_node(graph, edges, work)?))
            }
        }
    }

    fn add_conditional(&self, graph: u64, edges: &[Edge]) -> Result<u64> {
        let wanted: Condition = self.body()?;
        let Condition { handle, kind, size, .. } = wanted;
        let (node, graphs) = with(|driver| {
            let (node, _) = driver.add_conditional(graph, edges, handle, kind, size)?;
            Ok((node, driver.bodies_place(node)?))
        })?;
        self.answer(Condition { graphs, ..wanted })?;
        Ok(node)
    }
}

fn add(node: Out<u64>, graph: u64, edges: &[Edge], parameters: *mut NodeParameters) -> Result<()> {
    if node.is_null() {
        return Err(Error::InvalidValue.into());
    }
    Ok(node.put(Parts::of(parameters)?.add(graph, edges)?)?)
}

/// Writes what a node does.
fn tell(node: u64, place: *mut NodeParameters) -> Result<()> {
    let work = work(node)?;
    // SAFETY: all of it is numbers, for which zero is a value.
    let blank = unsafe { MaybeUninit::<NodeParameters>::zeroed().assume_init() };
    Out(place).put(NodeParameters { kind: work.number(), ..blank })?;
    let parts = Parts::of(place)?;
    match &work {
        Work::Kernel(launch) => parts.answer(Kernel::of(launch)),
        Work::Copy(copy) => {
            let copy = Copy3D::of(copy);
            parts.answer(Memcpy { flags: 0, reserved: 0, context: 0, copy })
        }
        Work::Fill(fill) => parts.answer(Memset::of(fill)),
        Work::Host(call) => parts.answer(Host::of(call)),
        // Documented: the ownership is marked so that it is not used again by mistake.
        Work::Child(graph) => parts.answer(Child { graph: *graph, ownership: -1 }),
        Work::Empty => Ok(()),
        Work::Wait(event) | Work::Record(event) => parts.answer(*event),
        Work::Alloc(GraphAllocation { address, size, device }) => {
            let (address, size) = (*address, *size as usize);
            let pool = properties_of(*device);
            let (access, access_count) = (0, 0);
            parts.answer(Alloc { pool, pool_rest: [0; 9], access, access_count, size, address })
        }
        Work::Free(address) => parts.answer(*address),
        Work::Conditional(Conditional { handle, kind, bodies }) => {
            let graphs = with(|driver| Ok(driver.bodies_place(node)?))?;
            let (handle, kind, size) = (*handle, *kind, bodies.len() as u32);
            parts.answer(Condition { handle, kind, size, graphs, context: 0 })
        }
    }
}

exports! { Status;
    fn cuGraphAddNode(
        node: Out<u64>,
        graph: u64,
        before: In<u64>,
        count: usize,
        parameters: *mut NodeParameters,
    ) {
        add(node, graph, &edges(before, PLAIN, count)?, parameters)
    }

    fn cuGraphAddNode_v2(
        node: Out<u64>,
        graph: u64,
        before: In<u64>,
        data: In<EdgeData>,
        count: usize,
        parameters: *mut NodeParameters,
    ) {
        add(node, graph, &edges(before, data, count)?, parameters)
    }

    fn cuGraphNodeGetParams(node: u64, parameters: *mut NodeParameters) { tell(node, parameters) }

    fn cuGraphNodeSetParams(node: u64, parameters: *mut NodeParameters) {
        let work = Parts::of(parameters)?.work()?;
        with(|driver| Ok(driver.set_node_work(node, work)?))
    }

    fn cuGraphExecNodeSetParams(exec: u64, node: u64, parameters: *mut NodeParameters) {
        let work = Parts::of(parameters)?.work()?;
        with(|driver| Ok(driver.set_exec_work(exec, node, work)?))
    }

    // Documented: without the flag the value at a launch is not defined; here it is zero.
    fn cuGraphConditionalHandleCreate(
        handle: Out<u64>,
        graph: u64,
        _context: u64,
        value: u32,
        flags: u32,
    ) {
        if handle.is_null() || flags > 1 {
            return Err(Error::InvalidValue.into());
        }
        let value = if flags == 1 { value } else { 0 };
        in_context(|driver, _| Ok(handle.put(driver.create_condition(graph, value)?)?))
    }
}
