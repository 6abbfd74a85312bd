//! The numbered algorithms of the API before graphs.

use crate::{
    shape::{Convolution, Pass},
    status::Failure,
    workspace::{self, Method},
};

/// An algorithm by cuDNN's number, and how it works.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Algorithm {
    pub(crate) number: u32,
    method: Method,
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
    pub(crate) fn all(problem: &Convolution) -> Vec<Self> {
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
