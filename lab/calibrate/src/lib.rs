//! Measures on a GPU the figures that the table of simulated GPUs has of it.
//!
//! On real hardware it gives a row for the table; on a simulated GPU it must give the table's own row
//! back, which shows that the simulation keeps to its table. Only documented functions of the driver
//! and of NVML are called, and both are loaded at run time. A figure that cannot be measured is said
//! to be so, with the reason; none is filled in from elsewhere.

mod calibration;
mod context;
mod driver;
mod error;
mod figure;
mod functions;
mod idle_pools;
mod measure;
mod nvml;
mod row;
mod small;

pub use calibration::{Calibration, Comparison, Measurement};
pub use error::Error;
pub use figure::{Figure, Unit};
pub use idle_pools::reclaims_idle_pools;
pub use measure::calibrate;
