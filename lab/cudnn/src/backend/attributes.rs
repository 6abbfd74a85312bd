//! Setting and reading attributes.

use std::sync::Arc;

use whyoom_lab_abi::{In, Out};

use super::node::{DESCRIPTOR, Node, NodePointer, Value, width};
use crate::status::Failure;

/// Sets an attribute of a descriptor that is not finalized.
pub(super) fn set(
    descriptor: NodePointer,
    name: u32,
    of: u32,
    count: i64,
    elements: In<u8>,
) -> Result<(), Failure> {
    let value = taken(of, count, elements)?;
    let mut node = descriptor.get()?;
    if node.finalized {
        // Documented so.
        return Err(Failure::NotInitialized);
    }
    Arc::make_mut(&mut node).attributes.insert(name, value);
    Ok(())
}

/// Reads what the caller passes.
fn taken(of: u32, count: i64, elements: In<u8>) -> Result<Value, Failure> {
    let count = usize::try_from(count).map_err(|_| Failure::BadParam)?;
    if count > 0 {
        elements.get()?;
    }
    if of == DESCRIPTOR {
        let pointers = In(elements.0.cast::<NodePointer>()).list(count)?;
        return pointers.into_iter().map(finished).collect::<Result<_, _>>().map(Value::Nodes);
    }
    let width = width(of).ok_or(Failure::AttributeType)?;
    Ok(Value::Plain { of, bytes: elements.list(count * width)? })
}

/// A descriptor that others may build on.
pub(super) fn finished(descriptor: NodePointer) -> Result<Arc<Node>, Failure> {
    let node = Arc::clone(&*descriptor.get()?);
    if node.finalized { Ok(node) } else { Err(Failure::NotFinalized) }
}

/// Reads an attribute. Descriptors are written into those that the caller has made for them.
pub(super) fn get(
    descriptor: NodePointer,
    name: u32,
    of: u32,
    wanted: i64,
    count: Out<i64>,
    elements: Out<u8>,
) -> Result<(), Failure> {
    let node = finished(descriptor)?;
    let wanted = usize::try_from(wanted).map_err(|_| Failure::BadParam)?;
    // What nobody set and the lab has no answer for.
    let value = node.attributes.get(&name).ok_or(Failure::NotSupported)?;
    match value {
        Value::Plain { of: known, bytes } if *known == of => {
            let width = width(of).ok_or(Failure::AttributeType)?;
            count.put_if_wanted((bytes.len() / width) as i64);
            if elements.is_null() {
                return Ok(());
            }
            Ok(elements.put_all(bytes.iter().copied().take(wanted * width))?)
        }
        Value::Nodes(nodes) if of == DESCRIPTOR => give(nodes, wanted, count, elements),
        _ => Err(Failure::AttributeType),
    }
}

/// Gives descriptors. Asked for none, it says how many there are; asked for some, how many it gave,
/// which is what callers cut their lists to.
fn give(
    nodes: &[Arc<Node>],
    wanted: usize,
    count: Out<i64>,
    elements: Out<u8>,
) -> Result<(), Failure> {
    if wanted == 0 || elements.is_null() {
        count.put_if_wanted(nodes.len() as i64);
        return Ok(());
    }
    let given = wanted.min(nodes.len());
    let places = In(elements.0.cast_const().cast::<NodePointer>()).list(given)?;
    for (place, node) in places.into_iter().zip(nodes) {
        let mut place = place.get()?;
        if place.kind != node.kind {
            return Err(Failure::DescriptorType);
        }
        *place = Arc::clone(node);
    }
    count.put_if_wanted(given as i64);
    Ok(())
}
