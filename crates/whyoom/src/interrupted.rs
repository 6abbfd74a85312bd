//! A file that a signal must not leave behind.

use std::{fs, io, path::Path, thread};

/// Removes the file where a signal ends the program, which then ends as the signal has it.
#[cfg(unix)]
pub(crate) fn remove_on_signal(path: &Path) -> io::Result<()> {
    use signal_hook::{
        consts::{SIGHUP, SIGINT, SIGTERM},
        iterator::Signals,
        low_level::emulate_default_handler,
    };

    let path = path.to_owned();
    let mut signals = Signals::new([SIGHUP, SIGINT, SIGTERM])?;
    thread::spawn(move || {
        for signal in signals.forever() {
            let _ = fs::remove_file(&path);
            let _ = emulate_default_handler(signal);
        }
    });
    Ok(())
}

/// Removes the file where Ctrl-C ends the program: elsewhere that is all that a handler can be told of.
#[cfg(not(unix))]
pub(crate) fn remove_on_signal(path: &Path) -> io::Result<()> {
    use std::{
        sync::{
            Arc,
            atomic::{AtomicBool, Ordering::Relaxed},
        },
        time::Duration,
    };

    use crate::exit_status::INTERRUPTED;

    const BETWEEN_LOOKS: Duration = Duration::from_millis(50);
    let (path, interrupted) = (path.to_owned(), Arc::new(AtomicBool::new(false)));
    signal_hook::flag::register(signal_hook::consts::SIGINT, Arc::clone(&interrupted))?;
    thread::spawn(move || {
        while !interrupted.load(Relaxed) {
            thread::sleep(BETWEEN_LOOKS);
        }
        let _ = fs::remove_file(&path);
        std::process::exit(i32::from(INTERRUPTED));
    });
    Ok(())
}
