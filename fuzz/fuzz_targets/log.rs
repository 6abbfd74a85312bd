//! Any bytes as a log: scanned and judged, never a panic.
#![no_main]

use libfuzzer_sys::fuzz_target;
use whyoom_memory::Model;
use whyoom_sources::oom_text;
use whyoom_trace::Tables;

fuzz_target!(|bytes: &[u8]| {
    let (mut tables, mut model) = (Tables::default(), Model::default());
    if oom_text::scan(bytes, "fuzz", &mut tables, &mut model).is_ok() {
        let _ = whyoom_causes::judge(&model, &tables);
    }
});
