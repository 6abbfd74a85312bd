//! What can be typed.

#[cfg(target_os = "linux")]
mod on_linux;

use std::path::PathBuf;

use clap::{ArgGroup, Args, ColorChoice, Parser, Subcommand};
use clap_complete::Shell;

#[cfg(target_os = "linux")]
pub(crate) use self::on_linux::*;
#[cfg(not(target_os = "linux"))]
pub(crate) use crate::needs_linux::arguments::*;
use crate::{
    argument_values::{OF_ANSWER, export_format, no_standard_output},
    diff::Condition,
    machine::MachineFile,
    quantities::size,
};

/// Why `-` is refused where an output is named, and what to do.
const OF_VERDICT: &str =
    "the verdict goes to standard output; name a file, or use whyoom report INPUTS -o -";

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
    Lab(LabArguments),
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
#[command(group = ArgGroup::new("written").multiple(true), after_help = "\
Examples:
  whyoom why                               the newest recording in this folder
  whyoom why whyoom-run-20270102-030405    the folder of a recording of whyoom run
  whyoom why oom.pickle                    a snapshot of torch.cuda.memory._dump_snapshot
  whyoom why train.log                     a log of any length, of one or more ranks
  whyoom why < traceback.txt               a pasted traceback
  whyoom why rmm.dev0.csv                  an RMM allocation log
  whyoom why report.sqlite                 from nsys export --type sqlite (docs/import-export.md)
  whyoom why rank0.pickle rank1.pickle     several ranks, one verdict
  whyoom why oom.pickle train.log --json   both together, machine-readable
  whyoom why oom.pickle --live 50          what was live at the OOM, by call site
  whyoom why train.log --sarif oom.sarif   for code hosts and editors (see docs/ci.md)

Exit status:
  0  a verdict was printed, whatever it is
  1  an input could not be read, or a file could not be written
  2  invalid arguments, or a file exists (--force overwrites it)")]
pub(crate) struct WhyArguments {
    /// Recordings (folders), PyTorch snapshots, logs, Nsight Systems exports, or a message in quotes; - reads standard
    /// input. Default: standard input, or the newest recording in this folder if nothing is piped
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
    /// Recordings (folders), PyTorch snapshots, logs, Nsight Systems exports; - reads standard
    /// input. Default: the newest recording in this folder
    #[arg(value_name = "INPUTS")]
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
.parquet, .pickle (a PyTorch memory snapshot). What each contains and omits: docs/import-export.md.

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
