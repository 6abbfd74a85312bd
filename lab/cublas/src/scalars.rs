//! Functions with a result that the host reads at once: it is zero.

use std::iter::repeat_n;

use whyoom_lab_abi::{Out, exports};

use crate::{
    handle::HandlePointer,
    status::{Failure, Status},
};

/// An argument that is not looked at; integers and pointers travel alike (see [`crate::silent`]).
type Any = usize;
type Complex = [f32; 2];
type DoubleComplex = [f64; 2];

/// The size of a `cudaDataType_t` that a reduction can have as its result.
fn size_of_type(data_type: u32) -> Result<usize, Failure> {
    match data_type {
        2 | 14 => Ok(2), // R_16F, R_16BF
        0 => Ok(4),      // R_32F
        1 | 4 => Ok(8),  // R_64F, C_32F
        5 => Ok(16),     // C_64F
        _ => Err(Failure::NotSupported),
    }
}

fn tell_host_zero(handle: HandlePointer, result: Out<u8>, data_type: u32) -> Result<(), Failure> {
    let handle = handle.get()?;
    for (offset, zero) in repeat_n(0, size_of_type(data_type)?).enumerate() {
        handle.tell_host(Out(result.0.wrapping_add(offset)), zero)?;
    }
    Ok(())
}

macro_rules! results {
    (
        of_one_vector { $($one:ty: $($of_one:ident)*;)* }
        of_two_vectors { $($two:ty: $($of_two:ident)*;)* }
        rotations { $($cosine:ty, $sine:ty: $rotation:ident;)* }
        modified_rotations { $($parameter:ty: $modified:ident;)* }
        one_typed { $($one_typed:ident)* }
        two_typed { $($two_typed:ident)* }
        index_typed { $($index:ty: $($index_typed:ident)*;)* }
    ) => {
        exports! { Status;
            $($(fn $of_one(handle: HandlePointer, _n: Any, _x: Any, _incx: Any, result: Out<$one>) {
                handle.get()?.tell_host(result, <$one>::default())
            })*)*
            $($(fn $of_two(
                handle: HandlePointer, _n: Any, _x: Any, _incx: Any, _y: Any, _incy: Any,
                result: Out<$two>,
            ) {
                handle.get()?.tell_host(result, <$two>::default())
            })*)*
            $(fn $rotation(
                handle: HandlePointer, _a: Any, _b: Any, cosine: Out<$cosine>, sine: Out<$sine>,
            ) {
                handle.get()?.tell_host(cosine, <$cosine>::default())?;
                handle.get()?.tell_host(sine, <$sine>::default())
            })*
            $(fn $modified(
                handle: HandlePointer, _d1: Any, _d2: Any, _x1: Any, _y1: Any,
                parameters: Out<[$parameter; 5]>,
            ) {
                handle.get()?.tell_host(parameters, <[$parameter; 5]>::default())
            })*
            $(fn $one_typed(
                handle: HandlePointer, _n: Any, _x: Any, _x_type: Any, _incx: Any,
                result: Out<u8>, data_type: u32,
            ) {
                tell_host_zero(handle, result, data_type)
            })*
            $(fn $two_typed(
                handle: HandlePointer, _n: Any, _x: Any, _x_type: Any, _incx: Any,
                _y: Any, _y_type: Any, _incy: Any, result: Out<u8>, data_type: u32,
            ) {
                tell_host_zero(handle, result, data_type)
            })*
            $($(fn $index_typed(
                handle: HandlePointer, _n: Any, _x: Any, _x_type: Any, _incx: Any,
                result: Out<$index>,
            ) {
                handle.get()?.tell_host(result, <$index>::default())
            })*)*
        }
    };
}

results! {
    of_one_vector {
        f32: cublasSnrm2_v2 cublasSnrm2_v2_64 cublasScnrm2_v2 cublasScnrm2_v2_64
             cublasSasum_v2 cublasSasum_v2_64 cublasScasum_v2 cublasScasum_v2_64;
        f64: cublasDnrm2_v2 cublasDnrm2_v2_64 cublasDznrm2_v2 cublasDznrm2_v2_64
             cublasDasum_v2 cublasDasum_v2_64 cublasDzasum_v2 cublasDzasum_v2_64;
        i32: cublasIsamax_v2 cublasIdamax_v2 cublasIcamax_v2 cublasIzamax_v2
             cublasIsamin_v2 cublasIdamin_v2 cublasIcamin_v2 cublasIzamin_v2;
        i64: cublasIsamax_v2_64 cublasIdamax_v2_64 cublasIcamax_v2_64 cublasIzamax_v2_64
             cublasIsamin_v2_64 cublasIdamin_v2_64 cublasIcamin_v2_64 cublasIzamin_v2_64;
    }
    of_two_vectors {
        f32: cublasSdot_v2 cublasSdot_v2_64;
        f64: cublasDdot_v2 cublasDdot_v2_64;
        Complex: cublasCdotu_v2 cublasCdotu_v2_64 cublasCdotc_v2 cublasCdotc_v2_64;
        DoubleComplex: cublasZdotu_v2 cublasZdotu_v2_64 cublasZdotc_v2 cublasZdotc_v2_64;
    }
    rotations {
        f32, f32: cublasSrotg_v2;
        f64, f64: cublasDrotg_v2;
        f32, Complex: cublasCrotg_v2;
        f64, DoubleComplex: cublasZrotg_v2;
    }
    modified_rotations { f32: cublasSrotmg_v2; f64: cublasDrotmg_v2; }
    one_typed { cublasNrm2Ex cublasNrm2Ex_64 cublasAsumEx cublasAsumEx_64 }
    two_typed { cublasDotEx cublasDotEx_64 cublasDotcEx cublasDotcEx_64 }
    index_typed {
        i32: cublasIamaxEx cublasIaminEx;
        i64: cublasIamaxEx_64 cublasIaminEx_64;
    }
}
