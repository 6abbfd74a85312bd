//! `whyoom run`: a program with the recorder in it, and the verdict when it has ended.

mod apply;
mod ending;
mod execute;
mod flight;
mod folder;
mod history;
mod host_memory;
mod keepers;
mod modules;
mod pool;
mod preload;
mod program;
mod recorder;
mod termination;
mod unrecorded;
mod watcher;

use anyhow::Result;
use whyoom_lab_core::session::exit_code;

use self::{execute::execute, pool::Pool, recorder::Recorder};
pub(crate) use self::{
    folder::{check_place, make_for},
    recorder::FOLDER_VARIABLE,
};
use crate::{
    arguments::RunArguments,
    obstacle::{Obstacle, Sureness},
    terminal::say,
    whole_file::may_write_beside,
};

/// The program's own exit code: whatever goes wrong with the recording, that stays.
pub(crate) fn run(arguments: &RunArguments) -> Result<u8> {
    may_write_beside(&arguments.json, arguments.force)?;
    may_write_beside(&arguments.report, arguments.force)?;
    let obstacle = Obstacle::of(&arguments.command);
    if let Some(consequence) = obstacle.as_ref().and_then(Obstacle::warning) {
        say(&consequence);
    }
    if obstacle.is_some_and(|obstacle| obstacle.sureness == Sureness::Fatal) {
        let ran = execute(&arguments.command, None, None, None);
        return Ok(ran.map_or_else(|code| code, exit_code));
    }
    if arguments.pool.is_some() {
        Pool::check_environment(arguments)?;
    }
    let pool = prepare_pool(arguments);
    let recorder = match prepare(arguments) {
        Ok(recorder) if pool.is_some() => Some(recorder.under_pool()),
        Ok(recorder) => Some(recorder),
        Err(error) => {
            say(&format!("{error:#}; the program runs without recording"));
            None
        }
    };
    let status = match execute(&arguments.command, recorder.as_ref(), pool.as_ref(), None) {
        Ok(status) => status,
        Err(code) => return Ok(code),
    };
    let Some(recorder) = recorder else { return Ok(exit_code(status)) };
    let concluded = ending::conclude(arguments, &recorder.folder);
    let concluded = concluded.unwrap_or_else(|error| {
        say(&format!("no verdict from the recording: {error:#}"));
        None
    });
    if !arguments.apply {
        return Ok(exit_code(status));
    }
    apply::rerun(arguments, &recorder, status, concluded.as_ref())
}

fn prepare(arguments: &RunArguments) -> Result<Recorder> {
    let folder = folder::make(arguments.output.as_deref())?;
    let library = recorder::LIBRARY.find().inspect_err(|_| folder.discard_empty())?;
    Ok(Recorder::new(arguments, folder, library))
}

/// The pool, where it was asked for and can be had.
fn prepare_pool(arguments: &RunArguments) -> Option<Pool> {
    let pool = Pool::prepare(arguments, arguments.pool?);
    let pool = pool
        .inspect_err(|error| say(&format!("{error:#}; the program runs without the pool")))
        .ok()?;
    if arguments.torch_history {
        say("--torch-history is ignored: PyTorch keeps no history under the pool");
    }
    Some(pool)
}
