//! A running lab with processes that hold memory, none of which outlives it.

use std::{
    ffi::{OsStr, OsString},
    io::{BufRead, BufReader, Lines, Write},
    path::{Path, PathBuf},
    process::{Child, ChildStdout, Command, Output, Stdio},
    thread,
    time::{Duration, Instant},
};

use anyhow::{Context, Result, ensure};
use whyoom_lab_core::machine::Machine;

use crate::{
    build::Build,
    checkout::{root, text},
    documents::Who,
    programs::CProgram,
};

/// Tells how the lab is reached from outside, and keeps it until the input ends.
const KEEP: &str = r#"printf '%s\n' "$WHYOOM_LAB" "$LD_LIBRARY_PATH" "$LD_PRELOAD"; exec cat"#;
const VARIABLES: [&str; 3] = ["WHYOOM_LAB", "LD_LIBRARY_PATH", "LD_PRELOAD"];

/// What ends has given its memory back by then.
const PATIENCE: Duration = Duration::from_secs(10);

/// What all scenes need.
#[derive(Debug, Clone)]
pub struct Stage {
    /// The build, as every user can read it.
    pub build: Build,
    /// The program that holds memory in the shape that a situation asks for.
    pub holder: PathBuf,
}

impl Stage {
    /// Builds the holder. Orphans of the scenes are given to this process.
    pub fn ready() -> Result<Self> {
        collect_orphans()?;
        let holder = CProgram::new("tests/scenarios/who/holder.c")?.built()?;
        Ok(Self { build: Build::readable()?, holder })
    }
}

/// Orphans are given to this process, under a name that is known for that: who else would get them
/// differs from machine to machine.
fn collect_orphans() -> Result<()> {
    rustix::process::set_child_subreaper(Some(rustix::process::getpid()))?;
    // The process's name is its first thread's, which may not be this one.
    Ok(std::fs::write("/proc/self/comm", "tini")?)
}

/// A lab and who holds memory in it.
pub struct Scene {
    whyoom: PathBuf,
    holder: PathBuf,
    /// `whyoom lab run`, which ends when its input does.
    lab: Child,
    variables: Vec<(&'static str, String)>,
    machine: Machine,
    /// What was started; some of it only to start what holds.
    started: Vec<Child>,
}

impl Scene {
    /// Starts a lab by the command that people use.
    pub fn start(stage: &Stage, flags: &[&str]) -> Result<Self> {
        let whyoom = stage.build.whyoom();
        let mut lab = Command::new(&whyoom)
            // Some of those who hold memory or look are other users.
            .args(["lab", "run", "--shared"])
            .args(flags)
            .args(["--", "sh", "-c", KEEP])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()?;
        let lines = lines_of(&mut lab)?.take(VARIABLES.len()).collect::<Result<Vec<_>, _>>()?;
        ensure!(lines.len() == VARIABLES.len(), "the lab did not start: whyoom lab run {flags:?}");
        let machine = Machine::open(Path::new(&lines[0]))?;
        let variables = VARIABLES.into_iter().zip(lines).collect();
        let holder = stage.holder.clone();
        Ok(Self { whyoom, holder, lab, variables, machine, started: Vec::new() })
    }

    /// A command that runs in the lab.
    pub fn command(&self, program: impl AsRef<OsStr>) -> Command {
        let mut command = Command::new(program);
        command.envs(self.variables.iter().map(|(name, value)| (name, value)));
        command.env("PYTHONDONTWRITEBYTECODE", "1").stdin(Stdio::null());
        command
    }

    /// The device as the lab knows it, by another way than NVML.
    #[must_use]
    pub fn machine(&self) -> &Machine {
        &self.machine
    }

    /// What the lab says that a process holds on a device.
    pub fn held(&self, device: usize, pid: u32) -> Result<u64> {
        let holders = self.machine.holders(device);
        let found = holders.iter().find(|holder| holder.pid == pid);
        Ok(found.with_context(|| format!("the lab does not know process {pid}"))?.bytes)
    }

    /// Starts a holder and tells its number once it holds what it should.
    pub fn hold(&mut self, arguments: &[&str]) -> Result<u32> {
        let program = self.holder.clone();
        Ok(self.hold_as(&program, arguments, 1)?[0])
    }

    /// The same under another name of the program, and for several processes.
    pub fn hold_as(
        &mut self,
        program: &Path,
        arguments: &[&str],
        count: usize,
    ) -> Result<Vec<u32>> {
        let mut command = self.command(program);
        let mut child =
            command.args(arguments).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?;
        let lines = lines_of(&mut child);
        self.started.push(child);
        let numbers = lines?.take(count).map(|line| Ok(line?.parse()?));
        let numbers = numbers.collect::<Result<Vec<_>>>()?;
        ensure!(numbers.len() == count, "{} {arguments:?} holds nothing", program.display());
        Ok(numbers)
    }

    /// `whyoom who --json`, behind other commands where some are given.
    pub fn who(&self, before: &[&str]) -> Result<Who> {
        let whyoom = text(&self.whyoom);
        let words = [before, &[whyoom.as_str(), "who", "--json"]].concat();
        Who::read(&self.output(&words)?).with_context(|| words.join(" "))
    }

    /// What a command in the lab gives back.
    pub fn output(&self, words: &[&str]) -> Result<Output> {
        let (program, arguments) = words.split_first().context("no command")?;
        self.command(program).args(arguments).output().with_context(|| words.join(" "))
    }

    /// Runs what `whyoom who` printed as it stands, in a terminal, and says yes where it asks; true once
    /// no more than that is in use.
    pub fn obey(
        &self,
        command: &str,
        device: usize,
        expected: u64,
        variables: &[(&str, &Path)],
    ) -> Result<bool> {
        let mut terminal = self.command("script");
        terminal.args(["--quiet", "--return", "--command", command, "/dev/null"]);
        terminal.env("PATH", self.search_path()?).envs(variables.iter().copied());
        terminal.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut running = terminal.spawn()?;
        writeln!(running.stdin.take().context("no input")?, "y")?;
        let output = running.wait_with_output()?;
        let said = String::from_utf8_lossy(&output.stdout);
        ensure!(output.status.success(), "{command}: {}: {said}", output.status);
        let until = Instant::now() + PATIENCE;
        while self.machine.used(device) > expected && Instant::now() < until {
            thread::sleep(Duration::from_millis(20));
        }
        Ok(self.machine.used(device) <= expected)
    }

    /// Where commands are found: `whyoom` as it is built, and what stands in for the control program
    /// of the multi-process service.
    fn search_path(&self) -> Result<OsString> {
        let own = [self.whyoom.parent().unwrap_or(Path::new("/")).to_path_buf()];
        let usual = std::env::var_os("PATH").unwrap_or_default();
        let folders = own.into_iter().chain([root().join("tests/scenarios/who")]);
        Ok(std::env::join_paths(folders.chain(std::env::split_paths(&usual)))?)
    }

    /// The command as it is built.
    #[must_use]
    pub fn whyoom(&self) -> &Path {
        &self.whyoom
    }
}

impl Drop for Scene {
    fn drop(&mut self) {
        // All that holds ends with its input, whatever has become of its parent, state and name.
        for child in &mut self.started {
            drop(child.stdin.take());
        }
        for child in self.started.iter_mut().chain([&mut self.lab]) {
            drop(child.stdin.take());
            // By itself, in nearly no time; by force where that fails.
            let until = Instant::now() + PATIENCE;
            while matches!(child.try_wait(), Ok(None)) && Instant::now() < until {
                thread::sleep(Duration::from_millis(5));
            }
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

fn lines_of(child: &mut Child) -> Result<Lines<BufReader<ChildStdout>>> {
    Ok(BufReader::new(child.stdout.take().context("no output")?).lines())
}
