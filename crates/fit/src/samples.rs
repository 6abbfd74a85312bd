//! The runs that were made, and what they tell of those that were not.

use std::collections::BTreeMap;

use whyoom_allocators::Run;

use crate::{
    demand::Demand,
    extrapolation::between,
    placement::{Placement, Room, place},
};

/// What a program did at one value: a run for each process and device, always in the same order.
#[derive(Clone, Debug)]
pub struct Sample {
    runs: Vec<(Run, Demand)>,
}

impl Sample {
    /// A sample of these runs.
    #[must_use]
    pub fn new(runs: Vec<Run>) -> Self {
        let with_demand = |run: Run| {
            let demand = Demand::of(&run);
            (run, demand)
        };
        Self { runs: runs.into_iter().map(with_demand).collect() }
    }

    /// The runs, with what each takes where nothing limits it.
    pub fn runs(&self) -> impl Iterator<Item = &(Run, Demand)> {
        self.runs.iter()
    }

    /// The most that one of the runs has reserved in a room, and whether cached memory has to be given
    /// back on the way; nothing where one does not fit.
    #[must_use]
    pub fn placed(&self, room: Room) -> Option<(u64, bool)> {
        let placed = self.runs.iter().map(|(run, demand)| match place(run, *demand, room) {
            Placement::Fits { reserved, releases_cache } => Some((reserved, releases_cache)),
            _ => None,
        });
        let placed: Vec<(u64, bool)> = placed.collect::<Option<_>>()?;
        let most = placed.iter().map(|(reserved, _)| *reserved).max()?;
        Some((most, placed.iter().any(|(_, releases)| *releases)))
    }

    /// Whether every run fits.
    #[must_use]
    pub fn fits(&self, room: Room) -> bool {
        self.placed(room).is_some()
    }

    /// The most that one of the runs has reserved.
    #[must_use]
    pub fn peak_reserved(&self) -> u64 {
        self.runs.iter().map(|(_, demand)| demand.reserved).max().unwrap_or_default()
    }
}

/// What the model says of a value.
#[derive(Clone, Debug)]
enum Prediction {
    /// The run itself, request by request.
    Run(Sample),
    /// Only its peak, on a straight line: the runs did not do the same things.
    Peak(u64),
}

/// The runs that were made, by the value that they were made at.
#[derive(Clone, Debug, Default)]
pub struct Samples {
    made: BTreeMap<u64, Sample>,
}

impl Samples {
    /// Adds a run.
    pub fn add(&mut self, value: u64, sample: Sample) {
        self.made.insert(value, sample);
    }

    /// The run that was made at a value.
    #[must_use]
    pub fn made_at(&self, value: u64) -> Option<&Sample> {
        self.made.get(&value)
    }

    /// How many were made.
    #[must_use]
    pub fn count(&self) -> usize {
        self.made.len()
    }

    /// The values that runs were made at.
    pub fn values(&self) -> impl Iterator<Item = u64> {
        self.made.keys().copied()
    }

    /// What is reserved in a room at this value, and whether cached memory has to be given back on the
    /// way: as it was seen, else as it is predicted. Nothing where it does not fit, or where there are too
    /// few runs to tell.
    #[must_use]
    pub fn placed(&self, value: u64, room: Room) -> Option<(u64, bool)> {
        if let Some(made) = self.made_at(value) {
            return made.placed(room);
        }
        match self.predict(value)? {
            Prediction::Run(sample) => sample.placed(room),
            Prediction::Peak(peak) => (peak <= room.left()).then_some((peak, false)),
        }
    }

    /// The most that is reserved at this value, as it was seen or else as it is predicted.
    #[must_use]
    pub fn peak_reserved(&self, value: u64) -> Option<u64> {
        if let Some(made) = self.made_at(value) {
            return Some(made.peak_reserved());
        }
        Some(match self.predict(value)? {
            Prediction::Run(sample) => sample.peak_reserved(),
            Prediction::Peak(peak) => peak,
        })
    }

    /// Whether predictions are whole runs, not only peaks.
    #[must_use]
    pub fn predicts_runs(&self) -> bool {
        let beyond = self.made.keys().next_back().map(|last| last.saturating_add(1));
        let prediction = beyond.and_then(|value| self.predict(value));
        matches!(prediction, Some(Prediction::Run(_)))
    }

    fn predict(&self, value: u64) -> Option<Prediction> {
        let (a, b) = self.nearest(value)?;
        let (first, second) = (&self.made[&a], &self.made[&b]);
        let pairs = first.runs.iter().zip(&second.runs);
        let runs: Option<Vec<Run>> =
            pairs.map(|((one, _), (other, _))| between((a, one), (b, other), value)).collect();
        let as_many = first.runs.len() == second.runs.len();
        Some(match runs.filter(|_| as_many) {
            Some(runs) => Prediction::Run(Sample::new(runs)),
            None => {
                let (from, to) = (first.peak_reserved() as f64, second.peak_reserved() as f64);
                let share = (value as f64 - a as f64) / (b as f64 - a as f64);
                Prediction::Peak((from + (to - from) * share).max(0.0) as u64)
            }
        })
    }

    /// The two values with runs that lie nearest, on both sides where there are both.
    fn nearest(&self, value: u64) -> Option<(u64, u64)> {
        let below = self.made.range(..value).next_back().map(|(at, _)| *at);
        let above = self.made.range(value..).next().map(|(at, _)| *at);
        match (below, above) {
            (Some(below), Some(above)) => Some((below, above)),
            (Some(below), None) => {
                self.made.range(..below).next_back().map(|(further, _)| (*further, below))
            }
            (None, Some(above)) => {
                self.made.range(above + 1..).next().map(|(further, _)| (above, *further))
            }
            (None, None) => None,
        }
    }
}
