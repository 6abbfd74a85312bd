//! A `libcublas.so.13` that takes the memory which cuBLAS takes, and computes nothing; built by
//! `whyoom-lab-cublas12`, a `libcublas.so.12`. They differ in their version and in nothing else.
//!
//! Results stay what they were in memory; what the host would read at once (a dot product, an
//! error count) is zero. Nothing runs when the library is loaded: the driver is looked for when
//! the first handle is made.

mod driver;
mod factors;
mod handle;
mod information;
mod matrices;
mod refused;
mod scalars;
mod settings;
mod silent;
pub mod status;
mod transfers;
mod vectors;
pub mod version;
mod workspace;
