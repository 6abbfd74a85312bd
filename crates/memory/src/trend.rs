//! Whether a row of levels rises to its end, and how surely.
//!
//! The slope is the median of the slopes between all pairs of levels (Theil and Sen): up to a quarter of
//! the levels may be anything without it moving far. Its interval follows from the distribution of
//! Kendall's S, which needs no assumption about how the levels scatter.

/// More levels than these make the interval no narrower that anybody would see.
const MANY_LEVELS: usize = 128;
/// The normal distribution's quantile for 95 % on both sides.
const CONFIDENCE: f64 = 1.96;
/// A slope whose interval comes closer to zero than this share of it is none.
const SURE: f64 = 0.25;
/// A rise of less than so many times what was given back before is the breath of the work itself:
/// gradients that are accumulated, a buffer that is emptied when it is full.
const ABOVE_BREATH: f64 = 1.5;
/// What a rise must have of its own slope in its last stretch: it goes on.
const GOES_ON: f64 = 0.25;
/// The last stretch: one in so many steps.
const LAST_STRETCH: usize = 8;
/// Fewer levels show no trend.
const LEAST_LEVELS: usize = 4;
/// The same where it begins late: the steps before speak against it.
const LEAST_LEVELS_LATE: usize = 10;

/// A slope, and the interval in which it lies with 95 % confidence, in bytes a step.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Trend {
    pub(crate) slope: f64,
    pub(crate) low: f64,
    pub(crate) high: f64,
}

impl Trend {
    /// How wide the interval is beside the slope.
    fn doubt(self) -> f64 {
        (self.high - self.low) / self.slope
    }
}

/// A rise that goes on to the end of the levels.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Rise {
    /// The index of the level from which on it was measured.
    pub(crate) start: usize,
    pub(crate) trend: Trend,
    /// How much was added from there to the last level, by the slope.
    pub(crate) bytes: f64,
}

/// The rise at the end of these levels, if there is one. The warm-up does not count, and the rise may begin
/// late: the last half, quarter and eighth are looked at too, and the stretch counts whose slope is surest.
pub(crate) fn rise(levels: &[u64]) -> Option<Rise> {
    let count = levels.len();
    let warm_up = warm_up(count);
    let starts = [(warm_up, LEAST_LEVELS)]
        .into_iter()
        .chain([2, 4, 8].map(|part| (count - count / part, LEAST_LEVELS_LATE)));
    let breath = breath(levels.get(warm_up..)?);
    let rises = starts.filter(|&(start, least)| count >= start + least).filter_map(|(start, _)| {
        let part = &levels[start..];
        let trend = theil_sen(part)?;
        let bytes = trend.slope * (part.len() - 1) as f64;
        let sure = trend.slope > 0.0 && trend.low > trend.slope * SURE;
        let beyond = bytes >= breath as f64 * ABOVE_BREATH;
        (sure && beyond && goes_on(part, trend.slope)).then_some(Rise { start, trend, bytes })
    });
    // Of equals the first comes back, which is the longest.
    rises.min_by(|one, other| one.trend.doubt().total_cmp(&other.trend.doubt()))
}

/// The first fifth, and at least one, is warm-up: caches fill, optimizers make their state.
fn warm_up(count: usize) -> usize {
    (count / 5).max(1).min(count)
}

/// The median slope between all pairs of levels, with its interval.
pub(crate) fn theil_sen(levels: &[u64]) -> Option<Trend> {
    if levels.len() < LEAST_LEVELS {
        return None;
    }
    let points = thinned(levels);
    let mut slopes = Vec::with_capacity(points.len() * points.len() / 2);
    for (index, (x, y)) in points.iter().enumerate() {
        slopes.extend(points[index + 1..].iter().map(|(later, level)| (level - y) / (later - x)));
    }
    slopes.sort_unstable_by(f64::total_cmp);
    let (count, pairs) = (points.len() as f64, slopes.len());
    let spread = CONFIDENCE * (count * (count - 1.0) * (2.0 * count + 5.0) / 18.0).sqrt();
    let low = (((pairs as f64 - spread) / 2.0).floor().max(0.0)) as usize;
    let high = (pairs - 1).saturating_sub(low);
    let middle = (slopes[(pairs - 1) / 2] + slopes[pairs / 2]) / 2.0;
    Some(Trend { slope: middle, low: slopes[low.min(high)], high: slopes[high.max(low)] })
}

/// The levels with their places, at most [`MANY_LEVELS`] of them and evenly chosen.
fn thinned(levels: &[u64]) -> Vec<(f64, f64)> {
    let kept = levels.len().min(MANY_LEVELS);
    let last = levels.len() - 1;
    let positions = (0..kept).map(|index| index * last / (kept - 1).max(1));
    positions.map(|position| (position as f64, levels[position] as f64)).collect()
}

/// The most that the levels ever rose and gave back again.
fn breath(levels: &[u64]) -> u64 {
    let mut lowest_after = vec![u64::MAX; levels.len()];
    for index in (0..levels.len().saturating_sub(1)).rev() {
        lowest_after[index] = lowest_after[index + 1].min(levels[index + 1]);
    }
    let mut lowest_before = u64::MAX;
    let mut most = 0;
    for (&level, &after) in levels.iter().zip(&lowest_after) {
        let base = lowest_before.max(after);
        most = most.max(level.saturating_sub(base));
        lowest_before = lowest_before.min(level);
    }
    most
}

/// Whether the last stretch still rises. What leaves something only now and then pauses between: twice its
/// longest pause so far says nothing yet.
fn goes_on(levels: &[u64], slope: f64) -> bool {
    let steps = levels.len() - 1;
    let stretch = (steps / LAST_STRETCH).max(2);
    let before = &levels[..levels.len() - stretch];
    let stretch = stretch.max(2 * longest_pause(before)).min(steps * 2 / 3).max(1);
    let rise = levels[steps].saturating_sub(levels[steps - stretch]);
    rise as f64 >= slope * stretch as f64 * GOES_ON
}

/// The most steps between two new highest levels. What comes after the last may be no pause, but the end.
fn longest_pause(levels: &[u64]) -> usize {
    let (mut highest, mut pause, mut longest) = (0, 0, 0);
    for &level in levels {
        if level > highest {
            longest = longest.max(pause);
            (highest, pause) = (level, 0);
        } else {
            pause += 1;
        }
    }
    longest
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn line(count: u64, start: u64, step: u64) -> Vec<u64> {
        (0..count).map(|index| start + index * step).collect()
    }

    #[test]
    fn a_line_has_its_slope_and_no_doubt() {
        let trend = theil_sen(&line(300, 1000, 30)).unwrap();
        assert_eq!((trend.slope, trend.low, trend.high), (30.0, 30.0, 30.0));
        assert!(rise(&line(5, 1000, 30)).is_some());
        assert!(rise(&line(4, 1000, 30)).is_none());
    }

    #[test]
    fn a_level_does_not_rise() {
        assert!(rise(&[5; 200]).is_none());
        assert!(rise(&[5, 9, 4, 8, 5, 9, 4, 8, 5, 9]).is_none());
    }

    #[test]
    fn a_cache_that_fills_to_its_bound_is_no_rise() {
        for filled_at in [10, 60, 120, 180, 240] {
            let levels: Vec<u64> =
                (0..300).map(|step: u64| 100 + step.min(filled_at) * 7).collect();
            assert!(rise(&levels).is_none(), "{filled_at}");
        }
    }

    #[test]
    fn a_sawtooth_is_no_rise_wherever_it_is_cut() {
        for period in [4, 8, 16] {
            for count in 3 * period..6 * period {
                let levels: Vec<u64> = (0..count).map(|step| 1000 + step % period * 100).collect();
                assert!(rise(&levels).is_none(), "{period} {count}");
            }
        }
    }

    #[test]
    fn a_rise_that_begins_late_is_one() {
        for (healthy, growing) in [(100, 40), (100, 15), (200, 300), (20, 20)] {
            let mut levels = vec![5000; healthy];
            levels.extend(line(growing, 5000, 100));
            let found = rise(&levels).unwrap_or_else(|| panic!("{healthy} {growing}"));
            assert!(found.trend.slope > 30.0, "{found:?}");
        }
    }

    #[test]
    fn what_leaves_something_now_and_then_rises() {
        for every in [2, 3, 10] {
            for count in 6 * every..9 * every {
                let levels: Vec<u64> = (0..count.max(12)).map(|step| step / every * 900).collect();
                assert!(rise(&levels).is_some(), "{every} {count}");
            }
        }
    }

    #[test]
    fn what_is_given_back_and_taken_again_is_breath() {
        assert_eq!(breath(&[1, 5, 2, 9, 3, 4]), 6);
        assert_eq!(breath(&[1, 2, 3, 4]), 0);
        assert_eq!(breath(&[4, 3, 2, 1]), 0);
        assert_eq!(breath(&[]), 0);
    }

    proptest! {
        #[test]
        fn the_interval_holds_the_slope(levels in prop::collection::vec(0u64..1 << 40, 4..200)) {
            let trend = theil_sen(&levels).unwrap();
            prop_assert!(trend.low <= trend.slope && trend.slope <= trend.high, "{:?}", trend);
        }

        #[test]
        fn steady_growth_is_found_under_noise_that_is_smaller(
            step in 1000u64..100_000,
            noise in prop::collection::vec(0u64..1000, 12..200),
        ) {
            let levels: Vec<u64> = (0..).zip(&noise).map(|(index, n)| index * step + n).collect();
            let found = rise(&levels).expect("it grows");
            let error = (found.trend.slope - step as f64).abs() / step as f64;
            prop_assert!(error < 0.25, "{} {:?}", step, found);
        }

        #[test]
        fn noise_around_a_level_rises_hardly_ever(seed in 1u64..u64::MAX) {
            let mut random = seed;
            let levels: Vec<u64> = (0..100).map(|_| {
                random ^= random << 13;
                random ^= random >> 7;
                random ^= random << 17;
                1_000_000 + random % 100_000
            }).collect();
            prop_assert!(rise(&levels).is_none());
        }
    }
}
