//! The program itself: started with the recorder and the pool, and waited for.

use std::{
    ffi::OsString,
    os::unix::process::ExitStatusExt,
    path::Path,
    process::{Command, ExitStatus},
    time::{SystemTime, UNIX_EPOCH},
};

use whyoom_lab_core::machine::STATE_VARIABLE;
use whyoom_sources::recording::{Ending, has_recorded};

use super::{
    flight::Following,
    host_memory::{Kills, Usage},
    pool::Pool,
    program::Running,
    recorder::Recorder,
    unrecorded,
    watcher::Watcher,
};
use crate::{own_recordings, recording_origin, terminal::say, unstartable::Unstartable};

/// What shells exit with if a program cannot be started.
const NOT_STARTED: u8 = 126;

/// Runs the program to its end, or says why it cannot be started: the exit code for that comes back.
pub(super) fn execute(
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
        recorder.inspect(|recorder| recorder.folder.discard_empty());
        let unstartable = Unstartable::new(name, &error);
        say(&unstartable.to_string());
        unstartable.code
    })?;
    let pid = running.pid();
    let watcher = recorder.map(|recorder| Watcher::start(&recorder.folder.path));
    let flight = recorder.filter(|recorder| recorder.flight);
    let flight = flight.map(|recorder| Following::start(&recorder.folder.path));
    let status = running.wait().map_err(|error| {
        say(&format!("cannot wait for {}: {error}", name.to_string_lossy()));
        NOT_STARTED
    })?;
    drop(watcher);
    if let Some(recorder) = recorder {
        note_ending(words, pid, status, before, &recorder.folder.held_path());
    }
    if let Some(flight) = flight {
        flight.finish();
    }
    Ok(status)
}

/// Keeps how the program ended beside the recording. On a full disk the file stays empty, which `whyoom why` takes for
/// what it is.
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
        disk_full: !has_recorded(folder) && unrecorded::is_full(folder),
        boot_id: recording_origin::boot_id(),
    };
    write_ending(&ending, folder);
}

/// Writes how the program ended, and registers the recording as this user's own.
pub(super) fn write_ending(ending: &Ending, folder: &Path) {
    if ending.write(folder).is_ok() {
        own_recordings::register(folder);
    }
}
