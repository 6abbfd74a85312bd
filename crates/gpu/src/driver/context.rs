//! Contexts: what a thread's calls refer to.
#![expect(unsafe_code, reason = "functions of the driver are called here")]

use std::ptr;

use super::{
    Code, Driver,
    sys::{number, opaque},
};

/// A context of the driver's. Not owned: it goes when whoever made it destroys it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Context(pub(super) u64);

/// Takes the context off again, also when what ran under it panics.
struct Pushed<'a>(&'a Driver);

impl Driver {
    /// The context that is current on this thread.
    #[must_use]
    pub fn current_context(&self) -> Option<Context> {
        let mut context = ptr::null_mut();
        // SAFETY: one handle is written to the place given for it.
        Code::check(unsafe { (self.functions.context_current)(&raw mut context) }).ok()?;
        (!context.is_null()).then(|| Context(number(context)))
    }

    /// The device of the context that is current on this thread.
    ///
    /// # Errors
    /// The driver's own: [`Code::INVALID_CONTEXT`] where none is current.
    pub fn current_device(&self) -> Result<u32, Code> {
        let mut device = 0;
        // SAFETY: one handle is written to the place given for it.
        Code::check(unsafe { (self.functions.context_device)(&raw mut device) })?;
        // A device's handle is its number, as everybody who mixes this interface with the runtime's
        // relies on.
        u32::try_from(device).map_err(|_| Code::INVALID_DEVICE)
    }

    /// The context that a device's programs share. It is kept for as long as the process lives.
    ///
    /// # Errors
    /// The driver's own: [`Code::OUT_OF_MEMORY`] where it is the first use and there is no room.
    pub fn retain_primary(&self, device: u32) -> Result<Context, Code> {
        let device = self.device(device)?;
        let mut context = ptr::null_mut();
        // SAFETY: one handle is written to the place given for it.
        Code::check(unsafe { (self.functions.primary_context_retain)(&raw mut context, device) })?;
        Ok(Context(number(context)))
    }

    /// Runs `f` with this context current on this thread. Where it is current already, nothing is
    /// changed before or after.
    ///
    /// # Errors
    /// The driver's own, if the context cannot be made current: `f` has not run then.
    pub fn with_context<T>(&self, context: Context, f: impl FnOnce() -> T) -> Result<T, Code> {
        if self.current_context() == Some(context) {
            return Ok(f());
        }
        // SAFETY: the context comes from the driver and has not been destroyed, by this module's
        // contract.
        Code::check(unsafe { (self.functions.context_push)(opaque(context.0)) })?;
        let _pushed = Pushed(self);
        Ok(f())
    }

    /// Waits for all the work of the current context. For ends and tests: it stops everything.
    ///
    /// # Errors
    /// The driver's own, of the work too.
    pub fn context_synchronize(&self) -> Result<(), Code> {
        // SAFETY: takes nothing.
        Code::check(unsafe { (self.functions.context_synchronize)() })
    }
}

impl Drop for Pushed<'_> {
    fn drop(&mut self) {
        let mut popped = ptr::null_mut();
        // SAFETY: one handle is written to the place given for it. It is the one that was pushed:
        // what ran in between leaves the stack of contexts as it found it, as every library does.
        // A failure means that there is no context any more, and is told by the next call.
        let _ = unsafe { (self.0.functions.context_pop)(&raw mut popped) };
    }
}
