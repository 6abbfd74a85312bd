//! What decides how a communicator is made: the caller's structure and the environment.

use std::{env, ffi::c_char};

use whyoom_lab_abi::In;

use crate::information::VERSION;

/// "Not set", in the caller's structure.
const UNDEFINED: i32 = i32::MIN;

/// The first release that connects when the first collective needs it (NCCL's source,
/// `NCCL_RUNTIME_CONNECT`); before, `ncclCommInitRank` did.
const CONNECTS_LATE: u32 = 22_203;
/// The first release that maps its memory itself on every GPU (NCCL's source,
/// `ncclIsCuMemSupported`); before, on those that a network card can reach, which are assumed to be
/// the ones with NVLink.
const MAPS_EVERYWHERE: u32 = 22_403;

/// The head of `ncclConfig_t`, alike in all releases from 2.17 on.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct CallerConfig {
    size: usize,
    magic: u32,
    version: u32,
    blocking: i32,
    cluster_size: i32,
    min_channels: i32,
    max_channels: i32,
    network: *const c_char,
    split_share: i32,
}

/// What the caller and the environment ask for.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Configuration {
    /// The release that the caller was built with, and that would serve it outside the lab.
    pub version: u32,
    pub min_channels: u32,
    pub max_channels: u32,
    /// A split-off communicator uses the connections of its parent.
    pub shares: bool,
}

impl Default for Configuration {
    fn default() -> Self {
        Self { version: VERSION, min_channels: 1, max_channels: u32::MAX, shares: false }
    }
}

impl Configuration {
    /// Reads the caller's structure, if it gave one, and the environment.
    pub(crate) fn of(given: In<CallerConfig>) -> Self {
        let set = |value: i32| (value != UNDEFINED && value > 0).then_some(value as u32);
        let default = Self::default();
        let caller = given.if_given().map_or(default, |given| Self {
            version: given.version,
            min_channels: set(given.min_channels).unwrap_or(default.min_channels),
            max_channels: set(given.max_channels).unwrap_or(default.max_channels),
            shares: given.split_share == 1,
        });
        Self {
            min_channels: caller.min_channels.max(number("NCCL_MIN_NCHANNELS").unwrap_or(1)),
            max_channels: caller.max_channels.min(number("NCCL_MAX_NCHANNELS").unwrap_or(u32::MAX)),
            ..caller
        }
    }

    /// Memory is mapped by NCCL itself: every piece, however small, takes whole pages.
    pub(crate) fn maps(self, nvlink: bool) -> bool {
        let wanted = number("NCCL_CUMEM_ENABLE").map(|number: i32| number != 0);
        wanted.unwrap_or(self.version >= MAPS_EVERYWHERE || nvlink)
    }

    /// Connections are made when the first collective needs them.
    pub(crate) fn connects_late(self, nvlink: bool) -> bool {
        let allowed = number("NCCL_RUNTIME_CONNECT").is_none_or(|number: i32| number != 0);
        allowed && self.version >= CONNECTS_LATE && self.maps(nvlink)
    }
}

/// A number out of the environment; text that is none counts as not set.
pub(crate) fn number<T: std::str::FromStr>(name: &str) -> Option<T> {
    env::var(name).ok()?.trim().parse().ok()
}

#[cfg(test)]
mod tests {
    use std::ptr;

    use super::*;

    fn given(version: u32, max_channels: i32, split_share: i32) -> CallerConfig {
        CallerConfig {
            size: size_of::<CallerConfig>(),
            magic: 0,
            version,
            blocking: 1,
            cluster_size: 4,
            min_channels: UNDEFINED,
            max_channels,
            network: ptr::null(),
            split_share,
        }
    }

    #[test]
    fn what_the_caller_leaves_open_is_the_default() {
        let read = Configuration::of(In(&given(22_105, UNDEFINED, UNDEFINED)));
        assert_eq!((read.min_channels, read.max_channels, read.shares), (1, u32::MAX, false));
        let read = Configuration::of(In(&given(22_105, 4, 1)));
        assert_eq!((read.max_channels, read.shares), (4, true));
    }

    #[test]
    fn the_release_decides_when_connections_are_made() {
        let old = Configuration::of(In(&given(22_105, UNDEFINED, 0)));
        assert!(!old.connects_late(true) && old.maps(true) && !old.maps(false));
        assert!(Configuration::of(In(ptr::null())).connects_late(false));
    }
}
