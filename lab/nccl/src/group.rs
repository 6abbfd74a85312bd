//! Groups of calls. What waits for others begins at the group's end: everything is sent by then, and
//! a thread with several communicators does not wait for itself.

use std::cell::RefCell;

use whyoom_lab_abi::{Out, exports};

use crate::{
    alike,
    exchange::{self, Operation},
    status::{Failure, Status},
};

/// What a thread has begun.
#[derive(Default)]
struct Group {
    depth: u32,
    operations: Vec<Operation>,
    /// Operations of ranks that do not reach each other.
    alone: Vec<Operation>,
}

thread_local! {
    static GROUP: RefCell<Group> = RefCell::default();
}

/// Carries out an operation, at the group's end where one is open.
pub(crate) fn submit(operation: Operation) -> Result<(), Failure> {
    let communicator = operation.communicator.get()?;
    let exchanges = communicator.membership().is_some()
        // A captured operation is carried out whenever the graph is: ranks need not be together.
        && !communicator.driver().is_capturing(operation.stream);
    if !exchanges {
        alike::fill(&operation)?;
    }
    let alone = GROUP.with_borrow_mut(|group| {
        let kept = if exchanges { &mut group.operations } else { &mut group.alone };
        if group.depth == 0 {
            return Some(operation);
        }
        kept.push(operation);
        None
    });
    match alone {
        Some(operation) if exchanges => exchange::carry_out(&[operation]),
        _ => Ok(()),
    }
}

/// Whether this thread has a group open.
pub(crate) fn is_open() -> bool {
    GROUP.with_borrow(|group| group.depth > 0)
}

/// Closes the innermost group; what was begun in it, if it was the last one.
fn close() -> Result<Group, Failure> {
    GROUP.with_borrow_mut(|group| {
        group.depth = group.depth.checked_sub(1).ok_or(Failure::InvalidUsage)?;
        Ok(if group.depth == 0 { std::mem::take(group) } else { Group::default() })
    })
}

/// The head of `ncclSimInfo_t`, and its one answer.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct Simulation {
    size: usize,
    magic: u32,
    version: u32,
    seconds: f32,
}

exports! { Status;
    fn ncclGroupStart() {
        GROUP.with_borrow_mut(|group| group.depth += 1);
        Ok(())
    }
    fn ncclGroupEnd() {
        let Group { operations, alone, .. } = close()?;
        alike::exchange(&alone)?;
        exchange::carry_out(&operations)
    }
    // How long the group would take: nobody computes here, so no time.
    fn ncclGroupSimulateEnd(simulation: Out<Simulation>) {
        close()?;
        if simulation.is_null() {
            return Ok(());
        }
        let head = whyoom_lab_abi::In(simulation.0.cast_const()).get()?;
        Ok(simulation.put(Simulation { seconds: 0.0, ..head })?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn groups_nest_and_must_be_open_to_be_closed() {
        assert_eq!(ncclGroupEnd(), Status(Failure::InvalidUsage as u32));
        assert_eq!([ncclGroupStart(), ncclGroupStart()], [Status(0); 2]);
        assert!(is_open());
        assert_eq!([ncclGroupEnd(), ncclGroupEnd()], [Status(0); 2]);
        assert!(!is_open());
        assert_eq!(ncclGroupEnd(), Status(Failure::InvalidUsage as u32));
    }
}
