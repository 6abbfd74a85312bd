//! Two runs, rank by rank.

use serde::Serialize;

use crate::{
    change::difference,
    explain::Context,
    explanation::Explanation,
    figures::{Figures, noise},
    profile::{Profile, RankProfile},
    settings::{Decides, SettingChange, differences},
    view::View,
};

/// Two runs compared: all that text, JSON and HTML show.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Comparison {
    /// What a person calls A.
    pub a: String,
    /// What a person calls B.
    pub b: String,
    /// Every process on every device that both have, the largest difference of peaks first.
    pub ranks: Vec<RankComparison>,
    /// What only A has.
    pub only_a: Vec<String>,
    /// What only B has.
    pub only_b: Vec<String>,
}

/// One process on one device, in both runs.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct RankComparison {
    /// Its rank, where both tell it.
    pub rank: Option<u32>,
    /// The process and device in A.
    pub name_a: String,
    /// The process and device in B.
    pub name_b: String,
    /// The sums of A.
    pub a: Figures,
    /// The sums of B.
    pub b: Figures,
    /// Whether all that differs is noise.
    pub unchanged: bool,
    /// What differs up to this is noise.
    #[serde(rename = "noise_bytes")]
    pub noise: u64,
    /// When most was allocated.
    pub peak: View,
    /// Where the runs peak in other phases: the phase of the higher peak, in both runs. Its explanations are those of
    /// the difference.
    pub same_phase: Option<SamePhase>,
    /// What stays from iteration to iteration.
    pub steady: Option<View>,
    /// Settings, versions, GPUs and code that differ, first those that explain.
    pub settings: Vec<SettingChange>,
}

/// When most was allocated in one phase, in both runs.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct SamePhase {
    /// The phase.
    pub phase: &'static str,
    /// Both runs then.
    pub view: View,
}

impl RankComparison {
    /// Why the peaks differ, in the phase of the higher one.
    #[must_use]
    pub fn explanations(&self) -> &[Explanation] {
        let view = self.same_phase.as_ref().map_or(&self.peak, |same| &same.view);
        &view.explanations
    }

    /// What B needs more at its peak, or less.
    #[must_use]
    pub fn bytes(&self) -> i64 {
        difference(self.a.peak, self.b.peak)
    }

    /// What B's allocator holds more, or less, when each holds most.
    #[must_use]
    pub fn reserved(&self) -> i64 {
        difference(self.a.reserved, self.b.reserved)
    }

    /// What of that is not allocated.
    #[must_use]
    pub fn unallocated(&self) -> i64 {
        difference(self.a.unallocated(), self.b.unallocated())
    }
}

/// Compares two runs.
#[must_use]
pub fn compare(a: &Profile, b: &Profile) -> Comparison {
    let (pairs, only_a, only_b) = pairs(&a.ranks, &b.ranks);
    let mut ranks: Vec<RankComparison> = pairs.into_iter().map(|(a, b)| ranks_of(a, b)).collect();
    ranks.sort_by_key(|rank| {
        (
            std::cmp::Reverse(rank.bytes().unsigned_abs()),
            std::cmp::Reverse(rank.reserved().unsigned_abs()),
            rank.rank,
        )
    });
    let names = |ranks: Vec<&RankProfile>| ranks.into_iter().map(name).collect();
    Comparison {
        a: a.name.clone(),
        b: b.name.clone(),
        ranks,
        only_a: names(only_a),
        only_b: names(only_b),
    }
}

type Pairs<'a> =
    (Vec<(&'a RankProfile, &'a RankProfile)>, Vec<&'a RankProfile>, Vec<&'a RankProfile>);

/// What belongs together: by rank and device where ranks are told, in order otherwise.
fn pairs<'a>(a: &'a [RankProfile], b: &'a [RankProfile]) -> Pairs<'a> {
    let mut others: Vec<&RankProfile> = b.iter().collect();
    let (mut pairs, mut only_a) = (Vec::new(), Vec::new());
    let ranked = [a, b].iter().all(|side| side.iter().all(|rank| rank.rank.is_some()));
    for one in a {
        let same_rank = |other: &&RankProfile| other.rank == one.rank && other.device == one.device;
        let found = match ranked {
            true => others
                .iter()
                .position(same_rank)
                .or_else(|| others.iter().position(|other| other.rank == one.rank)),
            false => others
                .iter()
                .position(|other| other.device == one.device)
                .or((!others.is_empty()).then_some(0)),
        };
        match found {
            Some(at) => pairs.push((one, others.remove(at))),
            None => only_a.push(one),
        }
    }
    (pairs, only_a, others)
}

fn name(rank: &RankProfile) -> String {
    format!("{}, {}", rank.process, rank.device)
}

fn ranks_of(a: &RankProfile, b: &RankProfile) -> RankComparison {
    let mut settings = differences(a, b);
    let (of_a, of_b) = (Figures::of(a), Figures::of(b));
    let noise = noise(of_a.peak, of_b.peak);
    let context = Context { noise, settings: &settings };
    let peak = View::of(&a.peak, &b.peak, &context);
    let same_phase = same_phase(a, b, &context);
    let both = a.steady.as_ref().zip(b.steady.as_ref()).filter(|_| a.steady_at == b.steady_at);
    let steady = both.map(|(a, b)| View::of(a, b, &context));
    let unallocated = difference(of_a.unallocated(), of_b.unallocated()).unsigned_abs();
    let views = [Some(&peak), steady.as_ref(), same_phase.as_ref().map(|same| &same.view)];
    let explained: Vec<String> = views
        .into_iter()
        .flatten()
        .flat_map(|view| &view.explanations)
        .filter_map(|explanation| explanation.because.clone())
        .collect();
    for setting in &mut settings {
        let of_reserved = setting.decides == Decides::Reserved && unallocated > noise;
        setting.explains = of_reserved || explained.contains(&setting.name);
    }
    settings.sort_by_key(|setting| !setting.explains);
    let differs = |a: u64, b: u64| a.abs_diff(b) > noise;
    let unchanged = peak.explanations.is_empty()
        && steady.as_ref().is_none_or(|steady| steady.explanations.is_empty())
        && !differs(of_a.peak, of_b.peak)
        && !differs(of_a.reserved, of_b.reserved);
    RankComparison {
        rank: a.rank.filter(|_| a.rank == b.rank),
        name_a: name(a),
        name_b: name(b),
        a: of_a,
        b: of_b,
        unchanged,
        noise,
        peak,
        same_phase,
        steady,
        settings,
    }
}

/// The phase of the higher peak in both runs, where the other peaks elsewhere.
fn same_phase(a: &RankProfile, b: &RankProfile, context: &Context<'_>) -> Option<SamePhase> {
    let higher = if a.peak.allocated > b.peak.allocated { a } else { b };
    let phase = higher.peak_phase;
    if a.peak_phase == b.peak_phase {
        return None;
    }
    let view = View::of(a.peak_in(phase)?, b.peak_in(phase)?, context);
    Some(SamePhase { phase: phase.name(), view })
}
