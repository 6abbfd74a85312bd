//! The budget.

/// How many steps are left.
#[derive(Debug)]
pub(super) struct Steps {
    left: u64,
}

impl Steps {
    pub(super) fn new(left: u64) -> Self {
        Self { left }
    }

    pub(super) fn left(&self) -> u64 {
        self.left
    }

    /// Takes some; all that are left where there are fewer.
    pub(super) fn take(&mut self, steps: usize) {
        self.left = self.left.saturating_sub(steps as u64);
    }

    pub(super) fn used_up(&self) -> bool {
        self.left == 0
    }

    /// A budget of at most so many of them. What is used of it must be taken here too.
    pub(super) fn share(&self, most: u64) -> Self {
        Self { left: most.min(self.left) }
    }
}

/// Numbers without a pattern, the same in every run (splitmix64, Steele et al. 2014).
#[derive(Debug)]
pub(super) struct Dice(pub(super) u64);

impl Dice {
    /// A number below `bound`, which is not 0.
    pub(super) fn below(&mut self, bound: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        ((mixed ^ (mixed >> 31)) % bound as u64) as usize
    }
}
