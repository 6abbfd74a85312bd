//! Executable graphs: copies that can be launched. Their work is done at the launch, one node behind
//! the other; which nodes a real device would run side by side makes no difference to memory.

use std::collections::HashMap;

use crate::{
    driver::{
        ContextId, Driver, ExecId, GraphId, HostCall, InstantiateFlags, NodeId, Work,
        state::{Exec, Step},
    },
    error::{Error, Result},
    timeline::{Stamp, StreamId},
};

/// Allocations that are not freed are, at the next launch.
const AUTO_FREE: InstantiateFlags = 1;
/// The other documented ones: upload at once, launch from the device, priorities of nodes.
const DEVICE_LAUNCH: InstantiateFlags = 4;
const KNOWN: InstantiateFlags = 15;

impl Driver {
    /// Makes an executable graph. Documented: of a graph with memory there is one at a time. On an
    /// error, the node that it is about.
    pub fn instantiate(
        &mut self,
        id: GraphId,
        flags: InstantiateFlags,
    ) -> std::result::Result<ExecId, (Error, Option<NodeId>)> {
        let invalid = |node| (Error::InvalidValue, node);
        if flags & !KNOWN != 0 || flags & (AUTO_FREE | DEVICE_LAUNCH) == AUTO_FREE | DEVICE_LAUNCH {
            return Err(invalid(None));
        }
        let graph = self.graph(id).map_err(|_| invalid(None))?;
        let (objects, number) = (graph.objects.clone(), graph.number);
        // A part is instantiated with its whole; a graph that is captured into, when that ends.
        if graph.owner.is_some() || self.graphs.captures.writes_to(id) {
            return Err(invalid(None));
        }
        let steps = self.steps(id).map_err(invalid)?;
        let spaces = self.spaces_of(id);
        let taken =
            |space: &u64| self.graphs.spaces.get(space).is_some_and(|space| space.executable);
        if spaces.iter().any(taken) {
            return Err(invalid(None));
        }
        let charged = self.charge_nodes(&steps).map_err(|error| (error, None))?;
        for space in &spaces {
            if let Some(space) = self.graphs.spaces.get_mut(space) {
                space.executable = true;
            }
        }
        for (object, count) in &objects {
            self.add_references(*object, *count);
        }
        let exec = self.new_handle();
        let entry = Exec { steps, flags, spaces, charged, objects, number, last: None };
        self.graphs.execs.insert(exec, entry);
        Ok(exec)
    }

    /// Charges the current device for the nodes of a graph. Returns the device and the bytes.
    fn charge_nodes(&mut self, steps: &[Step]) -> Result<(usize, u64)> {
        let of_each = self.quirks().graph_node_bytes;
        if of_each == 0 {
            return Ok((0, 0));
        }
        let context = self.current()?;
        let device = self.device_of(context)?;
        let bytes = Step::count(steps).saturating_mul(of_each);
        self.charge(device, bytes)?;
        Ok((device, bytes))
    }

    /// The nodes of a graph in an order in which they can run.
    pub(super) fn steps(&self, id: GraphId) -> std::result::Result<Vec<Step>, Option<NodeId>> {
        let nodes = self.in_order(id)?;
        let place: HashMap<NodeId, usize> =
            nodes.iter().enumerate().map(|(place, node)| (*node, place)).collect();
        let step = |id: &NodeId| {
            let node = self.node(*id).map_err(|_| Some(*id))?;
            let parts = match &node.work {
                Work::Child(part) => vec![self.steps(*part)?],
                Work::Conditional(conditional) => {
                    let bodies = conditional.bodies.iter();
                    bodies.map(|part| self.steps(*part)).collect::<std::result::Result<_, _>>()?
                }
                _ => Vec::new(),
            };
            let mut waits_for: Vec<usize> =
                node.waits_for.iter().filter_map(|edge| place.get(&edge.node).copied()).collect();
            waits_for.sort_unstable();
            Ok(Step { node: *id, work: node.work.clone(), waits_for, parts, enabled: true })
        };
        nodes.iter().map(step).collect()
    }

    /// The addresses of a graph and of the graphs that were moved into it.
    fn spaces_of(&self, id: GraphId) -> Vec<u64> {
        let Ok(graph) = self.graph(id) else { return Vec::new() };
        let works = graph.nodes.iter().filter_map(|node| self.graphs.nodes.get(node));
        let parts = works.filter_map(|node| match node.work {
            Work::Child(part) => Some(self.spaces_of(part)),
            _ => None,
        });
        graph.spaces.iter().copied().chain(parts.flatten()).collect()
    }

    pub(super) fn exec(&self, id: ExecId) -> Result<&Exec> {
        self.graphs.execs.get(&id).ok_or(Error::InvalidValue)
    }

    pub(super) fn exec_mut(&mut self, id: ExecId) -> Result<&mut Exec> {
        self.graphs.execs.get_mut(&id).ok_or(Error::InvalidValue)
    }

    /// Ends an executable graph. What it allocated and nobody freed stays.
    pub fn destroy_exec(&mut self, id: ExecId) -> Result<()> {
        let exec = self.graphs.execs.remove(&id).ok_or(Error::InvalidValue)?;
        let (device, bytes) = exec.charged;
        self.refund(device, bytes);
        for space in exec.spaces {
            self.end_space_of_exec(space);
        }
        for (object, count) in exec.objects {
            self.release_references(object, count);
        }
        Ok(())
    }

    /// The flags of an executable graph.
    pub fn exec_flags(&self, id: ExecId) -> Result<InstantiateFlags> {
        self.exec(id).map(|exec| exec.flags)
    }

    /// The number of the graph that it was made of, for tools.
    pub fn exec_number(&self, id: ExecId) -> Result<u32> {
        self.exec(id).map(|exec| exec.number)
    }

    /// Takes the memory that a launch in the stream will need.
    pub fn upload(&mut self, context: ContextId, id: ExecId, stream: StreamId) -> Result<()> {
        for space in self.exec(id)?.spaces.clone() {
            self.back_space(context, space, stream)?;
            self.submit(context, stream, 0)?;
            let stamp = self.timeline.stamp(stream).unwrap_or_default();
            self.settle_space(space, &stamp);
        }
        Ok(())
    }

    /// Launches a graph, and gives back the calls of the program's that it makes. A node that reaches
    /// for memory that is not there fails as a kernel does: at the next wait (assumed).
    pub fn launch_graph(
        &mut self,
        context: ContextId,
        id: ExecId,
        stream: StreamId,
    ) -> Result<Vec<HostCall>> {
        let (flags, spaces) = (self.exec(id)?.flags, self.exec(id)?.spaces.clone());
        self.free_what_is_left(context, stream, flags, &spaces)?;
        if let Some(last) = self.exec(id)?.last.clone() {
            self.timeline.wait(stream, &last);
        }
        for (index, space) in spaces.iter().enumerate() {
            if let Err(error) = self.back_space(context, *space, stream) {
                for taken in &spaces[..index] {
                    self.settle_space(*taken, &Stamp::default());
                }
                return Err(error);
            }
        }
        // Taken out while it runs: its nodes change everything but the graph itself.
        let steps = std::mem::take(&mut self.exec_mut(id)?.steps);
        let mut calls = Vec::new();
        self.set_running(&spaces, true);
        let ran = self.run(context, stream, &steps, &mut calls);
        self.set_running(&spaces, false);
        self.exec_mut(id)?.steps = steps;
        if ran.is_err() {
            self.context_mut(context)?.failing = Some(Error::IllegalAddress);
        }
        self.submit(context, stream, 0)?;
        let stamp = self.timeline.stamp(stream).unwrap_or_default();
        for space in spaces {
            self.settle_space(space, &stamp);
        }
        self.exec_mut(id)?.last = Some(stamp);
        Ok(calls)
    }

    fn set_running(&mut self, spaces: &[u64], running: bool) {
        for space in spaces {
            if let Some(space) = self.graphs.spaces.get_mut(space) {
                space.running = running;
            }
        }
    }

    /// Documented: a launch fails while allocations of the one before live, unless the graph was
    /// instantiated to free them.
    fn free_what_is_left(
        &mut self,
        context: ContextId,
        stream: StreamId,
        flags: InstantiateFlags,
        spaces: &[u64],
    ) -> Result<()> {
        let left: Vec<u64> = spaces.iter().flat_map(|space| self.unfreed(*space)).collect();
        if !left.is_empty() && flags & AUTO_FREE == 0 {
            return Err(Error::InvalidValue);
        }
        for address in left {
            self.free_async(context, stream, address)?;
        }
        Ok(())
    }

    pub(super) fn run(
        &mut self,
        context: ContextId,
        stream: StreamId,
        steps: &[Step],
        calls: &mut Vec<HostCall>,
    ) -> Result<()> {
        for step in steps.iter().filter(|step| step.enabled) {
            match &step.work {
                Work::Child(_) => self.run(context, stream, &step.parts[0], calls)?,
                Work::Conditional(conditional) => {
                    if let Some(part) = self.chosen(conditional).and_then(|n| step.parts.get(n)) {
                        self.run(context, stream, part, calls)?;
                    }
                }
                Work::Alloc(made) => self.begin_graph_allocation(context, stream, made)?,
                Work::Free(address) => self.free_async(context, stream, *address)?,
                Work::Host(call) => {
                    calls.push(*call);
                    self.perform(context, stream, &step.work)?;
                }
                work => self.perform(context, stream, work)?,
            }
        }
        Ok(())
    }
}
