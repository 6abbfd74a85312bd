//! The native frames of the calling thread.

use std::cell::Cell;
use std::ptr;
use std::sync::Arc;

use framehop::{
    CacheNative, FrameAddress, MustNotAllocateDuringUnwind, UnwindRegsNative, Unwinder,
};

use crate::frames::{Frames, Raw};
use crate::loaded::LoadedModules;
use crate::memory::{StackBounds, guarded_read};
use crate::modules::{ModuleSet, Renewal};

/// framehop's rule cache has 509 slots and one entry in each, so that two frames of one stack can
/// push each other out every time. Several caches side by side make a cache of so many entries a
/// slot, of which this crate keeps the book.
const WAYS: usize = 4;
/// Slots of framehop's cache; an address belongs into the one that its remainder names.
const SLOTS: usize = 509;
/// Frames looked at in all, shown or not.
const STEPS: usize = 256;

/// What a thread keeps between captures. Made once per thread, on the heap.
pub(crate) struct ThreadState {
    set: Arc<ModuleSet>,
    bounds: StackBounds,
    /// Whose rule each slot of each cache holds. An address that is not here is new to this thread.
    book: Box<[[u64; WAYS]; SLOTS]>,
    evict: usize,
    caches: [CacheNative<MustNotAllocateDuringUnwind>; WAYS],
}

thread_local! {
    /// Null while a capture runs, so that a capture inside a capture sees that and gives up. A pointer
    /// and no box: to make a thread's value with a destructor takes the loader's lock and memory of
    /// the program's, and both may be in the hands of a thread that waits for this one.
    static STATE: Cell<*mut ThreadState> = const { Cell::new(ptr::null_mut()) };
    static STARTED: Cell<bool> = const { Cell::new(false) };
}

/// Gives back what captures keep for the calling thread, which is ending: it captures no more.
pub fn end_of_thread() {
    STARTED.set(true);
    let state = STATE.replace(ptr::null_mut());
    if !state.is_null() {
        // SAFETY: made from a box by `with_state`, and taken out of its place just now.
        drop(unsafe { Box::from_raw(state) });
    }
}

/// Where the walk ended.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum End {
    /// At the outermost frame.
    Outermost,
    /// At a frame of the Python interpreter.
    Python,
    /// Somewhere in between: the unwind tables or the room ran out.
    Lost,
}

impl ThreadState {
    fn new(sp: u64) -> Box<Self> {
        Box::new(Self {
            set: Arc::default(),
            bounds: StackBounds::of_this_thread(sp),
            book: Box::new([[0; WAYS]; SLOTS]),
            evict: 0,
            caches: std::array::from_fn(|_| CacheNative::new_in()),
        })
    }

    /// Makes sure that the modules are those that are loaded now, so that no table of one that went
    /// is read; whether they are.
    fn keep_up(&mut self, loaded: &LoadedModules) -> bool {
        match loaded.newer_than(&self.set) {
            Renewal::Same => true,
            Renewal::New(set) => {
                self.set = set;
                self.book.fill([0; WAYS]);
                true
            }
            Renewal::Busy => false,
        }
    }

    /// The cache for an address, and whether the address lies in a module.
    #[inline]
    fn cache_for(&mut self, address: u64) -> (usize, bool) {
        let slot = (address % SLOTS as u64) as usize;
        match self.book[slot].iter().position(|&known| known == address) {
            Some(way) => (way, true),
            None => self.meet(address, slot),
        }
    }

    /// An address that is new to this thread: its rule will be learned.
    #[cold]
    fn meet(&mut self, address: u64, slot: usize) -> (usize, bool) {
        self.evict = self.evict.wrapping_add(1);
        let free = self.book[slot].iter().position(|&known| known == 0);
        let way = free.unwrap_or(self.evict % WAYS);
        let known = self.set.find(address).is_some();
        self.book[slot][way] = if known { address } else { 0 };
        (way, known)
    }

    fn step(
        &mut self,
        way: usize,
        address: FrameAddress,
        regs: &mut UnwindRegsNative,
    ) -> Result<Option<FrameAddress>, framehop::Error> {
        let (sp, bounds) = (regs.sp(), self.bounds);
        let mut read = |at: u64| match bounds.contains(sp) {
            true => bounds.read(sp, at),
            // A signal's or a fiber's stack: slower, and never a fault.
            false => guarded_read(at).ok_or(()),
        };
        let cache = &mut self.caches[way];
        let next = self.set.unwinder.unwind_frame(address, regs, cache, &mut read)?;
        Ok(next.and_then(FrameAddress::from_return_address))
    }
}

/// Runs `body` with the calling thread's state; not inside another capture, not when the thread is
/// ending, and not when the modules cannot be had.
pub(crate) fn with_state(
    loaded: &LoadedModules,
    sp: u64,
    body: impl FnOnce(&mut ThreadState),
) -> Option<()> {
    let kept = STATE.replace(ptr::null_mut());
    let mut state = if !kept.is_null() {
        // SAFETY: made from a box below, and taken out of its place just now.
        unsafe { Box::from_raw(kept) }
    } else if STARTED.replace(true) {
        return None;
    } else {
        ThreadState::new(sp)
    };
    if state.keep_up(loaded) {
        body(&mut state);
    }
    STATE.set(Box::into_raw(state));
    Some(())
}

/// Pushes the native frames, innermost first, up to the Python interpreter if so wished.
pub(crate) fn walk(
    loaded: &LoadedModules,
    state: &mut ThreadState,
    ip: u64,
    mut regs: UnwindRegsNative,
    out: &mut Frames<'_>,
    stop_at_python: bool,
) -> End {
    let python = if stop_at_python { loaded.python_range() } else { 0..0 };
    let mut address = FrameAddress::from_instruction_pointer(ip);
    let (mut own, mut strangers) = (true, 0);
    for _ in 0..STEPS {
        let lookup = address.address_for_lookup();
        if python.contains(&lookup) {
            return End::Python;
        }
        // One frame of generated code can be passed by its frame pointer; behind two, what is
        // found is no longer to be trusted.
        let (way, known) = state.cache_for(lookup);
        strangers = if known { 0 } else { strangers + 1 };
        if strangers == 2 {
            out.pop();
            return End::Lost;
        }
        own = own && loaded.is_own(lookup);
        if !own && !out.push(Raw::Native(lookup)) {
            return End::Lost;
        }
        match state.step(way, address, &mut regs) {
            Ok(Some(next)) => address = next,
            Ok(None) if strangers == 0 => return End::Outermost,
            _ => return End::Lost,
        }
    }
    End::Lost
}
