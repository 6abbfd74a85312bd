//! What the suites and the figures share: one way to run a program on the simulated GPU, to read what it
//! answers, and to say how a check ended.
//!
//! A check can end in three ways ([`Outcome`]), and what it reads is complete or an error ([`from_str`]).
#![allow(clippy::disallowed_methods, reason = "the checkout's and the checks' own files")]

mod architecture;
mod bounded;
mod browser;
mod build;
mod checkout;
pub mod documents;
mod environment;
mod fifteen;
mod fingerprint;
mod measured;
mod once;
mod outcome;
mod parallel;
mod picture_scene;
mod preparation;
mod programs;
mod random;
mod recorded_device;
mod report;
mod reuse;
mod runs;
mod scenarios;
mod scene;
pub mod score;
mod shared_data;
mod strict;
mod suite;
mod trial;
mod unwinder;
mod zig;

pub use self::{
    architecture::Architecture,
    bounded::{Bounded, STRANGER, VICTIM, give_to, input_bytes},
    browser::{Look, Seen, look},
    build::Build,
    checkout::{cache, empty_folder, fresh, root, scratch, target, text},
    environment::{cuda, environment, lend, python, site_packages},
    fifteen::{FIFTEEN, Fifteen, fifteen},
    measured::{median, peak_resident, worst},
    once::{once, stamp_of},
    outcome::{Held, Need, Outcome, Skip, is_root},
    parallel::two_at_a_time,
    preparation::must_succeed,
    programs::{CProgram, cuda_programs, files},
    random::Random,
    recorded_device::RecordedDevice,
    report::{Report, ReportFolder, read_reports},
    reuse::{Fingerprints, KeptRecording},
    runs::device_runs,
    scenarios::{Scenario, scenarios},
    scene::{Scene, Stage as SceneStage},
    shared_data::{shared_data, snapshots},
    strict::{from_slice, from_str},
    suite::{Check, Suite, main, slug},
    trial::{Ran, Recorded, Trial},
    zig::{OLDEST_GLIBC, Variables, foreign_zig_variables, zig_variables},
};
