//! One verdict for each fixture: the cause, the advice that must be given, the advice that must not.
#![allow(clippy::disallowed_methods, reason = "a test's own files")]
#![expect(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

use std::{path::PathBuf, process::Command};

use serde_json::Value;

struct Case {
    files: &'static [&'static str],
    cause: &'static str,
    must: &'static [&'static str],
    must_not: &'static [&'static str],
}

fn fixture(name: &str) -> PathBuf {
    PathBuf::from(".").join("../../tests/fixtures").join(name)
}

fn why(files: &[&str]) -> Value {
    let mut command = Command::new(env!("CARGO_BIN_EXE_whyoom"));
    command.args(["why", "--json"]).args(files.iter().map(|file| fixture(file)));
    let output = command.output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).unwrap()
}

/// The lines to paste and the code to adapt, of all remedies of the primary finding.
fn pasted(answer: &Value) -> String {
    let remedies = answer["verdict"]["remedies"].as_array().unwrap();
    let code =
        |remedy: &Value| Some(remedy["paste"].as_str().or(remedy["example"].as_str())?.to_owned());
    remedies.iter().filter_map(code).collect::<Vec<_>>().join("\n")
}

#[test]
fn every_fixture_gets_its_cause_and_its_advice() {
    for case in CASES {
        let answer = why(case.files);
        assert_eq!(answer["verdict"]["cause"], case.cause, "{:?}: {answer:#}", case.files);
        let pasted = pasted(&answer);
        for line in case.must {
            assert!(pasted.contains(line), "{:?} lacks {line}: {pasted}", case.files);
        }
        for line in case.must_not {
            assert!(!pasted.contains(line), "{:?} advises {line}: {pasted}", case.files);
        }
    }
}

#[test]
fn a_message_that_a_leak_gives_as_well_is_not_called_too_large() {
    for (file, undecided) in [
        ("logs/working-set-small-request.log", true),
        ("logs/working-set.log", true),
        ("logs/working-set-first-step.log", false),
        ("logs/working-set-optimizer.log", false),
    ] {
        let verdict = &why(&[file])["verdict"];
        let headline = verdict["headline"].as_str().unwrap();
        assert_eq!(headline.contains("too large"), !undecided, "{file}: {headline}");
        let first = &verdict["remedies"][0];
        let first = first["paste"].as_str().or(first["example"].as_str()).unwrap_or_default();
        assert_eq!(first.starts_with("whyoom run --keepers -- "), undecided, "{file}: {first}");
    }
}

#[test]
fn who_holds_the_gpu_is_asked_first_where_a_message_has_no_figures() {
    let verdict = &why(&["logs/unknown-no-sizes.log"])["verdict"];
    assert_eq!(verdict["remedies"][0]["paste"], "whyoom who");
}

#[test]
fn a_setting_from_a_file_cannot_reach_the_shell() {
    // The settings of a snapshot come back in a line that people paste.
    let snapshot = std::fs::read(fixture("snapshots/fragmented-oom.pickle")).unwrap();
    let (key, evil) = ("PYTORCH_CUDA_ALLOC_CONF", "garbage:1,$(touch x),`y`;z");
    let at = snapshot.windows(key.len()).position(|window| window == key.as_bytes()).unwrap();
    let value = at + key.len() + 1;
    assert_eq!(snapshot[value], b'h', "a reference of two bytes to the empty string");
    let mut changed = snapshot[..value].to_vec();
    changed.extend([0x8c, evil.len() as u8]);
    changed.extend(evil.as_bytes());
    changed.extend(&snapshot[value + 2..]);
    let path = std::env::temp_dir().join(format!("whyoom-injection-{}.pickle", std::process::id()));
    std::fs::write(&path, changed).unwrap();
    let answer = why(&[path.to_str().unwrap()]);
    std::fs::remove_file(&path).unwrap();
    // It cannot be kept, so the line is an example without it.
    let first = pasted(&answer).lines().next().unwrap().to_owned();
    assert_eq!(first, "export PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True");
    assert!(!pasted(&answer).contains("touch"), "{}", pasted(&answer));
}

#[test]
fn every_fixture_has_a_case() {
    for folder in ["snapshots", "logs"] {
        for entry in std::fs::read_dir(fixture(folder)).unwrap() {
            let name = entry.unwrap().file_name().into_string().unwrap();
            let named = |case: &Case| case.files.contains(&format!("{folder}/{name}").as_str());
            assert!(name.ends_with(".py") || CASES.iter().any(named), "{folder}/{name}");
        }
    }
}

/// Causes that only a recording of driver calls shows; the tests of the causes themselves reach each.
const ONLY_RECORDED: &[&str] = &[
    "pinned-host",
    "unchecked-error",
    "device-heap",
    "leak-at-exit",
    "orphan",
    "stray-context",
    "context-overhead",
    "unseen-holder",
    "mempool-held",
    "pending-free",
    "library-workspace",
];

#[test]
fn every_cause_is_reached() {
    let output = Command::new(env!("CARGO_BIN_EXE_whyoom")).args(["causes", "--json"]).output();
    let catalogue: Value = serde_json::from_slice(&output.unwrap().stdout).unwrap();
    for cause in catalogue["causes"].as_array().unwrap() {
        let id = cause["id"].as_str().unwrap();
        if ONLY_RECORDED.contains(&id) {
            continue;
        }
        assert!(CASES.iter().any(|case| case.cause == id), "no fixture shows {id}");
    }
}

#[test]
fn four_ranks_give_one_verdict() {
    let answer = why(&["logs/four-ranks.log"]);
    assert_eq!(answer["by_process"].as_array().unwrap().len(), 4);
    assert_eq!(answer["incidents"].as_array().unwrap().len(), 4);
}

#[test]
fn growth_names_its_slope_and_its_line() {
    let answer = why(&["snapshots/growth.pickle"]);
    let site = &answer["verdict"]["call_sites"][0]["call_site"];
    assert!(site.as_str().unwrap().contains("head.py:30"), "{answer:#}");
    assert_eq!(answer["verdict"]["evidence"][0]["bytes"], 32 << 20);
}

#[test]
fn the_ring_agrees_with_the_whole_history() {
    let (whole, ring) = (why(&["snapshots/healthy.pickle"]), why(&["snapshots/ring.pickle"]));
    for key in ["reserved_bytes", "allocated_bytes", "active_blocks", "peak_allocated_bytes"] {
        assert_eq!(whole["totals"][0][key], ring["totals"][0][key], "{key}");
    }
}

#[test]
fn pinned_host_memory_is_a_space_of_its_own() {
    let answer = why(&["snapshots/host.pickle"]);
    let totals = answer["totals"].as_array().unwrap();
    let host = totals.iter().find(|space| space["device"] == "host").unwrap();
    assert_eq!(host["allocated_bytes"], 256 << 20);
}

#[test]
fn blocks_that_wait_for_a_stream_are_active_and_not_allocated() {
    let answer = why(&["snapshots/pending.pickle"]);
    let space = &answer["totals"][0];
    let waiting =
        space["active_bytes"].as_u64().unwrap() - space["allocated_bytes"].as_u64().unwrap();
    assert_eq!(waiting, 3 * (24 << 20));
}

const EXPANDABLE: &str = "expandable_segments:True";

/// A case that wants no particular advice.
const fn plain(files: &'static [&'static str], cause: &'static str) -> Case {
    Case { files, cause, must: &[], must_not: &[] }
}

const CASES: &[Case] = &[
    plain(&["snapshots/expandable.pickle"], "healthy"),
    Case {
        files: &["snapshots/logits-oom.pickle"],
        cause: "working-set",
        must: &["AutoLigerKernelForCausalLM"],
        must_not: &["autocast", EXPANDABLE],
    },
    Case {
        files: &["snapshots/fragmented-oom.pickle"],
        cause: "fragmented-cache",
        must: &[EXPANDABLE],
        must_not: &["empty_cache", "batch"],
    },
    Case {
        files: &["snapshots/loading-oom.pickle"],
        cause: "working-set",
        must: &[],
        must_not: &["detach", "bfloat16"],
    },
    Case {
        files: &["snapshots/too-large-later-oom.pickle"],
        cause: "working-set",
        must: &[],
        must_not: &[EXPANDABLE],
    },
    Case {
        files: &["snapshots/growth.pickle"],
        cause: "growth",
        must: &["y.detach().cpu()"],
        must_not: &[EXPANDABLE],
    },
    Case {
        files: &["snapshots/growth-oom.pickle"],
        cause: "growth",
        must: &["y.detach().cpu()"],
        must_not: &[EXPANDABLE],
    },
    Case {
        files: &["snapshots/healthy.pickle"],
        cause: "healthy",
        must: &[],
        must_not: &["export", "torch"],
    },
    plain(&["snapshots/host.pickle"], "healthy"),
    Case {
        files: &["snapshots/late-setting-oom.pickle"],
        cause: "late-setting",
        must: &[EXPANDABLE],
        must_not: &["max_split_size_mb"],
    },
    plain(&["snapshots/layers.pickle"], "healthy"),
    Case {
        files: &["snapshots/old-format.pickle"],
        cause: "unknown",
        must: &["_record_memory_history"],
        must_not: &[],
    },
    plain(&["snapshots/pending.pickle"], "healthy"),
    Case {
        files: &["snapshots/private-pool-oom.pickle"],
        cause: "private-pool",
        must: &["pool="],
        must_not: &[EXPANDABLE],
    },
    plain(&["snapshots/repeated-line.pickle"], "growth"),
    plain(&["snapshots/ring.pickle"], "healthy"),
    Case {
        files: &["snapshots/rounding-oom.pickle"],
        cause: "rounding",
        must: &["unset"],
        must_not: &[EXPANDABLE],
    },
    Case {
        files: &["snapshots/working-set-oom.pickle"],
        cause: "working-set",
        // Its modules are plain ones.
        must: &["torch.utils.checkpoint"],
        must_not: &[EXPANDABLE, "empty_cache"],
    },
    Case {
        files: &["logs/four-ranks.log"],
        cause: "working-set",
        // Whose model it is, nothing tells.
        must: &["whyoom run --keepers", "torch.utils.checkpoint"],
        must_not: &[EXPANDABLE],
    },
    Case {
        files: &["logs/fragmented.log"],
        cause: "fragmented-cache",
        must: &[EXPANDABLE],
        must_not: &["empty_cache"],
    },
    Case {
        files: &["logs/fragmented-already-expandable.log"],
        cause: "fragmented-cache",
        must: &[],
        must_not: &[EXPANDABLE, "max_split_size_mb"],
    },
    // That release had no expandable segments yet.
    Case {
        files: &["logs/fragmented-old.log"],
        cause: "fragmented-cache",
        must: &["max_split_size_mb"],
        must_not: &[EXPANDABLE],
    },
    Case {
        files: &["logs/fragmented-windows.log"],
        cause: "fragmented-cache",
        must: &["$env:PYTORCH_CUDA_ALLOC_CONF = 'max_split_size_mb"],
        must_not: &[EXPANDABLE, "export"],
    },
    Case {
        files: &["logs/other-process-hog.log"],
        cause: "other-process",
        must: &["whyoom who"],
        must_not: &[EXPANDABLE],
    },
    Case {
        files: &["logs/working-set-loading.log"],
        cause: "working-set",
        must: &["from_pretrained"],
        must_not: &["gradient_checkpointing"],
    },
    Case {
        files: &["logs/working-set-optimizer.log"],
        cause: "working-set",
        must: &["AdamW8bit"],
        must_not: &["gradient_checkpointing"],
    },
    // What ended the run is what counts.
    plain(&["logs/two-failures.log"], "working-set"),
    Case {
        files: &["logs/preallocated-vllm-sampler.log"],
        cause: "preallocated",
        must: &["--gpu-memory-utilization 0.85"],
        must_not: &["0.95"],
    },
    Case {
        files: &["logs/unknown-jax.log"],
        cause: "unknown",
        must: &["jax.profiler"],
        must_not: &["torch"],
    },
    // A message and a snapshot of the same run are judged together.
    plain(&["snapshots/growth.pickle", "logs/working-set.log"], "growth"),
    Case {
        files: &["logs/fragmented-rocm.log"],
        cause: "fragmented-cache",
        must: &["PYTORCH_HIP_ALLOC_CONF=expandable_segments:True"],
        must_not: &["PYTORCH_CUDA_ALLOC_CONF"],
    },
    Case {
        files: &["logs/host-oom-137.log"],
        cause: "host-oom",
        must: &["dmesg"],
        must_not: &[EXPANDABLE],
    },
    Case {
        files: &["logs/host-oom-kernel.log"],
        cause: "host-oom",
        // Whose program it was is not told: no framework's code.
        must: &[],
        must_not: &["dmesg", "DataLoader"],
    },
    plain(&["logs/host-oom-slurm.log"], "host-oom"),
    Case {
        files: &["logs/allocator-defect-rejected.log"],
        cause: "allocator-defect",
        must: &["export PYTORCH_CUDA_ALLOC_CONF=garbage_collection_threshold:0.8"],
        must_not: &["throw_on_cudamalloc_oom"],
    },
    Case {
        files: &["logs/late-setting-ignored.log"],
        cause: "late-setting",
        must: &["export PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True"],
        // PyTorch 2.9 does not have it.
        must_not: &["per_process_memory_fraction"],
    },
    Case {
        files: &["logs/limit-old-torch.log"],
        cause: "limit",
        must: &["torch.cuda.set_per_process_memory_fraction("],
        must_not: &["per_process_memory_fraction:"],
    },
    Case {
        files: &["logs/late-setting.log"],
        cause: "late-setting",
        must: &["export PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True"],
        must_not: &[],
    },
    plain(&["logs/limit-cupy.log"], "limit"),
    Case {
        files: &["logs/limit-fraction.log"],
        cause: "limit",
        must: &["set_per_process_memory_fraction(0.42)"],
        must_not: &["kill", EXPANDABLE],
    },
    plain(&["logs/limit-hami.log"], "limit"),
    Case {
        files: &["logs/working-set-vllm-cache.log"],
        cause: "working-set",
        must: &["--max-model-len"],
        must_not: &[EXPANDABLE],
    },
    Case {
        files: &["logs/masked-cublas.log"],
        cause: "masked",
        must: &["mem_get_info"],
        must_not: &[EXPANDABLE],
    },
    plain(&["logs/masked-cudnn.log"], "masked"),
    plain(&["logs/masked-mig.log"], "masked"),
    Case {
        files: &["logs/no-message.log"],
        cause: "unknown",
        must: &["whyoom run"],
        must_not: &[EXPANDABLE],
    },
    Case {
        files: &["logs/other-process.log"],
        cause: "other-process",
        must: &["whyoom who"],
        must_not: &[EXPANDABLE, "gradient_checkpointing"],
    },
    Case {
        files: &["logs/other-process-in-container.log"],
        cause: "other-process",
        must: &["whyoom who"],
        must_not: &["21194", EXPANDABLE],
    },
    Case {
        files: &["logs/other-process-unnamed.log"],
        cause: "other-process",
        must: &["nvidia-smi"],
        must_not: &["max_split_size_mb"],
    },
    plain(&["logs/other-process-vllm.log"], "other-process"),
    plain(&["logs/preallocated-jax-nccl.log"], "preallocated"),
    Case {
        files: &["logs/preallocated-vllm.log"],
        cause: "preallocated",
        must: &["--gpu-memory-utilization 0.94"],
        must_not: &["nvidia-smi"],
    },
    Case {
        files: &["logs/private-pool.log"],
        cause: "private-pool",
        must: &["pool="],
        must_not: &[EXPANDABLE],
    },
    plain(&["logs/request-bogus.log"], "request-too-big"),
    Case {
        files: &["logs/request-too-big.log"],
        cause: "request-too-big",
        must: &[],
        must_not: &[EXPANDABLE],
    },
    Case {
        files: &["logs/unknown-no-sizes.log"],
        cause: "unknown",
        must: &["whyoom who", "CUDA_VISIBLE_DEVICES", "whyoom run", "_record_memory_history"],
        must_not: &[EXPANDABLE],
    },
    Case {
        files: &["logs/working-set-predictions.log"],
        cause: "working-set",
        must: &[
            "eval_accumulation_steps=1",
            "preprocess_logits_for_metrics",
            "whyoom run --keepers",
        ],
        must_not: &[EXPANDABLE, "checkpointing", "tensor1"],
    },
    Case {
        files: &["logs/working-set-small-request.log"],
        cause: "working-set",
        must: &["whyoom run --keepers -- python train.py --batch 32"],
        must_not: &[EXPANDABLE],
    },
    Case {
        files: &["logs/working-set-first-step.log"],
        cause: "working-set",
        must: &["gradient_checkpointing=True", "LoraConfig", "adamw_bnb_8bit"],
        must_not: &[EXPANDABLE, "gradient_checkpointing_enable"],
    },
    Case {
        files: &["logs/unknown-outside-allocator.log"],
        cause: "unknown",
        must: &[],
        must_not: &[EXPANDABLE, "gradient_checkpointing"],
    },
    Case {
        files: &["logs/unknown-enough-free.log"],
        cause: "unknown",
        must: &[],
        must_not: &[EXPANDABLE, "nvidia-smi", "gradient_checkpointing"],
    },
    Case {
        files: &["logs/fragmented-ranks-already-expandable.log"],
        cause: "fragmented-cache",
        must: &[],
        must_not: &[EXPANDABLE, "max_split_size_mb"],
    },
    Case {
        files: &["logs/working-set.log"],
        cause: "working-set",
        must: &[],
        must_not: &[EXPANDABLE, "max_split"],
    },
    Case {
        files: &["logs/working-set-wrapped.log"],
        cause: "working-set",
        must: &[],
        must_not: &[EXPANDABLE],
    },
    // What another program's log has set is not set here.
    Case {
        files: &["logs/fragmented.log", "logs/fragmented-already-expandable.log"],
        cause: "fragmented-cache",
        must: &[EXPANDABLE],
        must_not: &[],
    },
    // A library's failure beside a snapshot whose cache could have served it.
    Case {
        files: &["logs/masked-cublas.log", "snapshots/healthy.pickle"],
        cause: "cache-held",
        must: &["empty_cache"],
        must_not: &[EXPANDABLE],
    },
];
