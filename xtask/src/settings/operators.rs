//! Values that operators have set: one option more, and PyTorch still takes them.

use std::collections::BTreeSet;

use anyhow::{Context, Result};
use whyoom_allocators::policies::pytorch::{AllocatorConf, merge};

use super::{
    counted::Counted,
    wheels::{Wheel, word},
};

/// The option that is added.
const ADDED: &str = "expandable_segments:True";

/// The values, from public threads and from PyTorch's grammar. All but the first are taken by 2.6 and newer.
const VALUES: [&str; 10] = [
    "roundup_power2_divisions:[256:1,512:2,1024:4,>:8],max_split_size_mb:128,expandable_segments_reserve:8",
    " roundup_power2_divisions:[256:1, 512:2, >: 8] , garbage_collection_threshold : 0.6 ",
    "roundup_power2_divisions:[64:8,128:4,256:2,512:1,>:1],pinned_use_cuda_host_register:True,pinned_num_register_threads:8",
    "expandable_segments:False,max_split_size_mb:512,expandable_segments:False",
    "garbage_collection_threshold:0.8,roundup_power2_divisions:[256:1,512:2],roundup_power2_divisions:4,",
    "backend:native,release_lock_on_cudamalloc:True,max_split_size_mb:128,max_non_split_rounding_mb:200",
    "backend:cudaMallocAsync,pinned_use_background_threads:False",
    "max_split_size_mb:64,max_split_size_mb:128,garbage_collection_threshold:0.9",
    "roundup_power2_divisions:[>:4],pinned_num_register_threads:16,release_lock_on_cudamalloc:False",
    "max_non_split_rounding_mb:64,expandable_segments:True,garbage_collection_threshold:0.95,max_split_size_mb:1024",
];

/// Merges the option into each value, and asks every wheel about both.
pub(crate) fn compare(wheels: &[Wheel]) -> Result<Counted> {
    let mut counted = Counted { compared: 0, wrong: Vec::new() };
    let mut values = BTreeSet::new();
    let mut pairs = Vec::new();
    for before in VALUES {
        let merged = merge(before, ADDED).context(before)?;
        let after = merged.conf.to_string();
        let left_out: Vec<&str> =
            merged.left_out.iter().map(|(option, _)| option.key.as_str()).collect();
        for key in lost_keys(&AllocatorConf::parse(before)?, &merged.conf, &left_out) {
            counted.wrong.push(format!("{before}: {key} is lost"));
        }
        values.extend([before.to_owned(), after.clone()]);
        println!("\n{before}\n  {after}");
        if !left_out.is_empty() {
            println!("  without {}", left_out.join(", "));
        }
        pairs.push((before, after));
    }
    println!("\n{:<5} {:<16} {:<7} {:<7} expandable", "value", "PyTorch", "before", "after");
    for wheel in wheels {
        let answers = wheel.ask(&values)?;
        for (number, (before, after)) in pairs.iter().enumerate() {
            let (before, after) = (&answers[*before], &answers[after]);
            counted.compared += 1;
            // Segments are expandable, and were not before.
            let in_effect = after.effect.contains_key("segments_expandable");
            println!(
                "{:<5} {:<16} {:<7} {:<7} {}",
                number + 1,
                wheel.version,
                word(before.accepted),
                word(after.accepted),
                word(in_effect)
            );
            if before.accepted != after.accepted || after.accepted && !in_effect {
                let error = &after.error;
                counted.wrong.push(format!("value {}, {}: {error}", number + 1, wheel.version));
            }
        }
    }
    Ok(counted)
}

/// Returns the keys that had a value before, and have another or none now.
fn lost_keys(before: &AllocatorConf, after: &AllocatorConf, left_out: &[&str]) -> Vec<String> {
    let mut lost = Vec::new();
    for option in before.options() {
        let key = option.key.as_str();
        let is_meant = left_out.contains(&key) || ADDED.starts_with(&format!("{key}:"));
        if !is_meant && before.value(key) != after.value(key) {
            lost.push(key.to_owned());
        }
    }
    lost
}
