//! The calls that exchange messages, by the names that people know.

/// A function of NCCL's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Call {
    AllReduce,
    Reduce,
    Broadcast,
    ReduceScatter,
    AllGather,
    Gather,
    Scatter,
    AllToAll,
    Send,
    Receive,
    Split,
}

const NAMES: [&str; 11] = [
    "ncclAllReduce",
    "ncclReduce",
    "ncclBroadcast",
    "ncclReduceScatter",
    "ncclAllGather",
    "ncclGather",
    "ncclScatter",
    "ncclAlltoAll",
    "ncclSend",
    "ncclRecv",
    "ncclCommSplit",
];

impl Call {
    pub(crate) fn name(self) -> &'static str {
        NAMES[self as usize]
    }

    /// The name of a call by its number, which came from another process.
    pub(crate) fn name_of(number: u32) -> &'static str {
        NAMES.get(number as usize).copied().unwrap_or("another call")
    }

    /// Whether this call takes what that one sends.
    pub(crate) fn takes(self, number: u32) -> bool {
        let sender = if self == Self::Receive { Self::Send } else { self };
        sender as u32 == number
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_receive_takes_a_send_and_a_collective_its_own_kind() {
        assert!(Call::Receive.takes(Call::Send as u32) && !Call::Receive.takes(99));
        assert!(Call::Split.takes(Call::Split as u32) && !Call::AllReduce.takes(1));
        assert_eq!((Call::Split.name(), Call::name_of(99)), ("ncclCommSplit", "another call"));
    }
}
