//! The command line.

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand};
use jiff::civil::Date;

/// Why the GPUs of a cluster run out of memory
#[derive(Debug, Parser)]
#[command(name = "whyoom-fleet", version)]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Find where programs of this node run out of GPU memory, and archive why
    Agent(AgentWish),
    /// Show what the cluster ran out of memory for, and which one change would help most
    ///
    /// Exit status: 0 also if objects were left out because they are damaged; these are counted on standard error, on
    /// the page, and in the JSON under damaged_objects. 1 if there is no report.
    Report(ReportWish),
    /// Ask the archive a question in SQL, by DuckDB
    Sql(SqlWish),
    /// Replay recordings of the cluster under other settings, in shards on many machines
    Replay(ReplayWish),
    /// Copy the objects into a folder, for engines that read files
    Copy(CopyWish),
    /// Merge the small objects of each day into few
    Compact(CompactWish),
    /// Remove the objects of old days
    Forget(ForgetWish),
}

#[derive(Debug, Args)]
pub(crate) struct AgentWish {
    /// The site's settings (docs/clusters.md)
    #[arg(long, value_name = "FILE", default_value = "/etc/whyoom/fleet.toml")]
    pub(crate) settings: PathBuf,
    /// Read what is there, upload it and end
    #[arg(long)]
    pub(crate) once: bool,
    /// Only check the settings
    #[arg(long, conflicts_with = "once")]
    pub(crate) check: bool,
}

#[derive(Debug, Args)]
pub(crate) struct ReportWish {
    /// The archive: s3://BUCKET/PREFIX or a folder
    pub(crate) archive: String,
    /// The first day
    #[arg(long, value_name = "YYYY-MM-DD")]
    pub(crate) from: Option<Date>,
    /// The last day
    #[arg(long, value_name = "YYYY-MM-DD")]
    pub(crate) to: Option<Date>,
    /// Rows of each table
    #[arg(long, value_name = "N", default_value_t = 10)]
    pub(crate) rows: usize,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
    /// Write one HTML file, in place of what is there
    #[arg(long, value_name = "FILE", conflicts_with = "json")]
    pub(crate) html: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub(crate) struct SqlWish {
    /// The archive: s3://BUCKET/PREFIX or a folder. A copy is kept in the cache folder
    pub(crate) archive: Option<String>,
    /// The name of a question, or SQL over the table `incidents`; without, the names are listed
    pub(crate) question: Option<String>,
}

#[derive(Debug, Args)]
#[command(group = clap::ArgGroup::new("step").required(true).args(["plan", "shard", "sum"]))]
pub(crate) struct ReplayWish {
    /// The archive: s3://BUCKET/PREFIX or a folder
    pub(crate) archive: String,
    /// List recordings and snapshots in a manifest, which is put into the archive
    #[arg(long, value_name = "PATTERN", num_args = 1.., conflicts_with = "manifest")]
    pub(crate) plan: Vec<PathBuf>,
    /// With --plan: also try PyTorch with these settings, as in PYTORCH_CUDA_ALLOC_CONF; repeatable
    #[arg(long, value_name = "NAME:VALUE", requires = "plan")]
    pub(crate) set: Vec<String>,
    /// The manifest that --plan has named
    #[arg(long, value_name = "NAME", required_unless_present = "plan")]
    pub(crate) manifest: Option<String>,
    /// Replay this part of the manifest, I from 0 to N-1; what has a result is not replayed again
    #[arg(long, value_name = "I/N")]
    pub(crate) shard: Option<Shard>,
    /// Show what would have served how many, once each has a result
    #[arg(long)]
    pub(crate) sum: bool,
    /// With --sum: print JSON
    #[arg(long, requires = "sum")]
    pub(crate) json: bool,
    /// The command whyoom
    #[arg(long, value_name = "PATH", default_value = "whyoom")]
    pub(crate) whyoom: PathBuf,
}

/// A part of a manifest.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Shard {
    pub(crate) index: usize,
    pub(crate) count: usize,
}

impl std::str::FromStr for Shard {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let parsed = text.split_once('/').and_then(|(index, count)| {
            Some(Self { index: index.parse().ok()?, count: count.parse().ok()? })
        });
        parsed
            .filter(|shard| shard.index < shard.count)
            .ok_or("use I/N with I from 0 to N-1, as in 0/16")
    }
}

#[derive(Debug, Args)]
pub(crate) struct CopyWish {
    /// The archive: s3://BUCKET/PREFIX or a folder
    pub(crate) archive: String,
    /// The folder, which then is an archive, too. What is there already is not copied again. Only you may
    /// read the copies
    pub(crate) folder: PathBuf,
}

#[derive(Debug, Args)]
pub(crate) struct CompactWish {
    /// The archive: s3://BUCKET/PREFIX or a folder
    pub(crate) archive: String,
    /// Only this day
    #[arg(long, value_name = "YYYY-MM-DD")]
    pub(crate) day: Option<Date>,
}

#[derive(Debug, Args)]
pub(crate) struct ForgetWish {
    /// The archive: s3://BUCKET/PREFIX or a folder
    pub(crate) archive: String,
    /// Keep so many days before today
    #[arg(long, value_name = "N")]
    pub(crate) days: u32,
}
