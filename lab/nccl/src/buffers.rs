//! What NCCL takes on the device: figures and their sources, in one table.
//!
//! The sizes are those of NCCL's public source (2.30.7; 2.21.5 has the same): `src/init.cc`
//! (`computeBuffSizes`, `devCommSetup`), `src/channel.cc` (`initChannel`), `src/transport/p2p.cc`
//! (`p2pSendSetup`, `p2pRecvSetup`), `src/transport/net.cc` (`sharedNetBuffersInit`). Two published
//! observations agree with what they add up to:
//!
//! - NVIDIA/nccl#1685, eight H100: buffers of 10,485,760 and of 2,097,152 bytes, and 32 channels
//!   between two ranks.
//! - NVIDIA/nccl#964, A100 with NVLink, 2023: 544 MB for a communicator of two and 688 MB for one
//!   of more. Here: 24 channels × (6 + 6) MiB + 256 MiB = 544 MiB, and 24 × 6 MiB more.
//!
//! Not counted: NVLink SHARP (`nvls`), which needs multicast, a feature that no simulated device
//! has; network cards; and the library's code, which is loaded into the context.

use crate::{
    configuration::{Configuration, number},
    topology::Links,
};

const MIB: usize = 1 << 20;

/// Steps of every circular buffer.
const STEPS: usize = 8;
/// `NCCL_BUFFSIZE`: documented default.
const SIMPLE: usize = 4 * MIB;
/// `NCCL_LL_BUFFSIZE`: 512 threads × 8 lines × 8 steps × 16 bytes.
const LOW_LATENCY: usize = 512 * 8 * STEPS * 16;
/// `NCCL_LL128_BUFFSIZE`: 640 threads × 120 elements × 8 steps × 8 bytes.
const LOW_LATENCY_128: usize = 640 * 120 * STEPS * 8;
/// What precedes the buffers of a connection: its counters.
const COUNTERS: usize = 4096;
/// Buffers that processes share have a multiple of this size.
const SHAREABLE: usize = 2 * MIB;

/// Pieces of bookkeeping for each channel, and for the communicator.
const PER_CHANNEL: usize = 3;
/// Of those, what a communicator needs of its own when it shares its parent's connections.
const PER_SHARED_CHANNEL: usize = 2;
const PER_COMMUNICATOR: usize = 2;
/// The bytes of such a piece. Observed for two ranks on A100: 1,728 (NVIDIA/nccl#676).
const PIECE: usize = 1728;

/// Steps of the buffer for sending over a network, which releases before 2.22 make at once.
const NETWORK_STEPS: usize = 16;
/// `NCCL_P2P_NVL_CHUNKSIZE` and `NCCL_P2P_PCI_CHUNKSIZE`.
const NVLINK_CHUNK: usize = 512 << 10;
const PCIE_CHUNK: usize = 128 << 10;

/// The sizes that a communicator's allocations have.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Buffers {
    pub channels: u32,
    /// Channels between two ranks that send to each other.
    pub channels_to_peer: u32,
    all_channels: u32,
    /// One channel's buffer for sending to a neighbour; 0 where it is in host memory.
    pub send: usize,
    /// One channel's buffer for receiving from a neighbour; likewise.
    pub receive: usize,
    chunk: usize,
}

impl Buffers {
    /// The sizes for GPUs that are linked so.
    pub(crate) fn new(links: Links, configuration: Configuration) -> Self {
        let most = links.channels.min(configuration.max_channels);
        let channels = most.max(configuration.min_channels);
        let simple = number("NCCL_BUFFSIZE").unwrap_or(SIMPLE);
        let fast = number("NCCL_LL_BUFFSIZE").unwrap_or(LOW_LATENCY)
            + number("NCCL_LL128_BUFFSIZE").unwrap_or(LOW_LATENCY_128);
        let (at_sender, at_receiver) = if links.reads() { (simple, 0) } else { (0, simple) };
        let shareable = |bytes: usize| (COUNTERS + bytes).next_multiple_of(SHAREABLE);
        let on_device = |bytes| if links.nvlink { shareable(bytes) } else { 0 };
        let all_channels = channels.next_power_of_two();
        let chunk = if links.nvlink { NVLINK_CHUNK } else { PCIE_CHUNK };
        Self {
            channels,
            channels_to_peer: links.channels_to_peer.min(all_channels),
            all_channels,
            send: on_device(at_sender),
            receive: on_device(fast + at_receiver),
            chunk: chunk.min(simple / STEPS),
        }
    }

    /// What making a communicator takes beside connections.
    pub(crate) fn bookkeeping(&self, shares: bool) -> impl Iterator<Item = usize> {
        let each = if shares { PER_SHARED_CHANNEL } else { PER_CHANNEL };
        let pieces = PER_COMMUNICATOR + each * self.all_channels as usize;
        std::iter::repeat_n(PIECE, pieces)
    }

    /// The buffer for sending over a network.
    pub(crate) fn network(&self) -> usize {
        self.all_channels as usize * NETWORK_STEPS * self.chunk
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::topology::links;

    fn of(architecture: (i32, i32)) -> Buffers {
        Buffers::new(links(architecture, 2), Configuration::default())
    }

    #[test]
    fn hopper_has_the_sizes_that_nccl_logged() {
        assert_eq!((of((9, 0)).send, of((9, 0)).receive), (2_097_152, 10_485_760));
        assert_eq!(of((9, 0)).channels_to_peer, 32);
    }

    #[test]
    fn two_a100_take_what_was_published() {
        let a100 = of((8, 0));
        let connections = a100.channels as usize * (a100.send + a100.receive);
        assert_eq!(connections + a100.network(), 544 * MIB);
        // A third rank: the first one receives from the second too.
        assert_eq!(a100.channels as usize * a100.receive, (688 - 544) * MIB);
    }

    #[test]
    fn without_nvlink_the_buffers_are_in_host_memory() {
        let pcie = of((8, 9));
        assert_eq!((pcie.send, pcie.receive), (0, 0));
        assert_eq!(pcie.bookkeeping(false).count(), 8);
    }

    #[test]
    fn the_limits_of_channels_hold() {
        let limited = Configuration { max_channels: 4, ..Configuration::default() };
        let buffers = Buffers::new(links((9, 0), 2), limited);
        assert_eq!((buffers.channels, buffers.channels_to_peer), (4, 4));
        let more = Configuration { min_channels: 32, ..Configuration::default() };
        assert_eq!(Buffers::new(links((8, 9), 2), more).channels, 32);
    }
}
