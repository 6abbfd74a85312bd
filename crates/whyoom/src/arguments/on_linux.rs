//! What can be typed behind the commands that need Linux.

use std::{ffi::OsString, path::PathBuf, time::Duration};

use clap::{Args, Subcommand, ValueEnum, ValueHint, builder::ArgPredicate};
use whyoom_lab_core::{
    machine::{KernelEffect, MAX_DEVICES},
    models,
};

use crate::{
    argument_values::{NO_FOLDER, OF_ANSWER, OF_PROGRAM, interval, no_standard_output, time_limit},
    fit::{Assertion, Variation, gpu_name},
    lab::{Fault, gpu_name as one_gpu_name, kernel_effect},
    machine::MachineFile,
    quantities::size,
    who::Alert,
};

#[derive(Debug, Args)]
#[command(
    override_usage = "whyoom run [OPTIONS] -- <COMMAND>...",
    after_help = "\
The program and its output are not modified. whyoom prints to standard error after the program
exits. If recording fails, the program continues without it.

Examples:
  whyoom run -- python train.py
  whyoom run -- torchrun --nproc-per-node 4 train.py
  whyoom run -o last-run -- ./simulate     then: whyoom why last-run, whyoom replay last-run
  whyoom run --apply -- python train.py    after an OOM, rerun with the setting that fits
  whyoom run --report run.html -- python train.py
  whyoom run --pool -- python train.py     serve PyTorch's memory from whyoom's pool
  whyoom run --pool=everything --pool-cap 20GiB -- ./server
  whyoom run --stacks off --limit 64MiB -- ./server
  whyoom run --flight -- python serve.py   for weeks: bounded files, exact growth and peak

Exit status: the status of the program, or
  2      invalid arguments
  126    the program cannot be started
  127    the program does not exist
  128+N  signal N terminated the program"
)]
pub(crate) struct RunArguments {
    /// Folder for the recording, new or empty; default: whyoom-run-DATE-TIME
    #[arg(short, long, value_name = "FOLDER", value_parser = no_standard_output(NO_FOLDER))]
    pub(crate) output: Option<PathBuf>,
    /// Stack frames to record: none, native, or native and Python
    #[arg(long, value_name = "WHICH", default_value = "all")]
    pub(crate) stacks: Stacks,
    /// Keep only the most recent events per process, using about SIZE of disk (e.g. 64MiB)
    #[arg(long, value_name = "SIZE", value_parser = size)]
    pub(crate) limit: Option<u64>,
    /// Record with little disk for any length of time: keep only recent events (64 MiB per process, or
    /// --limit), but growth and peak of the whole run; keep nothing if nothing is wrong
    #[arg(long)]
    pub(crate) flight: bool,
    /// After an OOM, rerun with the allocator setting, or the pool, that a replay proved to fit
    #[arg(long)]
    pub(crate) apply: bool,
    /// Also enable PyTorch's own history, and analyze its snapshot with the recording
    #[arg(long)]
    pub(crate) torch_history: bool,
    /// Report what keeps GPU tensors alive in Python, at an OOM and at exit
    #[arg(long)]
    pub(crate) keepers: bool,
    /// Also record which `nn.Module` memory belongs to, and what is a gradient or optimizer state
    #[arg(long)]
    pub(crate) modules: bool,
    /// Serve GPU memory from whyoom's pool: PyTorch's blocks (without PyTorch: cudaMalloc), or
    /// everything
    #[arg(
        long,
        value_name = "WHAT",
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = "torch",
        conflicts_with = "apply"
    )]
    pub(crate) pool: Option<PoolMode>,
    /// Maximum size of the pool on each GPU, e.g. 20GiB
    #[arg(long, value_name = "SIZE", value_parser = size, requires = "pool")]
    pub(crate) pool_cap: Option<u64>,
    /// Check the pool's blocks for overruns (guards), double frees and foreign pointers
    #[arg(long, requires = "pool")]
    pub(crate) pool_debug: bool,
    /// Write the verdict as JSON to this file (schema: whyoom schema)
    #[arg(long, value_name = "FILE", value_parser = no_standard_output(OF_PROGRAM))]
    pub(crate) json: Option<PathBuf>,
    /// Also write the report, a self-contained HTML file
    #[arg(long, value_name = "FILE", value_parser = no_standard_output(OF_PROGRAM))]
    pub(crate) report: Option<PathBuf>,
    /// Overwrite the files of --json and --report
    #[arg(short, long)]
    pub(crate) force: bool,
    /// Print nothing if nothing is wrong
    #[arg(short, long)]
    pub(crate) quiet: bool,
    /// The program and its arguments
    #[arg(
        trailing_var_arg = true,
        required = true,
        value_name = "COMMAND",
        value_hint = ValueHint::CommandWithArguments
    )]
    pub(crate) command: Vec<OsString>,
}

#[derive(Debug, Args)]
#[command(after_help = "\
The process goes on. It must be yours, and the kernel must permit to trace it. Python before 3.14
needs gdb, which stops the process for a few hundred milliseconds; then a thread of its own looks.

Examples:
  whyoom attach 4711                  once: what it holds now, and what refers to it
  whyoom attach 4711 --for 10m        its history for ten minutes, or until Ctrl-C: what grows
  whyoom attach 4711 --watch          until Ctrl-C, or until the process ends
  whyoom attach 4711 --no-referrers   without the scan, which takes up to two seconds
  whyoom attach 4711 --json

Exit status:
  0    what it holds was printed
  1    it cannot be attached to, or ended meanwhile, or came to no safe point in time
  2    invalid arguments
  3    it runs no PyTorch that uses a GPU; what the driver knows was printed
  130  Ctrl-C, before anything was known")]
pub(crate) struct AttachArguments {
    /// The process
    #[arg(value_name = "PID", value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) pid: u32,
    /// Record PyTorch's history so long, or until Ctrl-C (e.g. 10m); then switch it off
    #[arg(long = "for", value_name = "TIME", value_parser = time_limit)]
    pub(crate) duration: Option<Duration>,
    /// Record PyTorch's history until Ctrl-C, or until the process ends
    #[arg(long, conflicts_with = "duration")]
    pub(crate) watch: bool,
    /// Do not scan for what refers to tensors
    #[arg(long)]
    pub(crate) no_referrers: bool,
    /// How long to wait until the interpreter is at a safe point
    #[arg(long, value_name = "TIME", default_value = "60s", value_parser = time_limit)]
    pub(crate) wait: Duration,
    /// Folder for what was found, new or empty; default: whyoom-attach-DATE-TIME
    #[arg(short, long, value_name = "FOLDER", value_parser = no_standard_output(NO_FOLDER))]
    pub(crate) output: Option<PathBuf>,
    /// Print JSON (schema: whyoom schema)
    #[arg(long)]
    pub(crate) json: bool,
}

/// What is kept of stacks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Stacks {
    Off,
    Native,
    // And Python's.
    All,
}

/// What the pool serves.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum PoolMode {
    // PyTorch's blocks; in programs without it what they ask the driver for.
    Torch,
    // Both.
    Everything,
}

#[derive(Debug, Args)]
pub(crate) struct LabArguments {
    #[command(subcommand)]
    pub(crate) command: LabCommand,
}

#[derive(Debug, Subcommand)]
pub(crate) enum LabCommand {
    /// Run a program on simulated GPUs
    Run(LabRunArguments),
    /// Start a shell in which every program sees the simulated GPUs
    #[command(after_help = "\
Examples:
  whyoom lab shell --gpu l4 --gpus 4     then, inside: python train.py, whyoom who

Exit status: the status of the shell, or
  1  the lab cannot start
  2  invalid arguments")]
    Shell(LabMachineArguments),
    /// List the GPU models that can be simulated
    List(LabListArguments),
    /// Measure a GPU and compare it with its simulation
    Calibrate(LabCalibrateArguments),
    #[command(hide = true)]
    Hold(LabHoldArguments),
}

#[derive(Debug, Args)]
#[command(
    override_usage = "whyoom lab run [OPTIONS] -- <COMMAND>...",
    after_help = "\
Only memory, its errors and its limits are simulated; kernels do nothing.

Examples:
  whyoom lab run -- python train.py                      one A100 with 80 GB
  whyoom lab run --gpu 'RTX 4090' -- python train.py
  whyoom lab run --gpus 8 --memory 8GiB -- torchrun train.py
  whyoom lab run --log calls.jsonl -- ./program          every driver call that affects memory
  whyoom lab run --fault tenant=3GiB@2s -- python train.py

Exit status: the status of the program, or
  1      the lab cannot start
  2      invalid arguments
  126    the program cannot be started
  127    the program does not exist
  128+N  signal N terminated the program"
)]
pub(crate) struct LabRunArguments {
    #[command(flatten)]
    pub(crate) machine: LabMachineArguments,
    /// The program and its arguments
    #[arg(
        trailing_var_arg = true,
        required = true,
        value_name = "COMMAND",
        value_hint = ValueHint::CommandWithArguments
    )]
    pub(crate) command: Vec<OsString>,
}

#[derive(Debug, Args)]
pub(crate) struct LabMachineArguments {
    /// GPU model, from `whyoom lab list`; several for a machine of different GPUs
    #[arg(
        long,
        value_name = "NAME",
        default_value = models::DEFAULT,
        default_value_if("machine", ArgPredicate::IsPresent, None),
        value_parser = one_gpu_name,
        value_delimiter = ','
    )]
    pub(crate) gpu: Vec<String>,
    /// The GPUs of a machine as `whyoom doctor --json` measured them, instead of the table
    #[arg(long, value_name = "FILE")]
    pub(crate) machine: Option<MachineFile>,
    /// Number of GPUs visible to the program, of each model
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u16).range(1..=MAX_DEVICES as i64))]
    pub(crate) gpus: u16,
    /// Memory per GPU, instead of the model's: 8GiB, 512MiB, 24GB
    #[arg(long, value_name = "SIZE", value_parser = size)]
    pub(crate) memory: Option<u64>,
    /// Append every driver call that affects memory to this file, one JSON event per line
    #[arg(long, value_name = "FILE", value_parser = no_standard_output(OF_PROGRAM))]
    pub(crate) log: Option<PathBuf>,
    /// Share the GPUs with all users of this machine, who can then change each other's memory
    #[arg(long)]
    pub(crate) shared: bool,
    /// Inject a fault: fail=N | ecc | orphan=SIZE | ghost=SIZE | stuck=SIZE | tenant=SIZE@2s | slow-sync=50ms |
    /// fail-map=N-M | granularity=SIZE | graph-nodes=SIZE | lost-gpu=N | mig | mps | no-peers | no-virtual-memory |
    /// nvml-without-memory | nvml-without-use | page-tables=SIZE | slow-nvml=30ms
    #[arg(long, value_name = "FAULT")]
    pub(crate) fault: Vec<Fault>,
    /// Simulate an effect of a kernel: NAME=heap-exhausted | NAME=fail | NAME=busy:50ms | NAME=touch:50ms
    #[arg(long, value_name = "NAME=EFFECT", value_parser = kernel_effect)]
    pub(crate) kernel: Vec<KernelEffect>,
}

#[derive(Debug, Args)]
#[command(after_help = "\
Each check runs in a process of its own, with a time limit, and takes up to 128 MiB and a context;
those with PyTorch take up to 1 GiB.

Examples:
  whyoom doctor
  whyoom doctor --json > doctor.json     a file to send, and for --machine
  whyoom doctor --full --json > doctor.json     on a GPU that nobody else uses
  whyoom lab run --fault no-peers --gpus 2 -- whyoom doctor

Exit status:
  0  every check was made, whatever it found
  2  invalid arguments")]
pub(crate) struct DoctorArguments {
    /// Also the checks that take all free memory of GPU 0 for a moment: other programs run out of memory then
    #[arg(long)]
    pub(crate) full: bool,
    /// Print JSON (schema: whyoom schema)
    #[arg(long)]
    pub(crate) json: bool,
    /// Make one check in this process
    #[arg(long, value_name = "NAME", hide = true)]
    pub(crate) check: Option<String>,
}

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  whyoom lab list
  whyoom lab list --json

Exit status:
  0  success
  2  invalid arguments")]
pub(crate) struct LabListArguments {
    /// Print JSON (schema: whyoom schema)
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
#[command(after_help = "\
Briefly allocates up to 64 MiB. Values that cannot be measured are marked as such.

Examples:
  whyoom lab calibrate                                   the first GPU of this machine
  whyoom lab calibrate --device 1 --json > gpu1.json
  whyoom lab run --gpu h200 -- whyoom lab calibrate      the lab itself: every value must be equal

Exit status:
  0  the GPU was measured, whatever the values are
  1  no driver, or no such GPU
  2  invalid arguments")]
pub(crate) struct LabCalibrateArguments {
    /// CUDA device index
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub(crate) device: u32,
    /// Print JSON (schema: whyoom schema)
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct LabHoldArguments {
    #[arg(long)]
    pub(crate) state: PathBuf,
    #[arg(long)]
    pub(crate) lab: u32,
    #[arg(long)]
    pub(crate) lab_started: u64,
    #[arg(long)]
    pub(crate) bytes: u64,
    #[arg(long, default_value_t = 0)]
    pub(crate) after_milliseconds: u64,
    #[arg(long)]
    pub(crate) stuck: bool,
    /// Respawn and exit, so that the holder is orphaned
    #[arg(long)]
    pub(crate) detach: bool,
}

#[derive(Debug, Args)]
#[command(
    override_usage = "whyoom fit [OPTIONS] -- <COMMAND>...",
    group(clap::ArgGroup::new("written").multiple(true)),
    after_help = "\
The program runs on a simulated GPU without a memory limit until its steps repeat; the run is then
replayed for each GPU. Only memory is simulated; kernels do nothing.

Examples:
  whyoom fit --gpu rtx-4090 -- python train.py
  whyoom fit --gpu t4,l4,a100 -- python train.py --batch 16
  whyoom fit --gpu all -- python generate.py
  whyoom fit --gpu l4 --vary batch=1..512 -- python train.py --batch {batch}
  whyoom fit --vary batch=1..512 --vary seq=512,1024 -- python train.py --batch {batch} --seq {seq}
  whyoom fit --gpu a100 --gpus 2 -- torchrun --nproc-per-node 2 train.py
  whyoom fit --gpu l4 --assert 'peak<20GiB' -- python train.py     for continuous integration
  whyoom fit --gpu l4 --assert 'peak<20GiB' --sarif fit.sarif -- python train.py

Exit status:
  0  it fits on at least one of the GPUs, and all assertions hold on all of them
  1  the simulated GPU cannot start, or the program did not use it
  2  invalid arguments
  3  it fits on none, or an assertion failed
  4  the program itself failed, cannot be started, or told nothing within the time limit
  130  Ctrl-C; the program and its processes were ended"
)]
pub(crate) struct FitArguments {
    /// GPU models from `whyoom lab list`, separated by commas; or all
    #[arg(
        long,
        value_name = "NAME",
        value_delimiter = ',',
        default_value = models::DEFAULT,
        default_value_if("machine", ArgPredicate::IsPresent, None),
        value_parser = gpu_name
    )]
    pub(crate) gpu: Vec<String>,
    /// The GPUs of a machine as `whyoom doctor --json` measured them, instead of the table
    #[arg(long, value_name = "FILE")]
    pub(crate) machine: Option<MachineFile>,
    /// Number of GPUs visible to the program
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u16).range(1..=MAX_DEVICES as i64))]
    pub(crate) gpus: u16,
    /// Memory per GPU, instead of the model's, e.g. 8GiB for part of a GPU
    #[arg(long, value_name = "SIZE", value_parser = size)]
    pub(crate) memory: Option<u64>,
    /// Stop the program after N steps instead of when they repeat
    #[arg(long, value_name = "N")]
    pub(crate) steps: Option<u32>,
    /// End the program after this time: 90s, 10m, 2h
    #[arg(long, value_name = "TIME", default_value = "10m", value_parser = time_limit)]
    pub(crate) time_limit: Duration,
    /// Find the largest value that fits: batch=1..512 or batch=8..512:8, with {batch} in the command;
    /// given again (seq=512,1024), the largest for each of those values
    #[arg(long, value_name = "NAME=A..B")]
    pub(crate) vary: Vec<Variation>,
    /// Fail unless this holds on every GPU: peak<22GiB; also reserved, allocated, headroom
    #[arg(long = "assert", value_name = "FIGURE<SIZE", conflicts_with = "vary")]
    pub(crate) assertions: Vec<Assertion>,
    /// Print JSON (schema: whyoom schema)
    #[arg(long)]
    pub(crate) json: bool,
    /// Also write the answer as a page, a small HTML file without a script
    #[arg(long, value_name = "FILE", group = "written", value_parser = no_standard_output(OF_ANSWER))]
    pub(crate) html: Option<PathBuf>,
    /// Also write the report, a self-contained HTML file with the memory of one run
    #[arg(long, value_name = "FILE", group = "written", value_parser = no_standard_output(OF_ANSWER))]
    pub(crate) report: Option<PathBuf>,
    /// Also save what the run allocates, for whyoom diff
    #[arg(long, value_name = "FILE", conflicts_with = "vary", group = "written", value_parser = no_standard_output(OF_ANSWER))]
    pub(crate) save: Option<PathBuf>,
    /// Also write SARIF, from which code hosts mark the line that made the peak
    #[arg(long, value_name = "FILE", group = "written", value_parser = no_standard_output(OF_ANSWER))]
    pub(crate) sarif: Option<PathBuf>,
    /// Overwrite the files of --html, --report, --save and --sarif
    #[arg(short, long, requires = "written")]
    pub(crate) force: bool,
    /// The program and its arguments
    #[arg(
        trailing_var_arg = true,
        required = true,
        value_name = "COMMAND",
        value_hint = ValueHint::CommandWithArguments
    )]
    pub(crate) command: Vec<OsString>,
}

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  whyoom who                                   every GPU: the answer, then the table
  sudo whyoom who                              include details of other users' processes
  whyoom who --device 1 --json                 machine-readable
  whyoom who --kill-orphans                    shows what it would terminate, and asks
  whyoom who --watch                           one line per change
  whyoom who --watch --alert 'free<2GiB'       waits until less than 2 GiB is free
  whyoom who --alert 'used<1GiB' ; [ $? = 3 ]  checks once, for a script
  whyoom who --gate                            one line: is it clean for the next job?

Exit status:
  0  success, whatever the answer is; with --gate: clean
  1  no driver, or it does not respond; an orphan still runs; with --gate: something is left
  2  invalid arguments, or --kill-orphans without a terminal to ask on; with --gate: unknown
  3  an alert holds")]
pub(crate) struct WhoArguments {
    /// Only this GPU, by driver index
    #[arg(long, value_name = "N")]
    pub(crate) device: Option<u32>,
    /// Poll every second and print changes
    #[arg(long)]
    pub(crate) watch: bool,
    /// Exit with status 3 if this holds on a GPU: free<2GiB; also used, residual
    #[arg(long, value_name = "FIGURE<SIZE")]
    pub(crate) alert: Vec<Alert>,
    /// One line: is the GPU clean for the next job? In a prolog or epilog of Slurm: those of the job
    #[arg(long, conflicts_with_all = ["json", "watch", "alert", "kill_orphans"])]
    pub(crate) gate: bool,
    /// Terminate your own orphaned processes that hold memory; asks first
    #[arg(long, conflicts_with_all = ["json", "watch", "alert"])]
    pub(crate) kill_orphans: bool,
    /// Do not ask
    #[arg(long, requires = "kill_orphans")]
    pub(crate) yes: bool,
    /// Print JSON (schema: whyoom schema); with --watch one document per line
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  whyoom top                every GPU; h or ? shows the keys, q quits
  whyoom top --device 1
  whyoom top -1             once, for a pipe; machine-readable: whyoom who --json

Exit status:
  0  success
  1  no driver, or it does not respond
  2  invalid arguments")]
pub(crate) struct TopArguments {
    /// Print once and exit
    #[arg(short = '1', long)]
    pub(crate) once: bool,
    /// Refresh interval
    #[arg(long, value_name = "SECONDS", default_value = "1", value_parser = interval)]
    pub(crate) interval: Duration,
    /// Only this GPU, by driver index
    #[arg(long, value_name = "N")]
    pub(crate) device: Option<u32>,
}

#[derive(Debug, Args)]
#[command(after_help = "\
Started by an editor or an assistant, which sends requests on standard input. The tools why, diff,
replay and who execute nothing; fit runs a command only if --allow-run allows it. See docs/ci.md.

Examples:
  whyoom mcp --folder ~/proj
  whyoom mcp --folder ~/proj --folder /data/logs
  whyoom mcp --folder ~/proj --allow-run 'python train.py'

Exit status:
  0      the client has gone
  1      a folder cannot be read, or the client does not speak the protocol
  2      invalid arguments
  128+N  signal N ended it")]
pub(crate) struct McpArguments {
    /// Folder whose files may be read; repeatable. Relative paths begin in the first, and programs run
    /// there; default: the current folder
    #[arg(long, value_name = "FOLDER")]
    pub(crate) folder: Vec<PathBuf>,
    /// First words of a command that fit may run, separated by spaces; repeatable. Words that follow
    /// them are free: 'python' alone allows any Python program
    #[arg(long, value_name = "WORDS")]
    pub(crate) allow_run: Vec<String>,
}
