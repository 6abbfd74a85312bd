//! `whyoom-fleet sql`: asks DuckDB, as a process. An engine inside would be one more to build, carry and update, and
//! would answer as this does.

use std::{
    env, fs,
    io::ErrorKind,
    os::unix::process::CommandExt as _,
    path::{Path, PathBuf},
    process::Command,
};

use anyhow::{Context as _, Result, anyhow, bail};
use whyoom_archive::Archive;
use whyoom_incident::Incident;

use crate::{cli::SqlWish, copy};

/// Questions by their names. Each is one text for every engine.
const QUESTIONS: [(&str, &str); 10] = [
    ("causes", include_str!("../queries/01-causes.sql")),
    ("weeks", include_str!("../queries/02-weeks.sql")),
    ("workloads", include_str!("../queries/03-workloads.sql")),
    ("users", include_str!("../queries/04-users.sql")),
    ("gpu-hours", include_str!("../queries/05-gpu-hours.sql")),
    ("repeating", include_str!("../queries/06-repeating.sql")),
    ("dirty-nodes", include_str!("../queries/07-dirty-nodes.sql")),
    ("served-by", include_str!("../queries/08-served-by.sql")),
    ("hours", include_str!("../queries/09-hours.sql")),
    ("largest-requests", include_str!("../queries/10-largest-requests.sql")),
];

pub(crate) fn run(wish: &SqlWish) -> Result<()> {
    let Some(question) = &wish.question else {
        for (name, text) in QUESTIONS {
            let about = text.lines().next().unwrap_or_default().trim_start_matches("-- ");
            println!("{name:<18}{about}");
        }
        return Ok(());
    };
    let archive = wish.archive.as_deref().context("name the archive")?;
    let named = QUESTIONS.iter().find(|(name, _)| name == question);
    let sql = named.map_or(question.as_str(), |(_, text)| text);
    // In place of this process: what the engine prints and how it ends is the answer.
    let error = duckdb(&local(archive)?, sql)?.exec();
    Err(match error.kind() {
        ErrorKind::NotFound => anyhow!("duckdb is not here: pip install duckdb-cli"),
        _ => error.into(),
    })
}

/// DuckDB, with the view that counts an incident once.
fn duckdb(folder: &Path, sql: &str) -> Result<Command> {
    let folder = folder.to_str().context("a folder whose name is no text")?;
    if folder.contains(['\'', '*', '?', '[', '{']) {
        bail!("{folder}: DuckDB takes some of these characters for something else");
    }
    let view = include_str!("../queries/incidents.duckdb.sql").replace("{folder}", folder);
    let mut command = Command::new("duckdb");
    command.arg("-c").arg(format!("{view}\n{sql}"));
    Ok(command)
}

/// Returns the folder for caches in the user's home, or `None` if `HOME` does not name a folder by its whole path. An
/// empty one would be the current folder, where other users may write.
fn default_cache() -> Option<PathBuf> {
    let home = PathBuf::from(env::var_os("HOME")?);
    home.is_absolute().then(|| home.join(".cache"))
}

/// Returns a folder with a copy of the archive. Objects do not change: only those are copied that are new. A folder is
/// copied as a bucket is: DuckDB follows links, and whoever writes the archive could put links there.
fn local(archive: &str) -> Result<PathBuf> {
    let archive = match archive.contains("://") {
        true => archive.to_owned(),
        false => whole_name(archive)?,
    };
    let cache = env::var_os("XDG_CACHE_HOME").map(PathBuf::from);
    let cache = cache.filter(|path| path.is_absolute()).or_else(default_cache);
    let cache = cache.context("set HOME or XDG_CACHE_HOME, for a copy of the archive")?;
    let endpoint = env::var("AWS_ENDPOINT_URL").unwrap_or_default();
    let folder = cache.join("whyoom-fleet").join(Incident::id_of(&[&archive, &endpoint]));
    let copied = copy::copy(&archive, &folder)?;
    if let Some(left_out) = copied.left_out() {
        eprintln!("{left_out}");
    }
    Ok(folder)
}

/// Returns the whole name of a folder: the same folder has the same copy, wherever it is named from.
fn whole_name(folder: &str) -> Result<String> {
    // A misspelt name is reported here, and not by an engine that finds no file.
    Archive::existing(folder)?;
    let path = fs::canonicalize(folder)?;
    Ok(path.to_str().context("a folder whose name is no text")?.to_owned())
}
