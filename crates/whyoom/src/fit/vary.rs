//! `--vary`: the largest value that fits, from few runs; with several, for values of the others.

use std::collections::BTreeSet;

use anyhow::{Result, ensure};
use whyoom_allocators::Run;
use whyoom_fit::{Grid, Range, Room, Sample, Samples};
use whyoom_lab_core::models::GpuModel;
use whyoom_report::{FitAnswer, FitFrontier, FitFrontierRow, FitLargest, FitPoint, FitVary};

use super::{
    answer,
    gpus::{Family, Gpu},
    notes,
    observed::{Observed, Seen},
    parameters::Parameters,
    program::Bench,
};

/// So many runs are made for a GPU in a row at most.
const MOST_RUNS: usize = 6;
/// Points of the chart, beside those that were run.
const COLUMNS: u64 = 60;

/// Searches on every family at once.
pub(crate) fn run(
    bench: &Bench,
    families: &[Family],
    parameters: &Parameters<'_>,
) -> Result<(FitAnswer, Vec<Observed>)> {
    let mut searches: Vec<Search<'_>> =
        families.iter().map(|family| Search::new(family, parameters)).collect();
    loop {
        let of_search = |(index, search): (usize, &Search<'_>)| {
            let wanted = search.wanted().into_iter();
            wanted.map(move |(row, value)| (index, row, value)).collect::<Vec<_>>()
        };
        let wanted: Vec<(usize, usize, u64)> =
            searches.iter().enumerate().flat_map(of_search).collect();
        if wanted.is_empty() {
            return Ok(answered(bench, families, searches, parameters));
        }
        let job = |(index, row, value): &(usize, usize, u64)| {
            (families[*index].ran_on(), parameters.set(&bench.program, *row, *value))
        };
        let jobs: Vec<_> = wanted.iter().map(job).collect();
        for ((index, row, value), observed) in wanted.into_iter().zip(bench.observe_all(&jobs)) {
            searches[index].add(row, value, observed?)?;
        }
    }
}

fn answered(
    bench: &Bench,
    families: &[Family],
    searches: Vec<Search<'_>>,
    parameters: &Parameters<'_>,
) -> (FitAnswer, Vec<Observed>) {
    let runs = searches.iter().map(|search| search.grid.count()).sum();
    let predicts_runs = searches[0].grid.samples(0).predicts_runs();
    let rows: Vec<FitFrontierRow> =
        (0..parameters.rows.len()).map(|row| found(&searches, parameters, row)).collect();
    let best = rows[0].largest.iter().filter_map(|largest| largest.value).max();
    let (vary, frontier) = if parameters.by.is_empty() {
        let curve = curve(parameters.range, searches[0].grid.samples(0));
        (rows.into_iter().next().map(|row| varied(parameters, row, curve, predicts_runs)), None)
    } else {
        (None, Some(frontier(parameters, rows, runs, predicts_runs)))
    };
    let observed: Vec<Observed> =
        searches.into_iter().filter_map(|search| search.into_observed(best)).collect();
    let mut notes = notes::notes(&families.iter().collect::<Vec<_>>(), &observed);
    // Behind what was measured by them.
    notes.insert(notes.len().min(1), notes::runs(runs));
    let answer = FitAnswer {
        command: bench.program.text(),
        gpus: Vec::new(),
        peaks: observed.iter().filter_map(answer::peak).collect(),
        growth_bytes_per_step: notes::growth_per_step(&observed),
        stopped_after_steps: notes::stopped_after(&observed),
        assertions: Vec::new(),
        notes,
        generation: None,
        vary,
        frontier,
    };
    (answer, observed)
}

/// What was found in a row, the GPUs in the order they were asked for.
fn found(searches: &[Search<'_>], parameters: &Parameters<'_>, row: usize) -> FitFrontierRow {
    let mut largest: Vec<(usize, FitLargest)> =
        searches.iter().flat_map(|search| search.largest(row)).collect();
    largest.sort_by_key(|(place, _)| *place);
    FitFrontierRow {
        values: parameters.rows[row].clone(),
        largest: largest.into_iter().map(|(_, largest)| largest).collect(),
        runs: searches[0].grid.samples(row).values().collect(),
    }
}

fn varied(
    parameters: &Parameters<'_>,
    row: FitFrontierRow,
    curve: Vec<FitPoint>,
    predicts_runs: bool,
) -> FitVary {
    let FitFrontierRow { largest, runs, .. } = row;
    FitVary { name: parameters.name.to_owned(), largest, curve, runs, predicts_runs }
}

fn frontier(
    parameters: &Parameters<'_>,
    rows: Vec<FitFrontierRow>,
    runs: usize,
    predicts_runs: bool,
) -> FitFrontier {
    FitFrontier {
        name: parameters.name.to_owned(),
        by: parameters.by.iter().map(|name| (*name).to_owned()).collect(),
        rows,
        runs: runs as u64,
        predicts_runs,
    }
}

/// The search over one family: its runs serve all of its GPUs.
struct Search<'a> {
    family: &'a Family,
    parameters: &'a Parameters<'a>,
    grid: Grid,
    /// The runs of the first row; what they did is in the grid.
    observed: Vec<(u64, Observed)>,
    /// The most that a process had outside its allocator.
    outside: Option<u64>,
}

impl<'a> Search<'a> {
    fn new(family: &'a Family, parameters: &'a Parameters<'a>) -> Self {
        let grid = Grid::new(parameters.range.clone(), parameters.rows.clone());
        Self { family, parameters, grid, observed: Vec::new(), outside: None }
    }

    /// The rows and values that some GPU of the family needs a run at.
    fn wanted(&self) -> Vec<(usize, u64)> {
        let rooms: Vec<Room> = self.family.gpus.iter().map(|gpu| self.room(gpu.model)).collect();
        let mut wanted = self.grid.next_runs(&rooms);
        wanted.retain(|(row, _)| self.grid.samples(*row).count() < MOST_RUNS * rooms.len());
        wanted
    }

    fn add(&mut self, row: usize, value: u64, mut observed: Observed) -> Result<()> {
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
        let runs = observed.seen.iter_mut().map(run).collect();
        self.grid.add(row, value, Sample::new(runs));
        self.outside = observed.seen.iter().map(|seen| seen.outside).max().max(self.outside);
        if row == 0 {
            self.observed.push((value, observed));
        }
        Ok(())
    }

    /// What a GPU has for the process that has most outside its allocator.
    fn room(&self, model: &GpuModel) -> Room {
        let room = |outside| answer::room_beside(outside, model, self.family.ran_on());
        self.outside.map_or(Room { total: model.total.value, outside: 0 }, room)
    }

    /// The largest value of a row for each GPU, with the GPU's place.
    fn largest(&self, row: usize) -> Vec<(usize, FitLargest)> {
        let found = |gpu: &Gpu| (gpu.place, self.largest_on(row, gpu.model));
        self.family.gpus.iter().map(found).collect()
    }

    fn largest_on(&self, row: usize, model: &'static GpuModel) -> FitLargest {
        let room = self.room(model);
        let edge = self.grid.edge(row, room);
        let is_last = |value| self.parameters.range.after(value).is_none();
        FitLargest {
            gpu: model.name,
            room_bytes: room.left(),
            value: edge.value,
            peak_reserved_bytes: edge.placed.map(|(reserved, _)| reserved),
            releases_cache: edge.placed.is_some_and(|(_, releases)| releases),
            run: edge.run,
            confirmed: edge.confirmed,
            implied: edge.implied,
            is_last: edge.value.is_some_and(is_last),
        }
    }

    /// The run of the first row at a value, or the one that comes nearest below it.
    fn into_observed(mut self, value: Option<u64>) -> Option<Observed> {
        self.observed.sort_by_key(|(made_at, _)| *made_at);
        let wanted = value.unwrap_or_default();
        let index = self.observed.iter().rposition(|(made_at, _)| *made_at <= wanted);
        let index = index.unwrap_or_default();
        (index < self.observed.len()).then(|| self.observed.swap_remove(index).1)
    }
}

/// The peak over the range: what was run, and values at even distances.
fn curve(range: &Range, samples: &Samples) -> Vec<FitPoint> {
    let columns = range.count().min(COLUMNS);
    let place = |column: u64| {
        let along = u128::from(column) * u128::from(range.count() - 1);
        (along / u128::from((columns - 1).max(1))) as u64
    };
    let evenly = (0..columns).map(|column| range.value(place(column)));
    let values: BTreeSet<u64> = evenly.chain(samples.values()).collect();
    let point =
        |value| Some(FitPoint { value, peak_reserved_bytes: samples.peak_reserved(value)? });
    values.into_iter().filter_map(point).collect()
}
