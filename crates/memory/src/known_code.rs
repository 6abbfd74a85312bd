//! What the code of well-known libraries makes: one table, a row for each place. To add one: a row here.
//!
//! A stack is read from the inside: its innermost frame that has a row decides.

use whyoom_trace::FrameText;

use crate::category::Category;

/// A place in a library, and what is made there.
struct KnownCode {
    /// A part of the file's path. Nothing: any file.
    file: &'static str,
    /// Parts of the function's name, any of which will do. None: any function.
    functions: &'static [&'static str],
    makes: Category,
}

const fn row(file: &'static str, functions: &'static [&'static str], makes: Category) -> KnownCode {
    KnownCode { file, functions, makes }
}

/// Of rows of one file, the first that fits decides.
const PYTHON: &[KnownCode] = &[
    // Loss functions, PyTorch's and everybody's: Liger's and TRL's have these words in their names too.
    row("", &["cross_entropy", "log_softmax", "nll_loss"], Category::Logits),
    row("transformers/loss/", &[], Category::Logits),
    // vLLM: _allocate_kv_cache_tensors, initialize_kv_cache.
    row("", &["kv_cache", "KVCache"], Category::KvCache),
    row("transformers/cache_utils.py", &[], Category::KvCache),
    // A copy of a model: an average of its weights, a reference, a teacher.
    row("torch/nn/parameter.py", &["__deepcopy__"], Category::Parameters),
    row("sglang/srt/mem_cache/memory_pool", &["__init__", "_create_buffers"], Category::KvCache),
    // FSDP2: what reduce-scatter returns is the sharded gradient.
    row("fsdp/_fully_shard/", &["reduce", "grad", "post_backward"], Category::Gradients),
    row("fsdp/_fully_shard/", &["all_gather", "unshard", "sharded_param"], Category::Parameters),
    // FSDP1.
    row("fsdp/_runtime_utils.py", &["grad", "post_backward"], Category::Gradients),
    row("fsdp/_flat_param.py", &["grad"], Category::Gradients),
    row("fsdp/_flat_param.py", &["flat_param", "unshard"], Category::Parameters),
    // DDP: the buckets in which gradients are reduced.
    row("torch/nn/parallel/distributed.py", &["_ddp_init_helper"], Category::Gradients),
    row("deepspeed/runtime/zero/", &["optimizer_state"], Category::OptimizerState),
    row(
        "deepspeed/runtime/zero/",
        &["grad", "ipg", "reduce", "get_flat_partition"],
        Category::Gradients,
    ),
    row("deepspeed/runtime/zero/partition_parameters.py", &[], Category::Parameters),
    // Quantized and loaded weights, and adapters.
    row("bitsandbytes/nn/", &["quantize"], Category::Parameters),
    row("torchao/quantization/", &["quantize_"], Category::Parameters),
    row("peft/tuners/", &["update_layer", "reset_lora", "_move_adapter"], Category::Parameters),
    row("transformers/core_model_loading.py", &[], Category::Parameters),
    row("vllm/model_executor/model_loader/", &[], Category::Parameters),
];

/// The same for compiled code: operators of PyTorch, forward and backward.
const NATIVE: &[KnownCode] = &[
    row("", &["cross_entropy_loss", "log_softmax", "nll_loss"], Category::Logits),
    row("", &["LogSoftmaxBackward", "NllLossBackward", "NllLoss2DBackward"], Category::Logits),
    row("", &["Reducer::initialize_buckets"], Category::Gradients),
];

/// Folders of optimizers whose files' names do not say what they are.
const OPTIMIZERS: [&str; 6] = [
    "/torch/optim/",
    "bitsandbytes/optim/",
    "torchao/optim/",
    "low_bit_optim/",
    "apex/optimizers/",
    "deepspeed/ops/adam/",
];

/// What a frame's code makes, where it is known.
pub(crate) fn makes(frame: &FrameText<'_>) -> Option<Category> {
    let rows = if frame.is_python() { PYTHON } else { NATIVE };
    let named = |row: &KnownCode| {
        row.functions.is_empty() || row.functions.iter().any(|part| frame.function.contains(part))
    };
    let fits = |row: &&KnownCode| frame.file.contains(row.file) && named(row);
    let row = rows.iter().find(fits).map(|row| row.makes);
    row.or_else(|| allocates_cache(frame).then_some(Category::KvCache))
}

/// Whether a function makes room for keys and values: its class is named after a cache and after attention, and it after
/// what makes room. What such a class computes otherwise is none.
fn allocates_cache(frame: &FrameText<'_>) -> bool {
    const OF_ATTENTION: [&str; 3] = ["attention", "attn", "kv"];
    const MAKES_ROOM: [&str; 8] =
        ["alloc", "init", "setup", "create", "build", "reset", "prepare", "cache"];
    let name = frame.function.to_lowercase();
    let Some((class, function)) = name.rsplit_once('.').filter(|_| frame.is_python()) else {
        return false;
    };
    class.contains("cache")
        && OF_ATTENTION.iter().any(|word| class.contains(word))
        && MAKES_ROOM.iter().any(|word| function.contains(word))
}

/// Whether a frame belongs to an optimizer: of a library, or of the program's own, of which only what optimizers have
/// counts. A script may be called `optimized_training.py`.
pub(crate) fn is_optimizer(frame: &FrameText<'_>) -> bool {
    const OWN: [&str; 4] = ["step", "state", "update", "init"];
    let name = frame.file.rsplit('/').next().unwrap_or(frame.file);
    let own = || OWN.iter().any(|part| frame.function.contains(part));
    OPTIMIZERS.iter().any(|folder| frame.file.contains(folder)) || name.contains("optim") && own()
}
