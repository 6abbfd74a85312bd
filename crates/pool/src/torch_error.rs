//! PyTorch's own exception for a request that could not be served.
//!
//! A pluggable allocator that answers null makes PyTorch touch address 0, which surfaces as another
//! error or none. PyTorch's native allocator throws `c10::OutOfMemoryError`, for which programs wait
//! (`except torch.OutOfMemoryError`); so do we, with the functions of the libraries that PyTorch itself has
//! loaded. Nothing of them is linked: where one is missing, the caller answers null after all.

use std::{
    ffi::{CStr, c_char, c_void},
    mem::MaybeUninit,
};

/// Libraries that may hold what belongs to the exception's class, which is defined where it is used.
const LIBRARIES: [&CStr; 3] = [c"libc10.so", c"libc10_cuda.so", c"libtorch_cuda.so"];
const STANDARD_LIBRARY: &CStr = c"libstdc++.so.6";
/// `c10::Error` has some 170 bytes; what follows it in the exception's memory is never looked at.
const ROOM_OF_EXCEPTION: usize = 1024;
/// Before the first function of a vtable: the offset to the whole object, and the type.
const VTABLE_HEADER: usize = 2 * size_of::<usize>();

/// How strings were compiled: PyTorch's wheels before 2.7 have the ones from before 2011.
struct Abi {
    /// `std::string::string(const char*, size_t, const std::allocator<char>&)`.
    make_string: &'static CStr,
    /// `std::string::~string()`.
    drop_string: &'static CStr,
    /// `c10::Error::Error(c10::SourceLocation, std::string)`.
    make_error: &'static CStr,
}

const ABIS: [Abi; 2] = [
    Abi {
        make_string: c"_ZNSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEEC1EPKcmRKS3_",
        drop_string: c"_ZNSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEED1Ev",
        make_error: c"_ZN3c105ErrorC1ENS_14SourceLocationENSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEEE",
    },
    Abi {
        make_string: c"_ZNSsC1EPKcmRKSaIcE",
        drop_string: c"_ZNSsD1Ev",
        make_error: c"_ZN3c105ErrorC1ENS_14SourceLocationESs",
    },
];

/// `c10::SourceLocation`: larger than two registers, so that it is passed on the stack, as C does.
#[derive(Clone, Copy)]
#[repr(C)]
struct SourceLocation {
    function: *const c_char,
    file: *const c_char,
    line: u32,
}

/// Room for a `std::string` of either kind: 32 bytes, or 8.
type StringRoom = MaybeUninit<[usize; 4]>;

type MakeString =
    unsafe extern "C-unwind" fn(*mut StringRoom, *const c_char, usize, *const u8) -> *mut c_void;
type DropString = unsafe extern "C" fn(*mut StringRoom);
/// What is passed by value but is not trivial to copy is passed by its address.
type MakeError = unsafe extern "C-unwind" fn(*mut c_void, SourceLocation, *mut StringRoom);
type AllocateException = unsafe extern "C" fn(usize) -> *mut c_void;
type Throw = unsafe extern "C-unwind" fn(*mut c_void, *const c_void, *const c_void) -> !;

/// What is needed to throw. Plain addresses: nothing is to be dropped when its frame is unwound.
#[derive(Clone, Copy)]
struct Thrower {
    make_string: MakeString,
    drop_string: DropString,
    make_error: MakeError,
    allocate_exception: AllocateException,
    throw: Throw,
    /// Of `c10::OutOfMemoryError`.
    vtable: *const c_void,
    type_info: *const c_void,
}

/// Throws `c10::OutOfMemoryError` with this text through the caller's frames; returns where it cannot. The
/// text is copied, and dropped before anything is thrown.
///
/// # Safety
/// The caller was called by PyTorch, through functions whose ABI may unwind (`extern "C-unwind"`), and no
/// value with a destructor lives in the frames in between.
pub(crate) unsafe fn throw_out_of_memory(text: impl AsRef<str>) {
    let Some(thrower) = Thrower::find() else { return };
    // SAFETY: the functions are those of the libraries that PyTorch runs on, found by the names of their
    // signatures.
    let exception = unsafe { thrower.make(text.as_ref()) };
    drop(text);
    // SAFETY: it was just made and is thrown once; what the caller promises is passed on, and nothing is
    // left to drop here.
    unsafe { thrower.throw(exception) }
}

impl Thrower {
    /// Finds everything in what is loaded already.
    fn find() -> Option<Self> {
        let standard = Library::loaded(STANDARD_LIBRARY)?;
        let [c10, ..] = LIBRARIES;
        let c10 = Library::loaded(c10)?;
        let abi = ABIS.iter().find(|abi| c10.symbol(abi.make_error).is_some())?;
        let of_class = |name: &CStr| {
            LIBRARIES.iter().find_map(|library| Library::loaded(library)?.symbol(name))
        };
        let vtable = of_class(c"_ZTVN3c1016OutOfMemoryErrorE")?;
        let type_info = of_class(c"_ZTIN3c1016OutOfMemoryErrorE")?;
        // SAFETY: a mangled name is the signature of its function, except for the answers and for how
        // classes are passed; these are as the C++ ABI of the platform has them.
        unsafe {
            Some(Self {
                make_string: std::mem::transmute::<*mut c_void, MakeString>(
                    standard.symbol(abi.make_string)?,
                ),
                drop_string: std::mem::transmute::<*mut c_void, DropString>(
                    standard.symbol(abi.drop_string)?,
                ),
                make_error: std::mem::transmute::<*mut c_void, MakeError>(
                    c10.symbol(abi.make_error)?,
                ),
                allocate_exception: std::mem::transmute::<*mut c_void, AllocateException>(
                    standard.symbol(c"__cxa_allocate_exception")?,
                ),
                throw: std::mem::transmute::<*mut c_void, Throw>(standard.symbol(c"__cxa_throw")?),
                vtable,
                type_info,
            })
        }
    }

    /// Makes the exception, in memory of the C++ runtime.
    ///
    /// # Safety
    /// The functions are those of the loaded libraries.
    unsafe fn make(self, text: &str) -> *mut c_void {
        let place = SourceLocation {
            function: c"whyoom_torch_alloc".as_ptr(),
            file: c"whyoom".as_ptr(),
            line: 0,
        };
        let mut string = StringRoom::uninit();
        // An allocator of characters has no state: its address is never looked at.
        let allocator = 0_u8;
        // SAFETY: the exception's memory is larger than the object. The object is made as a `c10::Error`,
        // and becomes an `OutOfMemoryError` with its vtable: the class adds no member, and both are what its
        // constructor does. The string is valid until it is dropped, once.
        unsafe {
            let text = text.as_bytes();
            (self.make_string)(
                &raw mut string,
                text.as_ptr().cast(),
                text.len(),
                &raw const allocator,
            );
            let exception = (self.allocate_exception)(ROOM_OF_EXCEPTION);
            (self.make_error)(exception, place, &raw mut string);
            (self.drop_string)(&raw mut string);
            exception.cast::<*const c_void>().write(self.functions().cast());
            exception
        }
    }

    /// Throws what was made. The C++ runtime owns it from here on.
    ///
    /// # Safety
    /// As of [`throw_out_of_memory`]; the exception is of [`Self::make`] and thrown once.
    unsafe fn throw(self, exception: *mut c_void) -> ! {
        // SAFETY: the first function of a class with a virtual destructor is the destructor of a whole
        // object, which does not free its memory.
        unsafe { (self.throw)(exception, self.type_info, *self.functions()) }
    }

    /// The functions in the vtable.
    fn functions(self) -> *const *const c_void {
        self.vtable.wrapping_byte_add(VTABLE_HEADER).cast()
    }
}

/// A library that was loaded by somebody else, and stays so.
#[derive(Clone, Copy)]
struct Library(*mut c_void);

impl Library {
    /// The library of this name, if it is loaded. Its count of users is raised for good: exceptions of
    /// its class may live as long as the process.
    fn loaded(name: &CStr) -> Option<Self> {
        // SAFETY: the name ends with a zero; a library that is loaded already runs no code by this.
        let handle = unsafe { libc::dlopen(name.as_ptr(), libc::RTLD_NOLOAD | libc::RTLD_LAZY) };
        (!handle.is_null()).then_some(Self(handle))
    }

    fn symbol(self, name: &CStr) -> Option<*mut c_void> {
        // SAFETY: the handle is an open library's and the name ends with a zero.
        let address = unsafe { libc::dlsym(self.0, name.as_ptr()) };
        (!address.is_null()).then_some(address)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn without_pytorch_nothing_is_thrown() {
        // SAFETY: there is no PyTorch in this process, so that it returns.
        unsafe { throw_out_of_memory("no memory") };
        assert!(Library::loaded(c"libc10.so").is_none());
    }
}
