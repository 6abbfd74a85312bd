//! Files that the server must not read, however they are named.

use std::{
    fs,
    os::unix::fs::symlink,
    path::{Path, PathBuf},
    sync::atomic::{AtomicBool, Ordering::Relaxed},
    thread,
};

use anyhow::{Result, ensure};
use harness::{Held, empty_folder, must_succeed, root, text};
use serde_json::{Value, json};

use super::session::{folder, session};

/// So often is a file asked for while its name changes hands.
const SWAPS: usize = 40;

/// A folder that may be read, and beside it a log that may not.
struct Place {
    open: PathBuf,
    secret: PathBuf,
}

impl Place {
    fn new(name: &str) -> Result<Self> {
        let folder = empty_folder(name)?;
        let place = Self { open: folder.join("open"), secret: folder.join("secret.log") };
        fs::create_dir(&place.open)?;
        let logs = root().join("tests/fixtures/logs");
        fs::copy(logs.join("host-oom-kernel.log"), &place.secret)?;
        fs::copy(logs.join("fragmented.log"), place.open.join("own.log"))?;
        Ok(place)
    }
}

pub(super) fn hostile() -> Result<Held> {
    let place = Place::new("mcp-hostile")?;
    let at = |name: &str| place.open.join(name);
    symlink(&place.secret, at("link.log"))?;
    symlink("..", at("up"))?;
    symlink("/proc/self/environ", at("environ"))?;
    symlink("own.log", at("inner.log"))?;
    must_succeed(std::process::Command::new("mkfifo").arg(at("fifo")))?;
    let outside = [
        "link.log",
        "up/secret.log",
        "../secret.log",
        "environ",
        "/proc/self/environ",
        "/etc/passwd",
        "/etc/no-such-file",
        "/dev/zero",
        &text(&place.secret),
    ];
    let mut calls: Vec<Value> = Vec::new();
    for path in outside {
        calls.push(json!(["why", {"path": path}]));
        calls.push(json!(["replay", {"path": path}]));
        calls.push(json!(["diff", {"a": "own.log", "b": path}]));
    }
    let forbidden = calls.len();
    let others = ["fifo", "--help", "own.log\u{0}", "absent.log"];
    calls.extend(others.map(|path| json!(["why", {"path": path}])));
    calls.push(json!(["why", {"text": "x".repeat(10 << 20)}]));
    calls.push(json!(["why", {"path": "inner.log"}]));
    let session = session("hostile", &folder(&place.open), &Value::Array(calls))?;
    for answer in &session.answers[..forbidden] {
        let told = answer.refusal()?;
        ensure!(told.contains("is not in a folder") && told.contains("--folder"), "{told}");
    }
    let rest = &session.answers[forbidden..];
    ensure!(rest[0].refusal()?.contains("not a regular file"), "{}", rest[0].text());
    for (answer, path) in rest[1..4].iter().zip(&others[1..]) {
        ensure!(answer.refusal()?.contains("does not exist"), "{path}: {}", answer.text());
    }
    ensure!(rest[4].refusal()?.contains("longer than 4 MiB"), "{}", rest[4].text());
    ensure!(rest[5].given()?["cause"] == "fragmented-cache", "{}", rest[5].text());
    Ok(Held::new(format!("{forbidden} calls for files outside refused, and {} others", rest.len())))
}

/// A name that is a file and a link to the secret by turns: whichever it is, the secret is not told.
pub(super) fn swapped() -> Result<Held> {
    let place = Place::new("mcp-swapped")?;
    let done = AtomicBool::new(false);
    let calls = vec![json!(["why", {"path": "race.log"}]); SWAPS];
    let session = thread::scope(|scope| {
        scope.spawn(|| swap(&place, &done));
        let session = session("swapped", &folder(&place.open), &Value::Array(calls));
        done.store(true, Relaxed);
        session
    })?;
    let (mut own, mut refused) = (0, 0);
    for answer in &session.answers {
        match answer.given() {
            Ok(why) => {
                ensure!(why["cause"] == "fragmented-cache", "the secret was told: {why}");
                own += 1;
            }
            Err(_) => {
                answer.refusal()?;
                refused += 1;
            }
        }
    }
    ensure!(own > 0 && refused > 0, "the name did not change hands: {own}, {refused}");
    Ok(Held::new(format!(
        "{own} times the file, {refused} times nothing, never what the link led to"
    )))
}

fn swap(place: &Place, done: &AtomicBool) {
    let (own, link) = (place.open.join("own.log"), place.open.join("to-secret"));
    let (next, race) = (place.open.join("next"), place.open.join("race.log"));
    let put = |made: std::io::Result<()>| {
        made.is_ok().then(|| fs::rename(&next, &race));
    };
    let _ = symlink(&place.secret, &link);
    while !done.load(Relaxed) {
        put(fs::hard_link(&own, &next));
        put(symlink(Path::new("to-secret"), &next));
    }
}
