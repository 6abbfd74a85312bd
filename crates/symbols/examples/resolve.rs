//! Names addresses of a file: `resolve FILE ADDRESS…`, hexadecimal, as the file counts them; with
//! the time it took and the memory it holds.
#![allow(clippy::disallowed_methods, reason = "a file that a developer names")]

use std::time::Instant;

use whyoom_recording::{Module, Resolve};
use whyoom_symbols::Symbols;
use whyoom_trace::Tables;

fn main() {
    let mut arguments = std::env::args().skip(1);
    let path = arguments.next().expect("usage: resolve FILE ADDRESS...");
    let build_id = build_id(&path);
    let module = Module { start: 0, end: u64::MAX, bias: 0, path: path.into(), build_id };
    let (mut symbols, mut tables) = (Symbols::default(), Tables::default());
    let start = Instant::now();
    for address in arguments {
        let address =
            u64::from_str_radix(address.trim_start_matches("0x"), 16).expect("hexadecimal");
        let mut frames = Vec::new();
        symbols.frames(Some(&module), address, &mut tables, &mut frames);
        let stack = tables.stack(&frames);
        for frame in tables.frames(stack) {
            println!("{address:#x} {} {}:{}", frame.function, frame.file, frame.line);
        }
    }
    eprintln!("{:.1} s", start.elapsed().as_secs_f64());
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    for line in
        status.lines().filter(|line| line.starts_with("RssAnon") || line.starts_with("VmHWM"))
    {
        eprintln!("{line}");
    }
}

fn build_id(path: &str) -> Vec<u8> {
    use object::Object;
    let cache = object::ReadCache::new(std::fs::File::open(path).expect("the file"));
    let file = object::File::parse(&cache).expect("an object file");
    file.build_id().ok().flatten().unwrap_or_default().to_vec()
}
