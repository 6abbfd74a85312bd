//! Wine, with a folder of its own for what it takes for Windows.

use std::{
    fs,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use anyhow::{Context, Result, ensure};
use harness::{cache, must_succeed};

/// What only Linux has.
const NEED_LINUX: [&str; 8] = ["run", "attach", "fit", "who", "top", "doctor", "lab", "mcp"];
/// The status of arguments that are wrong.
const MISUSED: i32 = 2;

/// Rust's library asks it for random bytes. Wine has it since 9.0; an older one gets these lines.
const PRIMITIVES: &str = "bcryptprimitives.dll";
const PRIMITIVES_SOURCE: &str = r#"#include <windows.h>
BOOLEAN NTAPI SystemFunction036(PVOID, ULONG);
__declspec(dllexport) BOOL WINAPI ProcessPrng(PBYTE bytes, SIZE_T length) {
    return SystemFunction036(bytes, (ULONG)length);
}
"#;

/// A command for Windows that can be run here.
pub(in crate::anywhere) struct Wine {
    wine: PathBuf,
    prefix: PathBuf,
    program: PathBuf,
}

impl Wine {
    /// Has a copy of a program ready in a folder.
    pub(in crate::anywhere) fn with(program: &Path, folder: &Path) -> Result<Self> {
        // Debian's script in the path asks for the Wine for 32 bits.
        let known = [
            "/usr/lib/wine/wine64",
            "/opt/wine-stable/bin/wine64",
            "/usr/bin/wine64",
            "/usr/bin/wine",
        ];
        let wine = known.iter().map(PathBuf::from).find(|path| path.is_file());
        let wine = wine.context("Wine is not installed: apt-get install wine64")?;
        let copy = folder.join("whyoom.exe");
        fs::copy(program, &copy).with_context(|| program.display().to_string())?;
        let prefix = cache().join("wine");
        fs::create_dir_all(&prefix)?;
        let wine = Self { wine, prefix, program: copy };
        // Makes the folder where it is new, before two ask for it.
        let version = wine.version();
        if version.is_err() {
            wine.add_primitives(folder)?;
        }
        let version = version.or_else(|_| wine.version())?;
        println!("{} under {}\n", version.trim(), wine.wine.display());
        Ok(wine)
    }

    /// The program under Wine, to which arguments can be added.
    pub(in crate::anywhere) fn command(&self) -> Command {
        let mut command = Command::new(&self.wine);
        command.arg(&self.program).env("WINEPREFIX", &self.prefix).env("WINEDEBUG", "-all");
        command.env_remove("DISPLAY");
        command
    }

    /// Every command that needs Linux says so in one line, and is in the help; how many there are.
    pub(super) fn refuses_what_needs_linux(&self) -> Result<usize> {
        let help = self.command().arg("--help").output()?;
        let help = String::from_utf8(help.stdout)?;
        for name in NEED_LINUX {
            ensure!(help.contains(&format!("\n  {name} ")), "{name} is not in the help:\n{help}");
            let output = self.command().args([name, "--json", "7", "--", "x"]).output()?;
            let said = String::from_utf8(output.stderr)?;
            let begin = format!("whyoom: whyoom {name} needs Linux: ");
            let is_line = said.starts_with(&begin) && said.lines().count() == 1;
            ensure!(is_line && output.stdout.is_empty(), "{name} says: {said}");
            let status = output.status.code();
            ensure!(status == Some(MISUSED), "{name} ends with {status:?}");
        }
        Ok(NEED_LINUX.len())
    }

    fn version(&self) -> Result<String> {
        let output = self.command().arg("--version").stdin(Stdio::null()).output()?;
        let said = String::from_utf8_lossy(&output.stdout).into_owned();
        let errors = String::from_utf8_lossy(&output.stderr);
        ensure!(
            output.status.success() && said.starts_with("whyoom "),
            "the command does not start under Wine ({}): {said}{errors}",
            output.status
        );
        Ok(said)
    }

    fn add_primitives(&self, folder: &Path) -> Result<()> {
        let source = folder.join("primitives.c");
        fs::write(&source, PRIMITIVES_SOURCE)?;
        let mut compile = Command::new("x86_64-w64-mingw32-gcc");
        compile.args(["-shared", "-o"]).arg(folder.join(PRIMITIVES)).arg(source).arg("-ladvapi32");
        must_succeed(&mut compile)
    }
}
