//! Pooling, activations and spatial transformers: they take no memory of their own.

use whyoom_lab_abi::{In, exports};

use crate::{
    handle::HandlePointer,
    object::{Opaque, lifetimes},
    shape::DataType,
    status::{Failure, Status},
    tensors::{TensorPointer, integers},
};

/// What stands behind a pooling descriptor: whether it was set. Nothing reads the rest.
#[derive(Clone, Debug, Default)]
pub(crate) struct Pooling(bool);
/// What stands behind an activation descriptor: likewise.
#[derive(Clone, Debug, Default)]
pub(crate) struct Activation(bool);
/// What stands behind a spatial transformer's descriptor: likewise.
#[derive(Clone, Debug, Default)]
pub(crate) struct Transformer(bool);

impl Activation {
    /// Whether it was set before it is used.
    pub(crate) fn check(&self) -> Result<(), Failure> {
        was_set(self.0)
    }
}

/// Makes and ends them.
pub(crate) mod lifetime {
    use super::{Activation, Pooling, Transformer};
    super::lifetimes! {
        Pooling: cudnnCreatePoolingDescriptor cudnnDestroyPoolingDescriptor;
        Activation: cudnnCreateActivationDescriptor cudnnDestroyActivationDescriptor;
        Transformer:
            cudnnCreateSpatialTransformerDescriptor cudnnDestroySpatialTransformerDescriptor;
    }
}

/// Whether a descriptor was set before it is used.
fn was_set(set: bool) -> Result<(), Failure> {
    if set { Ok(()) } else { Err(Failure::BadParam) }
}

exports! { Status;
    fn cudnnSetPooling2dDescriptor(
        pooling: Opaque<Pooling>, mode: u32, nans: u32, height: i32, width: i32, vertical: i32,
        horizontal: i32, down: i32, across: i32,
    ) {
        let lengths = [height, width, down, across].iter().all(|&length| length > 0);
        if mode > 3 || nans > 1 || !lengths || vertical < 0 || horizontal < 0 {
            return Err(Failure::BadParam);
        }
        *pooling.get()? = Pooling(true);
        Ok(())
    }
    fn cudnnPoolingForward(
        handle: HandlePointer, pooling: Opaque<Pooling>, _alpha: usize, x: TensorPointer,
        _x_data: usize, _beta: usize, y: TensorPointer,
    ) {
        handle.check()?;
        x.check()?;
        y.check()?;
        was_set(pooling.get()?.0)
    }
    fn cudnnSetActivationDescriptor(activation: Opaque<Activation>, mode: u32, nans: u32) {
        if mode > 6 || nans > 1 {
            return Err(Failure::BadParam);
        }
        *activation.get()? = Activation(true);
        Ok(())
    }
    fn cudnnSetSpatialTransformerNdDescriptor(
        transformer: Opaque<Transformer>, sampler: u32, kind: u32, count: i32, lengths: In<i32>,
    ) {
        DataType(kind).bytes()?;
        if sampler != 0 || integers(lengths, count)?.iter().any(|&length| length < 1) {
            return Err(Failure::BadParam);
        }
        *transformer.get()? = Transformer(true);
        Ok(())
    }

    // These leave the arguments behind the second unread: the caller clears them away.
    fn cudnnSpatialTfGridGeneratorForward(
        handle: HandlePointer, transformer: Opaque<Transformer>,
    ) {
        handle.check()?;
        was_set(transformer.get()?.0)
    }
    fn cudnnSpatialTfGridGeneratorBackward(
        handle: HandlePointer, transformer: Opaque<Transformer>,
    ) {
        handle.check()?;
        was_set(transformer.get()?.0)
    }
    fn cudnnSpatialTfSamplerForward(handle: HandlePointer, transformer: Opaque<Transformer>) {
        handle.check()?;
        was_set(transformer.get()?.0)
    }
    fn cudnnSpatialTfSamplerBackward(handle: HandlePointer, transformer: Opaque<Transformer>) {
        handle.check()?;
        was_set(transformer.get()?.0)
    }
}
