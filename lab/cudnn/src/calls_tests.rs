//! The functions before the graph API, as PyTorch calls them.

use std::ptr;

use whyoom_lab_abi::{In, Out};

use crate::{
    batch_norm::*, convolution::*, ctc::*, dropout::*, handle::HandlePointer, images::*,
    object::Opaque, proposals::*, rnn::*, rnn_runs::*, rnn_weights::*, shape::Shape,
    status::Status, tensors::*,
};

const OK: Status = Status(0);
const FLOAT: u32 = 0;

/// A descriptor made by one of the functions that make them.
fn made<T>(create: extern "C" fn(Out<Opaque<T>>) -> Status) -> Opaque<T> {
    let mut place = Opaque::null();
    assert_eq!(create(Out(&mut place)), OK);
    place
}

fn tensor(dimensions: &[i32]) -> TensorPointer {
    let made = made::<Shape>(lifetimes::cudnnCreateTensorDescriptor);
    let strides: Vec<i32> =
        (0..dimensions.len()).map(|place| dimensions[place + 1..].iter().product()).collect();
    let (count, dimensions) = (dimensions.len() as i32, In(dimensions.as_ptr()));
    let strides = In(strides.as_ptr());
    assert_eq!(cudnnSetTensorNdDescriptor(made, FLOAT, count, dimensions, strides), OK);
    made
}

fn filter(dimensions: [i32; 4]) -> FilterPointer {
    let made = made::<Filter>(lifetimes::cudnnCreateFilterDescriptor);
    assert_eq!(cudnnSetFilterNdDescriptor(made, FLOAT, 0, 4, In(dimensions.as_ptr())), OK);
    made
}

/// An LSTM of two layers in both directions, from 32 to 64.
fn lstm() -> NetworkPointer {
    let dropout = made::<Dropout>(crate::dropout::lifetime::cudnnCreateDropoutDescriptor);
    let handle = HandlePointer::without_driver();
    assert_eq!(cudnnSetDropoutDescriptor(dropout, handle, 0.0, 0, 0, 0), OK);
    let made = made::<Network>(crate::rnn::lifetime::cudnnCreateRNNDescriptor);
    let set = |projected| {
        cudnnSetRNNDescriptor_v8(
            made, 0, 2, 2, 1, 0, FLOAT, FLOAT, 0, 32, 64, projected, 2, dropout, 0,
        )
    };
    assert_eq!(set(65), Status(2000), "a projection narrows");
    assert_eq!(set(64), OK);
    made
}

fn sequences(steps: i32, batch: i32, width: i32) -> SequencesPointer {
    let made = made::<Sequences>(crate::rnn::lifetime::cudnnCreateRNNDataDescriptor);
    let lengths = vec![steps; batch as usize];
    let lengths = In(lengths.as_ptr());
    assert_eq!(cudnnSetRNNDataDescriptor(made, FLOAT, 0, steps, batch, width, lengths, 0), OK);
    made
}

#[test]
fn recurrent_networks_say_where_their_weights_are() {
    let (handle, network) = (HandlePointer::without_driver(), lstm());
    let mut bytes = 0;
    assert_eq!(cudnnGetRNNWeightSpaceSize(handle, network, Out(&mut bytes)), OK);
    let elements = 2 * 4 * 64 * (32 + 64 + 2) + 2 * 4 * 64 * (128 + 64 + 2);
    assert_eq!(bytes, elements * 4);
    let (matrix, bias) = (tensor(&[1]), tensor(&[1]));
    let (mut at, mut bias_at) = (0, 0);
    let mut ask = |layer, number, room| {
        let (at, bias_at) = (Out(&mut at), Out(&mut bias_at));
        cudnnGetRNNWeightParams(
            handle, network, layer, room, 4096, number, matrix, at, bias, bias_at,
        )
    };
    assert_eq!(ask(4, 0, bytes), Status(2000));
    assert_eq!(ask(0, 8, bytes), Status(2000), "there is no projection");
    assert_eq!(ask(0, 0, bytes - 1), Status(2006));
    assert_eq!(ask(2, 4, bytes), OK);
    let before = 2 * 4 * 64 * (32 + 64) + 4 * 64 * 128;
    assert_eq!(at, 4096 + 4 * before);
    assert_eq!(matrix.get().expect("a tensor").dimensions, [1, 64, 64]);
    assert_eq!(bias.get().expect("a tensor").dimensions, [1, 64, 1]);
    assert!(bias_at > at);
}

#[test]
fn recurrent_networks_want_what_they_said() {
    let (handle, network) = (HandlePointer::without_driver(), lstm());
    let (x, y) = (sequences(10, 4, 32), sequences(10, 4, 128));
    let (mut work, mut kept, mut weights) = (0, 0, 0);
    assert_eq!(cudnnGetRNNWeightSpaceSize(handle, network, Out(&mut weights)), OK);
    let mut sizes = |mode| {
        let places = (Out(&mut work), Out(&mut kept));
        assert_eq!(cudnnGetRNNTempSpaceSizes(handle, network, mode, x, places.0, places.1), OK);
        (work, kept)
    };
    assert_eq!(sizes(0).1, 0, "nothing is kept without training");
    let (work, kept) = sizes(1);
    assert_eq!(kept, 10 * 4 * 64 * 2 * (5 * 2 + 1) * 4);
    let forward = |x, kept| {
        cudnnRNNForward(
            handle, network, 1, 0, x, 0, y, 0, 0, 0, 0, 0, 0, 0, weights, 0, work, 0, kept,
        )
    };
    assert_eq!(forward(x, kept), OK);
    assert_eq!(forward(x, kept - 1), Status(2006));
    assert_eq!(forward(sequences(10, 4, 33), kept), Status(2000), "the input is 32 wide");
}

#[test]
fn convolutions_propose_what_fits() {
    let handle = HandlePointer::without_driver();
    let settings = made::<Settings>(crate::convolution::lifetime::cudnnCreateConvolutionDescriptor);
    let (pads, ones) = (In([1, 1].as_ptr()), In([1, 1].as_ptr()));
    assert_eq!(cudnnSetConvolutionNdDescriptor(settings, 2, pads, ones, ones, 1, FLOAT), OK);
    let (x, w, y) = (tensor(&[4, 16, 8, 8]), filter([32, 16, 3, 3]), tensor(&[4, 32, 8, 8]));
    let mut count = 0;
    let mut results = [Performance::default(); 4];
    let place = Out(results.as_mut_ptr());
    let found = cudnnGetConvolutionForwardAlgorithm_v7(
        handle,
        x,
        w,
        settings,
        y,
        4,
        Out(&mut count),
        place,
    );
    assert_eq!((found, count), (OK, 3));
    let find = |room, count| {
        cudnnFindConvolutionForwardAlgorithmEx(
            handle, x, 0, w, 0, settings, y, 0, 4, count, place, 0, room,
        )
    };
    assert_eq!(find(0, Out(&mut count)), OK);
    assert_eq!(count, 1, "without workspace there is one");
    let mut bytes = 0;
    let size = |algorithm, bytes| {
        cudnnGetConvolutionForwardWorkspaceSize(handle, x, w, settings, y, algorithm, bytes)
    };
    assert_eq!(size(1, Out(&mut bytes)), OK);
    assert_eq!(bytes, 16 * 9 * 4);
    assert_eq!(size(4, Out(&mut bytes)), Status(3000), "there is no FFT");
    let run = |room| cudnnConvolutionForward(handle, 0, x, 0, w, 0, settings, 1, 0, room, 0, y);
    assert_eq!((run(bytes), run(bytes - 1)), (OK, Status(2006)));
    let narrow = tensor(&[4, 31, 8, 8]);
    let wrong =
        cudnnGetConvolutionForwardWorkspaceSize(handle, x, w, settings, narrow, 1, Out(&mut bytes));
    assert_eq!(wrong, Status(2008));
}

#[test]
fn the_rest_asks_for_what_the_table_says() {
    let handle = HandlePointer::without_driver();
    let (x, statistics) = (tensor(&[8, 64, 16, 16]), tensor(&[1, 64, 1, 1]));
    let mut bytes = 1;
    let reserve = |operation, bytes| {
        cudnnGetBatchNormalizationTrainingExReserveSpaceSize(handle, 2, operation, 0, x, bytes)
    };
    assert_eq!(reserve(0, Out(&mut bytes)), OK);
    assert_eq!(bytes, 0);
    assert_eq!(reserve(1, Out(&mut bytes)), OK);
    assert_eq!(bytes, 8 * 64 * 16 * 16 / 8);
    let workspace = cudnnGetBatchNormalizationForwardTrainingExWorkspaceSize(
        handle,
        2,
        0,
        x,
        Opaque::null(),
        x,
        statistics,
        0,
        Out(&mut bytes),
    );
    assert_eq!((workspace, bytes), (OK, 2 * 64 * 4));
    assert_eq!(cudnnDropoutGetStatesSize(handle, Out(&mut bytes)), OK);
    assert_eq!(bytes, 48 * 2048 * 108);
    let missing = HandlePointer::missing();
    assert_eq!(cudnnDropoutGetStatesSize(missing, Out(ptr::null_mut())), Status(1001));

    let loss = made::<Loss>(crate::ctc::lifetime::cudnnCreateCTCLossDescriptor);
    assert_eq!(cudnnSetCTCLossDescriptor_v9(loss, FLOAT, 1, 0, 257), Status(2000));
    assert_eq!(cudnnSetCTCLossDescriptor_v9(loss, FLOAT, 1, 0, 255), OK);
    let scores = tensor(&[50, 16, 20]);
    let size = cudnnGetCTCLossWorkspaceSize_v8(handle, 0, loss, scores, 0, Out(&mut bytes));
    assert_eq!(size, OK);
    assert!(bytes > 50 * 16 * 511 * 4, "the states of every step");

    let pooling = made::<Pooling>(crate::images::lifetime::cudnnCreatePoolingDescriptor);
    assert_eq!(cudnnPoolingForward(handle, pooling, 0, x, 0, 0, x), Status(2000), "not set yet");
    assert_eq!(cudnnSetPooling2dDescriptor(pooling, 0, 0, 2, 2, 0, 0, 2, 2), OK);
    assert_eq!(cudnnPoolingForward(handle, pooling, 0, x, 0, 0, x), OK);
}
