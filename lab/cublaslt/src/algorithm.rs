//! The one algorithm: how it is proposed, configured and run.

use std::mem;

use cudarc::cublaslt::sys::{
    cublasLtMatmulAlgo_t, cublasLtMatmulHeuristicResult_t, cublasStatus_t,
};
use whyoom_lab_abi::{In, Out, exports};

use crate::{
    attributes::{Descriptor, give},
    library::HandlePointer,
    status::{Failure, Status},
};

/// The bytes of workspace that the proposed algorithm needs.
///
/// Assumed: real algorithms need anything from nothing to what the caller's preference allows,
/// and the caller has allocated all of that before it asks.
const WORKSPACE: usize = 0;

/// The number of the algorithm.
const ID: u32 = 0;

/// Configuration attributes of an algorithm: 32-bit numbers, one behind the other in its opaque
/// words, each in the place that its attribute number says.
type Configuration = [[u8; 4]; mem::size_of::<cublasLtMatmulAlgo_t>() / 4];

/// An algorithm whose attributes are all zero, but for its number.
fn algorithm(id: u32) -> Configuration {
    let mut configuration = Configuration::default();
    configuration[0] = id.to_ne_bytes();
    configuration
}

/// What cuBLASLt says about an algorithm that can be run.
fn usable(configuration: Configuration) -> cublasLtMatmulHeuristicResult_t {
    // SAFETY: both are plain bytes of the same size.
    let algo = unsafe { mem::transmute::<Configuration, cublasLtMatmulAlgo_t>(configuration) };
    cublasLtMatmulHeuristicResult_t {
        algo,
        workspaceSize: WORKSPACE,
        state: cublasStatus_t::CUBLAS_STATUS_SUCCESS,
        wavesCount: 1.0,
        reserved: [0; 4],
    }
}

/// The caller wants at least one answer.
fn wanted(count: i32) -> Result<(), Failure> {
    if count > 0 { Ok(()) } else { Err(Failure::InvalidValue) }
}

/// The place of an attribute.
fn place(attribute: u32) -> Result<usize, Failure> {
    let place = attribute as usize;
    let places = mem::size_of::<Configuration>() / 4;
    if place < places { Ok(place) } else { Err(Failure::InvalidValue) }
}

/// The bytes of an attribute: the shapes of inner tiles and clusters are 16-bit numbers.
fn width(attribute: u32) -> usize {
    if matches!(attribute, 7 | 8) { 2 } else { 4 }
}

exports! { Status;
    fn cublasLtMatmulAlgoGetHeuristic(
        handle: HandlePointer, product: Descriptor, _a: Descriptor, _b: Descriptor, _c: Descriptor,
        _d: Descriptor, _preference: Descriptor, count: i32,
        results: Out<cublasLtMatmulHeuristicResult_t>, returned: Out<i32>,
    ) {
        handle.check()?;
        product.check()?;
        wanted(count)?;
        results.put(usable(algorithm(ID)))?;
        Ok(returned.put(1)?)
    }
    fn cublasLtMatmulAlgoGetIds(
        handle: HandlePointer, _compute: u32, _scale: u32, _a: u32, _b: u32, _c: u32, _d: u32,
        count: i32, ids: Out<u32>, returned: Out<i32>,
    ) {
        handle.check()?;
        wanted(count)?;
        ids.put(ID)?;
        Ok(returned.put(1)?)
    }
    fn cublasLtMatmulAlgoInit(
        handle: HandlePointer, _compute: u32, _scale: u32, _a: u32, _b: u32, _c: u32, _d: u32,
        id: u32, place: Out<Configuration>,
    ) {
        handle.check()?;
        Ok(place.put(algorithm(id))?)
    }
    fn cublasLtMatmulAlgoCheck(
        handle: HandlePointer, product: Descriptor, _a: Descriptor, _b: Descriptor, _c: Descriptor,
        _d: Descriptor, chosen: In<Configuration>, result: Out<cublasLtMatmulHeuristicResult_t>,
    ) {
        handle.check()?;
        product.check()?;
        Ok(result.put(usable(chosen.get()?))?)
    }
    fn cublasLtMatmulAlgoConfigSetAttribute(
        chosen: Out<Configuration>, attribute: u32, value: In<u8>, size: usize,
    ) {
        let place = place(attribute)?;
        let mut configuration = In(chosen.0.cast_const()).get()?;
        value.get()?;
        if size != width(attribute) {
            return Err(Failure::InvalidValue);
        }
        configuration[place][..size].copy_from_slice(&value.list(size)?);
        Ok(chosen.put(configuration)?)
    }
    fn cublasLtMatmulAlgoConfigGetAttribute(
        chosen: In<Configuration>, attribute: u32, buffer: Out<u8>, room: usize,
        written: Out<usize>,
    ) {
        let value = chosen.get()?[place(attribute)?];
        give(&value[..width(attribute)], buffer, room, written)
    }

    // Both leave the arguments behind the second unread: see `silent!` of the cuBLAS stand-in.
    fn cublasLtMatmul(handle: HandlePointer, product: Descriptor) {
        handle.check()?;
        product.check()
    }
    fn cublasLtMatrixTransform(handle: HandlePointer, transform: Descriptor) {
        handle.check()?;
        transform.check()
    }
}
