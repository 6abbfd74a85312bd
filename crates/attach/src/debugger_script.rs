//! What gdb is asked, and what it answers. Only addresses and the process's number stand in it.

use crate::interpreter::Calls;

/// What our own lines begin with.
const MARK: &str = "WHYOOM";

/// Before the process: nothing of its files is run, and no symbols are read, which would take seconds while it is
/// stopped.
pub(crate) const SETTINGS: &[&str] = &[
    "set auto-load off",
    "set auto-solib-add off",
    "set debuginfod enabled off",
    "set confirm off",
    "set pagination off",
    "set width 0",
    "set print thread-events off",
    "set prompt",
    "set unwindonsignal on",
    "handle SIGINT SIGALRM SIGUSR1 SIGUSR2 SIGCHLD SIGTERM SIGHUP nostop noprint pass",
];

/// A line of ours: a word, and a number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Answer<'a> {
    pub(crate) word: &'a str,
    pub(crate) number: i64,
}

/// Reads a line of gdb's output; nothing where it is none of ours.
pub(crate) fn answer(line: &str) -> Option<Answer<'_>> {
    // gdb may put a prompt of its own before it.
    let (_, rest) = line.split_once(MARK)?;
    let (word, number) = rest.trim().split_once(' ')?;
    Some(Answer { word, number: number.trim().parse().ok()? })
}

/// The thread that a header of `thread apply` names: `Thread 1 (Thread 0x7ff7 (LWP 19733)):`
pub(crate) fn thread(line: &str) -> Option<u32> {
    let (_, rest) = line.strip_prefix("Thread ")?.split_once("LWP ")?;
    rest.split(|c: char| !c.is_ascii_digit()).next()?.parse().ok()
}

/// What gdb says of a register where it has no process.
pub(crate) const NOT_ATTACHED: &str = "No registers";

/// A register that no program depends on: the opcode of the last x87 instruction, or Arm's cumulative flags.
const UNUSED_REGISTER: &str = if cfg!(target_arch = "x86_64") { "$fop" } else { "$fpsr" };

/// Stops the process, and writes a register as every call does when it puts registers back. gdb that cannot would leave
/// a thread as the call left it. Of a command of its own gdb leaves out what follows an error.
pub(crate) fn stop(pid: u32) -> String {
    format!(
        "define whyoom_write\n\
         set $whyoom_before = {UNUSED_REGISTER}\n\
         set {UNUSED_REGISTER} = $whyoom_before ^ 1\n\
         set {UNUSED_REGISTER} = $whyoom_before\n\
         printf \"{MARK} writes 1\\n\"\n\
         end\n\
         printf \"{MARK} attaching 0\\n\"\n\
         attach {pid}\n\
         printf \"{MARK} attached %d\\n\", $_inferior\n\
         set scheduler-locking on\n\
         thread 1\n\
         whyoom_write\n\
         printf \"{MARK} tried 0\\n\"\n"
    )
}

/// Asks whether there still is an interpreter, and whether the first thread has its lock.
pub(crate) fn ask_first(calls: &Calls) -> String {
    format!(
        "printf \"{MARK} initialized %d\\n\", ((int (*)(void)) {:#x})()\n\
         printf \"{MARK} holds %d\\n\", ((int (*)(void)) {:#x})()\n",
        calls.is_initialized, calls.check
    )
}

/// Asks each thread whether it has the interpreter's lock. The function takes no lock itself.
pub(crate) fn holders(calls: &Calls) -> String {
    format!(
        "thread apply all printf \"{MARK} holder %d\\n\", ((int (*)(void)) {:#x})()\n\
         thread 1\n\
         printf \"{MARK} asked 0\\n\"\n",
        calls.check
    )
}

/// Leaves a call for the interpreter's next safe point.
pub(crate) fn leave_call(calls: &Calls, text: u64) -> String {
    format!(
        "set scheduler-locking off\n\
         printf \"{MARK} called %d\\n\", ((int (*)(void *, void *)) {:#x})((void *) {:#x}, (void *) \
         {text:#x})\n\
         printf \"{MARK} over 0\\n\"\n",
        calls.add_pending_call, calls.run_string
    )
}

/// Takes the interpreter's lock on a thread that waits, and runs the call there. Each step fails by itself: nothing is
/// run without the lock, and it is given back whatever came of it.
pub(crate) fn call_now(calls: &Calls, text: u64) -> String {
    format!(
        "set scheduler-locking off\n\
         set $whyoom_state = -1\n\
         set $whyoom_ended = -1\n\
         set $whyoom_state = ((int (*)(void)) {:#x})()\n\
         if $whyoom_state >= 0\n\
         set $whyoom_ended = ((int (*)(void *)) {:#x})((void *) {text:#x})\n\
         end\n\
         if $whyoom_state >= 0\n\
         call ((void (*)(int)) {:#x})($whyoom_state)\n\
         printf \"{MARK} called %d\\n\", $whyoom_ended\n\
         end\n\
         printf \"{MARK} over 0\\n\"\n",
        calls.ensure, calls.run_string, calls.release
    )
}

/// Lets the process go.
pub(crate) fn release() -> String {
    format!("detach\nprintf \"{MARK} detached 0\\n\"\nquit\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_are_read() {
        assert_eq!(answer("WHYOOM holds 1"), Some(Answer { word: "holds", number: 1 }));
        assert_eq!(answer("(gdb) WHYOOM called -1"), Some(Answer { word: "called", number: -1 }));
        for other in ["holds 1", "WHYOOM holds", "WHYOOM holds many", "[New LWP 7]"] {
            assert_eq!(answer(other), None, "{other}");
        }
    }

    #[test]
    fn threads_have_names() {
        assert_eq!(thread("Thread 1 (Thread 0x7ff7fade9b80 (LWP 19733) \"python\"):"), Some(19733));
        assert_eq!(thread("Thread 2 (LWP 7):"), Some(7));
        assert_eq!(thread("[New LWP 7]"), None);
    }
}
