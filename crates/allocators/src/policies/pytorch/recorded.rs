//! The settings that a recording says were in force.

use super::{
    conf::AllocatorConf,
    settings::{PyTorchSettings, TieBreak},
};

impl PyTorchSettings {
    /// The settings by the names that snapshots have for them, or, where there are none of these, as
    /// the program's environment has them; others are passed over.
    #[must_use]
    pub fn from_recorded(settings: &[(String, String)]) -> Self {
        let mut found = Self { tie_break: TieBreak::Address, ..Self::default() };
        if settings.iter().all(|(name, _)| name != "expandable_segments") {
            found.set_written(settings);
        }
        for (name, value) in settings {
            found.set_recorded(name, value);
        }
        found
    }

    /// What the environment says. What decides nothing about places is passed over.
    fn set_written(&mut self, settings: &[(String, String)]) {
        // The first overrides the second.
        let names = ["PYTORCH_CUDA_ALLOC_CONF", "PYTORCH_ALLOC_CONF"];
        let written =
            names.iter().find_map(|name| settings.iter().find(|(known, _)| known == name));
        let text = written.map_or("", |(_, value)| value);
        let Ok(conf) = AllocatorConf::parse(text) else { return };
        for option in conf.options() {
            let _ = self.set(option);
        }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_environment_counts_where_nothing_else_is_known() {
        let pair = |name: &str, value: &str| (name.to_owned(), value.to_owned());
        let written = "backend:native,max_split_size_mb:64,expandable_segments:True";
        let mut settings = vec![pair("PYTORCH_CUDA_ALLOC_CONF", written)];
        let found = PyTorchSettings::from_recorded(&settings);
        assert!(found.expandable_segments);
        assert_eq!(found.max_split_size, Some(64 << 20));
        settings.push(pair("expandable_segments", "false"));
        assert!(!PyTorchSettings::from_recorded(&settings).expandable_segments);
    }
}
