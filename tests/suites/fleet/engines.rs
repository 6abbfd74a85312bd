//! The questions of `fleet/command/queries` in three engines, over the same objects, and the report beside them.

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
    process::Command,
    time::{Duration, Instant},
};

use anyhow::{Context, Result, ensure};
use harness::{Build, Held, Random, empty_folder, environment, root, text};
use serde_json::Value;
use whyoom_incident::{Incident, Source, parquet};

/// How much is asked about.
#[derive(Clone, Copy)]
pub(super) struct Size {
    incidents: u64,
    objects: u64,
}

pub(super) const GATE: Size = Size { incidents: 10_000, objects: 50 };
pub(super) const DEEP: Size = Size { incidents: 100_000, objects: 500 };
/// The least of so many runs each, in turns.
const RUNS: usize = 7;
const MOST_RATIO: f64 = 1.1;
const ENGINES: [&str; 3] = ["duckdb", "chdb", "datafusion"];
/// Causes and how many of a hundred incidents have them.
const PLANTED: [(&str, u64); 5] =
    [("working-set", 40), ("fragmented-cache", 25), ("growth", 20), ("orphan", 10), ("unknown", 5)];
/// 2026-10-19, a Monday, in microseconds.
const FIRST: i64 = 1_792_368_000_000_000;
const DAY: i64 = 86_400_000_000;

pub(super) fn run(size: Size) -> Result<Held> {
    let Size { incidents, objects } = size;
    let folder = empty_folder("fleet-engines")?;
    plant(&folder, size)?;
    let queries = root().join("fleet/command/queries");
    let python = environment("engines")?.join("bin/python");
    let script = root().join("tests/scenarios/fleet/engines.py");
    let asked = Command::new(python).arg(script).arg(&folder).arg(&queries).output()?;
    ensure!(asked.status.success(), "{}", String::from_utf8_lossy(&asked.stderr));
    let answers: Value = serde_json::from_slice(&asked.stdout)?;
    let first = answers[ENGINES[0]].as_object().context("no answers")?;
    ensure!(first.len() == 10, "{} questions", first.len());
    for (question, answer) in first {
        for engine in ENGINES {
            let other = &answers[engine][question];
            ensure!(other.get("error").is_none(), "{engine}: {question}: {other}");
            ensure!(
                (&other["columns"], &other["rows"]) == (&answer["columns"], &answer["rows"]),
                "{question}: {engine} answers {} and {} {}",
                other["rows"],
                ENGINES[0],
                answer["rows"]
            );
        }
    }
    let causes = causes_of(&answers[ENGINES[0]]["01-causes"])?;
    let ratio = sql(&folder, &queries, &causes)?;
    let report = report(&folder, incidents)?;
    let mut worst: f64 = 0.0;
    for (cause, share) in PLANTED {
        let (counted, told) = (causes.get(cause), report.get(cause));
        ensure!(counted == told && counted.is_some(), "{cause}: SQL {counted:?}, report {told:?}");
        let found = *counted.context("no count")? as f64 / incidents as f64;
        worst = worst.max((found - share as f64 / 100.0).abs());
    }
    ensure!(worst <= 0.01, "a share is {worst} from the planted one");
    Ok(Held::new(format!(
        "ten questions of {incidents} incidents in {objects} objects: the same answers from {}; the report has the same \
         causes; shares within {:.2} % of the planted ones; `whyoom-fleet sql` takes {ratio:.2} of bare duckdb (at most \
         {MOST_RATIO})",
        ENGINES.join(", "),
        100.0 * worst
    )))
}

/// The command answers as its engine does, and hardly later. Returns the ratio of their times.
fn sql(folder: &Path, queries: &Path, causes: &BTreeMap<String, u64>) -> Result<f64> {
    let bin = environment("engines")?.join("bin");
    let paths = format!("{}:{}", bin.display(), std::env::var("PATH")?);
    let fleet = Build::fleet()?;
    let query = fs::read_to_string(queries.join("01-causes.sql"))?;
    let view = fs::read_to_string(queries.join("incidents.duckdb.sql"))?;
    let view = view.replace("{folder}", &text(folder));
    let whole = format!("{view}\n{query}");
    let ask = |program: &Path, words: &[&str]| -> Result<(Vec<u8>, Duration)> {
        let started = Instant::now();
        let asked = Command::new(program).args(words).env("PATH", &paths).output()?;
        ensure!(asked.status.success(), "{}", String::from_utf8_lossy(&asked.stderr));
        Ok((asked.stdout, started.elapsed()))
    };
    let (mut ours, mut bare) = (Duration::MAX, Duration::MAX);
    for _ in 0..RUNS {
        let (answer, took) = ask(&fleet, &["sql", &text(folder), "causes"])?;
        ours = ours.min(took);
        let (engine, took) = ask(&bin.join("duckdb"), &["-c", &whole])?;
        bare = bare.min(took);
        ensure!(answer == engine, "other answers: {}", String::from_utf8_lossy(&answer));
        let answer = String::from_utf8_lossy(&answer);
        for (cause, count) in causes {
            let is_row = |line: &str| line.contains(cause) && line.contains(&count.to_string());
            ensure!(answer.lines().any(is_row), "{cause} {count} is not in\n{answer}");
        }
    }
    let ratio = ours.as_secs_f64() / bare.as_secs_f64();
    ensure!(ratio <= MOST_RATIO, "`whyoom-fleet sql` takes {ratio:.2} of bare duckdb");
    Ok(ratio)
}

fn causes_of(answer: &Value) -> Result<BTreeMap<String, u64>> {
    let rows = answer["rows"].as_array().context("no rows")?;
    let row = |row: &Value| Some((row[0].as_str()?.to_owned(), row[1].as_u64()?));
    rows.iter().map(|one| row(one).context("a row without a cause and a count")).collect()
}

fn report(folder: &Path, incidents: u64) -> Result<BTreeMap<String, u64>> {
    let asked = Command::new(Build::fleet()?).arg("report").arg(folder).arg("--json").output()?;
    let report: Value = serde_json::from_slice(&asked.stdout)?;
    ensure!(report["incidents"] == incidents, "the report has {}", report["incidents"]);
    let row = |one: &Value| Some((one["name"].as_str()?.to_owned(), one["incidents"].as_u64()?));
    let causes = report["causes"].as_array().context("no causes")?;
    causes.iter().map(|one| row(one).context("no cause")).collect()
}

/// Objects of thirty days; some incidents are in two of them, as while compaction runs.
fn plant(folder: &Path, size: Size) -> Result<()> {
    let mut random = Random::default();
    let mut before: Vec<Incident> = Vec::new();
    for object in 0..size.objects {
        let day = object as i64 % 30;
        let rows = size.incidents / size.objects;
        let mut incidents: Vec<Incident> =
            (0..rows).map(|row| incident(object * rows + row, day, &mut random)).collect();
        let again = incidents.iter().take(5).cloned().collect();
        incidents.extend(std::mem::replace(&mut before, again));
        write(folder, object, day, &incidents)?;
    }
    Ok(())
}

/// An object of a day.
pub(super) fn write(folder: &Path, object: u64, day: i64, incidents: &[Incident]) -> Result<()> {
    let path: PathBuf = folder.join(format!("incidents/date={}", date(day)));
    fs::create_dir_all(&path)?;
    Ok(fs::write(path.join(format!("00-n-a-{object:010}.parquet")), parquet::write(incidents)?)?)
}

fn date(day: i64) -> String {
    // Thirty days from 2026-10-19.
    if day < 13 { format!("2026-10-{:02}", 19 + day) } else { format!("2026-11-{:02}", day - 12) }
}

pub(super) fn incident(number: u64, day: i64, random: &mut Random) -> Incident {
    let mut pick = random.within(0..100);
    let mut cause = PLANTED[0].0;
    for (name, share) in PLANTED {
        if pick < share {
            cause = name;
            break;
        }
        pick -= share;
    }
    let maybe = |random: &mut Random, text: String| (random.share() < 0.8).then_some(text);
    let has_history = random.share() < 0.3;
    let served = ["", "expandable", "expandable;stitch", "stitch"];
    let team = random.within(0..7);
    Incident {
        id: Incident::id_of(&[&number.to_string()]),
        time: FIRST + day * DAY + random.within(0..DAY as u64) as i64,
        cluster: "test".into(),
        node: format!("n{}", random.within(0..1000)),
        source: Source::Log,
        file: "a.log".into(),
        cause: cause.into(),
        strength: "explains".into(),
        headline: "a line".into(),
        call_site: None,
        remedy: maybe(random, "export A=1".into()),
        device: Some(0),
        requested_bytes: Some(random.within(1..1 << 36) as i64),
        capacity_bytes: Some(85_899_345_920),
        free_bytes: None,
        allocated_bytes: None,
        reserved_bytes: None,
        scheduler: Some("kubernetes".into()),
        namespace: maybe(random, format!("team{team}")),
        workload: maybe(random, format!("w{}", number % 400)),
        pod: None,
        container: None,
        job: None,
        user: maybe(random, format!("u{}", number % 97)),
        run_seconds: (random.share() < 0.6).then(|| random.within(0..90_000) as i64),
        gpus: (random.share() < 0.7).then(|| random.within(1..9) as i64),
        has_history,
        served_by: has_history.then(|| served[random.within(0..4) as usize].to_owned()),
        version: "0".into(),
        verdict: "{}".into(),
        who: None,
    }
}
