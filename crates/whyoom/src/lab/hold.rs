//! `whyoom lab hold`: a process that holds memory for a fault on demand. Not for people.

use std::{process::Command, time::Duration};

use anyhow::Result;
use whyoom_lab_core::{
    holders::{Hold, hold},
    machine::{Identity, Machine},
};

use crate::arguments::LabHoldArguments;

pub(crate) fn run(arguments: &LabHoldArguments) -> Result<()> {
    if arguments.detach {
        let mut command = Command::new(std::env::current_exe()?);
        command.args(std::env::args_os().skip(1).filter(|argument| argument != "--detach"));
        // Nobody waits for it: that is the point.
        command.spawn()?;
        return Ok(());
    }
    let machine = Machine::open(&arguments.state)?;
    let wanted = Hold {
        device: 0,
        bytes: arguments.bytes,
        after: Duration::from_millis(arguments.after_milliseconds),
        stuck: arguments.stuck,
    };
    let lab = Identity { pid: arguments.lab, started: arguments.lab_started };
    Ok(hold(&machine, wanted, lab)?)
}
