//! A run that was ended on the way, continued to its known end.
//!
//! A generation does the same for each token; only sizes differ, and they grow evenly, some of them in groups of
//! tokens because kernels pad. What the last tokens did is therefore written down again for those that were not run,
//! request by request, and replayed as if it had been recorded.

use whyoom_allocators::{ALIGNMENT, Item, Request, Run, Step, Workload};

/// Tokens whose groups are longer than this do not repeat.
const LONGEST_GROUP: usize = 16;
/// Longer runs are continued by some of their tokens only: a replay of so many steps takes a second.
const MOST_STEPS: u64 = 8_000_000;

/// A run with what was computed of it.
#[derive(Clone, Debug)]
pub struct Continued {
    /// The run, to its end.
    pub run: Run,
    /// For each token that is part of it: how many were there then, and how many allocations. The first are those
    /// that were run.
    pub tokens: Vec<(u64, u64)>,
    /// Every so manieth group of tokens was computed.
    pub every: u64,
}

impl Continued {
    /// How many tokens were there before a run failed that had been served so many allocations.
    #[must_use]
    pub fn tokens_before(&self, allocations: u64) -> u64 {
        let whole = self.tokens.partition_point(|(_, after)| *after <= allocations);
        whole.checked_sub(1).map_or(0, |last| self.tokens[last].0)
    }

    /// The most that was live up to a token, each request rounded up to 512 bytes; for at most so many tokens, and
    /// the last.
    #[must_use]
    pub fn curve(&self, run: &Run, points: usize) -> Vec<(u64, u64)> {
        let apart = self.tokens.len().div_ceil(points.max(1)).max(1);
        let mut wanted = self.tokens.iter().rev().step_by(apart).rev().peekable();
        let mut sizes = vec![0_u64; run.workload.items as usize];
        let (mut allocations, mut live, mut peak, mut curve) = (0, 0_u64, 0, Vec::new());
        for step in &run.workload.steps {
            match step {
                Step::Alloc { item, request, .. } => {
                    sizes[item.0 as usize] =
                        request.size.div_ceil(ALIGNMENT).saturating_mul(ALIGNMENT);
                    live = live.saturating_add(sizes[item.0 as usize]);
                    peak = peak.max(live);
                    allocations += 1;
                }
                Step::Free { item } => live = live.saturating_sub(sizes[item.0 as usize]),
                _ => {}
            }
            if let Some((token, _)) = wanted.next_if(|(_, after)| *after == allocations) {
                curve.push((*token, peak));
            }
        }
        curve
    }
}

/// What happens to a token's allocations and those of the tokens before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Deed {
    /// A request, as it was made.
    Alloc(Request, Step),
    /// The allocation with this number among those of a token, so many tokens ago.
    Free { tokens_ago: u64, number: u64 },
}

impl Deed {
    /// Whether another token does the same with another size.
    fn is_like(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Alloc(one, _), Self::Alloc(other, _)) => {
                (one.stream, one.pool) == (other.stream, other.pool)
            }
            _ => self == other,
        }
    }
}

/// Continues a run by so many tokens. It is given how many allocations there had been after each token that was run.
/// Nothing where these tokens did not do the same, or did not grow evenly.
#[must_use]
pub fn continued(run: &Run, after_tokens: &[u64], more: u64) -> Option<Continued> {
    let workload = &run.workload;
    let all = u64::from(workload.items);
    if !workload.starts_empty() || *after_tokens.last()? > all || !after_tokens.is_sorted() {
        return None;
    }
    let steps: Vec<Step> = workload.steps.iter().copied().filter(by_program).collect();
    let seen = Seen::of(&steps, after_tokens)?;
    let group = (1..=LONGEST_GROUP).find(|group| seen.repeats_evenly(*group))?;
    Writer::new(run, steps, &seen, group)?.write(more)
}

/// What its allocator did about it depends on the sizes.
fn by_program(step: &Step) -> bool {
    !matches!(
        step,
        Step::SegmentAlloc(_)
            | Step::SegmentFree { .. }
            | Step::SegmentMap(_)
            | Step::SegmentUnmap { .. }
    )
}

/// The tokens that were run.
struct Seen<'a> {
    /// Allocations after each.
    after: &'a [u64],
    /// What each of the last ones did; nothing for one that did what no other does.
    deeds: Vec<Option<Vec<Deed>>>,
    /// The end of the last one among the steps.
    end: usize,
}

impl<'a> Seen<'a> {
    fn of(steps: &[Step], after: &'a [u64]) -> Option<Self> {
        let is_alloc = |step: &Step| matches!(step, Step::Alloc { .. });
        let allocations = steps.iter().enumerate().filter(|(_, step)| is_alloc(step));
        let ends: Vec<usize> = allocations.map(|(index, _)| index + 1).collect();
        let end_of = |token: usize| Some(*ends.get(after.get(token)?.checked_sub(1)? as usize)?);
        // Frees that follow a token's last allocation belong to the next one, for all tokens alike.
        let tokens = after.len().checked_sub(3 * LONGEST_GROUP + 1)?..after.len();
        let deeds = tokens.map(|token| {
            let steps = steps.get(end_of(token.checked_sub(1)?)?..end_of(token)?)?;
            steps.iter().map(|step| deed(step, token, after)).collect()
        });
        Some(Self { after, deeds: deeds.collect(), end: end_of(after.len() - 1)? })
    }

    /// Whether each token did what those of the two groups before did, and grew as much. All of them are looked at:
    /// padding that comes with every sixteenth token is not among the last few.
    fn repeats_evenly(&self, group: usize) -> bool {
        let triple = |token: usize| [token, token - group, token - 2 * group];
        (2 * group..self.deeds.len()).map(triple).all(|three| {
            let [Some(now), Some(before), Some(first)] = three.map(|token| &self.deeds[token])
            else {
                return false;
            };
            now.len() == before.len()
                && before.len() == first.len()
                && now.iter().zip(before).zip(first).all(|((now, before), first)| {
                    now.is_like(before) && before.is_like(first) && even(now, before, first)
                })
        })
    }
}

/// Whether a size grew as much the second time as the first.
fn even(now: &Deed, before: &Deed, first: &Deed) -> bool {
    match (now, before, first) {
        (Deed::Alloc(now, _), Deed::Alloc(before, _), Deed::Alloc(first, _)) => {
            let size = |request: &Request| i128::from(request.size);
            size(now) - size(before) == size(before) - size(first)
        }
        _ => true,
    }
}

/// A step as what a token does; nothing for what no token may do.
fn deed(step: &Step, token: usize, after: &[u64]) -> Option<Deed> {
    match step {
        Step::Alloc { request, .. } => Some(Deed::Alloc(*request, *step)),
        Step::Free { item } => {
            // Allocations have their numbers in order.
            let allocation = u64::from(item.0);
            let made_by = after.partition_point(|after| *after <= allocation);
            let before = made_by.checked_sub(1).map_or(0, |before| after[before]);
            let (tokens_ago, number) = ((token - made_by) as u64, allocation - before);
            // Of long ago: whatever it is, the tokens do not do it again and again.
            let recent = tokens_ago as usize <= LONGEST_GROUP && made_by > 0;
            recent.then_some(Deed::Free { tokens_ago, number })
        }
        _ => None,
    }
}

/// Writes tokens down.
struct Writer<'a> {
    run: &'a Run,
    seen: &'a Seen<'a>,
    group: usize,
    steps: Vec<Step>,
    /// The number of the first allocation of each token, those that were run first.
    starts: Vec<u64>,
    /// The next allocation's number.
    next: u32,
}

impl<'a> Writer<'a> {
    fn new(run: &'a Run, mut steps: Vec<Step>, seen: &'a Seen<'a>, group: usize) -> Option<Self> {
        steps.truncate(seen.end);
        let before = seen.after.iter().copied();
        let starts = std::iter::once(0).chain(before).take(seen.after.len()).collect();
        let next = u32::try_from(*seen.after.last()?).ok()?;
        Some(Self { run, seen, group, steps, starts, next })
    }

    fn write(mut self, more: u64) -> Option<Continued> {
        let done = self.seen.after.len() as u64;
        let numbered = (1..).zip(self.seen.after.iter().copied());
        let mut tokens: Vec<(u64, u64)> = numbered.collect();
        let (groups, every) = self.groups(more)?;
        for ahead in groups {
            for place in 0..self.group {
                let token = done + (ahead - 1) * self.group as u64 + place as u64 + 1;
                if token > done + more {
                    break;
                }
                self.token(place, ahead)?;
                tokens.push((token, u64::from(self.next)));
            }
        }
        let workload = Workload::new(self.steps, self.next);
        let run = Run {
            workload,
            settings: self.run.settings.clone(),
            logged_by: self.run.logged_by.clone(),
            ..*self.run
        };
        Some(Continued { run, tokens, every })
    }

    /// How far ahead the groups are that are written: all of them, or as many as a replay can take, and the last.
    /// Nothing where a group keeps something of its own: what is left out would be missing.
    fn groups(&self, more: u64) -> Option<(Vec<u64>, u64)> {
        let last = more.div_ceil(self.group as u64);
        let deeds =
            || self.seen.deeds[self.seen.deeds.len() - self.group..].iter().flatten().flatten();
        let steps = deeds().count().max(1) as u64;
        let every = last.checked_mul(steps)?.div_ceil(MOST_STEPS).max(1);
        let kept = deeds().filter(|deed| matches!(deed, Deed::Alloc(..))).count();
        if every > 1 && 2 * kept > deeds().count() {
            return None;
        }
        let mut groups: Vec<u64> = (1..=last).step_by(every as usize).collect();
        if groups.last().is_some_and(|written| *written < last) {
            groups.push(last);
        }
        Some((groups, every))
    }

    /// Writes one token like the one at this place of the last group, so many groups ahead of it.
    fn token(&mut self, place: usize, ahead: u64) -> Option<()> {
        let seen = self.seen;
        let like = seen.deeds.len() - self.group + place;
        let (now, before) = (seen.deeds[like].as_ref()?, seen.deeds[like - self.group].as_ref()?);
        self.starts.push(u64::from(self.next));
        for (now, before) in now.iter().zip(before) {
            let step = match (now, before) {
                (
                    Deed::Alloc(now, Step::Alloc { address, size, stack, .. }),
                    Deed::Alloc(before, _),
                ) => {
                    let item = Item(self.next);
                    self.next = self.next.checked_add(1)?;
                    let request = Request { size: grown(*now, *before, ahead)?, ..*now };
                    Step::Alloc { item, request, address: *address, size: *size, stack: *stack }
                }
                (Deed::Free { tokens_ago, number }, _) => {
                    let made_by = self.starts.len() - 1 - *tokens_ago as usize;
                    Step::Free { item: Item(u32::try_from(self.starts[made_by] + number).ok()?) }
                }
                (Deed::Alloc(..), _) => return None,
            };
            self.steps.push(step);
        }
        Some(())
    }
}

/// The size of a request so many groups ahead.
fn grown(now: Request, before: Request, ahead: u64) -> Option<u64> {
    let rise = i128::from(now.size) - i128::from(before.size);
    u64::try_from((i128::from(now.size) + rise * i128::from(ahead)).max(1)).ok()
}

#[cfg(test)]
mod tests {
    use whyoom_trace::{Address, Bytes, PoolId, StackId, StreamId};

    use super::*;

    /// A generation of so many tokens after a prompt: a cache of two layers that is copied for each token, and a mask
    /// that is padded to eight.
    struct Generating {
        steps: Vec<Step>,
        items: u32,
        after: Vec<u64>,
    }

    impl Generating {
        fn new(tokens: u64) -> Self {
            let mut made = Self { steps: Vec::new(), items: 0, after: Vec::new() };
            made.alloc(1 << 30);
            let mut cache = [made.alloc(64 * 4096), made.alloc(64 * 4096)];
            let mut mask = made.alloc(64);
            for token in 1..=tokens {
                for layer in &mut cache {
                    let longer = made.alloc((64 + token) * 4096);
                    made.free(std::mem::replace(layer, longer));
                }
                let padded = made.alloc((64 + token).next_multiple_of(8));
                made.free(std::mem::replace(&mut mask, padded));
                let logits = made.alloc(64_000);
                made.after.push(made.items.into());
                made.free(logits);
            }
            made
        }

        fn alloc(&mut self, size: u64) -> Item {
            let item = Item(self.items);
            self.items += 1;
            let request = Request { size, stream: StreamId(0), pool: PoolId(0) };
            let (address, size, stack) = (Address(0), Bytes(size), StackId::default());
            self.steps.push(Step::Alloc { item, request, address, size, stack });
            item
        }

        fn free(&mut self, item: Item) {
            self.steps.push(Step::Free { item });
        }

        fn run(&self) -> Run {
            let workload = Workload::new(self.steps.clone(), self.items);
            Run { workload, ..Run::default() }
        }
    }

    fn told(run: &Run) -> Vec<(Item, Option<u64>)> {
        let told = run.workload.steps.iter().map(|step| match step {
            Step::Alloc { item, request, .. } => (*item, Some(request.size)),
            Step::Free { item } => (*item, None),
            other => panic!("{other:?}"),
        });
        told.collect()
    }

    #[test]
    fn what_was_not_run_is_what_would_have_been() {
        let (short, long) = (Generating::new(60), Generating::new(391));
        let continued = continued(&short.run(), &short.after, 331).expect("it is even");
        let mut whole = told(&long.run());
        // The last token's frees belong to one that does not come.
        whole.truncate(continued.run.workload.steps.len());
        let told = told(&continued.run);
        let differs = told.iter().zip(&whole).find(|(one, other)| one != other);
        assert_eq!((told.len(), differs), (whole.len(), None));
        assert_eq!(whole.len() + 1, long.steps.len());
        assert_eq!(continued.tokens.last(), Some(&(391, u64::from(long.items))));
        assert_eq!((continued.every, continued.tokens.len()), (1, 391));
        assert_eq!(continued.tokens_before(long.after[99] + 1), 100);
        assert_eq!(continued.tokens_before(2), 0);
    }

    #[test]
    fn what_is_not_even_is_not_continued() {
        let mut uneven = Generating::new(60);
        let grown = uneven.steps.iter_mut().rev().find_map(|step| match step {
            Step::Alloc { request, .. } => Some(request),
            _ => None,
        });
        grown.expect("there are allocations").size += 512;
        assert!(continued(&uneven.run(), &uneven.after, 100).is_none());
        let few = Generating::new(20);
        assert!(continued(&few.run(), &few.after, 100).is_none());
        let unknown = Generating::new(60);
        assert!(continued(&unknown.run(), &[1 << 40; 60], 100).is_none());
    }

    #[test]
    fn what_each_token_keeps_is_not_left_out() {
        let mut keeping = Generating::new(0);
        for _ in 0..60 {
            keeping.alloc(1 << 20);
            keeping.after.push(keeping.items.into());
        }
        let short = continued(&keeping.run(), &keeping.after, 1_000).expect("it is even");
        assert_eq!(
            short.run.workload.peak_live(|request| request.size >> 20) >> 10,
            (1024 + 1_060) >> 10
        );
        assert!(continued(&keeping.run(), &keeping.after, 100_000_000).is_none());
        assert!(continued(&keeping.run(), &keeping.after, u64::MAX).is_none());
    }

    #[test]
    fn a_long_run_is_continued_by_some_of_its_tokens() {
        let short = Generating::new(60);
        let continued = continued(&short.run(), &short.after, 4_000_000).expect("it is even");
        assert!(continued.every > 1 && continued.run.workload.steps.len() < 9_000_000);
        assert_eq!(continued.tokens.last().map(|(token, _)| *token), Some(4_000_060));
        let peak = continued.run.workload.peak_live(|request| request.size);
        let last = (64 + 4_000_060) * 4096;
        assert!(peak > 2 * last && peak < 4 * last, "{peak}");
    }
}
