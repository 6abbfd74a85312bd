//! A program of `tests/scenarios/attach` that runs on a simulated GPU, and `whyoom attach` beside it.

use std::{
    fs::{self, File},
    io::{Read, Seek, SeekFrom},
    path::{Path, PathBuf},
    process::{Child, Command, ExitStatus, Output, Stdio},
    thread,
    time::{Duration, Instant},
};

use anyhow::{Context, Result, bail, ensure};
use harness::{Build, Ran, Trial, empty_folder, python, root, text};

/// PyTorch is imported by then.
const READY: Duration = Duration::from_secs(120);
/// What the lab says of itself.
const LAB: &str = "whyoom lab:";

/// An interpreter that every user can run, without PyTorch.
const SYSTEM_PYTHON: &str = "/usr/bin/python3";

/// A program that runs.
pub(super) struct Program {
    child: Child,
    folder: PathBuf,
    /// It ends when this file is there.
    stop: PathBuf,
    /// The process itself, below the lab's.
    pub(super) pid: u32,
    /// What PyTorch held when it was ready.
    pub(super) held: u64,
}

impl Program {
    /// Starts one on a simulated GPU for a check, and waits until it is ready.
    pub(super) fn start(check: &str, name: &str, words: &[&str]) -> Result<Self> {
        let mut command = Command::new(Build::ready()?.whyoom());
        command.args(["lab", "run", "--memory", "8GiB", "--"]).arg(python()?).arg(script(name));
        Self::started(command, check, None, words)
    }

    /// Starts one that needs no GPU, as another user.
    pub(super) fn start_as(check: &str, user: &[&str], name: &str) -> Result<Self> {
        // Where that user can read it.
        let folder = Build::readable()?.folder().join("attach").join(check);
        fs::create_dir_all(&folder)?;
        for file in [name, "common"] {
            fs::copy(script(file), folder.join(format!("{file}.py")))?;
        }
        let mut command = Command::new(user[0]);
        command.args(&user[1..]).arg(SYSTEM_PYTHON).arg(folder.join(format!("{name}.py")));
        Self::started(command, check, Some(folder.join("stop")), &["as-another"])
    }

    /// Two checks that run at a time may start the same program: each has a folder of its own. Another user sees
    /// nothing in it, and is told elsewhere when to stop.
    fn started(
        mut command: Command,
        check: &str,
        stop: Option<PathBuf>,
        words: &[&str],
    ) -> Result<Self> {
        let folder = empty_folder(&format!("attach/{check}"))?;
        let stop = stop.unwrap_or_else(|| folder.join("stop"));
        if stop.exists() {
            fs::remove_file(&stop)?;
        }
        let (out, err) = (folder.join("out"), folder.join("err"));
        command.arg(&stop).args(words);
        command.env("PYTHONDONTWRITEBYTECODE", "1").stdin(Stdio::null());
        let child = command.stdout(File::create(&out)?).stderr(File::create(&err)?).spawn()?;
        let mut program = Self { child, folder, stop, pid: 0, held: 0 };
        let until = Instant::now() + READY;
        while program.pid == 0 {
            let said = fs::read_to_string(&out)?;
            if let Some((first, _)) = said.split_once('\n') {
                (program.pid, program.held) = read_ready(first)?;
            }
            let waits = Instant::now() < until && program.child.try_wait()?.is_none();
            ensure!(
                program.pid != 0 || waits,
                "the program of {check} is not ready: {}",
                fs::read_to_string(&err)?
            );
            thread::sleep(Duration::from_millis(5));
        }
        Ok(program)
    }

    /// Attaches to it, and reads the document.
    pub(super) fn attach(&self, options: &[&str]) -> Result<Output> {
        self.attach_as(&[], options)
    }

    /// The same, run behind other words.
    pub(super) fn attach_as(&self, before: &[&str], options: &[&str]) -> Result<Output> {
        attach(before, self.pid, &self.folder.join("attached"), options)
    }

    /// Where what was found is.
    pub(super) fn found(&self) -> PathBuf {
        self.folder.join("attached")
    }

    /// Tells it to end, and how it ended.
    pub(super) fn end(mut self) -> Result<Ran> {
        File::create(&self.stop)?;
        self.wait()
    }

    /// Waits until it has ended.
    pub(super) fn wait(&mut self) -> Result<Ran> {
        let status = self.ended_in_time()?.code().context("the lab was killed")?;
        let read = |name: &str| fs::read_to_string(self.folder.join(name));
        let lines = |text: String, left_out: &str| -> String {
            let lines = text.lines().filter(|line| !line.starts_with(left_out));
            lines.map(|line| format!("{line}\n")).collect()
        };
        Ok(Ran { status, stdout: lines(read("out")?, "ready "), stderr: lines(read("err")?, LAB) })
    }

    /// One that does not end is a failure, and is ended: a check that waits for it would tell nothing.
    fn ended_in_time(&mut self) -> Result<ExitStatus> {
        let until = Instant::now() + READY;
        loop {
            if let Some(status) = self.child.try_wait()? {
                return Ok(status);
            }
            if Instant::now() > until {
                let _ = Command::new("kill").args(["-KILL", &self.pid.to_string()]).status();
                self.child.kill()?;
                self.child.wait()?;
                bail!("the program (PID {}) does not end", self.pid);
            }
            thread::sleep(Duration::from_millis(5));
        }
    }
}

impl Drop for Program {
    /// Where a check failed, the program must not stay.
    fn drop(&mut self) {
        let _ = File::create(&self.stop);
        let _ = self.ended_in_time();
    }
}

/// Runs the command. What an earlier one found is gone.
pub(super) fn attach(before: &[&str], pid: u32, folder: &Path, options: &[&str]) -> Result<Output> {
    if folder.exists() {
        fs::remove_dir_all(folder)?;
    }
    let build = if before.is_empty() { Build::ready()?.clone() } else { Build::readable()? };
    let whyoom = text(&build.whyoom());
    let (pid, folder) = (pid.to_string(), text(folder));
    let own = [whyoom.as_str(), "attach", &pid, "--json", "-o", &folder];
    let words = [before, &own, options].concat();
    let mut command = Command::new("timeout");
    Ok(command.args(["--kill-after=10", "120"]).args(words).stdin(Stdio::null()).output()?)
}

/// How the program ends when nobody attaches to it.
pub(super) fn alone(check: &str, name: &str, words: &[&str]) -> Result<Ran> {
    let folder = empty_folder(&format!("attach/{check}-alone"))?;
    let stop = folder.join("stop");
    File::create(&stop)?;
    let script = text(&script(name));
    let mut command = vec![python()?, script, text(&stop)];
    command.extend(words.iter().map(|word| (*word).to_owned()));
    let mut ran = Trial::new("8GiB", &command).plain_shared()?;
    let own = ran.stdout.lines().filter(|line| !line.starts_with("ready "));
    ran.stdout = own.map(|line| format!("{line}\n")).collect();
    Ok(ran)
}

fn script(name: &str) -> PathBuf {
    root().join(format!("tests/scenarios/attach/{name}.py"))
}

/// `ready PID BYTES`
fn read_ready(line: &str) -> Result<(u32, u64)> {
    let words: Vec<&str> = line.split(' ').collect();
    let ["ready", pid, held] = words[..] else { bail!("the program said “{line}”") };
    Ok((pid.parse()?, held.parse()?))
}

/// Folders of visits in /tmp: those of other checks, too.
pub(super) fn leftovers() -> Result<Vec<PathBuf>> {
    let folders = fs::read_dir("/tmp")?.flatten().map(|entry| entry.path());
    Ok(folders.filter(|folder| text(folder).starts_with("/tmp/whyoom-attach-")).collect())
}

/// What a process has open.
pub(super) fn open_files(pid: u32) -> Result<Vec<PathBuf>> {
    let open = fs::read_dir(format!("/proc/{pid}/fd"))?.flatten();
    // One may be closed meanwhile.
    Ok(open.filter_map(|file| fs::read_link(file.path()).ok()).collect())
}

/// Whether the variables of a process's interpreter, or what lies behind them, have this text.
pub(super) fn is_in_memory(pid: u32, text: &[u8]) -> Result<bool> {
    let maps = fs::read_to_string(format!("/proc/{pid}/maps"))?;
    let mut memory = File::open(format!("/proc/{pid}/mem"))?;
    let mut is_named = false;
    for line in maps.lines() {
        // The variables of an image go on in the mapping behind it, which has no name.
        let belongs = is_named || line.contains("python");
        is_named = line.contains("python");
        if !belongs || !line.contains("rw-p") {
            continue;
        }
        let range = line.split(' ').next().and_then(|range| range.split_once('-'));
        let (start, end) = range.context("a line of maps")?;
        let (start, end) = (u64::from_str_radix(start, 16)?, u64::from_str_radix(end, 16)?);
        memory.seek(SeekFrom::Start(start))?;
        let mut bytes = Vec::new();
        (&mut memory).take(end - start).read_to_end(&mut bytes)?;
        if bytes.windows(text.len()).any(|window| window == text) {
            return Ok(true);
        }
    }
    Ok(false)
}
