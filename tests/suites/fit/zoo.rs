//! Well-known models: peak, and the largest batch on four GPUs, each within a minute.

use std::{
    collections::BTreeMap,
    process::{Command, Stdio},
    time::Instant,
};

use anyhow::{Context, Result, ensure};
use harness::{Held, documents::FitLargest, environment, from_str};
use serde::Deserialize;

use super::question::{Script, script as file};

/// In the order of their memory; the first two and the last two compute alike.
const GPUS: &str = "l4,rtx-4090,a100-40gb,a100-80gb";
/// What a person waits for one script on two cores.
const PATIENCE: f64 = 60.0;

/// A model at one batch; the last column is its name among the peers' models.
const MODELS: &[(Script, &str, &str)] = &[
    (script("ResNet-50", "resnet50.py", &[], "8..1024:8"), "32", "resnet50"),
    (script("ViT-B/16, bf16", "vit.py", &["--amp"], "4..1024:4"), "32", "vit"),
    (script("GPT-2 124M", "gpt2.py", &[], "1..128"), "8", "gpt2-124m"),
    (
        script("GPT-2 1.5B, bf16", "gpt2.py", &["--size", "1.5b", "--amp"], "1..64"),
        "1",
        "gpt2-1.5b",
    ),
    (script("LoRA of 1.5B", "lora.py", &[], "1..64"), "4", "lora-1.5b"),
    (script("LSTM", "lstm.py", &[], "16..4096:16"), "32", "lstm"),
    (script("diffusion U-Net", "unet.py", &[], "1..512"), "16", "unet"),
];

const fn script(
    name: &'static str,
    file: &'static str,
    flags: &'static [&'static str],
    batches: &'static str,
) -> Script {
    Script { name, file, flags, batches }
}

/// The line of `peers.py`; bytes.
#[derive(Deserialize)]
struct Peers {
    versions: BTreeMap<String, String>,
    models: BTreeMap<String, Estimates>,
}

#[derive(Deserialize)]
#[expect(dead_code, reason = "the table has one column of each estimator")]
struct Estimates {
    parameters: u64,
    trained: u64,
    parameter_bytes: u64,
    accelerate: Accelerate,
    deepspeed: DeepSpeed,
}

#[derive(Deserialize)]
#[expect(dead_code, reason = "the table has one column of each estimator")]
struct Accelerate {
    float32: u64,
    float16: u64,
}

#[derive(Deserialize)]
#[expect(dead_code, reason = "the table has one column of each estimator")]
struct DeepSpeed {
    zero2: u64,
    zero3: u64,
}

pub(super) fn run() -> Result<Held> {
    let peers = peers()?;
    println!(
        "{:<17} {:>5} {:>10} {:>10} | {:>10} {:>10} | largest batch on L4, RTX 4090, A100 40, A100 80",
        "model", "batch", "allocated", "reserved", "accelerate", "DeepSpeed"
    );
    let mut longest = 0.0_f64;
    for (script, batch, known_as) in MODELS {
        let peer = peers.models.get(*known_as).with_context(|| format!("no {known_as}"))?;
        longest = longest.max(row(script, batch, peer).with_context(|| script.name)?);
    }
    println!(
        "accelerate: \"Training using Adam\" of estimate-memory, float32; DeepSpeed: ZeRO-2 on one GPU \
         without offloading. Neither knows a batch. {:?}",
        peers.versions
    );
    ensure!(longest <= PATIENCE, "one took {longest:.0} s, over {PATIENCE:.0}");
    Ok(Held::new(format!("{} models on four GPUs, {longest:.0} s at most", MODELS.len())))
}

/// Asks about one model, and prints its row; the seconds that it took.
fn row(script: &Script, batch: &str, peer: &Estimates) -> Result<f64> {
    let started = Instant::now();
    let peak = script.ask(&["--gpu", "a100-80gb"], batch)?;
    let largest = script.ask_for_largest(GPUS)?.largest;
    let seconds = started.elapsed().as_secs_f64();
    let gpu = peak.gpus.first().context("it judges no GPU")?;
    let process = gpu.processes.first().context("no process")?;
    let all_fit = largest.len() == GPUS.split(',').count();
    ensure!(all_fit && largest.last().is_some_and(|gpu| gpu.value.is_some()), "{largest:?}");
    println!(
        "{:<17} {batch:>5} {:>10} {:>10} | {:>10} {:>10} | {}  ({seconds:.0} s)",
        script.name,
        gib(process.peak_allocated_bytes.context("no peak allocated")?),
        gib(process.peak_reserved_bytes.context("no peak reserved")?),
        gib(peer.accelerate.float32),
        gib(peer.deepspeed.zero2),
        largest.iter().map(shown).collect::<Vec<_>>().join(" "),
    );
    Ok(seconds)
}

/// What other estimators say of the same models.
fn peers() -> Result<Peers> {
    let python = environment("peers")?.join("bin/python");
    let output = Command::new(python).arg(file("peers.py")).stderr(Stdio::null()).output()?;
    ensure!(output.status.success(), "peers.py failed: {}", output.status);
    let text = String::from_utf8(output.stdout)?;
    from_str(text.lines().last().context("peers.py tells nothing")?)
}

/// The largest batch, with a mark where it was only predicted.
fn shown(largest: &FitLargest) -> String {
    let value = largest.value.map_or("none".to_owned(), |value| value.to_string());
    let mark = if largest.confirmed { "" } else { "?" };
    format!("{:>6}", format!("{value}{mark}"))
}

fn gib(bytes: u64) -> String {
    format!("{:.2} GiB", bytes as f64 / f64::from(1 << 30))
}
