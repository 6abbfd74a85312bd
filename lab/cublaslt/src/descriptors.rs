//! The five kinds of descriptor. They differ in what they are made with, and in nothing else.

use whyoom_lab_abi::{In, Out, exports};

use crate::{
    attributes::Descriptor,
    status::{Failure, Status},
};

/// The attributes that creation sets, by their cuBLASLt numbers.
mod attribute {
    pub(super) const MATMUL_COMPUTE_TYPE: u32 = 0;
    pub(super) const MATMUL_SCALE_TYPE: u32 = 1;
    pub(super) const LAYOUT_TYPE: u32 = 0;
    pub(super) const LAYOUT_ROWS: u32 = 2;
    pub(super) const LAYOUT_COLUMNS: u32 = 3;
    pub(super) const LAYOUT_LEADING_DIMENSION: u32 = 4;
    pub(super) const TRANSFORM_SCALE_TYPE: u32 = 0;
}

/// Makes a descriptor where the caller has a place for it.
fn create(place: Out<Descriptor>, initial: &[(u32, &[u8])]) -> Result<(), Failure> {
    if place.is_null() {
        return Err(Failure::InvalidValue);
    }
    Ok(place.put(Descriptor::create(initial))?)
}

macro_rules! descriptors {
    (
        made_by { $($create:ident($($argument:ident: $type:ty = $attribute:expr),*);)* }
        used_by { $($set:ident $get:ident $destroy:ident;)* }
    ) => {
        exports! { Status;
            $(fn $create(place: Out<Descriptor>, $($argument: $type),*) {
                create(place, &[$(($attribute, &$argument.to_ne_bytes())),*])
            })*
            $(
                fn $set(descriptor: Descriptor, attribute: u32, value: In<u8>, size: usize) {
                    descriptor.set(attribute, value, size)
                }
                fn $get(
                    descriptor: Descriptor, attribute: u32, buffer: Out<u8>, room: usize,
                    written: Out<usize>,
                ) {
                    descriptor.get(attribute, buffer, room, written)
                }
                fn $destroy(descriptor: Descriptor) {
                    descriptor.destroy();
                    Ok(())
                }
            )*
        }
    };
}

descriptors! {
    made_by {
        cublasLtMatmulDescCreate(
            compute: u32 = attribute::MATMUL_COMPUTE_TYPE, scale: u32 = attribute::MATMUL_SCALE_TYPE
        );
        cublasLtMatrixLayoutCreate(
            element: u32 = attribute::LAYOUT_TYPE, rows: u64 = attribute::LAYOUT_ROWS,
            columns: u64 = attribute::LAYOUT_COLUMNS,
            step: i64 = attribute::LAYOUT_LEADING_DIMENSION
        );
        cublasLtMatmulPreferenceCreate();
        cublasLtMatrixTransformDescCreate(scale: u32 = attribute::TRANSFORM_SCALE_TYPE);
        cublasLtEmulationDescCreate();
    }
    used_by {
        cublasLtMatmulDescSetAttribute cublasLtMatmulDescGetAttribute cublasLtMatmulDescDestroy;
        cublasLtMatrixLayoutSetAttribute
            cublasLtMatrixLayoutGetAttribute cublasLtMatrixLayoutDestroy;
        cublasLtMatmulPreferenceSetAttribute
            cublasLtMatmulPreferenceGetAttribute cublasLtMatmulPreferenceDestroy;
        cublasLtMatrixTransformDescSetAttribute
            cublasLtMatrixTransformDescGetAttribute cublasLtMatrixTransformDescDestroy;
        cublasLtEmulationDescSetAttribute
            cublasLtEmulationDescGetAttribute cublasLtEmulationDescDestroy;
    }
}
