//! A run that was not made, from some that were.
//!
//! A program asks for the same tensors in the same order whatever its batch; only sizes differ, and
//! nearly all of them are linear in it. So the run at another value is not estimated by its peak: it is
//! written down, request by request, and replayed as if it had been recorded. From three runs, sizes may also grow with
//! the square of the value, as attention does with the length of a sequence.

use whyoom_allocators::{Run, Step, Workload};

/// The run at `value`, from those at two or three other values; nothing where they did not do the same things in
/// the same order.
#[must_use]
pub fn between(made: &[(u64, &Run)], value: u64) -> Option<Run> {
    let curve = Curve::through(made.iter().map(|(at, _)| *at), value)?;
    let ((_, first), others) = made.split_first()?;
    if others.iter().any(|(_, other)| differ_in_length(&first.workload, &other.workload)) {
        return None;
    }
    // One may have been ended a step later than the others: what all did is compared.
    let mut all: Vec<_> = made.iter().map(|(_, run)| requests(&run.workload)).collect();
    let mut steps = Vec::new();
    while let Some(same) = all.iter_mut().map(Iterator::next).collect::<Option<Vec<&Step>>>() {
        steps.push(curve.step(&same)?);
    }
    let workload = Workload::new(steps, first.workload.items);
    let (settings, logged_by) = (first.settings.clone(), first.logged_by.clone());
    Some(Run { workload, settings, logged_by, ..**first })
}

/// Whether a value makes a run longer rather than its requests larger, as a number of tokens does.
fn differ_in_length(first: &Workload, second: &Workload) -> bool {
    let (one, other) = (requests(first).count(), requests(second).count());
    let (shorter, longer) = (one.min(other), one.max(other));
    let same_sizes =
        || requests(first).zip(requests(second)).all(|pair| size(pair.0) == size(pair.1));
    3 * shorter < 2 * longer || (shorter < longer && same_sizes())
}

fn size(step: &Step) -> Option<u64> {
    match step {
        Step::Alloc { request, .. } => Some(request.size),
        _ => None,
    }
}

/// What the program did. What its allocator did about it depends on the sizes.
fn requests(workload: &Workload) -> impl Iterator<Item = &Step> {
    let by_program = |step: &&Step| {
        !matches!(
            step,
            Step::SegmentAlloc(_)
                | Step::SegmentFree { .. }
                | Step::SegmentMap(_)
                | Step::SegmentUnmap { .. }
        )
    };
    workload.steps.iter().filter(by_program)
}

/// The value of a polynomial through some points at one more place: what each point weighs there, over a common
/// divisor.
pub(crate) struct Curve {
    weights: Vec<i128>,
    divisor: i128,
}

impl Curve {
    /// Nothing for fewer than two places, for two that are the same, and for some so far apart that they cannot be
    /// computed with.
    pub(crate) fn through(places: impl Iterator<Item = u64>, at: u64) -> Option<Self> {
        let (places, at): (Vec<i128>, _) = (places.map(i128::from).collect(), i128::from(at));
        let others = |index: usize| {
            let others = places.iter().enumerate().filter(move |(other, _)| *other != index);
            others.map(|(_, place)| *place)
        };
        let product = |mut factors: Box<dyn Iterator<Item = i128> + '_>| {
            factors.try_fold(1_i128, i128::checked_mul)
        };
        let of_each = places.iter().enumerate().map(|(index, place)| {
            let over = product(Box::new(others(index).map(|other| at - other)))?;
            let under = product(Box::new(others(index).map(|other| place - other)))?;
            Some((over, under)).filter(|_| under != 0)
        });
        let of_each: Vec<(i128, i128)> = of_each.collect::<Option<_>>()?;
        let divisor =
            of_each.iter().try_fold(1_i128, |all, (_, under)| least_multiple(all, *under));
        let divisor = divisor.filter(|_| places.len() > 1)?;
        let weight = |(over, under): &(i128, i128)| over.checked_mul(divisor / under);
        Some(Self { weights: of_each.iter().map(weight).collect::<Option<_>>()?, divisor })
    }

    /// The step at the place, where all did the same.
    fn step(&self, made: &[&Step]) -> Option<Step> {
        let Step::Alloc { item, mut request, address, size, stack } = *made[0] else {
            return made.iter().all(|step| *step == made[0]).then_some(*made[0]);
        };
        let alike = |step: &&Step| match **step {
            Step::Alloc { item: other, request: larger, .. } => (item == other
                && (request.stream, request.pool) == (larger.stream, larger.pool))
                .then_some(larger.size),
            _ => None,
        };
        let sizes: Vec<u64> = made.iter().map(alike).collect::<Option<_>>()?;
        request.size = self.size(&sizes)?;
        Some(Step::Alloc { item, request, address, size, stack })
    }

    /// The size at the place, to the nearest byte; at least one.
    pub(crate) fn size(&self, sizes: &[u64]) -> Option<u64> {
        if sizes.iter().all(|size| *size == sizes[0]) {
            return sizes.first().copied();
        }
        let mut parts = sizes.iter().zip(&self.weights);
        let sum = parts.try_fold(0_i128, |sum, (size, weight)| {
            sum.checked_add(weight.checked_mul(i128::from(*size))?)
        })?;
        let size = sum.checked_mul(2)?.checked_add(self.divisor)?.div_euclid(2 * self.divisor);
        u64::try_from(size.max(1)).ok()
    }
}

/// The least positive number that both divide.
fn least_multiple(one: i128, other: i128) -> Option<i128> {
    let (mut common, mut rest) = (one.abs(), other.abs());
    while rest != 0 {
        (common, rest) = (rest, common % rest);
    }
    (one.abs() / common).checked_mul(other.abs())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(places: &[u64], at: u64, sizes: &[u64]) -> Option<u64> {
        Curve::through(places.iter().copied(), at)?.size(sizes)
    }

    #[test]
    fn sizes_lie_on_the_line() {
        assert_eq!(at(&[1, 2], 10, &[100, 150]), Some(550));
        assert_eq!(at(&[8, 4], 1, &[800, 400]), Some(100));
        assert_eq!(at(&[2, 4], 3, &[10, 11]), Some(11));
        assert_eq!(at(&[4, 8], 1, &[40, 400]), Some(1));
        assert_eq!(at(&[1, 2], 3, &[7, 7]), Some(7));
        assert_eq!(at(&[3, 3], 4, &[7, 8]), None);
        assert_eq!(at(&[3], 4, &[7]), None);
    }

    #[test]
    fn three_sizes_lie_on_a_parabola() {
        let square = |length: u64| 4 * length * length + 10 * length + 3;
        for length in [1, 384, 1000, 65_536] {
            let sizes = [512, 2048, 8192].map(square);
            assert_eq!(at(&[512, 2048, 8192], length, &sizes), Some(square(length)));
        }
        assert_eq!(at(&[0, u64::MAX / 2, u64::MAX], 1, &[1, 2, u64::MAX]), None);
    }
}
