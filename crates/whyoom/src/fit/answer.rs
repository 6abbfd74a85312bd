//! From what was observed to what is said.

use whyoom_allocators::policies::pytorch::{Merged, merge};
use whyoom_causes::for_shell;
use whyoom_fit::{Demand, Placement, Room, place};
use whyoom_lab_core::models::GpuModel;
use whyoom_memory::{Category, SourceLine, Usage, call_site, source_line, sums_by_call_site};
use whyoom_report::{
    FitAmount, FitGpu, FitObstacle, FitPeak, FitProcess, FitSetting, largest_modules,
};
use whyoom_trace::Bytes;

use super::{
    gpus::Family,
    observed::{ContinuedGeneration, Observed, Seen},
    program::allocator_settings,
};

/// So many lines of the program are named at the peak.
const PLACES: usize = 3;
/// Modules beyond these too.
const MODULES: usize = 4;

/// Every GPU of a family, judged by one run.
pub(crate) fn gpus(family: &Family, observed: &Observed) -> Vec<FitGpu> {
    let demands: Vec<Demand> = observed.seen.iter().map(|seen| Demand::of(&seen.run)).collect();
    let judged = family.gpus.iter().map(|gpu| {
        let model = gpu.model;
        let of_torch = observed.seen.iter().zip(&demands);
        let mut processes: Vec<FitProcess> =
            of_torch.map(|(seen, demand)| process(seen, *demand, model, observed)).collect();
        if processes.is_empty() {
            processes = whole_devices(model, observed);
        }
        FitGpu {
            name: model.name,
            total_bytes: model.total.value,
            fits: processes.iter().all(|process| process.fits),
            ran_on: observed.ran_on.name,
            failure: None,
            processes,
        }
    });
    judged.collect()
}

/// The GPUs of a family on which the program itself failed.
pub(crate) fn without_answer(family: &Family, why: &str) -> Vec<FitGpu> {
    let told = family.gpus.iter().map(|gpu| FitGpu {
        name: gpu.model.name,
        total_bytes: gpu.model.total.value,
        fits: false,
        ran_on: family.ran_on().name,
        failure: Some(why.to_owned()),
        processes: Vec::new(),
    });
    told.collect()
}

/// What a GPU has for a process that was seen on another of its family.
pub(crate) fn room(seen: &Seen, model: &GpuModel, ran_on: &GpuModel) -> Room {
    room_beside(seen.outside, model, ran_on)
}

/// The same for a process that had so much outside its allocator.
pub(crate) fn room_beside(outside: u64, model: &GpuModel, ran_on: &GpuModel) -> Room {
    let outside = outside.saturating_sub(ran_on.context.value) + model.context.value;
    Room { total: model.total.value, outside }
}

fn process(seen: &Seen, demand: Demand, model: &GpuModel, observed: &Observed) -> FitProcess {
    let room = room(seen, model, observed.ran_on);
    let placement = place(&seen.run, demand, room);
    let grows = seen.continued.is_some();
    let (reserved, releases_cache) = match placement {
        // Each token's cache is a little larger than what is cached of the one before: whatever the GPU has is
        // taken, and released again. That is no sign that it is close.
        Placement::Fits { reserved, releases_cache } => (reserved, releases_cache && !grows),
        Placement::Fragmented if grows => (room.left(), false),
        _ if grows => (demand.live, false),
        _ => (demand.reserved, false),
    };
    let of_tensors = grows && placement != Placement::Fragmented;
    let needed = if of_tensors { demand.live } else { reserved } + room.outside;
    FitProcess {
        rank: seen.rank.clone(),
        device: seen.device.0,
        peak_allocated_bytes: Some(demand.live),
        peak_reserved_bytes: Some(reserved),
        outside_bytes: room.outside,
        peak_bytes: needed,
        headroom_bytes: signed_difference(room.total, needed),
        fits: placement.fits() && !seen.unfinished,
        releases_cache,
        fits_with: setting(placement).filter(|_| !seen.unfinished),
        obstacle: obstacle(placement, seen.unfinished),
    }
}

fn setting(placement: Placement) -> Option<FitSetting> {
    let Placement::FitsWith { setting, reserved } = placement else { return None };
    // PyTorch took the variable when the program ran, so it can be read.
    let Merged { conf, left_out } = merge(&allocator_settings(), setting).ok()?;
    let left_out = left_out.into_iter().map(|(option, why)| format!("{}, {why}", option.key));
    let paste = format!("export {}", for_shell(&format!("PYTORCH_CUDA_ALLOC_CONF={conf}")));
    Some(FitSetting { setting, paste, without: left_out.collect(), peak_reserved_bytes: reserved })
}

fn obstacle(placement: Placement, unfinished: bool) -> Option<FitObstacle> {
    match placement {
        Placement::TooLarge => Some(FitObstacle::TooLarge),
        Placement::Fragmented => Some(FitObstacle::Fragmented),
        Placement::Fits { .. } | Placement::FitsWith { .. } if unfinished => {
            Some(FitObstacle::Unfinished)
        }
        Placement::Fits { .. } | Placement::FitsWith { .. } => None,
    }
}

/// Of a program without PyTorch only the driver's side is known: the most that each device had in use.
fn whole_devices(model: &GpuModel, observed: &Observed) -> Vec<FitProcess> {
    let used = observed.observations.peak_used.iter().enumerate().filter(|(_, used)| **used > 0);
    let on_model =
        |used: u64| used.saturating_sub(observed.ran_on.context.value) + model.context.value;
    let process = |(device, used): (usize, &u64)| {
        let peak = on_model(*used);
        let too_large = (peak > model.total.value).then_some(FitObstacle::TooLarge);
        let unfinished = observed.timed_out.then_some(FitObstacle::Unfinished);
        FitProcess {
            rank: "all".to_owned(),
            device: device as u16,
            peak_allocated_bytes: None,
            peak_reserved_bytes: None,
            outside_bytes: peak,
            peak_bytes: peak,
            headroom_bytes: signed_difference(model.total.value, peak),
            fits: peak <= model.total.value && !observed.timed_out,
            releases_cache: false,
            fits_with: None,
            obstacle: too_large.or(unfinished),
        }
    };
    used.map(process).collect()
}

fn signed_difference(have: u64, need: u64) -> i64 {
    (i128::from(have) - i128::from(need)).clamp(i64::MIN.into(), i64::MAX.into()) as i64
}

/// What the peak of the largest process is made of.
pub(crate) fn peak(observed: &Observed) -> Option<FitPeak> {
    let largest = observed.largest()?;
    if let Some(continued) = &largest.continued {
        // What was done is with the samples where a value is varied.
        return (largest.run.workload.items > 0)
            .then(|| computed_peak(largest, continued, observed));
    }
    let space = observed.memory.space(largest.run.process, largest.device)?;
    let maker = space.peak_maker()?;
    let places = sums_by_call_site(&observed.tables, space.peak_by_stack());
    let (place, places) = (
        place_or_backward(call_site(&observed.tables, maker.stack), maker.category),
        named(places),
    );
    let kinds = space.peak_by_category();
    let told = kinds.iter().any(|(kind, _)| *kind == Category::Temporaries);
    let modules = largest_modules(&observed.tables, &space.live_sums_at_peak(), MODULES);
    Some(FitPeak {
        ran_on: observed.ran_on.name,
        rank: largest.rank.clone(),
        lines: lines(&place, &places, observed),
        place,
        kinds: merged(kinds.iter().map(|&(kind, usage)| (word(kind, told), usage.bytes.0))),
        modules: modules.into_iter().map(amount).collect(),
        places,
    })
}

/// At the end of a generation that was not run: by line only, because what is what was told for blocks that were.
fn computed_peak(largest: &Seen, continued: &ContinuedGeneration, observed: &Observed) -> FitPeak {
    let stacks = largest.run.workload.peak_by_stack().into_iter();
    let stacks = stacks.map(|(stack, bytes)| (stack, Usage { bytes: Bytes(bytes), blocks: 1 }));
    let places = named(sums_by_call_site(&observed.tables, stacks.collect()));
    FitPeak {
        lines: lines("", &places, observed),
        ran_on: observed.ran_on.name,
        rank: largest.rank.clone(),
        place: format!("generate() on the way to {} tokens (computed)", continued.generation.end),
        kinds: Vec::new(),
        modules: Vec::new(),
        places,
    }
}

fn lines(place: &str, places: &[FitAmount], observed: &Observed) -> Vec<SourceLine> {
    let others = places.iter().map(|other| other.name.as_str()).filter(|other| *other != place);
    let all = std::iter::once(place).chain(others);
    all.filter_map(|call_site| source_line(&observed.tables, call_site)).collect()
}

fn named(places: Vec<(String, Bytes)>) -> Vec<FitAmount> {
    let known = places.into_iter().filter(|(place, _)| !place.starts_with(UNKNOWN));
    known.take(PLACES).map(amount).collect()
}

fn amount((name, bytes): (String, Bytes)) -> FitAmount {
    FitAmount { name, bytes: bytes.0 }
}

const UNKNOWN: &str = "unknown call sites";

/// Python's frames are recorded here, so that what has none was made by a thread of PyTorch's own:
/// in backward, save for odd cases. Where gradients were told, the rest of it is temporary.
fn word(kind: Category, told: bool) -> String {
    match kind {
        Category::Temporaries | Category::Unattributed if told => "temporaries",
        Category::Gradients if told => "gradients",
        Category::Gradients | Category::Unattributed => "gradients and backward temporaries",
        other => other.name(),
    }
    .to_owned()
}

/// One entry for each name, the most first.
fn merged(entries: impl Iterator<Item = (String, u64)>) -> Vec<FitAmount> {
    let mut merged: Vec<FitAmount> = Vec::new();
    for (name, bytes) in entries {
        match merged.iter_mut().find(|known| known.name == name) {
            Some(known) => known.bytes += bytes,
            None => merged.push(FitAmount { name, bytes }),
        }
    }
    merged.sort_by_key(|amount| std::cmp::Reverse(amount.bytes));
    merged
}

fn place_or_backward(place: String, kind: Category) -> String {
    match kind {
        Category::Unattributed => "backward".to_owned(),
        _ => place,
    }
}
