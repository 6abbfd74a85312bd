//! How much memory cuDNN asks for: every figure of the library, and where it is from.
//!
//! NVIDIA documents how to ask for these sizes, and hardly any size. So there are three kinds of
//! source: *documented*; *seen*, which names what a real GPU printed and who published it; and
//! *assumed*, which is what the computation must keep at least. Real engines differ from device to
//! device and from release to release.

use crate::{
    driver::Device,
    shape::{Convolution, DataType, Pass, Shape},
};

/// Parts of a workspace begin on such a boundary. Assumed: what `cudaMalloc` guarantees.
const ALIGNMENT: u64 = 256;

/// How a convolution can be carried out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Method {
    /// A matrix product that unfolds the image on the fly.
    ImplicitGemm,
    /// The same with a table of indices made beforehand.
    PrecomputedGemm,
    /// The same on tensor cores, which want channels last.
    TensorCore,
    /// Transformed tiles, multiplied in a pass of their own.
    Winograd,
}

/// The bytes of workspace that a convolution takes.
pub(crate) fn convolution(method: Method, problem: &Convolution) -> u64 {
    match method {
        // Documented: `CUDNN_CONVOLUTION_FWD_ALGO_IMPLICIT_GEMM` needs no explicit storage. Seen:
        // 0 bytes in every published run of NVIDIA's mnistCUDNN. That backward passes have such a
        // method too (`ALGO_0`) is documented; that it takes nothing is assumed.
        Method::ImplicitGemm => 0,
        Method::PrecomputedGemm => indices(problem) + accumulator(problem),
        Method::TensorCore => rearranged(problem) + accumulator(problem),
        Method::Winograd => tiles(problem),
    }
}

/// One 32-bit index for each value that the filter reads.
///
/// Seen with cuDNN 8.0.5 on a device of compute capability 6.1 with 20 multiprocessors (the output
/// of mnistCUDNN in an installation guide, algorithm 1): 100 bytes for a filter of 1x5x5 in half
/// precision, 2,000 for 20x5x5 in either precision. The same run took 0 bytes for 1x5x5 in single
/// precision, and cuDNN 8.0.0 on a Jetson Nano 0 for all four, so this is the upper case. That
/// backward passes have the same table is assumed.
fn indices(problem: &Convolution) -> u64 {
    problem.w.dimensions[1..].iter().map(|&length| length as u64).product::<u64>() * 4
}

/// Gradients of 16-bit filters are summed in 32 bits before they are rounded.
///
/// Assumed: one copy. Kernels that split the sum over more blocks take one for each.
fn accumulator(problem: &Convolution) -> u64 {
    let summed = problem.pass == Pass::BackwardFilter && problem.w.kind.is_half();
    if summed { aligned(problem.w.elements() * 4) } else { 0 }
}

/// Copies with the channels last, of whatever does not have them there.
///
/// Documented: tensor cores want NHWC, and NCHW pays for "automatic transpose operations" (NVIDIA's
/// Convolutional Layers User's Guide, Tensor Layout). Seen: apache/mxnet#14684 has cuDNN's
/// `nhwcToNchwKernel` beside such a convolution in its trace. Assumed: their target is the
/// workspace, and each tensor is copied whole.
fn rearranged(problem: &Convolution) -> u64 {
    let tensors = [&problem.x, &problem.w, &problem.y];
    let moved = tensors.into_iter().filter(|tensor| !tensor.is_channels_last());
    moved.map(|tensor| aligned(tensor.bytes())).sum()
}

/// Tiles of 6x6 for each 4x4 of the response, in 32 bits, for image, filter and response.
///
/// Assumed from the published method, F(4x4, 3x3). It agrees with what sonots/cumo#502 saw on an
/// Ampere card: 32 images of 64 channels and 56x56 places reach the faster algorithm with 128 MB of
/// workspace and not with 64 MB; this says 116 MB. NVIDIA's own for filters of 5x5 are not offered.
fn tiles(problem: &Convolution) -> u64 {
    let length = |shape: &Shape, axis: usize| shape.dimensions[axis] as u64;
    let (x, w, y) = (&problem.x, &problem.w, &problem.y);
    let count = length(y, 0) * length(y, 2).div_ceil(4) * length(y, 3).div_ceil(4);
    let channels = length(x, 1) + length(w, 0);
    4 * 36 * (count * channels + length(x, 1) * length(w, 0))
}

/// Whether a device's tensor cores take this type.
///
/// Documented (cuDNN's support matrix): half since compute capability 7, bfloat16 and single
/// precision by way of TF32 since 8.
pub(crate) fn has_tensor_cores(device: Device, kind: DataType) -> bool {
    match kind {
        DataType::HALF => device.architecture >= 7,
        DataType::BFLOAT16 | DataType::FLOAT => device.architecture >= 8,
        _ => false,
    }
}

/// What batch normalization takes: sums over each channel and their squares, in 32 bits.
///
/// Assumed, for the forward and the backward pass. With cudnn-frontend's own batch normalization,
/// which PyTorch does not use, NCHW was seen to be transposed (NVIDIA/cudnn-frontend#134).
pub(crate) fn batch_norm(statistics: &Shape) -> u64 {
    2 * aligned(statistics.elements() * 4)
}

/// What batch normalization keeps for its backward pass, beyond the saved mean and variance.
///
/// Assumed: nothing, since the backward pass gets the input again; with an activation, one bit for
/// each element, which says where it was cut off.
pub(crate) fn batch_norm_reserve(x: &Shape, activated: bool) -> u64 {
    if activated { aligned(x.elements().div_ceil(8)) } else { 0 }
}

/// The states of dropout's random numbers.
///
/// Assumed: one state of 48 bytes (`curandState`) for each thread that the device can hold, 2,048
/// on a multiprocessor. Known: the size depends on the device (PyTorch's ATen/cudnn/Descriptors.h),
/// is a whole number of such states (there too), and "just a few MBs" (awslabs/raf#39).
pub(crate) fn dropout_states(device: Device) -> u64 {
    48 * 2048 * u64::try_from(device.multiprocessors).unwrap_or(0)
}

/// A connectionist temporal classification: batch, steps, symbols and the longest label.
///
/// Assumed: the buffers that an open implementation of the same algorithm takes
/// (baidu-research/warp-ctc, `get_workspace_size`).
pub(crate) fn ctc(batch: u64, steps: u64, symbols: u64, label: u64) -> u64 {
    let states = 2 * label + 1;
    let each = 6 + label + states + states * steps + steps + symbols * steps;
    aligned(4 * batch * each)
}

/// What a recurrent network takes: the geometry that all its sizes follow from.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Recurrence {
    /// How many matrices read the input of a step: 4 in an LSTM, 3 in a GRU.
    pub gates: u64,
    pub layers: u64,
    pub directions: u64,
    pub hidden: u64,
    pub steps: u64,
    pub batch: u64,
    /// All elements of all matrices, without biases.
    pub matrices: u64,
    /// The bytes of an element.
    pub element: u64,
    /// Whether outputs between layers are dropped at random.
    pub dropout: bool,
}

impl Recurrence {
    /// The values of one layer, all steps.
    fn plane(&self) -> u64 {
        self.steps * self.batch * self.hidden * self.directions
    }

    /// What is kept from the forward pass for the backward pass.
    ///
    /// Seen in 2017 on a P100 (pytorch/pytorch#2895): 736,000,000 bytes for an LSTM of
    /// four layers of 320, 864,000,000 for a GRU. Both are this formula for 25,000 steps times
    /// samples: an LSTM keeps four gates and the cell of every layer, a GRU six values, and both
    /// the output of every layer but the last. The thread shows neither the batch nor the steps;
    /// [`Self::workspace`] fits with a batch of 50.
    /// Assumed: plain networks keep one value; two directions keep both; dropout one bit for each
    /// value between layers (binary masks: soumith/cudnn.torch#182); and cuDNN 9 keeps the same.
    pub(crate) fn reserve(&self) -> u64 {
        let kept = match self.gates {
            4 => 5,
            3 => 6,
            _ => 1,
        };
        let between = self.layers - 1;
        let values = self.plane() * (kept * self.layers + between) * self.element;
        let mask = if self.dropout { (self.plane() * between).div_ceil(8) } else { 0 };
        aligned(values + mask)
    }

    /// What each call works in.
    ///
    /// Seen in the same thread: 17,730,560 bytes for the LSTM and 13,169,920 for the GRU. Both are
    /// a copy of the matrices, and for each layer and sample six values for each gate, less two.
    /// That the same holds for other geometries, and without training, is assumed.
    pub(crate) fn workspace(&self) -> u64 {
        let samples = self.layers * self.directions * self.batch * self.hidden;
        let elements = self.matrices + self.gates * 6 * samples - 2 * samples;
        aligned(elements * self.element)
    }
}

/// Fused attention's backward pass: the gradient of the queries in 32 bits, and a number for each
/// of their rows.
///
/// Assumed: cudnn-frontend allocates just these itself with the releases that ask it to.
pub(crate) fn attention_backward(queries: &Shape) -> u64 {
    let width = queries.dimensions.last().map_or(1, |&width| width.max(1) as u64);
    aligned(queries.elements() * 4) + aligned(queries.elements() / width * 4)
}

fn aligned(bytes: u64) -> u64 {
    bytes.next_multiple_of(ALIGNMENT)
}

#[cfg(test)]
mod tests;
