//! Names for native addresses, after the run.
