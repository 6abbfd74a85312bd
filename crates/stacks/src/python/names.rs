//! Function, file and line of a code object.

use std::ffi::{CStr, c_char};
use std::sync::atomic::{AtomicU32, Ordering};

use super::check::LINE;
use super::symbols::Symbols;

/// Offset of `tp_members` in a type.
const MEMBERS: usize = 240;
/// The most frames whose code is kept alive. Programs have thousands; one that makes code as it
/// runs would otherwise lose memory to us for ever.
const MOST_HELD: u32 = 100_000;

/// A Python frame by name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PythonFrame {
    /// The function: qualified (`Model.forward`) since Python 3.11, its bare name before.
    pub function: String,
    /// The source file as the code object names it.
    pub file: String,
    /// The line; 0 where it has none.
    pub line: u32,
}

/// Where a code object keeps its names, as its type says in `tp_members`.
pub(super) struct Members {
    function: Option<usize>,
    file: Option<usize>,
    held: Held,
}

/// `PyMemberDef`.
#[repr(C)]
struct MemberDef {
    name: *const c_char,
    kind: i32,
    offset: isize,
    flags: i32,
    doc: *const c_char,
}

impl Members {
    pub(super) fn find(symbols: &Symbols) -> Self {
        let has_gil = symbols.version().is_some_and(|(_, has_gil)| has_gil);
        // SAFETY: a type object of a build with a GIL has its list of members there.
        let list = unsafe { ((symbols.code_type() + MEMBERS) as *const *const MemberDef).read() };
        let list = if has_gil { list } else { std::ptr::null() };
        let offset = |name| member(list, name);
        Self {
            function: offset(c"co_qualname").or_else(|| offset(c"co_name")),
            file: offset(c"co_filename"),
            held: Held::default(),
        }
    }

    /// They are not in builds without a GIL, whose objects are laid out differently.
    pub(super) fn are_known(&self) -> bool {
        self.function.is_some() && self.file.is_some()
    }

    /// Names a frame of the calling thread's stack, and keeps its code object alive from now on.
    /// None where too many are kept already.
    pub(super) fn name(
        &self,
        symbols: &Symbols,
        code: usize,
        position: i32,
    ) -> Option<PythonFrame> {
        let text = |offset: usize| {
            // SAFETY: the code object is alive, for a frame of this thread runs it, and holds a str
            // there for as long.
            let object = unsafe { ((code + offset) as *const usize).read() };
            symbols.text(object)
        };
        let (function, file) = (self.function?, self.file?);
        if !self.held.hold(code) {
            return None;
        }
        let (function, file) = (text(function), text(file));
        let line =
            if position <= LINE { LINE - position } else { symbols.code_line(code, position) };
        Some(PythonFrame { function, file, line: u32::try_from(line).unwrap_or_default() })
    }
}

fn member(mut list: *const MemberDef, wanted: &CStr) -> Option<usize> {
    if list.is_null() {
        return None;
    }
    loop {
        // SAFETY: the list is a static array that ends with an entry without a name.
        let entry = unsafe { &*list };
        if entry.name.is_null() {
            return None;
        }
        // SAFETY: names are static strings.
        if unsafe { CStr::from_ptr(entry.name) } == wanted {
            return usize::try_from(entry.offset).ok();
        }
        // SAFETY: this entry was not the last.
        list = unsafe { list.add(1) };
    }
}

/// How many frames' code objects are kept alive.
#[derive(Default)]
struct Held(AtomicU32);

impl Held {
    /// Adds a reference that is never given back, so that no other code object comes to this
    /// address; whether that is so.
    ///
    /// The GIL need not be held: a thread that holds it may change the count at the same time with a
    /// plain read and write. Ours is one atomic step, so it can be overwritten but can overwrite
    /// nothing: the worst is that the reference is not kept. Done twice, that takes two such
    /// accidents within nanoseconds.
    fn hold(&self, code: usize) -> bool {
        // SAFETY: a reference count is the first word of an object; its low half counts in every
        // version on little-endian machines, and this object is alive.
        let count = unsafe { AtomicU32::from_ptr(code as *mut u32) };
        // Immortal objects have the top bit set; they need no reference and must not wrap.
        let immortal = || (count.load(Ordering::Relaxed) as i32) < 0;
        if immortal() {
            return true;
        }
        if self.0.load(Ordering::Relaxed) >= MOST_HELD {
            return false;
        }
        self.0.fetch_add(1, Ordering::Relaxed);
        for _ in 0..2 {
            if !immortal() {
                count.fetch_add(1, Ordering::Relaxed);
            }
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hold(held: &Held, count: &AtomicU32) -> bool {
        held.hold(count.as_ptr() as usize)
    }

    #[test]
    fn so_much_code_is_kept_alive_and_no_more() {
        let held = Held(AtomicU32::new(MOST_HELD - 1));
        let (mortal, immortal) = (AtomicU32::new(7), AtomicU32::new(1 << 31));
        assert!(hold(&held, &immortal) && hold(&held, &mortal));
        assert_eq!(
            (mortal.load(Ordering::Relaxed), immortal.load(Ordering::Relaxed)),
            (9, 1 << 31)
        );
        assert!(!hold(&held, &mortal), "too many");
        assert_eq!(mortal.load(Ordering::Relaxed), 9);
        assert!(hold(&held, &immortal), "costs nothing");
    }
}
