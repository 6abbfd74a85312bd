//! Dropout: the states of its random numbers, which live in the caller's memory.

use whyoom_lab_abi::{Out, exports};

use crate::{
    handle::HandlePointer,
    object::{Opaque, lifetimes},
    status::{Failure, Status},
    workspace,
};

/// What stands behind a dropout descriptor.
#[derive(Clone, Debug, Default)]
pub(crate) struct Dropout {
    pub probability: f32,
}

/// A dropout descriptor.
pub(crate) type DropoutPointer = Opaque<Dropout>;

/// Makes and ends them.
pub(crate) mod lifetime {
    super::lifetimes! {
        super::Dropout: cudnnCreateDropoutDescriptor cudnnDestroyDropoutDescriptor;
    }
}

/// Sets a probability. States may be missing only where nothing is random.
fn set(
    dropout: DropoutPointer,
    handle: HandlePointer,
    probability: f32,
    states: usize,
    room: usize,
) -> Result<(), Failure> {
    let needed = workspace::dropout_states(handle.device()?);
    if !(0.0..=1.0).contains(&probability) {
        return Err(Failure::BadParam);
    }
    if states != 0 && (room as u64) < needed {
        return Err(Failure::SizeInsufficient);
    }
    dropout.get()?.probability = probability;
    Ok(())
}

exports! { Status;
    fn cudnnDropoutGetStatesSize(handle: HandlePointer, bytes: Out<usize>) {
        Ok(bytes.put(workspace::dropout_states(handle.device()?) as usize)?)
    }
    fn cudnnSetDropoutDescriptor(
        dropout: DropoutPointer, handle: HandlePointer, probability: f32, states: usize,
        room: usize, _seed: u64,
    ) {
        set(dropout, handle, probability, states, room)
    }
    fn cudnnRestoreDropoutDescriptor(
        dropout: DropoutPointer, handle: HandlePointer, probability: f32, states: usize,
        room: usize, _seed: u64,
    ) {
        set(dropout, handle, probability, states, room)
    }
}
