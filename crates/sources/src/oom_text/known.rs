//! Lines of programs that mean something of their own. To add one: a row here, and a case in
//! `tests/scenarios/practice`. The figures in them are read by their roles.

use std::sync::LazyLock;

use aho_corasick::{AhoCorasick, MatchKind};
use regex::RegexSet;
use whyoom_trace::{Software, Symptom};

/// A line that is known.
pub(super) struct Row {
    /// Words that it contains.
    pub(super) anchor: &'static str,
    pub(super) software: Software,
    /// What it tells.
    pub(super) symptom: Symptom,
}

const fn means(anchor: &'static str, software: Software, symptom: Symptom) -> Row {
    Row { anchor, software, symptom }
}

use Software as S;
use Symptom::{
    DeviceOutOfMemory as Device, FreeMemoryChanged, HeldAfterEnd, HostOutOfMemory as Host,
    IndirectOom, LibraryAllocFailed as Library, LimitReached as Limit, PinnedOutOfMemory as Pinned,
    PreallocationFailed, ShareTooLarge, ShareTooSmall, WorkTooLarge,
};

/// The lines, each with what it means. Of several in one line the first in the line counts.
#[rustfmt::skip]
pub(super) const ROWS: &[Row] = &[
    // Encoders: sessions are counted, and few; surfaces are a pool of their own.
    means("OpenEncodeSessionEx failed: out of memory", S::Ffmpeg, Limit),
    means("nvEncOpenEncodeSessionEx: 10", S::Ffmpeg, Limit),
    means("No decoder surfaces left", S::Ffmpeg, Limit),
    means("CreateBitstreamBuffer failed: out of memory", S::Ffmpeg, WorkTooLarge),
    means("CreateInputBuffer failed: out of memory", S::Ffmpeg, WorkTooLarge),
    means("Failed to allocate frame to upload to", S::Ffmpeg, WorkTooLarge),
    means("InitializeEncoder failed: out of memory", S::Ffmpeg, WorkTooLarge),
    // Servers of models, and the pools that they plan with.
    means("CNMEM_STATUS_OUT_OF_MEMORY", S::Triton, Limit),
    means("failed to allocate pinned system memory", S::Triton, Pinned),
    means("control the shared memory region size", S::Triton, Host),
    means("Please try to increase --mem-fraction-static", S::SgLang, ShareTooSmall),
    means("Capture cuda graph failed", S::SgLang, ShareTooLarge),
    means("Prefill out of memory. Try to lower your batch size", S::SgLang, Limit),
    means("Decode out of memory. Try to lower your batch size", S::SgLang, Limit),
    means("alloc_req_slots runs out of memory", S::SgLang, Limit),
    means("The memory capacity is unbalanced. Some GPUs may be occupied", S::SgLang, FreeMemoryChanged),
    means("total tokens with", S::Tgi, ShareTooSmall),
    means("prefill tokens. You need to decrease", S::Tgi, ShareTooSmall),
    means("Not enough memory to handle `max_total_tokens", S::Tgi, ShareTooSmall),
    means("the rest of the memory reserved for KV Cache is -", S::Vllm, ShareTooSmall),
    means("Available KV cache memory: -", S::Vllm, ShareTooSmall),
    means("component could not be created: Model", S::TensorRt, WorkTooLarge),
    means("component could not be created: KV cache", S::TensorRt, ShareTooLarge),
    means("maxTokensInPagedKvCache must be large enough", S::TensorRt, ShareTooSmall),
    means("Insufficient VRAM in split for model and cache", S::ExLlama, WorkTooLarge),
    means("Insufficient VRAM for model and cache", S::ExLlama, WorkTooLarge),
    means("Insufficient space in device allocation", S::ExLlama, Limit),
    means("model requires more system memory", S::LlamaCpp, Host),
    means("memory layout cannot be allocated with num_gpu", S::LlamaCpp, WorkTooLarge),
    means("unable to allocate CUDA", S::LlamaCpp, Device),
    means("failed to allocate buffer for kv cache", S::LlamaCpp, Device),
    means("Requested buffer size exceeds device", S::LlamaCpp, WorkTooLarge),
    means("in the context's memory pool", S::LlamaCpp, Limit),
    // Engines and frameworks.
    means("is smaller than requested bytes of", S::OnnxRuntime, Limit),
    means("Failed to allocate memory for requested buffer of size", S::OnnxRuntime, Device),
    means("memory on requested size of", S::TensorRt, Library),
    means("Tactic Device request:", S::TensorRt, Library),
    means("There may not be enough free memory for allocation to succeed", S::TensorRt, Library),
    means("FLAGS_gpu_memory_limit_mb` is", S::Paddle, Limit),
    means("TOutOfMemoryError", S::CatBoost, PreallocationFailed),
    means("not enough memory for tree-ctrs", S::CatBoost, WorkTooLarge),
    means("Memory Object Allocation Failure", S::LightGbm, Device),
    means("Dst tensor is not initialized", S::TensorFlow, IndirectOom),
    means("Failed to get convolution algorithm", S::TensorFlow, IndirectOom),
    means("No algorithm worked!", S::TensorFlow, IndirectOom),
    means("Could not create cudnn handle", S::TensorFlow, IndirectOom),
    means("failed to create cublas handle", S::TensorFlow, IndirectOom),
    means("bytes on host: CUDA_ERROR_OUT_OF_MEMORY", S::TensorFlow, Pinned),
    means("could not allocate pinned host memory of size", S::TensorFlow, Pinned),
    means("Out of host memory while trying to allocate", S::Xla, Pinned),
    means("trying to instantiate command buffer", S::Xla, ShareTooLarge),
    means("DefaultCPUAllocator", S::PyTorch, Host),
    means("are out of shared memory", S::PyTorch, Host),
    means("Error out of memory at line 380 in file", S::PyTorch, Pinned),
    means("Error out of memory at line 351 in file", S::PyTorch, Pinned),
    means("There is not enough GPU video memory available", S::DirectMl, Device),
    means("Not enough memory, use lower resolution", S::PyTorch, WorkTooLarge),
    means("alloc fail type TemporaryMemoryOverflow", S::Faiss, WorkTooLarge),
    means("alloc fail type TemporaryMemoryBuffer", S::Faiss, PreallocationFailed),
    means("StackDeviceMemory", S::Faiss, PreallocationFailed),
    means("AMReX_Arena.cpp", S::AmrEx, PreallocationFailed),
    means("cuda_host_mem.cpp", S::OpenCv, Pinned),
    means("cudaMallocHost of size", S::Gromacs, Pinned),
    means("Allocation of the device buffer failed", S::Gromacs, Device),
    means("Not enough memory. Failed to", S::Gromacs, Host),
    means("Insufficient memory on accelerator", S::Lammps, Device),
    means("CudaHostPinned memory space failed to allocate", S::Lammps, Pinned),
    means("Kokkos ERROR: Host memory space failed", S::Lammps, Host),
    means("Error initializing Context: CUDA_ERROR_OUT_OF_MEMORY", S::OpenMm, Device),
    means("PxGpuDynamicsMemoryConfig::", S::PhysX, Limit),
    means("PxgDynamicsMemoryConfig::", S::PhysX, Limit),
    means("System is out of GPU", S::Renderer, WorkTooLarge),
    means("in CUDA queue", S::Renderer, WorkTooLarge),
    means("TEXTURE STREAMING POOL OVER", S::Renderer, Limit),
    means("Out of video memory trying to allocate a rendering resource", S::Renderer, WorkTooLarge),
    means("(out-of-mem)", S::Renderer, WorkTooLarge),
    means("vkd3d_allocate_device_memory: Failed", S::Renderer, WorkTooLarge),
    means("VK_ERROR_OUT_OF_DEVICE_MEMORY", S::Renderer, WorkTooLarge),
    means("using more video memory than currently available", S::Renderer, WorkTooLarge),
    // Miners: the DAG is what they need, and it grows.
    means("enough free memory to hold the DAG", S::Miner, WorkTooLarge),
    means("not enough free memory to mine", S::Miner, WorkTooLarge),
    means("error when allocating memory or building DAG", S::Miner, WorkTooLarge),
    means("device hasn't enough memory available. Mining suspended", S::Miner, WorkTooLarge),
    means("cannot allocate big buffer for DAG", S::Miner, WorkTooLarge),
    means("initMiner error: out of memory", S::Miner, WorkTooLarge),
    means("Not enough allocatable device memory", S::Program, WorkTooLarge),
    // Other machines and systems.
    means("MPS backend out of memory", S::Mps, WorkTooLarge),
    means("Invalid buffer size:", S::Mps, WorkTooLarge),
    means("kIOGPUCommandBufferCallbackErrorOutOfMemory", S::Mlx, WorkTooLarge),
    means("greater than the maximum allowed buffer size", S::Mlx, WorkTooLarge),
    means("WinError 1455", S::Windows, Host),
    means("os error 1455", S::Windows, Host),
    means("paging file is too small", S::Windows, Host),
    means("页面文件太小", S::Windows, Host),
    means("WinError 1450", S::Windows, Host),
    means("NvMapMemAlloc", S::Jetson, Device),
    means("NvMapMemHandleAlloc", S::Jetson, Device),
    means("killed due to memory pressure (OOM)", S::Ray, Host),
    means("node running low on memory", S::Ray, Host),
    means("in object store because it is full", S::Ray, Limit),
    means("exceeded 95% memory budget", S::Dask, Host),
    means("exceeded memory limit (", S::Supervisor, Symptom::HostKilled),
    means("Exceeded job memory limit", S::Supervisor, Symptom::HostKilled),
    means("The node was low on resource: memory", S::Supervisor, Symptom::HostKilled),
    means("JobState=OUT_OF_MEMORY", S::Supervisor, Symptom::HostKilled),
    means("State: OUT_OF_MEMORY", S::Supervisor, Symptom::HostKilled),
    means("OUT_OF_ME+", S::Supervisor, Symptom::HostKilled),
    means("CUDA error = 2 at", S::Program, Device),
    means("System OOM encountered, victim process", S::Kernel, Symptom::HostKilled),
    means("killed by the OOM killer", S::Supervisor, Symptom::HostKilled),
    means("systemd-oomd killed", S::Supervisor, Symptom::HostKilled),
    means("Failed with result 'oom-kill'", S::Supervisor, Symptom::HostKilled),
    means("for killing due to memory", S::Supervisor, Symptom::HostKilled),
    means("low memory! at or below SIG", S::Supervisor, Symptom::HostKilled),
    means("oom-kill:constraint=", S::Kernel, Symptom::HostKilled),
    means("return code = -9", S::Supervisor, Symptom::Killed),
    means("exitCode: 137", S::Supervisor, Symptom::Killed),
    means("exitCode\":137", S::Supervisor, Symptom::Killed),
    means("exit code: 137", S::Supervisor, Symptom::Killed),
    means("exit code=137", S::Supervisor, Symptom::Killed),
    means("exited with code 137", S::Supervisor, Symptom::Killed),
    means("exited (137)", S::Supervisor, Symptom::Killed),
    means("returned 137", S::Supervisor, Symptom::Killed),
    means("code=killed, status=9", S::Supervisor, Symptom::Killed),
    means("signaled to shutdown with signal 9", S::Tgi, Symptom::Killed),
    means("died with <Signals.SIGKILL", S::Supervisor, Symptom::Killed),
    means("terminated with signal SIGKILL", S::Supervisor, Symptom::Killed),
    means("CUDNN_STATUS_INTERNAL_ERROR", S::CuDnn, IndirectOom),
    means("device OOM encountered", S::Hami, Limit),
    // Memory that stays when its program is gone.
    means("zombie process", S::Program, HeldAfterEnd),
    means("memory is not released", S::Program, HeldAfterEnd),
    means("memory not released", S::Program, HeldAfterEnd),
    means("memory isn't released", S::Program, HeldAfterEnd),
    means("does not release GPU memory", S::Program, HeldAfterEnd),
    means("doesn't release GPU memory", S::Program, HeldAfterEnd),
    means("not releasing GPU memory", S::Program, HeldAfterEnd),
    means("memory is not freed", S::Program, HeldAfterEnd),
    means("memory not freed", S::Program, HeldAfterEnd),
    means("memory is still occupied", S::Program, HeldAfterEnd),
    means("still occupies GPU memory", S::Program, HeldAfterEnd),
    means("occupying the GPU memory", S::Program, HeldAfterEnd),
    means("释放显存", S::Program, HeldAfterEnd),
    means("显存不释放", S::Program, HeldAfterEnd),
    means("CUSOLVER_STATUS_ALLOC_FAILED", S::Program, Library),
    means("cuFFT failed to allocate", S::CuFft, Library),
    means("CUFFT_ALLOC_FAILED", S::CuFft, Library),
    means("is killed by signal: Bus", S::PyTorch, Host),
    means("is killed by signal: Killed", S::PyTorch, Host),
    means("out of resource: shared memory", S::Program, Limit),
    means("creating shared memory segment", S::Nccl, Host),
    means("uses too much shared data", S::Program, Limit),
    means("CUDAMiner::initEpoch", S::Miner, WorkTooLarge),
    means("func initEpoch_internal", S::Miner, WorkTooLarge),
    means("ethash_cuda_miner::init", S::Miner, WorkTooLarge),
    means("session crashed after using all available RAM", S::Supervisor, Symptom::HostKilled),
    means("is larger than the off heap limit", S::Program, Limit),
    means("Try increasing the workspace size", S::TensorRt, Library),
    means("enforce allocating <= available failed", S::Paddle, PreallocationFailed),
    means("memory allocation error during getBestTactic", S::TensorRt, Library),
    means("SplitAndRetryOOM", S::Program, WorkTooLarge),
    means("due to insufficient workspace", S::TensorRt, Library),
    means("unable to open shared memory object", S::PyTorch, Host),
    means("memory to place DAG", S::Miner, WorkTooLarge),
    means("memory to load the model", S::Program, WorkTooLarge),
    means("posix_fallocate failed : No space left on device", S::Nccl, Host),
    means("unable to write to file </torch_", S::PyTorch, Host),
    means("CUSPARSE_STATUS_ALLOC_FAILED", S::Program, Library),
];

/// The rows' anchors.
#[expect(clippy::expect_used, reason = "the anchors are constants, and every test builds this")]
static FIND: LazyLock<AhoCorasick> = LazyLock::new(|| {
    let anchors = ROWS.iter().map(|row| row.anchor);
    AhoCorasick::builder()
        .match_kind(MatchKind::LeftmostLongest)
        .ascii_case_insensitive(true)
        .build(anchors)
        .expect("the anchors of this crate")
});

/// The row whose words a line contains.
pub(super) fn row(line: &str) -> Option<&'static Row> {
    FIND.find(line).map(|found| &ROWS[found.pattern().as_usize()])
}

/// Whose words and files a text is full of. The first that is met counts, in the line itself before what is
/// around it.
const SIGNS: &[(Software, &str)] = &[
    (S::TensorRt, r"\[TRT\]|TensorRT|nvinfer"),
    (S::OnnxRuntime, r"onnxruntime|ONNX Runtime|ORT_"),
    (S::Paddle, r"paddle"),
    (S::MxNet, r"mxnet"),
    (S::XgBoost, r"xgboost|gpu_hist"),
    (S::LightGbm, r"lightgbm"),
    (S::Faiss, r"faiss"),
    (S::Numba, r"numba"),
    (S::PyCuda, r"pycuda"),
    (S::CudaJl, r"CUDA\.jl|CUDAdrv|CuArrays|LoadError: "),
    (S::OpenCv, r"(?i)opencv"),
    (S::CTranslate2, r"(?i)ctranslate2|faster.whisper"),
    (S::ExLlama, r"(?i)exllama"),
    (S::Ffmpeg, r"(?i)ffmpeg|nvenc|nvdec|AVHWDevice|hwupload|_cuvid"),
    (S::Gromacs, r"(?i)gromacs|\bgmx\b"),
    (S::Lammps, r"(?i)lammps"),
    (S::OpenMm, r"(?i)openmm"),
    (S::AmrEx, r"(?i)amrex"),
    (S::PhysX, r"(?i)physx|\bPxg|isaac ?gym|isaac ?sim"),
    (S::Renderer, r"(?i)blender|cycles|octane|redshift|v-ray|unreal"),
    (S::Miner, r"(?i)\bminer|\bdag\b|hashrate"),
    (S::Mlx, r"\bmlx\b|\[metal::"),
    (S::DirectMl, r"(?i)directml"),
    (S::LlamaCpp, r"(?i)ggml|llama\.cpp|llama_|ollama|llamafile"),
    (S::Vllm, r"(?i)\bvllm\b"),
    (S::SgLang, r"(?i)sglang"),
    (S::TensorFlow, r"(?i)tensorflow"),
    (S::Xla, r"(?i)\bjax|xla"),
    (S::CuPy, r"(?i)cupy"),
    (S::NumPy, r"numpy"),
    (S::PyTorch, r"(?i)torch|RuntimeError: (?:CUDA|cuDNN) error|when calling `cu"),
];

/// All of them at once: a text is gone through once.
#[expect(clippy::expect_used, reason = "the patterns are constants, and a test compiles them")]
static ANY_SIGN: LazyLock<RegexSet> = LazyLock::new(|| {
    RegexSet::new(SIGNS.iter().map(|(_, sign)| sign)).expect("the patterns of this crate")
});

/// Whose failure a line is, by its words or else those around it.
pub(super) fn software(line: &str, around: &str) -> Software {
    let by = |text: &str| ANY_SIGN.matches(text).iter().next().map(|first| SIGNS[first].0);
    by(line).or_else(|| by(around)).unwrap_or(Software::Program)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_row_is_found_by_its_own_words() {
        for wanted in ROWS {
            let line = format!("12:00:01 worker: {} (7)", wanted.anchor);
            let found = row(&line).map(|found| found.anchor);
            assert_eq!(found, Some(wanted.anchor), "another row has its words");
        }
    }
}
