//! From scenes to one verdict.

use std::collections::BTreeMap;

use whyoom_memory::{Growth, Incident, Model, Space};
use whyoom_trace::{DeviceId, ProcessId, Tables};

use crate::{
    catalogue::CATALOGUE,
    finding::{Finding, Strength},
    framework, guard,
    proof::is_provable,
    said,
    scene::Scene,
    situation::Situation,
};

/// A loop that retries runs out again and again for the same reason: so many of its failures are
/// judged.
const JUDGED_PER_PROCESS: usize = 16;

/// The answer: one primary cause, what contributed, and which processes it holds for.
#[derive(Debug, Clone, PartialEq)]
pub struct Verdict {
    /// The cause that explains what happened.
    pub primary: Finding,
    /// Other causes that hold, by the bytes that each would give back.
    pub contributing: Vec<Finding>,
    /// Every process and device that was judged, with its own primary cause.
    pub by_process: Vec<(ProcessId, DeviceId, &'static str)>,
}

impl Verdict {
    /// Whether it offers anything that a replay of the run could prove.
    #[must_use]
    pub fn has_provable_remedies(&self) -> bool {
        std::iter::once(&self.primary).chain(&self.contributing).any(is_provable)
    }
}

/// Judges everything that a model holds.
#[must_use]
pub fn judge(model: &Model, tables: &Tables) -> Verdict {
    let judged = one_view(model, judge_processes(&scenes(model, tables)));
    let by_process =
        judged.iter().map(|found| (found[0].process, found[0].device, found[0].cause)).collect();
    let Some(chosen) = choose(&judged, model.incidents().is_empty()) else {
        let nothing = Scene::empty(model, tables, ProcessId(0), DeviceId::UNKNOWN);
        let primary = crate::catalogue::nothing_found(&nothing);
        return Verdict { primary, contributing: Vec::new(), by_process };
    };
    let mut found = judged[chosen].clone();
    let primary = found.remove(0);
    add_other_causes(&mut found, &primary, &judged);
    if primary.cause == "growth" {
        found.iter_mut().for_each(without_settings);
    }
    found.sort_by_key(|finding| std::cmp::Reverse((finding.gives_back, finding.strength)));
    Verdict { primary, contributing: found, by_process }
}

/// What holds for each process on each device, in order of first sight: of several failures the last,
/// which ended the run, unless only an earlier one could be explained. Where the run went on after all of
/// them, none did: then the first, before the program tried something else.
fn judge_processes(scenes: &[Scene<'_>]) -> Vec<Vec<Finding>> {
    let mut judged: Vec<Judged> = Vec::new();
    for scene in scenes {
        let found = findings(scene);
        let Some(first) = found.first() else { continue };
        let place = (first.process, first.device);
        let went_on = scene.incident.is_some_and(|one| scene.model.went_on_after(one));
        let of_text = scene.symptom().is_some();
        match judged.iter_mut().find(|other| other.place == place) {
            Some(earlier) => {
                earlier.failures.push(found);
                earlier.went_on = went_on;
                earlier.of_text &= of_text;
            }
            None => judged.push(Judged { place, failures: vec![found], went_on, of_text }),
        }
    }
    judged.into_iter().map(Judged::chosen).collect()
}

/// What PyTorch's own snapshot knows better than a recording: which pool and stream a segment belongs to, and
/// what was asked for to the byte.
const BY_LAYOUT: [&str; 6] =
    ["fragmented-cache", "private-pool", "rounding", "late-setting", "working-set", "unknown"];

/// A recording and the snapshot that was taken beside it are two views of one run: where the snapshot explains
/// the failure by how its memory lies, that counts, and the recording tells the rest.
fn one_view(model: &Model, mut judged: Vec<Vec<Finding>>) -> Vec<Vec<Finding>> {
    let is_recorded = |found: &Vec<Finding>| model.process(found[0].process).is_some();
    let of_layout = |found: &Vec<Finding>| {
        let explains = found[0].strength >= Strength::Explains;
        explains && found[0].cause != "working-set" && BY_LAYOUT.contains(&found[0].cause)
    };
    let on_device = |index: &usize| judged[*index][0].device != DeviceId::HOST;
    let all = || (0..judged.len()).filter(on_device);
    let recorded: Vec<usize> = all().filter(|&index| is_recorded(&judged[index])).collect();
    let snapshots: Vec<usize> = all().filter(|&index| !is_recorded(&judged[index])).collect();
    let (&[recorded], &[snapshot]) = (recorded.as_slice(), snapshots.as_slice()) else {
        return judged;
    };
    if !of_layout(&judged[snapshot]) {
        return judged;
    }
    let known: Vec<&str> = judged[snapshot].iter().map(|finding| finding.cause).collect();
    let is_new =
        |finding: &&Finding| !known.contains(&finding.cause) && !BY_LAYOUT.contains(&finding.cause);
    let rest: Vec<Finding> = judged[recorded].iter().filter(is_new).cloned().collect();
    judged[snapshot].extend(rest);
    judged[snapshot].sort_by_key(|one| std::cmp::Reverse((one.strength, one.gives_back)));
    judged.remove(recorded);
    judged
}

/// The failures of one process on one device.
struct Judged {
    place: (ProcessId, DeviceId),
    /// What holds in each, in order; none is empty.
    failures: Vec<Vec<Finding>>,
    /// Whether the run went on after the last.
    went_on: bool,
    /// Whether all of them are messages.
    of_text: bool,
}

impl Judged {
    fn chosen(mut self) -> Vec<Finding> {
        // Of what a text tells of one failure, a word that leaves no doubt counts, wherever it stands.
        let certain = |found: &Vec<Finding>| found[0].strength == Strength::Decisive;
        if self.of_text && self.failures.iter().any(certain) {
            self.failures.retain(certain);
        }
        let explained = |found: &Vec<Finding>| found[0].strength > Strength::Fallback;
        let index = match self.went_on {
            true => self.failures.iter().position(explained),
            false => self.failures.iter().rposition(explained),
        };
        self.failures.swap_remove(index.unwrap_or(0))
    }
}

/// Every moment at which memory ran out, or, where there was none, every space.
fn scenes<'a>(model: &'a Model, tables: &'a Tables) -> Vec<Scene<'a>> {
    let growths: BTreeMap<(ProcessId, DeviceId), Growth> = model
        .spaces()
        .filter_map(|(process, device, _)| {
            Some(((process, device), model.growth(process, device)?))
        })
        .collect();
    let scene = |process, device| Scene {
        growth: growths.get(&(process, device)).cloned(),
        ..Scene::empty(model, tables, process, device)
    };
    if model.incidents().is_empty() {
        return uneventful(model)
            .into_iter()
            .map(|(process, device)| scene(process, device))
            .collect();
    }
    let mut incidents = BTreeMap::<(ProcessId, DeviceId), Vec<usize>>::new();
    for (index, incident) in model.incidents().iter().enumerate() {
        incidents.entry((incident.process, incident.device)).or_default().push(index);
    }
    let mut judged: Vec<usize> = incidents.values().flat_map(|all| ends_of(all)).collect();
    judged.sort_unstable();
    judged
        .into_iter()
        .map(|index| {
            let incident = &model.incidents()[index];
            let (process, device) = (incident.process, incident.device);
            let home = home_of(model, process, device);
            let at_home = scene(home.0, home.1);
            let situation = in_force(&at_home, incident);
            Scene {
                process,
                device,
                situation,
                incident: Some(incident),
                // What grew may have been given back when the failure was handled.
                growth: incident.growth.clone().or(at_home.growth.clone()),
                ..at_home
            }
        })
        .collect()
}

/// The figures of a failure: the verdict, JSON and reports show these.
#[must_use]
pub fn figures(model: &Model, tables: &Tables, incident: &Incident) -> Situation {
    let (process, device) = home_of(model, incident.process, incident.device);
    in_force(&Scene::empty(model, tables, process, device), incident)
}

/// The figures of a failure under the allocator that was in force.
fn in_force(at_home: &Scene<'_>, incident: &Incident) -> Situation {
    let situation = Situation::of(incident);
    match (at_home.has_pool(), at_home.expandable_segments_on()) {
        (true, _) => situation.under_pool(incident),
        (false, true) => situation.with_expandable_segments(),
        (false, false) => situation,
    }
}

/// Where no memory ran out: every space that something was taken in, and every process that took
/// nothing anywhere.
fn uneventful(model: &Model) -> Vec<(ProcessId, DeviceId)> {
    let is_used = |space: &Space| space.has_allocator() || space.history() != (0, 0);
    let used_elsewhere =
        |process: ProcessId| model.devices_of(process).any(|(_, space)| is_used(space));
    let spaces = model.spaces().filter(|(process, _, space)| {
        is_used(space) || model.process(*process).is_none() || !used_elsewhere(*process)
    });
    let mut places: Vec<_> = spaces.map(|(process, device, _)| (process, device)).collect();
    let took_nothing = |process: &ProcessId| places.iter().all(|(other, _)| other != process);
    let others: Vec<ProcessId> =
        model.processes().map(|(process, _)| process).filter(took_nothing).collect();
    places.extend(others.into_iter().map(|process| (process, DeviceId::UNKNOWN)));
    places
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

impl<'a> Scene<'a> {
    /// A process and a device, of which nothing more is known than what the model holds.
    fn empty(model: &'a Model, tables: &'a Tables, process: ProcessId, device: DeviceId) -> Self {
        let space = model.space(process, device);
        let situation = Situation::default();
        Self {
            model,
            tables,
            process,
            home: process,
            device,
            incident: None,
            space,
            growth: None,
            situation,
        }
    }
}

/// What holds in a scene, the primary cause first.
fn findings(scene: &Scene<'_>) -> Vec<Finding> {
    let mut found: Vec<Finding> =
        CATALOGUE.iter().filter_map(|cause| (cause.check)(scene)).collect();
    // Figures come first: what is said counts where they do not decide.
    if found.iter().all(|finding| finding.strength < Strength::Likely) {
        found.extend(said::finding(scene));
    }
    // Stable: of equals the catalogue's order decides.
    found.sort_by_key(|finding| std::cmp::Reverse((finding.strength, finding.gives_back)));
    let is_answered = found.first().is_some_and(|first| first.strength > Strength::Fallback);
    if is_answered {
        found.retain(|finding| finding.strength != Strength::Fallback);
    }
    for finding in &mut found {
        say_recovered(scene, finding);
        framework::keep_fitting(scene, finding);
        guard::keep_new(scene, finding);
    }
    found
}

/// A failure that the program got over is told as one.
fn say_recovered(scene: &Scene<'_>, finding: &mut Finding) {
    if scene.went_on() {
        finding.because.push_str(" The program went on: it fell back, or tried again with less.");
    }
}

/// The scene that stands for all: of the strongest, the cause that most have, and its first scene.
/// When one rank runs out the others die of it, so what came first weighs more than what came last. Where none
/// did, whatever gives back most comes first.
fn choose(judged: &[Vec<Finding>], uneventful: bool) -> Option<usize> {
    let strongest = judged.iter().map(|found| found[0].strength).max()?;
    let mut votes = BTreeMap::<&str, usize>::new();
    let candidates: Vec<usize> =
        (0..judged.len()).filter(|&index| judged[index][0].strength == strongest).collect();
    for &index in &candidates {
        *votes.entry(judged[index][0].cause).or_default() += 1;
    }
    let most = votes.values().copied().max()?;
    let mut leading = candidates.into_iter().filter(|&index| votes[judged[index][0].cause] == most);
    match uneventful {
        // Of equals the first comes back.
        true => leading.rev().max_by_key(|&index| judged[index][0].gives_back),
        false => leading.next(),
    }
}

/// Beside growth a setting of the allocator only makes the end later.
fn without_settings(finding: &mut Finding) {
    finding.remedies.retain(|remedy| remedy.setting.is_none());
}

/// Causes that hold only in other scenes contribute too.
fn add_other_causes(found: &mut Vec<Finding>, primary: &Finding, judged: &[Vec<Finding>]) {
    for other in judged.iter().map(|found| &found[0]) {
        let known = other.cause == primary.cause || found.iter().any(|f| f.cause == other.cause);
        if !known && other.strength > Strength::Fallback && other.cause != "healthy" {
            found.push(other.clone());
        }
    }
}
