//! Initialization, which is counted: the library serves until the last shutdown.

use std::sync::{
    Mutex, OnceLock, PoisonError,
    atomic::{AtomicUsize, Ordering::SeqCst},
};

use whyoom_lab_abi::{Status, exports};
use whyoom_lab_core::machine::Machine;

use crate::status::{Code, Failure, Result};

/// How often the library was initialized and not yet shut down.
static USERS: AtomicUsize = AtomicUsize::new(0);

/// The machine, which stays mapped after the last shutdown: programs that initialize for each
/// reading would otherwise map it anew each time.
static MACHINE: OnceLock<Machine> = OnceLock::new();

/// The lab's machine, while the library is initialized.
pub(crate) fn machine() -> Result<Machine> {
    if USERS.load(SeqCst) == 0 {
        return Err(Failure::Uninitialized);
    }
    MACHINE.get().copied().ok_or(Failure::Uninitialized)
}

/// What a function answers that the lab has nothing to say to.
pub(crate) fn refusal() -> Code {
    Code::of(machine().err().unwrap_or(Failure::NotSupported))
}

/// Outside a lab there is no driver to be found.
fn initialize() -> Result {
    static OPENING: Mutex<()> = Mutex::new(());
    let _guard = OPENING.lock().unwrap_or_else(PoisonError::into_inner);
    if MACHINE.get().is_none() {
        let machine = Machine::from_environment().map_err(|_| Failure::DriverNotLoaded)?;
        // The guard makes this the only writer.
        let _ = MACHINE.set(machine);
    }
    USERS.fetch_add(1, SeqCst);
    Ok(())
}

exports! { Code;
    fn nvmlInit() { initialize() }

    fn nvmlInit_v2() { initialize() }

    // The flags say what to do about devices that are absent or not attached; no lab has those.
    fn nvmlInitWithFlags(_flags: u32) { initialize() }

    fn nvmlShutdown() {
        let one_less = |users: usize| users.checked_sub(1);
        let before = USERS.fetch_update(SeqCst, SeqCst, one_less);
        before.map(|_| ()).map_err(|_| Failure::Uninitialized)
    }
}
