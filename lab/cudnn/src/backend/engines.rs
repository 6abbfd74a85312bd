//! Engines: which can carry out a graph, in which order, and what they say of themselves.

use std::{sync::Arc, time::Duration};

use cudarc::cudnn::sys::{
    cudnnBackendAttributeName_t as Name, cudnnBackendAttributeType_t as Type,
    cudnnBackendDescriptorType_t as Kind, cudnnBackendNumericalNote_t as Note,
};

use super::{
    graph::{Subject, subject},
    node::{Node, Value},
};
use crate::{
    algorithms::suits_winograd,
    driver::Device,
    status::Failure,
    workspace::{self, Method},
};

/// An engine of the lab. Real ones have other numbers, which change with every release.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Engine {
    /// A convolution, by how it is done.
    Convolution(Method),
    /// The one that does whatever else is asked.
    Generic,
}

/// The engines for convolutions, by their global index.
const CONVOLUTIONS: [Method; 4] =
    [Method::ImplicitGemm, Method::PrecomputedGemm, Method::Winograd, Method::TensorCore];

impl Engine {
    /// The engine with a global index.
    fn at(index: i64, subject: &Subject) -> Result<Self, Failure> {
        let place = usize::try_from(index).map_err(|_| Failure::BadParam)?;
        match subject {
            Subject::Convolution(_) => {
                let method = CONVOLUTIONS.get(place).copied().ok_or(Failure::NotSupported)?;
                Ok(Self::Convolution(method))
            }
            _ if place == 0 => Ok(Self::Generic),
            _ => Err(Failure::NotSupported),
        }
    }

    fn index(self) -> i64 {
        match self {
            Self::Generic => 0,
            Self::Convolution(method) => {
                CONVOLUTIONS.iter().position(|&known| known == method).unwrap_or(0) as i64
            }
        }
    }

    /// The engines that the heuristics propose, the fastest first.
    ///
    /// Assumed: tensor cores where they can be used, then a matrix product, then tiles.
    fn proposed(subject: &Subject, device: Device) -> Vec<Self> {
        let Subject::Convolution(problem) = subject else { return vec![Self::Generic] };
        let mut methods = vec![Method::PrecomputedGemm];
        if workspace::has_tensor_cores(device, problem.x.kind) {
            methods.insert(0, Method::TensorCore);
        }
        if suits_winograd(problem) {
            methods.push(Method::Winograd);
        }
        methods.into_iter().map(Self::Convolution).collect()
    }

    /// The engines for when those fail: the one that needs no workspace.
    fn fallback(subject: &Subject) -> Vec<Self> {
        match subject {
            Subject::Convolution(_) => vec![Self::Convolution(Method::ImplicitGemm)],
            _ => vec![Self::Generic],
        }
    }

    /// The workspace that it takes.
    fn workspace(self, subject: &Subject) -> u64 {
        match (self, subject) {
            (Self::Convolution(method), Subject::Convolution(problem)) => {
                workspace::convolution(method, problem)
            }
            (_, Subject::AttentionBackward(queries)) => workspace::attention_backward(queries),
            // Assumed: fused operations keep what they need on the chip.
            _ => 0,
        }
    }

    /// What PyTorch sorts engines out by.
    fn notes(self) -> &'static [u32] {
        match self {
            Self::Convolution(Method::TensorCore) => {
                &[Note::CUDNN_NUMERICAL_NOTE_TENSOR_CORE as u32]
            }
            Self::Convolution(Method::Winograd) => &[
                Note::CUDNN_NUMERICAL_NOTE_WINOGRAD as u32,
                Note::CUDNN_NUMERICAL_NOTE_WINOGRAD_TILE_6x6 as u32,
            ],
            _ => &[],
        }
    }

    /// How much longer its first runs take than those of the engine that is proposed first.
    ///
    /// Nothing is computed, so that all would be equally fast, and callers who measure (PyTorch's
    /// `torch.backends.cudnn.benchmark`) would choose by chance. This makes them choose as the
    /// heuristics do.
    pub(super) fn lag(self, subject: &Subject, device: Device) -> Duration {
        let proposed = Self::proposed(subject, device);
        let place = proposed.iter().position(|&engine| engine == self).unwrap_or(proposed.len());
        Duration::from_micros(300) * place as u32
    }
}

/// An engine for a graph as a finalized descriptor.
fn described(engine: Engine, graph: &Arc<Node>) -> Node {
    let notes = Value::choices(Type::CUDNN_TYPE_NUMERICAL_NOTE, engine.notes());
    Node::finished(
        Kind::CUDNN_BACKEND_ENGINE_DESCRIPTOR,
        [
            (Name::CUDNN_ATTR_ENGINE_OPERATION_GRAPH, Value::Nodes(vec![Arc::clone(graph)])),
            (Name::CUDNN_ATTR_ENGINE_GLOBAL_INDEX, Value::numbers(&[engine.index()])),
            (Name::CUDNN_ATTR_ENGINE_KNOB_INFO, Value::Nodes(Vec::new())),
            (Name::CUDNN_ATTR_ENGINE_NUMERICAL_NOTE, notes),
            (
                Name::CUDNN_ATTR_ENGINE_BEHAVIOR_NOTE,
                Value::choices(Type::CUDNN_TYPE_BEHAVIOR_NOTE, &[]),
            ),
        ],
    )
}

/// The engine that a descriptor names, finished. A caller's own settings stay.
pub(super) fn finish(node: &mut Node) -> Result<(), Failure> {
    let graph = Arc::clone(node.node(Name::CUDNN_ATTR_ENGINE_OPERATION_GRAPH)?);
    let index = node.number(Name::CUDNN_ATTR_ENGINE_GLOBAL_INDEX)?;
    let engine = Engine::at(index, &subject(&graph)?)?;
    for (name, value) in described(engine, &graph).attributes {
        node.attributes.entry(name).or_insert(value);
    }
    Ok(())
}

/// The engine of a configuration, and what its graph is about.
pub(super) fn of_configuration(configuration: &Node) -> Result<(Engine, Subject), Failure> {
    let engine = configuration.node(Name::CUDNN_ATTR_ENGINECFG_ENGINE)?;
    let subject = subject(engine.node(Name::CUDNN_ATTR_ENGINE_OPERATION_GRAPH)?)?;
    let index = engine.number(Name::CUDNN_ATTR_ENGINE_GLOBAL_INDEX)?;
    Ok((Engine::at(index, &subject)?, subject))
}

/// The workspace of a configuration.
pub(super) fn workspace_of(configuration: &Node) -> Result<u64, Failure> {
    let (engine, subject) = of_configuration(configuration)?;
    Ok(engine.workspace(&subject))
}

/// The configurations that the heuristics answer with.
pub(super) fn configurations(graph: &Arc<Node>, fallback: bool) -> Result<Value, Failure> {
    let subject = subject(graph)?;
    let engines = if fallback {
        Engine::fallback(&subject)
    } else {
        Engine::proposed(&subject, Device::current()?)
    };
    let configured = |engine: Engine| {
        let bytes = engine.workspace(&subject) as i64;
        let engine = Value::Nodes(vec![Arc::new(described(engine, graph))]);
        Arc::new(Node::finished(
            Kind::CUDNN_BACKEND_ENGINECFG_DESCRIPTOR,
            [
                (Name::CUDNN_ATTR_ENGINECFG_ENGINE, engine),
                (Name::CUDNN_ATTR_ENGINECFG_KNOB_CHOICES, Value::Nodes(Vec::new())),
                (Name::CUDNN_ATTR_ENGINECFG_WORKSPACE_SIZE, Value::numbers(&[bytes])),
                (
                    Name::CUDNN_ATTR_ENGINECFG_SHARED_MEMORY_USED,
                    Value::choices(Type::CUDNN_TYPE_INT32, &[0]),
                ),
            ],
        ))
    };
    Ok(Value::Nodes(engines.into_iter().map(configured).collect()))
}

/// How many engines a graph has.
pub(super) fn count(subject: &Subject) -> i64 {
    match subject {
        Subject::Convolution(_) => CONVOLUTIONS.len() as i64,
        _ => 1,
    }
}
