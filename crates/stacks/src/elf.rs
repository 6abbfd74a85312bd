//! A loaded ELF module as it lies in memory: its range, its unwind tables, its build id, and the
//! symbols that it exports. Nothing here allocates: it runs under the loader's lock.

use std::ffi::CStr;
use std::ops::Range;

use libc::{Elf64_Phdr, PT_DYNAMIC, PT_GNU_EH_FRAME, PT_LOAD, PT_NOTE};

/// The longest build id that is kept; SHA-1, which linkers write, has 20 bytes.
pub(crate) const BUILD_ID_BYTES: usize = 32;
const NT_GNU_BUILD_ID: u32 = 3;
/// `DW_EH_PE_pcrel | DW_EH_PE_sdata4`: how every linker writes the header's pointer.
const PCREL_SDATA4: u8 = 0x1b;

const STT_GNU_IFUNC: u8 = 10;

const DT_NULL: u64 = 0;
const DT_STRTAB: u64 = 5;
const DT_SYMTAB: u64 = 6;
const DT_GNU_HASH: u64 = 0x6fff_fef5;

/// The program headers of a module that is loaded.
#[derive(Clone, Copy)]
pub(crate) struct Image<'a> {
    bias: u64,
    headers: &'a [Elf64_Phdr],
}

/// Unwind tables, by their addresses in this process.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct UnwindTables {
    pub(crate) header: Range<u64>,
    pub(crate) frames: Range<u64>,
}

impl<'a> Image<'a> {
    /// # Safety
    /// The headers are those of a module that is loaded at `bias` and stays so while this lives.
    pub(crate) unsafe fn new(bias: u64, headers: &'a [Elf64_Phdr]) -> Self {
        Self { bias, headers }
    }

    fn segments(self, kind: u32) -> impl Iterator<Item = Range<u64>> {
        self.headers.iter().filter(move |header| header.p_type == kind).map(move |header| {
            let start = self.bias.wrapping_add(header.p_vaddr);
            start..start.saturating_add(header.p_memsz)
        })
    }

    /// From the first loaded byte to behind the last.
    pub(crate) fn range(self) -> Option<Range<u64>> {
        let start = self.segments(PT_LOAD).map(|segment| segment.start).min()?;
        let end = self.segments(PT_LOAD).map(|segment| segment.end).max()?;
        Some(start..end)
    }

    /// `.eh_frame_hdr`, and `.eh_frame` up to the end of its segment: section headers are not in
    /// memory, and the table ends with a terminator of its own.
    pub(crate) fn unwind_tables(self) -> Option<UnwindTables> {
        let header = self.segments(PT_GNU_EH_FRAME).next()?;
        if header.end - header.start < 8 {
            return None;
        }
        // SAFETY: the header segment is loaded and holds at least eight bytes.
        let (encoding, offset) = unsafe {
            let start = header.start as *const u8;
            (*start.add(1), start.add(4).cast::<i32>().read_unaligned())
        };
        if encoding != PCREL_SDATA4 {
            return None;
        }
        let frames = (header.start + 4).wrapping_add_signed(i64::from(offset));
        let segment = self.segments(PT_LOAD).find(|segment| segment.contains(&frames))?;
        Some(UnwindTables { header, frames: frames..segment.end })
    }

    /// The build id and how many of its bytes count.
    pub(crate) fn build_id(self) -> ([u8; BUILD_ID_BYTES], u8) {
        let found = self.segments(PT_NOTE).find_map(|segment| {
            // SAFETY: a note segment lies inside a loaded one.
            let notes = unsafe { bytes(&segment) };
            build_id_in(notes)
        });
        let mut id = [0; BUILD_ID_BYTES];
        let length = found.map_or(0, |bytes| bytes.len().min(BUILD_ID_BYTES));
        id[..length].copy_from_slice(&found.unwrap_or_default()[..length]);
        (id, length as u8)
    }

    /// What the module exports by name; none where it has no GNU hash table.
    pub(crate) fn exports(self) -> Option<Exports> {
        let mut entry = self.segments(PT_DYNAMIC).next()?.start as *const [u64; 2];
        let (mut symbols, mut strings, mut hash) = (0, 0, 0);
        loop {
            // SAFETY: the dynamic section is loaded and ends with a null entry.
            let [tag, value] = unsafe { *entry };
            match tag {
                DT_NULL => break,
                DT_SYMTAB => symbols = self.absolute(value),
                DT_STRTAB => strings = self.absolute(value),
                DT_GNU_HASH => hash = self.absolute(value),
                _ => {}
            }
            // SAFETY: this entry was not the last.
            entry = unsafe { entry.add(1) };
        }
        let complete = symbols != 0 && strings != 0 && hash != 0;
        complete.then_some(Exports { bias: self.bias, symbols, strings, hash })
    }

    /// The loader relocates these entries in most modules, not in the vDSO.
    fn absolute(self, value: u64) -> u64 {
        if value < self.bias { self.bias + value } else { value }
    }
}

/// # Safety
/// The range is loaded and stays so while the bytes are used.
unsafe fn bytes<'a>(range: &Range<u64>) -> &'a [u8] {
    let length = (range.end - range.start) as usize;
    // SAFETY: the caller promises that the range is mapped.
    unsafe { std::slice::from_raw_parts(range.start as *const u8, length) }
}

fn build_id_in(mut notes: &[u8]) -> Option<&[u8]> {
    let word =
        |bytes: &[u8], at: usize| Some(u32::from_ne_bytes(bytes.get(at..at + 4)?.try_into().ok()?));
    loop {
        let (name, length, kind) =
            (word(notes, 0)? as usize, word(notes, 4)? as usize, word(notes, 8)?);
        let content = 12 + name.next_multiple_of(4);
        if kind == NT_GNU_BUILD_ID && notes.get(12..12 + name) == Some(b"GNU\0") {
            return notes.get(content..content + length);
        }
        notes = notes.get(content + length.next_multiple_of(4)..)?;
    }
}

/// The dynamic symbols of a loaded module, found as the loader finds them.
///
/// Used instead of `dlsym`, which takes the lock that a thread inside `dlopen` holds while it runs
/// constructors, and which may itself be interposed.
#[derive(Clone, Copy)]
pub(crate) struct Exports {
    bias: u64,
    symbols: u64,
    strings: u64,
    hash: u64,
}

impl Exports {
    /// The address of a symbol that this module defines.
    pub(crate) fn find(&self, name: &CStr) -> Option<u64> {
        let hash = gnu_hash(name.to_bytes());
        let [buckets, first, bloom, shift] = self.header();
        if buckets == 0 || bloom == 0 || !self.may_hold(hash, bloom, shift) {
            return None;
        }
        let bucket_table = self.hash + 16 + 8 * u64::from(bloom);
        let chain_table = bucket_table + 4 * u64::from(buckets);
        let mut index = self.word(bucket_table + 4 * u64::from(hash % buckets));
        if index < first {
            return None;
        }
        loop {
            let link = self.word(chain_table + 4 * u64::from(index - first));
            if link | 1 == hash | 1
                && let Some(address) = self.defined(index, name)
            {
                return Some(address);
            }
            if link & 1 == 1 {
                return None;
            }
            index += 1;
        }
    }

    fn header(&self) -> [u32; 4] {
        [0, 4, 8, 12].map(|at| self.word(self.hash + at))
    }

    fn may_hold(&self, hash: u32, bloom: u32, shift: u32) -> bool {
        let at = self.hash + 16 + 8 * u64::from((hash / 64) % bloom);
        // SAFETY: the bloom filter has `bloom` words behind the header of a loaded table.
        let word = unsafe { (at as *const u64).read_unaligned() };
        let bits = 1u64 << (hash % 64) | 1u64 << ((hash >> (shift % 32)) % 64);
        word & bits == bits
    }

    fn word(&self, address: u64) -> u32 {
        // SAFETY: the address was derived from the loaded table's own sizes.
        unsafe { (address as *const u32).read_unaligned() }
    }

    fn defined(&self, index: u32, name: &CStr) -> Option<u64> {
        // SAFETY: the index came from the hash table, which covers the symbols of a loaded module.
        let symbol = unsafe { &*(self.symbols as *const libc::Elf64_Sym).add(index as usize) };
        // SAFETY: the name's offset is inside the loaded string table, whose strings end with 0.
        let found =
            unsafe { CStr::from_ptr((self.strings + u64::from(symbol.st_name)) as *const _) };
        // An indirect function has a resolver at its address, not the function.
        let defined = symbol.st_shndx != 0 && symbol.st_value != 0;
        let plain = defined && symbol.st_info & 0xf != STT_GNU_IFUNC;
        (plain && found == name).then(|| self.bias.wrapping_add(symbol.st_value))
    }
}

fn gnu_hash(name: &[u8]) -> u32 {
    name.iter().fold(5381, |hash, &byte| hash.wrapping_mul(33).wrapping_add(u32::from(byte)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_hash_as_linkers_do() {
        assert_eq!(gnu_hash(b""), 0x1505);
        assert_eq!(gnu_hash(b"printf"), 0x156b_2bb8);
    }

    #[test]
    fn a_build_id_is_found_behind_other_notes() {
        let mut notes = Vec::new();
        for (kind, name, content) in [(1, *b"GNU\0", vec![9; 6]), (3, *b"GNU\0", vec![7; 20])] {
            notes.extend(4u32.to_ne_bytes());
            notes.extend((content.len() as u32).to_ne_bytes());
            notes.extend(u32::to_ne_bytes(kind));
            notes.extend(name);
            notes.extend(&content);
            notes.resize(notes.len().next_multiple_of(4), 0);
        }
        assert_eq!(build_id_in(&notes), Some(&[7; 20][..]));
        assert_eq!(build_id_in(&notes[..notes.len() - 1]), None, "cut short");
        assert_eq!(build_id_in(&[]), None);
    }
}
