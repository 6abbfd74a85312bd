//! Finalizing: what each kind of descriptor must have, and what the lab adds to it.

use std::sync::Arc;

use cudarc::cudnn::sys::{
    cudnnBackendAttributeName_t as Name, cudnnBackendDescriptorType_t as Kind,
    cudnnBackendHeurMode_t as Mode,
};

use super::{engines, graph, node::Node, node::Value};
use crate::status::Failure;

/// Finalizes a descriptor. One that fails stays as it was.
pub(super) fn finalize(node: &mut Arc<Node>) -> Result<(), Failure> {
    let mut finished = Node::clone(node);
    finish(&mut finished)?;
    finished.finalized = true;
    *node = Arc::new(finished);
    Ok(())
}

fn finish(node: &mut Node) -> Result<(), Failure> {
    if node.is(Kind::CUDNN_BACKEND_TENSOR_DESCRIPTOR) {
        tensor(node)
    } else if node.is(Kind::CUDNN_BACKEND_CONVOLUTION_DESCRIPTOR) {
        settings(node)
    } else if node.is(Kind::CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR) {
        let count = engines::count(&graph::subject(node)?);
        node.put(Name::CUDNN_ATTR_OPERATIONGRAPH_ENGINE_GLOBAL_COUNT, Value::numbers(&[count]));
        Ok(())
    } else if node.is(Kind::CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR) {
        heuristics(node)
    } else if node.is(Kind::CUDNN_BACKEND_ENGINE_DESCRIPTOR) {
        engines::finish(node)
    } else if node.is(Kind::CUDNN_BACKEND_ENGINECFG_DESCRIPTOR) {
        configuration(node)
    } else if node.is(Kind::CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR) {
        plan(node)
    } else if node.is(Kind::CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR) {
        Ok(())
    } else {
        // Operations: whatever is a convolution must fit together.
        graph::convolution(node).map(drop)
    }
}

/// Documented: type, dimensions, strides, alignment and number are required.
fn tensor(node: &Node) -> Result<(), Failure> {
    let shape = graph::shape(node)?;
    node.number(Name::CUDNN_ATTR_TENSOR_UNIQUE_ID)?;
    node.number(Name::CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT)?;
    let fits = shape.dimensions.len() == shape.strides.len();
    if fits && shape.dimensions.iter().all(|&length| length > 0) {
        Ok(())
    } else {
        Err(Failure::BadParam)
    }
}

/// Documented: as many numbers of each sort as there are spatial dimensions.
fn settings(node: &Node) -> Result<(), Failure> {
    let motion = graph::motion(node)?;
    let spatial = node.number(Name::CUDNN_ATTR_CONVOLUTION_SPATIAL_DIMS)?;
    let lists = [&motion.before, &motion.after, &motion.strides, &motion.dilations];
    let complete = lists.iter().all(|list| list.len() as i64 == spatial);
    let moves = motion.strides.iter().chain(&motion.dilations).all(|&number| number > 0);
    if complete && moves { Ok(()) } else { Err(Failure::BadParam) }
}

fn heuristics(node: &mut Node) -> Result<(), Failure> {
    let graph = Arc::clone(node.node(Name::CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH)?);
    let mode = node.choice(Name::CUDNN_ATTR_ENGINEHEUR_MODE)?;
    if mode >= Mode::CUDNN_HEUR_MODES_COUNT as u32 {
        return Err(Failure::BadParam);
    }
    let fallback = mode == Mode::CUDNN_HEUR_MODE_FALLBACK as u32;
    node.put(Name::CUDNN_ATTR_ENGINEHEUR_RESULTS, engines::configurations(&graph, fallback)?);
    Ok(())
}

fn configuration(node: &mut Node) -> Result<(), Failure> {
    let bytes = engines::workspace_of(node)?;
    node.put(Name::CUDNN_ATTR_ENGINECFG_WORKSPACE_SIZE, Value::numbers(&[bytes as i64]));
    let choices = Name::CUDNN_ATTR_ENGINECFG_KNOB_CHOICES as u32;
    node.attributes.entry(choices).or_insert(Value::Nodes(Vec::new()));
    Ok(())
}

fn plan(node: &mut Node) -> Result<(), Failure> {
    let configuration = node.node(Name::CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG);
    // A plan can also be made from its text, which the lab does not write.
    let bytes = engines::workspace_of(configuration.map_err(|_| Failure::NotSupported)?)?;
    node.put(Name::CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE, Value::numbers(&[bytes as i64]));
    Ok(())
}
