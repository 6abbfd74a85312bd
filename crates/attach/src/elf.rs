//! The image of an interpreter: where its functions are, and what it leaves unused.
//!
//! The process chose the file. Each loop over it is bounded, so that no file keeps whyoom busy for long.

use object::{
    Endianness,
    elf::{FileHeader64, PF_W, PT_LOAD, SHT_DYNSYM, SHT_SYMTAB},
    read::{
        SectionIndex,
        elf::{FileHeader, ProgramHeader, SectionHeader, SectionTable, Sym},
    },
};

/// The section that begins with the description of the runtime, since Python 3.13.
const RUNTIME_SECTION: &str = ".PyRuntime";
/// Pages are at least as large.
const PAGE: u64 = 4096;
/// Addresses in a file are lower, or they are lies.
const HIGHEST: u64 = 1 << 47;
/// Longest name that is compared, in bytes. The names that are looked for have fewer than 20.
const MAX_NAME_BYTES: usize = 64;
/// Most symbols that are read of one table. A static Python has about 20,000; chosen, not measured on others.
const MAX_SYMBOLS: usize = 1 << 20;
/// Most sections that are read. Executables have a few dozen; chosen, not measured.
const MAX_SECTIONS: usize = 4096;
/// Most program headers that are read. Executables have about a dozen; chosen, not measured.
const MAX_PROGRAM_HEADERS: usize = 1024;

type Header = FileHeader64<Endianness>;
type Sections<'a> = SectionTable<'a, Header>;

/// What is used of an image. Addresses count from where its first byte is mapped.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Image {
    symbols: Vec<(&'static str, u64)>,
    /// The section of the runtime.
    pub runtime_section: Option<u64>,
    /// Behind the last variable, up to the end of its page.
    pub unused: Option<(u64, u64)>,
}

/// An ELF file whose headers were read.
struct Elf<'a> {
    bytes: &'a [u8],
    endian: Endianness,
    sections: Sections<'a>,
    /// Address of the first page that is loaded.
    base: u64,
}

impl Image {
    /// Reads an image, and looks for these symbols; nothing where it is none.
    #[must_use]
    pub fn parse(bytes: &[u8], wanted: &[&'static str]) -> Option<Self> {
        let header = Header::parse(bytes).ok()?;
        let endian = header.endian().ok()?;
        let headers = header.program_headers(endian, bytes).ok()?;
        let headers = headers.get(..headers.len().min(MAX_PROGRAM_HEADERS))?;
        let loaded = || headers.iter().filter(|header| header.p_type(endian) == PT_LOAD);
        let first = loaded().map(|header| header.p_vaddr(endian)).min()?;
        let sections = header.sections(endian, bytes).ok()?;
        let elf = Elf { bytes, endian, sections, base: first - first % PAGE };
        let mut symbols = Vec::new();
        for table in [SHT_DYNSYM, SHT_SYMTAB] {
            elf.find_symbols(table, wanted, &mut symbols);
        }
        let names = header.shstrndx(endian, bytes).ok();
        let names = names.map(|index| elf.strings(SectionIndex(index as usize)));
        let runtime_section = elf.section(RUNTIME_SECTION, names.unwrap_or_default());
        let writable = loaded().filter(|header| header.p_flags(endian) & PF_W != 0);
        let ends = writable
            .filter_map(|header| header.p_vaddr(endian).checked_add(header.p_memsz(endian)));
        let end = ends.max().and_then(|end| elf.relative(end));
        let unused = end.map(|end| (end, (PAGE - end % PAGE) % PAGE));
        Some(Self { symbols, runtime_section, unused })
    }

    /// Where a symbol is.
    #[must_use]
    pub fn symbol(&self, name: &str) -> Option<u64> {
        self.symbols.iter().find(|(known, _)| *known == name).map(|(_, address)| *address)
    }
}

impl<'a> Elf<'a> {
    /// Returns an address as a distance from the first page that is loaded. Returns `None` for one that cannot be.
    fn relative(&self, address: u64) -> Option<u64> {
        if address >= HIGHEST {
            return None;
        }
        address.checked_sub(self.base)
    }

    /// Adds the wanted symbols that a table defines and that are not yet known.
    fn find_symbols(
        &self,
        table: u32,
        wanted: &[&'static str],
        symbols: &mut Vec<(&'static str, u64)>,
    ) {
        let Ok(found) = self.sections.symbols(self.endian, self.bytes, table) else { return };
        let strings = self.strings(found.string_section());
        for symbol in found.iter().take(MAX_SYMBOLS) {
            let Some(name) = name_at(strings, symbol.st_name(self.endian)) else { continue };
            let Some(name) = wanted.iter().find(|wanted| wanted.as_bytes() == name) else {
                continue;
            };
            if symbol.is_undefined(self.endian) || symbols.iter().any(|(known, _)| known == name) {
                continue;
            }
            if let Some(address) = self.relative(symbol.st_value(self.endian)) {
                symbols.push((*name, address));
            }
        }
    }

    /// Returns the address of the first section of a name. Returns `None` if there is none.
    fn section(&self, name: &str, names: &[u8]) -> Option<u64> {
        let mut sections = self.sections.iter().take(MAX_SECTIONS);
        let found = sections.find(|section| {
            name_at(names, section.sh_name(self.endian)) == Some(name.as_bytes())
        })?;
        self.relative(found.sh_addr(self.endian))
    }

    /// Returns the bytes of a string table. They are empty if the file has no such section.
    fn strings(&self, index: SectionIndex) -> &'a [u8] {
        let Ok(section) = self.sections.section(index) else { return &[] };
        section.data(self.endian, self.bytes).unwrap_or_default()
    }
}

/// Returns the name at an offset of a string table. Returns `None` if it is longer than any name that is looked for: the
/// table may have no zero at all.
fn name_at(strings: &[u8], offset: u32) -> Option<&[u8]> {
    let rest = strings.get(offset as usize..)?;
    let head = rest.get(..rest.len().min(MAX_NAME_BYTES))?;
    let end = head.iter().position(|byte| *byte == 0)?;
    head.get(..end)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn own() -> Vec<u8> {
        let path = std::env::current_exe().expect("our own file");
        whyoom_files::untrusted::read(&path, 1 << 30).expect("it is readable")
    }

    #[test]
    fn an_image_has_symbols_and_an_end() {
        let image = Image::parse(&own(), &["main", "no_such_symbol"]).expect("an image");
        assert!(image.symbol("main").is_some_and(|address| address > 0));
        assert_eq!(image.symbol("no_such_symbol"), None);
        let (end, length) = image.unused.expect("there are variables");
        assert!(end > 0 && (end + length).is_multiple_of(PAGE) && length < PAGE);
        assert_eq!(image.runtime_section, None);
    }

    #[test]
    fn a_name_is_cut_before_it_is_compared() {
        let strings = [b"\0main\0".as_slice(), &[b'x'; 1000]].concat();
        assert_eq!(name_at(&strings, 1), Some(b"main".as_slice()));
        assert_eq!(name_at(&strings, 0), Some(b"".as_slice()));
        assert_eq!(name_at(&strings, 6), None, "no zero within the longest name");
        assert_eq!(name_at(&strings, u32::MAX), None);
    }

    #[test]
    fn what_is_no_image_is_nothing() {
        assert_eq!(Image::parse(b"#!/bin/sh\n", &["main"]), None);
        assert_eq!(Image::parse(&own()[..4096], &["main"]), None);
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]
        #[test]
        fn a_damaged_image_is_read_or_refused(at in 0_usize..4096, byte: u8, cut in 64_usize..8192) {
            let mut bytes = own();
            bytes.truncate(cut.max(at + 1));
            bytes[at] = byte;
            let _ = Image::parse(&bytes, &["main"]);
        }
    }
}
