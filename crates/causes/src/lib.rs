//! The causes: what can be true of a run that ran out of memory, how each is recognised, and what
//! to do about it.
//!
//! [`judge`] looks at everything that a [`whyoom_memory::Model`] holds and names one primary cause.
//! Each cause is a file in `catalogue/` that looks at one [`Scene`] and may yield a [`Finding`].

mod alternatives;
mod breakdown;
mod catalogue;
mod cause;
mod command;
mod driver_pools;
mod finding;
mod findings;
mod fixes;
mod framework;
mod glossary;
mod guard;
mod habit;
mod keepers;
mod library_knobs;
mod neighbours;
mod outside;
mod phases;
mod proof;
mod ranking;
mod result_code;
mod said;
mod scene;
mod scenes;
mod server_share;
mod situation;
mod verdict;

pub use breakdown::{Component, MemoryBreakdown, Part, Range, Suffices};
pub use catalogue::{CATALOGUE, find};
pub use cause::Cause;
pub use finding::{Basis, Evidence, Figure, Finding, Level, Proof, Remedy, Strength};
pub use glossary::{GLOSSARY, Term, find_terms};
pub use keepers::{Keeper, name_keepers};
pub use proof::{prove, was_applied};
pub use scene::Scene;
pub use scenes::figures;
pub use situation::Situation;
pub use verdict::{Verdict, judge};
