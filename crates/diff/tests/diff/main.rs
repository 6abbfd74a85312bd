//! Two runs compared, in made-up runs.

mod compare;
mod properties;
mod runs;
