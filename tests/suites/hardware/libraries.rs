//! What the shipped files ask of the dynamic linker: an old C library, and the vendor's symbol versions.

use std::{fs, path::Path};

use anyhow::{Context, Result, ensure};
use harness::{Build, Held, OLDEST_GLIBC};
use object::{
    Endianness,
    elf::{FileHeader64, PT_TLS, SHT_DYNSYM, STB_GLOBAL},
    read::elf::{FileHeader, ProgramHeader, SectionTable, Sym},
};

use super::Row;

type Header = FileHeader64<Endianness>;

pub(super) const ROWS: &[Row] = &[
    ("libraries::glibc", old_glibc),
    ("libraries::unwinder", one_unwinder),
    ("libraries::symbol-versions", symbol_versions),
    ("libraries::thread-local-storage", small_thread_local_storage),
];

/// Libraries whose symbols have versions, as the vendor's have.
const VERSIONED: [(&str, &str); 7] = [
    ("libwhyoom_lab_cudart.so", "libcudart.so.13"),
    ("libwhyoom_lab_cudart12.so", "libcudart.so.12"),
    ("libwhyoom_lab_cublas.so", "libcublas.so.13"),
    ("libwhyoom_lab_cublas12.so", "libcublas.so.12"),
    ("libwhyoom_lab_cublaslt.so", "libcublasLt.so.13"),
    ("libwhyoom_lab_cublaslt12.so", "libcublasLt.so.12"),
    ("libwhyoom_lab_cudnn.so", "libcudnn.so.9"),
];

/// A program inherits `LD_PRELOAD` into containers: a library that needs more than their glibc has ends it.
fn old_glibc() -> Result<Held> {
    let (mut files, mut newest) = (0, (0, 0));
    for file in Build::ready()?.shipped() {
        let needed = needed_glibc(&file).with_context(|| file.display().to_string())?;
        files += 1;
        newest = newest.max(needed);
    }
    let (major, minor) = newest;
    Ok(Held::new(format!("{files} files need glibc {major}.{minor}")).count("files", files))
}

/// The newest version of glibc that a file needs, which must not be too new.
fn needed_glibc(file: &Path) -> Result<(u32, u32)> {
    let data = fs::read(file)?;
    // The linker lets a library need what no library of that glibc has; the dynamic linker does not.
    let unknown = needed_without_version(&data)?;
    ensure!(unknown.is_empty(), "no glibc {OLDEST_GLIBC:?} has {}", unknown.join(", "));
    let mut newest = None;
    for version in needed_versions(&data)? {
        let Some(version) = version.strip_prefix("GLIBC_") else { continue };
        let parsed = parse(version).with_context(|| format!("it needs GLIBC_{version}"))?;
        newest = newest.max(Some(parsed));
    }
    let (major, minor) = newest.context("it needs no version of glibc: was it read?")?;
    ensure!(
        (major, minor) <= OLDEST_GLIBC,
        "it needs GLIBC_{major}.{minor}: {OLDEST_GLIBC:?} is promised"
    );
    Ok((major, minor))
}

/// Major and minor of `2.2.5`. Versions without numbers are private to one glibc.
fn parse(version: &str) -> Option<(u32, u32)> {
    let mut numbers = version.split('.').map(|number| number.parse().ok());
    Some((numbers.next()??, numbers.next()??))
}

/// The symbol versions that a file needs of others.
fn needed_versions(data: &[u8]) -> Result<Vec<String>> {
    let (endian, sections) = sections(data)?;
    let (mut others, strings) = sections.gnu_verneed(endian, data)?.context("no versions")?;
    let strings = sections.strings(endian, data, strings)?;
    let mut versions = Vec::new();
    while let Some((_, mut needed)) = others.next()? {
        while let Some(version) = needed.next()? {
            versions.push(String::from_utf8(version.name(endian, strings)?.to_vec())?);
        }
    }
    Ok(versions)
}

/// Functions that a file cannot do without, and that nothing it was linked with has.
fn needed_without_version(data: &[u8]) -> Result<Vec<String>> {
    let (endian, sections) = sections(data)?;
    let symbols = sections.symbols(endian, data, SHT_DYNSYM)?;
    let versions = sections.versions(endian, data)?.context("no versions")?;
    let mut unknown = Vec::new();
    for (index, symbol) in symbols.enumerate() {
        let is_needed = symbol.is_undefined(endian) && symbol.st_bind() == STB_GLOBAL;
        if is_needed && versions.version(versions.version_index(endian, index))?.is_none() {
            unknown.push(String::from_utf8(symbol.name(endian, symbols.strings())?.to_vec())?);
        }
    }
    Ok(unknown)
}

/// Maximum size in bytes of the thread-local storage of a preloaded library. glibc takes it from each thread's stack and
/// refuses threads whose stack is too small (OpenBLAS#1936). Chosen: the recorder needs about 200.
const MOST_THREAD_LOCAL_BYTES: u64 = 256;

/// The preloaded libraries leave the stacks of the program's threads alone.
fn small_thread_local_storage() -> Result<Held> {
    let mut most = 0;
    for file in ["libwhyoom_recorder.so", "libwhyoom_pool.so"] {
        let data = fs::read(Build::ready()?.file(file)).with_context(|| file.to_owned())?;
        let bytes = thread_local_bytes(&data)?;
        ensure!(bytes <= MOST_THREAD_LOCAL_BYTES, "{file} takes {bytes} bytes of each thread");
        most = most.max(bytes);
    }
    Ok(Held::new(format!("at most {most} bytes of each thread")).count("bytes", most))
}

/// Returns the size in memory of a file's thread-local storage, 0 if it has none.
fn thread_local_bytes(data: &[u8]) -> Result<u64> {
    let header = Header::parse(data)?;
    let endian = header.endian()?;
    let segments = header.program_headers(endian, data)?.iter();
    let of_threads = segments.filter(|segment| segment.p_type(endian) == PT_TLS);
    Ok(of_threads.map(|segment| segment.p_memsz(endian)).sum())
}

/// Exceptions of a program pass through the libraries: one unwinder must do for both.
fn one_unwinder() -> Result<Held> {
    let mut files = 0;
    for file in Build::ready()?.shipped().filter(|file| file.extension().is_some()) {
        let needed = needed_versions(&fs::read(&file)?)?;
        let is_of_system = needed.iter().any(|version| version == "GCC_3.0");
        ensure!(is_of_system, "{} has an unwinder of its own", file.display());
        files += 1;
    }
    Ok(Held::new(format!("{files} libraries use the system's")).count("files", files))
}

/// Programs are linked against these versions, and two major versions live in one process.
fn symbol_versions() -> Result<Held> {
    let mut symbols = 0;
    for (file, version) in VERSIONED {
        let data = fs::read(Build::ready()?.file(file)).with_context(|| file.to_owned())?;
        let exported = exported(&data).with_context(|| file.to_owned())?;
        ensure!(!exported.is_empty(), "{file} exports nothing");
        for (symbol, of) in &exported {
            ensure!(of.as_deref() == Some(version), "{file}: {symbol} has the version {of:?}");
        }
        symbols += exported.len() as u64;
    }
    Ok(Held::new(format!("{symbols} symbols of {} libraries", VERSIONED.len()))
        .count("symbols", symbols))
}

/// The functions that a library exports, with their versions.
fn exported(data: &[u8]) -> Result<Vec<(String, Option<String>)>> {
    let (endian, sections) = sections(data)?;
    let symbols = sections.symbols(endian, data, SHT_DYNSYM)?;
    let versions = sections.versions(endian, data)?.context("no versions")?;
    let mut exported = Vec::new();
    for (index, symbol) in symbols.enumerate() {
        if !symbol.is_definition(endian, symbols.strings()) {
            continue;
        }
        let name = String::from_utf8(symbol.name(endian, symbols.strings())?.to_vec())?;
        let version = versions.version(versions.version_index(endian, index))?;
        let version = version.map(|version| String::from_utf8_lossy(version.name()).into_owned());
        exported.push((name, version));
    }
    Ok(exported)
}

fn sections(data: &[u8]) -> Result<(Endianness, SectionTable<'_, Header>)> {
    let header = Header::parse(data)?;
    let endian = header.endian()?;
    Ok((endian, header.sections(endian, data)?))
}
