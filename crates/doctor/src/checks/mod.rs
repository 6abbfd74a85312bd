//! The checks, in the order in which they are made.

mod driver;
mod figures;
mod full;
mod gpus;
mod idle_pools;
mod memory;
mod nvml;
mod pages;
mod peers;
mod place;
mod programs;
mod pytorch;

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
    /// Whether it takes all memory that is free, so that nobody gets any meanwhile: it must be asked for.
    pub takes_all: bool,
    /// What it does, in a process of its own.
    pub run: fn() -> Outcome,
}

const fn check(name: &'static str, seconds: u64, run: fn() -> Outcome) -> Check {
    Check { name, limit: Duration::from_secs(seconds), takes_all: false, run }
}

const fn check_taking_all(name: &'static str, seconds: u64, run: fn() -> Outcome) -> Check {
    Check { takes_all: true, ..check(name, seconds, run) }
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
    check("figures", 60, figures::run),
    check("recorder", 30, || programs::run(programs::RECORDED)),
    check("pool", 30, || programs::run(programs::POOLED)),
    check("pytorch", 180, pytorch::run),
    check("fit", 120, pytorch::fit),
    check_taking_all("full", 60, full::run),
    check_taking_all("idle-pools", 60, idle_pools::run),
];
