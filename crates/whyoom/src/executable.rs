//! A program's file: where its name leads, and what the kernel makes of it.

use std::{
    ffi::OsStr,
    io::{self, Read},
    os::unix::ffi::OsStrExt,
    path::{Path, PathBuf},
};

use anyhow::{Context, Result};
use object::{
    Endianness, FileKind, ReadCache,
    elf::{self, FileHeader64},
    read::elf::{FileHeader, ProgramHeader},
};
use whyoom_files::untrusted;

/// A first line is not longer.
const FIRST_LINE: u64 = 256;

/// What a file is to the kernel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Executable {
    /// Its first line names the program that runs it.
    Script { interpreter: PathBuf },
    /// The file itself is run, after its loader if it has one.
    Program { loader: Option<PathBuf> },
    /// A program for another processor, or for a half as wide one.
    Foreign { built_for: String },
    /// Neither.
    Unknown,
}

impl Executable {
    /// What a file is.
    pub(crate) fn read(path: &Path) -> io::Result<Self> {
        let mut first = Vec::new();
        untrusted::open(path)?.take(FIRST_LINE).read_to_end(&mut first)?;
        if let Some(line) = first.strip_prefix(b"#!") {
            return Ok(Self::Script { interpreter: interpreter(line) });
        }
        Ok(program(path).unwrap_or(Self::Unknown))
    }

    /// Whether it is loaded by musl, which our libraries are not made for.
    pub(crate) fn is_musl(&self) -> bool {
        let name = |loader: &PathBuf| {
            loader.file_name().is_some_and(|name| name.as_bytes().starts_with(b"ld-musl"))
        };
        matches!(self, Self::Program { loader: Some(loader) } if name(loader))
    }
}

/// This program's own file.
pub(crate) fn own() -> Result<PathBuf> {
    std::env::current_exe().context(
        "cannot find the path of this executable (if /proc is missing: mount -t proc proc /proc)",
    )
}

/// The first word behind `#!`, with a carriage return where one is in the line: so the kernel sees it.
fn interpreter(line: &[u8]) -> PathBuf {
    let line = line.split(|byte| *byte == b'\n').next().unwrap_or_default();
    let words = line.split(|byte| matches!(byte, b' ' | b'\t'));
    let first = words.into_iter().find(|word| !word.is_empty()).unwrap_or_default();
    PathBuf::from(OsStr::from_bytes(first))
}

fn program(path: &Path) -> Option<Executable> {
    // A program may be gigabytes long: only what is asked for is read.
    let data = ReadCache::new(untrusted::open(path).ok()?);
    match FileKind::parse(&data).ok()? {
        FileKind::Elf32 => Some(Executable::Foreign { built_for: "32 bits".to_owned() }),
        FileKind::Elf64 => {
            let header = FileHeader64::<Endianness>::parse(&data).ok()?;
            let endian = header.endian().ok()?;
            let machine = header.e_machine(endian);
            if machine != own_machine() {
                return Some(Executable::Foreign { built_for: machine_name(machine) });
            }
            let parts = header.program_headers(endian, &data).ok()?;
            let loader = parts.iter().find_map(|part| part.interpreter(endian, &data).ok()?);
            let loader = loader.map(|name| PathBuf::from(OsStr::from_bytes(name)));
            Some(Executable::Program { loader })
        }
        _ => None,
    }
}

fn own_machine() -> u16 {
    if cfg!(target_arch = "aarch64") { elf::EM_AARCH64 } else { elf::EM_X86_64 }
}

fn machine_name(machine: u16) -> String {
    match machine {
        elf::EM_X86_64 => "x86_64".to_owned(),
        elf::EM_AARCH64 => "aarch64".to_owned(),
        elf::EM_PPC64 => "ppc64".to_owned(),
        elf::EM_RISCV => "riscv64".to_owned(),
        other => format!("processor {other}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_first_line_names_the_interpreter() {
        let named = |line: &[u8]| interpreter(line).into_os_string();
        assert_eq!(named(b"/bin/sh -e\necho"), "/bin/sh");
        assert_eq!(named(b" /usr/bin/env python3\n"), "/usr/bin/env");
        assert_eq!(named(b"/bin/sh\r\necho"), "/bin/sh\r");
        assert_eq!(named(b""), "");
    }

    #[test]
    fn this_very_program_has_a_loader() {
        let own = std::env::current_exe().expect("our own file");
        let executable = Executable::read(&own).expect("a readable file");
        assert!(matches!(executable, Executable::Program { loader: Some(_) }), "{executable:?}");
        assert!(!executable.is_musl());
    }
}
