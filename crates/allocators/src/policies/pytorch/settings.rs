//! PyTorch's allocator settings, as far as they decide where memory goes.

const MIB: u64 = 1 << 20;

/// Which of two free blocks of one size is taken.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum TieBreak {
    /// The one at the lower address: PyTorch before the summer of 2026.
    Address,
    /// The one whose segment was registered first; then the lower address.
    #[default]
    Registration,
}

/// The settings of `PYTORCH_CUDA_ALLOC_CONF`, and a cap on the process.
#[derive(Clone, Debug, PartialEq)]
pub struct PyTorchSettings {
    /// `expandable_segments`.
    pub expandable_segments: bool,
    /// `max_split_size_mb` in bytes: blocks of at least this size are not split.
    pub max_split_size: Option<u64>,
    /// `max_non_split_rounding_mb` in bytes: how much larger an unsplit block may be.
    pub max_non_split_rounding: u64,
    /// `roundup_power2_divisions` for each power of two from 1 MiB; 0 for none.
    pub roundup_divisions: [u64; 16],
    /// `garbage_collection_threshold`: works only under a memory fraction.
    pub garbage_collection_threshold: f64,
    /// What `set_per_process_memory_fraction` allows, in bytes.
    pub allowed: Option<u64>,
    /// `large_segment_size_mb` in bytes: what requests below 10 MiB come from.
    pub large_segment_size: u64,
    /// Which generation of PyTorch.
    pub tie_break: TieBreak,
    /// The GPU's whole memory: expandable segments reserve addresses for it and an eighth more.
    pub device_total: u64,
}

impl Default for PyTorchSettings {
    fn default() -> Self {
        Self {
            expandable_segments: false,
            max_split_size: None,
            max_non_split_rounding: 20 * MIB,
            roundup_divisions: [0; 16],
            garbage_collection_threshold: 0.0,
            allowed: None,
            large_segment_size: 20 * MIB,
            tie_break: TieBreak::default(),
            device_total: 80 << 30,
        }
    }
}

/// Blocks are multiples of this.
pub(super) const MIN_BLOCK: u64 = 512;
/// Requests up to this come from small segments.
pub(crate) const SMALL_LIMIT: u64 = MIB;
/// The size of small segments.
pub(super) const SMALL_SEGMENT: u64 = 2 * MIB;
/// Requests from this on get a segment of their own size.
const MIN_LARGE: u64 = 10 * MIB;
/// Such segments are multiples of this.
const LARGE_UNIT: u64 = 2 * MIB;

impl PyTorchSettings {
    /// PyTorch's defaults for the same run: what its cap, its device and its version were stays.
    #[must_use]
    pub fn defaults_for_run(&self) -> Self {
        Self {
            allowed: self.allowed,
            device_total: self.device_total,
            tie_break: self.tie_break,
            ..Self::default()
        }
    }

    /// What a request is rounded to.
    #[must_use]
    pub fn round(&self, size: u64) -> u64 {
        if size < MIN_BLOCK {
            return MIN_BLOCK;
        }
        let divisions = self.divisions_for(size);
        if divisions > 1 && size > MIN_BLOCK * divisions {
            return round_up_to_division(size, divisions);
        }
        size.saturating_add(MIN_BLOCK - 1) / MIN_BLOCK * MIN_BLOCK
    }

    fn divisions_for(&self, size: u64) -> u64 {
        let exponent = i64::from(63 - size.leading_zeros());
        self.roundup_divisions[(exponent - 20).clamp(0, 15) as usize]
    }

    /// The segment that a rounded request is served from.
    #[must_use]
    pub fn segment_size(&self, rounded: u64) -> u64 {
        if rounded <= SMALL_LIMIT {
            SMALL_SEGMENT
        } else if rounded < MIN_LARGE {
            self.large_segment_size
        } else {
            rounded.saturating_add(LARGE_UNIT - 1) / LARGE_UNIT * LARGE_UNIT
        }
    }

    /// What an expandable segment grows by for a rounded request, if nothing is free at its end.
    #[must_use]
    pub fn expansion_size(&self, rounded: u64) -> u64 {
        let page = if rounded <= SMALL_LIMIT { SMALL_SEGMENT } else { self.large_segment_size };
        rounded.checked_next_multiple_of(page).unwrap_or(u64::MAX)
    }

    /// Whether a block that is larger than needed is split.
    pub(super) fn splits(&self, small: bool, needed: u64, block: u64) -> bool {
        let rest = block - needed;
        if small || self.expandable_segments {
            return rest >= MIN_BLOCK;
        }
        self.is_splittable(needed) && rest > SMALL_LIMIT
    }

    /// Whether a size lies below the limit from which on blocks stay whole.
    pub(super) fn is_splittable(&self, size: u64) -> bool {
        self.max_split_size.is_none_or(|limit| size < limit)
    }

    /// Whether a free block may serve a request of that size.
    pub(super) fn may_serve(&self, needed: u64, block: u64) -> bool {
        if self.is_splittable(needed) {
            return self.is_splittable(block);
        }
        block < needed.saturating_add(self.max_non_split_rounding)
    }

    /// How much may be reserved before garbage is collected; never without a fraction.
    pub(super) fn garbage_threshold(&self) -> Option<u64> {
        let share = Some(self.garbage_collection_threshold).filter(|share| *share > 0.0)?;
        self.allowed.map(|allowed| (share * allowed as f64) as u64)
    }
}

/// The next of the steps into which powers of two are divided.
fn round_up_to_division(size: u64, divisions: u64) -> u64 {
    if size.is_power_of_two() {
        return size;
    }
    let floor = 1_u64 << (63 - size.leading_zeros());
    let step = floor >> (63 - divisions.leading_zeros());
    if step == 0 {
        return floor.saturating_mul(2);
    }
    let rounded_down = size & !(step - 1);
    if rounded_down == size { size } else { rounded_down.saturating_add(step) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_are_rounded_to_blocks() {
        let settings = PyTorchSettings::default();
        let rounded = [1, 512, 513, 1 << 20].map(|size| settings.round(size));
        assert_eq!(rounded, [512, 512, 1024, 1 << 20]);
    }

    #[test]
    fn divisions_round_to_steps_between_powers_of_two() {
        let settings = PyTorchSettings { roundup_divisions: [4; 16], ..PyTorchSettings::default() };
        // The documentation's example: 1200 with four divisions is 1280.
        assert_eq!(round_up_to_division(1200, 4), 1280);
        assert_eq!(settings.round(1200), 1536, "too small for divisions: a multiple of 512");
        assert_eq!(settings.round(5 << 20), 5 << 20);
        assert_eq!(settings.round((5 << 20) + 1), 6 << 20);
        assert_eq!(settings.round(1 << 22), 1 << 22);
    }

    #[test]
    fn segments_by_size() {
        let settings = PyTorchSettings::default();
        let sizes = [512, 1 << 20, (1 << 20) + 512, 10 * MIB, 21 * MIB];
        let segments = sizes.map(|size| settings.segment_size(size) / MIB);
        assert_eq!(segments, [2, 2, 20, 10, 22]);
    }
}
