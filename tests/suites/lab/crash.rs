//! Processes of a lab are killed at random moments: afterwards every byte is accounted for, and no
//! lock is stuck.

use std::{
    fs,
    io::ErrorKind,
    ops::Range,
    os::unix::process::ExitStatusExt,
    path::{Path, PathBuf},
    process::{Child, Command},
    sync::mpsc,
    thread,
    time::{Duration, Instant},
};

use anyhow::{Context, Result, ensure};
use harness::{Build, Held, Random, fresh};
use whyoom_lab_core::{
    machine::{DeviceSpec, Holder, Machine, MachineSpec},
    models,
    session::Session,
};

/// What the claim says.
const PROCESSES: usize = 8;
const OPERATIONS: u64 = 1_000_000;
/// Where the machine is too slow for them, the test fails after so many times its length.
const PATIENCE: u32 = 4;

const DEVICES: usize = 2;
/// Small contexts leave most of the memory to the operations, which fill it now and then.
const MODEL: &str = "rtx-4060-ti";
const TOTAL: u64 = 4 << 30;

/// The time between two kills, in milliseconds.
const PAUSE: Range<u64> = 20..100;
/// One time in so many all are killed at once: whoever cleans up after one dies too.
const ALL_AT_ONCE: u64 = 16;
/// The machine answers within this, whoever was killed: the kernel hands a dead process's lock on.
/// It takes milliseconds; but the lock is not fair, and a stuck one is stuck for ever.
const ANSWER: Duration = Duration::from_secs(5);
/// What one process does alone at the end, to show that a living one gives all back.
const ALONE: u64 = 20_000;
const SIGKILL: i32 = 9;

pub(super) fn run(seconds: u64) -> Result<Held> {
    let binaries = Build::ready()?.folder();
    let model = models::find(MODEL).context("no such model")?;
    let device = DeviceSpec::of(model).with_total(TOTAL);
    let spec = MachineSpec { devices: vec![device; DEVICES], ..MachineSpec::default() };
    let session = Session::start(&spec, binaries, None)?;
    let machine = session.machine();
    let mut crowd = Crowd::new(&session, seconds)?;
    let started = Instant::now();
    let length = Duration::from_secs(seconds);
    while started.elapsed() < length || crowd.operations()? < OPERATIONS {
        ensure!(
            started.elapsed() < length * PATIENCE,
            "only {} of {OPERATIONS} operations after {:?}",
            crowd.operations()?,
            started.elapsed()
        );
        crowd.replace_some()?;
        (0..DEVICES).try_for_each(|device| check(machine, device).map(drop))?;
    }
    crowd.kill(PROCESSES)?;
    nothing_left(machine).context("after the last kill")?;
    crowd.run_to_end(&["fill"])?;
    nothing_left(machine).context("after a process that took all")?;
    let progress = crowd.progress.to_string_lossy().into_owned();
    crowd.run_to_end(&["churn", "1", &progress, &ALONE.to_string()])?;
    nothing_left(machine).context("after a process that gave all back")?;
    let figure = format!("{} kills, {} operations, 0 bytes left", crowd.kills, crowd.done);
    Ok(Held::new(figure).count("kills", crowd.kills).count("operations", crowd.done))
}

/// The processes that run at the moment. None outlives this value.
struct Crowd<'a> {
    session: &'a Session,
    client: PathBuf,
    /// The beginning of the names of the files in which the processes count.
    progress: PathBuf,
    random: Random,
    running: Vec<Child>,
    kills: u64,
    /// The operations of processes that have ended.
    done: u64,
}

impl<'a> Crowd<'a> {
    fn new(session: &'a Session, seconds: u64) -> Result<Self> {
        // Files of a run that was broken off would be counted once more.
        let folder = fresh(&format!("crash-{seconds}"))?;
        fs::create_dir(&folder)?;
        let mut crowd = Self {
            session,
            client: Build::ready()?.file("whyoom-lab-client"),
            progress: folder.join("progress"),
            random: Random::default(),
            running: Vec::new(),
            kills: 0,
            done: 0,
        };
        for _ in 0..PROCESSES {
            crowd.start_one()?;
        }
        Ok(crowd)
    }

    fn command(&self) -> Command {
        self.session.command(self.client.as_os_str())
    }

    fn start_one(&mut self) -> Result<()> {
        let seed = self.random.within(0..u64::MAX).to_string();
        let child = self.command().arg("churn").arg(seed).arg(&self.progress).spawn();
        let child = child.with_context(|| format!("cannot run {}", self.client.display()))?;
        self.running.push(child);
        Ok(())
    }

    /// Kills one of them at a random moment, or all, and starts as many.
    fn replace_some(&mut self) -> Result<()> {
        thread::sleep(Duration::from_millis(self.random.within(PAUSE)));
        let all = self.random.within(0..ALL_AT_ONCE) == 0;
        let count = if all { PROCESSES } else { 1 };
        self.kill(count)?;
        (0..count).try_for_each(|_| self.start_one())
    }

    fn kill(&mut self, count: usize) -> Result<()> {
        let chosen = self.random.within(0..self.running.len() as u64) as usize;
        self.running.rotate_left(chosen);
        self.running[..count].iter_mut().try_for_each(Child::kill)?;
        let victims: Vec<Child> = self.running.drain(..count).collect();
        victims.into_iter().try_for_each(|victim| self.bury(victim))
    }

    fn bury(&mut self, mut victim: Child) -> Result<()> {
        let status = victim.wait()?;
        ensure!(
            status.signal() == Some(SIGKILL),
            "a process ended by itself with {status}; its message stands above"
        );
        self.kills += 1;
        let counted = self.counter(victim.id());
        self.done += operations_in(&counted)?;
        // Absent where it was killed before it had begun.
        let _ = fs::remove_file(counted);
        Ok(())
    }

    fn counter(&self, pid: u32) -> PathBuf {
        self.progress.with_added_extension(pid.to_string())
    }

    fn operations(&self) -> Result<u64> {
        let running = self.running.iter().map(|child| operations_in(&self.counter(child.id())));
        Ok(self.done + running.sum::<Result<u64>>()?)
    }

    fn run_to_end(&self, arguments: &[&str]) -> Result<()> {
        let status = self.command().args(arguments).status()?;
        ensure!(status.success(), "{arguments:?}: {status}");
        Ok(())
    }
}

impl Drop for Crowd<'_> {
    fn drop(&mut self) {
        for child in &mut self.running {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

/// The first eight bytes of a process's file, which is not there before it has begun.
fn operations_in(counter: &Path) -> Result<u64> {
    match fs::read(counter) {
        Ok(bytes) => Ok(bytes.first_chunk().map_or(0, |count| u64::from_ne_bytes(*count))),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(0),
        Err(error) => Err(error.into()),
    }
}

/// What is used on a device and by whom, if that is possible.
fn check(machine: Machine, device: usize) -> Result<(u64, Vec<Holder>)> {
    let used = answered(move || machine.used(device))?;
    let holders = answered(move || machine.holders(device))?;
    ensure!(used <= TOTAL, "device {device}: {used} bytes in use of {TOTAL}");
    let strange = holders.iter().find(|holder| holder.bytes > TOTAL);
    ensure!(strange.is_none(), "device {device}: {strange:?}");
    Ok((used, holders))
}

fn nothing_left(machine: Machine) -> Result<()> {
    for device in 0..DEVICES {
        let (used, holders) = check(machine, device)?;
        ensure!(
            used == 0 && holders.is_empty(),
            "device {device}: {used} bytes are left, held by {holders:?}"
        );
    }
    Ok(())
}

/// Asks on a thread of its own: where a lock is stuck the thread is too, and this process is not.
fn answered<T: Send + 'static>(question: impl FnOnce() -> T + Send + 'static) -> Result<T> {
    let (sender, receiver) = mpsc::channel();
    thread::spawn(move || sender.send(question()));
    let stuck = || format!("no answer in {ANSWER:?}: a lock is stuck");
    receiver.recv_timeout(ANSWER).with_context(stuck)
}
