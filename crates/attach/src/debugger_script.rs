//! What gdb is asked, and what it answers. Only addresses and the process's number stand in it.

use crate::{interpreter::Calls, scratch::Mark};

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

/// The word of an answer that says that a call was not made, or did not return.
pub(crate) const FAILED: &str = "failed";

/// Stops the process.
///
/// If the process starts another program (`execve`), it stops there again. A call that stops at a catchpoint is given up and
/// its registers are not put back: they would be another program's. After a signal they are (`unwindonsignal`), which is
/// right in the same program only.
pub(crate) fn stop(pid: u32) -> String {
    format!(
        "define whyoom_write\n\
         set $whyoom_before = {UNUSED_REGISTER}\n\
         set {UNUSED_REGISTER} = $whyoom_before ^ 1\n\
         set {UNUSED_REGISTER} = $whyoom_before\n\
         printf \"{MARK} writes 1\\n\"\n\
         end\n\
         catch exec\n\
         printf \"{MARK} attaching 0\\n\"\n\
         attach {pid}\n\
         printf \"{MARK} attached %d\\n\", $_inferior\n\
         set scheduler-locking on\n\
         thread 1\n"
    )
}

/// Writes a register as every call does when it puts registers back. gdb that cannot would leave a thread as the call
/// left it. Of a command of its own (`whyoom_write`, which `stop` defines) gdb leaves out what follows an error.
pub(crate) fn try_registers() -> String {
    format!(
        "whyoom_write\n\
         printf \"{MARK} tried 0\\n\"\n"
    )
}

/// Returns the condition under which a function is called: the process's memory has the mark. Where the memory cannot be
/// read, gdb leaves out what depends on it.
fn has_mark(mark: Mark) -> String {
    format!("*(unsigned long *) {:#x} == {:#x}", mark.address, mark.value)
}

/// Asks whether there still is an interpreter.
pub(crate) fn is_initialized(calls: &Calls, mark: Mark) -> String {
    question("initialized", calls.is_initialized, mark)
}

/// Asks whether the first thread has the interpreter's lock.
pub(crate) fn holds(calls: &Calls, mark: Mark) -> String {
    question("holds", calls.check, mark)
}

/// Calls a function without arguments, and says what it returned.
fn question(word: &str, function: u64, mark: Mark) -> String {
    let condition = has_mark(mark);
    format!(
        "set $whyoom_answered = 0\n\
         if {condition}\n\
         printf \"{MARK} {word} %d\\n\", ((int (*)(void)) {function:#x})()\n\
         set $whyoom_answered = 1\n\
         end\n\
         if !$whyoom_answered\n\
         printf \"{MARK} {FAILED} 0\\n\"\n\
         end\n"
    )
}

/// Asks each thread whether it has the interpreter's lock. The function takes no lock itself.
pub(crate) fn holders(calls: &Calls, mark: Mark) -> String {
    let condition = has_mark(mark);
    format!(
        "if {condition}\n\
         thread apply all printf \"{MARK} holder %d\\n\", ((int (*)(void)) {:#x})()\n\
         end\n\
         thread 1\n\
         printf \"{MARK} asked 0\\n\"\n",
        calls.check
    )
}

/// Leaves a call for the interpreter's next safe point.
pub(crate) fn leave_call(calls: &Calls, text: u64, mark: Mark) -> String {
    let condition = has_mark(mark);
    format!(
        "set scheduler-locking off\n\
         if {condition}\n\
         printf \"{MARK} called %d\\n\", ((int (*)(void *, void *)) {:#x})((void *) {:#x}, (void *) \
         {text:#x})\n\
         end\n\
         printf \"{MARK} over 0\\n\"\n",
        calls.add_pending_call, calls.run_string
    )
}

/// Takes the interpreter's lock on a thread that waits, and runs the call there. Each step fails by itself: nothing is
/// run without the lock, and it is given back whatever came of it, but not in another program: whyoom may have ended by
/// then, and only gdb can look.
pub(crate) fn call_now(calls: &Calls, text: u64, mark: Mark) -> String {
    let condition = has_mark(mark);
    format!(
        "set scheduler-locking off\n\
         set $whyoom_state = -1\n\
         set $whyoom_ended = -1\n\
         if {condition}\n\
         set $whyoom_state = ((int (*)(void)) {:#x})()\n\
         end\n\
         if $whyoom_state >= 0 && {condition}\n\
         set $whyoom_ended = ((int (*)(void *)) {:#x})((void *) {text:#x})\n\
         end\n\
         if $whyoom_state >= 0 && {condition}\n\
         call ((void (*)(int)) {:#x})($whyoom_state)\n\
         printf \"{MARK} called %d\\n\", $whyoom_ended\n\
         end\n\
         printf \"{MARK} over 0\\n\"\n",
        calls.ensure, calls.run_string, calls.release
    )
}

/// Clears the mark, and has gdb detach and end.
pub(crate) fn end(mark: Option<Mark>) -> String {
    let clear = mark.map_or(String::new(), |mark| {
        format!("if {}\nset *(unsigned long *) {:#x} = 0\nend\n", has_mark(mark), mark.address)
    });
    format!("{clear}detach\nquit\n")
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
    fn each_call_is_under_the_mark() {
        let calls = Calls {
            add_pending_call: 0xca11,
            run_string: 0xca12,
            ensure: 0xca13,
            release: 0xca14,
            check: 0xca15,
            is_initialized: 0xca16,
        };
        let mark = Mark { address: 0xadd, value: 0x7a1 };
        let scripts = [
            (is_initialized(&calls, mark), 1),
            (holds(&calls, mark), 1),
            (holders(&calls, mark), 1),
            (leave_call(&calls, 0x7e, mark), 1),
            (call_now(&calls, 0x7e, mark), 3),
        ];
        for (script, expected) in scripts {
            let (mut conditions, mut count) = (Vec::new(), 0);
            for line in script.lines() {
                match line.split_once(' ') {
                    Some(("if", condition)) => conditions.push(condition.contains(&has_mark(mark))),
                    _ if line == "end" => assert!(conditions.pop().is_some(), "{script}"),
                    _ if line.contains("0xca1") => {
                        count += 1;
                        assert!(conditions.contains(&true), "{line}: {script}");
                    }
                    _ => {}
                }
            }
            assert_eq!((conditions.len(), count), (0, expected), "{script}");
        }
        let cleared = end(Some(mark));
        assert!(cleared.contains("set *(unsigned long *) 0xadd = 0\nend\ndetach"), "{cleared}");
        assert_eq!(end(None), "detach\nquit\n");
        assert!(stop(7).find("catch exec\n") < stop(7).find("attach 7\n"), "{}", stop(7));
        assert!(stop(7).contains("catch exec\n"), "{}", stop(7));
    }

    #[test]
    fn threads_have_names() {
        assert_eq!(thread("Thread 1 (Thread 0x7ff7fade9b80 (LWP 19733) \"python\"):"), Some(19733));
        assert_eq!(thread("Thread 2 (LWP 7):"), Some(7));
        assert_eq!(thread("[New LWP 7]"), None);
    }
}
