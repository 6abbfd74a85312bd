//! The image of an interpreter: where its functions are, and what it leaves unused.

use object::{
    Object, ObjectSection, ObjectSymbol,
    elf::{FileHeader64, PF_W, PT_LOAD},
    read::elf::{ElfFile, FileHeader, ProgramHeader},
};

/// The section that begins with the description of the runtime, since Python 3.13.
const RUNTIME_SECTION: &str = ".PyRuntime";
/// Pages are at least as large.
const PAGE: u64 = 4096;
/// Addresses in a file are lower, or they are lies.
const HIGHEST: u64 = 1 << 47;

/// What is used of an image. Addresses count from where its first byte is mapped.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Image {
    symbols: Vec<(&'static str, u64)>,
    /// The section of the runtime.
    pub runtime_section: Option<u64>,
    /// Behind the last variable, up to the end of its page.
    pub unused: Option<(u64, u64)>,
}

impl Image {
    /// Reads an image, and looks for these symbols; nothing where it is none.
    #[must_use]
    pub fn parse(bytes: &[u8], wanted: &[&'static str]) -> Option<Self> {
        let file = ElfFile::<FileHeader64<object::Endianness>>::parse(bytes).ok()?;
        let endian = file.endian();
        let headers = file.elf_header().program_headers(endian, bytes).ok()?;
        let loaded = || headers.iter().filter(|header| header.p_type(endian) == PT_LOAD);
        let first = loaded().map(|header| header.p_vaddr(endian)).min()?;
        let base = first - first % PAGE;
        let relative = |address: u64| (address < HIGHEST).then(|| address.checked_sub(base))?;
        let mut symbols = Vec::new();
        for symbol in file.dynamic_symbols().chain(file.symbols()) {
            let Ok(name) = symbol.name() else { continue };
            let Some(name) = wanted.iter().find(|wanted| **wanted == name) else { continue };
            if symbol.is_undefined() || symbols.iter().any(|(known, _)| known == name) {
                continue;
            }
            if let Some(address) = relative(symbol.address()) {
                symbols.push((*name, address));
            }
        }
        let section = file.section_by_name(RUNTIME_SECTION);
        let runtime_section = section.and_then(|section| relative(section.address()));
        let writable = loaded().filter(|header| header.p_flags(endian) & PF_W != 0);
        let ends = writable
            .filter_map(|header| header.p_vaddr(endian).checked_add(header.p_memsz(endian)));
        let unused = ends.max().and_then(relative).map(|end| (end, (PAGE - end % PAGE) % PAGE));
        Some(Self { symbols, runtime_section, unused })
    }

    /// Where a symbol is.
    #[must_use]
    pub fn symbol(&self, name: &str) -> Option<u64> {
        self.symbols.iter().find(|(known, _)| *known == name).map(|(_, address)| *address)
    }
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
