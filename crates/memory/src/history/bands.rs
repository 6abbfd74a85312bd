//! What was in use by kind and by call site, coarser than how much it was.

use whyoom_trace::{Bytes, StackId, Tables};

use super::{CallSites, thinning::stride};
use crate::{category::Category, instant::Instant, series::Series, sums::LiveSums};

/// As many as bands can be told apart at.
const MOST_POINTS: usize = 2048;
/// CallSites told apart at each point: more than anybody is shown, so that one that held most somewhere is
/// known everywhere.
const TOLD_APART: usize = 128;

/// Amounts over time that add up to what was in use.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Bands<N> {
    /// The instants.
    pub at: Vec<Instant>,
    /// The amounts at each of these.
    pub bands: Vec<Band<N>>,
    /// What is left of all that was in use.
    pub rest: Vec<Bytes>,
}

/// One of the amounts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Band<N> {
    /// What it is of.
    pub name: N,
    /// A stack that it belongs to, where it is one of a call site.
    pub stack: Option<StackId>,
    /// How much it was at each instant.
    pub bytes: Vec<Bytes>,
}

#[derive(Debug, Clone)]
struct Point {
    end: Instant,
    by_category: [Bytes; Category::ALL.len()],
    /// CallSites by number, and what they held: the largest.
    by_place: Vec<(u32, Bytes)>,
}

impl Point {
    fn in_use(&self) -> Bytes {
        self.by_category.iter().copied().sum()
    }
}

#[derive(Debug)]
pub(super) struct BandSeries {
    series: Series<Point>,
    /// Room for sums by call site.
    sums: Vec<Bytes>,
    /// Events since the last point.
    since_point: u64,
}

impl Default for BandSeries {
    fn default() -> Self {
        Self { series: Series::of_less_than(MOST_POINTS), sums: Vec::new(), since_point: 0 }
    }
}

impl BandSeries {
    pub(super) fn note(
        &mut self,
        end: Instant,
        sums: &LiveSums,
        call_sites: &mut CallSites,
        tables: &Tables,
    ) {
        self.since_point += 1;
        if !self.series.count() || !sums.affords_point(self.since_point) {
            return;
        }
        self.since_point = 0;
        let by_place = self.by_place(sums, call_sites, tables);
        let point = Point { end, by_category: sums.by_category, by_place };
        self.series.end_point(point, |_, _| ());
    }

    fn by_place(
        &mut self,
        sums: &LiveSums,
        call_sites: &mut CallSites,
        tables: &Tables,
    ) -> Vec<(u32, Bytes)> {
        self.sums.fill(Bytes::ZERO);
        for (stack, bytes) in sums.stacks() {
            let call_site = call_sites.of(stack, tables) as usize;
            if call_site >= self.sums.len() {
                self.sums.resize(call_sites.len(), Bytes::ZERO);
            }
            self.sums[call_site] = self.sums[call_site].plus(bytes);
        }
        let numbered = self.sums.iter().enumerate().filter(|(_, bytes)| **bytes > Bytes::ZERO);
        let mut held: Vec<_> =
            numbered.map(|(call_site, &bytes)| (call_site as u32, bytes)).collect();
        if held.len() > TOLD_APART {
            held.select_nth_unstable_by_key(TOLD_APART, |(_, bytes)| std::cmp::Reverse(*bytes));
            held.truncate(TOLD_APART);
        }
        // Thousands of points keep these: without the room of those that were cut off.
        held.shrink_to_fit();
        held
    }

    /// At most so many of the points, the last among them.
    fn points(&self, most: usize) -> Vec<&Point> {
        let points = self.series.points();
        let mut points: Vec<&Point> =
            points.iter().rev().step_by(stride(points.len(), most)).collect();
        points.reverse();
        points
    }

    pub(super) fn kinds(&self, most_points: usize) -> Bands<Category> {
        let points = self.points(most_points);
        let band = |name: Category| Band {
            name,
            stack: None,
            bytes: points.iter().map(|point| point.by_category[name as usize]).collect(),
        };
        let ever = |band: &Band<Category>| band.bytes.iter().any(|bytes| *bytes > Bytes::ZERO);
        Bands {
            at: points.iter().map(|point| point.end).collect(),
            bands: Category::ALL.into_iter().map(band).filter(ever).collect(),
            rest: vec![Bytes::ZERO; points.len()],
        }
    }

    /// By call site: those that ever held most, the largest first, and the rest.
    pub(super) fn call_sites<'a>(
        &self,
        call_sites: &'a CallSites,
        most: usize,
        most_points: usize,
    ) -> Bands<&'a str> {
        let (points, names) = (self.points(most_points), call_sites.names());
        let mut highest = vec![Bytes::ZERO; names.len()];
        for &(call_site, bytes) in points.iter().flat_map(|point| &point.by_place) {
            highest[call_site as usize] = highest[call_site as usize].max(bytes);
        }
        let mut chosen: Vec<usize> = (0..names.len()).collect();
        chosen.retain(|&call_site| highest[call_site] > Bytes::ZERO);
        chosen.sort_by_key(|&call_site| std::cmp::Reverse(highest[call_site]));
        chosen.truncate(most);
        let mut position = vec![None; names.len()];
        let mut bands: Vec<Band<&str>> = Vec::new();
        for &call_site in &chosen {
            position[call_site] = Some(bands.len());
            let (name, stack) = names[call_site];
            bands.push(Band { name, stack: Some(stack), bytes: vec![Bytes::ZERO; points.len()] });
        }
        let mut rest = Vec::with_capacity(points.len());
        for (index, point) in points.iter().enumerate() {
            let mut left = point.in_use();
            for &(call_site, bytes) in &point.by_place {
                if let Some(band) = position[call_site as usize] {
                    bands[band].bytes[index] = bytes;
                    left = left.minus(bytes);
                }
            }
            rest.push(left);
        }
        Bands { at: points.iter().map(|point| point.end).collect(), bands, rest }
    }
}
