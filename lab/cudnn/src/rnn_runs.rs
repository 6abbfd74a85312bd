//! Running a recurrent network: how much it takes, and the three calls.

use whyoom_lab_abi::{Out, exports};

use crate::{
    handle::HandlePointer,
    rnn::{Network, NetworkPointer, Sequences, SequencesPointer},
    rnn_weights::set,
    status::{Failure, Status},
    workspace::Recurrence,
};

/// An argument that is not looked at.
type Any = usize;

/// `CUDNN_FWD_MODE_TRAINING`.
const TRAINING: u32 = 1;

/// The geometry that sizes follow from. Documented: of the data, only the number of steps and of
/// samples counts, so that packed sequences take as much as padded ones.
fn recurrence(network: &Network, data: &Sequences) -> Result<Recurrence, Failure> {
    if data.steps < 1 {
        return Err(Failure::BadParam);
    }
    let count = |number: i64| number as u64;
    Ok(Recurrence {
        gates: count(network.gates),
        layers: count(network.layers),
        directions: count(network.directions),
        hidden: count(network.hidden),
        steps: count(data.steps),
        batch: count(data.batch),
        matrices: count(network.matrices()),
        element: network.kind.bytes()?,
        dropout: network.dropout,
    })
}

/// Whether the caller brought what it was told to bring.
fn enough(
    network: NetworkPointer,
    data: SequencesPointer,
    [weights, work, kept]: [usize; 3],
    mode: u32,
) -> Result<(), Failure> {
    let network = set(network)?;
    let recurrence = recurrence(&network, &*data.get()?)?;
    let reserve = if mode == TRAINING { recurrence.reserve() } else { 0 };
    let parameters = network.weights() as u64 * recurrence.element;
    let given = [weights, work, kept].map(|bytes| bytes as u64);
    let needed = [parameters, recurrence.workspace(), reserve];
    let fits = given.iter().zip(needed).all(|(&given, needed)| given >= needed);
    if fits { Ok(()) } else { Err(Failure::SizeInsufficient) }
}

/// Whether inputs are as wide as the network expects.
fn fits(network: NetworkPointer, x: SequencesPointer) -> Result<(), Failure> {
    let (network, x) = (set(network)?, *x.get()?);
    let wide = network.input == 0 || x.width == network.input;
    if wide { Ok(()) } else { Err(Failure::BadParam) }
}

exports! { Status;
    fn cudnnGetRNNTempSpaceSizes(
        handle: HandlePointer, network: NetworkPointer, mode: u32, x: SequencesPointer,
        work: Out<usize>, kept: Out<usize>,
    ) {
        handle.check()?;
        let recurrence = recurrence(&set(network)?, &*x.get()?)?;
        work.put(recurrence.workspace() as usize)?;
        // Documented: nothing is kept without training.
        let reserve = if mode == TRAINING { recurrence.reserve() } else { 0 };
        kept.put_if_wanted(reserve as usize);
        Ok(())
    }
    fn cudnnRNNForward(
        handle: HandlePointer, network: NetworkPointer, mode: u32, _lengths: Any,
        x: SequencesPointer, _x_data: Any, y: SequencesPointer, _y_data: Any, _h: Any, _hx: Any, _hy: Any,
        _c: Any, _cx: Any, _cy: Any, weights: usize, _weight_data: Any, work: usize, _work_data: Any,
        kept: usize,
    ) {
        handle.check()?;
        y.check()?;
        fits(network, x)?;
        enough(network, x, [weights, work, kept], mode)
    }
    fn cudnnRNNBackwardData_v8(
        handle: HandlePointer, network: NetworkPointer, _lengths: Any, y: SequencesPointer,
        _y_data: Any, _dy_data: Any, x: SequencesPointer, _dx_data: Any, _h: Any, _hx: Any, _dhy: Any, _dhx: Any,
        _c: Any, _cx: Any, _dcy: Any, _dcx: Any, weights: usize, _weight_data: Any, work: usize,
        _work_data: Any, kept: usize,
    ) {
        handle.check()?;
        y.check()?;
        fits(network, x)?;
        enough(network, x, [weights, work, kept], TRAINING)
    }
    fn cudnnRNNBackwardWeights_v8(
        handle: HandlePointer, network: NetworkPointer, _add: u32, _lengths: Any,
        x: SequencesPointer, _x_data: Any, _h: Any, _hx: Any, y: SequencesPointer, _y_data: Any,
        weights: usize, _weight_data: Any, work: usize, _work_data: Any, kept: usize,
    ) {
        handle.check()?;
        y.check()?;
        fits(network, x)?;
        enough(network, x, [weights, work, kept], TRAINING)
    }
}
