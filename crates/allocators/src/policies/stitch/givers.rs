//! Which lanes may have idle pages to give.

/// A set of lanes, by their numbers. A lane leaves it when it had less to give than was asked for, and is back when
/// something in it becomes free: of very many lanes those that have nothing cost nothing.
#[derive(Clone, Debug, Default)]
pub(super) struct Givers(Vec<u64>);

impl Givers {
    #[inline]
    pub(super) fn add(&mut self, lane: u32) {
        let word = lane as usize / 64;
        if word >= self.0.len() {
            self.0.resize(word + 1, 0);
        }
        self.0[word] |= 1 << (lane % 64);
    }

    pub(super) fn remove(&mut self, lane: u32) {
        if let Some(word) = self.0.get_mut(lane as usize / 64) {
            *word &= !(1 << (lane % 64));
        }
    }

    /// The first from there on.
    pub(super) fn next(&self, from: u32) -> Option<u32> {
        let mut at = from as usize / 64;
        let mut word = self.0.get(at)? & (u64::MAX << (from % 64));
        while word == 0 {
            at += 1;
            word = *self.0.get(at)?;
        }
        Some(at as u32 * 64 + word.trailing_zeros())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn they_come_in_order_and_go() {
        let mut givers = Givers::default();
        for lane in [200, 3, 64, 63] {
            givers.add(lane);
        }
        givers.remove(64);
        givers.remove(1000);
        let all = |givers: &Givers| {
            let mut found = Vec::new();
            while let Some(next) = givers.next(found.last().map_or(0, |last| last + 1)) {
                found.push(next);
            }
            found
        };
        assert_eq!(all(&givers), [3, 63, 200]);
        assert_eq!((givers.next(201), givers.next(10_000)), (None, None));
    }
}
