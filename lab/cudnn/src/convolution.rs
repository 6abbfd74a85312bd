//! Convolutions of the API before graphs: descriptors, sizes, and the calls themselves.

use whyoom_lab_abi::{In, Out, exports};

use crate::{
    algorithms::Algorithm,
    handle::HandlePointer,
    images::Activation,
    object::{Opaque, lifetimes},
    shape::{Convolution, Motion, Pass},
    status::{Failure, Status},
    tensors::{FilterPointer, TensorPointer, integers},
};

/// What stands behind a convolution descriptor.
#[derive(Clone, Debug, Default)]
pub(crate) struct Settings {
    motion: Motion,
    groups: i32,
    math: u32,
}

/// A convolution descriptor.
pub(crate) type ConvolutionPointer = Opaque<Settings>;

/// Makes and ends them.
pub(crate) mod lifetime {
    super::lifetimes! {
        super::Settings: cudnnCreateConvolutionDescriptor cudnnDestroyConvolutionDescriptor;
    }
}

/// The convolution that descriptors describe.
pub(crate) fn described(
    pass: Pass,
    x: TensorPointer,
    w: FilterPointer,
    y: TensorPointer,
    settings: ConvolutionPointer,
) -> Result<Convolution, Failure> {
    let (x, w, y) = (x.get()?.clone(), w.get()?.shape.clone(), y.get()?.clone());
    let problem = Convolution { pass, x, w, y, motion: settings.get()?.motion.clone() };
    problem.check()?;
    Ok(problem)
}

/// Whether the caller brought enough workspace for an algorithm.
fn enough(problem: &Convolution, algorithm: u32, room: usize) -> Result<(), Failure> {
    let needed = Algorithm::of(problem, algorithm)?.bytes(problem);
    if room as u64 >= needed { Ok(()) } else { Err(Failure::SizeInsufficient) }
}

exports! { Status;
    fn cudnnSetConvolutionNdDescriptor(
        settings: ConvolutionPointer, count: i32, padding: In<i32>, strides: In<i32>,
        dilations: In<i32>, mode: u32, kind: u32,
    ) {
        let mut settings = settings.get()?;
        let list = |numbers| integers(numbers, count);
        let (padding, strides, dilations) = (list(padding)?, list(strides)?, list(dilations)?);
        let moves = strides.iter().chain(&dilations).all(|&number| number > 0);
        if mode > 1 || !moves || padding.iter().any(|&number| number < 0) {
            return Err(Failure::BadParam);
        }
        crate::shape::DataType(kind).bytes()?;
        let before = padding.clone();
        let motion = Motion { before, after: padding, strides, dilations };
        *settings = Settings { motion, groups: 1, math: 0 };
        Ok(())
    }
    fn cudnnSetConvolutionGroupCount(settings: ConvolutionPointer, groups: i32) {
        if groups < 1 {
            return Err(Failure::BadParam);
        }
        settings.get()?.groups = groups;
        Ok(())
    }
    fn cudnnSetConvolutionMathType(settings: ConvolutionPointer, math: u32) {
        if math > 3 {
            return Err(Failure::BadParam);
        }
        settings.get()?.math = math;
        Ok(())
    }

    fn cudnnGetConvolutionForwardWorkspaceSize(
        handle: HandlePointer, x: TensorPointer, w: FilterPointer, settings: ConvolutionPointer,
        y: TensorPointer, algorithm: u32, bytes: Out<usize>,
    ) {
        handle.check()?;
        let problem = described(Pass::Forward, x, w, y, settings)?;
        Ok(bytes.put(Algorithm::of(&problem, algorithm)?.bytes(&problem) as usize)?)
    }
    fn cudnnGetConvolutionBackwardDataWorkspaceSize(
        handle: HandlePointer, w: FilterPointer, dy: TensorPointer, settings: ConvolutionPointer,
        dx: TensorPointer, algorithm: u32, bytes: Out<usize>,
    ) {
        handle.check()?;
        let problem = described(Pass::BackwardData, dx, w, dy, settings)?;
        Ok(bytes.put(Algorithm::of(&problem, algorithm)?.bytes(&problem) as usize)?)
    }
    fn cudnnGetConvolutionBackwardFilterWorkspaceSize(
        handle: HandlePointer, x: TensorPointer, dy: TensorPointer, settings: ConvolutionPointer,
        dw: FilterPointer, algorithm: u32, bytes: Out<usize>,
    ) {
        handle.check()?;
        let problem = described(Pass::BackwardFilter, x, dw, dy, settings)?;
        Ok(bytes.put(Algorithm::of(&problem, algorithm)?.bytes(&problem) as usize)?)
    }

    fn cudnnConvolutionForward(
        handle: HandlePointer, _alpha: usize, x: TensorPointer, _x_data: usize, w: FilterPointer,
        _w_data: usize, settings: ConvolutionPointer, algorithm: u32, _workspace: usize, room: usize,
        _beta: usize, y: TensorPointer,
    ) {
        handle.check()?;
        enough(&described(Pass::Forward, x, w, y, settings)?, algorithm, room)
    }
    fn cudnnConvolutionBackwardData(
        handle: HandlePointer, _alpha: usize, w: FilterPointer, _w_data: usize, dy: TensorPointer,
        _dy_data: usize, settings: ConvolutionPointer, algorithm: u32, _workspace: usize, room: usize,
        _beta: usize, dx: TensorPointer,
    ) {
        handle.check()?;
        enough(&described(Pass::BackwardData, dx, w, dy, settings)?, algorithm, room)
    }
    fn cudnnConvolutionBackwardFilter(
        handle: HandlePointer, _alpha: usize, x: TensorPointer, _x_data: usize, dy: TensorPointer,
        _dy_data: usize, settings: ConvolutionPointer, algorithm: u32, _workspace: usize, room: usize,
        _beta: usize, dw: FilterPointer,
    ) {
        handle.check()?;
        enough(&described(Pass::BackwardFilter, x, dw, dy, settings)?, algorithm, room)
    }
    fn cudnnConvolutionBiasActivationForward(
        handle: HandlePointer, _alpha1: usize, x: TensorPointer, _x_data: usize, w: FilterPointer,
        _w_data: usize, settings: ConvolutionPointer, algorithm: u32, _workspace: usize, room: usize,
        _alpha2: usize, _z: TensorPointer, _z_data: usize, bias: TensorPointer, _bias_data: usize,
        activation: Opaque<Activation>, y: TensorPointer,
    ) {
        handle.check()?;
        bias.check()?;
        activation.get()?.check()?;
        enough(&described(Pass::Forward, x, w, y, settings)?, algorithm, room)
    }
}
