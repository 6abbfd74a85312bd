//! A program, run on a simulated GPU without a limit until its peak is known.

use std::{
    ffi::{OsStr, OsString},
    fs::File,
    io,
    num::NonZero,
    path::{Path, PathBuf},
    process::{Command, Stdio},
    thread::ScopedJoinHandle,
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use anyhow::{Context, Result, anyhow, bail};
use indicatif::{MultiProgress, ProgressBar, ProgressStyle};
use rustix::process::Pid;
use whyoom_allocators::policies::pytorch::AllocatorConf;
use whyoom_files::private;
use whyoom_lab_core::{
    machine::{DeviceSpec, MachineSpec},
    models::GpuModel,
    session::Session,
};
use whyoom_memory::Model;
use whyoom_redact::mask_words;
use whyoom_trace::Bytes;

use super::{
    ending::{Ending, Watched},
    interrupt,
    observed::Observed,
    tree,
};
use crate::{
    arguments::FitArguments,
    lab::{assembler, cannot_start, libraries, small_values},
    parent, sitecustomize,
    unstartable::Unstartable,
};

/// What Python runs before the program.
const STARTUP: &str = include_str!("startup.py");
/// More than any program asks for, so that none runs out.
const WITHOUT_LIMIT: u64 = 1 << 40;
/// Copies of weights to the device are of no use there: nothing is computed with them.
const LARGEST_KEPT_COPY: u64 = 1 << 20;
/// Each takes a gigabyte of the host's memory or so.
const MOST_AT_A_TIME: usize = 8;
const GLANCE: Duration = Duration::from_millis(50);

/// A command whose words may still hold `{NAME}`.
#[derive(Clone, Debug)]
pub(crate) struct Program {
    words: Vec<OsString>,
}

impl Program {
    pub(crate) fn new(words: &[OsString]) -> Result<Self> {
        if words.is_empty() {
            bail!("no command");
        }
        Ok(Self { words: words.to_vec() })
    }

    /// The command with a value in place of `{NAME}`.
    pub(crate) fn with(&self, name: &str, value: u64) -> Self {
        let (mark, value) = (format!("{{{name}}}"), value.to_string());
        let put = |word: &OsString| match word.to_str() {
            Some(text) => text.replace(&mark, &value).into(),
            None => word.clone(),
        };
        Self { words: self.words.iter().map(put).collect() }
    }

    fn name(&self) -> &OsStr {
        self.words.first().map(OsString::as_os_str).unwrap_or_default()
    }

    pub(crate) fn contains(&self, text: &str) -> bool {
        self.words.iter().any(|word| word.to_string_lossy().contains(text))
    }

    /// As it would be typed, for people to recognise, without secrets: reports are sent to others.
    pub(crate) fn text(&self) -> String {
        let words: Vec<_> = self.words.iter().map(|word| word.to_string_lossy()).collect();
        mask_words(&words).join(" ")
    }
}

/// Where programs are run.
pub(crate) struct Bench {
    libraries: PathBuf,
    gpus: usize,
    steps: u32,
    /// A program is ended after this.
    time_limit: Duration,
    /// What was asked to be run.
    pub(crate) program: Program,
    /// The lines of programs that run now.
    progress: MultiProgress,
    /// Whether what a report shows is kept.
    with_history: bool,
    /// Whether what a comparison needs is kept.
    with_steady_state: bool,
}

impl Bench {
    pub(crate) fn new(arguments: &FitArguments) -> Result<Self> {
        let progress = MultiProgress::new();
        interrupt::heed(&progress)?;
        Ok(Self {
            libraries: libraries()?,
            gpus: arguments.gpus.into(),
            steps: arguments.steps.unwrap_or_default(),
            time_limit: arguments.time_limit,
            program: Program::new(&arguments.command)?,
            progress,
            with_history: arguments.report.is_some(),
            with_steady_state: arguments.save.is_some(),
        })
    }

    /// Runs several programs, as many at a time as there are processors; in the order given.
    pub(crate) fn observe_all(
        &self,
        jobs: &[(&'static GpuModel, Program)],
    ) -> Vec<Result<Observed>> {
        let processors = std::thread::available_parallelism().map_or(1, NonZero::get);
        let processors = processors.min(MOST_AT_A_TIME);
        let mut observed = Vec::new();
        for at_a_time in jobs.chunks(processors) {
            observed.extend(std::thread::scope(|scope| {
                let run = |(model, program): &'_ (&'static GpuModel, Program)| {
                    let (model, program) = (*model, program.clone());
                    scope.spawn(move || self.observe(model, &program))
                };
                let running: Vec<_> = at_a_time.iter().map(run).collect();
                running.into_iter().map(join).collect::<Vec<_>>()
            }));
        }
        observed
    }

    /// Runs a program on GPUs of a model, but without a limit. Where it was ended in a generation that cannot be
    /// continued from what was seen, it is run to the end of that.
    fn observe(&self, model: &'static GpuModel, program: &Program) -> Result<Observed> {
        let observed = self.observe_part(model, program, Part::Enough)?;
        if self.steps == 0 && observed.is_unfinished() && !observed.timed_out {
            return self.observe_part(model, program, Part::Whole);
        }
        Ok(observed)
    }

    fn observe_part(
        &self,
        model: &'static GpuModel,
        program: &Program,
        part: Part,
    ) -> Result<Observed> {
        let device = DeviceSpec::of(model);
        // Expandable segments reserve addresses for the memory that the device says it has.
        let device = if expandable_segments() { device.with_total(WITHOUT_LIMIT) } else { device };
        let device = device.with_capacity(WITHOUT_LIMIT);
        let spec = MachineSpec {
            devices: vec![device; self.gpus],
            largest_kept_copy: Some(LARGEST_KEPT_COPY),
            ..MachineSpec::default()
        };
        let mut started = interrupt::starting();
        let session = Session::start(&spec, &self.libraries, None).with_context(cannot_start)?;
        started.push(session.folder().to_owned());
        let folder = session.folder().join("fit");
        let command = self.command(&session, program, &folder, part)?;
        let child = session.spawn(command);
        drop(started);
        let mut child = child.map_err(|error| Unstartable::new(program.name(), &error))?;
        let progress = Progress(self.progress.add(spinner(model, program)));
        let watched = Watched::new(&folder, self.time_limit);
        let (status, ending) = loop {
            if let Some(status) = child.try_wait()? {
                break (status, Ending::ByItself);
            }
            if let Some(ending) = watched.ends() {
                tree::end_program(Pid::from_child(&child), &folder);
                // It has ended, unless its number could not be looked up.
                child.kill()?;
                break (child.wait()?, ending);
            }
            progress.show(session.machine().observations().peak_used[0]);
            std::thread::sleep(GLANCE);
        };
        // What it left running has nobody to work for.
        tree::end_rest(&folder);
        drop(progress);
        interrupt::wait_if_interrupted();
        let memory = if self.with_history { Model::with_history() } else { Model::default() };
        let memory = if self.with_steady_state { memory.and_steady_state() } else { memory };
        let seen = (session.machine(), status, ending);
        Observed::read(&folder, &program.text(), model, seen, memory)
    }

    /// When a process ends itself at its next step, in seconds since 1970: before it is ended without having told
    /// anything.
    fn last_step(&self) -> Result<f64> {
        let now = SystemTime::now().duration_since(UNIX_EPOCH)?;
        Ok((now + self.time_limit.mul_f64(0.9)).as_secs_f64())
    }

    fn command(
        &self,
        session: &Session,
        program: &Program,
        folder: &Path,
        part: Part,
    ) -> Result<Command> {
        let (name, rest) = program.words.split_first().context("no command")?;
        let mut command = session.command(name);
        parent::hide_server(&mut command);
        small_values::compute(&mut command, session);
        assembler::replace(&mut command, session);
        sitecustomize::equip(&mut command, folder, &[sitecustomize::MODULES, STARTUP].concat())?;
        let (output, copy) = output(folder)?;
        command
            .args(rest)
            .env("WHYOOM_FIT", folder)
            .env("WHYOOM_FIT_STEPS", self.steps.to_string())
            .env("WHYOOM_FIT_UNTIL", self.last_step()?.to_string())
            .env("WHYOOM_FIT_WHOLE", if part == Part::Whole { "1" } else { "0" })
            .stdin(Stdio::null())
            .stdout(output)
            .stderr(copy);
        Ok(command)
    }
}

/// How much of a program is run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Part {
    /// Until the rest can be computed from it.
    Enough,
    /// To the end of its generations.
    Whole,
}

/// Whether the program's allocator is told to use them.
fn expandable_segments() -> bool {
    let conf = AllocatorConf::parse(&allocator_settings());
    conf.is_ok_and(|conf| conf.value("expandable_segments") == Some("True"))
}

/// The settings that the program's allocator will see.
pub(crate) fn allocator_settings() -> String {
    let names = ["PYTORCH_CUDA_ALLOC_CONF", "PYTORCH_ALLOC_CONF"];
    names.iter().find_map(|name| std::env::var(name).ok()).unwrap_or_default()
}

fn join(running: ScopedJoinHandle<'_, Result<Observed>>) -> Result<Observed> {
    running.join().map_err(|_| anyhow!("a run was aborted"))?
}

/// What the program prints means nothing here; its last lines are kept for the case that it fails.
fn output(folder: &Path) -> io::Result<(File, File)> {
    let file = private::create_file(&folder.join("output"))?;
    let copy = file.try_clone()?;
    Ok((file, copy))
}

/// A line that lives while the program runs.
struct Progress(ProgressBar);

impl Progress {
    fn show(&self, used: u64) {
        self.0.set_message(format!("{} so far,", Bytes(used)));
        self.0.tick();
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.0.finish_and_clear();
    }
}

fn spinner(model: &GpuModel, program: &Program) -> ProgressBar {
    let bar = ProgressBar::new_spinner();
    if let Ok(style) = ProgressStyle::with_template("{spinner} {prefix}: {msg} {elapsed}") {
        bar.set_style(style);
    }
    bar.with_prefix(format!("{} on {} (simulated)", program.text(), model.name))
}
