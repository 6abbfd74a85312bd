//! The options of PyTorch's allocator, each with the first release that takes it. One option that a release does not know makes it refuse
//! the whole variable.
//!
//! The table was measured on the wheels of 2.4.1 to 2.15.0 on 2026-11-19 (`xtask/python/settings/README.md`).
//! `cargo xtask settings` compares it with the measurement. Patch releases in between were not measured.

use std::fmt;

use super::conf::AllocatorConf;

/// A release of PyTorch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Release {
    major: u16,
    minor: u16,
    patch: u16,
}

/// An option of the allocator, with the first release that takes it.
#[derive(Clone, Copy, Debug)]
pub struct KnownOption {
    /// The name before the colon.
    pub key: &'static str,
    /// The first release that takes the option. Up to [`OLDEST_MEASURED`] it comes from PyTorch's documentation.
    pub since: Release,
}

/// The oldest release that was measured.
pub const OLDEST_MEASURED: Release = Release::new(2, 4, 1);
/// The newest release that was measured.
pub const NEWEST_MEASURED: Release = Release::new(2, 15, 0);
/// The first release in which `PYTORCH_ALLOC_CONF` has an effect on CUDA (pytorch#183387, measured).
pub const READS_ALLOC_CONF: Release = Release::new(2, 10, 0);

/// The options that a measured release takes.
pub const KNOWN_OPTIONS: &[KnownOption] = &[
    option("max_split_size_mb", 1, 10, 0),
    option("garbage_collection_threshold", 1, 12, 0),
    option("roundup_power2_divisions", 1, 13, 0),
    option("backend", 2, 0, 0),
    option("expandable_segments", 2, 1, 0),
    option("release_lock_on_cudamalloc", 2, 4, 1),
    option("release_lock_on_hipmalloc", 2, 4, 1),
    option("pinned_use_cuda_host_register", 2, 4, 1),
    option("pinned_use_hip_host_register", 2, 4, 1),
    option("pinned_num_register_threads", 2, 4, 1),
    option("max_non_split_rounding_mb", 2, 6, 0),
    option("pinned_use_background_threads", 2, 6, 0),
    option("graph_capture_record_stream_reuse", 2, 9, 0),
    option("per_process_memory_fraction", 2, 10, 0),
    option("pinned_reserve_segment_size_mb", 2, 10, 0),
    option("large_segment_size_mb", 2, 11, 0),
    option("throw_on_cudamalloc_oom", 2, 12, 1),
    option("pinned_free_catch_all", 2, 12, 1),
    option("pinned_max_round_threshold_mb", 2, 13, 0),
    option("pinned_max_cached_size_mb", 2, 13, 0),
    option("expandable_segments_reserve", 2, 15, 0),
    option("expandable_segments_reserve_by_class", 2, 15, 0),
];

const fn option(key: &'static str, major: u16, minor: u16, patch: u16) -> KnownOption {
    KnownOption { key, since: Release::new(major, minor, patch) }
}

impl Release {
    /// Returns the release of these numbers.
    #[must_use]
    pub const fn new(major: u16, minor: u16, patch: u16) -> Self {
        Self { major, minor, patch }
    }

    /// Reads `2.9.1` or `2.9.1+cu128`. Returns `None` for anything else, such as a build from a branch (`2.9.0a0+git`),
    /// whose options were not measured.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let numbers = text.split_once('+').map_or(text, |(numbers, _)| numbers);
        let mut parts = numbers.split('.').map(str::parse);
        let major = parts.next()?.ok()?;
        let minor = parts.next()?.ok()?;
        let patch = parts.next().unwrap_or(Ok(0)).ok()?;
        parts.next().is_none().then_some(Self { major, minor, patch })
    }

    fn is_same_minor(self, other: Self) -> bool {
        (self.major, self.minor) == (other.major, other.minor)
    }

    /// Returns true if the release is not older than the oldest that was measured, and not newer than the newest.
    #[must_use]
    pub fn is_measured(self) -> bool {
        (OLDEST_MEASURED..=NEWEST_MEASURED).contains(&self)
    }
}

impl fmt::Display for Release {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}.{}", self.major, self.minor, self.patch)
    }
}

/// Returns true if a release takes an option, false if it refuses it. Without a release, or with one that is newer than
/// what was measured, only an option that all measured releases take counts as taken. Returns `None` if it is not known,
/// also of a patch release just before the first one measured that takes it.
#[must_use]
pub fn takes(release: Option<Release>, key: &str) -> Option<bool> {
    let option = KNOWN_OPTIONS.iter().find(|option| option.key == key)?;
    match release {
        Some(release) if release <= NEWEST_MEASURED => {
            let is_taken = release >= option.since;
            // An older patch release of the same minor release, or an older one than any measured, may take it, too.
            let is_unsure = option.since == OLDEST_MEASURED || release.is_same_minor(option.since);
            if is_unsure && !is_taken { None } else { Some(is_taken) }
        }
        _ if option.since <= OLDEST_MEASURED => Some(true),
        _ => None,
    }
}

/// Returns the keys in options that a release refuses, or of which it is not known whether it takes them.
#[must_use]
pub fn doubtful_keys(release: Option<Release>, options: &AllocatorConf) -> Vec<&str> {
    let keys = options.options().iter().map(|option| option.key.as_str());
    keys.filter(|key| takes(release, key) != Some(true)).collect()
}

/// Returns the words for the releases that take a key.
#[must_use]
pub fn needs_release(key: &str) -> String {
    match KNOWN_OPTIONS.iter().find(|option| option.key == key) {
        Some(option) => format!("{key} needs PyTorch {} or newer", option.since),
        None => format!("not every PyTorch takes {key}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn releases_are_read() {
        assert_eq!(Release::parse("2.9.1+cu128"), Some(Release::new(2, 9, 1)));
        assert_eq!(Release::parse("2.10"), Some(Release::new(2, 10, 0)));
        for other in ["", "2", "2.9.0a0+git1234", "2.15.0.dev20260801", "2.9.1rc1", "two"] {
            assert_eq!(Release::parse(other), None, "{other}");
        }
        assert!(Release::new(2, 9, 1) < Release::new(2, 10, 0));
    }

    #[test]
    fn option_is_taken_from_its_release_on() {
        let takes_in = |text, key| takes(Release::parse(text), key);
        assert_eq!(takes_in("2.9.1", "per_process_memory_fraction"), Some(false));
        assert_eq!(takes_in("2.10.0", "per_process_memory_fraction"), Some(true));
        assert_eq!(takes_in("2.16.0", "per_process_memory_fraction"), None);
        assert_eq!(takes_in("", "per_process_memory_fraction"), None);
        assert_eq!(takes_in("2.16.0", "expandable_segments"), Some(true));
        assert_eq!(takes_in("2.0.1", "expandable_segments"), Some(false));
        assert_eq!(takes_in("2.3.1", "release_lock_on_cudamalloc"), None);
        assert_eq!(takes_in("2.12.0", "throw_on_cudamalloc_oom"), None);
        assert_eq!(takes_in("2.11.0", "throw_on_cudamalloc_oom"), Some(false));
        assert_eq!(takes_in("", "max_split_size_mb"), Some(true));
        assert_eq!(takes_in("2.15.0", "no_such_option"), None);
    }

    #[test]
    fn every_option_is_named_once() {
        for (index, option) in KNOWN_OPTIONS.iter().enumerate() {
            let again = KNOWN_OPTIONS[index + 1..].iter().any(|other| other.key == option.key);
            assert!(!again, "{}", option.key);
            assert!(option.since <= NEWEST_MEASURED, "{}", option.key);
        }
    }
}
