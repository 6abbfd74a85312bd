//! Captures that are going on.

use std::collections::HashMap;

use super::{
    edge::Edge,
    ids::{GraphId, NodeId},
};
use crate::{
    error::{Error, Result},
    timeline::StreamId,
};

/// The captures that are going on.
#[derive(Default)]
pub(crate) struct Captures {
    pub(crate) by_id: HashMap<u64, Capture>,
    /// Which capture a stream takes part in.
    pub(crate) streams: HashMap<StreamId, u64>,
    /// Captures are numbered from 1 for as long as the process lives.
    pub(crate) numbered: u64,
}

impl Captures {
    /// Whether a graph is being captured into.
    pub(crate) fn writes_to(&self, graph: GraphId) -> bool {
        self.by_id.values().any(|capture| capture.graph == graph)
    }

    pub(crate) fn of(&self, stream: StreamId) -> Option<(u64, &Capture)> {
        let id = self.streams.get(&stream)?;
        self.by_id.get(id).map(|capture| (*id, capture))
    }
}

/// A capture.
pub(crate) struct Capture {
    pub(crate) graph: GraphId,
    /// Whether the graph was made for it.
    pub(crate) own_graph: bool,
    pub(crate) mode: CaptureMode,
    /// Where it began.
    pub(crate) origin: StreamId,
    pub(crate) thread: u64,
    pub(crate) valid: bool,
    /// The nodes that the next one of each stream will wait for.
    pub(crate) ends: HashMap<StreamId, Ends>,
}

#[derive(Default)]
pub(crate) struct Ends {
    pub(crate) edges: Vec<Edge>,
    /// Lists that the program was given a look at: they stay until the next look.
    pub(crate) shown: (Vec<NodeId>, Vec<[u8; 8]>),
}

impl Ends {
    pub(crate) fn at(edges: Vec<Edge>) -> Self {
        Self { edges, ..Self::default() }
    }

    pub(crate) fn join(&mut self, more: &[Edge]) {
        for edge in more {
            if !self.edges.contains(edge) {
                self.edges.push(*edge);
            }
        }
    }
}

/// Whom a capture keeps from calls that it cannot see.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CaptureMode {
    /// All threads.
    Global,
    /// The thread where it began.
    ThreadLocal,
    /// Nobody.
    Relaxed,
}

impl CaptureMode {
    /// The mode that a number of the API means.
    pub fn of(number: u32) -> Result<Self> {
        match number {
            0 => Ok(Self::Global),
            1 => Ok(Self::ThreadLocal),
            2 => Ok(Self::Relaxed),
            _ => Err(Error::InvalidValue),
        }
    }
}
