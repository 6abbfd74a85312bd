//! A program that ends while it is attached to: it ends as it would have, and the command says so.

use anyhow::{Result, ensure};
use harness::{Check, Held};

use super::program::{Program, alone};

/// Milliseconds after which it ends: before gdb, while it stops the process, and after.
const DELAYS: [&str; 6] = ["0", "150", "300", "450", "700", "1200"];

pub(super) fn checks() -> Vec<Check> {
    vec![Check::new("ended::any-time", any_time), Check::new("ended::watched", watched)]
}

fn any_time() -> Result<Held> {
    let plain = alone("any-time", "exits", &["0"])?;
    let mut ends = Vec::new();
    for delay in DELAYS {
        let mut program = Program::start("any-time", "exits", &[delay])?;
        let output = program.attach(&[])?;
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        let status = output.status.code();
        let told = ["ended", "no process", "may not"].iter().any(|word| said.contains(word));
        ensure!(status == Some(0) || (status == Some(1) && told), "{delay} ms: {status:?}: {said}");
        let ran = program.wait()?;
        ensure!(ran.status == 7, "{delay} ms: it ended with {}: {}", ran.status, ran.stderr);
        ensure!(ran.like(&plain)? == 0, "{delay} ms: it said more: {}", ran.stderr);
        ends.push(format!("{delay} ms: {}", if status == Some(0) { "seen" } else { "gone" }));
    }
    Ok(Held::new(ends.join(", ")).count("programs that end", DELAYS.len() as u64))
}

/// Its last act is to be looked at.
fn watched() -> Result<Held> {
    let mut program = Program::start("watched", "exits", &["4000"])?;
    let output = program.attach(&["--watch"])?;
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    ensure!(output.status.success(), "{:?}: {said}", output.status.code());
    let document: serde_json::Value = harness::from_slice(&output.stdout)?;
    ensure!(
        document["look"]["ended"] == true,
        "it does not say that it ended: {}",
        document["look"]
    );
    ensure!(document["why"]["live"]["bytes"] == 64 << 20, "{}", document["why"]["live"]);
    let ran = program.wait()?;
    // It is still watched when it says its last word.
    let well = ran.status == 7 && ran.stdout.ends_with("ended well\n") && ran.stderr.is_empty();
    ensure!(well, "{}: {}{}", ran.status, ran.stdout, ran.stderr);
    Ok(Held::new("a program that ends while it is watched tells its last state"))
}
