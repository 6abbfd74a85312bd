//! `whyoom run`: a program with the recorder in it, and the verdict when it has ended.

mod apply;
mod ending;
mod folder;
mod history;
mod host_memory;
mod keepers;
mod pool;
mod preload;
mod program;
mod recorder;
mod unrecorded;
mod watcher;

use std::{
    ffi::OsString,
    os::unix::process::ExitStatusExt,
    path::Path,
    process::{Command, ExitStatus},
    time::{SystemTime, UNIX_EPOCH},
};

use anyhow::Result;
use whyoom_lab_core::{machine::STATE_VARIABLE, session::exit_code};
use whyoom_sources::recording::Ending;

pub(crate) use self::{history::snapshots, keepers::keepers, recorder::FOLDER_VARIABLE};
use self::{
    host_memory::{Kills, Usage},
    pool::Pool,
    program::Running,
    recorder::Recorder,
    watcher::Watcher,
};
use crate::{
    arguments::RunArguments,
    obstacle::{Obstacle, Sureness},
    terminal::say,
    unstartable::Unstartable,
};

/// What shells end with where a program cannot be started.
const NOT_STARTED: u8 = 126;

/// The program's own exit code: whatever goes wrong with the recording, that stays.
pub(crate) fn run(arguments: &RunArguments) -> Result<u8> {
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
            say(&format!("{error:#}; the program runs unrecorded"));
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
        say(&format!("the recording gives no verdict: {error:#}"));
        None
    });
    if !arguments.apply {
        return Ok(exit_code(status));
    }
    apply::rerun(arguments, &recorder, status, concluded.as_ref())
}

fn prepare(arguments: &RunArguments) -> Result<Recorder> {
    let folder = folder::make(arguments.output.as_deref())?;
    let library = recorder::LIBRARY.find().inspect_err(|_| ending::discard_empty(&folder))?;
    Ok(Recorder::new(arguments, folder, library))
}

/// The pool, where it was asked for and can be had.
fn prepare_pool(arguments: &RunArguments) -> Option<Pool> {
    let pool = Pool::prepare(arguments, arguments.pool?);
    let pool = pool
        .inspect_err(|error| say(&format!("{error:#}; the program runs without the pool")))
        .ok()?;
    if arguments.torch_history {
        say("--torch-history is left out: under the pool PyTorch keeps no history of its own");
    }
    Some(pool)
}

/// Runs the program to its end, or says why it cannot be started: the exit code for that comes back.
fn execute(
    words: &[OsString],
    recorder: Option<&Recorder>,
    pool: Option<&Pool>,
    setting: Option<(&str, &str)>,
) -> Result<ExitStatus, u8> {
    let Some((name, arguments)) = words.split_first() else { return Err(NOT_STARTED) };
    let mut command = Command::new(name);
    command.args(arguments).envs(setting);
    // The recorder, which serves the driver's functions from the pool, comes before it.
    let told = |error: &anyhow::Error| say(&format!("{error:#}"));
    let _ = pool.map(|pool| pool.equip(&mut command).inspect_err(told));
    // What Python runs first is there while the program is.
    let _home = recorder.map(|recorder| recorder.equip(&mut command).inspect_err(told));
    let before = Kills::count();
    let running = Running::start(command).map_err(|error| {
        recorder.inspect(|recorder| ending::discard_empty(&recorder.folder));
        let unstartable = Unstartable::new(name, &error);
        say(&unstartable.to_string());
        unstartable.code
    })?;
    let pid = running.pid();
    let watcher = recorder.map(|recorder| Watcher::start(&recorder.folder));
    let status = running.wait().map_err(|error| {
        say(&format!("cannot wait for {}: {error}", name.to_string_lossy()));
        NOT_STARTED
    })?;
    drop(watcher);
    if let Some(recorder) = recorder {
        note_ending(words, pid, status, before, &recorder.folder);
    }
    Ok(status)
}

/// Keeps how the program ended beside the recording. Where that is impossible, so is the recording.
fn note_ending(words: &[OsString], pid: u32, status: ExitStatus, before: Kills, folder: &Path) {
    let (kills, group) = (Kills::count().since(before), Usage::of_group());
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let ending = Ending {
        command: words.iter().map(|word| word.to_string_lossy().into_owned()).collect(),
        pid,
        time: u64::try_from(now.as_nanos()).unwrap_or(u64::MAX),
        status: status.code(),
        signal: status.signal(),
        killed_for_memory: kills.on_machine,
        killed_in_group: kills.in_group,
        group_limit: group.limit,
        group_peak: group.peak,
        simulated: std::env::var_os(STATE_VARIABLE).is_some(),
        applied: None,
    };
    let _ = ending.write(folder);
}
