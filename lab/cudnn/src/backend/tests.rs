//! A convolution as cudnn-frontend builds it, through the C functions.

use std::ptr;

use cudarc::cudnn::sys::{
    cudnnBackendAttributeName_t as Name, cudnnBackendAttributeType_t as Type,
    cudnnBackendDescriptorType_t as Kind,
};
use whyoom_lab_abi::{In, Out};

use super::{calls::*, node::NodePointer};
use crate::{handle::HandlePointer, status::Status};

const OK: Status = Status(0);

fn create(kind: Kind) -> NodePointer {
    let mut place = NodePointer::null();
    assert_eq!(cudnnBackendCreateDescriptor(kind as u32, Out(&mut place)), OK);
    place
}

fn set<T>(descriptor: NodePointer, name: Name, of: Type, values: &[T]) -> Status {
    let elements = In(values.as_ptr().cast());
    cudnnBackendSetAttribute(descriptor, name as u32, of as u32, values.len() as i64, elements)
}

fn finish(descriptor: NodePointer) -> NodePointer {
    assert_eq!(cudnnBackendFinalize(descriptor), OK);
    descriptor
}

fn get<T: Copy>(descriptor: NodePointer, name: Name, of: Type, places: &mut [T]) -> (Status, i64) {
    let mut count = -1;
    let (wanted, elements) = (places.len() as i64, Out(places.as_mut_ptr().cast()));
    let elements = if places.is_empty() { Out(ptr::null_mut()) } else { elements };
    let (name, of) = (name as u32, of as u32);
    let status = cudnnBackendGetAttribute(descriptor, name, of, wanted, Out(&mut count), elements);
    (status, count)
}

fn tensor(number: u8, dimensions: [i64; 4]) -> NodePointer {
    let [_, c, h, w] = dimensions;
    let made = create(Kind::CUDNN_BACKEND_TENSOR_DESCRIPTOR);
    let numbers = |name, list: &[i64]| set(made, name, Type::CUDNN_TYPE_INT64, list);
    assert_eq!(set(made, Name::CUDNN_ATTR_TENSOR_DATA_TYPE, Type::CUDNN_TYPE_DATA_TYPE, &[2]), OK);
    assert_eq!(numbers(Name::CUDNN_ATTR_TENSOR_DIMENSIONS, &dimensions), OK);
    assert_eq!(cudnnBackendFinalize(made), Status(2000), "it is not complete");
    assert_eq!(numbers(Name::CUDNN_ATTR_TENSOR_STRIDES, &[c * h * w, h * w, w, 1]), OK);
    assert_eq!(numbers(Name::CUDNN_ATTR_TENSOR_UNIQUE_ID, &[number.into()]), OK);
    assert_eq!(numbers(Name::CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT, &[16]), OK);
    finish(made)
}

fn settings() -> NodePointer {
    let made = create(Kind::CUDNN_BACKEND_CONVOLUTION_DESCRIPTOR);
    let numbers = |name, list: &[i64]| set(made, name, Type::CUDNN_TYPE_INT64, list);
    assert_eq!(numbers(Name::CUDNN_ATTR_CONVOLUTION_SPATIAL_DIMS, &[2]), OK);
    assert_eq!(numbers(Name::CUDNN_ATTR_CONVOLUTION_PRE_PADDINGS, &[1, 1]), OK);
    assert_eq!(numbers(Name::CUDNN_ATTR_CONVOLUTION_POST_PADDINGS, &[1, 1]), OK);
    assert_eq!(numbers(Name::CUDNN_ATTR_CONVOLUTION_FILTER_STRIDES, &[1, 1]), OK);
    assert_eq!(numbers(Name::CUDNN_ATTR_CONVOLUTION_DILATIONS, &[1, 1]), OK);
    finish(made)
}

/// A forward convolution with a response of so many channels; 32 fit.
fn operation(channels: i64) -> NodePointer {
    let made = create(Kind::CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR);
    let part = |name, part| set(made, name, Type::CUDNN_TYPE_BACKEND_DESCRIPTOR, &[part]);
    let x = tensor(b'x', [4, 16, 8, 8]);
    assert_eq!(part(Name::CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_X, x), OK);
    // What others build on may end before them.
    assert_eq!(cudnnBackendDestroyDescriptor(x), OK);
    let (w, y) = (tensor(b'w', [32, 16, 3, 3]), tensor(b'y', [4, channels, 8, 8]));
    assert_eq!(part(Name::CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_W, w), OK);
    assert_eq!(part(Name::CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_Y, y), OK);
    assert_eq!(part(Name::CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_CONV_DESC, settings()), OK);
    made
}

fn graph() -> NodePointer {
    let made = create(Kind::CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR);
    let name = Name::CUDNN_ATTR_OPERATIONGRAPH_OPS;
    let of = Type::CUDNN_TYPE_BACKEND_DESCRIPTOR;
    assert_eq!(set(made, name, of, &[operation(32)]), Status(2004), "it is not finalized");
    assert_eq!(set(made, name, of, &[finish(operation(32))]), OK);
    finish(made)
}

/// The configuration that is left when nothing else works.
fn fallback() -> NodePointer {
    let heuristics = create(Kind::CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR);
    let of = Type::CUDNN_TYPE_BACKEND_DESCRIPTOR;
    let results = Name::CUDNN_ATTR_ENGINEHEUR_RESULTS;
    assert_eq!(set(heuristics, Name::CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH, of, &[graph()]), OK);
    let mode = Name::CUDNN_ATTR_ENGINEHEUR_MODE;
    assert_eq!(set(heuristics, mode, Type::CUDNN_TYPE_HEUR_MODE, &[2]), OK);
    assert_eq!(get::<u64>(heuristics, results, of, &mut []), (Status(2004), -1));
    finish(heuristics);
    assert_eq!(get::<u64>(heuristics, results, of, &mut []), (OK, 1));
    let mut places = [create(Kind::CUDNN_BACKEND_ENGINECFG_DESCRIPTOR)];
    assert_eq!(get(heuristics, results, of, &mut places), (OK, 1));
    places[0]
}

fn plan(configuration: NodePointer) -> (NodePointer, i64) {
    let made = create(Kind::CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR);
    let name = Name::CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG;
    assert_eq!(set(made, name, Type::CUDNN_TYPE_BACKEND_DESCRIPTOR, &[configuration]), OK);
    finish(made);
    let mut bytes = [0_i64];
    let size = Name::CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE;
    assert_eq!(get(made, size, Type::CUDNN_TYPE_INT64, &mut bytes), (OK, 1));
    assert_eq!(get(made, size, Type::CUDNN_TYPE_FLOAT, &mut bytes).0, Status(2010));
    (made, bytes[0])
}

/// A plan of the engine with this index.
fn plan_of(index: i64) -> (NodePointer, i64) {
    let engine = create(Kind::CUDNN_BACKEND_ENGINE_DESCRIPTOR);
    let of = Type::CUDNN_TYPE_BACKEND_DESCRIPTOR;
    assert_eq!(set(engine, Name::CUDNN_ATTR_ENGINE_OPERATION_GRAPH, of, &[graph()]), OK);
    let number = Name::CUDNN_ATTR_ENGINE_GLOBAL_INDEX;
    assert_eq!(set(engine, number, Type::CUDNN_TYPE_INT64, &[index]), OK);
    finish(engine);
    let configuration = create(Kind::CUDNN_BACKEND_ENGINECFG_DESCRIPTOR);
    assert_eq!(set(configuration, Name::CUDNN_ATTR_ENGINECFG_ENGINE, of, &[engine]), OK);
    plan(finish(configuration))
}

fn pack(workspace: usize) -> NodePointer {
    let made = create(Kind::CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR);
    let pointers = |name, list: &[usize]| set(made, name, Type::CUDNN_TYPE_VOID_PTR, list);
    assert_eq!(pointers(Name::CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS, &[256, 512, 768]), OK);
    assert_eq!(pointers(Name::CUDNN_ATTR_VARIANT_PACK_WORKSPACE, &[workspace]), OK);
    let numbers = Name::CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS;
    assert_eq!(set(made, numbers, Type::CUDNN_TYPE_INT64, &[b'x', b'y', b'w'].map(i64::from)), OK);
    finish(made)
}

#[test]
fn a_plan_tells_its_workspace_and_runs_with_it() {
    let handle = HandlePointer::without_driver();
    let (free, none) = plan(fallback());
    assert_eq!(none, 0);
    assert_eq!(cudnnBackendExecute(handle, free, pack(0)), OK);
    assert_eq!(cudnnBackendExecute(HandlePointer::missing(), free, pack(0)), Status(1001));
    // Tensor cores want copies of all three, each on a boundary of its own.
    let (hungry, bytes) = plan_of(3);
    assert_eq!(bytes, 2 * (4 * 16 * 64 + 32 * 16 * 9 + 4 * 32 * 64));
    assert_eq!(cudnnBackendExecute(handle, hungry, pack(0)), Status(2002));
    assert_eq!(cudnnBackendExecute(handle, hungry, pack(1024)), OK);
    assert_eq!(cudnnBackendExecute(handle, pack(1024), hungry), Status(2012));
}

#[test]
fn engines_say_what_they_are() {
    let configuration = fallback();
    let mut engine = [create(Kind::CUDNN_BACKEND_ENGINE_DESCRIPTOR)];
    let of = Type::CUDNN_TYPE_BACKEND_DESCRIPTOR;
    assert_eq!(get(configuration, Name::CUDNN_ATTR_ENGINECFG_ENGINE, of, &mut engine), (OK, 1));
    let (mut index, mut notes) = ([-1_i64], [9_u32; 10]);
    let name = Name::CUDNN_ATTR_ENGINE_GLOBAL_INDEX;
    assert_eq!(get(engine[0], name, Type::CUDNN_TYPE_INT64, &mut index), (OK, 1));
    assert_eq!(index, [0]);
    let name = Name::CUDNN_ATTR_ENGINE_NUMERICAL_NOTE;
    assert_eq!(get(engine[0], name, Type::CUDNN_TYPE_NUMERICAL_NOTE, &mut notes), (OK, 0));
    let json = Name::CUDNN_ATTR_EXECUTION_PLAN_JSON_REPRESENTATION;
    let text = get::<u8>(plan(configuration).0, json, Type::CUDNN_TYPE_CHAR, &mut []);
    assert_eq!(text.0, Status(3000));
    let mut wrong = [create(Kind::CUDNN_BACKEND_TENSOR_DESCRIPTOR)];
    let name = Name::CUDNN_ATTR_ENGINECFG_ENGINE;
    assert_eq!(get(configuration, name, of, &mut wrong).0, Status(2012));
}

#[test]
fn what_does_not_fit_is_refused() {
    assert_eq!(cudnnBackendFinalize(operation(31)), Status(2008));
    let done = tensor(b'x', [4, 16, 8, 8]);
    let name = Name::CUDNN_ATTR_TENSOR_UNIQUE_ID;
    assert_eq!(set(done, name, Type::CUDNN_TYPE_INT64, &[1_i64]), Status(1001));
    let mut place = NodePointer::null();
    assert_eq!(cudnnBackendCreateDescriptor(99, Out(&mut place)), Status(3000));
    assert_eq!(cudnnBackendFinalize(NodePointer::null()), Status(2002));
    assert_eq!(cudnnBackendDestroyDescriptor(done), OK);
}
