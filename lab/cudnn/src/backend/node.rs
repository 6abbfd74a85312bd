//! What stands behind a backend descriptor: its attributes, as they were when it was finalized.

use std::{
    collections::BTreeMap,
    sync::{Arc, atomic::AtomicU32},
};

use cudarc::cudnn::sys::{
    cudnnBackendAttributeName_t as Name, cudnnBackendAttributeType_t as Type,
    cudnnBackendDescriptorType_t as Kind,
};

use crate::{object::Opaque, status::Failure};

/// The value of an attribute.
#[derive(Clone, Debug)]
pub(super) enum Value {
    /// Numbers: their type, and their bytes one behind the other.
    Plain { of: u32, bytes: Vec<u8> },
    /// Other descriptors, as they were when they were given: callers end theirs when they like.
    Nodes(Vec<Arc<Node>>),
}

/// A descriptor.
#[derive(Clone, Debug)]
pub(crate) struct Node {
    pub(super) kind: u32,
    pub(super) finalized: bool,
    pub(super) attributes: BTreeMap<u32, Value>,
    /// How often a plan was run.
    pub(super) runs: Arc<AtomicU32>,
}

/// A descriptor as callers pass it.
pub(crate) type NodePointer = Opaque<Arc<Node>>;

/// The bytes of one value of an attribute type; nothing for descriptors and unknown types.
pub(super) fn width(of: u32) -> Option<usize> {
    const BOOLEAN: u32 = Type::CUDNN_TYPE_BOOLEAN as u32;
    const CHAR: u32 = Type::CUDNN_TYPE_CHAR as u32;
    const FRACTION: u32 = Type::CUDNN_TYPE_FRACTION as u32;
    const HANDLE: u32 = Type::CUDNN_TYPE_HANDLE as u32;
    const INT64: u32 = Type::CUDNN_TYPE_INT64 as u32;
    const DOUBLE: u32 = Type::CUDNN_TYPE_DOUBLE as u32;
    const POINTER: u32 = Type::CUDNN_TYPE_VOID_PTR as u32;
    match of {
        DESCRIPTOR => None,
        BOOLEAN | CHAR => Some(1),
        HANDLE | INT64 | DOUBLE | POINTER => Some(8),
        FRACTION => Some(16),
        // All others are enumerations or 32-bit numbers; 9.26 has them up to 32.
        0..=32 => Some(4),
        _ => None,
    }
}

/// `CUDNN_TYPE_BACKEND_DESCRIPTOR`.
pub(super) const DESCRIPTOR: u32 = Type::CUDNN_TYPE_BACKEND_DESCRIPTOR as u32;
const INT64: u32 = Type::CUDNN_TYPE_INT64 as u32;

impl Node {
    /// A new one, with nothing set.
    pub(super) fn new(kind: u32) -> Self {
        let (attributes, runs) = (BTreeMap::new(), Arc::default());
        Self { kind, finalized: false, attributes, runs }
    }

    /// One of a kind, finalized with what it has.
    pub(super) fn finished<const N: usize>(kind: Kind, attributes: [(Name, Value); N]) -> Self {
        let attributes = attributes.map(|(name, value)| (name as u32, value));
        let attributes = attributes.into();
        Self { kind: kind as u32, finalized: true, attributes, runs: Arc::default() }
    }

    pub(super) fn is(&self, kind: Kind) -> bool {
        self.kind == kind as u32
    }

    pub(super) fn put(&mut self, name: Name, value: Value) {
        self.attributes.insert(name as u32, value);
    }

    /// A descriptor among the attributes.
    pub(super) fn node(&self, name: Name) -> Result<&Arc<Node>, Failure> {
        self.nodes(name)?.first().ok_or(Failure::BadParam)
    }

    /// The descriptors of an attribute.
    pub(super) fn nodes(&self, name: Name) -> Result<&[Arc<Node>], Failure> {
        match self.attributes.get(&(name as u32)) {
            Some(Value::Nodes(nodes)) => Ok(nodes),
            _ => Err(Failure::BadParam),
        }
    }

    /// The 64-bit numbers of an attribute.
    pub(super) fn numbers(&self, name: Name) -> Result<Vec<i64>, Failure> {
        match self.attributes.get(&(name as u32)) {
            Some(Value::Plain { of: INT64, bytes }) => {
                Ok(bytes.as_chunks().0.iter().map(|&number| i64::from_ne_bytes(number)).collect())
            }
            _ => Err(Failure::BadParam),
        }
    }

    /// A 64-bit number.
    pub(super) fn number(&self, name: Name) -> Result<i64, Failure> {
        self.numbers(name)?.first().copied().ok_or(Failure::BadParam)
    }

    /// The number of an enumeration.
    pub(super) fn choice(&self, name: Name) -> Result<u32, Failure> {
        match self.attributes.get(&(name as u32)) {
            Some(Value::Plain { bytes, .. }) => {
                let number = bytes.first_chunk().ok_or(Failure::BadParam)?;
                Ok(u32::from_ne_bytes(*number))
            }
            _ => Err(Failure::BadParam),
        }
    }
}

impl Value {
    /// 64-bit numbers.
    pub(super) fn numbers(numbers: &[i64]) -> Self {
        let bytes = numbers.iter().flat_map(|number| number.to_ne_bytes()).collect();
        Self::Plain { of: INT64, bytes }
    }

    /// Numbers of an enumeration.
    pub(super) fn choices(of: Type, numbers: &[u32]) -> Self {
        let bytes = numbers.iter().flat_map(|number| number.to_ne_bytes()).collect();
        Self::Plain { of: of as u32, bytes }
    }
}
