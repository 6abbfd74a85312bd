//! Any text as the variable of PyTorch's allocator: read or refused, written as it was read, and with an option more
//! nothing else is lost.
#![no_main]

use libfuzzer_sys::fuzz_target;
use whyoom_allocators::policies::pytorch::{AllocatorConf, PyTorchSettings, merge};

const ADDED: [&str; 3] =
    ["expandable_segments:True", "max_split_size_mb:128", "per_process_memory_fraction:0.50"];

fuzz_target!(|text: &str| {
    let _ = PyTorchSettings::default().apply(text);
    let Ok(conf) = AllocatorConf::parse(text) else {
        assert!(ADDED.iter().all(|added| merge(text, added).is_err()));
        return;
    };
    assert_eq!(AllocatorConf::parse(&conf.to_string()), Ok(conf.clone()));
    for added in ADDED {
        let merged = merge(text, added).expect("it was read");
        let added = AllocatorConf::parse(added).expect("it is a setting");
        let added = &added.options()[0];
        assert_eq!(merged.conf.value(&added.key), Some(added.value.as_str()));
        for option in conf.options() {
            let is_left_out =
                merged.left_out.iter().any(|(left_out, _)| left_out.key == option.key);
            let is_replaced = option.key == added.key;
            assert!(
                is_left_out || is_replaced || merged.conf.options().contains(option),
                "{option:?}"
            );
        }
    }
});
