//! Variables that are set and empty: they count as unset, and nothing is loaded from the current folder for them.

use std::{fs, path::PathBuf};

use anyhow::{Context, Result, ensure};
use harness::{Bounded, Build, Held, empty_folder, text};

/// Tells whether Python finds modules in the current folder.
const PROGRAM: &str = "import json
try:
    import planted
except ImportError:
    print('clean')
else:
    print('planted')
";
/// What another user may have put into the current folder.
const PLANTED: &str = "print('code of the current folder')\n";

/// Runs a command in the folder `cwd`, with a variable set.
const RUN_IN: &str = r#"cd "$1" && export "$2" && shift 2 && exec "$@""#;

/// The commands of whyoom that put a folder on Python's search path.
const COMMANDS: [&[&str]; 6] = [
    &["run", "-q", "--keepers", "--"],
    &["run", "-q", "--modules", "--"],
    &["run", "-q", "--torch-history", "--"],
    &["run", "-q", "--pool", "--"],
    &["run", "-q", "--keepers", "--modules", "--torch-history", "--"],
    &["lab", "run", "--memory", "4GiB", "--"],
];

/// The folders of a check: the current one with what another user put there, and the program's.
struct Folders {
    outer: PathBuf,
    cwd: PathBuf,
}

impl Folders {
    fn new(name: &str) -> Result<Self> {
        let outer = empty_folder(name)?;
        let cwd = outer.join("cwd");
        fs::create_dir(&cwd)?;
        for module in ["planted.py", "json.py"] {
            fs::write(cwd.join(module), PLANTED)?;
        }
        fs::write(outer.join("main.py"), PROGRAM)?;
        Ok(Self { outer, cwd })
    }

    /// Runs words in the current folder with `NAME=VALUE` in the environment.
    fn run(&self, variable: &str, words: &[&str]) -> Result<Bounded> {
        let start = ["sh", "-c", RUN_IN, "-", &text(&self.cwd), variable].map(str::to_owned);
        let start: Vec<&str> = start.iter().map(String::as_str).collect();
        Bounded::run(&[start.as_slice(), words].concat(), None, &[])
    }
}

/// Python finds the same modules with whyoom and without, whatever `PYTHONPATH` is.
pub(super) fn empty_pythonpath() -> Result<Held> {
    let (whyoom, folders) = (text(&Build::ready()?.whyoom()), Folders::new("hostile-pythonpath")?);
    let program = text(&folders.outer.join("main.py"));
    let plain = folders.run("PYTHONPATH=", &["python3", &program])?;
    ensure!(plain.out == "clean\n", "Python itself: {}{}", plain.out, plain.err);
    let mut runs = 0;
    for value in ["", "/no/such/folder", ":"] {
        let variable = format!("PYTHONPATH={value}");
        let expected = folders.run(&variable, &["python3", &program])?.out;
        for command in COMMANDS {
            let words = [&[whyoom.as_str()][..], command, &["python3", &program]].concat();
            let context = || format!("{variable} whyoom {}", command.join(" "));
            let ran = folders.run(&variable, &words)?.in_bounds(0).with_context(context)?;
            ensure!(ran.status == Some(0), "{}: {}", context(), ran.err);
            ensure!(ran.out == expected, "{}: {} and not {expected}", context(), ran.out);
            runs += 1;
        }
    }
    Ok(Held::new("Python finds what it finds without whyoom").count("runs", runs))
}

/// Paths that whyoom leaves in the environment of a program are absolute, and no list has an empty name.
pub(super) fn empty_variables() -> Result<Held> {
    const SHOW: &str = r#"printf '%s\n' "$WHYOOM_LAB" "$LD_LIBRARY_PATH" "$LD_PRELOAD""#;
    const SHOW_POOL: &str = r#"printf '%s\n' "$PYTHONPATH" "$LD_PRELOAD""#;
    let (whyoom, folders) = (text(&Build::ready()?.whyoom()), Folders::new("hostile-variables")?);
    let commands: [&[&str]; 2] = [
        &["lab", "run", "--memory", "4GiB", "--", "sh", "-c", SHOW],
        &["run", "-q", "--pool", "--keepers", "--", "sh", "-c", SHOW_POOL],
    ];
    let mut paths = 0;
    for name in ["TMPDIR", "LD_LIBRARY_PATH", "LD_PRELOAD", "PYTHONPATH"] {
        for command in commands {
            let variable = format!("{name}=");
            let words = [&[whyoom.as_str()][..], command].concat();
            let ran = folders.run(&variable, &words)?.in_bounds(0)?;
            ensure!(ran.status == Some(0), "{variable} {}: {}", words.join(" "), ran.err);
            for path in ran.out.lines().flat_map(|line| line.split(':')) {
                ensure!(path.starts_with('/'), "{variable} {}: {}", words.join(" "), ran.out);
                let in_current = path.starts_with(&text(&folders.cwd)) && command[0] == "lab";
                ensure!(!in_current, "{variable} {}: {}", words.join(" "), ran.out);
                paths += 1;
            }
        }
    }
    Ok(Held::new("absolute, and not in the current folder").count("paths", paths))
}
