//! Programs in C and C++ that use the pool by its header alone.

use std::process::Command;

use anyhow::{Result, ensure};

use crate::{
    recorder::{
        stage::Stage,
        tally::Tally,
        trial::{Trial, text},
    },
    tools::{must_succeed, root, scratch},
};

/// Each with its compiler and the oldest language that the header promises.
const PROGRAMS: &[(&str, &str, &str)] =
    &[("pool.c", "cc", "-std=c99"), ("resources.cpp", "c++", "-std=c++17")];

pub(super) fn run(stage: &Stage) -> Result<String> {
    let (crate_folder, out) = (root().join("crates/pool"), scratch("pool-header")?);
    let mut tally = Tally::default();
    for (source, compiler, language) in PROGRAMS {
        tally.case(source, || {
            let program = out.join(source).with_extension("");
            let mut build = Command::new(compiler);
            build.args([language, "-g", "-Wall", "-Wextra", "-Werror", "-pthread", "-o"]);
            build.arg(&program).arg(crate_folder.join("tests/header").join(source));
            build.arg("-I").arg(crate_folder.join("include"));
            build.arg("-L").arg(&stage.binaries).args(["-lwhyoom_pool", "-ldl"]);
            build.arg(format!("-Wl,-rpath,{}", stage.binaries.display()));
            must_succeed(&mut build)?;
            let ran = Trial::new("2GiB", &[text(&program)]).plain(stage)?;
            let held = ran.status == 0 && ran.stdout.contains("holds");
            ensure!(held, "ended with {}:\n{}{}", ran.status, ran.stdout, ran.stderr);
            Ok(format!("{compiler} {language}: holds"))
        });
    }
    Ok(format!("{} programs written against the header work", tally.all()?))
}
