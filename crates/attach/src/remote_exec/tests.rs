//! A stand-in for Python 3.14: memory laid out as its source lays it out.

use std::cell::RefCell;

use proptest::prelude::*;

use super::*;

const RUNTIME: u64 = 0x1000;
const INTERPRETER: u64 = 0x4000;
const THREADS: [u64; 2] = [0x8000, 0x9000];
const THREAD_SIZE: u64 = 0x400;
const SUPPORT: u64 = 0x100;
const REQUESTS: u64 = 0x20;
const ENABLED: u64 = 0x88;

struct Plain(RefCell<Vec<u8>>);

impl Plain {
    fn put(&self, address: u64, word: u64) {
        self.write(address, &word.to_ne_bytes()).expect("it is inside");
    }
}

impl Memory for Plain {
    fn read(&self, address: u64, into: &mut [u8]) -> io::Result<()> {
        let (bytes, at) = (self.0.borrow(), usize::try_from(address).unwrap_or(usize::MAX));
        let end = at.checked_add(into.len()).ok_or(io::ErrorKind::InvalidInput)?;
        into.copy_from_slice(bytes.get(at..end).ok_or(io::ErrorKind::InvalidInput)?);
        Ok(())
    }

    fn write(&self, address: u64, new: &[u8]) -> io::Result<()> {
        let (mut bytes, at) = (self.0.borrow_mut(), usize::try_from(address).unwrap_or(usize::MAX));
        let end = at.checked_add(new.len()).ok_or(io::ErrorKind::InvalidInput)?;
        bytes.get_mut(at..end).ok_or(io::ErrorKind::InvalidInput)?.copy_from_slice(new);
        Ok(())
    }
}

/// The table as 3.14 has it: 16 words of an interpreter, 9 of a thread, and so on, 89 before the support.
fn words() -> Vec<u64> {
    let mut words = vec![u64::from_ne_bytes(COOKIE), 0x030e_00f0, 0, 0x3000, 0x10, 0x18];
    words.extend([0x2000, 0, 8, 0x40, 0x48, 0x50, 0x58, 0x60, 0x68, 0x70, 0x78, 0, 0, 0, 0, 0]);
    words.extend([THREAD_SIZE, 0, 8, 16, 64, 152, 160, 200, 32]);
    words.resize(89, 24);
    words.extend([REQUESTS, SUPPORT, ENABLED, 0, 4, PATH_SIZE]);
    words
}

fn memory(words: &[u64]) -> Plain {
    let memory = Plain(RefCell::new(vec![0; 0x10000]));
    for (at, word) in words.iter().enumerate() {
        memory.put(RUNTIME + 8 * at as u64, *word);
    }
    memory.put(RUNTIME + 0x18 + 0x400, 0);
    memory.put(INTERPRETER + 0x40, THREADS[0]);
    memory.put(INTERPRETER + ENABLED, 1);
    memory.put(THREADS[0] + 8, THREADS[1]);
    memory.put(THREADS[0] + REQUESTS, 1);
    memory
}

/// The words that lie where the first interpreter's address would be: the runtime is longer than its table.
fn laid_out() -> Plain {
    let mut words = words();
    words[5] = 0x800;
    let memory = memory(&words);
    memory.put(RUNTIME + 0x800, INTERPRETER);
    memory
}

#[test]
fn every_thread_is_asked_and_the_request_taken_back() {
    let memory = laid_out();
    let asked = ask(&memory, RUNTIME, b"/tmp/start.py").expect("it is laid out as 3.14 is");
    assert_eq!(asked.count(), 2);
    for (thread, before) in THREADS.into_iter().zip([1, 0]) {
        let mut path = [0; 14];
        memory.read(thread + SUPPORT + 4, &mut path).expect("it is inside");
        assert_eq!(&path, b"/tmp/start.py\0");
        assert_eq!(memory.word(thread + SUPPORT).expect("a flag") as u32, 1);
        assert_eq!(memory.word(thread + REQUESTS).expect("requests"), before | PLEASE_STOP);
    }
    asked.withdraw(&memory);
    for thread in THREADS {
        assert_eq!(memory.word(thread + SUPPORT).expect("a flag") as u32, 0);
    }
}

#[test]
fn what_is_forbidden_or_unknown_is_refused_and_nothing_written() {
    let refused = |change: &dyn Fn(&Plain)| {
        let memory = laid_out();
        change(&memory);
        let before = memory.0.borrow().clone();
        let refusal = ask(&memory, RUNTIME, b"/tmp/start.py").expect_err("it is refused");
        assert!(*memory.0.borrow() == before, "nothing is written");
        refusal
    };
    assert_eq!(refused(&|memory| memory.put(INTERPRETER + ENABLED, 0)), Refusal::Disabled);
    let unknown = |refusal| matches!(refusal, Refusal::Unknown(_));
    assert!(unknown(refused(&|memory| memory.put(RUNTIME, 0))));
    assert!(unknown(refused(&|memory| memory.put(RUNTIME + 8, 0x030d_00f0))), "3.13");
    assert!(unknown(refused(&|memory| memory.put(RUNTIME + 8 * 94, 256))), "another path size");
    assert!(unknown(refused(&|memory| memory.put(RUNTIME + 8 * 90, 0x300))), "beyond the state");
    assert!(unknown(refused(&|memory| memory.put(INTERPRETER + 0x40, 0))), "no thread");
    let circle = |memory: &Plain| memory.put(THREADS[1] + 8, THREADS[0]);
    assert!(unknown(refused(&circle)), "a list without end");
    let memory = laid_out();
    assert_eq!(ask(&memory, RUNTIME, &[b'a'; 512]), Err(Refusal::PathTooLong));
    assert_eq!(ask(&memory, RUNTIME, b"a\0b"), Err(Refusal::PathTooLong));
}

proptest! {
    /// A process may lie: any word of its table and its lists may be anything.
    #[test]
    fn any_memory_is_asked_or_refused(changes in prop::collection::vec((0_u64..0x2000, any::<u64>()), 0..24)) {
        let memory = laid_out();
        for (at, word) in changes {
            memory.put(at * 8 % 0xfff0, word);
        }
        if let Ok(asked) = ask(&memory, RUNTIME, b"/tmp/start.py") {
            asked.withdraw(&memory);
        }
    }
}
