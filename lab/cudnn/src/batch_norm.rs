//! Batch normalization.

use whyoom_lab_abi::{Out, exports};

use crate::{
    handle::HandlePointer,
    object::Opaque,
    status::{Failure, Status},
    tensors::TensorPointer,
    workspace,
};

/// An argument that is not looked at.
type Any = usize;

/// Modes 0 to 2 (per activation, spatial, persistent) and operations 0 to 2 (alone, activated,
/// added and activated).
fn known(mode: u32, operation: u32) -> Result<(), Failure> {
    if mode <= 2 && operation <= 2 { Ok(()) } else { Err(Failure::BadParam) }
}

/// Whether the caller brought what it was told to bring.
fn enough(room: usize, needed: u64) -> Result<(), Failure> {
    if room as u64 >= needed { Ok(()) } else { Err(Failure::SizeInsufficient) }
}

exports! { Status;
    fn cudnnGetBatchNormalizationForwardTrainingExWorkspaceSize(
        handle: HandlePointer, mode: u32, operation: u32, x: TensorPointer, _z: Opaque<()>,
        y: TensorPointer, statistics: TensorPointer, _activation: Any, bytes: Out<usize>,
    ) {
        handle.check()?;
        known(mode, operation)?;
        x.check()?;
        y.check()?;
        Ok(bytes.put(workspace::batch_norm(&*statistics.get()?) as usize)?)
    }
    fn cudnnGetBatchNormalizationBackwardExWorkspaceSize(
        handle: HandlePointer, mode: u32, operation: u32, x: TensorPointer, _y: Any,
        dy: TensorPointer, _dz: Any, dx: TensorPointer, statistics: TensorPointer,
        _activation: Any, bytes: Out<usize>,
    ) {
        handle.check()?;
        known(mode, operation)?;
        x.check()?;
        dy.check()?;
        dx.check()?;
        Ok(bytes.put(workspace::batch_norm(&*statistics.get()?) as usize)?)
    }
    fn cudnnGetBatchNormalizationTrainingExReserveSpaceSize(
        handle: HandlePointer, mode: u32, operation: u32, _activation: Any, x: TensorPointer,
        bytes: Out<usize>,
    ) {
        handle.check()?;
        known(mode, operation)?;
        Ok(bytes.put(workspace::batch_norm_reserve(&*x.get()?, operation != 0) as usize)?)
    }

    fn cudnnBatchNormalizationForwardInference(
        handle: HandlePointer, mode: u32, _alpha: Any, _beta: Any, x: TensorPointer, _x_data: Any,
        y: TensorPointer, _y_data: Any, statistics: TensorPointer,
    ) {
        handle.check()?;
        known(mode, 0)?;
        x.check()?;
        y.check()?;
        statistics.check()
    }
    // Numbers behind a comma have registers of their own, so they do not count among the others.
    fn cudnnBatchNormalizationForwardTrainingEx(
        handle: HandlePointer, mode: u32, operation: u32, _alpha: Any, _beta: Any,
        x: TensorPointer, _x_data: Any, _z: Any, _z_data: Any, y: TensorPointer, _y_data: Any,
        statistics: TensorPointer, _scale: Any, _bias_data: Any, _average: f64, _mean: Any,
        _variance: Any, _epsilon: f64, _saved_mean: Any, _saved_variance: Any, _activation: Any,
        _workspace: Any, room: usize, _reserve: Any, kept: usize,
    ) {
        handle.check()?;
        known(mode, operation)?;
        y.check()?;
        enough(room, workspace::batch_norm(&*statistics.get()?))?;
        enough(kept, workspace::batch_norm_reserve(&*x.get()?, operation != 0))
    }
    fn cudnnBatchNormalizationBackwardEx(
        handle: HandlePointer, mode: u32, operation: u32, _alpha: Any, _beta: Any, _alpha2: Any,
        _beta2: Any, x: TensorPointer, _x_data: Any, _y: Any, _y_data: Any, dy: TensorPointer, _dy_data: Any,
        _dz: Any, _dz_data: Any, dx: TensorPointer, _dx_data: Any, statistics: TensorPointer,
        _scale: Any, _bias_data: Any, _dscale: Any, _dbias: Any, _epsilon: f64, _saved_mean: Any,
        _saved_variance: Any, _activation: Any, _workspace: Any, room: usize, _reserve: Any,
        kept: usize,
    ) {
        handle.check()?;
        known(mode, operation)?;
        dy.check()?;
        dx.check()?;
        enough(room, workspace::batch_norm(&*statistics.get()?))?;
        enough(kept, workspace::batch_norm_reserve(&*x.get()?, operation != 0))
    }
}
