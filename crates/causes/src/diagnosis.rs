//! What a cause looks at: one moment at which memory ran out, or one space in which it did not.

use whyoom_allocators::policies::pytorch::{AllocatorConf, READS_ALLOC_CONF, Release};
use whyoom_memory::{
    Category, DriverState, Growth, Holder, Incident, Model, Process, Space, UNKNOWN_CALL_SITE,
    Usage, call_site, library, sums_by_call_site,
};
use whyoom_trace::{
    Bytes, DeviceId, FrameText, ProcessId, ProcessState, SegmentGrowth, Software, StackId, Symptom,
    Tables,
    facts::{self, Fact, FactKind, Said},
};

use crate::{
    ahead::TooLarge,
    allocator_conf::{ConfVariable, removes},
    breakdown::MemoryBreakdown,
    command::Size,
    finding::{Basis, Evidence, Finding, Remedy, Strength},
    gpu_models,
    input_origin::InputOrigin,
    observed::{CONTEXT_ALLOWANCE, ObservedFigures, name_of},
    shell::Shell,
    shell_line::ShellLine,
};

/// One moment at which memory ran out, or one space in which it did not.
pub struct Diagnosis<'a> {
    /// Everything that was seen.
    pub model: &'a Model,
    /// The names of it.
    pub tables: &'a Tables,
    /// The process that is looked at.
    pub process: ProcessId,
    /// The process whose blocks are behind it: itself, or that of a snapshot beside a message.
    pub home: ProcessId,
    /// The device that is looked at.
    pub device: DeviceId,
    /// The moment, if memory ran out.
    pub incident: Option<&'a Incident>,
    /// The process's memory on the device, if its blocks are known.
    pub space: Option<&'a Space>,
    /// Growth in that space.
    pub growth: Option<Growth>,
    /// The figures, from whatever told them.
    pub observed: ObservedFigures,
    /// What was measured of the machine.
    pub measured: Measured,
    /// Where the inputs come from.
    pub origin: &'a InputOrigin,
    /// The rest of the iteration that failed, where no allocator can serve it.
    pub ahead: Option<TooLarge>,
}

/// What was measured of the machine that a run was on, in place of what is assumed of such machines.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Measured {
    /// What a context takes.
    pub context: Option<Bytes>,
}

/// PyTorch's figure for no limit of the size to split, or more: no device has as much.
const NO_SPLIT_LIMIT: u64 = 1 << 60;

impl<'a> Diagnosis<'a> {
    /// A finding of `cause` in this diagnosis, with the observed figures as evidence, which points at the request that
    /// failed.
    pub(crate) fn finding(
        &self,
        cause: &'static str,
        strength: Strength,
        headline: impl Into<String>,
        because: impl Into<String>,
    ) -> Finding {
        let mut finding = Finding {
            cause,
            strength,
            headline: headline.into(),
            because: because.into(),
            reclaimable: None,
            call_sites: Vec::new(),
            evidence: self.observed.evidence(self.tables),
            remedies: Vec::new(),
            process: self.process,
            device: self.device,
        };
        let requested_at = self.incident.map(|incident| self.call_site(incident.stack));
        if let Some(call_site) = requested_at.filter(|one| one != UNKNOWN_CALL_SITE) {
            finding.point_at_request(call_site);
        }
        finding
    }

    /// Where the memory of the device was, where its capacity is known.
    pub(crate) fn breakdown(&self) -> Option<MemoryBreakdown> {
        MemoryBreakdown::of(self.incident?, &self.observed)
    }

    /// What the incident's message tells, if it is one.
    pub(crate) fn symptom(&self) -> Option<Symptom> {
        self.incident?.symptom.map(|(symptom, ..)| symptom)
    }

    /// Whose message it is.
    pub(crate) fn software(&self) -> Option<Software> {
        self.incident?.symptom.map(|(_, software, _)| software)
    }

    /// Whose words stand around the message.
    pub(crate) fn software_around(&self) -> Option<Software> {
        match self.fact(FactKind::LogSource)? {
            Fact::LogSource { software } => Some(software),
            _ => None,
        }
    }

    /// Whether the program says that it went on after the failure.
    pub(crate) fn went_on(&self) -> bool {
        self.fact(FactKind::Recovered).is_some()
    }

    /// The message.
    pub(crate) fn message(&self) -> &'a str {
        let text = self.incident.and_then(|incident| incident.symptom);
        text.map_or("", |(_, _, text)| self.tables.text(text))
    }

    /// Whether a request of this process to the device failed: the ordinary case.
    pub(crate) fn device_refused(&self) -> bool {
        let refused = |incident: &Incident| {
            incident.symptom.is_none_or(|(s, ..)| s == Symptom::DeviceOutOfMemory)
        };
        self.incident.is_some_and(refused) && self.device != DeviceId::HOST
    }

    /// Whether it failed because memory ran out: had more been free, it would have been served.
    pub(crate) fn device_ran_out(&self) -> bool {
        self.device_refused() && !self.observed.enough_was_free()
    }

    /// Whether PyTorch refused by itself, though the device had room.
    pub(crate) fn refused_by_pytorch(&self) -> bool {
        let by_allocator = |incident: &Incident| incident.totals.is_some() && !incident.of_driver;
        self.incident.is_some_and(by_allocator)
            && self.was_recorded()
            && self.observed.enough_was_free()
            && !self.has_pool()
    }

    /// Returns true if PyTorch rejected a request because of `throw_on_cudamalloc_oom`, and the request by itself is within
    /// the limit. Also true if the message has no limit.
    pub(crate) fn is_rejected_within_limit(&self) -> bool {
        let is_within_limit = match (self.observed.requested, self.observed.allowed) {
            (Some(requested), Some(allowed)) => requested <= allowed,
            _ => true,
        };
        self.symptom() == Some(Symptom::LimitReached)
            && self.message().contains("preemptively rejected")
            && is_within_limit
    }

    /// What was recorded of the process beside its memory.
    pub(crate) fn process(&self) -> Option<&'a Process> {
        self.model.process(self.process)
    }

    /// Whether the process ended in order, and nothing of it is missing.
    pub(crate) fn exited(&self) -> bool {
        self.process().is_some_and(|process| process.exited().is_some())
    }

    /// The signal that ended the process, where its starter saw one. That of a kill is not among these: it
    /// leaves in doubt whether memory ran out.
    pub(crate) fn ended_by_signal(&self) -> Option<i32> {
        match self.fact(FactKind::Signal)? {
            Fact::Signal { signal } => Some(signal),
            _ => None,
        }
    }

    /// The status that the command failed with, where it did.
    pub(crate) fn failed_with(&self) -> Option<i32> {
        match self.fact_of_run(FactKind::Status)? {
            Fact::Status { status } => Some(status),
            _ => None,
        }
    }

    /// Whether the command is over, and its starter told of it.
    pub(crate) fn is_over(&self) -> bool {
        self.command().is_some()
    }

    /// Whether a process of a run that is over came to no end that anybody saw: it was killed.
    pub(crate) fn any_was_killed(&self) -> bool {
        let told = |process: ProcessId| self.model.fact(process, FactKind::Signal).is_some();
        let mut processes = self.model.processes();
        self.is_over() && processes.any(|(process, one)| one.exited().is_none() && !told(process))
    }

    /// What the process had taken from the driver when the request failed, where that was recorded.
    pub(crate) fn driver(&self) -> Option<&'a DriverState> {
        self.incident?.driver.as_ref()
    }

    /// Whether a caching allocator serves the process, on any device: pinned memory has one too, which
    /// nothing tells of.
    pub(crate) fn uses_allocator(&self) -> bool {
        self.model.devices_of(self.process).any(|(_, space)| space.has_allocator())
    }

    /// The recorded process that a holder is.
    pub(crate) fn process_of(&self, holder: &Holder) -> Option<ProcessId> {
        let recorded = holder.standing == ProcessState::Recorded;
        recorded.then(|| self.tables.process_named(self.tables.text(holder.command))).flatten()
    }

    /// What a context takes here: by this run, or else as it was measured on this machine.
    pub(crate) fn context_size(&self) -> Option<Bytes> {
        self.context_size_in_run().or(self.measured.context)
    }

    /// The size of a context as evidence.
    pub(crate) fn context_evidence(&self) -> Option<Evidence> {
        let in_run = self.context_size_in_run().map(|size| (size, Basis::Computed));
        let (size, basis) = in_run.or(self.measured.context.map(|size| (size, Basis::Measured)))?;
        Some(Evidence::bytes("size of a context", size, basis))
    }

    /// What this process holds beside everything that its allocator, its libraries and itself are known to have
    /// taken, or another of the run.
    fn context_size_in_run(&self) -> Option<Bytes> {
        let used = self.observed.process_used.filter(|_| self.was_recorded());
        let own = used.map(|used| used.minus(self.held()));
        let of_others = self.observed.others.iter().filter_map(|holder| {
            let process = self.process_of(holder)?;
            let taken = self.incident?.recorded_others.iter().find(|(one, _)| *one == process);
            Some(holder.bytes.minus(taken.map_or(Bytes::ZERO, |(_, bytes)| *bytes)))
        });
        let is_one = |size: &Bytes| (Bytes::MIB..=CONTEXT_ALLOWANCE).contains(size);
        own.into_iter().chain(of_others).filter(is_one).min()
    }

    /// The least that this process was seen to use of a device: where it took nothing, its context.
    pub(crate) fn least_used_on(&self, device: DeviceId) -> Option<Bytes> {
        match self.fact(FactKind::MinUsage(device))? {
            Fact::MinUsage { bytes, .. } => Some(bytes),
            _ => None,
        }
    }

    /// Whether a list of processes was pasted with the message, and was empty though memory was in use.
    pub(crate) fn nobody_was_listed(&self) -> bool {
        self.fact(FactKind::ListedNobody).is_some()
    }

    /// What this process is known to hold, without its context.
    fn held(&self) -> Bytes {
        self.observed.reserved.max(self.driver().map(|driver| driver.held)).unwrap_or_default()
    }

    /// What is in use on the device beside this process and all that were seen. Where this process was not
    /// seen itself, or with less than it is known to hold, its context is taken for as large as others are.
    pub(crate) fn unseen(&self) -> Option<Bytes> {
        let observed = &self.observed;
        let context = || self.context_size().unwrap_or(CONTEXT_ALLOWANCE);
        let used = observed.process_used.filter(|used| *used >= self.held());
        let own = used.unwrap_or_else(|| self.held().plus(context()));
        let in_use = observed.capacity?.minus(observed.free?);
        Some(in_use.minus(own).minus(observed.others_hold()))
    }

    /// Whether the figures were recorded, and not read off a message.
    pub(crate) fn was_recorded(&self) -> bool {
        self.observed.basis == Some(Basis::Recorded)
    }

    /// Whether PyTorch's own allocator made the request that the driver refused.
    pub(crate) fn asked_by_pytorch(&self) -> bool {
        let stack = self.incident.map_or(StackId(0), |incident| incident.stack);
        self.tables.frames(stack).any(|frame| {
            frame.file.contains("libc10_cuda")
                || frame.function.contains("CUDACachingAllocator")
                || frame.function.contains("CachingHostAllocator")
        })
    }

    /// Whether a convolution of PyTorch's asked: then cuDNN's workspace may be what is so large.
    pub(crate) fn asked_by_convolution(&self) -> bool {
        let stack = self.incident.map_or(StackId(0), |incident| incident.stack);
        let mut frames = self.tables.frames(stack);
        let of_cudnn = |function: &str| function.contains("cudnn_convolution");
        frames.any(|frame| of_cudnn(frame.function) || frame.file.ends_with("nn/modules/conv.py"))
    }

    /// Whether a layer of pictures asked: one that makes them larger, or a decoder's.
    pub(crate) fn asked_for_pictures(&self) -> bool {
        self.asked_by_any_of(&[
            "interpolate",
            "upsampl",
            "pixel_shuffle",
            "decode_latents",
            "/vae",
            "autoencoder_kl",
        ]) || (self.asked_by_any_of(&["conv2d", "Conv2d"])
            && self.asked_by_any_of(&["decode", "upscal"]))
    }

    /// Whether any frame of the failed request lies in one of these files or functions.
    pub(crate) fn asked_by_any_of(&self, parts: &[&str]) -> bool {
        let stack = self.incident.map_or(StackId(0), |incident| incident.stack);
        let of = |text: &str| parts.iter().any(|part| text.contains(part));
        self.tables.frames(stack).any(|frame| of(frame.file) || of(frame.function))
    }

    /// Whether a module was being built, loaded or moved, and not only some object with tensors of its own.
    pub(crate) fn asked_for_weights(&self) -> bool {
        self.is_message()
            || self.asked_by_any_of(&["torch/nn/", "from_pretrained", "load_state_dict"])
    }

    /// Whether the failed request came from attention, as its functions' names tell.
    pub(crate) fn asked_by_attention(&self) -> bool {
        let built = self.asked_by_any_of(&["ttention", "ttend", "attn"]);
        built && !self.asked_by_any_of(&["scaled_dot_product", "sdpa", "flash"])
    }

    /// Whether all that is known is a message.
    pub(crate) fn is_message(&self) -> bool {
        self.observed.basis == Some(Basis::Message)
    }

    /// Whether whoever made a stack is compiled code: advice on Python would miss it.
    pub(crate) fn is_compiled(&self, stack: StackId) -> bool {
        stack != StackId(0) && !self.tables.frames(stack).any(|frame| frame.is_python())
    }

    /// Whether Python code is on a stack.
    pub(crate) fn has_python(&self, stack: StackId) -> bool {
        self.tables.frames(stack).any(|frame| frame.is_python())
    }

    /// Whether PyTorch is on a stack.
    pub(crate) fn has_pytorch(&self, stack: StackId) -> bool {
        self.tables.frames(stack).any(|frame| {
            let of_pytorch = ["libtorch", "libc10", "site-packages/torch/", "dist-packages/torch/"];
            let code = [frame.file, frame.library];
            code.iter().any(|code| of_pytorch.iter().any(|name| code.contains(name)))
        })
    }

    /// Whether what a stack led to is of the program's own making, and neither Python's nor PyTorch's.
    pub(crate) fn is_plain(&self, stack: StackId) -> bool {
        let pytorch = |file: &str| file.contains("libtorch") || file.contains("libc10");
        self.is_compiled(stack) && !self.tables.frames(stack).any(|frame| pytorch(frame.file))
    }

    /// The compiled file that a stack leads to, past CUDA's own.
    pub(crate) fn library(&self, stack: StackId) -> Option<&'a str> {
        library(self.tables, stack)
    }

    /// A process that holds memory, as people know it.
    pub(crate) fn name_of(&self, holder: &Holder) -> String {
        name_of(holder, self.tables)
    }

    /// A setting of this process's allocator, from its snapshot or from the log.
    pub(crate) fn setting(&self, name: &str) -> Option<&'a str> {
        let own = self.model.setting(self.process, name);
        own.or_else(|| self.model.setting(self.home, name))
    }

    /// The argument of the run's command that says how much is worked on at once.
    pub(crate) fn size_argument(&self) -> Option<Size> {
        let words: Vec<&str> = self.command()?.split('\0').collect();
        Size::of(&words)
    }

    /// Returns a remedy that runs the program of the run, behind a line that ends before it. A command from
    /// elsewhere is a stranger's: the line is an example then, with COMMAND in place of the program. `None` if the
    /// command is not known.
    pub(crate) fn with_program(&self, line: ShellLine, what: &str) -> Option<Remedy> {
        let command = self.command().filter(|command| !command.is_empty())?;
        let line = line.literal("--");
        Some(self.own_or_example(line.clone().inputs(command.split('\0')), line, what))
    }

    /// Returns true if this user typed the command of the run here.
    fn has_own_command(&self) -> bool {
        self.command().is_some_and(|command| self.origin.is_own_command(command))
    }

    /// Returns the whole line to paste if the command is this user's own, or else an example without the program.
    fn own_or_example(&self, whole: ShellLine, without_program: ShellLine, what: &str) -> Remedy {
        if self.has_own_command() {
            let remedy = Remedy::command(whole, what);
            if remedy.paste.is_some() {
                return remedy;
            }
        }
        example(&without_program.literal("COMMAND"), what)
    }

    /// The program once more under `whyoom run`: a line to paste if its command is known and this user's own.
    pub(crate) fn rerun(&self, options: &'static str, what: &str) -> Remedy {
        let line = ShellLine::new("whyoom run").literal(options);
        if let Some(remedy) = self.with_program(line.clone(), what) {
            return remedy;
        }
        let line = line.literal("--");
        if let Some(words) = self.typed_command() {
            return example(&line.inputs(words.split(' ')), what);
        }
        match self.script() {
            // A traceback names the script, and whoever wrote the traceback chose the name.
            Some(script) => example(&line.literal("python").file(script), what),
            // Nothing that llama.cpp says comes from Python; of a message of somebody's own, nobody knows.
            None if matches!(self.software(), Some(Software::LlamaCpp | Software::Program)) => {
                example(&line.literal("COMMAND"), what)
            }
            None => example(&line.literal("python train.py"), what),
        }
    }

    /// Returns the command that a text shows at a prompt, if it runs the script of the traceback. `None` otherwise:
    /// another command may do anything.
    fn typed_command(&self) -> Option<&'a str> {
        let script = file_name(self.script()?);
        let command = self.setting(facts::TYPED_COMMAND).filter(|_| self.is_message())?;
        let runs_script = command.split(' ').any(|word| file_name(word) == script);
        runs_script.then_some(command)
    }

    /// Returns how many steps a progress bar of the text counts as done. `None` if the text has no such bar.
    pub(crate) fn steps_done(&self) -> Option<u64> {
        self.setting(facts::STEPS_DONE).filter(|_| self.is_message())?.parse().ok()
    }

    /// The script of the program that failed, as far as its traceback names it.
    fn script(&self) -> Option<&'a str> {
        let stack = self.incident.map_or(StackId(0), |incident| incident.stack);
        let outermost = self.tables.frames(stack).rfind(FrameText::is_python);
        let script = outermost.map(|frame| frame.file).filter(|file| file.ends_with(".py"));
        let elsewhere = |file: &&str| !file.contains("-packages/") && !file.contains("lib/python");
        script.filter(elsewhere)
    }

    /// The line that finds the largest batch, length or size that fits on this GPU. Nothing where the command
    /// has none, or where no caching allocator of PyTorch's serves the run.
    pub(crate) fn search_size(&self) -> Option<Remedy> {
        let size = self.size_argument().filter(|_| self.uses_allocator())?;
        let name = if self.has_own_command() { &size.option } else { size.trusted_name() };
        let what = format!(
            "finds the largest {name} that fits on such a GPU, using a simulated one: {} does not fit",
            size.value
        );
        let line = size.search(self.fit_on_this_gpu()?);
        Some(self.own_or_example(size.add_program(line.clone()), line, &what))
    }

    /// Returns the start of a `whyoom fit` on this GPU. `None` if its capacity is not known.
    fn fit_on_this_gpu(&self) -> Option<ShellLine> {
        let capacity = self.observed.capacity?;
        let gpu = self.fact_of_run(FactKind::Gpu).and_then(|fact| match fact {
            Fact::Gpu { model, total } => {
                Some((gpu_models::known_model(self.tables.text(model))?, total))
            }
            _ => None,
        });
        let line = ShellLine::new("whyoom fit");
        let (line, total) = match gpu {
            Some((model, total)) => (line.literal("--gpu").literal(model), total),
            None => (line, Bytes::ZERO),
        };
        // Drivers differ by a hundredth in what they leave of a GPU.
        let as_sold = capacity.0.abs_diff(total.0) <= total.0 / 50;
        Some(match capacity.0 {
            _ if as_sold => line,
            bytes if bytes.is_multiple_of(1 << 30) => {
                line.literal("--memory").word(format!("{}GiB", bytes >> 30))
            }
            bytes => line.literal("--memory").word(format!("{}MiB", bytes >> 20)),
        })
    }

    /// How long a holder had run, where that was seen: `2.1 h`.
    pub(crate) fn age_of(&self, holder: &Holder) -> Option<String> {
        let Fact::Age { seconds, .. } = self.fact_of_run(FactKind::Age(holder.pid))? else {
            return None;
        };
        Some(match seconds {
            0..60 => format!("{seconds} s"),
            60..3600 => format!("{} min", seconds / 60),
            3600..86400 => format!("{:.1} h", seconds as f64 / 3600.0),
            _ => format!("{:.1} d", seconds as f64 / 86400.0),
        })
    }

    /// Whether whyoom's pool serves the process: PyTorch's settings have no effect then, and idle pages
    /// go where they are needed.
    pub(crate) fn has_pool(&self) -> bool {
        let own = |name| self.model.own_setting(self.process, name);
        own(facts::POOL) == Some("on") || own("backend") == Some("whyoom")
    }

    /// What people say in the text, where it is a message's.
    pub(crate) fn said(&self) -> Option<Said> {
        self.said_in_words().map(|(said, _)| said)
    }

    /// The same, with their words.
    pub(crate) fn said_in_words(&self) -> Option<(Said, &'a str)> {
        match self.fact(FactKind::Said).filter(|_| self.is_message())? {
            Fact::Said { said, words } => Some((said, self.tables.text(words))),
            _ => None,
        }
    }

    /// What tables in the text show, where every GPU in them is all but empty.
    pub(crate) fn idle_tables(&self) -> Option<&'a str> {
        match self.fact(FactKind::Idle).filter(|_| self.is_message())? {
            Fact::Idle { words } => Some(self.tables.text(words)),
            _ => None,
        }
    }

    /// The run's command, with zeros between its words.
    pub(crate) fn command(&self) -> Option<&'a str> {
        match self.fact_of_run(FactKind::Command)? {
            Fact::Command { words } => Some(self.tables.text(words)),
            _ => None,
        }
    }

    /// What is told of this process itself.
    fn fact(&self, kind: FactKind) -> Option<Fact> {
        self.model.fact(self.process, kind)
    }

    /// What is told of this process, or else of another of its launch.
    fn fact_of_run(&self, kind: FactKind) -> Option<Fact> {
        let own = self.model.launch_fact(self.process, kind);
        own.or_else(|| self.model.launch_fact(self.home, kind))
    }

    /// Whether the message is of a stream-ordered pool: RMM names the resource that failed.
    pub(crate) fn is_stream_ordered(&self) -> bool {
        self.software() == Some(Software::Rmm) && self.message().contains("cuda_async")
    }

    /// Whether all that is known is an allocator's own log: what it gave to the program, without stacks, and
    /// without what it held.
    pub(crate) fn is_log_of_allocator(&self) -> bool {
        self.fact(FactKind::AllocatorLog).is_some()
    }

    /// Whether all that is known is a recording without an event.
    pub(crate) fn is_empty_recording(&self) -> bool {
        self.fact(FactKind::EmptyRecording).is_some()
    }

    /// Returns true if nothing was recorded because the disk was full and `whyoom run` saw that, false if it follows
    /// from a file that was not written to its end. Returns `None` if the disk is not known to have been full.
    pub(crate) fn disk_full(&self) -> Option<bool> {
        match self.fact_of_run(FactKind::DiskFull)? {
            Fact::DiskFull { seen } => Some(seen),
            _ => None,
        }
    }

    /// Returns the reason, in words, why the recorder stopped before it recorded anything. Returns `None` if it did not.
    pub(crate) fn stopped_because(&self) -> Option<&'a str> {
        match self.fact_of_run(FactKind::RecorderStopped)? {
            Fact::RecorderStopped { reason } => Some(self.tables.text(reason)),
            _ => None,
        }
    }

    /// Whether all that is known is a profiler's report: what was taken from the driver while it looked.
    pub(crate) fn is_report_of_profiler(&self) -> bool {
        self.fact(FactKind::ProfilerReport).is_some()
    }

    /// Whose cache it is.
    pub(crate) fn allocator_name(&self) -> &'static str {
        match self.software() {
            _ if self.has_pool() => "whyoom's pool",
            Some(Software::Rmm) => "RMM",
            Some(Software::TensorFlow) => "TensorFlow",
            _ if self.is_log_of_allocator() => "RMM",
            _ => "PyTorch",
        }
    }

    /// The allocator's variable as the process had it, whatever its name is there.
    pub(crate) fn allocator_conf(&self) -> &'a str {
        self.setting(self.variable_in_effect()).unwrap_or_default()
    }

    /// Returns the name of the allocator's variable that PyTorch has read, or would read.
    fn variable_in_effect(&self) -> &'static str {
        let general = if self.ignores_alloc_conf() { None } else { Some("PYTORCH_ALLOC_CONF") };
        // In a build for CUDA it has no effect up to 2.9.1, and later that of a part of its options.
        let hip = if self.uses_rocm() { Some("PYTORCH_HIP_ALLOC_CONF") } else { None };
        let names = [Some("PYTORCH_CUDA_ALLOC_CONF"), general, hip];
        let mut set = names.into_iter().flatten().filter(|name| self.setting(name).is_some());
        set.next().unwrap_or("PYTORCH_CUDA_ALLOC_CONF")
    }

    /// Returns the value of a key in the allocator's variable. Returns `None` if the key is not set.
    pub(crate) fn conf_value(&self, key: &str) -> Option<String> {
        let conf = AllocatorConf::parse(self.allocator_conf()).ok()?;
        conf.value(key).map(str::to_owned)
    }

    /// Returns true if the process runs a release of PyTorch in which `PYTORCH_ALLOC_CONF` has no effect on CUDA.
    pub(crate) fn ignores_alloc_conf(&self) -> bool {
        match self.torch_release() {
            Some(release) => release < READS_ALLOC_CONF && !self.uses_rocm(),
            None => false,
        }
    }

    /// Whether expandable segments were asked for, whether or not that came in time.
    pub(crate) fn expandable_segments_asked(&self) -> bool {
        self.setting("expandable_segments") == Some("true")
            || self.conf_value("expandable_segments").as_deref() == Some("True")
            || self.late_conf().contains("expandable_segments:True")
    }

    /// The allocator's variable as the program has set it after it had begun to use the device.
    pub(crate) fn late_conf(&self) -> &'a str {
        let names = ["late_PYTORCH_CUDA_ALLOC_CONF", "late_PYTORCH_ALLOC_CONF"];
        names.iter().find_map(|name| self.setting(name)).unwrap_or("")
    }

    /// Whether expandable segments are on already: some were seen, or they were asked for and nothing
    /// speaks against it.
    pub(crate) fn expandable_segments_on(&self) -> bool {
        self.space.is_some_and(Space::has_expandable_segments)
            || (self.expandable_segments_asked() && self.in_fixed_segments() == Bytes::ZERO)
    }

    /// What lies in segments that cannot grow, without those of private pools, which never do.
    pub(crate) fn in_fixed_segments(&self) -> Bytes {
        let segments = self.space.into_iter().flat_map(Space::segments);
        let fixed =
            segments.filter(|(_, one)| one.growth == SegmentGrowth::Fixed && one.pool.0 == 0);
        fixed.map(|(_, segment)| segment.size).sum()
    }

    /// Returns the size above which a block is not split. `None` if there is no limit.
    pub(crate) fn max_split_size(&self) -> Option<Bytes> {
        // A snapshot has it in bytes, with -1 for none; PyTorch 2.15 has the largest number for none.
        let of_snapshot = self.setting("max_split_size").and_then(|value| value.parse().ok());
        if let Some(bytes) = of_snapshot.filter(|bytes| *bytes < NO_SPLIT_LIMIT) {
            return Some(Bytes(bytes));
        }
        let megabytes: u64 = self.conf_value("max_split_size_mb")?.parse().ok()?;
        Some(Bytes(megabytes.checked_mul(1 << 20)?))
    }

    /// Returns the release of PyTorch that the process runs. `None` if no text names it, or if it is no release.
    pub(crate) fn torch_release(&self) -> Option<Release> {
        Release::parse(self.setting(facts::TORCH_VERSION)?)
    }

    /// Returns true if the process runs PyTorch for AMD's GPUs.
    pub(crate) fn uses_rocm(&self) -> bool {
        let version = self.setting(facts::TORCH_VERSION).unwrap_or_default();
        self.message().contains("HIP out of memory") || version.contains("+rocm")
    }

    /// Returns the allocator's variable that PyTorch reads in every release.
    pub(crate) fn conf_variable(&self) -> ConfVariable<'a> {
        // PyTorch reads that of ROCm only if the other one is not set.
        let hip = self.uses_rocm() && self.setting("PYTORCH_CUDA_ALLOC_CONF").is_none();
        let name = if hip { "PYTORCH_HIP_ALLOC_CONF" } else { "PYTORCH_CUDA_ALLOC_CONF" };
        let (set_now, value) = (self.variable_in_effect(), self.allocator_conf());
        let hides_another =
            set_now == "PYTORCH_CUDA_ALLOC_CONF" && self.setting("PYTORCH_ALLOC_CONF").is_some();
        ConfVariable { name, set_now, hides_another, value, release: self.torch_release() }
    }

    /// Returns a remedy that adds an option to the allocator's variable.
    pub(crate) fn set_conf(&self, option: &str, what: &str) -> Remedy {
        let remedy = self.conf_variable().add(option, what);
        if self.uses_rocm() && option.starts_with("expandable_segments:True") {
            return with_rocm(remedy);
        }
        remedy
    }

    /// Returns a remedy that takes a key out of the allocator's variable. Advice in words if the variable is not known.
    pub(crate) fn without_conf(&self, key: &str, what: &str) -> Remedy {
        if let Some(remedy) = self.conf_variable().without(key, what) {
            return remedy;
        }
        // A snapshot may have the settings without the variable; a message may leave out any of them.
        if self.allocator_conf().is_empty() && !self.is_message() {
            let what = format!("{}; it removes every other option, too", removes(key, what));
            return Remedy::example("unset PYTORCH_CUDA_ALLOC_CONF PYTORCH_ALLOC_CONF", what);
        }
        Remedy::advice(format!("remove {key} where it is set: {what}"))
    }

    /// What a category held at the peak, where it held anything.
    pub(crate) fn peak_of(&self, wanted: Category) -> Option<Bytes> {
        let peak = self.space?.peak_by_category();
        peak.iter().find(|(category, _)| *category == wanted).map(|(_, usage)| usage.bytes)
    }

    /// The share of a category in the peak.
    pub(crate) fn share_at_peak(&self, wanted: Category) -> f64 {
        let peak = self.space.map(Space::peak_by_category).unwrap_or_default();
        let all: Bytes = peak.iter().map(|(_, usage)| usage.bytes).sum();
        self.peak_of(wanted).unwrap_or_default().share_of(all)
    }

    /// Whether the failed request came from a model that generates.
    pub(crate) fn is_generating(&self) -> bool {
        let stack = self.incident.map_or(StackId(0), |incident| incident.stack);
        let generates = |function: &str| function.rsplit('.').next() == Some("generate");
        self.tables.frames(stack).any(|frame| frame.is_python() && generates(frame.function))
    }

    /// Returns true if the failed request came from a training step, by the names of functions.
    pub(crate) fn asked_in_training(&self) -> bool {
        const NAMES: [&str; 5] =
            ["training_step", "train_step", "train_one_epoch", "train_epoch", "backward"];
        let stack = self.incident.map_or(StackId(0), |incident| incident.stack);
        let name = |function: &'a str| function.rsplit('.').next().unwrap_or(function);
        let mut frames = self.tables.frames(stack);
        frames.any(|frame| frame.is_python() && NAMES.contains(&name(frame.function)))
    }

    /// Whether it came from an evaluation: by the names of functions, as programs and trainers have them.
    pub(crate) fn is_evaluating(&self) -> bool {
        const NAMES: [&str; 8] = [
            "evaluate",
            "evaluation_loop",
            "evaluation_step",
            "eval_step",
            "eval_epoch",
            "validate",
            "validation_step",
            "run_validation",
        ];
        let stack = self.incident.map_or(StackId(0), |incident| incident.stack);
        let named =
            |function: &str| function.rsplit('.').next().is_some_and(|one| NAMES.contains(&one));
        // Checks of arguments are called so too.
        let checks = |file: &str| {
            ["pydantic", "huggingface_hub", "sklearn"].iter().any(|one| file.contains(one))
        };
        let mut frames = self.tables.frames(stack);
        frames.any(|frame| frame.is_python() && named(frame.function) && !checks(frame.file))
    }

    /// Sums by stack as sums by call site, the most first: several stacks may lead to one line.
    pub(crate) fn by_call_site(&self, stacks: Vec<(StackId, Usage)>) -> Vec<(String, Bytes)> {
        sums_by_call_site(self.tables, stacks)
    }

    /// Whether the program ran on Windows itself.
    pub(crate) fn on_windows(&self) -> bool {
        self.shell() != Shell::Posix
    }

    /// What a line to paste is written for.
    pub(crate) fn shell(&self) -> Shell {
        Shell::of(|name| self.setting(name), self.tables)
    }

    /// The release that the message's form belongs to.
    pub(crate) fn era(&self) -> Era {
        let message = self.message();
        if message.contains(" cached)") || message.contains(" cached;") {
            Era::BeforeSettings
        } else if message.contains("reserved in total by PyTorch") {
            Era::BeforeExpandable
        } else {
            Era::Today
        }
    }

    /// The call site in the program that a stack leads to.
    pub(crate) fn call_site(&self, stack: StackId) -> String {
        call_site(self.tables, stack)
    }
}

/// Returns the last part of a path.
fn file_name(path: &str) -> &str {
    path.rsplit(['/', '\\']).next().unwrap_or(path)
}

/// Returns a remedy with expandable segments as an example, because they could not be tried with ROCm.
fn with_rocm(remedy: Remedy) -> Remedy {
    let what = format!(
        "{}; with ROCm only from PyTorch 2.11 and ROCm 7.0 on, and one build of 2.14 hung with ROCm 7.2 \
         (pytorch#192259): try it on a short run",
        remedy.what
    );
    Remedy { what, ..remedy.into_example() }
}

/// An example of a command line. Without one if no text means its words.
fn example(line: &ShellLine, what: &str) -> Remedy {
    match line.text() {
        Some(text) => Remedy::example(text, what),
        None => Remedy::advice(what),
    }
}

/// What PyTorch could do when its message looked as it does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Era {
    /// Up to 1.3: the allocator has no settings.
    BeforeSettings,
    /// Up to 2.0: it has, but no expandable segments.
    BeforeExpandable,
    /// Since 2.1.
    Today,
}
