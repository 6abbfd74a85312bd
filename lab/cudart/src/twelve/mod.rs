//! What CUDA 12 has in a form of its own. Where a later 12.x changed a function, the new form has the
//! suffix `_v2` or `_v3`, and the form without is the old one, for what was compiled before.

mod location;
mod pointer;
mod properties;
mod retired;

/// The version of the runtime API that is spoken here, as CUDA numbers it: that of the PyTorch 2.6
/// wheels.
pub const RUNTIME_VERSION: i32 = 12_040;
