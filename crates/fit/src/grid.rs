//! The search over one parameter, for each combination of some values of others: a row each.
//!
//! Rows are alike: what was run in two or three of them predicts the others, so that those need a run at what is
//! predicted to fit and one at what follows it, and no more. Where memory is seen to grow with a parameter, a run in one
//! row may also show what would be seen in another.

use crate::{
    direction::{Direction, directions},
    placement::Room,
    range::Range,
    row::Row,
    samples::{Known, Prediction, Sample, Samples},
    search::{largest_that_fits, starting_points},
};

/// From so many rows the others are predicted: sizes grow with a parameter or with its square.
const PREDICTING: usize = 3;

/// The runs that were made, by row and value.
#[derive(Clone, Debug)]
pub struct Grid {
    range: Range,
    rows: Vec<Row>,
}

/// Where a row breaks in a room.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Edge {
    /// The largest value that fits, if any does: as seen, else as predicted.
    pub value: Option<u64>,
    /// What is reserved there, and whether cached memory has to be given back on the way.
    pub placed: Option<(u64, bool)>,
    /// Whether a run was made there.
    pub run: bool,
    /// Whether it was seen to fit and the next one seen not to, in this row or another.
    pub confirmed: bool,
    /// Whether that took another row.
    pub implied: bool,
}

/// A run that would show on which side of the edge a value is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Witness {
    row: usize,
    value: u64,
    /// What is expected; nothing where nothing can be predicted yet.
    fits: Option<bool>,
}

impl Grid {
    /// A search over a range, with a row for each of these values of the other parameters. Without others there is one.
    #[must_use]
    pub fn new(range: Range, rows: Vec<Vec<u64>>) -> Self {
        Self { range, rows: rows.into_iter().map(Row::new).collect() }
    }

    /// Adds a run.
    pub fn add(&mut self, row: usize, value: u64, sample: Sample) {
        self.rows[row].samples.add(value, sample);
    }

    /// The runs of a row.
    #[must_use]
    pub fn samples(&self, row: usize) -> &Samples {
        &self.rows[row].samples
    }

    /// How many runs were made.
    #[must_use]
    pub fn count(&self) -> usize {
        self.rows.iter().map(|row| row.samples.count()).sum()
    }

    /// The runs, as row and value, to make next for these rooms; they need not wait for each other. Nothing where every
    /// edge is found.
    #[must_use]
    pub fn next_runs(&self, rooms: &[Room]) -> Vec<(usize, u64)> {
        let directions = directions(&self.rows);
        let due: Vec<usize> = self.due(rooms, &directions);
        let wanted = rooms.iter().flat_map(|room| {
            let open = due.iter().flat_map(|row| self.open(*row, *room, &directions));
            self.without_implied(&open.collect::<Vec<_>>(), &directions)
        });
        let mut wanted: Vec<(usize, u64)> = wanted.collect();
        wanted.sort_unstable();
        wanted.dedup();
        wanted
    }

    /// Where a row breaks in a room.
    #[must_use]
    pub fn edge(&self, row: usize, room: Room) -> Edge {
        let value = self.largest(row, room);
        let placed = value.and_then(|value| self.known(row, value)?.placed(room));
        let unmade = |value: &u64| self.rows[row].samples.made_at(*value).is_none();
        let confirmed = self.open(row, room, &directions(&self.rows)).is_empty();
        let sides = value.into_iter().chain(self.follows(value));
        Edge {
            value,
            placed,
            run: value.is_some_and(|value| !unmade(&value)),
            confirmed,
            implied: confirmed && sides.into_iter().any(|value| unmade(&value)),
        }
    }

    fn largest(&self, row: usize, room: Room) -> Option<u64> {
        largest_that_fits(&self.range, |value| self.fits(row, value, room))
    }

    fn fits(&self, row: usize, value: u64, room: Room) -> bool {
        self.known(row, value).is_some_and(|known| known.placed(room).is_some())
    }

    /// What must not fit where this is the largest that does.
    fn follows(&self, largest: Option<u64>) -> Option<u64> {
        largest.map_or(Some(self.range.value(0)), |largest| self.range.after(largest))
    }

    /// The rows whose turn it is. The first and the last are searched by themselves, the one in the middle by what they
    /// tell, and all others by what those three do.
    fn due(&self, rooms: &[Room], directions: &[Direction]) -> Vec<usize> {
        let count = self.rows.len();
        let mut order = vec![0, count - 1, count / 2];
        order.extend(0..count);
        let is_ready = |row: &usize| {
            let settled = || rooms.iter().all(|room| self.open(*row, *room, directions).is_empty());
            self.starts(*row).next().is_none() || settled()
        };
        let ready = order[..PREDICTING].iter().take_while(|row| is_ready(row)).count();
        let mut due = match ready {
            0 | 1 => order[..2].to_vec(),
            2 => order[..PREDICTING].to_vec(),
            _ => order,
        };
        due.sort_unstable();
        due.dedup();
        due
    }

    /// The runs that a row needs before it can be predicted by itself.
    fn starts(&self, row: usize) -> impl Iterator<Item = u64> {
        let samples = &self.rows[row].samples;
        let missing = |value: &u64| samples.count() < 2 && samples.made_at(*value).is_none();
        starting_points(&self.range).filter(missing)
    }

    /// The runs that are still to be made in a row: either side of the edge must have been seen, what fits and what
    /// follows it.
    fn open(&self, row: usize, room: Room, directions: &[Direction]) -> Vec<Witness> {
        let witness = |value: u64, fits: Option<bool>| Witness { row, value, fits };
        if self.neighbours(row).is_none() {
            let starts: Vec<_> = self.starts(row).map(|value| witness(value, None)).collect();
            if !starts.is_empty() {
                return starts;
            }
        }
        let largest = self.largest(row, room);
        let fitting = largest.map(|value| witness(value, Some(true)));
        let beyond = self.follows(largest).map(|value| witness(value, Some(false)));
        let unseen = |one: &Witness| {
            self.rows[row].samples.made_at(one.value).is_none()
                && !self.is_implied(*one, room, directions)
        };
        fitting.into_iter().chain(beyond).filter(unseen).collect()
    }

    /// Whether a run that was made shows what this one would.
    fn is_implied(&self, one: Witness, room: Room, directions: &[Direction]) -> bool {
        let mut made = self.rows.iter().enumerate().flat_map(|(row, made)| {
            made.samples.all().map(move |(value, sample)| (row, value, sample))
        });
        made.any(|(row, value, sample)| {
            self.implies(Witness { row, value, ..one }, one, directions)
                && Some(sample.fits(room)) == one.fits
        })
    }

    /// Whether what one shows, the other does too: what takes less fits where it does, and what takes more does not
    /// where it does not. In a row itself both sides are run: by its rounding an allocator may place a larger value
    /// where a smaller one does not fit.
    fn implies(&self, known: Witness, other: Witness, directions: &[Direction]) -> bool {
        let (lower, upper) = match other.fits {
            Some(true) => (other, known),
            Some(false) => (known, other),
            None => return false,
        };
        let (below, above) = (&self.rows[lower.row].at, &self.rows[upper.row].at);
        let grows = directions.iter().zip(below.iter().zip(above));
        known.row != other.row
            && known.fits == other.fits
            && lower.value <= upper.value
            && grows.into_iter().all(|(direction, (one, other))| direction.allows(*one, *other))
    }

    /// What of these is to be run, if what is expected of them comes true.
    fn without_implied(&self, open: &[Witness], directions: &[Direction]) -> Vec<(usize, u64)> {
        let is_implied = |index: usize, one: Witness| {
            open.iter().enumerate().any(|(other_index, other)| {
                // Of two that show the same, the first is run.
                self.implies(*other, one, directions)
                    && (other_index < index || !self.implies(one, *other, directions))
            })
        };
        let kept = open.iter().enumerate().filter(|(index, one)| !is_implied(*index, **one));
        kept.map(|(_, one)| (one.row, one.value)).collect()
    }

    /// What is known of a value in a row: by its own runs, else by those of rows that differ in one parameter.
    fn known(&self, row: usize, value: u64) -> Option<Known<'_>> {
        let own = self.rows[row].samples.known(value);
        own.or_else(|| self.predict(row, value).map(Known::Predicted))
    }

    fn predict(&self, row: usize, value: u64) -> Option<Prediction> {
        let (axis, rows) = self.neighbours(row)?;
        let known = rows.iter().map(|other| {
            let row = &self.rows[*other];
            Some((row.at[axis], row.samples.known(value)?))
        });
        Prediction::between(&known.collect::<Option<Vec<_>>>()?, self.rows[row].at[axis])
    }

    /// The rows that predict this one, two or three, and the parameter that they differ in; the nearest ones.
    fn neighbours(&self, row: usize) -> Option<(usize, Vec<usize>)> {
        let at = &self.rows[row].at;
        let along = |axis: usize| {
            let rows = self.rows.iter().enumerate();
            let told = rows.filter(|(_, other)| {
                self.rows[row].differs_only_in(axis, other) && other.samples.count() >= 2
            });
            let mut told: Vec<usize> = told.map(|(other, _)| other).collect();
            told.sort_by_key(|other| self.rows[*other].at[axis].abs_diff(at[axis]));
            told.truncate(PREDICTING);
            (told.len() >= 2).then_some((axis, told))
        };
        (0..at.len()).filter_map(along).max_by_key(|(_, rows)| rows.len())
    }
}
