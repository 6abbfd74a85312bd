//! What a call wrote for its caller.

/// The value; the default one where the caller gave no place for it.
///
/// # Safety
/// The pointer is null, or points to a value that the call has written.
pub(super) unsafe fn written<T: Copy + Default>(place: *const T) -> T {
    if place.is_null() {
        return T::default();
    }
    // SAFETY: the caller says so; C does not promise alignment.
    unsafe { place.read_unaligned() }
}
