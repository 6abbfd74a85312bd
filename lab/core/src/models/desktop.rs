//! Models found under desks: GeForce cards and professional RTX cards.

use super::GpuModel;
use super::Source::{Documented, Observed};
use super::architecture::{ADA, AMPERE_GA10X, BLACKWELL_RTX, PASCAL, TURING};
use super::sheet::{Chip, Clocks, Sheet, assumed, datasheet, documented, mib, seen};

const GTX_1080_TI_QUERY: &str = "deviceQuery in ethereum-mining/ethminer#536";
const RTX_2080_TI_QUERY: &str = "deviceQuery quoted in a published source file";
const RTX_3060_QUERY: &str = "deviceQuery, CUDA 12.8 driver, in a published source file";
const RTX_3090_QUERY: &str =
    "device query in Jumperkables/cuda-benchmarking 00_deviceQuery/README.md";
const RTX_4060_TI_QUERY: &str = "deviceQuery, CUDA 13.1 driver, in a published setup guide";
const RTX_4090_QUERY: &str = "deviceQuery, CUDA 13.0 driver, in a published log";
const RTX_5090_QUERY: &str = "deviceQuery in NVIDIA/nccl#1637";
const A6000_QUERY: &str = "deviceQuery in a cluster forum thread, November 2024";
const PRO_6000_LOG: &str = "memory of RTX PRO 6000 and RTX 4060 Ti in ggml-org/llama.cpp#23604";
const PRO_6000_PAPER: &str = "NVIDIA RTX Blackwell PRO GPU architecture whitepaper";

pub(super) const GTX_1080_TI: GpuModel = Sheet {
    name: "NVIDIA GeForce GTX 1080 Ti",
    aliases: &["1080ti", "gtx-1080-ti"],
    architecture: PASCAL,
    total: seen(11_715_084_288, GTX_1080_TI_QUERY),
    nvml_total: seen(mib(11_264), "nvidia-smi in PromtEngineer/localGPT#14"),
    context: None,
    chip: Chip::from(Observed(GTX_1080_TI_QUERY), 28, mib(11) / 4, 352),
    clocks: Clocks::from(Observed(GTX_1080_TI_QUERY), 5505, 1582),
    watts: datasheet(250),
    pci_device: 0x1b06,
}
.model();

pub(super) const RTX_2080_TI: GpuModel = Sheet {
    name: "NVIDIA GeForce RTX 2080 Ti",
    aliases: &["2080ti", "rtx-2080-ti"],
    architecture: TURING,
    total: seen(11_348_672_512, RTX_2080_TI_QUERY),
    nvml_total: assumed(mib(11_264)),
    context: None,
    chip: Chip::from(Observed(RTX_2080_TI_QUERY), 68, mib(11) / 2, 352),
    clocks: Clocks::from(Observed(RTX_2080_TI_QUERY), 7000, 1545),
    watts: datasheet(250),
    pci_device: 0x1e07,
}
.model();

pub(super) const RTX_3060: GpuModel = Sheet {
    name: "NVIDIA GeForce RTX 3060",
    aliases: &["3060", "rtx-3060", "rtx-3060-12gb"],
    architecture: AMPERE_GA10X,
    total: seen(mib(11_907), "llama.cpp start-up line in a published log of 2026"),
    nvml_total: seen(mib(12_288), "nvidia-smi in geerlingguy/raspberry-pi-pcie-devices#790"),
    context: None,
    chip: Chip::from(Observed(RTX_3060_QUERY), 28, mib(9) / 4, 192),
    clocks: Clocks::from(Observed(RTX_3060_QUERY), 7501, 1777),
    watts: datasheet(170),
    pci_device: 0x2504,
}
.model();

pub(super) const RTX_3090: GpuModel = Sheet {
    name: "NVIDIA GeForce RTX 3090",
    aliases: &["3090", "rtx-3090"],
    architecture: AMPERE_GA10X,
    total: seen(25_286_672_384, RTX_3090_QUERY),
    nvml_total: seen(mib(24_576), "nvidia-smi in noonghunna/club-3090#390"),
    context: Some(seen(mib(256), "idle process in invoke-ai/InvokeAI#9413")),
    chip: Chip::from(Observed(RTX_3090_QUERY), 82, mib(6), 384),
    clocks: Clocks::from(Observed("deviceQuery, CUDA 11.8 driver, in a published log"), 9751, 1695),
    watts: datasheet(350),
    pci_device: 0x2204,
}
.model();

pub(super) const RTX_4060_TI: GpuModel = Sheet {
    name: "NVIDIA GeForce RTX 4060 Ti",
    aliases: &["4060ti", "rtx-4060-ti", "rtx-4060-ti-16gb"],
    architecture: ADA,
    total: seen(16_722_821_120, RTX_4060_TI_QUERY),
    nvml_total: seen(mib(16_380), "deviceQuery on Windows, where it is the whole card"),
    context: Some(seen(mib(107), PRO_6000_LOG)),
    chip: Chip::from(Observed(RTX_4060_TI_QUERY), 34, mib(32), 128),
    clocks: Clocks::from(Observed(RTX_4060_TI_QUERY), 9001, 2550),
    watts: datasheet(165),
    pci_device: 0x2805,
}
.model();

pub(super) const RTX_4090: GpuModel = Sheet {
    name: "NVIDIA GeForce RTX 4090",
    aliases: &["4090", "rtx-4090"],
    architecture: ADA,
    total: seen(25_250_627_584, RTX_4090_QUERY),
    nvml_total: seen(mib(24_564), "nvidia-smi in RLinf/RLinf#255"),
    context: None,
    chip: Chip::from(Observed(RTX_4090_QUERY), 128, mib(72), 384),
    clocks: Clocks::from(Observed(RTX_4090_QUERY), 10_501, 2520),
    watts: datasheet(450),
    pci_device: 0x2684,
}
.model();

pub(super) const RTX_5090: GpuModel = Sheet {
    name: "NVIDIA GeForce RTX 5090",
    aliases: &["5090", "rtx-5090"],
    architecture: BLACKWELL_RTX,
    total: seen(33_680_457_728, RTX_5090_QUERY),
    nvml_total: seen(mib(32_607), "nvidia-smi in noonghunna/club-3090#741"),
    context: None,
    chip: Chip::from(Observed(RTX_5090_QUERY), 170, mib(96), 512),
    clocks: Clocks::from(Observed(RTX_5090_QUERY), 14_001, 2550),
    watts: datasheet(575),
    pci_device: 0x2b85,
}
.model();

pub(super) const RTX_A6000: GpuModel = Sheet {
    name: "NVIDIA RTX A6000",
    aliases: &["a6000", "rtx-a6000"],
    architecture: AMPERE_GA10X,
    total: seen(51_160_023_040, A6000_QUERY),
    nvml_total: seen(mib(49_140), "rig report in noonghunna/club-3090#1047"),
    context: None,
    chip: Chip {
        multiprocessors: seen(84, A6000_QUERY),
        l2: assumed(mib(6)),
        bus_bits: seen(384, A6000_QUERY),
    },
    clocks: Clocks::from(Observed(A6000_QUERY), 8001, 1800),
    watts: datasheet(300),
    pci_device: 0x2230,
}
.model();

pub(super) const RTX_PRO_6000: GpuModel = Sheet {
    name: "NVIDIA RTX PRO 6000 Blackwell Workstation Edition",
    aliases: &["rtx-pro-6000", "pro-6000", "rtx-pro-6000-blackwell"],
    architecture: BLACKWELL_RTX,
    total: seen(mib(97_247), PRO_6000_LOG),
    nvml_total: seen(mib(97_887), PRO_6000_LOG),
    context: Some(seen(mib(555), PRO_6000_LOG)),
    chip: Chip::from(Documented(PRO_6000_PAPER), 188, mib(128), 512),
    clocks: Clocks { memory: documented(14_001_000, PRO_6000_PAPER), core: assumed(2_617_000) },
    watts: datasheet(600),
    pci_device: 0x2bb1,
}
.model();
