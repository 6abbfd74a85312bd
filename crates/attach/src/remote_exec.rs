//! The interpreter's own way to run a script for another process (PEP 768), since Python 3.14.
//!
//! The runtime's state begins with a table of offsets, `_Py_DebugOffsets`. Through it the thread states are found, and
//! in each the path of a script and a flag are written; the thread runs the script at its next safe point. The process is
//! not stopped. The layout was read from CPython's source; it has not yet met a living 3.14.

use std::io;

use crate::memory::Memory;

/// The table begins with this.
const COOKIE: [u8; 8] = *b"xdebugpy";
/// Words of the table that are read: it has 95 in 3.14, and more later.
const WORDS: usize = 128;
/// A script's path is not longer in any version.
const PATH_SIZE: u64 = 512;
/// In a thread's word of requests: look for a script.
const PLEASE_STOP: u64 = 1 << 5;
/// A state that is larger is none.
const LARGEST_STATE: u64 = 16 << 20;
/// More threads are not asked.
const MOST_THREADS: usize = 4096;

/// Why it cannot be asked.
#[derive(Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Refusal {
    /// The table is missing or unknown.
    Unknown(&'static str),
    /// Remote debugging is disabled in the process.
    Disabled,
    /// The path of the script is too long.
    PathTooLong,
    /// Its memory cannot be read or written.
    Memory(io::ErrorKind),
}

impl From<io::Error> for Refusal {
    fn from(error: io::Error) -> Self {
        Self::Memory(error.kind())
    }
}

/// Where things are, counted from the states that they are in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Offsets {
    first_interpreter: u64,
    first_thread: u64,
    next_thread: u64,
    thread_size: u64,
    requests: u64,
    support: u64,
    enabled: u64,
    flag: u64,
    path: u64,
}

impl Offsets {
    /// Reads the table. Its parts grow between versions: what is looked for last is found by how it must end, with a
    /// flag at 0, the path at 4, and the path's size.
    fn parse(words: &[u64; WORDS]) -> Result<Self, Refusal> {
        let unknown = |what| Refusal::Unknown(what);
        if words[0] != u64::from_ne_bytes(COOKIE) {
            return Err(unknown("no table of offsets"));
        }
        let (major, minor) = (words[1] >> 24 & 0xff, words[1] >> 16 & 0xff);
        if (major, minor) < (3, 14) {
            return Err(unknown("a version before 3.14"));
        }
        let (interpreter_size, first_thread) = (words[6], words[9]);
        let threads = words[11..].windows(4).position(|part| {
            let [size, previous, next, interpreter] = [part[0], part[1], part[2], part[3]];
            (previous, next, interpreter) == (0, 8, 16) && size > 16 && size < LARGEST_STATE
        });
        let thread_size = threads.map(|at| words[11 + at]).ok_or(unknown("no thread state"))?;
        let is_support = |part: &&[u64]| part[3..] == [0, 4, PATH_SIZE];
        let mut found = words[11..].windows(6).filter(is_support);
        let support = found.next().ok_or(unknown("no support for debuggers"))?;
        if found.next().is_some() || interpreter_size >= LARGEST_STATE {
            return Err(unknown("an ambiguous table"));
        }
        let offsets = Self {
            first_interpreter: words[5],
            first_thread,
            next_thread: 8,
            thread_size,
            requests: support[0],
            support: support[1],
            enabled: support[2],
            flag: support[3],
            path: support[4],
        };
        let inside = offsets.first_interpreter < LARGEST_STATE
            && offsets.first_thread < interpreter_size
            && offsets.enabled < interpreter_size
            && offsets.requests < thread_size
            && offsets.support < thread_size
            && offsets.support + 4 + PATH_SIZE <= thread_size;
        if inside { Ok(offsets) } else { Err(unknown("offsets outside their states")) }
    }
}

/// The threads of an interpreter that were asked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Asked {
    threads: Vec<u64>,
    offsets: Offsets,
}

/// Asks every thread of the first interpreter to run the script: the first that comes by does. The script itself must
/// see that it runs once.
///
/// # Errors
/// Where the runtime is unknown, forbids it, or cannot be written. Nothing is asked then.
pub fn ask(memory: &impl Memory, runtime: u64, script: &[u8]) -> Result<Asked, Refusal> {
    if script.len() as u64 >= PATH_SIZE || script.contains(&0) {
        return Err(Refusal::PathTooLong);
    }
    let offsets = Offsets::parse(&table(memory, runtime)?)?;
    let interpreter = pointer(memory, runtime, offsets.first_interpreter)?;
    let mut enabled = [0; 4];
    memory.read(add(interpreter, offsets.enabled)?, &mut enabled)?;
    if i32::from_ne_bytes(enabled) != 1 {
        return Err(Refusal::Disabled);
    }
    let threads = threads(memory, pointer(memory, interpreter, offsets.first_thread)?, offsets)?;
    let asked = Asked { threads, offsets };
    for thread in &asked.threads {
        let support = add(*thread, offsets.support)?;
        memory.write(add(support, offsets.path)?, &[script, &[0]].concat())?;
        memory.write(add(support, offsets.flag)?, &1_i32.to_ne_bytes())?;
        let requests = add(*thread, offsets.requests)?;
        let asked_for = memory.word(requests)? | PLEASE_STOP;
        memory.write(requests, &asked_for.to_ne_bytes())?;
    }
    Ok(asked)
}

impl Asked {
    /// Takes the request back from the threads that have not come by.
    pub fn withdraw(&self, memory: &impl Memory) {
        for thread in &self.threads {
            // A thread that has ended has no state any more: what is there now is looked at first.
            let Ok(support) = add(*thread, self.offsets.support) else { continue };
            let mut flag = [0; 4];
            let is_asked = memory.read(support + self.offsets.flag, &mut flag).is_ok()
                && i32::from_ne_bytes(flag) == 1;
            if is_asked {
                let _ = memory.write(support + self.offsets.flag, &0_i32.to_ne_bytes());
            }
        }
    }

    /// How many threads were asked.
    #[must_use]
    pub fn count(&self) -> usize {
        self.threads.len()
    }
}

fn table(memory: &impl Memory, runtime: u64) -> Result<[u64; WORDS], Refusal> {
    let mut bytes = [0; WORDS * 8];
    memory.read(runtime, &mut bytes)?;
    let mut words = [0; WORDS];
    for (word, bytes) in words.iter_mut().zip(bytes.chunks_exact(8)) {
        *word = u64::from_ne_bytes(bytes.try_into().unwrap_or_default());
    }
    Ok(words)
}

/// Follows the list of threads, which may be a circle where the process lies.
fn threads(memory: &impl Memory, first: u64, offsets: Offsets) -> Result<Vec<u64>, Refusal> {
    let mut threads = Vec::new();
    let mut thread = first;
    while thread != 0 {
        add(thread, offsets.thread_size)?;
        threads.push(thread);
        if threads.len() > MOST_THREADS {
            return Err(Refusal::Unknown("more threads than are followed"));
        }
        thread = memory.word(add(thread, offsets.next_thread)?)?;
    }
    if threads.is_empty() { Err(Refusal::Unknown("no thread")) } else { Ok(threads) }
}

fn pointer(memory: &impl Memory, state: u64, offset: u64) -> Result<u64, Refusal> {
    match memory.word(add(state, offset)?)? {
        0 => Err(Refusal::Unknown("no interpreter or thread")),
        found => Ok(found),
    }
}

fn add(address: u64, offset: u64) -> Result<u64, Refusal> {
    address.checked_add(offset).ok_or(Refusal::Unknown("an address beyond all memory"))
}

#[cfg(test)]
mod tests;
