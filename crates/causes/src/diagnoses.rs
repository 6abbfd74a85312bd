//! From a model to what is judged: every failure, or every space.

use std::collections::BTreeMap;

use whyoom_memory::{Category, Growth, Incident, IterationSource, Model, Space};
use whyoom_trace::{DeviceId, FrameText, ProcessId, Tables, driver_call_purpose};

use crate::{
    ahead::Ahead,
    diagnosis::{Diagnosis, Measured},
    input_origin::InputOrigin,
    observed::ObservedFigures,
};

/// A loop that retries runs out again and again for the same reason: so many of its failures are
/// judged.
const JUDGED_PER_PROCESS: usize = 16;

/// Every moment at which memory ran out, or, where there was none, every space.
pub(crate) fn diagnoses<'a>(
    model: &'a Model,
    tables: &'a Tables,
    measured: Measured,
    origin: &'a InputOrigin,
    ahead: &Ahead,
) -> Vec<Diagnosis<'a>> {
    let growths: BTreeMap<(ProcessId, DeviceId), Growth> = model
        .spaces()
        .filter_map(|(process, device, _)| {
            let growth =
                model.growth(process, device).filter(|growth| !is_of_model(model, tables, growth));
            Some(((process, device), growth?))
        })
        .collect();
    let diagnosis = |process, device| Diagnosis {
        growth: growths.get(&(process, device)).cloned(),
        measured,
        origin,
        ahead: ahead.get(process, device),
        ..Diagnosis::empty(model, tables, process, device)
    };
    if model.incidents().is_empty() {
        return uneventful(model)
            .into_iter()
            .map(|(process, device)| diagnosis(process, device))
            .collect();
    }
    let mut incidents = BTreeMap::<(ProcessId, DeviceId), Vec<usize>>::new();
    for (index, incident) in model.incidents().iter().enumerate() {
        incidents.entry((incident.process, incident.device)).or_default().push(index);
    }
    let mut judged: Vec<usize> = incidents.values().flat_map(|all| ends_of(all)).collect();
    judged.sort_unstable();
    let is_last = |index: usize| incidents.values().any(|all| all.last() == Some(&index));
    judged
        .into_iter()
        .map(|index| {
            let incident = &model.incidents()[index];
            let (process, device) = (incident.process, incident.device);
            let home = home_of(model, process, device);
            let at_home = diagnosis(home.0, home.1);
            let observed = in_force(&at_home, incident);
            Diagnosis {
                process,
                device,
                observed,
                incident: Some(incident),
                // It is about the last failure.
                ahead: at_home.ahead.filter(|_| is_last(index)),
                // What grew may have been given back when the failure was handled.
                growth: (incident.growth.clone())
                    .filter(|growth| !is_of_model(model, tables, growth))
                    .or(at_home.growth.clone()),
                ..at_home
            }
        })
        .collect()
}

/// Where a model is loaded, quantized or moved, one parameter after the other: a file, and a part of a function's name.
const LOADERS: [(&str, &str); 4] = [
    ("torch/nn/modules/module.py", "_apply"),
    ("bitsandbytes/nn/", "quantize"),
    ("transformers/core_model_loading.py", ""),
    ("vllm/model_executor/model_loader/", ""),
];

/// Whether what grows is a model that is loaded before anything was computed, or the state that an optimizer makes of
/// each parameter: neither layers nor parameters are iterations.
fn is_of_model(model: &Model, tables: &Tables, growth: &Growth) -> bool {
    let by_line = growth.source == IterationSource::RepeatedLine;
    let Some(worst) = growth.stacks.first().filter(|_| by_line) else { return false };
    let loads = |frame: FrameText<'_>| {
        let is_one = |(file, part): &(&str, &str)| {
            frame.file.contains(file) && frame.function.contains(part)
        };
        LOADERS.iter().any(is_one)
    };
    match model.category(worst.stack) {
        Category::Parameters => !growth.backward && tables.frames(worst.stack).any(loads),
        Category::OptimizerState => true,
        _ => false,
    }
}

/// The figures of a failure: the verdict, JSON and reports show these.
#[must_use]
pub fn figures(model: &Model, tables: &Tables, incident: &Incident) -> ObservedFigures {
    let (process, device) = home_of(model, incident.process, incident.device);
    in_force(&Diagnosis::empty(model, tables, process, device), incident)
}

/// The figures of a failure under the allocator that was in force.
pub(crate) fn in_force(at_home: &Diagnosis<'_>, incident: &Incident) -> ObservedFigures {
    let mut observed = ObservedFigures::of(incident);
    let name = incident.refused_call.map(|call| at_home.tables.text(call));
    observed.refused_for = name.and_then(driver_call_purpose);
    match (at_home.has_pool(), at_home.expandable_segments_on()) {
        (true, _) => observed.under_pool(incident),
        (false, true) => observed.with_expandable_segments(),
        (false, false) => observed,
    }
}

/// Where no memory ran out: every space that something was taken in, and every process that took
/// nothing anywhere.
fn uneventful(model: &Model) -> Vec<(ProcessId, DeviceId)> {
    let is_used = |space: &Space| space.has_allocator() || space.block_counts() != (0, 0);
    let used_elsewhere =
        |process: ProcessId| model.devices_of(process).any(|(_, space)| is_used(space));
    let spaces = model.spaces().filter(|(process, _, space)| {
        is_used(space) || model.process(*process).is_none() || !used_elsewhere(*process)
    });
    let mut of_process: Vec<_> = spaces.map(|(process, device, _)| (process, device)).collect();
    let took_nothing = |process: &ProcessId| of_process.iter().all(|(other, _)| other != process);
    let others: Vec<ProcessId> =
        model.processes().map(|(process, _)| process).filter(took_nothing).collect();
    of_process.extend(others.into_iter().map(|process| (process, DeviceId::UNKNOWN)));
    of_process
}

/// The first and the last of very many.
fn ends_of(all: &[usize]) -> impl Iterator<Item = usize> {
    let head = all.len().min(JUDGED_PER_PROCESS / 2);
    let tail = all.len().saturating_sub(JUDGED_PER_PROCESS / 2).max(head);
    all[..head].iter().chain(&all[tail..]).copied()
}

/// Where the blocks behind a failure are known: in its own process or, for a message that came beside
/// a single snapshot, in that.
fn home_of(model: &Model, process: ProcessId, device: DeviceId) -> (ProcessId, DeviceId) {
    if model.space(process, device).is_some() || device == DeviceId::HOST {
        return (process, device);
    }
    let fits = |other: DeviceId| {
        other == device || (device == DeviceId::UNKNOWN && other != DeviceId::HOST)
    };
    let mut candidates = model.spaces().filter(|(_, other, _)| fits(*other));
    match (candidates.next(), candidates.next()) {
        (Some((process, device, _)), None) => (process, device),
        _ => (process, device),
    }
}

impl<'a> Diagnosis<'a> {
    /// A process and a device, of which nothing more is known than what the model holds.
    pub(crate) fn empty(
        model: &'a Model,
        tables: &'a Tables,
        process: ProcessId,
        device: DeviceId,
    ) -> Self {
        let space = model.space(process, device);
        let observed = ObservedFigures::default();
        Self {
            model,
            tables,
            process,
            home: process,
            device,
            incident: None,
            space,
            growth: None,
            observed,
            measured: Measured::default(),
            origin: InputOrigin::ELSEWHERE,
            ahead: None,
        }
    }
}
