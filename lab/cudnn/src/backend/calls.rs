//! The functions of the graph API.

use std::{
    sync::{Arc, atomic::Ordering},
    thread,
};

use cudarc::cudnn::sys::{
    cudnnBackendAttributeName_t as Name, cudnnBackendDescriptorType_t as Kind,
};
use whyoom_lab_abi::{In, Out, exports};

use super::{
    attributes::{self, finished},
    engines,
    finalize::finalize,
    node::{Node, NodePointer, Value},
};
use crate::{
    handle::HandlePointer,
    object::Opaque,
    status::{Failure, Status},
};

/// The last kind of descriptor that 9.26 has.
const LAST_KIND: u32 = 50;

/// How often a plan is run to see how fast it is: a dry run, and up to three that count.
const MEASURED_RUNS: u32 = 4;

/// Whether the caller brought what the plan works with: a place for its workspace, and an address
/// for each number.
fn brought(plan: &Node, pack: &Node) -> Result<(), Failure> {
    let needed = plan.number(Name::CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE)?;
    let words = |name: Name| match pack.attributes.get(&(name as u32)) {
        Some(Value::Plain { bytes, .. }) => bytes.as_chunks::<8>().0.to_vec(),
        _ => Vec::new(),
    };
    let workspace = words(Name::CUDNN_ATTR_VARIANT_PACK_WORKSPACE);
    if needed > 0 && workspace.first().is_none_or(|address| *address == [0; 8]) {
        return Err(Failure::NullPointer);
    }
    let addresses = words(Name::CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS).len();
    let numbers = words(Name::CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS).len();
    if addresses == numbers { Ok(()) } else { Err(Failure::BadParam) }
}

exports! { Status;
    fn cudnnBackendCreateDescriptor(kind: u32, place: Out<NodePointer>) {
        if kind > LAST_KIND {
            return Err(Failure::NotSupported);
        }
        Opaque::create(place, Arc::new(Node::new(kind)))
    }
    fn cudnnBackendDestroyDescriptor(descriptor: NodePointer) {
        descriptor.destroy();
        Ok(())
    }
    fn cudnnBackendSetAttribute(
        descriptor: NodePointer, name: u32, of: u32, count: i64, elements: In<u8>,
    ) {
        attributes::set(descriptor, name, of, count, elements)
    }
    fn cudnnBackendGetAttribute(
        descriptor: NodePointer, name: u32, of: u32, wanted: i64, count: Out<i64>,
        elements: Out<u8>,
    ) {
        attributes::get(descriptor, name, of, wanted, count, elements)
    }
    fn cudnnBackendFinalize(descriptor: NodePointer) {
        finalize(&mut *descriptor.get()?)
    }
    fn cudnnBackendExecute(handle: HandlePointer, plan: NodePointer, pack: NodePointer) {
        let device = handle.device()?;
        let (plan, pack) = (finished(plan)?, finished(pack)?);
        if !plan.is(Kind::CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR)
            || !pack.is(Kind::CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR)
        {
            return Err(Failure::DescriptorType);
        }
        brought(&plan, &pack)?;
        if plan.runs.fetch_add(1, Ordering::Relaxed) < MEASURED_RUNS {
            let configuration = plan.node(Name::CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG)?;
            let (engine, subject) = engines::of_configuration(configuration)?;
            thread::sleep(engine.lag(&subject, device));
        }
        Ok(())
    }
}
