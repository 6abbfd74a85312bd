//! The runs that were made, and what they tell of those that were not.

use std::collections::BTreeMap;

use whyoom_allocators::Run;

use crate::{
    demand::Demand,
    extrapolation::{Curve, between},
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
pub(crate) enum Prediction {
    /// The runs themselves, request by request.
    Runs(Vec<Run>),
    /// Only the peak: what was made did not do the same things.
    Peak(u64),
}

impl Prediction {
    /// From what was made, or predicted, at two or three values.
    pub(crate) fn between(known: &[(u64, Known<'_>)], value: u64) -> Option<Self> {
        let curve = Curve::through(known.iter().map(|(at, _)| *at), value)?;
        if let Some(runs) = runs_between(known, value) {
            return Some(Self::Runs(runs));
        }
        let peaks: Vec<u64> = known.iter().map(|(_, known)| known.peak_reserved()).collect();
        curve.size(&peaks).map(Self::Peak)
    }

    pub(crate) fn placed(self, room: Room) -> Option<(u64, bool)> {
        match self {
            Self::Runs(runs) => Sample::new(runs).placed(room),
            Self::Peak(peak) => (peak <= room.left()).then_some((peak, false)),
        }
    }

    fn peak_reserved(&self) -> u64 {
        match self {
            Self::Runs(runs) => {
                runs.iter().map(|run| Demand::of(run).reserved).max().unwrap_or_default()
            }
            Self::Peak(peak) => *peak,
        }
    }
}

/// What is known of a value: what was made there, or what is predicted.
pub(crate) enum Known<'a> {
    Made(&'a Sample),
    Predicted(Prediction),
}

impl Known<'_> {
    pub(crate) fn placed(self, room: Room) -> Option<(u64, bool)> {
        match self {
            Self::Made(sample) => sample.placed(room),
            Self::Predicted(prediction) => prediction.placed(room),
        }
    }

    fn peak_reserved(&self) -> u64 {
        match self {
            Self::Made(sample) => sample.peak_reserved(),
            Self::Predicted(prediction) => prediction.peak_reserved(),
        }
    }

    fn runs(&self) -> Option<Vec<&Run>> {
        match self {
            Self::Made(sample) => Some(sample.runs.iter().map(|(run, _)| run).collect()),
            Self::Predicted(Prediction::Runs(runs)) => Some(runs.iter().collect()),
            Self::Predicted(Prediction::Peak(_)) => None,
        }
    }
}

/// The run of each process; nothing where they did not do the same things.
fn runs_between(known: &[(u64, Known<'_>)], value: u64) -> Option<Vec<Run>> {
    let with_runs = known.iter().map(|(at, known)| Some((*at, known.runs()?)));
    let with_runs: Vec<(u64, Vec<&Run>)> = with_runs.collect::<Option<_>>()?;
    let count = with_runs.first()?.1.len();
    if with_runs.iter().any(|(_, runs)| runs.len() != count) {
        return None;
    }
    let of_process = |process: usize| {
        let made: Vec<(u64, &Run)> =
            with_runs.iter().map(|(at, runs)| (*at, runs[process])).collect();
        between(&made, value)
    };
    (0..count).map(of_process).collect()
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

    /// The runs that were made, each with its value.
    pub(crate) fn all(&self) -> impl Iterator<Item = (u64, &Sample)> {
        self.made.iter().map(|(value, sample)| (*value, sample))
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

    /// What is known of a value; nothing where there are too few runs to tell.
    pub(crate) fn known(&self, value: u64) -> Option<Known<'_>> {
        let made = self.made_at(value).map(Known::Made);
        made.or_else(|| self.predict(value).map(Known::Predicted))
    }

    /// The most that is reserved at this value, as it was seen or else as it is predicted.
    #[must_use]
    pub fn peak_reserved(&self, value: u64) -> Option<u64> {
        self.known(value).map(|known| known.peak_reserved())
    }

    /// Whether predictions are whole runs, not only peaks.
    #[must_use]
    pub fn predicts_runs(&self) -> bool {
        let beyond = self.made.keys().next_back().map(|last| last.saturating_add(1));
        let prediction = beyond.and_then(|value| self.predict(value));
        matches!(prediction, Some(Prediction::Runs(_)))
    }

    fn predict(&self, value: u64) -> Option<Prediction> {
        let (a, b) = self.nearest(value)?;
        let known = [a, b].map(|at| (at, Known::Made(&self.made[&at])));
        Prediction::between(&known, value)
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
