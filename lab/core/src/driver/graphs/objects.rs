//! Objects of the program's that graphs keep alive.

use crate::{
    driver::{Driver, GraphId, HostCall, ObjectId, state::UserObject},
    error::{Error, Result},
};

/// Documented: counts are not zero and at most this.
const MOST: u32 = i32::MAX as u32;

fn check_count(count: u32) -> Result<()> {
    if (1..=MOST).contains(&count) { Ok(()) } else { Err(Error::InvalidValue) }
}

impl Driver {
    /// Makes an object that the call ends.
    pub fn create_object(&mut self, destroy: HostCall, references: u32) -> Result<ObjectId> {
        check_count(references)?;
        let id = self.new_handle();
        let references = references.into();
        self.graphs.objects.insert(id, UserObject { destroy, references });
        Ok(id)
    }

    /// Adds references of the program's.
    pub fn retain_object(&mut self, id: ObjectId, count: u32) -> Result<()> {
        check_count(count)?;
        self.graphs.objects.get(&id).ok_or(Error::InvalidValue)?;
        self.add_references(id, count);
        Ok(())
    }

    pub(super) fn add_references(&mut self, id: ObjectId, count: u32) {
        if let Some(object) = self.graphs.objects.get_mut(&id) {
            object.references += u64::from(count);
        }
    }

    /// Ends references of the program's.
    pub fn release_object(&mut self, id: ObjectId, count: u32) -> Result<()> {
        check_count(count)?;
        let object = self.graphs.objects.get(&id).ok_or(Error::InvalidValue)?;
        if u64::from(count) > object.references {
            return Err(Error::InvalidValue);
        }
        self.release_references(id, count);
        Ok(())
    }

    /// Ends references. With the last one the object's end is due.
    pub(super) fn release_references(&mut self, id: ObjectId, count: u32) {
        let Some(object) = self.graphs.objects.get_mut(&id) else { return };
        object.references = object.references.saturating_sub(count.into());
        if object.references == 0
            && let Some(object) = self.graphs.objects.remove(&id)
        {
            self.due.push(object.destroy);
        }
    }

    /// Gives a graph references of its own, or those of the program's where they are moved.
    pub fn retain_object_in_graph(
        &mut self,
        graph: GraphId,
        id: ObjectId,
        count: u32,
        moved: bool,
    ) -> Result<()> {
        check_count(count)?;
        self.graph(graph)?;
        self.graphs.objects.get(&id).ok_or(Error::InvalidValue)?;
        self.retain_in_graph(graph, id, count)?;
        if moved {
            self.release_references(id, count);
        }
        Ok(())
    }

    pub(super) fn retain_in_graph(
        &mut self,
        graph: GraphId,
        id: ObjectId,
        count: u32,
    ) -> Result<()> {
        self.add_references(id, count);
        let held = self.graph_mut(graph)?.objects.entry(id).or_default();
        *held = held.saturating_add(count);
        Ok(())
    }

    /// Ends references of a graph.
    pub fn release_object_of_graph(
        &mut self,
        graph: GraphId,
        id: ObjectId,
        count: u32,
    ) -> Result<()> {
        check_count(count)?;
        let objects = &mut self.graph_mut(graph)?.objects;
        let held = objects.get_mut(&id).ok_or(Error::InvalidValue)?;
        *held = held.checked_sub(count).ok_or(Error::InvalidValue)?;
        if *held == 0 {
            objects.remove(&id);
        }
        self.release_references(id, count);
        Ok(())
    }

    /// The ends of objects that are due: calls of the program's, to be made without the driver's lock.
    pub fn take_due(&mut self) -> Vec<HostCall> {
        std::mem::take(&mut self.due)
    }
}
