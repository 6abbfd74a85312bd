//! How many processes the kernel has killed for want of host memory.

/// The kernel's count since it started; nothing where it does not tell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Kills(Option<u64>);

impl Kills {
    /// The count now. It is of the whole machine, so that it can only clear the kernel of a kill.
    pub(super) fn count() -> Self {
        Self::of(&std::fs::read_to_string("/proc/vmstat").unwrap_or_default())
    }

    fn of(statistics: &str) -> Self {
        let count = statistics.lines().find_map(|line| line.strip_prefix("oom_kill "));
        Self(count.and_then(|count| count.trim().parse().ok()))
    }

    /// How many came since then.
    pub(super) fn since(self, before: Self) -> Option<u64> {
        self.0?.checked_sub(before.0?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_difference_counts() {
        let before = Kills::of("pgfault 9\noom_kill 1\n");
        assert_eq!(Kills::of("oom_kill 3").since(before), Some(2));
        assert_eq!(Kills::of("oom_kill 1").since(before), Some(0));
        assert_eq!(Kills::of("").since(before), None);
    }
}
