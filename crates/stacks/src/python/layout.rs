//! Where each version keeps a thread's frames.
//!
//! 3.9 to 3.13 were seen to be right on their last or first releases; 3.14 was read from its
//! source. Either is checked on the living stack before it is used.

use super::symbols::Symbols;

/// Owners from here on are not Python functions: the interpreter's entry frames.
const FIRST_INTERNAL_OWNER: u8 = 3;
/// Offset of `tp_basicsize` in a type. Since 3.11 a code object's instructions start behind it.
const BASIC_SIZE: usize = 32;
/// Pointers in frames carry tags in their low bits since 3.14; objects are aligned to 16.
const TAG_BITS: usize = 7;
/// A chain longer than any stack that is worth following.
const MOST_FRAMES: usize = 4096;

/// Offsets of one version.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Layout {
    root: Root,
    previous: usize,
    code: usize,
    position: Position,
    owner: Option<usize>,
}

/// From the thread state to the innermost frame.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Root {
    At(usize),
    Through(usize, usize),
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Position {
    /// An index, in units of so many bytes.
    Index { at: usize, unit: i32 },
    /// A pointer into the code object, whose instructions start there.
    Pointer { at: usize, instructions: usize },
}

impl Layout {
    /// The layout of this process's interpreter; none for versions and builds that are not known.
    pub(crate) fn find(symbols: &Symbols) -> Option<Self> {
        let (minor, has_gil) = symbols.version()?;
        // SAFETY: a type object is longer than this and never goes away.
        let instructions = unsafe { ((symbols.code_type() + BASIC_SIZE) as *const usize).read() };
        if !has_gil {
            return None;
        }
        match minor {
            9 => Some(Self::before_3_11(Position::Index { at: 104, unit: 1 })),
            10 => Some(Self::before_3_11(Position::Index { at: 96, unit: 2 })),
            11 => Some(Self::python_3_11(instructions)),
            12 => Some(Self::python_3_12(instructions)),
            13 | 14 => Self::described(symbols.runtime(), instructions),
            _ => None,
        }
    }

    /// Frames are objects: `tstate->frame`, `f_back`, `f_code`, `f_lasti`.
    fn before_3_11(position: Position) -> Self {
        Self { root: Root::At(24), previous: 24, code: 32, position, owner: None }
    }

    /// `tstate->cframe->current_frame`, `_PyInterpreterFrame`.
    fn python_3_11(instructions: usize) -> Self {
        let position = Position::Pointer { at: 56, instructions };
        Self { root: Root::Through(56, 8), previous: 48, code: 32, position, owner: None }
    }

    fn python_3_12(instructions: usize) -> Self {
        let position = Position::Pointer { at: 56, instructions };
        Self { root: Root::Through(56, 0), previous: 8, code: 0, position, owner: Some(70) }
    }

    /// Since 3.13 the runtime starts with a table of offsets, `_Py_DebugOffsets`.
    fn described(runtime: usize, instructions: usize) -> Option<Self> {
        if runtime == 0 {
            return None;
        }
        // SAFETY: the runtime's state is a static of the interpreter, far longer than this.
        let words: [u64; 64] = unsafe { (runtime as *const [u64; 64]).read() };
        Self::from_description(&words, instructions)
    }

    /// The table's parts grew between versions, so two of them are found by how they must begin:
    /// the thread state by `prev`, `next`, `interp` at 0, 8 and 16, with `current_frame` behind;
    /// the frame by `previous` at 8 and `executable` at 0, with `instr_ptr`, `localsplus` and
    /// `owner` behind.
    fn from_description(words: &[u64; 64], instructions: usize) -> Option<Self> {
        if words[0] != u64::from_ne_bytes(*b"xdebugpy") {
            return None;
        }
        let thread = words.windows(3).position(|part| part == [0, 8, 16])?;
        let rest = &words[thread + 3..];
        let frame = rest.windows(2).position(|part| part == [8, 0])? + 2;
        let small = |word: &u64| usize::try_from(*word).ok().filter(|&offset| offset < 4096);
        let current = small(&words[thread + 3])?;
        let at = small(rest.get(frame)?)?;
        let owner = small(rest.get(frame + 2)?)?;
        let position = Position::Pointer { at, instructions };
        Some(Self { root: Root::At(current), previous: 8, code: 0, position, owner: Some(owner) })
    }

    /// Follows a thread's frames, innermost first, and gives the code and the byte offset of each
    /// Python function's and whether more is wanted. False where something could not be read.
    ///
    /// `read` reads a word; `visit` gets the code, the position, and the frame's address.
    #[inline]
    pub(crate) fn walk(
        &self,
        state: usize,
        read: impl Fn(usize) -> Option<usize>,
        mut visit: impl FnMut(usize, i32, usize) -> bool,
    ) -> bool {
        self.follow(state, read, &mut visit).is_some()
    }

    #[inline]
    fn follow(
        &self,
        state: usize,
        read: impl Fn(usize) -> Option<usize>,
        visit: &mut impl FnMut(usize, i32, usize) -> bool,
    ) -> Option<()> {
        let mut frame = match self.root {
            Root::At(offset) => read(state + offset)?,
            Root::Through(first, second) => match read(state + first)? {
                0 => 0,
                middle => read(middle + second)?,
            },
        };
        for _ in 0..MOST_FRAMES {
            if frame == 0 {
                return Some(());
            }
            if !self.is_internal(frame, &read)? {
                let code = read(frame + self.code)? & !TAG_BITS;
                if !visit(code, self.position(frame, code, &read)?, frame) {
                    return Some(());
                }
            }
            frame = read(frame + self.previous)?;
        }
        None
    }

    /// The owner is one byte; the word that holds it is read at an aligned address.
    #[inline]
    fn is_internal(&self, frame: usize, read: &impl Fn(usize) -> Option<usize>) -> Option<bool> {
        let Some(owner) = self.owner else { return Some(false) };
        let word = read((frame + owner) & !7)?;
        Some((word >> (((frame + owner) & 7) * 8)) as u8 >= FIRST_INTERNAL_OWNER)
    }

    #[inline]
    fn position(
        &self,
        frame: usize,
        code: usize,
        read: &impl Fn(usize) -> Option<usize>,
    ) -> Option<i32> {
        match self.position {
            Position::Index { at, unit } => {
                let index = read(frame + at)? as i32;
                Some(if index < 0 { -1 } else { index.wrapping_mul(unit) })
            }
            Position::Pointer { at, instructions } => {
                let bytes = read(frame + at)?.wrapping_sub(code + instructions) as isize;
                Some(if bytes < 0 { -1 } else { i32::try_from(bytes).unwrap_or(i32::MAX) })
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The table as 3.13 (13 words for an interpreter) and 3.14 (more) write it.
    fn description(interpreter_words: usize, thread_words: &[u64]) -> [u64; 64] {
        let mut words = vec![u64::from_ne_bytes(*b"xdebugpy"), 0x030d_00f0, 0, 600_000, 640, 648];
        words.extend((0..interpreter_words as u64).map(|n| 7000 + 8 * n));
        words.push(336);
        words.extend([0, 8, 16]);
        words.extend(thread_words);
        words.extend([88, 8, 0, 56, 72, 70]);
        words.resize(64, 0);
        words.try_into().expect("64 words")
    }

    #[test]
    fn offsets_are_found_in_both_descriptions() {
        for (interpreter, thread) in
            [(13, &[72, 152, 160, 200, 32][..]), (16, &[64, 152, 160, 200, 32, 8, 40][..])]
        {
            let layout = Layout::from_description(&description(interpreter, thread), 200);
            let layout = layout.expect("described");
            assert_eq!(layout.root, Root::At(thread[0] as usize));
            assert_eq!(layout.position, Position::Pointer { at: 56, instructions: 200 });
            assert_eq!(layout.owner, Some(70));
        }
    }

    #[test]
    fn another_table_is_refused() {
        assert_eq!(Layout::from_description(&[0; 64], 200), None);
        let mut words = description(13, &[72]);
        words[21] = 99;
        assert_eq!(Layout::from_description(&words, 200), None);
    }

    #[test]
    fn a_chain_in_a_circle_ends() {
        let words: Vec<usize> = vec![0; 16];
        let base = words.as_ptr() as usize;
        let layout = Layout::before_3_11(Position::Index { at: 96, unit: 2 });
        let read = |address: usize| Some(if address == base + 24 { base } else { 2 });
        assert!(!layout.walk(base, read, |_, position, _| position == 4));
    }
}
