//! Captures: what is submitted to a stream becomes nodes of a graph.

mod events;
mod rules;

use std::collections::{HashMap, HashSet};

pub use self::rules::exchange_mode;
use super::{
    CaptureMode, ContextId, Driver, Edge, ExecId, GraphId, NodeId, Work,
    state::{Capture, Ends},
};
use crate::{
    error::{Error, Result},
    timeline::StreamId,
};

/// What there is to know about a stream's capture.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CaptureInfo {
    /// Whether no rule was broken so far.
    pub valid: bool,
    /// Its number.
    pub id: u64,
    /// The graph that it makes.
    pub graph: GraphId,
    /// Where the nodes stand that the next one will wait for, and the data of the edges.
    pub lists: (u64, u64),
    /// How many they are.
    pub count: usize,
    /// Whether one of the edges has data.
    pub has_data: bool,
}

impl Driver {
    /// Begins a capture, into a graph of its own or into one that exists.
    pub fn begin_capture(
        &mut self,
        context: ContextId,
        stream: StreamId,
        mode: CaptureMode,
        into: Option<(GraphId, Vec<Edge>)>,
    ) -> Result<()> {
        // Assumed: the legacy stream refuses with this error. The per-thread one is the legacy one
        // here, and refuses too.
        if self.context(context)?.legacy_stream == stream {
            return Err(Error::StreamCaptureUnsupported);
        }
        if self.graphs.captures.streams.contains_key(&stream) {
            return Err(Error::IllegalState);
        }
        let own_graph = into.is_none();
        let (graph, edges) = match into {
            Some((graph, edges)) => {
                self.graph_nodes(graph)?;
                self.check_edges(graph, &edges)?;
                (graph, edges)
            }
            None => (self.create_graph(), Vec::new()),
        };
        let captures = &mut self.graphs.captures;
        captures.numbered += 1;
        let capture = Capture {
            graph,
            own_graph,
            mode,
            origin: stream,
            thread: rules::this_thread(),
            valid: true,
            ends: HashMap::from([(stream, Ends::at(edges))]),
        };
        captures.by_id.insert(captures.numbered, capture);
        captures.streams.insert(stream, captures.numbered);
        Ok(())
    }

    /// Ends a capture: the graph, unless a rule was broken.
    pub fn end_capture(&mut self, stream: StreamId) -> Result<GraphId> {
        let (id, capture) = self.graphs.captures.of(stream).ok_or(Error::IllegalState)?;
        if capture.origin != stream {
            return Err(Error::StreamCaptureUnmatched);
        }
        if capture.mode != CaptureMode::Relaxed && capture.thread != rules::this_thread() {
            return Err(Error::StreamCaptureWrongThread);
        }
        let captures = &mut self.graphs.captures;
        captures.streams.retain(|_, capturing| *capturing != id);
        let capture = captures.by_id.remove(&id).ok_or(Error::IllegalState)?;
        let outcome = self.check_joined(&capture);
        if outcome.is_err() && capture.own_graph {
            self.drop_graph(capture.graph);
        }
        outcome.map(|()| capture.graph)
    }

    /// Documented: all that other streams captured must have been joined to the first one.
    fn check_joined(&self, capture: &Capture) -> Result<()> {
        if !capture.valid {
            return Err(Error::StreamCaptureInvalidated);
        }
        let nodes = |ends: &Ends| ends.edges.iter().map(|edge| edge.node).collect::<Vec<_>>();
        let joined: HashSet<NodeId> =
            self.reachable(capture.ends.get(&capture.origin).map(nodes).unwrap_or_default());
        let all = capture.ends.values().flat_map(nodes).all(|node| joined.contains(&node));
        if all { Ok(()) } else { Err(Error::StreamCaptureUnjoined) }
    }

    /// What a stream captures. Documented: asking about the legacy stream while a stream that it
    /// waits for captures is an error, which harms nothing.
    pub fn capture_info(
        &mut self,
        context: ContextId,
        stream: StreamId,
    ) -> Result<Option<CaptureInfo>> {
        if self.implicit_captures(context, stream).next().is_some() {
            return Err(Error::StreamCaptureImplicit);
        }
        let captures = &mut self.graphs.captures;
        let Some(&id) = captures.streams.get(&stream) else { return Ok(None) };
        let capture = captures.by_id.get_mut(&id).ok_or(Error::IllegalState)?;
        let ends = capture.ends.entry(stream).or_default();
        ends.shown = ends.edges.iter().map(|edge| (edge.node, edge.data)).unzip();
        Ok(Some(CaptureInfo {
            valid: capture.valid,
            id,
            graph: capture.graph,
            lists: (ends.shown.0.as_ptr() as u64, ends.shown.1.as_ptr() as u64),
            count: ends.edges.len(),
            has_data: ends.edges.iter().any(|edge| edge.data != [0; 8]),
        }))
    }

    /// Changes what the next node of a capturing stream will wait for.
    pub fn update_capture(
        &mut self,
        stream: StreamId,
        edges: &[Edge],
        replace: bool,
    ) -> Result<()> {
        let (id, capture) = self.graphs.captures.of(stream).ok_or(Error::IllegalState)?;
        if !capture.valid {
            return Err(Error::StreamCaptureInvalidated);
        }
        self.check_edges(capture.graph, edges)?;
        let capture = self.graphs.captures.by_id.get_mut(&id).ok_or(Error::IllegalState)?;
        let ends = capture.ends.entry(stream).or_default();
        if replace {
            ends.edges = edges.to_vec();
        } else {
            ends.join(edges);
        }
        Ok(())
    }

    /// Makes a node of work.
    pub(super) fn capture(&mut self, stream: StreamId, work: Work) -> Result<NodeId> {
        self.capture_by(stream, |driver, graph, edges| {
            driver.add_node(graph, edges, work).map(|node| (node, node))
        })
    }

    /// Makes a node of an allocation; its address.
    pub(super) fn capture_alloc(
        &mut self,
        stream: StreamId,
        device: usize,
        size: u64,
    ) -> Result<u64> {
        self.capture_by(stream, |driver, graph, edges| driver.add_alloc(graph, edges, device, size))
    }

    /// Makes a node of the launch of a graph.
    pub fn capture_launch(&mut self, stream: StreamId, exec: ExecId) -> Result<()> {
        let node = self.capture_by(stream, |driver, graph, edges| {
            driver.add_launched(graph, edges, exec).map(|node| (node, node))
        });
        if node == Err(Error::StreamCaptureUnsupported) {
            self.invalidate_capture_of(stream);
        }
        node.map(drop)
    }

    /// Whether a stream captures, and may go on.
    pub fn is_capturing(&mut self, context: ContextId, stream: StreamId) -> Result<bool> {
        self.admit(context, stream)
    }

    fn capture_by<T>(
        &mut self,
        stream: StreamId,
        make: impl FnOnce(&mut Self, GraphId, &[Edge]) -> Result<(NodeId, T)>,
    ) -> Result<T> {
        let (id, capture) = self.graphs.captures.of(stream).ok_or(Error::IllegalState)?;
        let edges = capture.ends.get(&stream).map(|ends| ends.edges.clone()).unwrap_or_default();
        let (node, made) = make(self, capture.graph, &edges)?;
        if let Some(capture) = self.graphs.captures.by_id.get_mut(&id) {
            capture.ends.entry(stream).or_default().edges = vec![Edge::plain(node)];
        }
        Ok(made)
    }
}
