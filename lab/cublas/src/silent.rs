//! Functions that look at their handle and nothing else.

/// Declares functions that do nothing when they are given a handle.
///
/// Each declares only the first of its parameters. In the C calling conventions of x86-64 and
/// aarch64 on Linux the caller places the arguments and clears them away, so a function may
/// leave the rest unread, however many there are; the first is in the first register in both.
macro_rules! silent {
    ($($name:ident)*) => {
        whyoom_lab_abi::exports! { $crate::status::Status;
            $(fn $name(handle: $crate::handle::HandlePointer) {
                handle.get().map(drop)
            })*
        }
    };
}
pub(crate) use silent;
