//! A `libcublasLt.so.13` that computes nothing; built by `whyoom-lab-cublaslt12`, a
//! `libcublasLt.so.12`.
//!
//! Whoever calls it brings the workspace, so it has no memory to take. It proposes one algorithm
//! for every product, and that one does nothing.

mod algorithm;
mod attributes;
mod descriptors;
mod library;
mod refused;

// cuBLAS and cuBLASLt share their status numbers and their version, so one file has each.
#[path = "../../cublas/src/status.rs"]
pub mod status;
#[path = "../../cublas/src/version.rs"]
pub mod version;
