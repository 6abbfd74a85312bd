//! `/proc/PID/status`.

/// The first signal, in a mask of signals.
const HANGUP: u64 = 1;

/// What is used of it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Status {
    /// The user that started it.
    pub uid: Option<u32>,
    /// Whether it ignores the end of its terminal, as what `nohup` starts does.
    pub ignores_hangup: bool,
    /// How many namespaces of process numbers it is in, from that of this /proc on.
    pub namespaces: usize,
    /// How often it was taken off a processor, for either reason.
    pub switches: Option<u64>,
}

impl Status {
    /// Reads the lines.
    #[must_use]
    pub fn parse(text: &str) -> Self {
        let mut status = Self::default();
        for (key, value) in text.lines().filter_map(|line| line.split_once(':')) {
            let first = value.split_ascii_whitespace().next();
            match key {
                "Uid" => status.uid = first.and_then(|uid| uid.parse().ok()),
                "NSpid" => status.namespaces = value.split_ascii_whitespace().count(),
                "SigIgn" => {
                    let ignored = first.and_then(|mask| u64::from_str_radix(mask, 16).ok());
                    status.ignores_hangup = ignored.is_some_and(|mask| mask & HANGUP != 0);
                }
                "voluntary_ctxt_switches" | "nonvoluntary_ctxt_switches" => {
                    let more = first.and_then(|count| count.parse::<u64>().ok());
                    status.switches = match (status.switches, more) {
                        (Some(sum), Some(more)) => Some(sum.saturating_add(more)),
                        (sum, more) => sum.or(more),
                    };
                }
                _ => {}
            }
        }
        status
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn user_and_switches() {
        let text = "Name:\tpython\nUid:\t1000\t1000\t1000\t1000\nNSpid:\t812\t3\nSigIgn:\t0000000001001001\nvoluntary_ctxt_switches:\t5\n\
                    nonvoluntary_ctxt_switches:\t2\n";
        assert_eq!(
            Status::parse(text),
            Status { uid: Some(1000), ignores_hangup: true, namespaces: 2, switches: Some(7) }
        );
        assert_eq!(Status::parse("Uid:\nUid: x"), Status::default());
    }
}
