//! The functions of a file by their addresses, where it has no debug information.

use std::sync::Arc;

use crate::elf::{Elf, u16_at, u32_at, u64_at};

const ENTRY: usize = 24;
/// Kinds of symbols that lie at an address: without one, data, and functions.
const AT_ADDRESS: [u8; 3] = [0, 1, 2];
/// Sections from this number on are none.
const RESERVED: u16 = 0xff00;
/// A longer name is none.
const LONGEST_NAME: usize = 64 << 10;

/// Symbols by address.
#[derive(Default)]
pub(crate) struct SymbolTable {
    /// Address, and where the name starts.
    symbols: Vec<(u64, u32)>,
    names: Option<Arc<[u8]>>,
}

impl SymbolTable {
    /// That of a file: the whole one, or what other files may use of it.
    pub(crate) fn read(elf: &Elf) -> Self {
        let table = elf.symbols(".symtab").or_else(|| elf.symbols(".dynsym"));
        let Some((table, names)) = table else { return Self::default() };
        let is_defined = |entry: &&[u8]| {
            let (kind, section, name) = (entry[4] & 15, u16_at(entry, 6), u32_at(entry, 0));
            // Compilers for ARM mark with `$x` where code begins.
            let is_mark = names.get(name as usize) == Some(&b'$');
            (1..RESERVED).contains(&section) && AT_ADDRESS.contains(&kind) && name != 0 && !is_mark
        };
        let entries = table.chunks_exact(ENTRY).filter(is_defined);
        let mut symbols: Vec<_> =
            entries.map(|entry| (u64_at(entry, 8), u32_at(entry, 0))).collect();
        symbols.sort_by_key(|(address, _)| *address);
        symbols.dedup_by_key(|(address, _)| *address);
        symbols.shrink_to_fit();
        Self { symbols, names: Some(names) }
    }

    /// The last symbol at or before an address.
    pub(crate) fn name(&self, address: u64) -> Option<&str> {
        let behind = self.symbols.partition_point(|(start, _)| *start <= address);
        let (_, start) = self.symbols.get(behind.checked_sub(1)?)?;
        let rest = self.names.as_ref()?.get(*start as usize..)?;
        let rest = &rest[..rest.len().min(LONGEST_NAME)];
        let length = rest.iter().position(|&byte| byte == 0)?;
        std::str::from_utf8(&rest[..length]).ok().filter(|name| !name.is_empty())
    }
}
