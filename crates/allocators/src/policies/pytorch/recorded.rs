//! The settings that a recording says were in force.

use super::settings::{PyTorchSettings, TieBreak};

impl PyTorchSettings {
    /// The settings by the names that snapshots have for them; others are passed over.
    #[must_use]
    pub fn from_recorded(settings: &[(String, String)]) -> Self {
        let mut found = Self { tie_break: TieBreak::Address, ..Self::default() };
        for (name, value) in settings {
            found.set_recorded(name, value);
        }
        found
    }

    fn set_recorded(&mut self, name: &str, value: &str) {
        match name {
            "expandable_segments" => self.expandable_segments = is_true(value),
            // −1 stands for no limit, and does not parse.
            "max_split_size" => self.max_split_size = value.parse().ok(),
            "garbage_collection_threshold" => {
                self.garbage_collection_threshold = value.parse().unwrap_or_default();
            }
            // Snapshots do not name the version; this setting is about as old as the new order.
            "max_cached_size" => self.tie_break = TieBreak::Registration,
            _ => {
                let interval = name.strip_prefix("roundup_power2_divisions.");
                let interval = interval.and_then(|name| name.parse::<u64>().ok());
                if let Some(interval) = interval.filter(|interval| *interval > 0) {
                    let index = (interval.ilog2() as usize).min(15);
                    self.roundup_divisions[index] = value.parse().unwrap_or_default();
                }
            }
        }
    }
}

fn is_true(value: &str) -> bool {
    matches!(value, "True" | "true" | "1")
}
