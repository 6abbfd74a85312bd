//! What the nodes of a graph do to memory, as the driver tells it.

use whyoom_trace::DeviceId;

use super::pools::Properties;
use crate::{resolution::real::Function, result_code::Code};

/// `CU_GRAPH_NODE_TYPE_GRAPH`, `_MEM_ALLOC` and `_MEM_FREE`.
const CHILD: u32 = 4;
const ALLOC: u32 = 10;
const FREE: u32 = 11;
/// Graphs inside graphs inside graphs: deeper is not looked.
const DEEPEST: u32 = 32;

/// `CUDA_MEM_ALLOC_NODE_PARAMS`, with its enumerations as numbers.
#[derive(Clone, Copy, Default)]
#[repr(C)]
struct AllocNode {
    pool: Properties,
    pool_rest: [u64; 9],
    access: u64,
    access_count: usize,
    size: usize,
    address: u64,
    /// Room for what newer drivers may add.
    spare: [u64; 8],
}

/// What a launch does to memory.
#[derive(Clone, Copy)]
pub(super) enum Step {
    Alloc { address: u64, size: u64, device: DeviceId },
    Free { address: u64 },
}

type GetNodes = unsafe extern "C" fn(u64, *mut u64, *mut usize) -> Code;
static NODES: Function<GetNodes> = Function::named(c"cuGraphGetNodes");
static TYPE: Function<unsafe extern "C" fn(u64, *mut u32) -> Code> =
    Function::named(c"cuGraphNodeGetType");
static ALLOC_NODE: Function<unsafe extern "C" fn(u64, *mut AllocNode) -> Code> =
    Function::named(c"cuGraphMemAllocNodeGetParams");
static FREE_NODE: Function<unsafe extern "C" fn(u64, *mut u64) -> Code> =
    Function::named(c"cuGraphMemFreeNodeGetParams");
static CHILD_NODE: Function<unsafe extern "C" fn(u64, *mut u64) -> Code> =
    Function::named(c"cuGraphChildGraphNodeGetGraph");

/// What the nodes of a graph, and of the graphs in it, do to memory.
pub(super) fn steps_of(graph: u64) -> Vec<Step> {
    let mut steps = Vec::new();
    walk(graph, &mut steps, DEEPEST);
    steps
}

/// Appends what the nodes of a graph do, in the order in which they were made: a node is made
/// behind those that it waits for.
fn walk(graph: u64, steps: &mut Vec<Step>, deeper: u32) {
    let Some(get) = NODES.get() else { return };
    let mut count = 0;
    // SAFETY: without a place for them the driver only counts the nodes.
    if unsafe { get(graph, std::ptr::null_mut(), &mut count) } != 0 {
        return;
    }
    let mut nodes = vec![0; count];
    // SAFETY: there is room for `count` nodes; the driver writes no more and says how many.
    if count == 0 || unsafe { get(graph, nodes.as_mut_ptr(), &mut count) } != 0 {
        return;
    }
    nodes.truncate(count);
    for node in nodes {
        step(node, steps, deeper);
    }
}

fn step(node: u64, steps: &mut Vec<Step>, deeper: u32) {
    match ask(&TYPE, node) {
        Some(ALLOC) => {
            if let Some(made) = ask(&ALLOC_NODE, node) {
                let (address, size) = (made.address, made.size as u64);
                steps.push(Step::Alloc { address, size, device: made.pool.device() });
            }
        }
        Some(FREE) => steps.extend(ask(&FREE_NODE, node).map(|address| Step::Free { address })),
        Some(CHILD) if deeper > 0 => {
            if let Some(child) = ask(&CHILD_NODE, node) {
                walk(child, steps, deeper - 1);
            }
        }
        _ => {}
    }
}

/// What the driver says of a node.
fn ask<T: Copy + Default>(
    function: &Function<unsafe extern "C" fn(u64, *mut T) -> Code>,
    node: u64,
) -> Option<T> {
    let mut answer = T::default();
    // SAFETY: the driver writes the answer where it is told to; there is room for one.
    (unsafe { function.get()?(node, &mut answer) } == 0).then_some(answer)
}
