//! Settings as people write them: `max_split_size_mb:128,expandable_segments:True`.

use super::settings::PyTorchSettings;

/// A setting that is not understood.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SettingError {
    /// It has no value.
    #[error("'{0}' has no value; write NAME:VALUE, as in PYTORCH_CUDA_ALLOC_CONF")]
    NoValue(String),
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
    /// Changes what the text says, as `PYTORCH_CUDA_ALLOC_CONF` would.
    pub fn apply(&mut self, text: &str) -> Result<(), SettingError> {
        for setting in text.split(',').map(str::trim).filter(|setting| !setting.is_empty()) {
            let pair = setting.split_once([':', '=']);
            let (name, value) = pair.ok_or_else(|| SettingError::NoValue(setting.to_owned()))?;
            self.set(name.trim(), value.trim())?;
        }
        Ok(())
    }

    fn set(&mut self, name: &str, value: &str) -> Result<(), SettingError> {
        let wrong = || SettingError::Value(name.to_owned(), value.to_owned());
        let mebibytes = || value.parse::<u64>().ok().filter(|number| *number < 1 << 40);
        let bytes = || mebibytes().map(|number| number << 20).ok_or_else(wrong);
        let share = || value.parse::<f64>().ok().filter(|share| (0.0..=1.0).contains(share));
        match name {
            "expandable_segments" => {
                self.expandable_segments = match value {
                    "True" | "true" => true,
                    "False" | "false" => false,
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
                let divisions: u64 = value.parse().map_err(|_| wrong())?;
                if !divisions.is_power_of_two() {
                    return Err(wrong());
                }
                self.roundup_divisions = [divisions; 16];
            }
            "garbage_collection_threshold" => {
                self.garbage_collection_threshold = share().ok_or_else(wrong)?;
            }
            "per_process_memory_fraction" => {
                let fraction = share().ok_or_else(wrong)?;
                self.allowed = Some((fraction * self.device_total as f64).round() as u64);
            }
            _ => return Err(SettingError::Unknown(name.to_owned())),
        }
        Ok(())
    }
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
            "colour:red",
        ] {
            assert!(settings.apply(wrong).is_err(), "{wrong}");
        }
    }
}
