//! The page of `whyoom-fleet report --html` in a browser: what others chose as names, and the figures of `--json`.

use std::{fs, path::Path, process::Command};

use anyhow::{Context, Result, ensure};
use harness::{Build, Held, Look, Random, Seen, empty_folder, look};
use serde_json::{Value, json};

use super::engines;

const ASKED: &str = include_str!("../../scenarios/fleet/page.js");
const INCIDENTS: u64 = 400;
const OBJECTS: u64 = 30;
/// Rows of each table, fewer than there are.
const ROWS: usize = 20;
/// A desk, a phone, and the narrowest that WCAG asks for.
const SIZES: [(u32, u32); 3] = [(1400, 900), (390, 844), (320, 640)];
/// A longer name is cut there.
const LONGEST: usize = 80;
/// Names that others chose; the page has each as text.
const HOSTILE: [&str; 5] = [
    "<script>document.title='taken'</script>",
    "\"><img src=http://example.com/a.png onerror=alert(1)>",
    "</td></table></body><h1>no incident</h1>",
    "'&lt;b&gt; &amp; {{ 7*7 }}",
    "name\u{202e}that turns",
];

pub(super) fn page() -> Result<Held> {
    let folder = empty_folder("fleet-report")?;
    let (archive, file) = (folder.join("archive"), folder.join("report.html"));
    plant(&archive)?;
    fs::write(&file, "an older report")?;
    let figures: Value = serde_json::from_slice(&report(&archive, &["--json"])?)?;
    let (rows, path) = (ROWS.to_string(), harness::text(&file));
    let said = String::from_utf8(report(&archive, &["--html", &path, "--rows", &rows])?)?;
    ensure!(said == format!("The report is in {path}\n"), "{said:?}");
    let files = fs::read_dir(&folder)?.count();
    ensure!(files == 2, "{files} files beside the report");

    let looks = SIZES.map(|size| ["light", "dark"].map(|scheme| opened(&file, size, scheme)));
    let seen = look(looks.as_flattened())?;
    for (look, seen) in looks.as_flattened().iter().zip(&seen) {
        let (width, scheme) = (look.width, look.scheme);
        is_readable(seen).with_context(|| format!("{width} pixels, {scheme}"))?;
        has_figures(&seen.answer, &figures).with_context(|| format!("{width} pixels, {scheme}"))?;
    }
    nothing_in_it(&folder)?;
    Ok(Held::new(format!(
        "{INCIDENTS} incidents with names that are markup: the page opened {} times, no request, no script; its figures \
         are those of --json",
        seen.len()
    )))
}

fn report(archive: &Path, wish: &[&str]) -> Result<Vec<u8>> {
    let asked = Command::new(Build::fleet()?).arg("report").arg(archive).args(wish).output()?;
    ensure!(asked.status.success(), "{}", String::from_utf8_lossy(&asked.stderr));
    Ok(asked.stdout)
}

fn opened(file: &Path, (width, height): (u32, u32), scheme: &'static str) -> Look {
    let (file, screenshot) =
        (file.to_owned(), file.with_file_name(format!("{width}-{scheme}.png")));
    Look {
        file,
        width,
        height,
        scheme,
        screenshot: Some(screenshot),
        has_script: false,
        ask: Some(ASKED),
    }
}

/// An archive without incidents has a page, too.
fn nothing_in_it(folder: &Path) -> Result<()> {
    let (archive, file) = (folder.join("empty"), folder.join("empty.html"));
    fs::create_dir_all(&archive)?;
    report(&archive, &["--html", &harness::text(&file)])?;
    let seen = look(&[opened(&file, SIZES[0], "light")])?;
    let answer = &seen.first().context("not opened")?.answer;
    ensure!(answer["heading"] == "No incident in these days", "{}", answer["heading"]);
    Ok(())
}

/// Some names are hostile, and one has no end.
fn plant(archive: &Path) -> Result<()> {
    let mut random = Random::default();
    let rows = INCIDENTS / OBJECTS + 1;
    for object in 0..OBJECTS {
        let day = object as i64;
        let numbers = (object * rows..INCIDENTS.min((object + 1) * rows)).collect::<Vec<_>>();
        let incidents = numbers.iter().map(|number| {
            let mut one = engines::incident(*number, day, &mut random);
            let name = HOSTILE[*number as usize % HOSTILE.len()].to_owned();
            match number % 4 {
                0 => (one.workload, one.namespace) = (Some(name.clone()), Some(name)),
                1 => one.user = Some(name),
                2 if number % 8 == 2 => one.workload = Some("w".repeat(2 * LONGEST)),
                _ => {}
            }
            if number % 16 == 3 {
                one.cause =
                    ["limit", "host-oom", HOSTILE[0], HOSTILE[1]][*number as usize / 16 % 4].into();
                one.remedy = Some(HOSTILE[2].into());
            }
            one.cluster = HOSTILE[0].into();
            one
        });
        let incidents: Vec<_> = incidents.collect();
        if !incidents.is_empty() {
            engines::write(archive, object, day, &incidents)?;
        }
    }
    Ok(())
}

/// Nothing foreign is in it, nothing is wider than the window, no label is on another, all text is dark enough.
fn is_readable(seen: &Seen) -> Result<()> {
    let answer = &seen.answer;
    ensure!(answer["foreign"] == 0, "{} foreign elements", answer["foreign"]);
    let too_wide = answer["too_wide"].as_i64().context("no width")?;
    ensure!(too_wide <= 0, "{too_wide} pixels wider than the window");
    for (complaint, of) in [("faint", "compared"), ("overlaps", "labels")] {
        ensure!(answer[complaint] == json!([]), "{complaint}: {}", answer[complaint]);
        ensure!(answer[of].as_u64() > Some(5), "only {} {of}", answer[of]);
    }
    ensure!(answer["columns"].as_u64() > Some(20), "{} parts of columns", answer["columns"]);
    Ok(())
}

fn has_figures(answer: &Value, figures: &Value) -> Result<()> {
    let shares = ["name", "incidents", "share"];
    let workloads = ["workload", "cause", "incidents"];
    for (caption, key, columns) in [
        ("Why memory ran out", "causes", shares),
        ("Workloads and their causes", "workloads", workloads),
        ("Users", "users", shares),
        ("Workloads that failed again and again", "repeating", workloads),
        ("Settings that would have served the request that failed", "served_by", shares),
        ("Fixes that were shown", "remedies", shares),
    ] {
        let rows = figures[key].as_array().context("no rows")?;
        ensure!(!rows.is_empty(), "no {key} in the figures");
        let row = |row: &Value| columns.map(|column| cell(&row[column])).to_vec();
        let wanted: Vec<_> = rows.iter().take(ROWS).map(row).collect();
        let found = &answer["tables"][caption];
        ensure!(*found == json!(wanted), "{caption}: {found} and {}", json!(wanted));
    }
    weeks(&answer["tables"]["Incidents by week and cause"], &figures["weeks"])?;
    let hours = format!("{:.1}", figures["gpu_hours_at_most"].as_f64().context("no hours")?);
    let said = answer["hours"].as_str().context("no hours")?;
    ensure!(said.replace(',', "") == hours, "{said} GPU-hours and {hours}");
    let (best, cause) = (&figures["served_by"][0], &figures["causes"][0]);
    let wanted = format!(
        "{} incidents on {} nodes; the most frequent cause is {} ({}); setting {} would have served {} of those {} with \
         a history",
        figures["incidents"],
        figures["nodes"],
        cell(&cause["name"]),
        cell(&cause["share"]),
        cell(&best["name"]),
        cell(&best["share"]),
        figures["with_history"]
    );
    ensure!(answer["heading"] == wanted, "{} and {wanted}", answer["heading"]);
    let dirty = format!("Something was left on the GPU: {} incidents", figures["dirty"]);
    let said = answer["dirty"].as_str().context("no hand-overs")?;
    ensure!(said.starts_with(&dirty), "{said} and {dirty}");
    Ok(())
}

/// Each row adds up to its week.
fn weeks(found: &Value, wanted: &Value) -> Result<()> {
    let (found, wanted) =
        (found.as_array().context("no table")?, wanted.as_array().context("no weeks")?);
    ensure!(found.len() == wanted.len() && found.len() > 3, "{} weeks", found.len());
    for (row, week) in found.iter().zip(wanted) {
        let cells: Vec<&str> =
            row.as_array().context("no row")?.iter().filter_map(Value::as_str).collect();
        let [monday, all, parts @ ..] = &cells[..] else { continue };
        let sum: u64 = parts.iter().filter_map(|part| part.parse::<u64>().ok()).sum();
        let is_right = week["monday"] == *monday && cell(&week["incidents"]) == *all;
        ensure!(is_right && sum.to_string() == *all, "{row} and {week}");
    }
    Ok(())
}

/// A value as the page shows it.
fn cell(value: &Value) -> String {
    match value {
        Value::String(name) => {
            let name = name.replace('\u{202e}', "\u{fffd}");
            let cut: String = name.chars().take(LONGEST).collect();
            if cut.len() < name.len() { cut + "…" } else { cut }
        }
        Value::Number(share) if share.is_f64() => {
            format!("{:.1}\u{a0}%", 100.0 * share.as_f64().unwrap_or_default())
        }
        other => other.to_string(),
    }
}
