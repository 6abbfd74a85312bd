//! Which of the numbered algorithms are proposed for a convolution.

use whyoom_lab_abi::{Out, exports};

use crate::{
    algorithms::Algorithm,
    convolution::{ConvolutionPointer, described},
    handle::HandlePointer,
    shape::{Convolution, Pass},
    status::{Failure, Status},
    tensors::{FilterPointer, TensorPointer},
    workspace,
};

/// A convolution, and whether its device has tensor cores for it.
struct Problem {
    problem: Convolution,
    tensor_cores: bool,
}

/// What cuDNN says about an algorithm: one layout for all three passes.
#[derive(Clone, Copy, Debug, Default)]
#[repr(C)]
pub(crate) struct Performance {
    algorithm: u32,
    status: u32,
    milliseconds: f32,
    memory: usize,
    determinism: u32,
    math: u32,
    reserved: [i32; 3],
}

/// The problem with what its engines are chosen by.
fn posed(handle: HandlePointer, problem: Convolution) -> Result<Problem, Failure> {
    let device = handle.device()?;
    let tensor_cores = workspace::has_tensor_cores(device, problem.x.kind);
    Ok(Problem { problem, tensor_cores })
}

/// Proposes as many algorithms as are wanted. `limit` is the workspace that the caller brings.
fn propose(
    posed: &Problem,
    wanted: i32,
    returned: Out<i32>,
    results: Out<Performance>,
    limit: Option<usize>,
) -> Result<(), Failure> {
    let Problem { problem, tensor_cores } = posed;
    if wanted < 1 {
        return Err(Failure::BadParam);
    }
    let all = Algorithm::all(problem).into_iter().map(|algorithm| Performance {
        algorithm: algorithm.number,
        status: 0,
        // Documented: -1 where nothing was measured.
        milliseconds: if limit.is_some() { 0.0 } else { -1.0 },
        memory: algorithm.bytes(problem) as usize,
        determinism: 1,
        math: u32::from(*tensor_cores),
        reserved: [0; 3],
    });
    let fitting: Vec<_> =
        all.filter(|found| limit.is_none_or(|room| found.memory <= room)).collect();
    let count = fitting.len().min(wanted as usize);
    results.put_all(fitting.into_iter().take(count))?;
    Ok(returned.put(count as i32)?)
}

exports! { Status;
    fn cudnnGetConvolutionForwardAlgorithm_v7(
        handle: HandlePointer, x: TensorPointer, w: FilterPointer, settings: ConvolutionPointer,
        y: TensorPointer, wanted: i32, returned: Out<i32>, results: Out<Performance>,
    ) {
        let posed = posed(handle, described(Pass::Forward, x, w, y, settings)?)?;
        propose(&posed, wanted, returned, results, None)
    }
    fn cudnnGetConvolutionBackwardDataAlgorithm_v7(
        handle: HandlePointer, w: FilterPointer, dy: TensorPointer, settings: ConvolutionPointer,
        dx: TensorPointer, wanted: i32, returned: Out<i32>, results: Out<Performance>,
    ) {
        let posed = posed(handle, described(Pass::BackwardData, dx, w, dy, settings)?)?;
        propose(&posed, wanted, returned, results, None)
    }
    fn cudnnGetConvolutionBackwardFilterAlgorithm_v7(
        handle: HandlePointer, x: TensorPointer, dy: TensorPointer, settings: ConvolutionPointer,
        dw: FilterPointer, wanted: i32, returned: Out<i32>, results: Out<Performance>,
    ) {
        let posed = posed(handle, described(Pass::BackwardFilter, x, dw, dy, settings)?)?;
        propose(&posed, wanted, returned, results, None)
    }

    fn cudnnFindConvolutionForwardAlgorithmEx(
        handle: HandlePointer, x: TensorPointer, _x_data: usize, w: FilterPointer, _w_data: usize,
        settings: ConvolutionPointer, y: TensorPointer, _y_data: usize, wanted: i32, returned: Out<i32>,
        results: Out<Performance>, _workspace: usize, room: usize,
    ) {
        let posed = posed(handle, described(Pass::Forward, x, w, y, settings)?)?;
        propose(&posed, wanted, returned, results, Some(room))
    }
    fn cudnnFindConvolutionBackwardDataAlgorithmEx(
        handle: HandlePointer, w: FilterPointer, _w_data: usize, dy: TensorPointer, _dy_data: usize,
        settings: ConvolutionPointer, dx: TensorPointer, _dx_data: usize, wanted: i32,
        returned: Out<i32>, results: Out<Performance>, _workspace: usize, room: usize,
    ) {
        let posed = posed(handle, described(Pass::BackwardData, dx, w, dy, settings)?)?;
        propose(&posed, wanted, returned, results, Some(room))
    }
    fn cudnnFindConvolutionBackwardFilterAlgorithmEx(
        handle: HandlePointer, x: TensorPointer, _x_data: usize, dy: TensorPointer, _dy_data: usize,
        settings: ConvolutionPointer, dw: FilterPointer, _dw_data: usize, wanted: i32,
        returned: Out<i32>, results: Out<Performance>, _workspace: usize, room: usize,
    ) {
        let posed = posed(handle, described(Pass::BackwardFilter, x, dw, dy, settings)?)?;
        propose(&posed, wanted, returned, results, Some(room))
    }
}
