//! What a recorded process holds, and which of its contexts a kernel broke.

use std::sync::PoisonError;

use super::{ledger::Held, process::Process};

impl Process {
    pub(crate) fn hold(&self, address: u64, held: Held) {
        self.ledger.insert(address, held, self.part.live());
    }

    pub(crate) fn let_go(&self, address: u64) -> Option<Held> {
        self.ledger.remove(address, self.part.live())
    }

    pub(crate) fn held(&self, address: u64) -> Option<Held> {
        self.ledger.get(address)
    }

    pub(crate) fn recount(&self, address: u64, by: i32) -> Option<u32> {
        self.ledger.recount(address, by)
    }

    pub(crate) fn forget_context(&self, context: u64) {
        self.ledger.forget_context(context, self.part.live());
        self.broken.lock().unwrap_or_else(PoisonError::into_inner).retain(|id| *id != context);
    }

    /// A kernel failed in the context.
    pub(crate) fn mark_broken(&self, context: u64) {
        let mut broken = self.broken.lock().unwrap_or_else(PoisonError::into_inner);
        if !broken.contains(&context) {
            broken.push(context);
        }
    }

    /// Whether that was known before.
    pub(crate) fn is_broken(&self, context: u64) -> bool {
        self.broken.lock().unwrap_or_else(PoisonError::into_inner).contains(&context)
    }
}
