//! The numbers by which an export names processes and threads of several machines at once.

use whyoom_trace::ThreadId;

/// A `globalPid` or `globalTid`: 8 bits of hardware, 8 of a virtual machine, 24 of the process, 24 of the
/// thread.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct GlobalId(pub(super) i64);

impl GlobalId {
    /// The same for every thread of a process.
    pub(super) fn process(self) -> Self {
        Self(self.0 >> 24)
    }

    /// The process as the operating system numbers it; of [`GlobalId::process`].
    pub(super) fn pid(self) -> u32 {
        (self.0 & 0xff_ffff) as u32
    }

    pub(super) fn thread(self) -> ThreadId {
        ThreadId((self.0 & 0xff_ffff) as u32)
    }
}
