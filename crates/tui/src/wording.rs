//! Figures and facts in words.

use whyoom_node::Workload;
use whyoom_trace::Bytes;

const SECOND: u64 = 1_000_000_000;

/// How long ago something was, in a few columns.
pub(crate) fn age(since: u64, now: u64) -> String {
    let seconds = now.saturating_sub(since) as f64 / SECOND as f64;
    let (amount, unit) = match seconds {
        ..60.0 => return format!("{seconds:.0} s"),
        ..3600.0 => return format!("{:.0} min", seconds / 60.0),
        ..86_400.0 => (seconds / 3600.0, "h"),
        _ => (seconds / 86_400.0, "d"),
    };
    if amount < 100.0 { format!("{amount:.1} {unit}") } else { format!("{amount:.0} {unit}") }
}

/// The time of day.
pub(crate) fn clock(time: u64) -> String {
    let seconds = time / SECOND % 86_400;
    format!("{:02}:{:02}:{:02} UTC", seconds / 3600, seconds / 60 % 60, seconds % 60)
}

/// An amount that may not be known.
pub(crate) fn amount(bytes: Option<u64>) -> String {
    bytes.map_or_else(|| "?".to_owned(), |bytes| Bytes(bytes).to_string())
}

/// What a process holds.
pub(crate) fn holdings(holds: &[(u32, Option<u64>)]) -> String {
    let part = |(device, bytes): &(u32, Option<u64>)| match bytes {
        Some(bytes) => format!("{} of GPU {device}", Bytes(*bytes)),
        None => format!("GPU {device}: the driver does not report how much"),
    };
    holds.iter().map(part).collect::<Vec<_>>().join(", ")
}

/// Where a process runs.
pub(crate) fn workload(workload: &Workload) -> String {
    match workload {
        Workload::Container { id } => format!("container {id}"),
        Workload::Pod { uid, container: None } => format!("pod {uid}"),
        Workload::Pod { uid, container: Some(id) } => format!("pod {uid}, container {id}"),
        Workload::Slurm { job } => format!("Slurm job {job}"),
    }
}

/// A count and its noun.
pub(crate) fn count(number: usize, one: &str, many: &str) -> String {
    if number == 1 { format!("1 {one}") } else { format!("{number} {many}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ages_are_short() {
        let after = |seconds: u64| age(5, seconds * SECOND + 5);
        assert_eq!(after(0), "0 s");
        assert_eq!(after(59), "59 s");
        assert_eq!(after(125), "2 min");
        assert_eq!(after(3 * 3600 + 720), "3.2 h");
        assert_eq!(after(400 * 86_400), "400 d");
        // A clock that was set back.
        assert_eq!(age(10, 5), "0 s");
    }

    #[test]
    fn the_time_of_day() {
        assert_eq!(clock(0), "00:00:00 UTC");
        assert_eq!(clock((86_400 + 3661) * SECOND), "01:01:01 UTC");
    }
}
