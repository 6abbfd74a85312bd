//! What the document tells of one process's memory on one device: web/src/data.ts describes it.

use serde::Serialize;

use super::{column::Column, modules::ModulesJson};

#[derive(Serialize)]
pub(super) struct SpaceJson {
    pub(super) process: usize,
    pub(super) device: String,
    pub(super) capacity_bytes: Option<u64>,
    pub(super) events: u64,
    pub(super) has_allocator: bool,
    pub(super) curve: CurveJson,
    pub(super) by_kind: BandsJson,
    pub(super) by_place: BandsJson,
    pub(super) incidents: Vec<IncidentJson>,
    pub(super) iterations: Option<IterationsJson>,
    pub(super) growth: Option<GrowthJson>,
    pub(super) blocks: BlocksJson,
    pub(super) maps: Vec<MapJson>,
    pub(super) peak: PeakJson,
    pub(super) modules: Option<ModulesJson>,
}

#[derive(Serialize)]
pub(super) struct CurveJson {
    pub(super) time: Column,
    pub(super) event: Column,
    pub(super) lowest: Column,
    pub(super) highest: Column,
    pub(super) reserved: Column,
}

#[derive(Serialize)]
pub(super) struct BandsJson {
    pub(super) time: Column,
    pub(super) event: Column,
    pub(super) bands: Vec<BandJson>,
}

#[derive(Serialize)]
pub(super) struct BandJson {
    pub(super) name: String,
    pub(super) stack: Option<usize>,
    pub(super) bytes: Column,
}

#[derive(Serialize)]
pub(super) struct IncidentJson {
    pub(super) time: u64,
    pub(super) event: u64,
    pub(super) requested_bytes: Option<u64>,
    pub(super) allocated_bytes: Option<u64>,
    pub(super) reserved_bytes: Option<u64>,
    pub(super) free_bytes: Option<u64>,
    pub(super) stack: usize,
    pub(super) message: Option<String>,
}

#[derive(Serialize)]
pub(super) struct IterationsJson {
    pub(super) found_by: &'static str,
    pub(super) every: u64,
    pub(super) time: Column,
    pub(super) event: Column,
    pub(super) bytes: Column,
}

#[derive(Serialize)]
pub(super) struct GrowthJson {
    pub(super) iterations: u64,
    pub(super) per_iteration_bytes: u64,
    pub(super) interval_bytes: (u64, u64),
    pub(super) total_bytes: u64,
    pub(super) stacks: Vec<StackJson>,
}

#[derive(Serialize)]
pub(super) struct StackJson {
    pub(super) stack: usize,
    pub(super) bytes: u64,
    pub(super) blocks: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) kind: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) module: Option<i64>,
}

#[derive(Serialize)]
pub(super) struct BlocksJson {
    pub(super) seen: u64,
    pub(super) complete: bool,
    pub(super) born: Column,
    pub(super) born_event: Column,
    pub(super) died: Vec<i64>,
    pub(super) died_event: Vec<i64>,
    pub(super) address: Column,
    pub(super) size: Vec<u64>,
    pub(super) stack: Vec<usize>,
    pub(super) module: Vec<i64>,
    pub(super) kind: Vec<usize>,
    pub(super) kinds: Vec<&'static str>,
}

#[derive(Serialize)]
pub(super) struct MapJson {
    pub(super) time: u64,
    pub(super) event: u64,
    pub(super) moment: &'static str,
    pub(super) smallest_gap: u64,
    pub(super) left_out: u64,
    pub(super) segments: Vec<SegmentJson>,
}

#[derive(Serialize)]
pub(super) struct SegmentJson {
    pub(super) address: String,
    pub(super) size: u64,
    pub(super) stream: u64,
    pub(super) pool: String,
    pub(super) class: &'static str,
    pub(super) expandable: bool,
    pub(super) runs: Vec<(u64, u64, u64, usize)>,
}

#[derive(Serialize)]
pub(super) struct PeakJson {
    pub(super) time: u64,
    pub(super) event: u64,
    pub(super) bytes: u64,
    pub(super) stacks: Vec<StackJson>,
}
