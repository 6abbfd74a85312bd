//! Recurrent networks: their descriptors, and those of their data.

use whyoom_lab_abi::{In, exports};

use crate::{
    dropout::DropoutPointer,
    object::{Opaque, lifetimes},
    shape::DataType,
    status::{Failure, Status},
};

/// What stands behind a network's descriptor.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Network {
    /// Matrices that read the input of a step: 1, 4 for an LSTM, 3 for a GRU; 0 until it is set.
    pub gates: i64,
    /// Vectors that are added for each gate: 0, 1, or 2 (one for the input, one for the state).
    pub biases: i64,
    /// Bit 0: there is one for the input. Bit 1: there is one for the state.
    pub biased: u32,
    pub directions: i64,
    pub kind: DataType,
    pub input: i64,
    pub hidden: i64,
    /// What a step gives on: as wide as `hidden` without a projection.
    pub projected: i64,
    pub layers: i64,
    pub dropout: bool,
}

impl Network {
    /// Whether there is a matrix that narrows what a step gives on.
    pub(crate) fn has_projection(&self) -> bool {
        self.projected != self.hidden
    }

    /// Layers, each direction counted.
    pub(crate) fn pseudo_layers(&self) -> i64 {
        self.layers * self.directions
    }
}

/// A network's descriptor.
pub(crate) type NetworkPointer = Opaque<Network>;

/// What stands behind a descriptor of sequences.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Sequences {
    pub steps: i64,
    pub batch: i64,
    pub width: i64,
}

/// A descriptor of sequences.
pub(crate) type SequencesPointer = Opaque<Sequences>;

/// Makes and ends them.
pub(crate) mod lifetime {
    use super::{Network, Sequences};
    super::lifetimes! {
        Network: cudnnCreateRNNDescriptor cudnnDestroyRNNDescriptor;
        Sequences: cudnnCreateRNNDataDescriptor cudnnDestroyRNNDataDescriptor;
    }
}

/// Gates by cell mode: plain with ReLU, plain with tanh, LSTM, GRU.
fn gates(mode: u32) -> Result<i64, Failure> {
    [1, 1, 4, 3].get(mode as usize).copied().ok_or(Failure::BadParam)
}

/// How many biases a gate has, and which: none, of the input, both, of the state.
fn biases(mode: u32) -> Result<(i64, u32), Failure> {
    [(0, 0), (1, 1), (2, 3), (1, 2)].get(mode as usize).copied().ok_or(Failure::BadParam)
}

exports! { Status;
    fn cudnnSetRNNDescriptor_v8(
        network: NetworkPointer, algorithm: u32, cell: u32, bias: u32, direction: u32, input_mode: u32,
        kind: u32, precision: u32, math: u32, input: i32, hidden: i32, projected: i32,
        layers: i32, dropout: DropoutPointer, flags: u32,
    ) {
        let mut network = network.get()?;
        let modes = algorithm <= 3 && direction <= 1 && input_mode <= 1 && math <= 3 && flags <= 1;
        let lengths = [input, hidden, projected, layers].iter().all(|&length| length > 0);
        DataType(precision).bytes()?;
        let kind = DataType(kind);
        let known = kind.is_half() || kind == DataType::FLOAT || kind == DataType::DOUBLE;
        // Documented: a projection narrows, and only an LSTM has one.
        let projects = projected == hidden || (projected < hidden && cell == 2);
        if !modes || !lengths || !known || !projects {
            return Err(Failure::BadParam);
        }
        if input_mode == 1 && input != hidden {
            return Err(Failure::BadParam);
        }
        let (biases, biased) = biases(bias)?;
        let dropout = !dropout.is_null() && dropout.get()?.probability > 0.0;
        *network = Network {
            gates: gates(cell)?, biases, biased, directions: i64::from(direction) + 1, kind,
            // The input is added as it is: there is no matrix for it.
            input: if input_mode == 1 { 0 } else { input.into() },
            hidden: hidden.into(), projected: projected.into(), layers: layers.into(), dropout,
        };
        Ok(())
    }
    fn cudnnSetRNNDataDescriptor(
        sequences: SequencesPointer, kind: u32, layout: u32, steps: i32, batch: i32, width: i32,
        lengths: In<i32>, _fill: usize,
    ) {
        let mut sequences = sequences.get()?;
        DataType(kind).bytes()?;
        if layout > 2 || steps < 1 || batch < 1 || width < 1 {
            return Err(Failure::BadParam);
        }
        let lengths = lengths.list(batch as usize)?;
        if lengths.iter().any(|length| !(0..=steps).contains(length)) {
            return Err(Failure::BadParam);
        }
        *sequences = Sequences { steps: steps.into(), batch: batch.into(), width: width.into() };
        Ok(())
    }
}
