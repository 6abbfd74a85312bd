//! The C programs of `tests/scenarios/recorder`, each built when it is first needed.

use std::{
    fs,
    os::unix::fs::symlink,
    path::{Path, PathBuf},
    process::Command,
};

use anyhow::{Context, Result};
use harness::{Build, CProgram, cuda, must_succeed, once, root, scratch, stamp_of, text};

/// What the lab has in place of the driver.
const DRIVER: &str = "libwhyoom_lab_cuda.so";

/// A scenario of the recorder's own.
pub(super) fn source(name: &str) -> PathBuf {
    root().join("tests/scenarios/recorder").join(name)
}

/// A program that reaches the driver at run time.
pub(super) fn program(name: &str) -> Result<String> {
    let mut program = CProgram::new(&format!("tests/scenarios/recorder/{name}.c"))?;
    program.name = format!("recorder-{name}");
    Ok(text(&program.built()?))
}

/// The program that names the driver when it is linked.
pub(super) fn linked() -> Result<String> {
    let mut program = CProgram::new("tests/scenarios/recorder/ways.c")?;
    program.name = "recorder-linked".to_owned();
    let driver = text(&Build::ready()?.file(DRIVER));
    program.flags = vec!["-DLINKED".to_owned(), "-ldl".to_owned(), driver];
    Ok(text(&program.built()?))
}

/// Program 10, which has no kernel, with a runtime linked in.
pub(super) fn linked_statically(name: &str, runtime: &Path) -> Result<String> {
    let program = scratch("programs")?.join(name);
    let source = root().join("tests/scenarios/cuda/program10.cu");
    once(name, &stamp_of(&[source.clone(), runtime.to_owned()])?, || {
        let mut compiler = Command::new("c++");
        compiler.args(["-O0", "-g", "-x", "c++"]).arg(&source).arg("-I");
        compiler.arg(cuda()?.join("include")).args(["-x", "none"]).arg(runtime);
        must_succeed(compiler.args(["-lpthread", "-ldl", "-lrt", "-lm", "-o"]).arg(&program))
    })?;
    Ok(text(&program))
}

/// The folder with a driver that counts look-ups, before the lab's.
pub(super) fn counting_driver() -> Result<PathBuf> {
    let folder = scratch("recorder-counting")?;
    let (source, lab) = (source("counting_driver.c"), Build::ready()?.file(DRIVER));
    let stamp = stamp_of(&[source.clone(), lab.clone()])?;
    once("recorder-counting", &stamp, || put_counting_driver(&folder, &source, &lab))?;
    Ok(folder)
}

/// The counting driver depends on the lab's under another name. When it is linked, an empty library
/// has that name: the lab's own would be noted by the name that it carries.
fn put_counting_driver(folder: &Path, source: &Path, lab: &Path) -> Result<()> {
    let behind = folder.join("libreal_cuda.so");
    let _ = fs::remove_file(&behind);
    let mut empty = Command::new("cc");
    empty.args(["-shared", "-Wl,-soname,libreal_cuda.so", "-o"]).arg(&behind);
    must_succeed(empty.args(["-x", "c", "/dev/null"]))?;
    let mut counting = Command::new("cc");
    counting.args(["-O1", "-g", "-Wall", "-Wextra", "-Werror", "-shared", "-fPIC", "-o"]);
    counting.arg(folder.join("libcuda.so.1")).arg(source);
    counting.args(["-fuse-ld=bfd", "-Wl,--default-symver", "-Wl,-soname,libcuda.so.1"]);
    must_succeed(counting.arg("-Wl,--no-as-needed").arg(&behind))?;
    fs::remove_file(&behind)?;
    symlink(lab, behind).context("cannot put the lab's driver in place")
}
