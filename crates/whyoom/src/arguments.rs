//! What can be typed.

use std::{ffi::OsString, path::PathBuf, time::Duration};

use clap::{
    ArgGroup, Args, ColorChoice, Parser, Subcommand, ValueEnum, ValueHint, builder::ArgPredicate,
};
use clap_complete::Shell;
use whyoom_lab_core::{
    machine::{KernelEffect, MAX_DEVICES},
    models,
};

use crate::{
    argument_values::{export_format, interval, no_standard_output, time_limit},
    diff::Condition,
    fit::{Assertion, Variation, gpu_name},
    lab::{Fault, gpu_name as one_gpu_name, kernel_effect, size},
    machine::MachineFile,
    who::Alert,
};

/// Why `-` is refused where an output is named, and what to do.
const NO_FOLDER: &str = "a recording is a folder; name one";
const OF_PROGRAM: &str = "standard output belongs to the program; name a file";
const OF_VERDICT: &str =
    "the verdict goes to standard output; name a file, or use whyoom report INPUTS -o -";
const OF_ANSWER: &str = "the answer goes to standard output; name a file";

const NO_PAGES: &str = "there are several pages; name a folder, or leave --output out";

/// Why did CUDA run out of memory?
#[derive(Debug, Parser)]
#[command(
    name = "whyoom",
    version,
    about = "Why did CUDA run out of memory? Answered from your own run.",
    after_help = "\
Examples:
  whyoom why train.log            explain an OOM from the program's log
  whyoom run -- python train.py   record the run and explain an OOM from it
  whyoom fit -- python train.py   check whether it will fit, without a GPU
  whyoom who                      show which processes hold GPU memory
  whyoom demo                     see examples, without a GPU

Exit status: see the help of each command"
)]
pub(crate) struct Arguments {
    /// Colour the output
    #[arg(
        long,
        global = true,
        value_name = "WHEN",
        default_value_t,
        help_heading = "Global options"
    )]
    pub(crate) color: ColorChoice,
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Run a program, record its allocations, and explain why if memory runs out
    Run(RunArguments),
    /// Look into a PyTorch process that already runs: what it holds, and what refers to it
    Attach(AttachArguments),
    /// Explain why memory ran out, from a recording, a snapshot, a log or a pasted traceback
    Why(WhyArguments),
    /// Write the verdict and its evidence to a self-contained HTML file
    Report(ReportArguments),
    /// Export a run for another tool: Perfetto, pprof, Parquet, PyTorch's memory viewer
    Export(ExportArguments),
    /// Compare two runs: what needs more memory, where, and why
    Diff(DiffArguments),
    /// Replay a recorded run under other allocators and settings
    Replay(ReplayArguments),
    /// Check which GPUs and batch sizes a program fits, without a GPU
    Fit(FitArguments),
    /// Show which processes hold GPU memory on this machine, and how to free it
    Who(WhoArguments),
    /// Monitor GPU memory and the processes that hold it
    Top(TopArguments),
    /// Test this machine: what whyoom meets here, and why CUDA is unavailable if it is
    Doctor(DoctorArguments),
    /// Run programs on simulated GPUs, without a GPU
    #[command(after_help = "\
Examples:
  whyoom lab run -- python train.py
  whyoom lab list

Exit status: see the help of each command")]
    Lab {
        #[command(subcommand)]
        command: LabCommand,
    },
    /// Explain the causes and the memory counters
    Causes(CausesArguments),
    /// Show five short runs and their verdicts, without a GPU and without PyTorch
    Demo(DemoArguments),
    /// Print shell completions
    #[command(after_help = "\
Examples:
  whyoom completions bash > ~/.local/share/bash-completion/completions/whyoom
  whyoom completions zsh > ~/.zfunc/_whyoom
  whyoom completions fish > ~/.config/fish/completions/whyoom.fish

Exit status:
  0  success
  2  invalid arguments")]
    Completions {
        /// The shell
        shell: Shell,
    },
    /// Print the manual page of whyoom or of one command, or write all of them
    #[command(after_help = "\
Examples:
  whyoom man | man -l -
  whyoom man why | man -l -
  whyoom man --output ~/.local/share/man/man1     then: man whyoom-lab-run

Exit status:
  0  success
  1  the pages could not be written
  2  unknown command")]
    Man {
        /// The command, e.g. why or lab run
        command: Vec<String>,
        /// Write the page and those of its subcommands into this folder; it is created if needed
        #[arg(short, long, value_name = "FOLDER", value_parser = no_standard_output(NO_PAGES))]
        output: Option<PathBuf>,
    },
    /// Answer assistants and editors, through the Model Context Protocol
    Mcp(McpArguments),
    /// Print the JSON Schema of a command's --json output
    #[command(after_help = "\
Examples:
  whyoom schema                     the names of all
  whyoom schema why > why.schema.json
  whyoom why oom.pickle --json | check-jsonschema --schemafile why.schema.json -

Exit status:
  0  success
  2  unknown schema")]
    Schema {
        /// Name of the schema, as in the document: why or whyoom.why
        name: Option<String>,
    },
}

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
#[command(group = ArgGroup::new("written").multiple(true), after_help = "\
Examples:
  whyoom why whyoom-run-20270102-030405    the folder of a recording of whyoom run
  whyoom why oom.pickle                    a snapshot of torch.cuda.memory._dump_snapshot
  whyoom why train.log                     a log of any length, of one or more ranks
  whyoom why < traceback.txt               a pasted traceback
  whyoom why rmm.dev0.csv                  an RMM allocation log
  whyoom why report.sqlite                 output of nsys export --type sqlite (see docs/imports.md)
  whyoom why rank0.pickle rank1.pickle     several ranks, one verdict
  whyoom why oom.pickle train.log --json   both together, machine-readable
  whyoom why oom.pickle --live 50          what was live at the OOM, by call site
  whyoom why train.log --sarif oom.sarif   for code hosts and editors (see docs/sarif.md)

Exit status:
  0  a verdict was printed, whatever it is
  1  an input could not be read, or a file could not be written
  2  invalid arguments, or a file exists (--force overwrites it)")]
pub(crate) struct WhyArguments {
    /// Recordings (folders), PyTorch snapshots, logs, Nsight Systems exports; - or nothing reads
    /// standard input
    #[arg(value_name = "INPUTS")]
    pub(crate) files: Vec<PathBuf>,
    /// List what was live at the OOM, by call site: the largest 20, or N
    #[arg(long, value_name = "N", num_args = 0..=1)]
    pub(crate) live: Option<Option<String>>,
    /// Show every remedy, every figure with its source, and memory over time
    #[arg(short, long, conflicts_with = "json")]
    pub(crate) verbose: bool,
    /// What `whyoom doctor --json` measured on the machine, instead of assumed figures
    #[arg(long, value_name = "FILE")]
    pub(crate) machine: Option<MachineFile>,
    /// Print JSON (schema: whyoom schema)
    #[arg(long)]
    pub(crate) json: bool,
    /// Include memory over time in the JSON
    #[arg(long, requires = "json")]
    pub(crate) timeline: bool,
    /// Do not open the libraries that a recording names: native frames stay without names
    #[arg(long)]
    pub(crate) no_symbols: bool,
    /// Also write the report, a self-contained HTML file
    #[arg(long, value_name = "FILE", value_parser = no_standard_output(OF_VERDICT), group = "written")]
    pub(crate) report: Option<PathBuf>,
    /// Also write SARIF, from which code hosts mark the line
    #[arg(long, value_name = "FILE", value_parser = no_standard_output(OF_ANSWER), group = "written")]
    pub(crate) sarif: Option<PathBuf>,
    /// Overwrite the files of --report and --sarif
    #[arg(short, long, requires = "written")]
    pub(crate) force: bool,
}

#[derive(Debug, Args)]
#[command(after_help = "\
The file is self-contained: it opens from disk, loads nothing from the network and can be sent to
others. It contains function names, files and lines of the program.

Examples:
  whyoom report oom.pickle                  writes report.html
  whyoom report whyoom-run-20270102-030405 -o run.html
  whyoom report rank0.pickle rank1.pickle   several ranks, one report
  whyoom report oom.pickle -o - | ssh desk 'cat > report.html'

Exit status:
  0  the report was written, whatever the verdict is
  1  an input could not be read, or the file could not be written
  2  invalid arguments, or the file exists (--force overwrites it)")]
pub(crate) struct ReportArguments {
    /// Recordings (folders), PyTorch snapshots, logs, Nsight Systems exports; - reads standard input
    #[arg(required = true, value_name = "INPUTS")]
    pub(crate) files: Vec<PathBuf>,
    /// Output file; - writes to standard output
    #[arg(short, long, value_name = "FILE", default_value = "report.html")]
    pub(crate) output: PathBuf,
    /// Overwrite the output file
    #[arg(short, long)]
    pub(crate) force: bool,
    /// Print the contents of the page as JSON instead of writing a file (schema: whyoom schema)
    #[arg(long, conflicts_with = "output")]
    pub(crate) json: bool,
    /// Keep paths of files as they are, with the names of home and project folders
    #[arg(long)]
    pub(crate) full_paths: bool,
}

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  whyoom causes                     all causes, and a glossary
  whyoom causes fragmented-cache    one of them in full
  whyoom causes reserved            a counter: memory_reserved, \"reserved by PyTorch\"

Exit status:
  0  success
  2  unknown cause or counter")]
pub(crate) struct CausesArguments {
    /// ID of a cause, or name of a counter
    pub(crate) id: Option<String>,
    /// Print JSON (schema: whyoom schema)
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
#[command(after_help = "\
The runs are recordings of small PyTorch programs on a simulated GPU, included in this executable.

Examples:
  whyoom demo                       list the stories
  whyoom demo fragmented            CUDA out of memory although memory is free?
  whyoom demo growing --open        and open the report in a browser
  whyoom demo --all

Exit status:
  0  the story was told, whatever its verdict is
  1  the report or a temporary file could not be written
  2  invalid arguments, or an unknown story")]
pub(crate) struct DemoArguments {
    /// Name of a story; without it, the stories are listed
    pub(crate) name: Option<String>,
    /// Tell all stories
    #[arg(long, conflicts_with = "name")]
    pub(crate) all: bool,
    /// Show every remedy, every figure with its source, and memory over time
    #[arg(short, long, conflicts_with = "json")]
    pub(crate) verbose: bool,
    /// Print the verdict as JSON, as whyoom why does (schema: whyoom schema)
    #[arg(long, requires = "name")]
    pub(crate) json: bool,
    /// Also write the report, a self-contained HTML file; default: whyoom-demo-NAME.html
    #[arg(long, value_name = "FILE", num_args = 0..=1, requires = "name")]
    pub(crate) report: Option<Option<PathBuf>>,
    /// Write the report and open it in a browser
    #[arg(long, requires = "name")]
    pub(crate) open: bool,
}

impl DemoArguments {
    /// The report's file, if the person named one.
    pub(crate) fn report_file(&self) -> Option<&PathBuf> {
        self.report.as_ref()?.as_ref()
    }
}

#[derive(Debug, Args)]
#[command(after_help = "\
The format is set by --to or by the extension of FILE: .perfetto-trace or .pftrace, .pb.gz (pprof),
.parquet, .pickle (a PyTorch memory snapshot). What each contains and omits: docs/exports.md.

Examples:
  whyoom export oom.pickle -o oom.perfetto-trace        open it at ui.perfetto.dev
  whyoom export last-run -o run.pb.gz                   then: go tool pprof -top run.pb.gz
  whyoom export last-run -o run.parquet                 then: duckdb -c \"FROM 'run.parquet'\"
  whyoom export last-run -o run.pickle                  open it at pytorch.org/memory_viz
  whyoom export last-run --to pytorch-snapshot -o run.pkl --process 4711
  whyoom export last-run --to perfetto -o - | gzip > run.perfetto-trace.gz

Exit status:
  0  the file was written
  1  the input could not be read or contains nothing to export, or the file could not be written
  2  invalid arguments, or the file exists (--force overwrites it)")]
pub(crate) struct ExportArguments {
    /// A recording (folder), PyTorch snapshot, RMM log or Nsight Systems export; - reads standard
    /// input
    pub(crate) input: PathBuf,
    /// Output format, if the extension of the file does not determine it
    #[arg(long, value_name = "FORMAT", value_parser = export_format())]
    pub(crate) to: Option<String>,
    /// Output file (written atomically); - writes to standard output and needs --to
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: PathBuf,
    /// Overwrite the output file
    #[arg(short, long)]
    pub(crate) force: bool,
    /// Process to export as a PyTorch snapshot, by name or part of it; default: the one with the
    /// most memory
    #[arg(long, value_name = "NAME")]
    pub(crate) process: Option<String>,
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
    /// fail-map=N-M | granularity=SIZE | lost-gpu=N | mig | mps | no-peers | no-virtual-memory |
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
    group(ArgGroup::new("written").multiple(true)),
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
A and B may each be a recording (folder), a PyTorch snapshot, a file of whyoom fit --save, or a
folder of these, one for each rank.

Examples:
  whyoom diff before.pickle after.pickle
  whyoom diff last-week/ today/                         two recordings, or two folders of snapshots
  whyoom diff base.pickle new.pickle --fail-if 'peak>+5%'
  whyoom diff base.pickle new.pickle --json

Exit status:
  0  the runs were compared, whatever differs
  1  an input could not be read, or contains no memory
  2  invalid arguments
  3  a condition of --fail-if holds")]
pub(crate) struct DiffArguments {
    /// The run to compare with
    #[arg(value_name = "A")]
    pub(crate) a: PathBuf,
    /// The run that is new
    #[arg(value_name = "B")]
    pub(crate) b: PathBuf,
    /// Exit with 3 if this holds for any rank, e.g. 'peak>+5%', 'reserved>+1GiB' or 'peak>20GiB'; repeatable
    #[arg(long, value_name = "CONDITION")]
    pub(crate) fail_if: Vec<Condition>,
    /// Do not open the libraries that a recording names: native frames stay without names
    #[arg(long)]
    pub(crate) no_symbols: bool,
    /// Print JSON (schema: whyoom schema)
    #[arg(long)]
    pub(crate) json: bool,
    /// Also write a page of the comparison, a self-contained HTML file
    #[arg(long, value_name = "FILE", value_parser = no_standard_output(OF_ANSWER))]
    pub(crate) report: Option<PathBuf>,
    /// Overwrite the file of --report
    #[arg(short, long, requires = "report")]
    pub(crate) force: bool,
}

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  whyoom replay oom.pickle                              every allocator, the best first
  whyoom replay oom.pickle --set max_split_size_mb:256  one additional setting
  whyoom replay oom.pickle --sweep --capacity 24GiB     many settings, with 24 GiB available
  whyoom replay oom.pickle --allocator expandable --json

Exit status:
  0  the run was replayed, whatever fits
  1  the input could not be read, or contains no history
  2  invalid arguments")]
pub(crate) struct ReplayArguments {
    /// A recording (folder), PyTorch snapshot with history, or RMM log; - reads standard input
    #[arg(value_name = "INPUT")]
    pub(crate) file: PathBuf,
    /// Only this allocator; repeatable
    #[arg(long, value_name = "ID")]
    pub(crate) allocator: Vec<String>,
    /// Also PyTorch with these settings, as in PYTORCH_CUDA_ALLOC_CONF; repeatable
    #[arg(long, value_name = "NAME:VALUE")]
    pub(crate) set: Vec<String>,
    /// Memory available to the allocators, e.g. 24GiB; default: from the recording
    #[arg(long, value_name = "SIZE", value_parser = size)]
    pub(crate) capacity: Option<u64>,
    /// Try many PyTorch allocator settings
    #[arg(long)]
    pub(crate) sweep: bool,
    /// Time of driver calls as `whyoom doctor --json` measured it, instead of an A100's
    #[arg(long, value_name = "FILE")]
    pub(crate) machine: Option<MachineFile>,
    /// Print JSON (schema: whyoom schema)
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
#[command(after_help = "\
Started by an editor or an assistant, which sends requests on standard input. The tools why, diff,
replay and who execute nothing; fit runs a command only if --allow-run allows it. See docs/mcp.md.

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
