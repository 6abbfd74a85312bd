//! The causes: what can be true of a run that ran out of memory, how each is recognised, and what
//! to do about it.
//!
//! [`judge`] looks at everything that a [`whyoom_memory::Model`] holds and names one primary cause.
//! Each cause is a file in `catalogue/` that looks at one [`Diagnosis`] and may yield a [`Finding`].

mod ahead;
mod allocator_conf;
mod already_applied;
mod alternatives;
mod breakdown;
mod catalogue;
mod cause;
mod command;
mod coverage;
mod diagnose;
mod diagnoses;
mod diagnosis;
mod driver_pools;
mod end_processes;
mod finding;
mod findings;
mod fixes;
mod framework;
mod glossary;
mod gpu_models;
mod inference;
mod input_origin;
mod leak_site;
mod library_frames;
mod library_knobs;
mod memory_fraction;
mod observed;
mod other_gpu_processes;
mod outside;
mod precision;
mod program_lines;
mod proof;
mod quotation_marks;
mod ranking;
mod referrer;
mod referrers;
mod result_code;
mod said;
mod seen_code;
mod shell;
mod shell_line;
mod training;
mod verdict;

pub use ahead::{Ahead, TooLarge};
pub use breakdown::{Component, MemoryBreakdown, Part, Range, Suffices};
pub use catalogue::{CATALOGUE, find};
pub use cause::Cause;
pub use diagnose::{judge, judge_on};
pub use diagnoses::figures;
pub use diagnosis::{Diagnosis, Measured};
pub use finding::{Basis, CallSite, Evidence, Figure, Finding, Level, Proof, Remedy, Strength};
pub use glossary::{GLOSSARY, Term, find_terms};
pub use gpu_models::GPU_MODELS;
pub use input_origin::InputOrigin;
pub use observed::ObservedFigures;
pub use proof::{has_provable_remedies, prove, was_applied};
pub use referrer::Referrer;
pub use referrers::name_referrers;
pub use shell_line::ShellLine;
pub use verdict::Verdict;
pub use whyoom_redact::for_shell;
