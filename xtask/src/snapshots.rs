//! `cargo xtask snapshots`: every real snapshot imports, and its totals are the file's own.

use std::{
    fmt::Write as _,
    path::{Path, PathBuf},
};

use anyhow::{Context, Result, bail, ensure};
use serde_json::Value;
use whyoom_trace::Bytes;

use crate::tools::{python, root, scratch, shared_data, skipped, why, whyoom};

const DOCUMENT: &str = "docs/snapshots.md";
const TABLE_START: &str = "<!-- table: cargo xtask snapshots --bless -->";
const TABLE_END: &str = "<!-- end of table -->";
/// What must be equal, by its name in our JSON and in the script's.
const COMPARED: &[&str] = &[
    "reserved_bytes",
    "allocated_bytes",
    "active_bytes",
    "requested_bytes",
    "active_blocks",
    "segments",
];

pub(crate) fn run(arguments: &[String]) -> Result<()> {
    let whyoom = whyoom()?;
    let fixtures = pickles(&root().join("tests/fixtures/snapshots"))?;
    let mut problems = Vec::new();
    for file in &fixtures {
        check(&whyoom, file, &mut problems)?;
    }
    println!("{} fixtures checked", fixtures.len());

    let mut checked = 0;
    let Some(shared) = shared_data() else {
        skipped("snapshots from real GPUs");
        return finish(fixtures.len(), checked, &problems);
    };
    let cut = scratch("snapshots")?.join("cut.pickle");
    let mut table = String::from("| file | verdict | why |\n|---|---|---|\n");
    for file in pickles(&shared.join("torch-snapshots"))? {
        let answer = check(&whyoom, &file, &mut problems)?;
        let (name, verdict) = (file_name(&file), &answer["verdict"]);
        let text = |key: &str| verdict[key].as_str().unwrap_or_default().to_owned();
        let peak = Bytes(answer["totals"][0]["peak_allocated_bytes"].as_u64().unwrap_or(0));
        println!("{name:<56} {:<10} peak {peak:>10}", text("cause"));
        // The state at the start of a ring must lead to the same end from wherever it starts.
        python("cut_snapshot.py", &[&file, &cut])?;
        check(&whyoom, &cut, &mut problems).with_context(|| format!("{name} cut in half"))?;
        writeln!(
            table,
            "| {name} | {} | {}. {} |",
            text("cause"),
            text("headline"),
            text("because")
        )?;
        checked += 1;
    }
    keep_document(&table, arguments.contains(&"--bless".to_owned()), &mut problems)?;
    finish(fixtures.len(), checked, &problems)
}

fn finish(fixtures: usize, checked: usize, problems: &[String]) -> Result<()> {
    if !problems.is_empty() {
        bail!("{}", problems.join("; "));
    }
    println!(
        "snapshots: {checked} real files (whole and cut in half) and {fixtures} made ones, {} totals \
         each equal to Python's own sums",
        COMPARED.len()
    );
    Ok(())
}

/// Compares whyoom's totals with the sums that Python makes of the file's own numbers.
fn check(whyoom: &Path, file: &Path, problems: &mut Vec<String>) -> Result<Value> {
    let answer = why(whyoom, &[file]).with_context(|| file_name(file))?;
    let expected = python("snapshot_totals.py", &[file])?;
    let totals = answer["totals"].as_array().context("no totals")?;
    let devices = expected.as_object().context("no sums")?;
    for (device, sums) in devices {
        let is_it = |space: &&Value| space["device"].to_string().trim_matches('"') == device;
        let Some(space) = totals.iter().find(is_it) else {
            problems.push(format!("{}: device {device} is missing", file_name(file)));
            continue;
        };
        for key in COMPARED.iter().filter(|key| space[**key] != sums[**key]) {
            problems.push(format!(
                "{}: device {device}: {key} is {}, the file's own is {}",
                file_name(file),
                space[*key],
                sums[*key]
            ));
        }
    }
    let notes = &answer["inputs"][0]["notes"];
    if notes.as_array().is_none_or(|notes| !notes.is_empty()) {
        problems.push(format!("{}: {notes}", file_name(file)));
    }
    Ok(answer)
}

/// The document's table must be what was just found.
fn keep_document(table: &str, bless: bool, problems: &mut Vec<String>) -> Result<()> {
    let path = root().join(DOCUMENT);
    let document = std::fs::read_to_string(&path).with_context(|| DOCUMENT)?;
    let (before, rest) = document.split_once(TABLE_START).context("no start of the table")?;
    let (_, behind) = rest.split_once(TABLE_END).context("no end of the table")?;
    let renewed = format!("{before}{TABLE_START}\n{table}{TABLE_END}{behind}");
    if bless {
        std::fs::write(&path, renewed)?;
    } else if renewed != document {
        problems.push(format!("{DOCUMENT} is out of date: cargo xtask snapshots --bless"));
    }
    Ok(())
}

fn pickles(folder: &Path) -> Result<Vec<PathBuf>> {
    let entries = std::fs::read_dir(folder).with_context(|| folder.display().to_string())?;
    let mut files: Vec<PathBuf> = entries
        .filter_map(|entry| Some(entry.ok()?.path()))
        .filter(|path| path.extension().is_some_and(|extension| extension == "pickle"))
        .collect();
    files.sort();
    ensure!(!files.is_empty(), "no snapshots in {}", folder.display());
    Ok(files)
}

fn file_name(path: &Path) -> String {
    path.file_name().unwrap_or_default().to_string_lossy().into_owned()
}
