//! What helps against a cause in programs that are known by their message: one table, a row a fix. To add one: a row
//! here. What frames of a library tell is in [`crate::library_frames`].
//!
//! A row is offered where its cause was found in that program's message; a program that is not known gets words
//! and no other program's options.

use whyoom_trace::Software as S;

use crate::finding::Remedy;

/// What helps one program against one cause.
struct Fix {
    cause: &'static str,
    software: S,
    /// The line to paste, where there is one that needs no filling in.
    paste: &'static str,
    what: &'static str,
}

const fn words(cause: &'static str, software: S, what: &'static str) -> Fix {
    Fix { cause, software, paste: "", what }
}

const fn line(cause: &'static str, software: S, paste: &'static str, what: &'static str) -> Fix {
    Fix { cause, software, paste, what }
}

const FIXES: &[Fix] = &[
    words(
        "limit",
        S::Ffmpeg,
        "encode fewer streams at once: the driver of consumer GPUs allows a few sessions, newer \
         drivers more",
    ),
    words(
        "working-set",
        S::Ffmpeg,
        "use fewer outputs or smaller frames at once; fewer surfaces (-surfaces 8, a smaller \
         -extra_hw_frames, -threads 1)",
    ),
    words(
        "limit",
        S::Triton,
        "use a larger Triton pool: --cuda-memory-pool-byte-size=GPU:BYTES (64 MiB by default)",
    ),
    words(
        "pinned-host",
        S::Triton,
        "use a larger pool: --pinned-memory-pool-byte-size=BYTES (256 MiB by default)",
    ),
    words(
        "host-oom",
        S::Triton,
        "a larger /dev/shm: docker run --shm-size, or python's shm-default-byte-size",
    ),
    words(
        "preallocated",
        S::SgLang,
        "if the pool gets too little, a larger --mem-fraction-static; if other allocations do, a \
         smaller one",
    ),
    words(
        "preallocated",
        S::SgLang,
        "a smaller --cuda-graph-max-bs or --max-running-requests, a quantized model, or more GPUs (--tp)",
    ),
    words(
        "limit",
        S::SgLang,
        "the pool of tokens is full: fewer requests at once (--max-running-requests), or a larger --mem-fraction-static",
    ),
    words(
        "preallocated",
        S::Tgi,
        "lower --max-batch-total-tokens or --max-batch-prefill-tokens until the warm-up fits; a \
         quantized model needs less",
    ),
    words(
        "working-set",
        S::Tgi,
        "lower --max-batch-prefill-tokens and --max-input-tokens, quantize, or use more shards",
    ),
    words(
        "working-set",
        S::ExLlama,
        "a shorter context (max_seq_len, cache_size), a quantized cache (cache_mode Q8, Q6 or Q4), or a smaller quantization of the model",
    ),
    words("limit", S::ExLlama, "a larger gpu_split, or leave it out"),
    words(
        "working-set",
        S::Miner,
        "the DAG no longer fits on this card: mine another coin or algorithm, or without a second \
         DAG at the same time",
    ),
    words(
        "preallocated",
        S::CatBoost,
        "a smaller gpu_ram_part, or another GPU (devices='1'): the pool is a fraction of the card's \
         memory",
    ),
    words("preallocated", S::AmrEx, "start with a small arena: amrex.the_arena_init_size=0"),
    words(
        "preallocated",
        S::Faiss,
        "less scratch memory: res.setTempMemory(bytes) or res.noTempMemory(), and one StandardGpuResources for all",
    ),
    words(
        "working-set",
        S::CatBoost,
        "a smaller depth or border_count, less data at once, or gpu_ram_part where another program needs the rest",
    ),
    words(
        "working-set",
        S::XgBoost,
        "QuantileDMatrix or external memory, a smaller max_bin, less data at once",
    ),
    words(
        "working-set",
        S::OnnxRuntime,
        "a smaller batch or input; arena_extend_strategy=kSameAsRequested allocates no more than is \
         requested",
    ),
    words("limit", S::OnnxRuntime, "raise gpu_mem_limit of the CUDA provider, or leave it out"),
    words(
        "unknown",
        S::OnnxRuntime,
        "arena_extend_strategy=kSameAsRequested allocates no more than is requested; limit the \
         shapes of the inputs",
    ),
    words(
        "library-workspace",
        S::TensorRt,
        "a smaller workspace while the engine is built: setMemoryPoolLimit(kWORKSPACE, …), trtexec \
         --memPoolSize=workspace:MiB; if the engine is built nevertheless, nothing is wrong",
    ),
    words(
        "working-set",
        S::TensorRt,
        "a smaller max_num_tokens or batch, or more GPUs (tensor parallelism)",
    ),
    words(
        "preallocated",
        S::TensorRt,
        "a smaller free_gpu_memory_fraction of the KV cache, or a shorter max_seq_len",
    ),
    words("limit", S::Paddle, "raise the limit in the message, or unset it"),
    words("working-set", S::Paddle, "a smaller batch size"),
    words(
        "masked",
        S::TensorFlow,
        "let it take only what it uses: export TF_FORCE_GPU_ALLOW_GROWTH=true, and stop other \
         processes on the GPU",
    ),
    words(
        "working-set",
        S::CudaJl,
        "use smaller arrays at once; call CUDA.unsafe_free! on those no longer needed",
    ),
    words(
        "masked",
        S::CudaJl,
        "GC.gc(); CUDA.reclaim() before the failing call: the pool keeps memory until Julia collects",
    ),
    words(
        "working-set",
        S::Faiss,
        "useFloat16, an index in pieces over several GPUs, fewer queries at once",
    ),
    words(
        "working-set",
        S::CTranslate2,
        "a smaller model, compute_type int8 or int8_float16, a smaller batch or beam",
    ),
    words(
        "unknown",
        S::CTranslate2,
        "a smaller model, or compute_type int8 or int8_float16, needs half or less",
    ),
    words(
        "limit",
        S::PhysX,
        "raise the capacity named in the message, in the scene's GPU settings",
    ),
    words(
        "unknown",
        S::PhysX,
        "fewer environments, or smaller GPU buffers of the scene (gpu_max_rigid_contact_count, \
         gpu_heap_capacity); stop other processes on the GPU",
    ),
    words(
        "working-set",
        S::Renderer,
        "smaller textures (Simplify, a texture limit), a smaller or tiled picture, or render on the CPU",
    ),
    words("limit", S::Renderer, "a larger pool (r.Streaming.PoolSize), or smaller textures"),
    words(
        "working-set",
        S::Gromacs,
        "fewer ranks on one GPU, or more of the work on the CPU (-pme cpu, -bonded cpu)",
    ),
    words(
        "working-set",
        S::Lammps,
        "fewer MPI ranks on one GPU; neighbour lists on the host (package gpu N neigh no)",
    ),
    words(
        "working-set",
        S::Mlx,
        "a smaller model, context or batch; mx.clear_cache() between them",
    ),
    words(
        "working-set",
        S::Mps,
        "a smaller batch, model or picture: this machine has no more memory available",
    ),
    words(
        "working-set",
        S::DirectMl,
        "a smaller picture or batch, tiled decoding, or --lowvram if the program supports it",
    ),
    words(
        "unknown",
        S::DirectMl,
        "a smaller picture or batch, tiled decoding, or --lowvram if the program supports it",
    ),
    words(
        "host-oom",
        S::Windows,
        "a larger page file (System, Advanced, Performance, Virtual memory: system-managed, on a \
         disk with free space), or fewer worker processes",
    ),
    words(
        "host-oom",
        S::Ray,
        "fewer tasks at once on a node (num_cpus for each), a larger node, or memory= for each task",
    ),
    words(
        "limit",
        S::Ray,
        "a larger object_store_memory, or drop objects that are still referenced (ray memory lists \
         them)",
    ),
    words(
        "host-oom",
        S::Dask,
        "a larger memory_limit for each worker, or more and smaller partitions",
    ),
    words(
        "host-oom",
        S::LlamaCpp,
        "a smaller model or quantization, or a shorter context (num_ctx): the host must hold what \
         does not fit on the GPU",
    ),
    words(
        "host-oom",
        S::NumPy,
        "process the array in parts, or use a smaller dtype (float32, float16)",
    ),
    words(
        "unknown",
        S::Jetson,
        "the GPU shares the board's memory: stop other programs, drop caches, and start the program \
         that uses the GPU first",
    ),
    words(
        "pinned-host",
        S::OpenCv,
        "fewer pinned buffers; under WSL assign it more memory (memory= in .wslconfig)",
    ),
    line(
        "pinned-host",
        S::TensorFlow,
        "export TF_GPU_HOST_MEM_LIMIT_IN_MB=16384",
        "limits what TensorFlow pins; no more than the host can spare",
    ),
];

/// What helps this program against this cause.
pub(crate) fn of(cause: &str, software: Option<S>) -> Vec<Remedy> {
    let fits = |fix: &&Fix| fix.cause == cause && Some(fix.software) == software;
    let remedy = |fix: &Fix| match fix.paste {
        "" => Remedy::advice(fix.what),
        paste => Remedy::line(paste, fix.what),
    };
    FIXES.iter().filter(fits).map(remedy).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_row_names_a_cause() {
        for fix in FIXES {
            assert!(crate::find(fix.cause).is_some(), "{}", fix.cause);
            assert!(!fix.what.ends_with('.'), "{}", fix.what);
        }
    }
}
