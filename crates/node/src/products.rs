//! What is known of a product by its name: how much memory it has, as `nvidia-smi` shows it, and whose that is.

/// Product and its total in MiB, as seen in published output of real GPUs (docs/dev/lab-models.md names
/// the sources), with error correction as they are delivered: on for data centres, off for the rest.
/// Only products of one size are here. The first whose words are in the device's name counts.
const PRODUCTS: &[(&str, u64)] = &[
    ("H100 80GB HBM3", 81_559),
    ("H100 NVL", 95_830),
    ("H200", 143_771),
    ("B200", 183_359),
    ("A100-SXM4-80GB", 81_920),
    ("A100-SXM4-40GB", 40_960),
    ("V100-SXM2-32GB", 32_768),
    ("V100-SXM2-16GB", 16_384),
    ("Tesla T4", 15_360),
    ("A10G", 23_028),
    ("NVIDIA L4 ", 23_034),
    ("L40S", 46_068),
    ("GTX 1080 Ti", 11_264),
    ("RTX 2080 Ti", 11_264),
    ("RTX 3090", 24_576),
    ("RTX 4090", 24_564),
    ("RTX 5090", 32_607),
    ("RTX A6000", 49_140),
    ("RTX PRO 6000 Blackwell Workstation", 97_887),
];

/// The memory that a product of this name is known to show, in bytes.
pub(crate) fn usual_total(name: &str) -> Option<u64> {
    // A space at the end tells `NVIDIA L4` from `NVIDIA L40S`.
    let name = format!("{name} ");
    PRODUCTS.iter().find(|(product, _)| name.contains(product)).map(|(_, mib)| mib << 20)
}

/// Products whose memory is also the machine's.
const SHARED_MEMORY: &[&str] = &["GH200", "GB200", "GB300", "GB10"];

/// Whether a product's memory is also the machine's: pages stay with the GPU after a process has ended.
#[must_use]
pub fn is_memory_shared(name: &str) -> bool {
    SHARED_MEMORY.iter().any(|product| name.contains(product))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn products_by_name() {
        assert_eq!(usual_total("NVIDIA L4"), Some(23_034 << 20));
        assert_eq!(usual_total("NVIDIA L40S (simulated)"), Some(46_068 << 20));
        assert_eq!(usual_total("NVIDIA A100-SXM4-80GB (simulated)"), Some(81_920 << 20));
        assert_eq!(usual_total("NVIDIA X"), None);
    }
}
