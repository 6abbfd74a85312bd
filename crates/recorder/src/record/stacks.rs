//! The stack that led to an event, as one number.
//!
//! A stack is known by a fingerprint of its raw frames. Only one that is new is looked at frame by
//! frame: its modules, its Python frames and itself are defined in the recording before its number
//! is used.

use std::{
    collections::HashMap,
    env, ptr,
    sync::{
        Mutex, PoisonError,
        atomic::{
            AtomicU32, AtomicU64,
            Ordering::{Acquire, Relaxed, Release},
        },
    },
};

use foldhash::fast::FixedState;
use whyoom_recording::{Definition, Part, RawFrame};
use whyoom_stacks::{Capturer, Fingerprint, MAX_FRAMES, Raw};
use whyoom_trace::{FrameId, StackId};

use super::{
    modules::Modules,
    names::{Names, define},
    part::{NO_MEMORY, stop},
    scratch::Scratch,
    stand_in::StandIn,
    thread::Thread,
};

/// What is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Depth {
    /// No stacks.
    Off,
    /// Native frames only.
    Native,
    /// Native and Python frames.
    All,
}

impl Depth {
    /// What the process was started with, or the variable whose value is none of these.
    pub(crate) fn from_environment() -> Result<Self, &'static str> {
        const VARIABLE: &str = "WHYOOM_RECORDING_STACKS";
        match env::var_os(VARIABLE).unwrap_or_default().as_encoded_bytes() {
            b"off" => Ok(Self::Off),
            b"native" => Ok(Self::Native),
            b"" | b"all" => Ok(Self::All),
            _ => Err(VARIABLE),
        }
    }
}

/// Threads that allocate at once seldom meet in one shard.
const SHARDS: usize = 64;

/// A stack with a Python frame that cannot be named is looked at again when it comes again, but not
/// for ever: where no frame can be named, every event would define its own.
const MOST_UNNAMED: u32 = 1024;

/// The stacks that were seen.
pub(crate) struct Stacks {
    capturer: Option<Capturer>,
    shards: Vec<Mutex<HashMap<Fingerprint, StackId, FixedState>>>,
    count: AtomicU32,
    modules: Mutex<Modules>,
    /// The capturer's generation that `modules` was brought up to.
    generation: AtomicU64,
    /// How often code went: a stack that was seen before may mean other code now.
    replaced: AtomicU64,
    python: Mutex<HashMap<(usize, i32), FrameId, FixedState>>,
    /// How many stacks were defined with a Python frame that had no name yet.
    unnamed: AtomicU32,
    /// What ring mode names in place of stacks beyond its limit.
    stand_in: StandIn,
}

impl Stacks {
    pub(crate) fn new(depth: Depth) -> Self {
        let capturer = match depth {
            Depth::Off => None,
            Depth::Native => Some(Capturer::native_only()),
            Depth::All => Some(Capturer::new()),
        };
        let shard = || Mutex::new(HashMap::with_hasher(FixedState::default()));
        Self {
            capturer,
            shards: (0..SHARDS).map(|_| shard()).collect(),
            count: AtomicU32::new(0),
            modules: Mutex::default(),
            generation: AtomicU64::new(0),
            replaced: AtomicU64::new(0),
            python: Mutex::new(HashMap::with_hasher(FixedState::default())),
            unnamed: AtomicU32::new(0),
            stand_in: StandIn::default(),
        }
    }

    /// The stack of this thread and the module that is at work; the empty one where none can be had.
    #[inline]
    pub(crate) fn capture(&self, thread: &Thread, part: &Part, names: &Names) -> StackId {
        let module = thread.module();
        let Some(capturer) = &self.capturer else {
            return module.map_or(StackId(0), |module| self.of_module(module, part));
        };
        // A thread has no tables if it is ending or the system has no memory: then it has no stacks.
        let Some(scratch) = thread.scratch() else { return StackId(0) };
        // A stack means the modules that were defined before it: where others have come, it is looked at anew.
        let print = capturer.fingerprint().filter(|_| !self.is_behind(capturer));
        if let Some(print) = print {
            let print = self.print(print, module);
            if let Some(id) = scratch.recent(print).or_else(|| self.known(print, scratch)) {
                return id;
            }
        }
        let numbered = scratch.with_room(|room| {
            let count = capturer.capture(room);
            let frames = &room[..count];
            if frames.is_empty() {
                return StackId(0);
            }
            if self.is_behind(capturer) && !self.renew_modules(capturer, part, names) {
                return StackId(0);
            }
            self.number(capturer, (frames, module), scratch, part, names)
        });
        numbered.unwrap_or(StackId(0))
    }

    /// A stack that carries a module and nothing else.
    pub(crate) fn of_module(&self, module: FrameId, part: &Part) -> StackId {
        self.known_or((&[], Some(module)), None, |id| {
            define(part, Definition::Stack { id, frames: &[RawFrame::Named(module)] });
            true
        })
    }

    fn number(
        &self,
        capturer: &Capturer,
        (frames, module): (&[Raw], Option<FrameId>),
        scratch: &Scratch,
        part: &Part,
        names: &Names,
    ) -> StackId {
        let mut stand_in = None;
        let id = self.known_or((frames, module), Some(scratch), |id| {
            stand_in = self.stand_in.instead_of(id, part, names);
            stand_in.is_none() && self.define(id, capturer, (frames, module), part, names)
        });
        stand_in.unwrap_or(id)
    }

    /// The number of a stack. A new one gets its number from `define`, which tells whether it may be kept.
    fn known_or(
        &self,
        (frames, module): (&[Raw], Option<FrameId>),
        scratch: Option<&Scratch>,
        define: impl FnOnce(StackId) -> bool,
    ) -> StackId {
        let print = self.print(Fingerprint::of(frames), module);
        let mut known = self.shard(print).lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(id) = known.get(&print) {
            return *id;
        }
        if known.try_reserve(1).is_err() {
            stop(&NO_MEMORY);
            return StackId(0);
        }
        let id = StackId(self.count.fetch_add(1, Relaxed) + 1);
        if define(id) {
            known.insert(print, id);
            if let Some(scratch) = scratch {
                scratch.remember(print, id);
            }
        }
        id
    }

    /// What a stack is known by: its frames, its module, and the code of now in this process.
    #[inline]
    fn print(&self, frames: Fingerprint, module: Option<FrameId>) -> Fingerprint {
        let module = u64::from(module.map_or(0, |module| module.0));
        frames.with(self.replaced.load(Relaxed) << 32 | module, ptr::from_ref(self) as u64)
    }

    fn shard(&self, print: Fingerprint) -> &Mutex<HashMap<Fingerprint, StackId, FixedState>> {
        &self.shards[print.0[1] as usize % SHARDS]
    }

    /// A stack that was defined before, by whichever thread.
    fn known(&self, print: Fingerprint, scratch: &Scratch) -> Option<StackId> {
        let known = self.shard(print).lock().unwrap_or_else(PoisonError::into_inner);
        let id = known.get(&print).copied()?;
        scratch.remember(print, id);
        Some(id)
    }

    /// Defines a new stack. Whether all its frames have names, or no more are to be looked for.
    fn define(
        &self,
        id: StackId,
        capturer: &Capturer,
        (frames, module): (&[Raw], Option<FrameId>),
        part: &Part,
        names: &Names,
    ) -> bool {
        let mut raw = [RawFrame::Native(0); MAX_FRAMES + 1];
        let mut all_named = true;
        for (place, frame) in raw.iter_mut().zip(frames) {
            *place = match *frame {
                Raw::Native(address) => RawFrame::Native(address),
                Raw::Python { code, position } => {
                    let (id, named) = self.python(capturer, code, position, part, names);
                    all_named &= named;
                    RawFrame::Named(id)
                }
            };
        }
        let mut count = frames.len();
        if let Some(module) = module {
            raw[count] = RawFrame::Named(module);
            count += 1;
        }
        define(part, Definition::Stack { id, frames: &raw[..count] });
        all_named || self.unnamed.fetch_add(1, Relaxed) >= MOST_UNNAMED
    }

    /// The number of a Python frame, which is named when it is first seen, and whether it could be.
    fn python(
        &self,
        capturer: &Capturer,
        code: usize,
        position: i32,
        part: &Part,
        names: &Names,
    ) -> (FrameId, bool) {
        let mut known = self.python.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(id) = known.get(&(code, position)) {
            return (*id, true);
        }
        let named = capturer.python_frame(code, position);
        let (function, file, line) = match &named {
            Some(frame) => (frame.function.as_str(), frame.file.as_str(), frame.line),
            None => ("a Python function", "", 0),
        };
        let function = names.string(part, function.as_bytes());
        let file = names.string(part, file.as_bytes());
        let id = names.frame(part, function, file, line);
        // One that could not be named now may be later.
        if named.is_some() {
            known.insert((code, position), id);
        }
        (id, named.is_some())
    }

    /// Whether modules have come or gone that are not defined yet.
    #[inline]
    fn is_behind(&self, capturer: &Capturer) -> bool {
        capturer.generation() != self.generation.load(Acquire)
    }

    /// Defines the modules that are new. False where they cannot be had now.
    #[cold]
    fn renew_modules(&self, capturer: &Capturer, part: &Part, names: &Names) -> bool {
        let mut modules = self.modules.lock().unwrap_or_else(PoisonError::into_inner);
        let generation = capturer.generation();
        let Some(loaded) = capturer.modules() else { return false };
        if modules.renew(&loaded, part, names) {
            self.replaced.fetch_add(1, Relaxed);
            self.forget();
        }
        self.generation.store(generation, Release);
        true
    }

    /// Forgets stacks that nobody asks for any more: from now on all fingerprints are others.
    fn forget(&self) {
        for shard in &self.shards {
            shard.lock().unwrap_or_else(PoisonError::into_inner).clear();
        }
    }
}
