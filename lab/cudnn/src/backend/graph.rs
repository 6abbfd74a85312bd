//! What a graph of operations is about: the convolution in it, or the attention.

use cudarc::cudnn::sys::{
    cudnnBackendAttributeName_t as Name, cudnnBackendDescriptorType_t as Kind,
};

use super::node::Node;
use crate::{
    shape::{Convolution, DataType, Motion, Pass, Shape},
    status::Failure,
};

/// `CUDNN_BACKEND_OPERATION_SDPA_BWD_DESCRIPTOR`, and its attribute for the queries: since 9.13.
const ATTENTION_BACKWARD: u32 = 43;
const ATTENTION_BACKWARD_QUERIES: u32 = 2851;

/// The attributes of a convolution by its pass: its settings, and the three tensors.
type Names = (Pass, Name, [Name; 3]);

/// The convolution that an operation is; nothing for other operations.
pub(super) fn convolution(operation: &Node) -> Result<Option<Convolution>, Failure> {
    let Some((pass, settings, [x, w, y])) = names(operation) else { return Ok(None) };
    let tensor = |name| shape(operation.node(name)?);
    let motion = motion(operation.node(settings)?)?;
    let problem = Convolution { pass, x: tensor(x)?, w: tensor(w)?, y: tensor(y)?, motion };
    problem.check()?;
    Ok(Some(problem))
}

fn names(operation: &Node) -> Option<Names> {
    if operation.is(Kind::CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR) {
        Some((
            Pass::Forward,
            Name::CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_CONV_DESC,
            [
                Name::CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_X,
                Name::CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_W,
                Name::CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_Y,
            ],
        ))
    } else if operation.is(Kind::CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_DATA_DESCRIPTOR) {
        Some((
            Pass::BackwardData,
            Name::CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_CONV_DESC,
            [
                Name::CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DX,
                Name::CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_W,
                Name::CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DY,
            ],
        ))
    } else if operation.is(Kind::CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_FILTER_DESCRIPTOR) {
        Some((
            Pass::BackwardFilter,
            Name::CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_CONV_DESC,
            [
                Name::CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_X,
                Name::CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DW,
                Name::CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DY,
            ],
        ))
    } else {
        None
    }
}

/// The shape that a tensor descriptor says.
pub(super) fn shape(tensor: &Node) -> Result<Shape, Failure> {
    if !tensor.is(Kind::CUDNN_BACKEND_TENSOR_DESCRIPTOR) {
        return Err(Failure::DescriptorType);
    }
    let kind = DataType(tensor.choice(Name::CUDNN_ATTR_TENSOR_DATA_TYPE)?);
    let dimensions = tensor.numbers(Name::CUDNN_ATTR_TENSOR_DIMENSIONS)?;
    let strides = tensor.numbers(Name::CUDNN_ATTR_TENSOR_STRIDES)?;
    Ok(Shape { kind, dimensions, strides })
}

/// How the filter moves.
pub(super) fn motion(settings: &Node) -> Result<Motion, Failure> {
    let numbers = |name| settings.numbers(name);
    Ok(Motion {
        before: numbers(Name::CUDNN_ATTR_CONVOLUTION_PRE_PADDINGS)?,
        after: numbers(Name::CUDNN_ATTR_CONVOLUTION_POST_PADDINGS)?,
        strides: numbers(Name::CUDNN_ATTR_CONVOLUTION_FILTER_STRIDES)?,
        dilations: numbers(Name::CUDNN_ATTR_CONVOLUTION_DILATIONS)?,
    })
}

/// What a finalized graph is about.
pub(super) enum Subject {
    Convolution(Box<Convolution>),
    /// The backward pass of fused attention, by the shape of its queries.
    AttentionBackward(Shape),
    /// Anything else.
    Other,
}

/// The subject of a graph: its first operation that has one.
pub(super) fn subject(graph: &Node) -> Result<Subject, Failure> {
    for operation in graph.nodes(Name::CUDNN_ATTR_OPERATIONGRAPH_OPS)? {
        if let Some(problem) = convolution(operation)? {
            return Ok(Subject::Convolution(Box::new(problem)));
        }
        if operation.kind == ATTENTION_BACKWARD {
            return queries(operation).map(Subject::AttentionBackward);
        }
    }
    Ok(Subject::Other)
}

fn queries(operation: &Node) -> Result<Shape, Failure> {
    match operation.attributes.get(&ATTENTION_BACKWARD_QUERIES) {
        Some(super::node::Value::Nodes(nodes)) => shape(nodes.first().ok_or(Failure::BadParam)?),
        _ => Err(Failure::BadParam),
    }
}
