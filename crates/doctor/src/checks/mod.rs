//! The checks, in the order in which they are made.

mod driver;
mod gpus;
mod memory;
mod nvml;
mod pages;
mod peers;
mod place;
mod programs;

use std::time::Duration;

use crate::outcome::Outcome;

pub use memory::take_memory;

/// A check.
#[derive(Debug, Clone, Copy)]
pub struct Check {
    /// What it is called.
    pub name: &'static str,
    /// It is ended where it takes longer.
    pub limit: Duration,
    /// What it does, in a process of its own.
    pub run: fn() -> Outcome,
}

const fn check(name: &'static str, seconds: u64, run: fn() -> Outcome) -> Check {
    Check { name, limit: Duration::from_secs(seconds), run }
}

/// All of them.
pub const CHECKS: &[Check] = &[
    check("place", 5, place::run),
    check("driver", 20, driver::run),
    check("gpus", 20, gpus::run),
    check("nvml", 20, nvml::run),
    check("pages", 20, pages::run),
    check("peers", 20, peers::run),
    check("memory", 20, memory::run),
    check("recorder", 30, || programs::run(&[])),
    check("pool", 30, || programs::run(&["--pool"])),
];
