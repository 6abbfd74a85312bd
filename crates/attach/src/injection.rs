//! A script, run in the interpreter of a process.

use std::{os::unix::ffi::OsStrExt, path::Path, time::Duration};

use crate::{
    debugger,
    error::AttachError,
    interpreter::{Interpreter, Version},
    interrupts::Interrupts,
    remote_exec::{self, Asked, Refusal},
    scratch::Scratch,
    target::Target,
};

/// The first version that can be asked itself.
const SINCE: Version = Version(3, 14);

/// How the interpreter was asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Route {
    /// By itself, through PEP 768.
    RemoteExec,
    /// By gdb, which left a call for the next safe point.
    PendingCall,
    /// By gdb, on the first thread, which waited.
    WaitingThread,
}

/// A request to run a script. When it is dropped, what is left of it in the process is taken back; a script that runs
/// already is not affected.
#[derive(Debug)]
pub struct Injected<'a> {
    /// How it was asked.
    pub route: Route,
    /// How long the process was stopped, at most.
    pub stopped: Duration,
    target: &'a Target,
    asked: Option<Asked>,
    _text: Option<Scratch<'a>>,
}

impl Drop for Injected<'_> {
    fn drop(&mut self) {
        if let Some(asked) = &self.asked {
            asked.withdraw(self.target.memory());
        }
    }
}

/// Has the interpreter run a script: a file, by its path in the process. It runs in a namespace of its own, in any
/// thread and more than once where several come by, and must raise nothing.
///
/// # Errors
/// Says what is in the way.
pub fn run_script<'a>(
    target: &'a Target,
    interpreter: &Interpreter,
    script: &Path,
    interrupts: &dyn Interrupts,
) -> Result<Injected<'a>, AttachError> {
    let runtime = interpreter.runtime.filter(|_| interpreter.version >= Some(SINCE));
    let refused = match runtime {
        Some(runtime) => match ask_itself(target, runtime, script) {
            Ok(asked) => return Ok(asked),
            Err(refusal) => Some(refusal),
        },
        None => None,
    };
    let asked = by_debugger(target, interpreter, script, interrupts);
    asked.map_err(|error| match (refused, error) {
        (Some(Refusal::Disabled), AttachError::NoDebugger) => {
            AttachError::Disabled(target.pid(), "gdb, the other way, is not installed".to_owned())
        }
        (Some(Refusal::Unknown(what)), AttachError::NoDebugger) => {
            AttachError::Unknown { pid: target.pid(), what }
        }
        (_, error) => error,
    })
}

fn ask_itself<'a>(
    target: &'a Target,
    runtime: u64,
    script: &Path,
) -> Result<Injected<'a>, Refusal> {
    let asked = remote_exec::ask(target.memory(), runtime, script.as_os_str().as_bytes())?;
    let (route, stopped) = (Route::RemoteExec, Duration::ZERO);
    Ok(Injected { route, stopped, target, asked: Some(asked), _text: None })
}

fn by_debugger<'a>(
    target: &'a Target,
    interpreter: &Interpreter,
    script: &Path,
    interrupts: &dyn Interrupts,
) -> Result<Injected<'a>, AttachError> {
    // Before anything is written: without gdb there is nothing to take back.
    debugger::find()?;
    interpreter.check_unchanged(target)?;
    let text = Scratch::write(target, interpreter, &call(script))?;
    let called = debugger::call(target, interpreter, &text, interrupts)?;
    let route = if called.is_left { Route::PendingCall } else { Route::WaitingThread };
    Ok(Injected { route, stopped: called.stopped, target, asked: None, _text: Some(text) })
}

/// What is run in the namespace of `__main__`, where nothing may be left: a lambda has names of its own. Ctrl-C that
/// arrives meanwhile is the program's.
fn call(script: &Path) -> String {
    let path: String =
        script.as_os_str().as_bytes().iter().map(|byte| format!("\\x{byte:02x}")).collect();
    format!(
        "try:\n (lambda b,f:b.exec((f.read(),f.close())[0],{{}}))\
         (__import__('builtins'),__import__('io').open(b'{path}','rb'))\n\
         except KeyboardInterrupt:\n (lambda t:t.start_new_thread(t.interrupt_main,()))\
         (__import__('_thread'))\n\
         except BaseException:\n pass\n"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_is_never_code() {
        let text = call(Path::new("/tmp/a'b\n"));
        assert!(text.contains(r"b'\x2f\x74\x6d\x70\x2f\x61\x27\x62\x0a'"), "{text}");
        assert!(text.is_ascii() && text.ends_with("pass\n"));
    }
}
