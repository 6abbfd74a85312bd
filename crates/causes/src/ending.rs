//! How to end processes that an input names.

use whyoom_memory::Holder;

use crate::{
    diagnosis::Diagnosis,
    finding::Remedy,
    other_gpu_processes::{held, pids},
    shell_line::ShellLine,
};

/// The signal that is sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Signal {
    /// SIGTERM.
    Term,
    /// SIGKILL.
    Kill,
}

/// Returns the remedy that ends processes: `kill` if each process ID still means the process that the input names, or
/// else `whyoom who`. A process ID of another machine, or from before a restart, means another process here.
pub(crate) fn end(
    diagnosis: &Diagnosis<'_>,
    signal: Signal,
    holders: &[&Holder],
    what: &str,
) -> Remedy {
    let numbers: Vec<String> = holders.iter().map(|holder| holder.pid.to_string()).collect();
    let remedy = if holders.iter().all(|holder| diagnosis.origin.may_end(holder.pid)) {
        let line = match signal {
            Signal::Term => ShellLine::new("kill"),
            Signal::Kill => ShellLine::new("kill -9"),
        };
        Remedy::command(line.words_of(numbers), what)
    } else {
        let named = if numbers.len() == 1 { "process" } else { "processes" };
        let look = format!(
            "{what}; on the machine of the program, this shows whether {named} {} still holds memory, and how to \
             stop it",
            pids(holders)
        );
        Remedy::line("whyoom who", look)
    };
    remedy.freeing(held(holders))
}
