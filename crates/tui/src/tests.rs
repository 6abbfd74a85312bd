//! Tests of the whole view: what is shown, and that nothing breaks it.

mod made;
mod random;
mod snapshots;
mod state;
