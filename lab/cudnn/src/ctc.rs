//! The loss of connectionist temporal classification.

use whyoom_lab_abi::{In, Out, exports};

use crate::{
    handle::HandlePointer,
    object::{Opaque, lifetimes},
    shape::DataType,
    status::{Failure, Status},
    tensors::TensorPointer,
    workspace,
};

/// The longest label that the functions with labels on the host take: documented.
const LONGEST_LABEL: i32 = 256;

/// What stands behind a loss descriptor.
#[derive(Clone, Debug, Default)]
pub(crate) struct Loss {
    longest_label: i32,
}

/// A loss descriptor.
type LossPointer = Opaque<Loss>;

/// Makes and ends them.
pub(crate) mod lifetime {
    super::lifetimes! {
        super::Loss: cudnnCreateCTCLossDescriptor cudnnDestroyCTCLossDescriptor;
    }
}

/// Sets a loss; only single precision is documented to work.
fn set(loss: LossPointer, kind: u32, longest_label: i32) -> Result<(), Failure> {
    if DataType(kind) != DataType::FLOAT || !(0..=LONGEST_LABEL).contains(&longest_label) {
        return Err(Failure::BadParam);
    }
    *loss.get()? = Loss { longest_label };
    Ok(())
}

/// The workspace for probabilities of steps, samples and symbols.
fn needed(probabilities: TensorPointer, label: i32) -> Result<u64, Failure> {
    let probabilities = probabilities.get()?;
    let &[steps, batch, symbols] = probabilities.dimensions.as_slice() else {
        return Err(Failure::BadParam);
    };
    let [steps, batch, symbols] = [steps, batch, symbols].map(|length| length as u64);
    Ok(workspace::ctc(batch, steps, symbols, u64::try_from(label).unwrap_or(0)))
}

/// The longest of the labels, one for each sample.
fn longest(lengths: In<i32>, probabilities: TensorPointer) -> Result<i32, Failure> {
    let batch = probabilities.get()?.dimensions.get(1).copied().unwrap_or(0);
    let longest = lengths.list(batch as usize)?.into_iter().max().unwrap_or(0);
    if longest <= LONGEST_LABEL { Ok(longest) } else { Err(Failure::BadParam) }
}

fn enough(room: usize, needed: u64) -> Result<(), Failure> {
    if room as u64 >= needed { Ok(()) } else { Err(Failure::SizeInsufficient) }
}

exports! { Status;
    fn cudnnSetCTCLossDescriptorEx(loss: LossPointer, kind: u32, _norm: u32, _gradient: u32) {
        set(loss, kind, LONGEST_LABEL)
    }
    fn cudnnSetCTCLossDescriptor_v9(
        loss: LossPointer, kind: u32, _norm: u32, _gradient: u32, longest_label: i32,
    ) {
        set(loss, kind, longest_label)
    }
    fn cudnnGetCTCLossWorkspaceSize(
        handle: HandlePointer, probabilities: TensorPointer, _gradients: usize, _labels: usize,
        lengths: In<i32>, _inputs: usize, _algorithm: u32, loss: LossPointer, bytes: Out<usize>,
    ) {
        handle.check()?;
        loss.check()?;
        let label = longest(lengths, probabilities)?;
        Ok(bytes.put(needed(probabilities, label)? as usize)?)
    }
    fn cudnnGetCTCLossWorkspaceSize_v8(
        handle: HandlePointer, _algorithm: u32, loss: LossPointer, probabilities: TensorPointer,
        _gradients: usize, bytes: Out<usize>,
    ) {
        handle.check()?;
        let label = loss.get()?.longest_label;
        Ok(bytes.put(needed(probabilities, label)? as usize)?)
    }
    fn cudnnCTCLoss(
        handle: HandlePointer, probabilities: TensorPointer, _data: usize, _labels: usize,
        lengths: In<i32>, _inputs: usize, _costs: usize, _gradients: usize, _result: usize,
        _algorithm: u32, loss: LossPointer, _workspace: usize, room: usize,
    ) {
        handle.check()?;
        loss.check()?;
        enough(room, needed(probabilities, longest(lengths, probabilities)?)?)
    }
    fn cudnnCTCLoss_v8(
        handle: HandlePointer, _algorithm: u32, loss: LossPointer, probabilities: TensorPointer,
        _data: usize, _labels: usize, _lengths: usize, _inputs: usize, _costs: usize,
        _gradients: usize, _result: usize, room: usize,
    ) {
        handle.check()?;
        let label = loss.get()?.longest_label;
        enough(room, needed(probabilities, label)?)
    }
}
