use std::fmt::Write as _;

use whyoom_trace::{Action, StreamId};

use super::*;

/// As RMM 24.12 wrote it on the simulated GPU.
const LOG: &str = "\
Thread,Time,Action,Pointer,Size,Stream
21761,22:46:18.507971,allocate,0x7f04a7600000,52428800,0x10040
21761,22:46:18.508027,allocate,0x7f04a5800000,31457280,0x10040
21761,22:46:18.508035,free,0x7f04a7600000,52428800,0x10040
21761,22:46:18.508453,allocate failure,(nil),1073741824,0x10040
";

fn read(text: &[u8]) -> (Vec<Event>, RmmLogSummary, Tables) {
    let (mut tables, mut events) = (Tables::default(), Vec::new());
    let summary = import(text, "log", DeviceId(0), &mut tables, &mut events).unwrap();
    (events, summary, tables)
}

/// Every event in a word or two.
fn told(text: &str) -> String {
    let (events, _, tables) = read(text.as_bytes());
    let mut told = String::new();
    for event in events {
        match event.action {
            Action::Fact { fact: Fact::AllocatorLog { allocator } } => {
                write!(told, "{} ", tables.text(allocator)).unwrap();
            }
            Action::BlockAlloc { address, size, .. } => {
                write!(told, "+{:x}/{} ", address.0, size.0).unwrap();
            }
            Action::BlockFree { address } => write!(told, "-{:x} ", address.0).unwrap(),
            Action::OutOfMemory { requested } => write!(told, "!{} ", requested.0).unwrap(),
            other => write!(told, "{other:?} ").unwrap(),
        }
    }
    told.trim_end().to_owned()
}

#[test]
fn a_log_becomes_blocks_frees_and_failures() {
    assert_eq!(
        told(LOG),
        "RMM +7f04a7600000/52428800 +7f04a5800000/31457280 -7f04a7600000 !1073741824"
    );
    let (events, summary, _) = read(LOG.as_bytes());
    assert_eq!((summary.allocations, summary.failures), (2, 1));
    assert!(summary.notes().is_empty());
    let last = events.last().unwrap();
    assert_eq!((last.origin.thread.0, last.origin.stream), (21761, StreamId(0x10040)));
    assert_eq!(last.origin.device, DeviceId(0));
}

#[test]
fn every_version_of_the_format_is_read() {
    let versions = [
        // Until 0.19: a colon before the fraction.
        "1,10:00:00:000001,allocate,0x100,8,0x0",
        // 0.20 to 24.10: fmt's pointers.
        "1,10:00:00.000001,allocate,0x100,8,0x0",
        // From 25.02: printf's pointer, and a stream as C++ writes it.
        "1,10:00:00.000001,allocate,0x100,8,0",
        "1,10:00:00.000001,allocate,0x100,8,0x10040\r",
    ];
    for line in versions {
        assert!(is_rmm_log(format!("{line}\n").as_bytes()), "{line}");
        assert_eq!(told(&format!("{HEADER}\n{line}\n")), "RMM +100/8", "{line}");
    }
    assert_eq!(told("1,10:00:00.000001,allocate failure,0x0,8,0x0\n"), "RMM !8");
}

#[test]
fn only_such_a_log_is_taken_for_one() {
    assert!(is_rmm_log(LOG.as_bytes()));
    assert!(is_rmm_log(HEADER.as_bytes()));
    assert!(is_rmm_log(format!("\u{feff}{HEADER}\r\n").as_bytes()));
    for other in ["", "\n", "Thread,Time\n", "torch.OutOfMemoryError: CUDA out of memory.\n"] {
        assert!(!is_rmm_log(other.as_bytes()), "{other}");
    }
}

#[test]
fn the_name_tells_the_device() {
    assert_eq!(device_of("runs/rmm_log.dev3.csv"), DeviceId(3));
    assert_eq!(device_of("rmm.dev0.txt"), DeviceId(0));
    assert_eq!(device_of("rmm_log.csv"), DeviceId::UNKNOWN);
    assert_eq!(device_of("a.device.csv"), DeviceId::UNKNOWN);
    assert_eq!(device_of("a.dev65535.csv"), DeviceId::UNKNOWN);
}

#[test]
fn a_last_line_that_is_cut_is_told_of() {
    let (_, whole, _) = read(LOG.trim_end().as_bytes());
    assert!(!whole.cut_short, "only its end is missing");
    let (_, cut, _) = read(&LOG.as_bytes()[..LOG.len() - 20]);
    assert!(cut.cut_short && cut.passed_over == 0);
    assert_eq!(cut.failures, 0);
    assert!(cut.notes()[0].contains("auto_flush"));
}

#[test]
fn what_was_allocated_before_the_log_is_told_of() {
    let (_, summary, _) = read(b"1,10:00:00.000001,free,0x100,8,0x0\n");
    assert_eq!(summary.unmatched, 1);
    assert!(summary.notes()[0].contains("allocated before it begins"));
}

#[test]
fn logs_behind_each_other_are_several_runs() {
    let (events, summary, tables) = read(format!("{LOG}{LOG}").as_bytes());
    let processes: HashSet<_> = events.iter().map(|event| event.origin.process).collect();
    assert_eq!(processes.len(), 2);
    assert!(tables.process_named("log, run 2").is_some());
    assert_eq!((summary.allocations, summary.passed_over), (4, 0));
    let (_, many, _) = read(LOG.repeat(1000).as_bytes());
    assert_eq!((many.allocations, many.passed_over), (2000, 0));
}

#[test]
fn what_is_no_line_is_passed_over_in_little_memory() {
    let mut text = LOG.as_bytes().to_vec();
    text.extend_from_slice(&vec![b'x'; 3 << 20]);
    text.extend_from_slice(
        b"\n21761,22:46:19.000000,free,0x7f04a5800000,31457280,0x10040\n,,,,,\n",
    );
    let (events, summary, _) = read(&text);
    assert_eq!((summary.passed_over, summary.unmatched), (2, 0));
    assert!(matches!(events.last().unwrap().action, Action::BlockFree { .. }));
}

#[test]
fn nothing_is_given_for_nothing() {
    assert_eq!(
        told("1,10:00:00.000001,allocate,(nil),0,0x0\n1,10:00:00.1,free,(nil),0,0x0\n"),
        "RMM"
    );
    assert_eq!(told("1,10:00:00.000001,allocate,0x+1,8,0x0\n"), "");
}
