//! Copy nodes.

use cudarc::{
    driver::sys::{CUDA_MEMCPY3D, CUdeviceptr},
    runtime::sys::{cudaExtent, cudaPitchedPtr, cudaPos},
};
use whyoom_lab_abi::{Out, exports};

use super::{Handle, given};
use crate::{
    context,
    copy::Direction,
    copy_blocks::{Parameters, line, solid},
    error::{Failure, Status},
};

exports! { Status;
    fn cudaGraphAddMemcpyNode(node: Out<Handle>, graph: Handle, nodes: *const Handle, count: usize, copy: *const Parameters) {
        let current = context::current()?;
        let copy = solid(&given(copy)?)?;
        current.cuGraphAddMemcpyNode(node.0, graph, nodes, count, &copy, current.context)
    }

    #[allow(clippy::too_many_arguments)]
    fn cudaGraphAddMemcpyNode1D(node: Out<Handle>, graph: Handle, nodes: *const Handle, count: usize, to: CUdeviceptr, from: CUdeviceptr, size: usize, kind: u32) {
        let current = context::current()?;
        let copy = line(to, from, size, Direction::of(kind)?);
        current.cuGraphAddMemcpyNode(node.0, graph, nodes, count, &copy, current.context)
    }

    fn cudaGraphMemcpyNodeGetParams(node: Handle, copy: Out<Parameters>) {
        let current = context::current()?;
        Ok(copy.put(told(&|place| current.cuGraphMemcpyNodeGetParams(node, place))?)?)
    }

    fn cudaGraphMemcpyNodeSetParams(node: Handle, copy: *const Parameters) {
        context::current()?.cuGraphMemcpyNodeSetParams(node, &solid(&given(copy)?)?)
    }

    fn cudaGraphMemcpyNodeSetParams1D(node: Handle, to: CUdeviceptr, from: CUdeviceptr, size: usize, kind: u32) {
        let copy = line(to, from, size, Direction::of(kind)?);
        context::current()?.cuGraphMemcpyNodeSetParams(node, &copy)
    }

    fn cudaGraphExecMemcpyNodeSetParams(exec: Handle, node: Handle, copy: *const Parameters) {
        let current = context::current()?;
        let copy = solid(&given(copy)?)?;
        current.cuGraphExecMemcpyNodeSetParams(exec, node, &copy, current.context)
    }

    fn cudaGraphExecMemcpyNodeSetParams1D(exec: Handle, node: Handle, to: CUdeviceptr, from: CUdeviceptr, size: usize, kind: u32) {
        let current = context::current()?;
        let copy = line(to, from, size, Direction::of(kind)?);
        current.cuGraphExecMemcpyNodeSetParams(exec, node, &copy, current.context)
    }
}

/// The copy of a node in the runtime's words. The driver gives unified addresses, which are the same
/// in whichever direction.
fn told(ask: &dyn Fn(*mut CUDA_MEMCPY3D) -> Result<(), Failure>) -> Result<Parameters, Failure> {
    const DEFAULT: u32 = 4;
    let mut copy = line(0, 0, 0, Direction::of(DEFAULT)?);
    ask(&mut copy)?;
    let end = |ptr: CUdeviceptr, pitch, rows| cudaPitchedPtr {
        ptr: ptr as *mut _,
        pitch,
        xsize: copy.WidthInBytes,
        ysize: rows,
    };
    let start = cudaPos { x: 0, y: 0, z: 0 };
    let extent = cudaExtent { width: copy.WidthInBytes, height: copy.Height, depth: copy.Depth };
    let from = end(copy.srcDevice, copy.srcPitch, copy.srcHeight);
    let to = end(copy.dstDevice, copy.dstPitch, copy.dstHeight);
    Ok(Parameters::between((from, start), (to, start), extent, DEFAULT))
}
