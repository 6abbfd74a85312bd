//! A recording says which files on the reader's machine hold the names of its addresses: they may be anything.

use std::{
    fs::{self, File},
    io::Write,
    os::unix::fs::{FileExt, symlink},
    path::Path,
};

use anyhow::{Context, Result, ensure};
use harness::{Bounded, Build, Held, input_bytes, text};
use whyoom_recording::{Definition, RawFrame};
use whyoom_trace::{StackId, StringId};

use super::made::{HOLE, fifo, place, read_by_all, written};

/// A recording whose addresses lie in the files of these paths, and which tells no build ids.
fn recording(folder: &Path, paths: &[String]) -> Result<()> {
    written(folder, |part| {
        for (at, path) in paths.iter().enumerate() {
            let (id, at) = (StringId(at as u32 + 1), at as u64);
            part.define(Definition::String { id, text: path.as_bytes() })?;
            let (start, end) = (at << 30, (at + 1) << 30);
            part.define(Definition::Module { start, end, bias: start, path: id, build_id: &[] })?;
        }
        let address = |at: u64| {
            [RawFrame::Native((at << 30) + 0x1000), RawFrame::Native((at << 30) + 0x1008)]
        };
        let frames: Vec<_> = (0..paths.len() as u64).flat_map(address).collect();
        part.define(Definition::Stack { id: StackId(1), frames: &frames })
    })
}

/// Paths that lead to what nobody can read to its end.
pub(super) fn paths() -> Result<Held> {
    let (folder, beside) = place("paths")?;
    let path = |name: &str| beside.join(name);
    fifo(&path("fifo"))?;
    symlink(path("fifo"), path("link"))?;
    let hole = File::create_new(path("hole"))?;
    // A program whose table of symbols and notes are all of the terabyte.
    hole.write_all_at(&library(&[(7, 0, HOLE), (2, 0, HOLE - 24)], &[]), 0)?;
    hole.set_len(HOLE)?;
    let mut paths: Vec<String> = ["fifo", "link", "hole"].map(|name| text(&path(name))).into();
    let others =
        ["/dev/zero", "/dev/stdin", "/dev/tty", "/proc/self/mem", "/proc/kcore", "/", "relative"];
    paths.extend(others.map(str::to_owned));
    recording(&folder, &paths)?;
    let commands = read_by_all(&folder, &beside, input_bytes(&folder)?, "paths of modules")?;
    fs::remove_dir_all(beside)?;
    Ok(Held::new(format!("{} paths passed over", paths.len())).count("commands", commands))
}

/// A name of a function that is 1 GB when it is written out.
pub(super) fn names() -> Result<Held> {
    const DIGITS: &[u8] = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ";
    let mut name = "_Z1fI1aIiiE".to_owned();
    for before in DIGITS.iter().skip(1).take(9).map(|digit| char::from(*digit)) {
        name.push_str(&format!("S0_I{}E", format!("S{before}_").repeat(8)));
    }
    name.push_str("Evv");
    let (folder, beside) = place("names")?;
    let path = beside.join("library");
    File::create_new(&path)?.write_all(&library(&[], name.as_bytes()))?;
    recording(&folder, &[text(&path)])?;
    let bytes = input_bytes(&folder)? + input_bytes(&path)?;
    let whyoom = text(&Build::ready()?.whyoom());
    let shown = Bounded::run(&[&whyoom, "why", "--live", "20", &text(&folder)], None, &[])?;
    let shown = shown.in_bounds(bytes).context("a name that grows")?;
    ensure!(shown.out.contains("_Z1fI1aIiiE"), "the library was not read: {}", shown.out);
    let commands = read_by_all(&folder, &beside, bytes, "a name that grows")?;
    fs::remove_dir_all(beside)?;
    Ok(Held::new(format!("a name of {} bytes left as it is", name.len()))
        .count("commands", commands))
}

/// A library with one function at 0x1000, and sections of the kinds, places and sizes that are given.
fn library(sections: &[(u32, u64, u64)], function: &[u8]) -> Vec<u8> {
    const HEADER: u64 = 64;
    let names = b"\0.symtab\0.strtab\0.shstrtab\0";
    let strings = [b"\0", function, b"\0"].concat();
    let symbol = [
        &1_u32.to_le_bytes()[..],
        &[0x12, 0],
        &1_u16.to_le_bytes(),
        &0x1000_u64.to_le_bytes(),
        &[0; 8],
    ];
    let symbols = [vec![0; 24], symbol.concat()].concat();
    let section = |name: u32, kind: u32, offset: u64, size: u64, link: u32| {
        let words = [name, kind].map(u32::to_le_bytes).concat();
        let places = [0, 0, offset, size].map(u64::to_le_bytes).concat();
        let rest = [link, 1].map(u32::to_le_bytes).concat();
        [words, places, rest, 8_u64.to_le_bytes().into(), 24_u64.to_le_bytes().into()].concat()
    };
    let (at, mut bytes) = (HEADER, vec![0; HEADER as usize]);
    let place = |before: &[u8]| at + before.len() as u64;
    let content = [&names[..], &strings, &symbols].concat();
    let (strings_at, symbols_at) = (place(names), place(&[&names[..], &strings].concat()));
    let mut headers = [
        section(0, 0, 0, 0, 0),
        section(9, 3, strings_at, strings.len() as u64, 0),
        section(17, 3, at, names.len() as u64, 0),
    ]
    .concat();
    let own = section(1, 2, symbols_at, symbols.len() as u64, 1);
    let others: Vec<_> =
        sections.iter().map(|&(kind, at, size)| section(1, kind, at, size, 1)).collect();
    let all = if others.is_empty() { vec![own] } else { others };
    let count = 3 + all.len() as u16;
    headers.extend(all.concat());
    bytes[..7].copy_from_slice(b"\x7fELF\x02\x01\x01");
    bytes[16..20].copy_from_slice(&[3, 0, 62, 0]);
    bytes[40..48].copy_from_slice(&(HEADER + content.len() as u64).to_le_bytes());
    bytes[52..54].copy_from_slice(&64_u16.to_le_bytes());
    bytes[58..60].copy_from_slice(&64_u16.to_le_bytes());
    bytes[60..62].copy_from_slice(&count.to_le_bytes());
    bytes[62..64].copy_from_slice(&2_u16.to_le_bytes());
    [bytes, content, headers].concat()
}
