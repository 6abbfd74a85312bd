//! Any bytes as what the kernel and programs write into /proc and the log, and as a saved capture:
//! read or refused, never a panic.
#![no_main]

use libfuzzer_sys::fuzz_target;
use whyoom_node::{
    Capture,
    proc::{cgroup, environ, kernel_log, mounts, signs, stat::Stat, status::Status},
};

fuzz_target!(|bytes: &[u8]| {
    let text = String::from_utf8_lossy(bytes);
    let _ = Stat::parse(&text);
    let _ = Status::parse(&text);
    let _ = (cgroup::workload(&text), cgroup::unit(&text));
    let _ = (mounts::remote(&text), mounts::processes_hidden(&text));
    let _ = (signs::sign(&text), signs::in_maps(&text).count());
    let _ = kernel_log::xid(&text);
    let _ = environ::parse(&text);
    if let Ok(capture) = serde_json::from_slice::<Capture>(bytes) {
        let _ = whyoom_node::judge(&capture);
    }
});
