//! Names for things that events speak of. Each is a number with a type, so that a stream is never
//! taken for an address.

use std::fmt;

use serde::{Deserialize, Serialize};

/// Declares newtypes over an integer that behave like the integer and print like it.
macro_rules! ids {
    ($($(#[$doc:meta])* $name:ident($inner:ty);)*) => {$(
        $(#[$doc])*
        #[derive(
            Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
        )]
        pub struct $name(pub $inner);

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                fmt::Display::fmt(&self.0, f)
            }
        }
    )*};
}

ids! {
    /// A process of the recording: an index given by the source, named in [`crate::Tables`].
    ProcessId(u32);
    /// A thread of a process, as the operating system numbers it; 0 where the source does not tell.
    ThreadId(u32);
    /// A CUDA context of a process; 0 where the source does not tell.
    ContextId(u32);
    /// A CUDA stream: its handle's bits. 0 is the default stream.
    StreamId(u64);
    /// An allocator's pool, interned in [`crate::Tables`]. 0 is the default pool.
    PoolId(u32);
    /// A call stack, interned in [`crate::Tables`]. 0 is the empty stack.
    StackId(u32);
    /// One frame of a call stack, interned in [`crate::Tables`].
    FrameId(u32);
    /// A string, interned in [`crate::Tables`]. 0 is the empty string.
    StringId(u32);
    /// A handle of physical memory made by the virtual-memory API.
    HandleId(u64);
    /// What a call returned, in the numbering of the library called. 0 is success.
    ResultCode(i32);
}

/// A GPU by its ordinal as the process sees it, or the host.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
pub struct DeviceId(pub u16);

impl DeviceId {
    /// Host memory: pinned buffers live here.
    pub const HOST: Self = Self(u16::MAX);
    /// A GPU, and the source does not tell which.
    pub const UNKNOWN: Self = Self(u16::MAX - 1);
}

impl fmt::Display for DeviceId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::HOST => f.write_str("host"),
            Self::UNKNOWN => f.write_str("a GPU"),
            Self(ordinal) => write!(f, "GPU {ordinal}"),
        }
    }
}

/// A device or host address.
#[derive(Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Address(pub u64);

impl Address {
    /// The address that many bytes further on, held at the end of the address space.
    #[must_use]
    pub fn offset(self, by: Bytes) -> Self {
        Self(self.0.saturating_add(by.0))
    }

    /// The bytes from `start` up to here; none where `start` lies behind.
    #[must_use]
    pub fn since(self, start: Self) -> Bytes {
        Bytes(self.0.saturating_sub(start.0))
    }
}

impl fmt::Debug for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:#x}", self.0)
    }
}

/// Nanoseconds since the Unix epoch; 0 where the source does not tell.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
pub struct Time(pub u64);

/// An amount of memory. Prints as people write it: `1.50 GiB`.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
pub struct Bytes(pub u64);

impl Bytes {
    /// No bytes.
    pub const ZERO: Self = Self(0);
    /// 2²⁰ bytes.
    pub const MIB: Self = Self(1 << 20);

    /// The sum, held at the largest amount: hostile input can claim any size.
    #[must_use]
    pub fn plus(self, other: Self) -> Self {
        Self(self.0.saturating_add(other.0))
    }

    /// The difference, or nothing where `other` is larger.
    #[must_use]
    pub fn minus(self, other: Self) -> Self {
        Self(self.0.saturating_sub(other.0))
    }

    /// This as a share of `whole`, 0 where the whole is nothing.
    #[must_use]
    pub fn share_of(self, whole: Self) -> f64 {
        if whole.0 == 0 { 0.0 } else { self.0 as f64 / whole.0 as f64 }
    }
}

impl std::iter::Sum for Bytes {
    fn sum<I: Iterator<Item = Self>>(amounts: I) -> Self {
        amounts.fold(Self::ZERO, Self::plus)
    }
}

impl fmt::Display for Bytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const UNITS: [&str; 5] = ["KiB", "MiB", "GiB", "TiB", "PiB"];
        if self.0 < 1024 {
            return f.pad(&format!("{} B", self.0));
        }
        let mut amount = self.0 as f64 / 1024.0;
        let mut unit = 0;
        // 1023.995 would print as 1024.00: it belongs to the next unit.
        while amount >= 1023.995 && unit + 1 < UNITS.len() {
            amount /= 1024.0;
            unit += 1;
        }
        f.pad(&format!("{amount:.2} {}", UNITS[unit]))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_print_as_people_write_them() {
        let printed = |n: u64| Bytes(n).to_string();
        assert_eq!(printed(0), "0 B");
        assert_eq!(printed(1023), "1023 B");
        assert_eq!(printed(1024), "1.00 KiB");
        assert_eq!(printed(3 << 29), "1.50 GiB");
        assert_eq!(printed((1 << 30) - 1), "1.00 GiB");
        assert_eq!(printed(u64::MAX), "16384.00 PiB");
        assert_eq!(format!("{:>10}", Bytes(1024)), "  1.00 KiB");
    }

    #[test]
    fn arithmetic_never_wraps() {
        assert_eq!(Bytes(u64::MAX).plus(Bytes(1)), Bytes(u64::MAX));
        assert_eq!(Bytes(1).minus(Bytes(2)), Bytes::ZERO);
        assert_eq!(Address(5).since(Address(9)), Bytes::ZERO);
    }
}
