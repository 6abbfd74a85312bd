//! What a walk over native frames depends on, noted while it is made.
//!
//! A walk is a function of the registers that it starts from, of the modules that are loaded, and of
//! the words that it reads from the stack. Where all of these are the same again, so are its frames.

/// The most words that are noted of a walk; a longer one is not known again.
const MOST: usize = 256;
/// The most words that one frame is unwound with.
const MOST_OF_STEP: usize = 16;
/// The most places that a frame pointer may be from.
const MOST_SOURCES: usize = 8;

/// Where a word was: so many bytes above the stack pointer, or in a register.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Place(u32);

impl Place {
    /// The frame pointer as the walk found it.
    pub(crate) const FRAME_POINTER: Self = Self(u32::MAX);
    /// The link register, of processors that have one.
    pub(crate) const LINK: Self = Self(u32::MAX - 1);
    /// Nowhere: the walk is at its end.
    pub(crate) const NOWHERE: Self = Self(u32::MAX - 2);

    fn on_stack(sp: u64, address: u64) -> Option<Self> {
        let offset = u32::try_from(address.checked_sub(sp)?).ok()?;
        (offset < Self::NOWHERE.0).then_some(Self(offset))
    }

    /// The word that is there now; none at the end.
    ///
    /// # Safety
    /// A place on the stack was found by a walk from the same stack pointer, which is of a live frame.
    #[inline]
    pub(crate) unsafe fn word(self, start: Start) -> Option<u64> {
        if self.0 < Self::NOWHERE.0 {
            let address = start.sp + u64::from(self.0);
            // SAFETY: between a live frame's stack pointer and the end of its stack, and aligned: walks read no
            // other words.
            return Some(unsafe { (address as *const u64).read_volatile() });
        }
        match self {
            Self::FRAME_POINTER => Some(start.frame_pointer),
            Self::LINK => Some(start.link),
            _ => None,
        }
    }
}

/// The registers that a walk starts from, or goes on with.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Start {
    pub(crate) sp: u64,
    pub(crate) frame_pointer: u64,
    pub(crate) link: u64,
}

/// What a walk depends on, in the order in which it did.
pub(crate) struct Reads {
    sp: u64,
    words: [(Place, u64); MOST],
    count: usize,
    /// Where the frame pointer's value of now may be from, until it matters. All of these hold it.
    sources: [Place; MOST_SOURCES],
    sources_count: usize,
    frame_pointer: u64,
    /// Something cannot be noted.
    lost: bool,
}

/// The words of one step.
#[derive(Default)]
pub(crate) struct StepReads {
    words: [(u64, u64); MOST_OF_STEP],
    count: usize,
}

impl StepReads {
    #[inline]
    pub(crate) fn note(&mut self, address: u64, word: u64) {
        if let Some(place) = self.words.get_mut(self.count) {
            *place = (address, word);
        }
        // One that had no room is counted: the step is then not noted.
        self.count += 1;
    }
}

impl Reads {
    pub(crate) fn new(start: Start) -> Self {
        let mut reads = Self {
            sp: start.sp,
            words: [(Place::NOWHERE, 0); MOST],
            count: 0,
            sources: [Place::FRAME_POINTER; MOST_SOURCES],
            sources_count: 1,
            frame_pointer: start.frame_pointer,
            lost: false,
        };
        if cfg!(not(target_arch = "x86_64")) {
            reads.push(Place::LINK, start.link);
            reads.frame_pointer_matters();
        }
        reads
    }

    /// Notes a step. Most functions keep something else in the frame pointer's register: its value is then
    /// saved and restored, and matters only where a frame is unwound by it.
    pub(crate) fn step(&mut self, read: &StepReads, uses_frame_pointer: bool, after: Start) {
        let Some(words) = read.words.get(..read.count) else {
            self.lost = true;
            return;
        };
        if uses_frame_pointer {
            self.frame_pointer_matters();
        }
        if after.frame_pointer != self.frame_pointer {
            self.frame_pointer = after.frame_pointer;
            self.sources_count = 0;
        }
        for (address, word) in words {
            match Place::on_stack(self.sp, *address) {
                None => self.lost = true,
                Some(place) if is_return_address(*address, after.sp) => self.push(place, *word),
                // It was restored from here, or from where it was before: both hold it.
                Some(place) if *word == self.frame_pointer => self.add_source(place),
                // Another register's: whoever walks makes sure that those do not matter.
                Some(_) => {}
            }
        }
        self.lost |= self.sources_count == 0;
        if cfg!(not(target_arch = "x86_64")) {
            self.frame_pointer_matters();
        }
    }

    /// What is not known cannot be known again.
    pub(crate) fn lose(&mut self) {
        self.lost = true;
    }

    /// The words, if all could be noted.
    pub(crate) fn words(&self) -> Option<&[(Place, u64)]> {
        (!self.lost).then(|| &self.words[..self.count])
    }

    fn frame_pointer_matters(&mut self) {
        for source in 0..self.sources_count {
            self.push(self.sources[source], self.frame_pointer);
        }
    }

    fn add_source(&mut self, place: Place) {
        match self.sources.get_mut(self.sources_count) {
            Some(source) => {
                *source = place;
                self.sources_count += 1;
            }
            None => self.lost = true,
        }
    }

    fn push(&mut self, place: Place, word: u64) {
        match self.words.get_mut(self.count) {
            Some(slot) => {
                *slot = (place, word);
                self.count += 1;
            }
            None => self.lost = true,
        }
    }
}

/// On x86-64 the return address lies right below the caller's stack pointer. Elsewhere every word counts as one.
fn is_return_address(address: u64, caller_sp: u64) -> bool {
    cfg!(not(target_arch = "x86_64")) || address.wrapping_add(8) == caller_sp
}
