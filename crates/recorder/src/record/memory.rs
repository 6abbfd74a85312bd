//! Memory that a recorded call took or gave back.

use whyoom_trace::MemoryKind;

use super::{
    call::Call,
    clock,
    errors::{Cause, cause_of},
    event::NO_STACK,
    ledger::{self, Held},
    location::Location,
};
use crate::result_code::Code;

impl Call {
    /// Where memory that is given back lies: where it was taken, whatever is current now.
    #[inline]
    pub(crate) fn location_of(&self, held: Option<Held>) -> Location {
        match held {
            Some(held) => Location::on(held.device).in_context(held.context),
            None => self.here(),
        }
    }

    /// Writes an allocation, which the driver has made or refused; `time` is after it did.
    pub(crate) fn allocated(
        &self,
        time: u64,
        location: Location,
        (kind, address, size): (MemoryKind, u64, u64),
        result: Code,
    ) {
        if !matches!(cause_of(result), Cause::None | Cause::Memory) {
            return;
        }
        let stack = self.stack();
        let address = if result == 0 { address } else { 0 };
        self.write(time, location, stack, result, ledger::alloc(kind, address, size));
        if result == 0 {
            let live = location.live_device();
            let context = location.context;
            let held = Held { kind, device: location.device, live, size, context, count: 1 };
            self.process.hold(address, held);
        } else {
            self.failed(location, stack, result, size);
        }
    }

    /// Before memory is given back: when, and what it was. From here on its address may be another's.
    pub(crate) fn freeing(&self, address: u64) -> (u64, Option<Held>) {
        let time = clock::now();
        (time, if address == 0 { None } else { self.process.let_go(address) })
    }

    /// After it was given back, or refused: then it is still there.
    pub(crate) fn freed(
        &self,
        (time, held): (u64, Option<Held>),
        location: Location,
        (kind, address): (MemoryKind, u64),
        result: Code,
    ) {
        if let Some(held) = held.filter(|_| result != 0) {
            self.process.hold(address, held);
        }
        if address != 0 && matches!(cause_of(result), Cause::None | Cause::Memory) {
            // Of a free that was refused it is asked who made it; of others, who took the memory.
            let stack = if result == 0 { NO_STACK } else { self.stack() };
            self.write(time, location, stack, result, ledger::free(kind, address));
        }
    }
}
