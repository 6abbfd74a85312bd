//! Addresses of programs that the tests compile, with a compiler that may be missing.
#![allow(clippy::disallowed_methods, reason = "a test's own files")]

use std::path::{Path, PathBuf};
use std::process::Command;

use object::{Object, ObjectSymbol};
use whyoom_recording::{Module, Resolve};
use whyoom_symbols::Symbols;
use whyoom_trace::Tables;

const SOURCE: &str = r#"
namespace model {
static inline __attribute__((always_inline)) int inner(volatile int *p) {
    return *p + 1;
}
struct Layer {
    template <typename T> __attribute__((noinline)) static T forward(T *p) {
        return inner(p) + 2;
    }
};
}
extern "C" int entry(volatile int *p) { return model::Layer::forward(p); }
extern "C" int other(volatile int *p) { return *p; }
"#;

/// A library compiled with the options given; none where there is no compiler.
fn compile(folder: &Path, name: &str, options: &[&str]) -> Option<PathBuf> {
    let source = folder.join("model.cpp");
    std::fs::write(&source, SOURCE).expect("a source file");
    let out = folder.join(name);
    let built = Command::new("c++")
        .args(["-shared", "-fPIC", "-O2", "-Wl,--build-id"])
        .args(options)
        .arg(&source)
        .arg("-o")
        .arg(&out)
        .status();
    built.ok()?.success().then_some(out)
}

struct File {
    module: Module,
    forward: u64,
}

fn file(path: &Path) -> File {
    let bytes = std::fs::read(path).expect("what was compiled");
    let object = object::File::parse(&*bytes).expect("an object file");
    let symbol = object.symbols().chain(object.dynamic_symbols()).find(|symbol| {
        symbol.name().is_ok_and(|name| name.contains("Layer") && name.contains("forward"))
    });
    File {
        module: Module {
            start: 0x7000_0000,
            end: 0x7100_0000,
            bias: 0x7000_0000,
            path: path.to_string_lossy().into(),
            build_id: object.build_id().ok().flatten().unwrap_or_default().to_vec(),
        },
        forward: symbol.map_or(0, |symbol| symbol.address()),
    }
}

fn named(symbols: &mut Symbols, module: &Module, address: u64) -> Vec<(String, String, u32)> {
    let (mut tables, mut frames) = (Tables::default(), Vec::new());
    symbols.frames(Some(module), module.bias + address, &mut tables, &mut frames);
    let stack = tables.stack(&frames);
    let owned = |frame: whyoom_trace::FrameText<'_>| {
        (frame.function.to_owned(), frame.file.to_owned(), frame.line)
    };
    tables.frames(stack).map(owned).collect()
}

#[test]
fn debug_information_gives_lines_and_inlined_calls() {
    let folder = tempfile::tempdir().expect("a folder");
    let Some(path) = compile(folder.path(), "libmodel.so", &["-g"]) else { return };
    let File { module, forward } = file(&path);
    let frames = named(&mut Symbols::default(), &module, forward);
    let names: Vec<_> =
        frames.iter().map(|(function, _, line)| (function.as_str(), *line)).collect();
    assert_eq!(names, [("inner", 4), ("Layer::forward", 8)]);
    assert!(frames.iter().all(|(_, file, _)| file.ends_with("model.cpp")));
}

#[test]
fn symbols_alone_give_the_function_and_the_library() {
    let folder = tempfile::tempdir().expect("a folder");
    let Some(path) = compile(folder.path(), "libmodel.so", &[]) else { return };
    let File { module, forward } = file(&path);
    let mut symbols = Symbols::default();
    let wanted = [("Layer::forward".to_owned(), "libmodel.so".to_owned(), 0)];
    assert_eq!(named(&mut symbols, &module, forward), wanted);
    let nowhere = named(&mut symbols, &module, 0x10);
    assert_eq!(nowhere, [("libmodel.so+0x10".to_owned(), "libmodel.so".to_owned(), 0)]);
}

#[test]
fn a_file_that_changed_or_went_gives_no_names() {
    let folder = tempfile::tempdir().expect("a folder");
    let Some(path) = compile(folder.path(), "libmodel.so", &[]) else { return };
    let File { module, forward } = file(&path);
    let wanted = [(format!("libmodel.so+{forward:#x}"), "libmodel.so".to_owned(), 0)];
    compile(folder.path(), "libmodel.so", &["-DOTHER", "-O0"]).expect("a second time");
    assert_eq!(named(&mut Symbols::default(), &module, forward), wanted);
    std::fs::write(&path, b"not an object file").expect("written");
    assert_eq!(named(&mut Symbols::default(), &module, forward), wanted);
    std::fs::remove_file(&path).expect("removed");
    assert_eq!(named(&mut Symbols::default(), &module, forward), wanted);
}

#[test]
fn an_address_outside_of_all_modules_is_a_number() {
    let (mut tables, mut frames) = (Tables::default(), Vec::new());
    Symbols::default().frames(None, 0x1234, &mut tables, &mut frames);
    let stack = tables.stack(&frames);
    assert!(tables.frames(stack).map(|frame| frame.function).eq(["0x1234"]));
}
