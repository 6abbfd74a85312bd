//! A line of a gigabyte, and a file that is one hole.

use std::{
    fs::{self, OpenOptions},
    io::Write as _,
    os::unix::fs::FileExt as _,
    time::Instant,
};

use anyhow::{Result, ensure};

use super::{Attacked, Bystander, MESSAGE, small};
use crate::fleet::place::wait_for;

const LINE: usize = 1 << 30;
const HOLE: u64 = 1 << 40;
/// Logs of others, which are told meanwhile, and how soon.
const OTHERS: usize = 4;
const SOON: u64 = 10;

pub(super) fn run(bystander: &Bystander) -> Result<String> {
    let attacked = Attacked::judged("fleet-lines", "")?;
    let (line, hole) = (attacked.log("line.log"), attacked.log("hole.log"));
    let others =
        (0..OTHERS).map(|number| attacked.log(&format!("other{number}.log"))).collect::<Vec<_>>();
    for path in others.iter().chain([&line, &hole]) {
        fs::write(path, "step\n")?;
    }
    let agent = attacked.start()?;
    wait_for("all logs are followed", 30, || {
        Ok(attacked.metric("whyoom_agent_log_files")? == OTHERS as u64 + 2)
    })?;
    let sparse = OpenOptions::new().write(true).open(&hole)?;
    sparse.write_all_at(MESSAGE.as_bytes(), HOLE)?;
    let started = Instant::now();
    let writer = std::thread::spawn(move || write_line(&line));
    let mut slowest = 0.0_f64;
    for (number, other) in others.iter().enumerate() {
        let asked = Instant::now();
        OpenOptions::new().append(true).open(other)?.write_all(bystander.blame().as_bytes())?;
        let name = format!("other{number}.log");
        wait_for("another's incident is told", SOON, || {
            Ok(attacked.rows()?.iter().any(|row| row.file.ends_with(&name)))
        })?;
        slowest = slowest.max(asked.elapsed().as_secs_f64());
    }
    writer.join().map_err(|_| anyhow::anyhow!("the writer broke off"))??;
    attacked.archived(OTHERS as u64 + 3, 60)?;
    let of = |name: &str| -> Result<usize> {
        Ok(attacked.rows()?.iter().filter(|row| row.file.ends_with(name)).count())
    };
    let (lines, holes) = (of("line.log")?, of("hole.log")?);
    ensure!((lines, holes) == (2, 1), "{lines} incidents of the line, {holes} of the hole");
    let read = attacked.metric("whyoom_agent_log_bytes_total")?;
    ensure!(read > LINE as u64, "only {read} bytes were searched");
    fs::remove_dir_all(attacked.node.path("logs"))?;
    Ok(format!(
        "a line of 1 GiB and a hole of 1 TiB in {:.0} s, their messages found, others told in {slowest:.1} s at most, {}",
        started.elapsed().as_secs_f64(),
        small(&agent)?
    ))
}

/// No newline; a message in its middle and at its end.
fn write_line(path: &std::path::Path) -> Result<()> {
    let mut file = OpenOptions::new().append(true).open(path)?;
    let piece = vec![b'x'; 1 << 20];
    for _ in 0..2 {
        for _ in 0..LINE / piece.len() / 2 {
            file.write_all(&piece)?;
        }
        file.write_all(MESSAGE.as_bytes())?;
    }
    Ok(())
}
