//! How the simulated GPUs are linked, which decides how much memory NCCL takes: one table.
//!
//! NCCL looks for paths between the GPUs of a machine and makes as many channels as their links
//! carry. The lab has no links, so that a model's usual machine stands in.

/// How two GPUs of a model reach each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Links {
    /// Compute capability.
    architecture: (i32, i32),
    /// Buffers are in device memory. Without NVLink NCCL goes through host memory.
    pub nvlink: bool,
    /// Channels of collectives.
    pub channels: u32,
    /// Channels between two ranks that send to each other, before the limit of all channels.
    pub channels_to_peer: u32,
}

/// Twelve NVLinks to a switch. Channels: observed, Channel 23/24 on eight A100
/// (NVIDIA/nccl-tests#100); NVIDIA/nccl#964 agrees (see `buffers`). To a peer: NCCL's source has
/// two for each link, rounded up to a power of two.
const A100: Links =
    Links { architecture: (8, 0), nvlink: true, channels: 24, channels_to_peer: 32 };

/// Eighteen NVLinks to a switch. Observed: 24 coll channels, 32 p2p channels, 32 per peer between
/// two GPUs (NVIDIA/nccl#1781); 32 per peer on eight H100 (NVIDIA/nccl#1685).
const H100: Links =
    Links { architecture: (9, 0), nvlink: true, channels: 24, channels_to_peer: 32 };

/// Assumed to be like H100.
const B200: Links =
    Links { architecture: (10, 0), nvlink: true, channels: 24, channels_to_peer: 32 };

/// Two NVLinks to each of three others. Observed: six rings on four V100 (NVIDIA/nccl#713), which
/// NCCL doubles. To a peer: two for each link, by NCCL's source.
const V100: Links = Links { architecture: (7, 0), nvlink: true, channels: 12, channels_to_peer: 4 };

/// All others: PCIe through the host's memory. Observed: one ring on two GPUs without peer access
/// (NVIDIA/nccl#1358), which NCCL doubles. That no bridge joins two desktop cards is assumed.
const PCIE: Links = Links { architecture: (0, 0), nvlink: false, channels: 2, channels_to_peer: 2 };

/// A single rank has nobody to reach. Observed: channels numbered to 64
/// (aikitoria/open-gpu-kernel-modules#38), and the 512 MiB of NVIDIA/nccl#2366, which are 64 times
/// the buffer that NCCL's source has for a channel.
const ALONE: u32 = 64;

/// The links of a communicator's GPUs.
pub(crate) fn links(architecture: (i32, i32), ranks: u32) -> Links {
    let known = [A100, H100, B200, V100].into_iter().find(|it| it.architecture == architecture);
    let links = known.unwrap_or(PCIE);
    if ranks == 1 { Links { channels: ALONE, ..links } } else { links }
}

impl Links {
    /// NCCL reads from its peer instead of writing to it: by its source, between two A100 only.
    pub(crate) fn reads(self) -> bool {
        self.nvlink && self.architecture == (8, 0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_in_the_table_is_reached_over_pcie() {
        assert!(!links((8, 9), 2).nvlink);
        assert_eq!(links((12, 0), 8).channels, 2);
    }

    #[test]
    fn one_rank_makes_the_most_channels() {
        assert_eq!(links((9, 0), 1).channels, 64);
        assert_eq!(links((9, 0), 2).channels, 24);
    }

    #[test]
    fn only_the_a100_reads() {
        assert!(links((8, 0), 2).reads());
        assert!(!links((9, 0), 2).reads() && !links((8, 6), 2).reads());
    }
}
