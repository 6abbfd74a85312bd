//! The numbered algorithms of the API before graphs, and which are proposed.

use whyoom_lab_abi::{Out, exports};

use crate::{
    convolution::{ConvolutionPointer, described, posed},
    handle::HandlePointer,
    shape::{Convolution, Pass},
    status::{Failure, Status},
    tensors::{FilterPointer, TensorPointer},
    workspace::{self, Method},
};

/// An algorithm by cuDNN's number, and how it works.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Algorithm {
    number: u32,
    method: Method,
}

/// A convolution, and whether its device has tensor cores for it.
pub(crate) struct Problem {
    pub problem: Convolution,
    pub tensor_cores: bool,
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

const fn algorithm(number: u32, method: Method) -> Algorithm {
    Algorithm { number, method }
}

/// `IMPLICIT_PRECOMP_GEMM` before `IMPLICIT_GEMM`.
const FORWARD: &[Algorithm] =
    &[algorithm(1, Method::PrecomputedGemm), algorithm(0, Method::ImplicitGemm)];
/// `ALGO_1` before `ALGO_0`, in both backward passes.
const BACKWARD: &[Algorithm] = FORWARD;
/// `WINOGRAD_NONFUSED`.
const FORWARD_WINOGRAD: Algorithm = algorithm(7, Method::Winograd);
const DATA_WINOGRAD: Algorithm = algorithm(5, Method::Winograd);

/// Whether a convolution is one that tiles can do: filters of 3x3 that move by one.
pub(crate) fn suits_winograd(problem: &Convolution) -> bool {
    let ones = |numbers: &[i64]| numbers.iter().all(|&number| number == 1);
    problem.w.dimensions.get(2..) == Some(&[3, 3])
        && ones(&problem.motion.strides)
        && ones(&problem.motion.dilations)
        && problem.groups() == 1
        && problem.pass != Pass::BackwardFilter
}

impl Algorithm {
    /// Those that can do it, the first first.
    fn all(problem: &Convolution) -> Vec<Self> {
        let known = if problem.pass == Pass::Forward { FORWARD } else { BACKWARD };
        let tiled = match problem.pass {
            Pass::Forward => Some(FORWARD_WINOGRAD),
            Pass::BackwardData => Some(DATA_WINOGRAD),
            Pass::BackwardFilter => None,
        };
        let tiled = tiled.filter(|_| suits_winograd(problem));
        known.iter().copied().chain(tiled).collect()
    }

    /// The algorithm of a number; the lab has no others.
    pub(crate) fn of(problem: &Convolution, number: u32) -> Result<Self, Failure> {
        let found = Self::all(problem).into_iter().find(|known| known.number == number);
        found.ok_or(Failure::NotSupported)
    }

    /// The workspace that it takes.
    pub(crate) fn bytes(self, problem: &Convolution) -> u64 {
        workspace::convolution(self.method, problem)
    }
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
