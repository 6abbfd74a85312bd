//! What stands behind the pointers that callers hold: a value of ours that several threads may use.

use std::sync::{Mutex, MutexGuard, PoisonError};

use whyoom_lab_abi::Out;

use crate::status::Failure;

/// A descriptor or handle as callers pass it.
#[repr(transparent)]
pub(crate) struct Opaque<T>(*mut Mutex<T>);

impl<T> Clone for Opaque<T> {
    fn clone(&self) -> Self {
        *self
    }
}
impl<T> Copy for Opaque<T> {}

impl<T> Opaque<T> {
    /// Makes one where the caller has a place for it.
    pub(crate) fn create(place: Out<Self>, value: T) -> Result<(), Failure> {
        if place.is_null() {
            return Err(Failure::NullPointer);
        }
        Ok(place.put(Self(Box::into_raw(Box::new(Mutex::new(value)))))?)
    }

    /// The value; null is an error.
    pub(crate) fn get<'call>(self) -> Result<MutexGuard<'call, T>, Failure> {
        // SAFETY: null, or by the contract made by `create` and not destroyed before the call
        // returns; it is only ever borrowed shared.
        let value = unsafe { self.0.as_ref() }.ok_or(Failure::NullPointer)?;
        Ok(value.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Whether there is one.
    pub(crate) fn check(self) -> Result<(), Failure> {
        if self.is_null() { Err(Failure::NullPointer) } else { Ok(()) }
    }

    /// Whether there is none.
    pub(crate) fn is_null(self) -> bool {
        self.0.is_null()
    }

    /// Ends it; null is nothing to end.
    pub(crate) fn destroy(self) {
        if !self.0.is_null() {
            // SAFETY: not null, so by the contract from `create` and not destroyed before.
            drop(unsafe { Box::from_raw(self.0) });
        }
    }
}

/// Declares pairs of functions that make and end descriptors of one type.
macro_rules! lifetimes {
    ($($type:ty: $create:ident $destroy:ident;)*) => {
        whyoom_lab_abi::exports! { $crate::status::Status;
            $(
                fn $create(place: whyoom_lab_abi::Out<$crate::object::Opaque<$type>>) {
                    $crate::object::Opaque::create(place, Default::default())
                }
                fn $destroy(descriptor: $crate::object::Opaque<$type>) {
                    descriptor.destroy();
                    Ok(())
                }
            )*
        }
    };
}
pub(crate) use lifetimes;

#[cfg(test)]
impl<T> Opaque<T> {
    /// A place for one.
    pub(crate) fn null() -> Self {
        Self(std::ptr::null_mut())
    }
}
