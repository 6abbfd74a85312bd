//! The native frames of the calling thread.

use std::cell::Cell;
use std::ptr;
use std::sync::Arc;

use framehop::{
    CacheNative, FrameAddress, MustNotAllocateDuringUnwind, UnwindRegsNative, Unwinder,
};

use crate::fingerprint::Fingerprint;
use crate::frames::{End, Frames, MAX_FRAMES, Raw};
use crate::known_walks::{Found, KnownWalks};
use crate::loaded::LoadedModules;
use crate::memory::{StackBounds, guarded_read};
use crate::modules::{ModuleSet, Renewal};
use crate::reads::{Reads, Start, StepReads};
use crate::registers::{followed_alone, for_framehop, registers, without_frame_pointer};

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
    /// For steps that are only tried out, one for each way to try. Where such a step fails, framehop keeps a rule
    /// that is good for nothing else.
    trial_caches: [CacheNative<MustNotAllocateDuringUnwind>; 2],
    known: KnownWalks,
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

/// Where a rule is looked up and kept.
#[derive(Clone, Copy)]
enum Cache {
    /// The one that the book names.
    Way(usize),
    Trial(usize),
}

impl ThreadState {
    fn new(sp: u64) -> Box<Self> {
        Box::new(Self {
            set: Arc::default(),
            bounds: StackBounds::of_this_thread(sp),
            book: Box::new([[0; WAYS]; SLOTS]),
            evict: 0,
            caches: std::array::from_fn(|_| CacheNative::new_in()),
            trial_caches: std::array::from_fn(|_| CacheNative::new_in()),
            known: KnownWalks::new(),
        })
    }

    /// Makes sure that the modules are those that are loaded now, so that no table of one that went
    /// is read; whether they are.
    pub(crate) fn keep_up(&mut self, loaded: &LoadedModules) -> bool {
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
        cache: Cache,
        address: FrameAddress,
        regs: &mut UnwindRegsNative,
        mut note: impl FnMut(u64, u64),
    ) -> Result<Option<FrameAddress>, framehop::Error> {
        let (sp, bounds) = (regs.sp(), self.bounds);
        let mut read = |at: u64| {
            let word = match bounds.contains(sp) {
                true => bounds.read(sp, at),
                // A signal's or a fiber's stack: slower, and never a fault.
                false => guarded_read(at).ok_or(()),
            }?;
            note(at, word);
            Ok(word)
        };
        let cache = match cache {
            Cache::Way(way) => &mut self.caches[way],
            Cache::Trial(way) => &mut self.trial_caches[way],
        };
        let next = self.set.unwinder.unwind_frame(address, regs, cache, &mut read)?;
        Ok(next.and_then(FrameAddress::from_return_address))
    }

    /// A step that notes what it depends on. Whether that is the frame pointer or any other register is
    /// tried out: where it is, the step goes elsewhere without it.
    fn noted_step(
        &mut self,
        way: usize,
        address: FrameAddress,
        regs: &mut UnwindRegsNative,
        reads: &mut Reads,
    ) -> Result<Option<FrameAddress>, framehop::Error> {
        let before = *regs;
        let mut read = StepReads::default();
        let next = self.step(Cache::Way(way), address, regs, |at, word| read.note(at, word))?;
        let sp = regs.sp();
        let mut leads_elsewhere = |trial: usize, mut regs: UnwindRegsNative| {
            let other = self.step(Cache::Trial(trial), address, &mut regs, |_, _| ());
            !other.is_ok_and(|other| other == next && regs.sp() == sp)
        };
        let by_frame_pointer = leads_elsewhere(0, without_frame_pointer(&before));
        if by_frame_pointer && leads_elsewhere(1, followed_alone(&before)) {
            reads.lose();
        }
        reads.step(&read, by_frame_pointer, registers(regs));
        Ok(next)
    }
}

/// Runs `body` with the calling thread's state; not inside another capture, and not when the thread is
/// ending.
#[inline]
pub(crate) fn with_state<T>(sp: u64, body: impl FnOnce(&mut ThreadState) -> T) -> Option<T> {
    let kept = STATE.replace(ptr::null_mut());
    let mut state = if !kept.is_null() {
        // SAFETY: made from a box below, and taken out of its place just now.
        unsafe { Box::from_raw(kept) }
    } else if STARTED.replace(true) {
        return None;
    } else {
        ThreadState::new(sp)
    };
    let done = body(&mut state);
    STATE.set(Box::into_raw(state));
    Some(done)
}

/// What a walk up to the Python interpreter finds, where it was made before or can be known from now on.
#[inline]
pub(crate) fn find(
    loaded: &LoadedModules,
    state: &mut ThreadState,
    ip: u64,
    start: Start,
) -> Option<Found> {
    let known = state.known.find(start, state.bounds);
    known.or_else(|| learn(loaded, state, ip, start))
}

#[cold]
fn learn(loaded: &LoadedModules, state: &mut ThreadState, ip: u64, start: Start) -> Option<Found> {
    let on_stack = state.bounds.contains(start.sp);
    if state.known.is_refused(start) || !on_stack || !state.keep_up(loaded) {
        return None;
    }
    let mut room = [Raw::Native(0); MAX_FRAMES];
    let mut frames = Frames { room: &mut room, count: 0 };
    let mut reads = Reads::new(start);
    let end = walk_noting(loaded, state, ip, start, (&mut frames, true), Some(&mut reads));
    let Some(words) = reads.words().filter(|_| end != End::Lost) else {
        state.known.refuse(start);
        return None;
    };
    let frames = &frames.room[..frames.count];
    let found = Found { print: Fingerprint::of(frames), frames: frames.len(), end };
    state.known.keep(start, words, found);
    Some(found)
}

/// Pushes the native frames, innermost first, up to the Python interpreter if so wished.
pub(crate) fn walk(
    loaded: &LoadedModules,
    state: &mut ThreadState,
    ip: u64,
    start: Start,
    out: &mut Frames<'_>,
    stop_at_python: bool,
) -> End {
    walk_noting(loaded, state, ip, start, (out, stop_at_python), None)
}

fn walk_noting(
    loaded: &LoadedModules,
    state: &mut ThreadState,
    ip: u64,
    start: Start,
    (out, stop_at_python): (&mut Frames<'_>, bool),
    mut reads: Option<&mut Reads>,
) -> End {
    let python = if stop_at_python { loaded.python_range() } else { 0..0 };
    let mut regs = for_framehop(ip, start);
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
        let next = match reads.as_deref_mut() {
            None => state.step(Cache::Way(way), address, &mut regs, |_, _| ()),
            Some(reads) => {
                // Generated code may give way to other code without a word.
                if !known {
                    reads.lose();
                }
                state.noted_step(way, address, &mut regs, reads)
            }
        };
        match next {
            Ok(Some(next)) => address = next,
            Ok(None) if strangers == 0 => return End::Outermost,
            _ => return End::Lost,
        }
    }
    End::Lost
}
