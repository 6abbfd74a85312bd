//! Models found in servers, before HBM3.

use super::GpuModel;
use super::Source::{Assumed, Documented, Observed};
use super::architecture::{ADA, AMPERE, AMPERE_GA10X, TURING, VOLTA};
use super::sheet::{Chip, Clocks, Sheet, assumed, datasheet, documented, mib, seen};

/// One thread lists what nvidia-smi calls total on most rented models.
const NVML_LIST: &str = "nvidia-smi totals in modal-labs/modal-client#2797";
const T4_QUERY: &str = "deviceQuery on chiemon.github.io, 2024-12-25";
const VOLTA_PAPER: &str = "NVIDIA Tesla V100 GPU architecture whitepaper";
const V100_SMI: &str = "nvidia-smi in NVIDIA/nvidia-docker#1076";
const TITAN_V: &str = "320 MiB used, 1 before, on a TITAN V (same chip): pytorch/pytorch#28394";
const A100_40_QUERY: &str = "deviceQuery in bottlerocket-os/bottlerocket#3873";
const A100_80_QUERY: &str = "deviceQuery in thamada/nvidia-smi nvsim/A100SXMx4_deviceQuery.py";
const A100_CONTEXT: &str = "total less free on an A100 40GB: ekondis/mixbench#18";
const L4_QUERY: &str = "deviceQuery in bottlerocket-os/bottlerocket-kernel-kit#139";
const L40S_QUERY: &str = "deviceQuery in alvarobartt/cuda-device-query README.md";
const L40S_CONTEXT: &str = "RTX 6000 Ada, the same chip: unslothai/unsloth-zoo#1053";

pub(super) const T4: GpuModel = Sheet {
    name: "Tesla T4",
    aliases: &["t4", "t4-16gb"],
    architecture: TURING,
    total: seen(mib(14_912), "torch error text, 14.56 GiB: facebookresearch/tribev2#28"),
    nvml_total: seen(mib(15_360), NVML_LIST),
    context: Some(seen(mib(100), "process less allocator, ±10 MiB: hpcaitech/Open-Sora#697")),
    chip: Chip::from(Observed(T4_QUERY), 40, mib(4), 256),
    clocks: Clocks::from(Observed(T4_QUERY), 5001, 1590),
    watts: datasheet(70),
    pci_device: 0x1eb8,
}
.model();

pub(super) const V100_16: GpuModel = Sheet {
    name: "Tesla V100-SXM2-16GB",
    aliases: &["v100", "v100-16gb"],
    architecture: VOLTA,
    total: seen(16_928_342_016, "deviceQuery, CUDA 12.4 driver, in a published setup log"),
    nvml_total: assumed(mib(16_384)),
    context: Some(seen(mib(319), TITAN_V)),
    chip: Chip::from(Documented(VOLTA_PAPER), 80, mib(6), 4096),
    clocks: Clocks::from(Observed(V100_SMI), 877, 1530),
    watts: seen(300, V100_SMI),
    pci_device: 0x1db1,
}
.model();

pub(super) const V100_32: GpuModel = Sheet {
    name: "Tesla V100-SXM2-32GB",
    aliases: &["v100-32gb"],
    architecture: VOLTA,
    total: seen(mib(32_494), "llama.cpp start-up lines in ggml-org/llama.cpp#25749"),
    nvml_total: seen(mib(32_768), "nvidia-smi in Wan-Video/Wan2.1#5"),
    context: Some(seen(mib(319), TITAN_V)),
    chip: Chip::from(Documented(VOLTA_PAPER), 80, mib(6), 4096),
    clocks: Clocks::from(Observed(V100_SMI), 877, 1530),
    watts: seen(300, V100_SMI),
    pci_device: 0x1db5,
}
.model();

pub(super) const A10G: GpuModel = Sheet {
    name: "NVIDIA A10G",
    aliases: &["a10g", "a10", "a10g-24gb"],
    architecture: AMPERE_GA10X,
    total: seen(mib(22_587), "torch 2.15 device properties in a published report"),
    nvml_total: seen(mib(23_028), NVML_LIST),
    context: None,
    chip: Chip {
        multiprocessors: seen(80, "torch 2.15 device properties in a published report"),
        l2: assumed(mib(6)),
        bus_bits: assumed(384),
    },
    clocks: Clocks::from(Assumed, 6251, 1710),
    watts: seen(300, "nvidia-smi in NVIDIA/DCGM#232"),
    pci_device: 0x2237,
}
.model();

pub(super) const A100_40: GpuModel = Sheet {
    name: "NVIDIA A100-SXM4-40GB",
    aliases: &["a100-40gb"],
    architecture: AMPERE,
    total: seen(42_298_834_944, A100_40_QUERY),
    nvml_total: seen(mib(40_960), NVML_LIST),
    context: Some(seen(mib(418), A100_CONTEXT)),
    chip: Chip::from(Observed(A100_40_QUERY), 108, mib(40), 5120),
    clocks: Clocks::from(Observed(A100_40_QUERY), 1215, 1410),
    watts: datasheet(400),
    pci_device: 0x20b0,
}
.model();

pub(super) const A100_80: GpuModel = Sheet {
    name: "NVIDIA A100-SXM4-80GB",
    aliases: &["a100", "a100-80gb"],
    architecture: AMPERE,
    total: seen(mib(81_151), "torch error text, 79.25 GiB: levihsu/OOTDiffusion#235"),
    nvml_total: seen(mib(81_920), NVML_LIST),
    context: Some(seen(mib(418), A100_CONTEXT)),
    chip: Chip::from(Observed(A100_80_QUERY), 108, mib(40), 5120),
    clocks: Clocks::from(Observed(A100_80_QUERY), 1593, 1410),
    watts: datasheet(400),
    pci_device: 0x20b2,
}
.model();

pub(super) const L4: GpuModel = Sheet {
    name: "NVIDIA L4",
    aliases: &["l4", "l4-24gb"],
    architecture: ADA,
    total: seen(23_583_784_960, L4_QUERY),
    nvml_total: seen(mib(23_034), NVML_LIST),
    context: None,
    chip: Chip {
        multiprocessors: seen(58, L4_QUERY),
        l2: documented(mib(48), "NVIDIA Ada GPU architecture whitepaper, AD104"),
        bus_bits: documented(192, "NVIDIA Ada GPU architecture whitepaper, AD104"),
    },
    clocks: Clocks::from(Observed("dcgmi in NVIDIA/DCGM#268"), 6251, 2040),
    watts: datasheet(72),
    pci_device: 0x27b8,
}
.model();

pub(super) const L40S: GpuModel = Sheet {
    name: "NVIDIA L40S",
    aliases: &["l40s", "l40s-48gb"],
    architecture: ADA,
    total: seen(47_576_711_168, L40S_QUERY),
    nvml_total: seen(mib(46_068), NVML_LIST),
    context: Some(seen(mib(426), L40S_CONTEXT)),
    chip: Chip::from(Observed(L40S_QUERY), 142, mib(96), 384),
    clocks: Clocks::from(Observed(L40S_QUERY), 9001, 2520),
    watts: datasheet(350),
    pci_device: 0x26b9,
}
.model();
