//! The C boundary: pointers that C callers pass, and functions that they call.
//!
//! Everything unsafe about C arguments is here, once. The invariant that all of it relies on is the
//! contract of every C API: a pointer argument is null, or points to what its type says, for as
//! long as the call lasts.

pub mod driver;

use std::{
    ffi::{CStr, c_char, c_void},
    panic::{AssertUnwindSafe, catch_unwind},
};

/// A pointer was null where the API needs one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NullPointer;

/// Where the caller wants a value written.
#[derive(Clone, Copy, Debug)]
#[repr(transparent)]
pub struct Out<T>(pub *mut T);

impl<T> Out<T> {
    /// Writes the value; the caller must have given a place for it.
    pub fn put(self, value: T) -> Result<(), NullPointer> {
        if self.0.is_null() {
            return Err(NullPointer);
        }
        // SAFETY: not null, so by the contract it points to room for a `T`, aligned or not.
        unsafe { self.0.write_unaligned(value) };
        Ok(())
    }

    /// Writes the value where the caller gave a place for it.
    pub fn put_if_wanted(self, value: T) {
        // A null pointer here says that the caller does not want to know.
        let _ = self.put(value);
    }

    /// Writes the values one behind the other; the caller has room for as many.
    pub fn put_all(self, values: impl IntoIterator<Item = T>) -> Result<(), NullPointer> {
        for (index, value) in values.into_iter().enumerate() {
            // SAFETY: the caller has room for as many values as there are.
            Out(unsafe { self.0.add(index) }).put(value)?;
        }
        Ok(())
    }

    /// Whether the caller gave no place.
    #[must_use]
    pub fn is_null(self) -> bool {
        self.0.is_null()
    }
}

impl Out<c_char> {
    /// Writes text with its closing zero, cut to `room` bytes.
    pub fn put_text(self, text: &str, room: usize) -> Result<(), NullPointer> {
        let kept = text.len().min(room.saturating_sub(1));
        let bytes = text.as_bytes()[..kept].iter().copied().chain([0]);
        self.put_all(bytes.take(room).map(|byte| byte as c_char))
    }
}

/// A value that the caller lets us read.
#[derive(Clone, Copy, Debug)]
#[repr(transparent)]
pub struct In<T>(pub *const T);

impl<T: Copy> In<T> {
    /// The value.
    pub fn get(self) -> Result<T, NullPointer> {
        if self.0.is_null() {
            return Err(NullPointer);
        }
        // SAFETY: not null, so by the contract it points to a `T`, aligned or not.
        Ok(unsafe { self.0.read_unaligned() })
    }

    /// The value, where the caller gave one.
    #[must_use]
    pub fn if_given(self) -> Option<T> {
        self.get().ok()
    }

    /// `count` values one behind the other.
    pub fn list(self, count: usize) -> Result<Vec<T>, NullPointer> {
        // SAFETY: the caller says that so many values stand there.
        (0..count).map(|index| In(unsafe { self.0.add(index) }).get()).collect()
    }
}

/// Text that ends with a zero byte.
#[derive(Clone, Copy, Debug)]
#[repr(transparent)]
pub struct Text(pub *const c_char);

impl Text {
    /// The text; what is not UTF-8 in it is replaced.
    pub fn get(self) -> Result<String, NullPointer> {
        if self.0.is_null() {
            return Err(NullPointer);
        }
        // SAFETY: not null, so by the contract it points to bytes that end with a zero.
        let text = unsafe { CStr::from_ptr(self.0) };
        Ok(text.to_string_lossy().into_owned())
    }
}

/// An exported function, for look-ups by name.
#[derive(Clone, Copy, Debug)]
pub struct Export {
    /// The symbol.
    pub name: &'static str,
    /// The code.
    pub address: *const c_void,
}

/// What the functions of a library answer with.
pub trait Status: Sized {
    /// What a function body ends with.
    type Error;
    /// All went well.
    const SUCCESS: Self;
    /// Our own code failed; the message has been printed.
    const PANICKED: Self;
    /// The number that C callers see.
    fn of(error: Self::Error) -> Self;
}

/// Runs a function body: its result as the library's status, and no panic into C.
pub fn answer<S: Status>(body: impl FnOnce() -> Result<(), S::Error>) -> S {
    match catch_unwind(AssertUnwindSafe(body)) {
        Ok(Ok(())) => S::SUCCESS,
        Ok(Err(error)) => S::of(error),
        Err(_) => S::PANICKED,
    }
}

/// Declares exported C functions that answer with one status type, and `EXPORTS`, their table.
///
/// ```ignore
/// exports! { Status;
///     fn cuDeviceGetCount(count: Out<i32>) { Ok(count.put(devices()?)?) }
/// }
/// ```
#[macro_export]
macro_rules! exports {
    ($status:ty; $($(#[$meta:meta])* fn $name:ident($($argument:ident: $type:ty),* $(,)?) $body:block)*) => {
        $(
            $(#[$meta])*
            #[unsafe(no_mangle)]
            #[allow(missing_docs, non_snake_case)]
            pub extern "C" fn $name($($argument: $type),*) -> $status {
                $crate::answer::<$status>(move || $body)
            }
        )*
        #[allow(dead_code)]
        pub(crate) const EXPORTS: &[$crate::Export] = &[
            $($crate::Export { name: stringify!($name), address: $name as *const std::ffi::c_void },)*
        ];
    };
}

/// Declares exported functions that exist only to refuse: each answers with `$answer`, whatever it
/// is given. C callers may pass any arguments, which are not looked at.
#[macro_export]
macro_rules! refusals {
    ($status:ty = $answer:expr; $($name:ident)*) => {
        $(
            #[unsafe(no_mangle)]
            #[allow(missing_docs, non_snake_case)]
            pub extern "C" fn $name() -> $status { $answer }
        )*
        #[allow(dead_code)]
        pub(crate) const REFUSALS: &[$crate::Export] = &[
            $($crate::Export { name: stringify!($name), address: $name as *const std::ffi::c_void },)*
        ];
    };
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, PartialEq)]
    #[repr(transparent)]
    pub struct Code(i32);
    impl Status for Code {
        type Error = NullPointer;
        const SUCCESS: Self = Self(0);
        const PANICKED: Self = Self(99);
        fn of(_: NullPointer) -> Self {
            Self(1)
        }
    }

    exports! { Code;
        fn whyoom_test_double(number: In<i32>, doubled: Out<i32>) { doubled.put(number.get()? * 2) }
        fn whyoom_test_break(index: usize) { [Ok(())][index] }
    }

    #[test]
    fn null_pointers_and_panics_become_status_codes() {
        let mut doubled = 0;
        assert_eq!(whyoom_test_double(In(&21), Out(&mut doubled)), Code(0));
        assert_eq!(doubled, 42);
        assert_eq!(whyoom_test_double(In(&21), Out(std::ptr::null_mut())), Code(1));
        assert_eq!(EXPORTS[0].name, "whyoom_test_double");
        assert_eq!(whyoom_test_break(1), Code(99));
    }

    #[test]
    fn text_is_cut_to_its_room() {
        let mut room = [1 as c_char; 4];
        Out(room.as_mut_ptr()).put_text("abcdef", 4).expect("not null");
        assert_eq!(room, [97, 98, 99, 0].map(|byte: u8| byte as c_char));
    }
}
