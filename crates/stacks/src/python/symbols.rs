//! The interpreter's functions and data, by the names that it exports.

use std::ffi::{CStr, c_char, c_int, c_void};

use crate::elf::Exports;

macro_rules! symbols {
    (required { $($need:ident = $need_name:literal,)* } optional { $($may:ident = $may_name:literal,)* }) => {
        /// Addresses of what the interpreter exports; 0 for what this version lacks.
        #[derive(Clone, Copy)]
        pub(crate) struct Symbols {
            $($need: u64,)*
            $($may: u64,)*
        }

        impl Symbols {
            /// The interpreter's symbols, if this module is the interpreter.
            pub(crate) fn find(exports: &Exports) -> Option<Self> {
                Some(Self {
                    $($need: exports.find($need_name)?,)*
                    $($may: exports.find($may_name).unwrap_or_default(),)*
                })
            }
        }
    };
}

symbols! {
    required {
        get_frame = c"PyEval_GetFrame",
        frame_back = c"PyFrame_GetBack",
        frame_code = c"PyFrame_GetCode",
        frame_line = c"PyFrame_GetLineNumber",
        code_line = c"PyCode_Addr2Line",
        code_type = c"PyCode_Type",
        this_thread_state = c"PyGILState_GetThisThreadState",
        is_initialized = c"Py_IsInitialized",
        get_version = c"Py_GetVersion",
        dec_ref = c"Py_DecRef",
        text_length = c"PyUnicode_GetLength",
        text_char = c"PyUnicode_ReadChar",
    }
    optional {
        frame_position = c"PyFrame_GetLasti",
        current_unchecked = c"_PyThreadState_UncheckedGet",
        current_public = c"PyThreadState_GetUnchecked",
        gc_disable = c"PyGC_Disable",
        gc_enable = c"PyGC_Enable",
        runtime = c"_PyRuntime",
    }
}

/// Calls an exported function by its address and C type. All of them live as long as the process:
/// no program unloads its interpreter.
macro_rules! call {
    ($address:expr, fn($($type:ty),*) $(-> $result:ty)?, $($argument:expr),*) => {{
        let function = $address as *const c_void;
        // SAFETY: the address is that of the interpreter's function of this documented signature.
        unsafe {
            std::mem::transmute::<*const c_void, unsafe extern "C" fn($($type),*) $(-> $result)?>(
                function,
            )($($argument),*)
        }
    }};
}

/// What may be asked without the GIL.
impl Symbols {
    pub(crate) fn is_initialized(&self) -> bool {
        call!(self.is_initialized, fn() -> c_int,) != 0
    }

    /// The thread state that belongs to the calling thread; 0 where it has none.
    pub(crate) fn this_thread_state(&self) -> usize {
        call!(self.this_thread_state, fn() -> usize,)
    }

    /// Whether the calling thread, whose thread state is given, holds the GIL. `PyGILState_Check`
    /// says yes to everybody once there was a sub-interpreter.
    pub(crate) fn holds_gil(&self, state: usize) -> bool {
        let current = match (self.current_public, self.current_unchecked) {
            (0, 0) => return false,
            (0, old) => old,
            (new, _) => new,
        };
        call!(current, fn() -> usize,) == state
    }

    /// The minor version of Python 3, and whether this build has a GIL.
    pub(crate) fn version(&self) -> Option<(u32, bool)> {
        let text = call!(self.get_version, fn() -> *const c_char,);
        // SAFETY: a static string of the interpreter.
        let text = unsafe { CStr::from_ptr(text) }.to_str().ok()?;
        let minor = text.strip_prefix("3.")?.split('.').next()?.parse().ok()?;
        Some((minor, !text.contains("free-thread")))
    }

    pub(crate) fn code_type(&self) -> usize {
        self.code_type as usize
    }

    /// `_PyRuntime`, which starts with the table of offsets since 3.13.
    pub(crate) fn runtime(&self) -> usize {
        self.runtime as usize
    }

    /// The source line of an instruction. Reads immutable tables of a code object that is alive.
    pub(crate) fn code_line(&self, code: usize, position: i32) -> i32 {
        call!(self.code_line, fn(usize, c_int) -> c_int, code, position)
    }

    /// The characters of a str object. Reads an immutable object that is alive.
    pub(crate) fn text(&self, object: usize) -> String {
        let length = call!(self.text_length, fn(usize) -> isize, object).clamp(0, 4096);
        let char_at = |index| call!(self.text_char, fn(usize, isize) -> u32, object, index);
        (0..length).map(|index| char::from_u32(char_at(index)).unwrap_or('\u{fffd}')).collect()
    }
}

/// What may be asked with the GIL only.
impl Symbols {
    /// The innermost frame object, borrowed; 0 where there is none.
    pub(crate) fn current_frame(&self) -> usize {
        call!(self.get_frame, fn() -> usize,)
    }

    /// The frame that called this one, as a reference of our own; 0 where there is none.
    pub(crate) fn frame_back(&self, frame: usize) -> usize {
        call!(self.frame_back, fn(usize) -> usize, frame)
    }

    /// The frame's code. It is alive as long as the frame, so the reference is given back.
    pub(crate) fn frame_code(&self, frame: usize) -> usize {
        let code = call!(self.frame_code, fn(usize) -> usize, frame);
        self.release(code);
        code
    }

    /// The byte offset of the frame's instruction; none before 3.11.
    pub(crate) fn frame_position(&self, frame: usize) -> Option<i32> {
        (self.frame_position != 0).then(|| call!(self.frame_position, fn(usize) -> c_int, frame))
    }

    pub(crate) fn frame_line(&self, frame: usize) -> i32 {
        call!(self.frame_line, fn(usize) -> c_int, frame)
    }

    pub(crate) fn release(&self, object: usize) {
        call!(self.dec_ref, fn(usize), object);
    }

    /// Runs `body` with the garbage collector off: before 3.12, making a frame object can start a
    /// collection, which runs finalizers, which are Python code.
    pub(crate) fn without_collections(&self, body: impl FnOnce()) {
        let was_on = self.gc_disable != 0
            && self.gc_enable != 0
            && call!(self.gc_disable, fn() -> c_int,) != 0;
        body();
        if was_on {
            call!(self.gc_enable, fn() -> c_int,);
        }
    }
}
