//! Documented functions that the lab does not have, and only refuses.

use whyoom_lab_abi::refusals;

use crate::status::Status;

refusals! { Status = Status::REFUSED;
    // Descriptors in the caller's own memory: a descriptor here is an allocation that grows.
    cublasLtMatmulDescInit_internal cublasLtMatrixLayoutInit_internal
    cublasLtMatmulPreferenceInit_internal cublasLtMatrixTransformDescInit_internal
    cublasLtEmulationDescInit_internal cublasLtGroupedMatrixLayoutInit_internal

    // Groups of products, and what an algorithm can do.
    cublasLtGroupedMatrixLayoutCreate cublasLtMatmulAlgoCapGetAttribute

    // Caches and logs.
    cublasLtHeuristicsCacheGetCapacity cublasLtHeuristicsCacheSetCapacity
    cublasLtLoggerOpenFile cublasLtLoggerSetCallback cublasLtLoggerSetFile cublasLtLoggerSetLevel
    cublasLtLoggerSetMask
}
