//! What the pool asks of one device.

use crate::{error::PoolError, refusal::Refusal};

/// A stream, by the driver's own handle.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Stream(pub u64);

impl Stream {
    /// The default stream, which waits for all others that do not opt out.
    pub const LEGACY: Self = Self(0);
    /// "The default stream of the calling thread": another one in every thread.
    pub const PER_THREAD: Self = Self(2);

    /// The stream, where it is the same one in every thread.
    ///
    /// # Errors
    /// It is not.
    pub fn told_apart(self) -> Result<Self, PoolError> {
        if self == Self::PER_THREAD { Err(PoolError::PerThreadStream) } else { Ok(self) }
    }
}

/// Physical memory, by the driver's own handle.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Physical(pub u64);

/// A point in a stream, by the driver's own handle.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Event(pub u64);

/// What a driver answers.
pub type Answer<T> = Result<T, Refusal>;

/// One device, as its driver offers it. The pool calls nothing else: a device that is made up serves
/// its tests.
pub trait Driver: Send + Sync {
    /// All memory of the device.
    fn total(&self) -> u64;
    /// What of it is free.
    fn free(&self) -> Answer<u64>;
    /// Addresses without memory.
    fn reserve(&self, size: u64) -> Answer<u64>;
    /// Memory without an address.
    fn create(&self, size: u64) -> Answer<Physical>;
    /// Gives memory up. It goes once it is mapped nowhere.
    fn release(&self, memory: Physical) -> Answer<()>;
    /// Puts memory behind addresses. The same memory may lie behind several.
    fn map(&self, address: u64, size: u64, memory: Physical) -> Answer<()>;
    /// Lets devices use mapped addresses.
    fn allow(&self, address: u64, size: u64) -> Answer<()>;
    /// Takes a mapping away. Nothing that still runs may use it.
    fn unmap(&self, address: u64, size: u64) -> Answer<()>;
    /// An event that can be recorded.
    fn event(&self) -> Answer<Event>;
    /// Lets an event stand for everything that the stream was given so far.
    fn record(&self, event: Event, stream: Stream) -> Answer<()>;
    /// Whether everything before the event is done.
    fn has_passed(&self, event: Event) -> Answer<bool>;
    /// Waits for it, on the host.
    fn wait(&self, event: Event) -> Answer<()>;
    /// Lets a stream wait for it, without the host.
    fn order(&self, stream: Stream, event: Event) -> Answer<()>;
    /// Whether what the stream is given becomes part of a graph, and does not run.
    fn is_capturing(&self, stream: Stream) -> Answer<bool>;
    /// While a graph is captured, drivers refuse calls that could disturb it; ours do not: they are
    /// about memory that no capture knows. What it returns goes to [`Self::strict_again`].
    fn relax(&self) -> u32;
    /// Takes back what [`Self::relax`] did.
    fn strict_again(&self, before: u32);
    /// Waits until a stream has finished everything.
    fn finish(&self, stream: Stream) -> Answer<()>;
    /// Waits until the device has finished everything.
    fn synchronize(&self) -> Answer<()>;
    /// Fills bytes, in the order of the stream.
    fn fill(&self, address: u64, byte: u8, size: u64, stream: Stream) -> Answer<()>;
    /// Reads bytes, in the order of the stream, and waits for them.
    fn read(&self, address: u64, into: &mut [u8], stream: Stream) -> Answer<()>;
}
