//! Settings as people write them: `max_split_size_mb:128,expandable_segments:True`.

use super::{
    conf::{AllocatorConf, ConfError, ConfOption},
    settings::PyTorchSettings,
};

/// Keys of PyTorch 2.0 to 2.15 that decide how memory is asked for, or about host memory, and not where blocks lie.
const NOT_MODELLED: &[&str] = &[
    "backend",
    "expandable_segments_reserve",
    "expandable_segments_reserve_by_class",
    "graph_capture_record_stream_reuse",
    "pinned_free_catch_all",
    "pinned_max_cached_size_mb",
    "pinned_max_round_threshold_mb",
    "pinned_num_register_threads",
    "pinned_reserve_segment_size_mb",
    "pinned_use_background_threads",
    "pinned_use_cuda_host_register",
    "pinned_use_hip_host_register",
    "release_lock_on_cudamalloc",
    "release_lock_on_hipmalloc",
    "throw_on_cudamalloc_oom",
];

/// A setting that is not understood.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SettingError {
    /// The text is not written as settings are.
    #[error(transparent)]
    Text(#[from] ConfError),
    /// PyTorch has it, and the replay does not follow it.
    #[error("the replay does not model '{0}'")]
    NotModelled(String),
    /// No such setting decides where memory goes.
    #[error(
        "unknown allocator setting '{0}'; use expandable_segments, max_split_size_mb, \
         max_non_split_rounding_mb, roundup_power2_divisions, garbage_collection_threshold, \
         large_segment_size_mb or per_process_memory_fraction"
    )]
    Unknown(String),
    /// Its value makes no sense.
    #[error("'{1}' is not a value for {0}")]
    Value(String, String),
}

impl PyTorchSettings {
    /// Changes what the text says, as `PYTORCH_CUDA_ALLOC_CONF` would. `NAME=VALUE` is read as well.
    pub fn apply(&mut self, text: &str) -> Result<(), SettingError> {
        for option in AllocatorConf::parse(&text.replace('=', ":"))?.options() {
            self.set(option)?;
        }
        Ok(())
    }

    /// Returns these settings with one option more, without what [`super::merge`] leaves out beside it.
    pub fn with_option(&self, option: &str) -> Result<Self, SettingError> {
        let mut settings = self.clone();
        settings.apply(option)?;
        let added = AllocatorConf::parse(option)?;
        if added.value("expandable_segments") == Some("True") {
            settings.max_split_size = None;
        } else if added.value("max_split_size_mb").is_some() {
            settings.expandable_segments = false;
        }
        Ok(settings)
    }

    /// Changes one option.
    pub(super) fn set(&mut self, option: &ConfOption) -> Result<(), SettingError> {
        let ConfOption { key, value } = option;
        let wrong = || SettingError::Value(key.clone(), value.clone());
        let mebibytes = || value.parse::<u64>().ok().filter(|number| *number < 1 << 40);
        let bytes = || mebibytes().map(|number| number << 20).ok_or_else(wrong);
        let share = || value.parse::<f64>().ok().filter(|share| (0.0..=1.0).contains(share));
        match key.as_str() {
            "expandable_segments" => {
                self.expandable_segments = match value.as_str() {
                    "True" => true,
                    "False" => false,
                    _ => return Err(wrong()),
                };
            }
            "max_split_size_mb" => {
                // PyTorch refuses less than its large segment.
                let limit = bytes()?;
                if limit < self.large_segment_size {
                    return Err(wrong());
                }
                self.max_split_size = Some(limit);
            }
            "max_non_split_rounding_mb" => self.max_non_split_rounding = bytes()?,
            "large_segment_size_mb" => self.large_segment_size = bytes()?,
            "roundup_power2_divisions" => {
                self.roundup_divisions = roundup_divisions(option).ok_or_else(wrong)?;
            }
            "garbage_collection_threshold" => {
                // PyTorch refuses both ends.
                let inside = share().filter(|share| 0.0 < *share && *share < 1.0);
                self.garbage_collection_threshold = inside.ok_or_else(wrong)?;
            }
            "per_process_memory_fraction" => {
                let fraction = share().ok_or_else(wrong)?;
                self.allowed = Some((fraction * self.device_total as f64).round() as u64);
            }
            known if NOT_MODELLED.contains(&known) => {
                return Err(SettingError::NotModelled(key.clone()));
            }
            _ => return Err(SettingError::Unknown(key.clone())),
        }
        Ok(())
    }
}

/// Returns the divisions for each power of two from 1 MiB on. `None` if PyTorch refuses the value.
///
/// In a list the first interval also stands for all below it, intervals that are not named have none, and `>` stands for
/// all above the last one: so PyTorch 2.15 (measured). In 2.6 `>` replaces the last one, too.
fn roundup_divisions(option: &ConfOption) -> Option<[u64; 16]> {
    let Some(pairs) = option.pairs() else {
        let divisions: u64 = option.value.parse().ok()?;
        return divisions.is_power_of_two().then_some([divisions; 16]);
    };
    let mut found = [0; 16];
    let (mut last, mut is_first) = (0, true);
    for (interval, divisions) in pairs {
        let divisions: u64 = divisions.parse().ok()?;
        if divisions != 0 && !divisions.is_power_of_two() {
            return None;
        }
        if interval == ">" {
            found[last + 1..].fill(divisions);
            continue;
        }
        let mebibytes: u64 = interval.parse().ok()?;
        if !mebibytes.is_power_of_two() {
            return None;
        }
        last = (mebibytes.ilog2() as usize).min(found.len() - 1);
        if is_first {
            found[..last].fill(divisions);
            is_first = false;
        }
        found[last] = divisions;
    }
    Some(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_as_people_write_them() {
        let mut settings = PyTorchSettings::default();
        settings.apply("max_split_size_mb:128, expandable_segments:True").expect("both are known");
        assert_eq!(settings.max_split_size, Some(128 << 20));
        assert!(settings.expandable_segments);
        for wrong in [
            "max_split_size_mb",
            "max_split_size_mb:2",
            "roundup_power2_divisions:3",
            "garbage_collection_threshold:7",
            "roundup_power2_divisions:[3:4]",
            "roundup_power2_divisions:[4:3]",
            "throw_on_cudamalloc_oom:True",
            "colour:red",
        ] {
            assert!(settings.apply(wrong).is_err(), "{wrong}");
        }
    }

    /// PyTorch 2.15 shows these divisions in `torch.cuda.memory._snapshot()`.
    #[test]
    fn lists_of_divisions_are_those_of_pytorch() {
        for (value, expected) in [
            ("4", [4; 16]),
            ("[256:1,512:2,1024:4,>:8]", [1, 1, 1, 1, 1, 1, 1, 1, 1, 2, 4, 8, 8, 8, 8, 8]),
            ("[>:8,512:2]", [2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 8, 8, 8, 8, 8, 8]),
            ("[64:8,512:2]", [8, 8, 8, 8, 8, 8, 8, 0, 0, 2, 0, 0, 0, 0, 0, 0]),
        ] {
            let mut settings = PyTorchSettings::default();
            let text = format!("roundup_power2_divisions:{value}");
            settings.apply(&text).expect("PyTorch takes it");
            assert_eq!(settings.roundup_divisions, expected, "{value}");
        }
    }

    #[test]
    fn an_option_replaces_what_must_not_stand_beside_it() {
        let mut split = PyTorchSettings::default();
        split.apply("max_split_size_mb:64,roundup_power2_divisions:4").expect("both are known");
        let expandable = split.with_option("expandable_segments:True").expect("it is known");
        assert!(expandable.expandable_segments && expandable.max_split_size.is_none());
        assert_eq!(expandable.roundup_divisions, [4; 16]);
        let back = expandable.with_option("max_split_size_mb:128").expect("it is known");
        assert!(!back.expandable_segments && back.max_split_size == Some(128 << 20));
    }
}
