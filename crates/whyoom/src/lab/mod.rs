//! `whyoom lab`: programs on simulated GPUs.

pub(crate) mod assembler;
mod calibrate;
mod faults;
mod hold;
mod list;
mod names;
mod run;
pub(crate) mod small_values;

use anyhow::Result;

pub(crate) use self::{
    faults::{Fault, kernel_effect},
    names::gpu_name,
    run::{cannot_start, libraries},
};
use crate::arguments::{LabArguments, LabCommand};

/// The exit code of the command.
pub(crate) fn run(arguments: &LabArguments) -> Result<u8> {
    match &arguments.command {
        LabCommand::Run(arguments) => run::run(&arguments.machine, &arguments.command),
        LabCommand::Shell(machine) => run::shell(machine),
        LabCommand::List(arguments) => list::run(arguments).map(|()| 0),
        LabCommand::Calibrate(arguments) => calibrate::run(arguments).map(|()| 0),
        LabCommand::Hold(arguments) => hold::run(arguments).map(|()| 0),
    }
}
