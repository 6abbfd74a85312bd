//! The CUDA driver's interface, as far as a memory pool needs it, found at run time.
//!
//! Three layers: `sys`, the table of functions as documented; [`Code`], what they answer; and
//! [`Driver`], which calls them. The library is the one that the process has already, if it has one,
//! and it stays loaded. The functions are looked up with plain `dlsym` under their documented names,
//! so whoever records the calls of this process records these too.
//!
//! Every function can be called from any thread. None may be called in a child after `fork`: the
//! driver does not follow there.
//!
//! Handles ([`Stream`], [`Event`], [`Context`], [`PhysicalHandle`]) are plain numbers, as they are for
//! the driver. Most wrong ones are answered with a code, but the driver documents the use of an
//! event, a stream or a context *after it was destroyed* as undefined: whoever calls here keeps its
//! handles no longer than that.

mod capture;
mod code;
mod context;
mod devices;
mod error;
mod events;
mod library;
mod mappings;
mod physical;
mod streams;
mod sys;
mod transfer;
mod trials;

use std::sync::atomic::{AtomicU8, Ordering};

pub use code::Code;
pub use context::Context;
pub use error::DriverError;
pub use events::Event;
pub use physical::PhysicalHandle;
pub use streams::Stream;

/// Devices whose answers are remembered; no machine has as many.
const REMEMBERED: usize = 64;

/// The loaded driver.
pub struct Driver {
    functions: sys::Functions,
    /// Whether a device's memory can be reached by RDMA: asked once per device.
    reachable_by_rdma: [AtomicU8; REMEMBERED],
}

impl std::fmt::Debug for Driver {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Driver").finish_non_exhaustive()
    }
}

impl Driver {
    /// Finds the driver's library, in this process or on this machine, and its functions in it.
    ///
    /// # Errors
    /// There is no driver here, or one from before CUDA 11.2.
    pub fn load() -> Result<Self, DriverError> {
        library::functions().map(Self::of)
    }

    fn of(functions: sys::Functions) -> Self {
        Self { functions, reachable_by_rdma: [const { AtomicU8::new(0) }; REMEMBERED] }
    }

    /// The remembered answer of `ask` for this device.
    fn remembered(
        &self,
        device: u32,
        ask: impl FnOnce() -> Result<bool, Code>,
    ) -> Result<bool, Code> {
        const NO: u8 = 1;
        const YES: u8 = 2;
        let slot = self.reachable_by_rdma.get(device as usize);
        // Relaxed: the answer is all there is, and two threads that both ask hear the same.
        match slot.map(|slot| slot.load(Ordering::Relaxed)) {
            Some(YES) => Ok(true),
            Some(NO) => Ok(false),
            _ => {
                let answer = ask()?;
                if let Some(slot) = slot {
                    slot.store(if answer { YES } else { NO }, Ordering::Relaxed);
                }
                Ok(answer)
            }
        }
    }
}
