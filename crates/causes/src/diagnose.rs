//! From diagnoses to one verdict.

use std::collections::BTreeMap;

use whyoom_memory::Model;
use whyoom_trace::{DeviceId, ProcessId, Tables};

use crate::{
    ahead::Ahead,
    alternatives::alternative,
    cause::Cause,
    coverage::add_coverage,
    diagnoses::diagnoses,
    diagnosis::{Diagnosis, Measured},
    finding::{Finding, Strength},
    findings::findings,
    input_origin::InputOrigin,
    ranking::rank,
    verdict::Verdict,
};

/// What holds in a diagnosis.
#[derive(Clone)]
struct Found {
    /// Which of the diagnoses.
    diagnosis: usize,
    /// The primary cause first; never empty.
    findings: Vec<Finding>,
}

impl Found {
    fn first(&self) -> &Finding {
        &self.findings[0]
    }
}

/// Judges everything that a model holds, as of inputs from elsewhere.
#[must_use]
pub fn judge(model: &Model, tables: &Tables) -> Verdict {
    judge_on(model, tables, Measured::default(), InputOrigin::ELSEWHERE, &Ahead::default())
}

/// Judges everything that a model holds, with what was measured of the machine, where the inputs come from and what
/// lies ahead of the failures.
#[must_use]
pub fn judge_on(
    model: &Model,
    tables: &Tables,
    measured: Measured,
    origin: &InputOrigin,
    ahead: &Ahead,
) -> Verdict {
    let diagnoses = diagnoses(model, tables, measured, origin, ahead);
    let judged = one_view(model, judge_processes(&diagnoses));
    let owner = |found: &Found| (found.first().process, found.first().device, found.first().cause);
    let by_process = judged.iter().map(owner).collect();
    let Some(chosen) = choose(&judged, model.incidents().is_empty()) else {
        let nothing = Diagnosis::empty(model, tables, ProcessId(0), DeviceId::UNKNOWN);
        let primary = crate::catalogue::nothing_found(&nothing);
        return Verdict {
            primary,
            alternatives: Vec::new(),
            contributing: Vec::new(),
            breakdown: None,
            by_process,
        };
    };
    let Found { diagnosis, mut findings } = judged[chosen].clone();
    let mut primary = findings.remove(0);
    let diagnosis = &diagnoses[diagnosis];
    add_coverage(diagnosis, &mut primary);
    let alternatives: Vec<&'static Cause> = alternative(diagnosis, &primary).into_iter().collect();
    add_other_causes(&mut findings, &primary, &judged);
    if primary.cause == "growth" {
        findings.iter_mut().for_each(without_settings);
    }
    findings.sort_by_key(|finding| std::cmp::Reverse((finding.reclaimable, finding.strength)));
    let breakdown = diagnosis.breakdown();
    let shell = diagnosis.shell();
    let mut verdict =
        Verdict { primary, alternatives, contributing: findings, breakdown, by_process };
    shell.translate(verdict.findings_mut());
    verdict
}

/// What holds for each process on each device, in order of first sight: of several failures the last,
/// which ended the run, unless only an earlier one could be explained. Where the run went on after all of
/// them, none did: then the first, before the program tried something else.
fn judge_processes(diagnoses: &[Diagnosis<'_>]) -> Vec<Found> {
    let mut judged: Vec<Judged> = Vec::new();
    for (index, diagnosis) in diagnoses.iter().enumerate() {
        let found = Found { diagnosis: index, findings: findings(diagnosis) };
        let Some(first) = found.findings.first() else { continue };
        let owner = (first.process, first.device);
        let went_on = diagnosis.incident.is_some_and(|one| diagnosis.model.went_on_after(one));
        let of_text = diagnosis.symptom().is_some();
        match judged.iter_mut().find(|other| other.owner == owner) {
            Some(earlier) => {
                earlier.failures.push(found);
                earlier.went_on = went_on;
                earlier.of_text &= of_text;
            }
            None => judged.push(Judged { owner, failures: vec![found], went_on, of_text }),
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
fn one_view(model: &Model, mut judged: Vec<Found>) -> Vec<Found> {
    let is_recorded = |found: &Found| model.process(found.first().process).is_some();
    let of_layout = |found: &Found| {
        let explains = found.first().strength >= Strength::Explains;
        explains && found.first().cause != "working-set" && BY_LAYOUT.contains(&found.first().cause)
    };
    let on_device = |index: &usize| judged[*index].first().device != DeviceId::HOST;
    let all = || (0..judged.len()).filter(on_device);
    let recorded: Vec<usize> = all().filter(|&index| is_recorded(&judged[index])).collect();
    let snapshots: Vec<usize> = all().filter(|&index| !is_recorded(&judged[index])).collect();
    let (&[recorded], &[snapshot]) = (recorded.as_slice(), snapshots.as_slice()) else {
        return judged;
    };
    if !of_layout(&judged[snapshot]) {
        return judged;
    }
    let known: Vec<&str> = judged[snapshot].findings.iter().map(|finding| finding.cause).collect();
    let is_new =
        |finding: &&Finding| !known.contains(&finding.cause) && !BY_LAYOUT.contains(&finding.cause);
    let rest: Vec<Finding> = judged[recorded].findings.iter().filter(is_new).cloned().collect();
    judged[snapshot].findings.extend(rest);
    judged[snapshot].findings.sort_by_key(rank);
    if !known.contains(&judged[snapshot].first().cause) {
        judged[snapshot].diagnosis = judged[recorded].diagnosis;
    }
    judged.remove(recorded);
    judged
}

/// The failures of one process on one device.
struct Judged {
    owner: (ProcessId, DeviceId),
    /// What holds in each, in order; none is empty.
    failures: Vec<Found>,
    /// Whether the run went on after the last.
    went_on: bool,
    /// Whether all of them are messages.
    of_text: bool,
}

impl Judged {
    fn chosen(mut self) -> Found {
        // Of what a text tells of one failure, a word that leaves no doubt counts, wherever it stands.
        let certain = |found: &Found| found.first().strength == Strength::Decisive;
        if self.of_text && self.failures.iter().any(certain) {
            self.failures.retain(certain);
        }
        let explained = |found: &Found| found.first().strength > Strength::Fallback;
        let index = match self.went_on {
            true => self.failures.iter().position(explained),
            false => self.failures.iter().rposition(explained),
        };
        self.failures.swap_remove(index.unwrap_or(0))
    }
}

/// The diagnosis that stands for all: of the strongest, the cause that most have, and its first diagnosis.
/// When one rank runs out the others die of it, so what came first weighs more than what came last. Where none
/// did, whatever gives back most comes first.
fn choose(judged: &[Found], uneventful: bool) -> Option<usize> {
    let strongest = judged.iter().map(|found| found.first().strength).max()?;
    let mut votes = BTreeMap::<&str, usize>::new();
    let candidates: Vec<usize> =
        (0..judged.len()).filter(|&index| judged[index].first().strength == strongest).collect();
    for &index in &candidates {
        *votes.entry(judged[index].first().cause).or_default() += 1;
    }
    let most = votes.values().copied().max()?;
    let mut leading =
        candidates.into_iter().filter(|&index| votes[judged[index].first().cause] == most);
    match uneventful {
        // Of equals the first comes back.
        true => leading.rev().max_by_key(|&index| judged[index].first().reclaimable),
        false => leading.next(),
    }
}

/// Beside growth a setting of the allocator only makes the end later.
fn without_settings(finding: &mut Finding) {
    finding.remedies.retain(|remedy| remedy.setting.is_none());
}

/// Causes that hold only in other diagnoses contribute too.
fn add_other_causes(found: &mut Vec<Finding>, primary: &Finding, judged: &[Found]) {
    for other in judged.iter().map(Found::first) {
        let known = other.cause == primary.cause || found.iter().any(|f| f.cause == other.cause);
        if !known && other.strength > Strength::Fallback && other.cause != "healthy" {
            found.push(other.clone());
        }
    }
}
