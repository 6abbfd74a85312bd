//! All models, those of servers first.

use super::{GpuModel, datacenter, desktop, hbm3};

/// Every model that can be simulated.
pub const MODELS: &[GpuModel] = &[
    datacenter::T4,
    datacenter::V100_16,
    datacenter::V100_32,
    datacenter::A10G,
    datacenter::A100_40,
    datacenter::A100_80,
    datacenter::L4,
    datacenter::L40S,
    hbm3::H100,
    hbm3::H100_NVL,
    hbm3::H200,
    hbm3::B200,
    desktop::GTX_1080_TI,
    desktop::RTX_2080_TI,
    desktop::RTX_3060,
    desktop::RTX_3090,
    desktop::RTX_4060_TI,
    desktop::RTX_4090,
    desktop::RTX_5090,
    desktop::RTX_A6000,
    desktop::RTX_PRO_6000,
];
