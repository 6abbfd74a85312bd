//! `--vary`: the largest value that fits, from few runs.

use std::collections::BTreeSet;

use anyhow::{Result, ensure};
use whyoom_allocators::Run;
use whyoom_fit::{Next, Range, Room, Sample, Samples, largest_that_fits, next_step};
use whyoom_lab_core::models::GpuModel;
use whyoom_report::{FitAnswer, FitLargest, FitPoint, FitVary};

use super::{
    answer,
    gpus::{Family, Gpu},
    notes,
    observed::{Observed, Seen},
    program::Bench,
    variation::Variation,
};

/// A round makes up to two runs for a GPU; so many rounds are made at most.
const ROUNDS: usize = 3;
/// Columns of the chart.
const COLUMNS: u64 = 60;

/// Searches on every family at once.
pub(crate) fn run(
    bench: &Bench,
    families: &[Family],
    variation: &Variation,
) -> Result<(FitAnswer, Vec<Observed>)> {
    let mut searches: Vec<Search<'_>> =
        families.iter().map(|family| Search::new(family, variation)).collect();
    for _ in 0..ROUNDS {
        let wanted: Vec<(usize, u64)> = searches
            .iter()
            .enumerate()
            .flat_map(|(index, search)| {
                search.wanted().into_iter().map(move |value| (index, value))
            })
            .collect();
        let job = |(index, value): &(usize, u64)| {
            (families[*index].ran_on(), bench.program.with(&variation.name, *value))
        };
        let jobs: Vec<_> = wanted.iter().map(job).collect();
        for ((index, value), observed) in wanted.into_iter().zip(bench.observe_all(&jobs)) {
            searches[index].add(value, observed?)?;
        }
    }
    Ok(answered(bench, families, searches, variation))
}

fn answered(
    bench: &Bench,
    families: &[Family],
    searches: Vec<Search<'_>>,
    variation: &Variation,
) -> (FitAnswer, Vec<Observed>) {
    let mut largest: Vec<(usize, FitLargest)> = searches.iter().flat_map(Search::largest).collect();
    largest.sort_by_key(|(place, _)| *place);
    let samples = &searches[0].samples;
    let vary = FitVary {
        name: variation.name.clone(),
        curve: curve(&variation.range, samples),
        runs: samples.values().collect(),
        predicts_runs: samples.predicts_runs(),
        largest: largest.into_iter().map(|(_, largest)| largest).collect(),
    };
    let best = vary.largest.iter().filter_map(|largest| largest.value).max();
    let observed: Vec<Observed> =
        searches.into_iter().filter_map(|search| search.into_observed(best)).collect();
    let answer = FitAnswer {
        command: bench.program.text(),
        gpus: Vec::new(),
        peaks: observed.iter().filter_map(answer::peak).collect(),
        growth_bytes_per_step: notes::growth_per_step(&observed),
        stopped_after_steps: notes::stopped_after(&observed),
        assertions: Vec::new(),
        notes: notes::notes(&families.iter().collect::<Vec<_>>(), &observed),
        generation: None,
        vary: Some(vary),
    };
    (answer, observed)
}

/// The search over one family: its runs serve all of its GPUs.
struct Search<'a> {
    family: &'a Family,
    variation: &'a Variation,
    samples: Samples,
    /// The runs that were made; what they did is in the samples.
    observed: Vec<(u64, Observed)>,
}

impl<'a> Search<'a> {
    fn new(family: &'a Family, variation: &'a Variation) -> Self {
        Self { family, variation, samples: Samples::default(), observed: Vec::new() }
    }

    fn next(&self, model: &GpuModel) -> Next {
        next_step(&self.variation.range, &self.samples, self.room(model))
    }

    /// The values that some GPU of the family needs a run at.
    fn wanted(&self) -> BTreeSet<u64> {
        let next = |gpu: &Gpu| match self.next(gpu.model) {
            Next::Try(values) => values,
            Next::Found(_) => Vec::new(),
        };
        self.family.gpus.iter().flat_map(next).collect()
    }

    fn add(&mut self, value: u64, mut observed: Observed) -> Result<()> {
        ensure!(!observed.seen.is_empty(), "no PyTorch allocation was recorded: --vary needs some");
        ensure!(
            !observed.is_unfinished(),
            "the run with {value} was ended while its memory grew: see --time-limit"
        );
        let run = |seen: &mut Seen| {
            // Whose run it was is still asked for; what it did is not.
            let workload = std::mem::take(&mut seen.run.workload);
            Run { workload, ..seen.run.clone() }
        };
        self.samples.add(value, Sample::new(observed.seen.iter_mut().map(run).collect()));
        self.observed.push((value, observed));
        Ok(())
    }

    /// What a GPU has for the process that has most outside its allocator.
    fn room(&self, model: &GpuModel) -> Room {
        let ran_on = self.family.ran_on();
        let seen = self.observed.iter().flat_map(|(_, observed)| &observed.seen);
        let outside = seen.map(|seen| answer::room(seen, model, ran_on).outside).max();
        Room { total: model.total.value, outside: outside.unwrap_or_default() }
    }

    /// The largest value for each GPU, with the GPU's place.
    fn largest(&self) -> Vec<(usize, FitLargest)> {
        let found = |gpu: &Gpu| (gpu.place, self.largest_on(gpu.model));
        self.family.gpus.iter().map(found).collect()
    }

    fn largest_on(&self, model: &'static GpuModel) -> FitLargest {
        let (range, room) = (&self.variation.range, self.room(model));
        let value = largest_that_fits(range, &self.samples, room);
        let placed = value.and_then(|value| self.samples.placed(value, room));
        FitLargest {
            gpu: model.name,
            room_bytes: room.left(),
            value,
            peak_reserved_bytes: placed.map(|(reserved, _)| reserved),
            releases_cache: placed.is_some_and(|(_, releases)| releases),
            run: value.is_some_and(|value| self.samples.made_at(value).is_some()),
            confirmed: matches!(self.next(model), Next::Found(_)),
            is_last: value.is_some_and(|value| range.after(value).is_none()),
        }
    }

    /// The run at a value, or the one that comes nearest below it.
    fn into_observed(mut self, value: Option<u64>) -> Option<Observed> {
        self.observed.sort_by_key(|(made_at, _)| *made_at);
        let wanted = value.unwrap_or_default();
        let index = self.observed.iter().rposition(|(made_at, _)| *made_at <= wanted);
        let index = index.unwrap_or_default();
        (index < self.observed.len()).then(|| self.observed.swap_remove(index).1)
    }
}

/// The peak over the range, at most so many values as the chart has columns.
fn curve(range: &Range, samples: &Samples) -> Vec<FitPoint> {
    let columns = range.count().min(COLUMNS);
    let place = |column: u64| column * (range.count() - 1) / (columns - 1).max(1);
    let values = (0..columns).map(|column| range.value(place(column)));
    let point =
        |value| Some(FitPoint { value, peak_reserved_bytes: samples.peak_reserved(value)? });
    values.filter_map(point).collect()
}
