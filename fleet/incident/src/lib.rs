//! An incident: one time that a program ran out of GPU memory, as it leaves the node.
//!
//! [`Incident`] is what is known of it; [`parquet`] writes incidents as an immutable file and reads them back.
//! The columns are the same in every store, and documented in `docs/clusters.md`.

mod columns;
mod footer;
mod incident;
mod pages;
pub mod parquet;
mod quiet;
mod thrift;

pub use columns::{COLUMNS, Column, Kind};
pub use incident::{Incident, SCHEMA, SCHEMA_VERSION, Source};
