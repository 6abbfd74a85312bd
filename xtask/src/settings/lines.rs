//! Every other line to paste: found in the code, and checked by the program that it is for or by a named source.

use std::{
    collections::{BTreeMap, BTreeSet},
    process::Command,
};

use anyhow::{Result, ensure};
use harness::{Build, environment};
use regex::Regex;

use super::{command::succeeds, counted::Counted, sources::remedy_sources, wheels::Wheel};

/// Arguments that are no literal: what they hold is listed in another place that is read here too.
const NOT_LITERAL: &[&str] = &["entry.switch", "paste", "option", "call", "line", "literal"];

/// A figure that a statement is printed with.
const EXAMPLE_OF_FIGURE: &str = "0.90";

/// A way to check a line.
enum How {
    /// By every PyTorch that is run, in the lab, after the first use of the GPU.
    PyTorch,
    /// By JAX, on the processor.
    Jax,
    /// By whyoom's own arguments, with these words behind it.
    Whyoom(&'static str),
    /// By the shell, which reads it and does not run it.
    Shell,
    /// As an option, in the other part of this command.
    Option,
    /// By a page or a source file that documents it: its program does not install here, or needs a GPU to tell.
    Source(&'static str),
}

const CUBLAS: &str = "docs.nvidia.com/cuda/cublas, CUBLAS_WORKSPACE_CONFIG";
const CUDA_RUNTIME: &str = "docs.nvidia.com/cuda/cuda-runtime-api";
const JAX_MEMORY: &str = "docs.jax.dev, gpu_memory_allocation";
const NCCL: &str = "docs.nvidia.com/deeplearning/nccl/user-guide/docs/env.html";
const NVIDIA_SMI: &str = "docs.nvidia.com/deploy/nvidia-smi";
const TENSORFLOW: &str = "www.tensorflow.org/guide/gpu";
const VLLM: &str = "docs.vllm.ai, engine arguments";

/// The lines, each with its check. A line of the code that is not here makes the command fail.
const CHECKS: &[(&str, How)] = &[
    ("--gpu-memory-utilization", How::Source(VLLM)),
    ("--gpu-memory-utilization 0.85", How::Source(VLLM)),
    ("--gpu-memory-utilization 0.95", How::Source(VLLM)),
    ("--max-model-len", How::Source(VLLM)),
    ("--max-num-seqs 128", How::Source(VLLM)),
    ("cudaDeviceSetLimit(cudaLimitMallocHeapSize, 0.90);", How::Source(CUDA_RUNTIME)),
    ("cupy.fft.config.get_plan_cache().clear()", How::Source("docs.cupy.dev, cupy.fft.config")),
    ("dmesg -T | grep -iE 'oom|killed process'", How::Shell),
    ("export", How::Shell),
    (
        "export CUBLASLT_WORKSPACE_SIZE=4096",
        How::Source("docs.pytorch.org, CUDA environment variables"),
    ),
    ("export CUBLAS_WORKSPACE_CONFIG=:4096:2", How::Source(CUBLAS)),
    ("export CUDF_SPILL=on", How::Source("docs.rapids.ai/api/cudf, library design: spilling")),
    ("export CUDA_VISIBLE_DEVICES=$LOCAL_RANK", How::Shell),
    ("export NCCL_BUFFSIZE=1048576", How::Source(NCCL)),
    ("export NCCL_MAX_CTAS=8", How::Source(NCCL)),
    ("export PYTORCH_CUDA_ALLOC_CONF=backend:cudaMallocAsync", How::Option),
    ("export PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True", How::Option),
    ("export PYTORCH_CUDA_ALLOC_CONF=max_split_size_mb:128", How::Option),
    ("export PYTORCH_CUDA_ALLOC_CONF=roundup_power2_divisions:8", How::Option),
    ("export TF_FORCE_GPU_ALLOW_GROWTH=true", How::Source(TENSORFLOW)),
    (
        "export TF_GPU_HOST_MEM_LIMIT_IN_MB=16384",
        How::Source("github.com/tensorflow/tensorflow/pull/59148"),
    ),
    ("export XLA_PYTHON_CLIENT_MEM_FRACTION=.95", How::Source(JAX_MEMORY)),
    ("export XLA_PYTHON_CLIENT_PREALLOCATE=false", How::Source(JAX_MEMORY)),
    (
        "export XLA_PJRT_GPU_HOST_MEMORY_LIMIT_GB=128",
        How::Source("openxla/xla, xla/pjrt/gpu/gpu_helpers.cc reads it"),
    ),
    ("free -h", How::Shell),
    (
        "if (cudaError_t e = cudaGetLastError()) { fprintf(stderr, \"%s\\n\", cudaGetErrorString(e)); abort(); }",
        How::Source(CUDA_RUNTIME),
    ),
    (
        "import rmm.allocators.torch; rmm.reinitialize(pool_allocator=True); torch.cuda.memory.change_current_allocator(rmm.allocators.torch.rmm_torch_allocator)",
        How::Source("docs.rapids.ai/api/rmm, with PyTorch"),
    ),
    ("jax.profiler.save_device_memory_profile(\"memory.prof\")", How::Jax),
    ("kill", How::Shell),
    ("kill -9", How::Shell),
    ("memory=24GB", How::Source("learn.microsoft.com/windows/wsl/wsl-config")),
    (
        "nvidia-smi --query-compute-apps=pid,process_name,used_memory --format=csv -l 1",
        How::Source(NVIDIA_SMI),
    ),
    ("nvidia-smi --query-gpu=index,memory.free --format=csv", How::Source(NVIDIA_SMI)),
    ("nvidia-smi -L", How::Source(NVIDIA_SMI)),
    ("print(tf.config.experimental.get_memory_info(\"GPU:0\"))", How::Source(TENSORFLOW)),
    ("print(torch.cuda.mem_get_info())", How::PyTorch),
    ("sudo dmesg | tail", How::Shell),
    ("sudo fuser -v /dev/nvidia*", How::Shell),
    ("sudo whyoom who", How::Whyoom("")),
    (
        "tf.config.experimental.set_memory_growth(tf.config.list_physical_devices(\"GPU\")[0], True)",
        How::Source(TENSORFLOW),
    ),
    ("torch.backends.cuda.cufft_plan_cache.max_size = 4", How::PyTorch),
    ("torch.backends.cudnn.benchmark = False", How::PyTorch),
    ("torch.backends.cudnn.deterministic = True", How::PyTorch),
    ("torch.cuda.empty_cache()", How::PyTorch),
    ("torch.cuda.set_per_process_memory_fraction(0.8)", How::PyTorch),
    ("torch.cuda.set_per_process_memory_fraction(0.9)", How::PyTorch),
    ("torch.cuda.set_per_process_memory_fraction(0.90)", How::PyTorch),
    ("torch.cuda.synchronize()", How::PyTorch),
    ("ulimit -l", How::Shell),
    ("ulimit -l unlimited", How::Shell),
    ("unset", How::Shell),
    ("unset PYTORCH_CUDA_ALLOC_CONF PYTORCH_ALLOC_CONF", How::Shell),
    ("whyoom fit", How::Whyoom("")),
    ("whyoom replay", How::Whyoom("")),
    ("whyoom run", How::Whyoom("")),
    ("whyoom run --pool -- python train.py", How::Whyoom("")),
    ("whyoom run --pool --pool-cap", How::Whyoom("1024MiB")),
    ("whyoom who", How::Whyoom("")),
    ("whyoom who --kill-orphans", How::Whyoom("")),
];

/// Checks every line of the code, and prints how.
pub(crate) fn compare(wheels: &[Wheel]) -> Result<Counted> {
    let mut counted = Counted { compared: 0, wrong: Vec::new() };
    let known: BTreeMap<&str, &How> = CHECKS.iter().map(|(line, how)| (*line, how)).collect();
    let mut statements = Vec::new();
    println!("\nother lines, from the code:");
    let lines = lines(&mut counted)?;
    for (line, _) in CHECKS.iter().filter(|(line, _)| !lines.contains(*line)) {
        counted.wrong.push(format!("no longer in the code: {line}"));
    }
    for line in lines {
        counted.compared += 1;
        let Some(how) = known.get(line.as_str()) else {
            counted.wrong.push(format!("unchecked: {line}"));
            continue;
        };
        let (by, answer) = match how {
            How::PyTorch => {
                statements.push(line.clone());
                ("PyTorch".to_owned(), Ok(()))
            }
            How::Jax => ("JAX".to_owned(), by_jax(&line)),
            How::Whyoom(words) => ("whyoom".to_owned(), by_whyoom(&line, words)),
            How::Shell => ("the shell".to_owned(), by_shell(&line)),
            How::Option => ("as an option".to_owned(), Ok(())),
            How::Source(source) => ((*source).to_owned(), Ok(())),
        };
        println!("  {line:<80} {by}");
        if let Err(error) = answer {
            counted.wrong.push(format!("{line}: {error:#}"));
        }
    }
    for wheel in wheels {
        if let Err(error) = wheel.runs(&statements) {
            counted.wrong.push(format!("PyTorch {}: {error:#}", wheel.version));
        }
    }
    Ok(counted)
}

/// Returns the lines that the code can print. Where the line is no literal, it is named as wrong.
fn lines(counted: &mut Counted) -> Result<BTreeSet<String>> {
    let literal = r#""((?:[^"\\]|\\.)*)""#;
    let calls =
        Regex::new(&format!(r"(?:Remedy::line|ShellLine::new)\(\s*(?:{literal}|([\w.]+))"))?;
    let statements = Regex::new(&format!(r"\[{literal}, {literal}\]"))?;
    let rows = Regex::new(&format!(r"\bline\(\s*{literal},\s*S::\w+,\s*{literal}"))?;
    // A row of the table of libraries.
    let of_libraries = Regex::new(r#"\[\s*"(export [^"]*)","#)?;
    let switches = Regex::new(&format!(r"switch: {literal}"))?;
    let mut found = BTreeSet::new();
    for code in remedy_sources()? {
        for captures in calls.captures_iter(&code) {
            match (captures.get(1), captures.get(2)) {
                (Some(line), _) => drop(found.insert(unescaped(line.as_str()))),
                (None, Some(name)) if !NOT_LITERAL.contains(&name.as_str()) => {
                    counted.wrong.push(format!("no literal: {}", name.as_str()));
                }
                _ => {}
            }
        }
        let is_call = |first: &str| first.ends_with(['(', ' ']) && first.contains('(');
        for captures in statements.captures_iter(&code).filter(|found| is_call(&found[1])) {
            found.insert(format!("{}{EXAMPLE_OF_FIGURE}{}", &captures[1], &captures[2]));
        }
        found.extend(rows.captures_iter(&code).map(|captures| unescaped(&captures[2])));
        found.extend(of_libraries.captures_iter(&code).map(|captures| unescaped(&captures[1])));
        let switched = switches.captures_iter(&code).map(|captures| unescaped(&captures[1]));
        found.extend(switched.filter(|line| !line.is_empty()));
    }
    ensure!(found.len() > 10, "only {} lines were found in the code", found.len());
    Ok(found)
}

/// Returns the text of a literal.
fn unescaped(literal: &str) -> String {
    literal.replace("\\\"", "\"").replace("\\\\", "\\")
}

fn by_shell(line: &str) -> Result<()> {
    succeeds(Command::new("bash").args(["-n", "-c", line]))
}

/// Asks for help behind the words: an argument that is not known comes first.
fn by_whyoom(line: &str, words: &str) -> Result<()> {
    let line = line.trim_start_matches("sudo ").replace(" -- python train.py", "");
    let arguments = line.trim_start_matches("whyoom").split_whitespace();
    let mut command = Command::new(Build::ready()?.whyoom());
    succeeds(command.args(arguments).args(words.split_whitespace()).arg("--help"))
}

fn by_jax(line: &str) -> Result<()> {
    let python = environment("small")?.join("bin/python");
    let program = format!("import os, tempfile; os.chdir(tempfile.mkdtemp()); import jax; {line}");
    succeeds(Command::new(python).args(["-c", &program]).env("JAX_PLATFORMS", "cpu"))
}
