//! What can be typed.

use std::{ffi::OsString, path::PathBuf, time::Duration};

use clap::{Args, Parser, Subcommand, ValueEnum, ValueHint};
use clap_complete::Shell;
use whyoom_lab_core::{
    machine::{KernelEffect, MAX_DEVICES},
    models,
};

use crate::{
    export::export_format,
    fit::{Assertion, Variation, gpu_name},
    lab::{Fault, gpu_name as one_gpu_name, kernel_effect, size},
    top::interval,
    who::Alert,
};

/// Why did CUDA run out of memory?
#[derive(Debug, Parser)]
#[command(
    name = "whyoom",
    version,
    about = "Why did CUDA run out of memory? Answered from your own run.",
    after_help = "\
Examples:
  whyoom why train.log            why memory ran out, from what the program printed
  whyoom run -- python train.py   the same from the run itself, recorded
  whyoom fit -- python train.py   whether it will fit, before there is a GPU
  whyoom who                      whose memory it is

Exit status: in the help of each command"
)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Run a program, record what it allocates, and say why if memory runs out
    Run(RunArguments),
    /// Say why memory ran out, from a recording, a snapshot, a log or a pasted traceback
    Why(WhyArguments),
    /// Write one HTML file with the verdict and its proof, to look at and to share
    Report(ReportArguments),
    /// Write a run for another tool: Perfetto, pprof, Parquet, PyTorch's memory viewer
    Export(ExportArguments),
    /// Replay a recorded run under other allocators and settings
    Replay(ReplayArguments),
    /// Say whether a program fits, on which GPU and at which batch, without a GPU
    Fit(FitArguments),
    /// Say who holds GPU memory on this machine, and how to free it
    Who(WhoArguments),
    /// Watch GPU memory and its holders live
    Top(TopArguments),
    /// Run programs on simulated GPUs, without a GPU
    #[command(after_help = "\
Examples:
  whyoom lab run -- python train.py
  whyoom lab list

Exit status: in the help of each command")]
    Lab {
        #[command(subcommand)]
        command: LabCommand,
    },
    /// Explain the causes in general, and the counters that people meet
    Causes(CausesArguments),
    /// Print a shell's completions
    #[command(after_help = "\
Examples:
  whyoom completions bash > ~/.local/share/bash-completion/completions/whyoom
  whyoom completions zsh > ~/.zfunc/_whyoom
  whyoom completions fish > ~/.config/fish/completions/whyoom.fish

Exit status:
  0  they were printed
  2  the arguments are wrong")]
    Completions {
        /// The shell
        shell: Shell,
    },
    /// Print the manual page, of the program or of one command
    #[command(after_help = "\
Examples:
  whyoom man | man -l -
  whyoom man why | man -l -
  whyoom man lab run > ~/.local/share/man/man1/whyoom-lab-run.1

Exit status:
  0  it was printed
  2  there is no such command")]
    Man {
        /// The command, in one or two words
        command: Vec<String>,
    },
}

#[derive(Debug, Args)]
#[command(
    override_usage = "whyoom run [OPTIONS] -- <COMMAND>...",
    after_help = "\
The program is not changed and its output is left alone. What whyoom says goes to standard error,
when the program has ended. If recording fails, the program runs on without it.

Examples:
  whyoom run -- python train.py
  whyoom run -- torchrun --nproc-per-node 4 train.py
  whyoom run -o last-run -- ./simulate     then: whyoom why last-run, whyoom replay last-run
  whyoom run --apply -- python train.py    after an OOM, once more with the setting that fits
  whyoom run --report run.html -- python train.py
  whyoom run --pool -- python train.py     with PyTorch's memory from whyoom's pool
  whyoom run --pool=everything --pool-cap 20GiB -- ./server
  whyoom run --stacks off --limit 64MiB -- ./server

Exit status: that of the program, or
  2      the arguments are wrong
  126    the program cannot be started
  127    there is no such program
  128+N  signal N ended the program"
)]
pub(crate) struct RunArguments {
    /// The recording's folder, new or empty; by default whyoom-run-DATE-TIME here
    #[arg(short, long, value_name = "FOLDER")]
    pub(crate) output: Option<PathBuf>,
    /// What is kept of each call's stack: nothing, native frames, or Python's too
    #[arg(long, value_name = "WHICH", default_value = "all")]
    pub(crate) stacks: Stacks,
    /// Keep only the latest events of each process, in about so much space: 64MiB
    #[arg(long, value_name = "SIZE", value_parser = size)]
    pub(crate) limit: Option<u64>,
    /// After an OOM, run once more with the allocator setting, or the pool, that a replay has
    /// proved to fit
    #[arg(long)]
    pub(crate) apply: bool,
    /// Have PyTorch keep its own history too, and judge its snapshot beside the recording
    #[arg(long)]
    pub(crate) torch_history: bool,
    /// Ask Python what keeps tensors on the GPU alive, when memory runs out and at the end
    #[arg(long)]
    pub(crate) keepers: bool,
    /// Take GPU memory from whyoom's pool: PyTorch's blocks, in other programs cudaMalloc's; or
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
    /// The pool takes at most so much of each GPU: 20GiB
    #[arg(long, value_name = "SIZE", value_parser = size, requires = "pool")]
    pub(crate) pool_cap: Option<u64>,
    /// The pool checks what the program does with its blocks: guards, double frees, foreign pointers
    #[arg(long, requires = "pool")]
    pub(crate) pool_debug: bool,
    /// Write the verdict as JSON into this file (schema: docs/json.md)
    #[arg(long, value_name = "FILE")]
    pub(crate) json: Option<PathBuf>,
    /// Write the report, too: one HTML file, to look at and to share
    #[arg(long, value_name = "FILE")]
    pub(crate) report: Option<PathBuf>,
    /// Say nothing where nothing is wrong
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
#[command(after_help = "\
Examples:
  whyoom why whyoom-run-20270102-030405    the folder of a recording of whyoom run
  whyoom why oom.pickle                    a snapshot of torch.cuda.memory._dump_snapshot
  whyoom why train.log                     a log of any length, of one rank or many
  whyoom why < traceback.txt               a pasted traceback
  whyoom why rmm.dev0.csv                  a log of RMM's allocations
  whyoom why report.sqlite                 of nsys export --type sqlite (see docs/imports.md)
  whyoom why rank0.pickle rank1.pickle     several ranks, one verdict
  whyoom why oom.pickle train.log --json   both together, for a program
  whyoom why oom.pickle --live 50          what was live when memory ran out, by place

Exit status:
  0  a verdict was given, whichever it is
  1  an input could not be read
  2  the arguments are wrong")]
pub(crate) struct WhyArguments {
    /// Recordings (folders), PyTorch snapshots, logs, Nsight Systems exports; - or nothing reads
    /// standard input
    #[arg(value_name = "INPUTS")]
    pub(crate) files: Vec<PathBuf>,
    /// List what was live when memory ran out, by place: the largest 20, or N
    #[arg(long, value_name = "N", num_args = 0..=1)]
    pub(crate) live: Option<Option<String>>,
    /// Print JSON (schema: docs/json.md)
    #[arg(long)]
    pub(crate) json: bool,
    /// Print memory over time in the JSON, too
    #[arg(long, requires = "json")]
    pub(crate) timeline: bool,
    /// Write the report, too: one HTML file, to look at and to share
    #[arg(long, value_name = "FILE")]
    pub(crate) report: Option<PathBuf>,
}

#[derive(Debug, Args)]
#[command(after_help = "\
The file holds everything that it shows and fetches nothing: it opens from disk and can be sent to
others. It names functions, files and lines of the program.

Examples:
  whyoom report oom.pickle                  writes report.html
  whyoom report whyoom-run-20270102-030405 -o run.html
  whyoom report rank0.pickle rank1.pickle   several ranks, one report

Exit status:
  0  the report was written, whatever the verdict is
  1  an input could not be read, or the file not written
  2  the arguments are wrong")]
pub(crate) struct ReportArguments {
    /// Recordings (folders), PyTorch snapshots, logs, Nsight Systems exports; - reads standard input
    #[arg(required = true, value_name = "INPUTS")]
    pub(crate) files: Vec<PathBuf>,
    /// The file to write
    #[arg(short, long, value_name = "FILE", default_value = "report.html")]
    pub(crate) output: PathBuf,
    /// Print what the page shows as JSON, and write no file (schema: docs/json.md)
    #[arg(long, conflicts_with = "output")]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  whyoom causes                     all causes, and a glossary
  whyoom causes fragmented-cache    one of them in full
  whyoom causes reserved            a counter: memory_reserved, \"reserved by PyTorch\"

Exit status:
  0  it was explained
  2  no cause and no counter is called so")]
pub(crate) struct CausesArguments {
    /// The cause's id, or a counter's name
    pub(crate) id: Option<String>,
    /// Print JSON (schema: docs/json.md)
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
#[command(after_help = "\
The format is told by --to, or by how FILE ends: .perfetto-trace or .pftrace, .pb.gz (pprof),
.parquet, .pickle (a PyTorch memory snapshot). What each holds and what is lost: docs/exports.md.

Examples:
  whyoom export oom.pickle -o oom.perfetto-trace        open it at ui.perfetto.dev
  whyoom export last-run -o run.pb.gz                   then: go tool pprof -top run.pb.gz
  whyoom export last-run -o run.parquet                 then: duckdb -c \"FROM 'run.parquet'\"
  whyoom export last-run -o run.pickle                  open it at pytorch.org/memory_viz
  whyoom export last-run --to pytorch-snapshot -o run.pkl --process 4711

Exit status:
  0  the file was written
  1  the input could not be read or holds nothing that the format tells, or the file not written
  2  the arguments are wrong")]
pub(crate) struct ExportArguments {
    /// A recording (folder), PyTorch snapshot, RMM log or Nsight Systems export; - reads standard
    /// input
    pub(crate) input: PathBuf,
    /// The format, where the file's name does not tell it
    #[arg(long, value_name = "FORMAT", value_parser = export_format())]
    pub(crate) to: Option<String>,
    /// The file to write; it appears when it is whole
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: PathBuf,
    /// The process that a PyTorch snapshot is of, by its name or a part of it; by default the one
    /// that had most
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
  whyoom lab shell --gpu l4 --gpus 4     then, in it: python train.py, whyoom who

Exit status: that of the shell, or
  1  the lab cannot start
  2  the arguments are wrong")]
    Shell(LabMachineArguments),
    /// List the GPU models that can be simulated
    List(LabListArguments),
    /// Measure a GPU, and compare it with what would be simulated
    Calibrate(LabCalibrateArguments),
    #[command(hide = true)]
    Hold(LabHoldArguments),
}

#[derive(Debug, Args)]
#[command(
    override_usage = "whyoom lab run [OPTIONS] -- <COMMAND>...",
    after_help = "\
Kernels compute nothing: memory, its errors and its limits are what is simulated.

Examples:
  whyoom lab run -- python train.py                      one A100 with 80 GB
  whyoom lab run --gpu 'RTX 4090' -- python train.py
  whyoom lab run --gpus 8 --memory 8GiB -- torchrun train.py
  whyoom lab run --log calls.jsonl -- ./program          every driver call that touches memory
  whyoom lab run --fault tenant=3GiB@2s -- python train.py

Exit status: that of the program, or
  1      the lab cannot start
  2      the arguments are wrong
  126    the program cannot be started
  127    there is no such program
  128+N  signal N ended the program"
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
    /// The GPU model, as `whyoom lab list` names it
    #[arg(long, value_name = "NAME", default_value = models::DEFAULT, value_parser = one_gpu_name)]
    pub(crate) gpu: String,
    /// How many of them the program sees
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u16).range(1..=MAX_DEVICES as i64))]
    pub(crate) gpus: u16,
    /// The memory that each of them has, where it is not the model's: 8GiB, 512MiB, 24GB
    #[arg(long, value_name = "SIZE", value_parser = size)]
    pub(crate) memory: Option<u64>,
    /// Append every driver call that touches memory to this file, one JSON event a line
    #[arg(long, value_name = "FILE")]
    pub(crate) log: Option<PathBuf>,
    /// Let every user of this computer in, each of whom can then change what the others hold
    #[arg(long)]
    pub(crate) shared: bool,
    /// Have something go wrong: fail=N | ecc | orphan=SIZE | ghost=SIZE | stuck=SIZE | tenant=SIZE@2s | slow-sync=50ms
    #[arg(long, value_name = "FAULT")]
    pub(crate) fault: Vec<Fault>,
    /// Give a kernel an effect: NAME=heap-exhausted | NAME=fail | NAME=busy:50ms
    #[arg(long, value_name = "NAME=EFFECT", value_parser = kernel_effect)]
    pub(crate) kernel: Vec<KernelEffect>,
}

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  whyoom lab list
  whyoom lab list --json

Exit status:
  0  they were listed
  2  the arguments are wrong")]
pub(crate) struct LabListArguments {
    /// Print JSON (schema: docs/json.md)
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
#[command(after_help = "\
Takes up to 64 MiB for a moment and gives all of it back. What cannot be measured is said to be so.

Examples:
  whyoom lab calibrate                                   the first GPU of this machine
  whyoom lab calibrate --device 1 --json > gpu1.json
  whyoom lab run --gpu h200 -- whyoom lab calibrate      the lab itself: every figure must be equal

Exit status:
  0  the GPU was measured, whatever the figures are
  1  no driver, or no such GPU
  2  the arguments are wrong")]
pub(crate) struct LabCalibrateArguments {
    /// The GPU's number, as CUDA counts them
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub(crate) device: u32,
    /// Print JSON (schema: docs/json.md)
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
    /// Start anew and end, so that what holds has lost its parent
    #[arg(long)]
    pub(crate) detach: bool,
}

#[derive(Debug, Args)]
#[command(
    override_usage = "whyoom fit [OPTIONS] -- <COMMAND>...",
    after_help = "\
The program runs on a simulated GPU without a limit until its steps repeat; then its run is replayed
for each GPU. Kernels compute nothing there: memory is what is simulated.

Examples:
  whyoom fit --gpu rtx-4090 -- python train.py
  whyoom fit --gpu t4,l4,a100 -- python train.py --batch 16
  whyoom fit --gpu all -- python generate.py
  whyoom fit --gpu l4 --vary batch=1..512 -- python train.py --batch {batch}
  whyoom fit --gpu a100 --gpus 2 -- torchrun --nproc-per-node 2 train.py
  whyoom fit --gpu l4 --assert 'peak<20GiB' -- python train.py     for continuous integration

Exit status:
  0  it fits on at least one of the GPUs, and what was asserted holds on all
  1  the simulated GPU cannot start, or the program used none
  2  the arguments are wrong
  3  it fits on none, or an assertion does not hold
  4  the program failed by itself, or cannot be started"
)]
pub(crate) struct FitArguments {
    /// GPU models, as `whyoom lab list` names them, with commas between; or all
    #[arg(long, value_name = "NAME", value_delimiter = ',', default_value = models::DEFAULT, value_parser = gpu_name)]
    pub(crate) gpu: Vec<String>,
    /// How many of them the program sees
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u16).range(1..=MAX_DEVICES as i64))]
    pub(crate) gpus: u16,
    /// The memory that each of them has, where it is not the model's: 8GiB, a part of a GPU
    #[arg(long, value_name = "SIZE", value_parser = size)]
    pub(crate) memory: Option<u64>,
    /// End the program after so many steps, not when they repeat
    #[arg(long, value_name = "N")]
    pub(crate) steps: Option<u32>,
    /// Find the largest value that fits: batch=1..512, or batch=8..512:8; {batch} in the command
    #[arg(long, value_name = "NAME=A..B")]
    pub(crate) vary: Option<Variation>,
    /// Fail unless this holds on every GPU: peak<22GiB; also reserved, allocated, headroom
    #[arg(long = "assert", value_name = "FIGURE<SIZE", conflicts_with = "vary")]
    pub(crate) assertions: Vec<Assertion>,
    /// Print JSON (schema: docs/json.md)
    #[arg(long)]
    pub(crate) json: bool,
    /// Write the report, too: one HTML file, to look at and to share
    #[arg(long, value_name = "FILE")]
    pub(crate) report: Option<PathBuf>,
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
  sudo whyoom who                              other users' processes in full, too
  whyoom who --device 1 --json                 for a program
  whyoom who --kill-orphans                    shows what it would end, and asks
  whyoom who --watch                           a line for each change
  whyoom who --watch --alert 'free<2GiB'       waits until less than 2 GiB are free
  whyoom who --alert 'used<1GiB' ; [ $? = 3 ]  asks once, for a script

Exit status:
  0  answered, whichever the answer is
  1  no driver, or it cannot be asked; or an orphan that was to be ended is still there
  2  the arguments are wrong, or --kill-orphans has nobody to ask
  3  an alert holds")]
pub(crate) struct WhoArguments {
    /// Only this GPU, by the driver's number
    #[arg(long, value_name = "N")]
    pub(crate) device: Option<u32>,
    /// Look every second, and print what changes
    #[arg(long)]
    pub(crate) watch: bool,
    /// End with status 3 where this holds on a GPU: free<2GiB; also used, residual
    #[arg(long, value_name = "FIGURE<SIZE")]
    pub(crate) alert: Vec<Alert>,
    /// End your own processes whose parent has gone and that hold memory; asks first
    #[arg(long, conflicts_with_all = ["json", "watch", "alert"])]
    pub(crate) kill_orphans: bool,
    /// Do not ask
    #[arg(long, requires = "kill_orphans")]
    pub(crate) yes: bool,
    /// Print JSON (schema: docs/json.md); with --watch a document a line
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  whyoom top                every GPU; h or ? shows the keys, q quits
  whyoom top --device 1
  whyoom top -1             once, for a pipe; for a program: whyoom who --json

Exit status:
  0  it was shown
  1  no driver, or it cannot be asked
  2  the arguments are wrong")]
pub(crate) struct TopArguments {
    /// Print once and end
    #[arg(short = '1', long)]
    pub(crate) once: bool,
    /// How long to wait between two looks
    #[arg(long, value_name = "SECONDS", default_value = "1", value_parser = interval)]
    pub(crate) interval: Duration,
    /// Only this GPU, by the driver's number
    #[arg(long, value_name = "N")]
    pub(crate) device: Option<u32>,
}

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  whyoom replay oom.pickle                              every allocator, the best first
  whyoom replay oom.pickle --set max_split_size_mb:256  one setting more
  whyoom replay oom.pickle --sweep --capacity 24GiB     many settings, with 24 GiB for them
  whyoom replay oom.pickle --allocator expandable --json

Exit status:
  0  the run was replayed, whatever fits
  1  the input could not be read, or holds no history
  2  the arguments are wrong")]
pub(crate) struct ReplayArguments {
    /// A recording (folder), PyTorch snapshot with history, or RMM log; - reads standard input
    #[arg(value_name = "INPUT")]
    pub(crate) file: PathBuf,
    /// Only this allocator; may be given several times
    #[arg(long, value_name = "ID")]
    pub(crate) allocator: Vec<String>,
    /// PyTorch with these settings too, as in PYTORCH_CUDA_ALLOC_CONF; may be given several times
    #[arg(long, value_name = "NAME:VALUE")]
    pub(crate) set: Vec<String>,
    /// What the allocators may have at most: 24GiB; by default what the recording tells
    #[arg(long, value_name = "SIZE", value_parser = size)]
    pub(crate) capacity: Option<u64>,
    /// Search PyTorch's settings
    #[arg(long)]
    pub(crate) sweep: bool,
    /// Print JSON (schema: docs/json.md)
    #[arg(long)]
    pub(crate) json: bool,
}
