//! How to end processes that an input names.

use whyoom_memory::Holder;

use crate::{
    finding::Remedy,
    input_origin::InputOrigin,
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
pub(crate) fn end_processes(
    origin: &InputOrigin,
    signal: Signal,
    holders: &[&Holder],
    what: &str,
) -> Remedy {
    let numbers: Vec<String> = holders.iter().map(|holder| holder.pid.to_string()).collect();
    // `kill` without a process ID is an error.
    let may_end_all =
        !holders.is_empty() && holders.iter().all(|holder| origin.may_end(holder.pid));
    let remedy = if may_end_all {
        let line = match signal {
            Signal::Term => ShellLine::new("kill"),
            Signal::Kill => ShellLine::new("kill -9"),
        };
        Remedy::command(line.inputs(numbers), what)
    } else {
        let shows = match holders {
            [] => "which processes hold memory, and how to stop them".to_owned(),
            [one] => format!("whether process {} still holds memory, and how to stop it", one.pid),
            several => {
                format!(
                    "whether processes {} still hold memory, and how to stop them",
                    pids(several)
                )
            }
        };
        let what = format!("{what}; on the machine of the program, this shows {shows}");
        Remedy::line("whyoom who", what)
    };
    remedy.freeing(held(holders))
}

#[cfg(test)]
mod tests {
    use whyoom_trace::{Bytes, ProcessState, StringId};

    use super::*;

    fn holder(pid: u32) -> Holder {
        let (command, standing) = (StringId(0), ProcessState::Orphan);
        Holder { pid, bytes: Bytes(1), command, standing }
    }

    fn remedy(running: &[u32], holders: &[&Holder]) -> Remedy {
        let running = running.iter().copied().collect();
        let origin = InputOrigin { running, ..InputOrigin::own(&["a"]) };
        end_processes(&origin, Signal::Term, holders, "stop it")
    }

    #[test]
    fn kill_has_process_ids() {
        let (first, second) = (holder(70), holder(71));
        let pasted = |remedy: Remedy| remedy.paste.unwrap_or_default();
        assert_eq!(pasted(remedy(&[70, 71], &[&first, &second])), "kill 70 71");
        assert_eq!(pasted(remedy(&[70], &[&first, &second])), "whyoom who");
        assert_eq!(pasted(remedy(&[70, 71], &[])), "whyoom who");
    }

    #[test]
    fn one_process_holds_and_several_hold() {
        let (first, second) = (holder(70), holder(71));
        let one = remedy(&[], &[&first]).what;
        assert!(
            one.ends_with("whether process 70 still holds memory, and how to stop it"),
            "{one}"
        );
        let both = remedy(&[], &[&first, &second]).what;
        assert!(
            both.ends_with("whether processes 70 71 still hold memory, and how to stop them"),
            "{both}"
        );
    }
}
