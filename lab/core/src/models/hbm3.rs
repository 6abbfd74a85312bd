//! Server models with HBM3 memory.

use super::GpuModel;
use super::Source::{Assumed, Observed};
use super::architecture::{BLACKWELL, HOPPER};
use super::sheet::{Chip, Clocks, Sheet, assumed, datasheet, mib, seen};

const H100_QUERY: &str = "deviceQuery in thamada/nvidia-smi nvsim/H100SXMx8_deviceQuery.py";
const NVL_INFO: &str = "OpenCL device info in fastfetch-cli/fastfetch#1658";
const NVL_SMI: &str = "nvidia-smi in NVIDIA/gpu-admin-tools#4";
const H200_TORCH: &str = "torch device properties in a published deployment script";
const H200_SMI: &str = "nvidia-smi in kvcache-ai/Mooncake#2307";
const B200_QUERY: &str = "driver attributes in pytorch/ao#4002";
const B200_SMI: &str = "nvidia-smi in NVIDIA/TensorRT-LLM#10278";

pub(super) const H100: GpuModel = Sheet {
    name: "NVIDIA H100 80GB HBM3",
    aliases: &["h100", "h100-80gb", "h100-sxm"],
    architecture: HOPPER,
    total: seen(85_045_477_376, H100_QUERY),
    nvml_total: seen(mib(81_559), "nvidia-smi totals in modal-labs/modal-client#2797"),
    context: None,
    chip: Chip::from(Observed(H100_QUERY), 132, mib(50), 5120),
    clocks: Clocks::from(Observed(H100_QUERY), 2619, 1980),
    watts: datasheet(700),
    pci_device: 0x2330,
}
.model();

pub(super) const H100_NVL: GpuModel = Sheet {
    name: "NVIDIA H100 NVL",
    aliases: &["h100-nvl", "h100-94gb"],
    architecture: HOPPER,
    total: seen(99_961_274_368, NVL_INFO),
    nvml_total: seen(mib(95_830), NVL_SMI),
    context: None,
    chip: Chip {
        multiprocessors: seen(132, NVL_INFO),
        l2: assumed(mib(60)),
        bus_bits: assumed(6144),
    },
    clocks: Clocks { memory: assumed(2_619_000), core: seen(1_785_000, NVL_INFO) },
    watts: seen(400, NVL_SMI),
    pci_device: 0x2321,
}
.model();

pub(super) const H200: GpuModel = Sheet {
    name: "NVIDIA H200",
    aliases: &["h200", "h200-141gb"],
    architecture: HOPPER,
    total: seen(mib(143_156), H200_TORCH),
    nvml_total: seen(mib(143_771), H200_SMI),
    context: None,
    chip: Chip {
        multiprocessors: seen(132, H200_TORCH),
        l2: seen(mib(60), H200_TORCH),
        bus_bits: assumed(6144),
    },
    clocks: Clocks::from(Assumed, 3201, 1980),
    watts: seen(700, H200_SMI),
    pci_device: 0x2335,
}
.model();

pub(super) const B200: GpuModel = Sheet {
    name: "NVIDIA B200",
    aliases: &["b200", "b200-180gb"],
    architecture: BLACKWELL,
    total: seen(mib(182_631), B200_QUERY),
    nvml_total: seen(mib(183_359), B200_SMI),
    context: None,
    chip: Chip::from(Observed(B200_QUERY), 148, mib(253) / 2, 7680),
    clocks: Clocks { memory: seen(3_996_000, B200_QUERY), core: assumed(1_965_000) },
    watts: seen(1000, B200_SMI),
    pci_device: 0x2901,
}
.model();
