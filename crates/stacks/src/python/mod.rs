//! The Python frames of the calling thread, CPython 3.9 to 3.14.
//!
//! Most allocations of a deep-learning program happen while the thread has *released* the GIL, and
//! taking it inside an allocator's callback can deadlock: another thread may hold the GIL and wait
//! for the allocator. So frames are read without it. That is safe for the thread's own frames: its
//! thread state and the chain of frames are written by the thread itself alone, each frame keeps
//! its code object alive, and what is read of a code object never changes. What it needs is the
//! exact layout, known by version and then not believed but checked on a living stack: first by
//! reads that cannot fault, of which every code object must be one, and, the first time that the
//! thread does hold the GIL, against what the interpreter's own functions answer. Where that check
//! fails, those functions are used, and only while the GIL is held.

mod check;
mod layout;
mod names;
mod symbols;

use std::sync::atomic::{AtomicU8, Ordering};

use layout::Layout;
pub use names::PythonFrame;
pub(crate) use symbols::Symbols;

use crate::fingerprint::Fingerprint;
use crate::frames::{Frames, MAX_FRAMES, Raw};

/// How far the layout is believed.
const UNCHECKED: u8 = 0;
const PLAUSIBLE: u8 = 1;
const CONFIRMED: u8 = 2;
const REFUTED: u8 = 3;

/// The interpreter in this process.
pub(crate) struct Python {
    symbols: Symbols,
    layout: Option<Layout>,
    members: names::Members,
    trust: AtomicU8,
    contradictions: AtomicU8,
}

impl Python {
    pub(crate) fn new(symbols: Symbols) -> Self {
        Self {
            layout: Layout::find(&symbols),
            members: names::Members::find(&symbols),
            symbols,
            trust: AtomicU8::new(UNCHECKED),
            contradictions: AtomicU8::new(0),
        }
    }

    /// Appends the frames of the calling thread, innermost first.
    pub(crate) fn push_frames(&self, out: &mut Frames<'_>) {
        // While the interpreter ends, thread states go; and frames without names are of no use.
        if !self.symbols.is_initialized() || !self.members.are_known() {
            return;
        }
        let state = self.symbols.this_thread_state();
        if state == 0 {
            return;
        }
        match (&self.layout, self.trust.load(Ordering::Relaxed)) {
            (Some(layout), CONFIRMED) => push_direct(layout, state, out),
            (Some(layout), PLAUSIBLE) if !self.symbols.holds_gil(state) => {
                push_direct(layout, state, out);
            }
            (Some(layout), UNCHECKED | PLAUSIBLE) => self.check(layout, state, out),
            _ if self.symbols.holds_gil(state) => check::through_interface(&self.symbols, out),
            _ => {}
        }
    }

    /// A fingerprint with the frames of the calling thread, as many as there is room for; none where
    /// they cannot be read directly, or there are none.
    #[inline]
    pub(crate) fn fingerprint(&self, native: Fingerprint, room: usize) -> Option<Fingerprint> {
        let layout = self.layout.as_ref()?;
        if !self.symbols.is_initialized() || !self.members.are_known() {
            return None;
        }
        let state = self.symbols.this_thread_state();
        let is_believed = match self.trust.load(Ordering::Relaxed) {
            CONFIRMED => true,
            PLAUSIBLE => !self.symbols.holds_gil(state),
            _ => false,
        };
        if state == 0 || !is_believed {
            return None;
        }
        let (mut print, mut count) = (native, 0);
        direct(layout, state, |code, position| {
            let fits = count < room;
            if fits {
                print = print.python(code, position);
                count += 1;
            }
            fits
        });
        (count > 0).then_some(print)
    }

    /// Appends the frames by a road that is safe before the layout is believed, and moves the
    /// belief.
    #[cold]
    fn check(&self, layout: &Layout, state: usize, out: &mut Frames<'_>) {
        let mut room = [Raw::Native(0); MAX_FRAMES];
        let mut guarded = Frames { room: &mut room, count: 0 };
        let sound = check::guarded(layout, self.symbols.code_type(), state, &mut guarded);
        let guarded = &guarded.room[..guarded.count];
        if !self.symbols.holds_gil(state) {
            if sound && !guarded.is_empty() {
                self.trust.store(PLAUSIBLE, Ordering::Relaxed);
                guarded.iter().all(|&frame| out.push(frame));
            }
            return;
        }
        let start = out.count;
        check::through_interface(&self.symbols, out);
        let answer = &out.room[start..out.count];
        if answer.is_empty() {
            return;
        }
        if sound && check::agree(&self.symbols, guarded, answer) {
            self.trust.store(CONFIRMED, Ordering::Relaxed);
        } else if self.contradictions.fetch_add(1, Ordering::Relaxed) >= 3 {
            // A frame that is just being set up may be in one answer only; four times is no chance.
            self.trust.store(REFUTED, Ordering::Relaxed);
        }
    }

    pub(crate) fn name(&self, code: usize, position: i32) -> Option<PythonFrame> {
        self.members.name(&self.symbols, code, position)
    }
}

fn push_direct(layout: &Layout, state: usize, out: &mut Frames<'_>) {
    direct(layout, state, |code, position| out.push(Raw::Python { code, position }));
}

/// Walks the chain with plain reads.
#[inline]
fn direct(layout: &Layout, state: usize, mut visit: impl FnMut(usize, i32) -> bool) {
    // SAFETY: the layout was checked on a living stack of this interpreter, and every pointer of
    // the calling thread's chain of frames leads to a frame that is alive or is null.
    let read = |address: usize| Some(unsafe { (address as *const usize).read() });
    layout.walk(state, read, |code, position, _| visit(code, position));
}
