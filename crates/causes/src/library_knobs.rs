//! What each library has to take less by: its own settings, as its documentation names them.

use whyoom_trace::{Bytes, StackId};

use crate::{diagnosis::Diagnosis, finding::Remedy};

/// The settings of a library that took so many bytes, from such a call site.
pub(crate) fn knobs(
    diagnosis: &Diagnosis<'_>,
    library: &str,
    stack: StackId,
    bytes: Bytes,
) -> Vec<Remedy> {
    let is = |prefix: &str| library.starts_with(prefix);
    if is("libnccl") {
        return nccl(bytes);
    }
    if is("libcublasLt") {
        let what = "caps cuBLASLt's workspace at 4096 KiB in PyTorch; set it before Python starts";
        return vec![Remedy::line("export CUBLASLT_WORKSPACE_SIZE=4096", what)];
    }
    if is("libcublas") {
        return vec![cublas(bytes)];
    }
    if is("libcudnn") {
        return cudnn();
    }
    if is("libcufft") {
        return vec![cufft(diagnosis, stack).freeing(bytes)];
    }
    vec![Remedy::advice(format!(
        "check whether {library} can be configured to take less, or to use PyTorch's allocator"
    ))]
}

/// Buffers are per communicator, channel and peer: 4 MiB each by default.
pub(crate) fn nccl(bytes: Bytes) -> Vec<Remedy> {
    let smaller = Remedy::line(
        "export NCCL_BUFFSIZE=1048576",
        "1 MiB for each channel and peer instead of the default 4 MiB: its buffers shrink to about \
         a quarter; set it for every rank",
    );
    let smaller =
        if bytes > Bytes::ZERO { smaller.freeing(Bytes(bytes.0 / 4 * 3)) } else { smaller };
    let fewer = Remedy::line(
        "export NCCL_MAX_CTAS=8",
        "and at most 8 channels (before NCCL 2.17: NCCL_MAX_NCHANNELS); each communicator has its \
         own, so fewer process groups also need less",
    );
    vec![smaller, fewer]
}

fn cublas(bytes: Bytes) -> Remedy {
    // Two buffers of 4096 KiB.
    const CAPPED: Bytes = Bytes(8 << 20);
    let what = "caps the workspace of each handle and stream at 8 MiB (2 buffers of 4096 KiB); set it \
                before Python starts";
    let remedy = Remedy::line("export CUBLAS_WORKSPACE_CONFIG=:4096:2", what);
    if bytes > CAPPED { remedy.freeing(bytes.minus(CAPPED)) } else { remedy }
}

/// PyTorch has no cap on cuDNN's workspaces: only which algorithms may be chosen.
pub(crate) fn cudnn() -> Vec<Remedy> {
    vec![
        Remedy::line(
            "torch.backends.cudnn.deterministic = True",
            "cuDNN then chooses among fewer algorithms, without those with the largest workspaces",
        ),
        Remedy::line(
            "torch.backends.cudnn.benchmark = False",
            "do not benchmark every algorithm: each gets its own workspace (in TensorFlow, \
             TF_CUDNN_WORKSPACE_LIMIT_IN_MB limits them)",
        ),
    ]
}

/// Each plan that is kept has a workspace.
fn cufft(diagnosis: &Diagnosis<'_>, stack: StackId) -> Remedy {
    let of_cupy = diagnosis.tables.frames(stack).any(|frame| frame.file.contains("cupy"));
    if of_cupy {
        let what = "frees the plans that CuPy caches, each of which has a workspace; set_size(4) \
                    keeps fewer";
        return Remedy::line("cupy.fft.config.get_plan_cache().clear()", what);
    }
    let what = "keeps at most 4 plans, each of which has a workspace; .clear() frees all of them";
    Remedy::line("torch.backends.cuda.cufft_plan_cache.max_size = 4", what)
}

/// llama.cpp's own options, which decide how large its three kinds of buffers are.
pub(crate) fn llama_cpp() -> Vec<Remedy> {
    vec![
        Remedy::advice(
            "put fewer layers on the GPU: a smaller -ngl (--n-gpu-layers; Ollama: num_gpu) leaves \
             their weights and their part of the cache on the host",
        ),
        Remedy::advice(
            "use a smaller cache and compute buffer: a shorter context (-c), -fa for flash \
             attention, a smaller -ub (--ubatch-size), --cache-type-k q8_0 --cache-type-v q8_0",
        ),
    ]
}
