//! Groups of calls. Collectives run as they come; what depends on other calls of the group waits
//! for its end, because only there it is known what this rank sends to whom.

use std::cell::RefCell;

use whyoom_lab_abi::{Out, exports};

use crate::{
    status::{Failure, Status},
    transfers::{self, Transfer},
};

/// What a thread has begun.
#[derive(Default)]
struct Group {
    depth: u32,
    transfers: Vec<Transfer>,
}

thread_local! {
    static GROUP: RefCell<Group> = RefCell::default();
}

/// Keeps a transfer for the group's end, where a group is open.
pub(crate) fn keep(transfer: Transfer) {
    GROUP.with_borrow_mut(|group| {
        if group.depth > 0 {
            group.transfers.push(transfer);
        }
    });
}

/// Closes the innermost group; the transfers, if it was the last one.
fn close() -> Result<Vec<Transfer>, Failure> {
    GROUP.with_borrow_mut(|group| {
        group.depth = group.depth.checked_sub(1).ok_or(Failure::InvalidUsage)?;
        Ok(if group.depth == 0 { std::mem::take(&mut group.transfers) } else { Vec::new() })
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
    fn ncclGroupEnd() { transfers::exchange(&close()?) }
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
        assert_eq!([ncclGroupEnd(), ncclGroupEnd()], [Status(0); 2]);
        assert_eq!(ncclGroupEnd(), Status(Failure::InvalidUsage as u32));
    }
}
