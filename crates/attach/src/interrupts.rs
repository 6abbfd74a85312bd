//! Signals to end, as the caller counts them.

/// The wish of a person to end, while a process is asked.
pub trait Interrupts {
    /// Returns true after the first signal. Then nothing more is begun.
    fn wants_end(&self) -> bool;

    /// Returns true after the second signal. Then a call that is under way in the process is not waited for.
    fn is_second_signal(&self) -> bool;
}
