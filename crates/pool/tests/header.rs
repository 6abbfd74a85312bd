//! The C header and the C++ one: they compile by themselves, the library has all that they name, and programs
//! that know nothing else work, or say that there is no GPU.
//!
//! `cargo xtask pool` runs the same programs on the simulated GPU, where they must reach their end.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// Where the library lies that was built for this test: target/PROFILE/deps.
fn libraries() -> PathBuf {
    let test = std::env::current_exe().expect("a test has a file");
    test.parent().expect("in a folder").to_owned()
}

fn here(name: &str) -> PathBuf {
    Path::new(".").join(name)
}

/// The program, compiled with every warning an error and linked with nothing left undefined.
fn build(compiler: &str, standard: &str, source: &str) -> PathBuf {
    let program = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(source).with_extension("program");
    std::fs::create_dir_all(program.parent().expect("in a folder")).expect("a folder");
    let libraries = libraries();
    let output = Command::new(compiler)
        .args([standard, "-pedantic", "-Wall", "-Wextra", "-Werror", "-I"])
        .arg(here("include"))
        .arg(here("tests").join(source))
        .arg("-L")
        .arg(&libraries)
        .args(["-lwhyoom_pool", "-ldl", "-lpthread", "-o"])
        .arg(&program)
        .output()
        .expect("a C and a C++ compiler are installed");
    assert!(output.status.success(), "{source}: {}", text(&output.stderr));
    program
}

/// Status 0 on a machine with a GPU, else 3: the program found nothing that does not hold.
fn run(program: &Path) {
    let output: Output = Command::new(program)
        .env("LD_LIBRARY_PATH", libraries())
        .env_remove("LD_PRELOAD")
        .output()
        .expect("the program starts");
    let said = text(&output.stdout);
    let holds = match output.status.code() {
        Some(0) => said == "holds\n",
        Some(3) => said.starts_with("no GPU: "),
        _ => false,
    };
    assert!(holds, "{}: {said}{}", output.status, text(&output.stderr));
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

#[test]
fn the_c_header() {
    run(&build("cc", "-std=c99", "header/pool.c"));
}

#[test]
fn the_cpp_header() {
    run(&build("c++", "-std=c++17", "header/resources.cpp"));
}
