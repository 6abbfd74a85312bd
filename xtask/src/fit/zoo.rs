//! Well-known models: peak, and the largest batch on four GPUs, each within a minute.

use std::{
    process::{Command, Stdio},
    time::Instant,
};

use anyhow::{Context, Result, ensure};
use serde_json::Value;

use super::question::Script;
use crate::{
    lab::Bench,
    tools::{environment, root},
};

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

pub(super) fn run(bench: &Bench) -> Result<String> {
    let peers = peers()?;
    println!(
        "{:<17} {:>5} {:>10} {:>10} | {:>10} {:>10} | largest batch on L4, RTX 4090, A100 40, A100 80",
        "model", "batch", "allocated", "reserved", "accelerate", "DeepSpeed"
    );
    let mut longest = 0.0_f64;
    for (script, batch, known_as) in MODELS {
        let started = Instant::now();
        let peak = script.ask(bench, &["--gpu", "a100-80gb"], batch)?;
        let largest = script.ask_for_largest(bench, GPUS)?;
        let seconds = started.elapsed().as_secs_f64();
        longest = longest.max(seconds);
        let process = &peak["gpus"][0]["processes"][0];
        let peer = &peers["models"][known_as];
        println!(
            "{:<17} {batch:>5} {:>10} {:>10} | {:>10} {:>10} | {}  ({seconds:.0} s)",
            script.name,
            gib(&process["peak_allocated_bytes"]),
            gib(&process["peak_reserved_bytes"]),
            gib(&peer["accelerate"]["float32"]),
            gib(&peer["deepspeed"]["zero2"]),
            batches(&largest)?,
        );
    }
    println!(
        "accelerate: \"Training using Adam\" of estimate-memory, float32; DeepSpeed: ZeRO-2 on one GPU \
         without offloading. Neither knows a batch."
    );
    ensure!(longest <= PATIENCE, "one took {longest:.0} s, over {PATIENCE:.0}");
    Ok(format!("{} models on four GPUs, {longest:.0} s at most", MODELS.len()))
}

/// What other estimators say of the same models.
fn peers() -> Result<Value> {
    let python = environment("peers")?.join("bin/python");
    let script = root().join("tests/scenarios/fit/peers.py");
    let output = Command::new(python).arg(script).stderr(Stdio::null()).output()?;
    ensure!(output.status.success(), "peers.py failed: {}", output.status);
    let text = String::from_utf8_lossy(&output.stdout);
    Ok(serde_json::from_str(text.lines().last().unwrap_or_default())?)
}

/// The largest batches, those that were only predicted marked.
fn batches(answer: &Value) -> Result<String> {
    let largest = answer["vary"]["largest"].as_array().context("no largest values")?;
    let one = |largest: &Value| {
        let value = largest["value"].as_u64().map_or("none".to_owned(), |value| value.to_string());
        let mark = if largest["confirmed"] == true { "" } else { "?" };
        format!("{:>6}", format!("{value}{mark}"))
    };
    Ok(largest.iter().map(one).collect::<Vec<_>>().join(" "))
}

fn gib(bytes: &Value) -> String {
    let bytes = bytes.as_f64().unwrap_or(f64::NAN);
    format!("{:.2} GiB", bytes / f64::from(1 << 30))
}
