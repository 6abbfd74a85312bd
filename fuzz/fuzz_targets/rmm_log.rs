//! Any bytes as RMM's log: read and judged, never a panic, never more events than lines.
#![no_main]

use libfuzzer_sys::fuzz_target;
use whyoom_memory::Model;
use whyoom_sources::rmm_log;
use whyoom_trace::Tables;

fuzz_target!(|bytes: &[u8]| {
    let (mut tables, mut model) = (Tables::default(), Model::default());
    let device = rmm_log::device_of("log.dev0.csv");
    let _ = rmm_log::is_rmm_log(bytes);
    if let Ok(summary) = rmm_log::import(bytes, "fuzz", device, &mut tables, &mut model) {
        let lines = bytes.split(|byte| *byte == b'\n').count() as u64;
        let told = summary.allocations + summary.failures + summary.unmatched + summary.passed_over;
        assert!(told <= lines, "{told} of {lines} lines");
        assert!(summary.notes().len() <= 3);
        let _ = whyoom_causes::judge(&model, &tables);
    }
});
