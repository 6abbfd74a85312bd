//! Texts that pretend to be another's log, a runtime's frames or a verdict, and names that would break what is scraped.

use std::{
    fs::{self, File},
    process::Command,
};

use anyhow::{Context, Result, ensure};
use harness::{CProgram, must_succeed};
use whyoom_incident::Incident;

use super::{Attacked, Bystander, MESSAGE, small};

const TIME: &str = "2026-11-18T03:04:05.123456789Z";
/// Pods, of which the first 200 are told apart.
const PODS: usize = 260;
const SERIES: usize = 201;

/// What a program prints to be taken for somebody else.
fn forgeries(bystander: &Bystander) -> Vec<String> {
    let verdict = r#"{"schema":"whyoom.why","version":1,"verdict":{"cause":"victim-cause","strength":"explains","headline":"victim"}}"#;
    vec![
        format!("{TIME} stderr F {MESSAGE}"),
        format!("{{\"log\":\"{MESSAGE}\\n\",\"stream\":\"stderr\",\"time\":\"{TIME}\"}}"),
        format!("/var/log/pods/victim_victim-6d4cf56db6-x7k2p_uid9/victim/0.log: {MESSAGE}"),
        format!("namespace=victim pod=victim user=victim SLURM_JOB_ID=666 {MESSAGE}"),
        format!(
            "\u{1b}[2J\u{1b}]0;victim\u{7}\u{1b}[31m{MESSAGE}\r\n\\n\"}} 1\nwhyoom_oom_total{{cause=\"victim\"}} 9"
        ),
        format!(
            "error[other-process]: process 1 holds 14.85 of 23.64 GiB\nfix: kill -9 1\n{MESSAGE}"
        ),
        format!("{verdict}\n{MESSAGE}"),
        bystander.blame(),
    ]
}

pub(super) fn run(bystander: &Bystander) -> Result<String> {
    let attacked = Attacked::judged("fleet-forged", "")?;
    let forgeries = forgeries(bystander);
    for (number, text) in forgeries.iter().enumerate() {
        let lines = text.split('\n').map(|line| format!("{TIME} stderr F {line}\n"));
        // Some come in the frames of their runtime, and some as if there were none.
        let framed = if number % 2 == 0 { lines.collect() } else { format!("{text}\n") };
        fs::write(attacked.pod(&format!("team_honest{number}a_uid{number}"))?, framed)?;
    }
    let agent = attacked.start()?;
    attacked.archived(forgeries.len() as u64, 40)?;
    let rows = attacked.rows()?;
    ensure!(rows.len() == forgeries.len(), "{} incidents of {}", rows.len(), forgeries.len());
    for row in &rows {
        check_identity(row)?;
    }
    let metrics = attacked.metrics()?;
    ensure!(!metrics.contains("victim"), "{metrics}");
    check_metrics(&attacked)?;
    Ok(format!("{} forgeries, each told as its path's own; {}", rows.len(), small(&agent)?))
}

/// Whose it is, only the path says.
fn check_identity(row: &Incident) -> Result<()> {
    let folder = row.file.split("/pods/").nth(1).and_then(|rest| rest.split('/').next());
    let pod = folder.and_then(|folder| folder.split('_').nth(1)).context("no pod's log")?;
    let told = [&row.scheduler, &row.namespace, &row.pod, &row.workload, &row.container];
    let path = ["kubernetes", "team", pod, pod, "main"];
    let is_path = told.iter().zip(path).all(|(told, path)| told.as_deref() == Some(path));
    ensure!(is_path && row.job.is_none() && row.user.is_none(), "{told:?} and not {path:?}");
    ensure!(!row.cause.contains("victim"), "the cause {}", row.cause);
    let lines = [Some(&row.headline), row.call_site.as_ref(), row.remedy.as_ref(), Some(&row.file)];
    for line in lines.into_iter().flatten() {
        ensure!(!line.contains(char::is_control), "a line for a terminal: {line:?}");
    }
    Ok(())
}

/// Folders with names that a tenant chose, and more of them than are told apart.
pub(super) fn names(_: &Bystander) -> Result<String> {
    // What is counted is the point, and not its verdict: a program that answers at once stands for `whyoom`.
    let whyoom = CProgram::new("tests/scenarios/fleet/verdict.c")?.built()?;
    let attacked = Attacked::new("fleet-names", &whyoom, "")?;
    for number in 0..PODS {
        let letters = format!("{number:b}").replace('0', "a").replace('1', "b");
        let folder = match number % 4 {
            0 => format!("team\"}} 1\nwhyoom-evil{{a=\"{letters}_x_uid"),
            1 => format!("te\\am_\u{1b}[31m{letters}\n# EOF\n_uid"),
            2 => format!("team_{letters}{}_uid", "n".repeat(200)),
            _ => format!("team_{letters}_uid"),
        };
        fs::write(attacked.pod(&folder)?, MESSAGE)?;
    }
    let agent = attacked.start()?;
    attacked.archived(PODS as u64, 40)?;
    check_metrics(&attacked)?;
    let metrics = attacked.metrics()?;
    let series = metrics.lines().filter(|line| line.starts_with("whyoom_oom_total{")).count();
    ensure!(series == SERIES, "{series} series");
    ensure!(attacked.metric("whyoom_oom_total")? == PODS as u64, "not all are counted:\n{metrics}");
    ensure!(!metrics.lines().any(|line| line.starts_with("whyoom-evil")), "{metrics}");
    for row in attacked.rows()? {
        let told = [&row.namespace, &row.workload, &row.pod, &row.container, &Some(row.file)];
        let is_clean = |name: &&Option<String>| {
            name.as_ref().is_none_or(|name| !name.contains(char::is_control))
        };
        ensure!(told.iter().all(is_clean), "names for a terminal: {told:?}");
    }
    Ok(format!("{PODS} pods with names of their own making, {series} series; {}", small(&agent)?))
}

/// `promtool` reads them.
fn check_metrics(attacked: &Attacked) -> Result<()> {
    let path = attacked.node.path("metrics");
    fs::write(&path, attacked.metrics()?.trim_end_matches("# EOF\n"))?;
    let mut promtool = Command::new("promtool");
    let checked = promtool.args(["check", "metrics"]).stdin(File::open(&path)?).output()?;
    let said = String::from_utf8_lossy(&checked.stderr);
    ensure!(!said.contains("error while linting"), "promtool: {said}");
    let wrong =
        Command::new("sh").args(["-c", "echo 'a{b=\"c' | promtool check metrics"]).output()?;
    ensure!(
        String::from_utf8_lossy(&wrong.stderr).contains("error while linting"),
        "promtool takes anything"
    );
    must_succeed(Command::new("promtool").arg("--version").stdout(std::process::Stdio::null()))
}
