//! Where each matrix and bias of a network lies in its weight space.
//!
//! The matrices come first, layer by layer, those of the input before those of the state before the
//! projection; then the biases in the same order. Seen for one layer in pytorch/pytorch#57632: the
//! weights of an LSTM lie at 0, 204800, 244800 and 245200. For more layers the order is assumed; it
//! is not observable but through these functions.

use whyoom_lab_abi::{Out, exports};

use crate::{
    handle::HandlePointer,
    rnn::{Network, NetworkPointer},
    shape::Shape,
    status::{Failure, Status},
    tensors::TensorPointer,
};

/// A matrix or a vector in the weight space, in elements.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Part {
    offset: i64,
    rows: i64,
    columns: i64,
}

impl Network {
    /// How wide the input of a layer is: the first reads the network's, others both directions of
    /// the layer below.
    fn width(&self, pseudo_layer: i64) -> i64 {
        let first = pseudo_layer < self.directions;
        if first { self.input } else { self.projected * self.directions }
    }

    /// The elements of a layer's matrices.
    fn layer_matrices(&self, pseudo_layer: i64) -> i64 {
        let steps = self.gates * self.hidden * (self.width(pseudo_layer) + self.projected);
        let projection = if self.has_projection() { self.projected * self.hidden } else { 0 };
        steps + projection
    }

    /// The elements of all matrices.
    pub(crate) fn matrices(&self) -> i64 {
        (0..self.pseudo_layers()).map(|layer| self.layer_matrices(layer)).sum()
    }

    /// The elements of all matrices and biases.
    pub(crate) fn weights(&self) -> i64 {
        self.matrices() + self.pseudo_layers() * self.layer_biases()
    }

    fn layer_biases(&self) -> i64 {
        self.biases * self.gates * self.hidden
    }

    /// A layer's matrix by its number: the gates for the input, then those for the state, then the
    /// projection. Nothing where the network has none.
    fn matrix(&self, pseudo_layer: i64, number: i64) -> Option<Part> {
        let before: i64 = (0..pseudo_layer).map(|layer| self.layer_matrices(layer)).sum();
        let width = self.width(pseudo_layer);
        let (input, state) = (self.hidden * width, self.hidden * self.projected);
        let (offset, rows, columns) = match number {
            _ if number < self.gates => (number * input, self.hidden, width),
            _ if number < 2 * self.gates => {
                (self.gates * input + (number - self.gates) * state, self.hidden, self.projected)
            }
            _ => (self.gates * (input + state), self.projected, self.hidden),
        };
        (rows * columns > 0).then_some(Part { offset: before + offset, rows, columns })
    }

    /// A layer's bias by the same numbers; the projection has none.
    fn bias(&self, pseudo_layer: i64, number: i64) -> Option<Part> {
        let side = number / self.gates;
        if side > 1 || self.biased & (1 << side) == 0 {
            return None;
        }
        // One that is alone comes first, whichever it is.
        let place = if self.biases == 2 { number } else { number % self.gates };
        let before = self.matrices() + pseudo_layer * self.layer_biases();
        Some(Part { offset: before + place * self.hidden, rows: self.hidden, columns: 1 })
    }
}

/// Tells where a part is. A caller that asks for neither description nor address asks for nothing.
fn tell(
    part: Option<Part>,
    network: &Network,
    weights: usize,
    description: TensorPointer,
    address: Out<usize>,
) -> Result<(), Failure> {
    let Some(Part { offset, rows, columns }) = part else {
        // Documented: a null address says that there is none.
        address.put_if_wanted(0);
        return Ok(());
    };
    if !description.is_null() {
        *description.get()? = Shape::packed(network.kind, vec![1, rows, columns])?;
    }
    address.put_if_wanted(weights + offset as usize * network.kind.bytes()? as usize);
    Ok(())
}

/// The network, which must have been set.
pub(crate) fn set(network: NetworkPointer) -> Result<Network, Failure> {
    let network = *network.get()?;
    if network.gates > 0 { Ok(network) } else { Err(Failure::BadParam) }
}

exports! { Status;
    fn cudnnGetRNNWeightSpaceSize(
        handle: HandlePointer, network: NetworkPointer, bytes: Out<usize>,
    ) {
        handle.check()?;
        let network = set(network)?;
        Ok(bytes.put(network.weights() as usize * network.kind.bytes()? as usize)?)
    }
    fn cudnnGetRNNWeightParams(
        handle: HandlePointer, network: NetworkPointer, pseudo_layer: i32, room: usize,
        weights: usize, number: i32, matrix: TensorPointer, matrix_address: Out<usize>,
        bias: TensorPointer, bias_address: Out<usize>,
    ) {
        handle.check()?;
        let network = set(network)?;
        let (layer, number) = (i64::from(pseudo_layer), i64::from(number));
        let most = 2 * network.gates + i64::from(network.has_projection());
        if !(0..network.pseudo_layers()).contains(&layer) || !(0..most).contains(&number) {
            return Err(Failure::BadParam);
        }
        if room < network.weights() as usize * network.kind.bytes()? as usize {
            return Err(Failure::SizeInsufficient);
        }
        tell(network.matrix(layer, number), &network, weights, matrix, matrix_address)?;
        tell(network.bias(layer, number), &network, weights, bias, bias_address)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::shape::DataType;

    fn lstm(layers: i64, directions: i64, projected: i64) -> Network {
        Network {
            gates: 4,
            biases: 2,
            biased: 3,
            directions,
            kind: DataType::FLOAT,
            input: 512,
            hidden: 100,
            projected,
            layers,
            dropout: false,
        }
    }

    #[test]
    fn one_layer_lies_as_pytorch_printed_it() {
        let network = lstm(1, 1, 100);
        let offset = |part: Option<Part>| part.expect("a part").offset;
        assert_eq!(network.weights(), 245_600);
        assert_eq!(offset(network.matrix(0, 0)), 0);
        assert_eq!(offset(network.matrix(0, 4)), 204_800);
        assert_eq!(offset(network.bias(0, 0)), 244_800);
        assert_eq!(offset(network.bias(0, 4)), 245_200);
    }

    #[test]
    fn parts_fill_the_space_without_overlap() {
        for network in [lstm(3, 2, 100), lstm(2, 2, 40), lstm(1, 1, 40)] {
            let mut parts = Vec::new();
            for layer in 0..network.pseudo_layers() {
                let numbers = 2 * 4 + i64::from(network.has_projection());
                for number in 0..numbers {
                    parts.extend(network.matrix(layer, number));
                    parts.extend(network.bias(layer, number));
                }
            }
            parts.sort_by_key(|part| part.offset);
            let mut end = 0;
            for part in parts {
                assert_eq!(part.offset, end);
                end += part.rows * part.columns;
            }
            assert_eq!(end, network.weights());
        }
    }
}
