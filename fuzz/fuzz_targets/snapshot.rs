//! Any bytes as a snapshot: refused or judged, never a panic, never more than their share of memory.
#![no_main]

use libfuzzer_sys::fuzz_target;
use whyoom_memory::Model;
use whyoom_sources::torch_snapshot;
use whyoom_trace::Tables;

fuzz_target!(|bytes: &[u8]| {
    let (mut tables, mut model) = (Tables::default(), Model::default());
    let process = tables.process("fuzz");
    if torch_snapshot::import(bytes, process, &mut tables, &mut model).is_ok() {
        let _ = whyoom_causes::judge(&model, &tables);
    }
});
