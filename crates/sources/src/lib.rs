//! Importers: what other tools wrote, turned into whyoom's events.
//!
//! Each importer is a folder with one function that reads from anything and pushes into an
//! [`whyoom_trace::EventSink`]: [`torch_snapshot::import`], [`oom_text::scan`], [`recording::import`].
//! All input is hostile until parsed: nothing is executed, and time and memory stay in proportion to
//! the input.
#![cfg_attr(test, allow(clippy::disallowed_methods))]

mod importer;
mod input_kind;
#[cfg(not(target_family = "wasm"))]
pub mod nsys;
pub mod oom_text;
mod pickle;
pub mod recording;
pub mod rmm_log;
pub mod torch_snapshot;
mod unreadable;

pub use importer::{FIRST_BYTES, ImportError, Importer, NamedInput, Reader, importer_of};
pub use input_kind::InputKind;
pub use pickle::PickleError;
