//! The figures against what real GPUs printed.

use super::*;
use crate::shape::Motion;

fn convolved(kind: DataType, x: [i64; 4], w: [i64; 4], pad: i64, pass: Pass) -> Convolution {
    let shape = |dimensions: &[i64]| Shape::packed(kind, dimensions.to_vec()).expect("shape");
    let side = |axis: usize| x[axis] + 2 * pad - w[axis] + 1;
    let y = [x[0], w[0], side(2), side(3)];
    let (one, pads) = (vec![1, 1], vec![pad, pad]);
    let motion = Motion { before: pads.clone(), after: pads, strides: one.clone(), dilations: one };
    let problem = Convolution { pass, x: shape(&x), w: shape(&w), y: shape(&y), motion };
    problem.check().expect("the shapes fit");
    problem
}

#[test]
fn mnist_takes_what_nvidias_sample_printed() {
    for (x, w, seen) in
        [([1, 1, 28, 28], [20, 1, 5, 5], 100), ([1, 20, 12, 12], [50, 20, 5, 5], 2000)]
    {
        let problem = convolved(DataType(2), x, w, 0, Pass::Forward);
        assert_eq!(convolution(Method::PrecomputedGemm, &problem), seen);
        assert_eq!(convolution(Method::ImplicitGemm, &problem), 0);
    }
}

#[test]
fn winograd_lies_where_cumo_saw_it() {
    let problem = convolved(DataType(2), [32, 64, 56, 56], [64, 64, 3, 3], 1, Pass::Forward);
    let bytes = convolution(Method::Winograd, &problem);
    assert!((64_000_000..128_000_000).contains(&bytes), "{bytes}");
}

#[test]
fn channels_last_needs_no_copies_and_half_filters_a_sum() {
    let mut problem =
        convolved(DataType(2), [8, 64, 32, 32], [64, 64, 3, 3], 1, Pass::BackwardFilter);
    let all = problem.x.bytes() + problem.w.bytes() + problem.y.bytes();
    let sum = problem.w.elements() * 4;
    assert_eq!(convolution(Method::TensorCore, &problem), all + sum);
    for shape in [&mut problem.x, &mut problem.w, &mut problem.y] {
        shape.strides[1] = 1;
    }
    assert_eq!(convolution(Method::TensorCore, &problem), sum);
}

#[test]
fn recurrent_networks_take_what_the_p100_printed() {
    // Input 123, four layers of 320: 3,034,880 parameters of the LSTM, of which 10,240 biases.
    let matrices = |gates| gates * 320 * ((123 + 320) + 3 * 640);
    let of = |gates| Recurrence {
        gates,
        layers: 4,
        directions: 1,
        hidden: 320,
        steps: 500,
        batch: 50,
        matrices: matrices(gates),
        element: 4,
        dropout: false,
    };
    assert_eq!(matrices(4) + 4 * 4 * 2 * 320, 3_034_880);
    assert_eq!((of(4).reserve(), of(4).workspace()), (736_000_000, 17_730_560));
    assert_eq!((of(3).reserve(), of(3).workspace()), (864_000_000, 13_169_920));
}
