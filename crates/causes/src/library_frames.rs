//! What the frames of known libraries mean, and the setting of that library which helps. To add one: a row in
//! [`TABLE`].
//!
//! The table is read for the traceback of a text and for the stacks of a recording. Each row was looked up in the
//! source or the documentation of its library, in the version that stands with the library's name. A row without a
//! match costs nothing; a row that matches a frame which means something else gives wrong advice, so functions are
//! matched by their whole name, and files by whole parts of their path.

use whyoom_trace::{FrameText, StackId, Tables};

use crate::{diagnosis::Diagnosis, finding::Remedy, seen_code};

/// What a program was doing when it asked for memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Phase {
    /// Forward or backward pass of a training step.
    Training,
    /// The first step of an optimizer, which allocates its state.
    OptimizerState,
    /// Forward pass of an evaluation, without backward.
    Evaluation,
    /// Results of an evaluation, collected over its batches.
    Predictions,
    /// Saving of a model or checkpoint.
    Saving,
    /// Loading of weights, or their move to the device.
    Loading,
    /// Generation of text, token by token.
    Generation,
    /// Parameters or gradients that are sharded over ranks, gathered or reduced.
    Sharded,
    /// Encoding or decoding of pictures or video by an autoencoder.
    Autoencoder,
    /// Denoising steps of a diffusion pipeline.
    Denoising,
    /// Merge of adapters into weights.
    Merging,
    /// Start of a server, or one of its batches.
    Server,
    /// Scores of all pairs, such as a similarity search.
    Pairs,
    /// Arrays of a library without layers.
    Arrays,
    /// No phase of its own: the row helps in whatever phase its frame is in.
    Any,
    /// Recomputation of activations. No frame decides it: training asks for it.
    Checkpointing,
}

impl Phase {
    /// Returns true if the settings of the library are the whole advice, because a smaller batch or
    /// recomputation would miss the point.
    fn needs_only_library(self) -> bool {
        matches!(
            self,
            Self::Predictions
                | Self::Saving
                | Self::Denoising
                | Self::Merging
                | Self::Server
                | Self::Pairs
                | Self::Arrays
        )
    }
}

/// A library, and the version in which its rows were looked up.
struct Library {
    name: &'static str,
    /// The version or the day of the source and documentation that the rows come from. Read by people alone.
    #[allow(dead_code, reason = "says where the rows come from")]
    looked_up: &'static str,
}

const fn library(name: &'static str, looked_up: &'static str) -> Library {
    Library { name, looked_up }
}

const TRL: &Library = &library("TRL", "1.10.0.dev0, 2026-07-24");
const DEEPSPEED: &Library = &library("DeepSpeed", "0.19.6, 2026-08-22");
const FSDP: &Library = &library("FSDP", "PyTorch 2.4 and the pages of 2.15");
const SENTENCE_TRANSFORMERS: &Library = &library("sentence-transformers", "6.1.0.dev0, 2026-08-21");
const TRANSFORMERS: &Library = &library("transformers", "main of 2026-08-21");
const LIGHTNING: &Library = &library("Lightning", "2.6.2, 2026-07-20");
const ULTRALYTICS: &Library = &library("Ultralytics", "default.yaml and validator.py of main");
const DIFFUSERS: &Library = &library("diffusers", "0.40.0.dev0, 2026-08-23");
const PEFT: &Library = &library("PEFT", "0.20.0, 2026-08-21");
const ACCELERATE: &Library = &library("Accelerate", "main of 2026-07-24");
const BITSANDBYTES: &Library = &library("bitsandbytes", "0.50.2.dev0, 2026-08-19");
const TORCHVISION: &Library = &library("torchvision", "0.30.0a0, 2026-08-20");
const TIMM: &Library = &library("timm", "1.0.29.dev0, 2026-08-08");
const XFORMERS: &Library = &library("xformers", "0.0.35, 2026-04-21");
const VLLM: &Library = &library("vLLM", "main of 2026-08-22");
const SGLANG: &Library = &library("SGLang", "main of 2026-08-23");
const NUMBA: &Library = &library("Numba", "0.68.0dev0, 2026-08-21");
const CUPY: &Library = &library("CuPy", "15.0.0a1, 2026-08-20");
const RAPIDS: &Library = &library("RAPIDS", "cuDF and RMM 26.08");
const JAX: &Library = &library("JAX", "0.11, 2026-08-08");
const PYTORCH: &Library = &library("PyTorch", "2.15");

/// A frame of a library, what it means, and one setting that helps.
struct Row {
    library: &'static Library,
    /// Ends of file paths, or folders if they end in a slash. Empty: any file.
    files: &'static [&'static str],
    /// Names of functions without the class. Empty: any function.
    functions: &'static [&'static str],
    phase: Phase,
    /// True if the frame alone tells the phase. Otherwise the row counts if another frame told its phase.
    decides: bool,
    /// Code to adapt, or a line to paste if it begins with `export`. Empty: words alone.
    code: &'static str,
    what: &'static str,
    /// Where it was looked up, in the library's own repository or documentation, and the thread of a traceback.
    #[allow(dead_code, reason = "says where the row comes from")]
    source: &'static str,
}

/// A row whose frame tells the phase.
const fn tells(
    library: &'static Library,
    files: &'static [&'static str],
    functions: &'static [&'static str],
    phase: Phase,
    [code, what, source]: [&'static str; 3],
) -> Row {
    Row { library, files, functions, phase, decides: true, code, what, source }
}

/// A row that counts in a phase which another frame tells.
const fn adds(
    library: &'static Library,
    files: &'static [&'static str],
    functions: &'static [&'static str],
    phase: Phase,
    [code, what, source]: [&'static str; 3],
) -> Row {
    Row { library, files, functions, phase, decides: false, code, what, source }
}

const HF_TRAINER: &[&str] = &["transformers/trainer.py", "transformers/trainer_seq2seq.py"];
const HF_GATHERS: &[&str] = &["transformers/trainer_pt_utils.py"];
const HF_GATHER_CALLS: &[&str] =
    &["nested_concat", "torch_pad_and_concatenate", "add", "nested_gather", "distributed_concat"];
/// Calls that only the collection of an evaluation's predictions makes.
const HF_KEEPS_PREDICTIONS: &[&str] = &["nested_concat", "torch_pad_and_concatenate"];
const HF_EVAL_LOOPS: &[&str] = &["evaluation_loop", "prediction_loop"];
const HF_OWN_GATHERS: &[&str] = &["_nested_gather", "_pad_across_processes", "gather_function"];
const HF_STEPS: &[&str] = &["_inner_training_loop", "_run_epoch", "train"];
const HF_LOADING: &[&str] = &[
    "_load_pretrained_model",
    "_load_state_dict_into_meta_model",
    "caching_allocator_warmup",
    "convert_and_load_state_dict_in_model",
];
const HF_MODELING: &[&str] =
    &["transformers/modeling_utils.py", "transformers/core_model_loading.py"];

const TRL_GRPO: &[&str] = &["trl/trainer/grpo_trainer.py"];
const TRL_LOGPS: &[&str] = &["_get_per_token_logps", "_get_per_token_logps_and_entropies"];
const TRL_DPO: &[&str] = &["trl/trainer/dpo_trainer.py"];
const TRL_DPO_FORWARD: &[&str] = &[
    "concatenated_forward",
    "get_batch_loss_metrics",
    "get_batch_metrics",
    "_compute_loss",
    "_compute_loss_liger",
];
const TRL_SFT: &[&str] = &["trl/trainer/sft_trainer.py"];

const ZERO_OPTIMIZERS: &[&str] = &[
    "deepspeed/runtime/zero/stage_1_and_2.py",
    "deepspeed/runtime/zero/stage1.py",
    "deepspeed/runtime/zero/stage2.py",
    "deepspeed/runtime/zero/stage3.py",
    "deepspeed/runtime/bf16_optimizer.py",
    "deepspeed/pt/deepspeed_zero_optimizer.py",
];
const ZERO_STATE: &[&str] = &[
    "initialize_optimizer_states",
    "_setup_for_real_optimizer",
    "_create_fp32_partitions",
    "_create_fp16_partitions_with_defragmentation",
];
const ZERO_STAGE_1_AND_2: &[&str] = &[
    "deepspeed/runtime/zero/stage_1_and_2.py",
    "deepspeed/runtime/zero/stage1.py",
    "deepspeed/runtime/zero/stage2.py",
    "deepspeed/pt/deepspeed_zero_optimizer.py",
];
const ZERO_3_FETCH: &[&str] = &[
    "deepspeed/runtime/zero/partitioned_param_coordinator.py",
    "deepspeed/runtime/zero/partition_parameters.py",
];
const ZERO_3_FETCH_CALLS: &[&str] = &[
    "fetch_sub_module",
    "__all_gather_params",
    "__all_gather_params_",
    "all_gather_coalesced",
    "_all_gather_coalesced",
    "_all_gather_sequential",
    "_all_gather_dtype",
    "_all_gather",
    "_allgather_params_coalesced",
];
const ZERO_REDUCE_CALLS: &[&str] = &[
    "setup_buckets",
    "average_tensor",
    "reduce_ipg_grads",
    "__add_grad_to_ipg_bucket",
    "reduce_independent_p_g_buckets_and_remove_grads",
];

const FSDP_1: &[&str] = &[
    "torch/distributed/fsdp/_flat_param.py",
    "torch/distributed/fsdp/flat_param.py",
    "torch/distributed/fsdp/_runtime_utils.py",
];
const FSDP_1_UNSHARD: &[&str] = &[
    "unshard",
    "_unshard",
    "_alloc_padded_unsharded_flat_param",
    "_all_gather_flat_param",
    "_prefetch_handle",
];
const FSDP_2: &[&str] =
    &["torch/distributed/fsdp/_fully_shard/", "torch/distributed/_composable/fsdp/"];
const FSDP_2_UNSHARD: &[&str] =
    &["unshard", "wait_for_unshard", "foreach_all_gather", "foreach_all_gather_copy_out"];
const FSDP_STATE_DICT: &[&str] = &["torch/distributed/fsdp/_state_dict_utils.py"];
const FSDP_FULL_STATE: &[&str] = &[
    "_full_pre_state_dict_hook",
    "_full_post_state_dict_hook",
    "_common_unshard_pre_state_dict_hook",
];

const LIGHTNING_EVALUATION: &[&str] = &[
    "lightning/pytorch/loops/evaluation_loop.py",
    "pytorch_lightning/loops/evaluation_loop.py",
    "pytorch_lightning/loops/epoch/evaluation_epoch_loop.py",
    "pytorch_lightning/trainer/evaluation_loop.py",
];
const LIGHTNING_TRAINING: &[&str] = &[
    "lightning/pytorch/loops/optimization/automatic.py",
    "pytorch_lightning/loops/optimization/automatic.py",
    "pytorch_lightning/loops/optimization/optimizer_loop.py",
    "lightning/pytorch/loops/optimization/manual.py",
];
const LIGHTNING_FSDP: &[&str] =
    &["lightning/pytorch/strategies/fsdp.py", "pytorch_lightning/strategies/fsdp.py"];

const AUTOENCODERS: &[&str] = &[
    "diffusers/models/autoencoders/",
    "diffusers/models/vae.py",
    "diffusers/models/autoencoder_kl.py",
];
const CODES: &[&str] = &["decode", "_decode", "encode", "_encode"];
const PIPELINES: &[&str] = &["diffusers/pipelines/"];

const VLLM_RUNNERS: &[&str] = &[
    "vllm/v1/worker/gpu_model_runner.py",
    "vllm/v1/worker/gpu/model_runner.py",
    "vllm/worker/model_runner.py",
];
const SGLANG_GRAPHS: &[&str] =
    &["sglang/srt/model_executor/cuda_graph_runner.py", "sglang/srt/model_executor/runner/"];

const SBERT_MODELS: &[&str] = &[
    "sentence_transformers/SentenceTransformer.py",
    "sentence_transformers/sentence_transformer/model.py",
];
const SBERT_SEARCH: &[&str] = &[
    "sentence_transformers/util.py",
    "sentence_transformers/util/retrieval.py",
    "sentence_transformers/util/similarity.py",
];
const SBERT_NEGATIVES: &[&str] = &[
    "sentence_transformers/losses/MultipleNegativesRankingLoss.py",
    "sentence_transformers/sentence_transformer/losses/multiple_negatives_ranking.py",
];

const CUDF_FRAMES: &[&str] =
    &["cudf/core/", "cudf/io/", "cudf/utils/", "cudf/_lib/", "cudf/pandas/"];
const RAPIDS_FRAMES: &[&str] = &[
    "cudf/core/",
    "cudf/io/",
    "cudf/utils/",
    "cudf/_lib/",
    "cudf/pandas/",
    "rmm/pylibrmm/",
    "rmm/rmm.py",
];

const STATE_DICTS: &[&str] =
    &["state_dict", "save_checkpoint", "save_pretrained", "save_model", "_save_checkpoint"];

/// Of several rows that match, the earlier comes first: frameworks before what they are built on.
const TABLE: &[Row] = &[
    // TRL
    adds(
        TRL,
        TRL_GRPO,
        TRL_LOGPS,
        Phase::Any,
        [
            "GRPOConfig(..., use_liger_kernel=True)",
            "compute the loss without the logits of all tokens of the vocabulary at once",
            "docs/source/reducing_memory_usage.md; trl#3678",
        ],
    ),
    adds(
        TRL,
        TRL_GRPO,
        TRL_LOGPS,
        Phase::Any,
        [
            "GRPOConfig(..., max_completion_length=256)",
            "the logits grow with the length of the completions, and with per_device_train_batch_size",
            "trl/trainer/grpo_config.py; trl#3678",
        ],
    ),
    tells(
        TRL,
        TRL_GRPO,
        &["_generate_and_score_completions"],
        Phase::Generation,
        [
            "GRPOConfig(..., num_generations=4)",
            "generate fewer completions of each prompt",
            "trl/trainer/grpo_config.py; trl#2709",
        ],
    ),
    tells(
        TRL,
        &["trl/generation/vllm_generation.py"],
        &[],
        Phase::Server,
        [
            "GRPOConfig(..., vllm_gpu_memory_utilization=0.2)",
            "give vLLM a smaller part of the GPU that it shares with training",
            "trl/trainer/grpo_config.py",
        ],
    ),
    adds(
        TRL,
        &["trl/generation/vllm_generation.py"],
        &[],
        Phase::Server,
        [
            "GRPOConfig(..., vllm_enable_sleep_mode=True)",
            "move vLLM's weights and cache to the host while the model trains",
            "docs/source/reducing_memory_usage.md",
        ],
    ),
    adds(
        TRL,
        TRL_DPO,
        &["compute_ref_log_probs", "compute_reference_log_probs"],
        Phase::Any,
        [
            "DPOConfig(..., precompute_ref_log_probs=True)",
            "compute the reference model's log probabilities before training: it then need not stay in memory",
            "trl/trainer/dpo_config.py",
        ],
    ),
    adds(
        TRL,
        TRL_DPO,
        TRL_DPO_FORWARD,
        Phase::Any,
        [
            "DPOConfig(..., max_length=512)",
            "truncate prompt and completion: each batch holds the chosen and the rejected sequence",
            "docs/source/reducing_memory_usage.md; LlamaFactory#480",
        ],
    ),
    adds(
        TRL,
        TRL_DPO,
        TRL_DPO_FORWARD,
        Phase::Any,
        [
            "DPOConfig(..., use_liger_kernel=True)",
            "compute the loss without all logits at once",
            "docs/source/reducing_memory_usage.md",
        ],
    ),
    adds(
        TRL,
        TRL_SFT,
        &["compute_loss", "training_step"],
        Phase::Training,
        [
            "SFTConfig(..., max_length=512)",
            "truncate long sequences (the default is 1024): activations and logits grow with the length",
            "docs/source/reducing_memory_usage.md",
        ],
    ),
    adds(
        TRL,
        TRL_SFT,
        &["compute_loss", "training_step"],
        Phase::Training,
        [
            "SFTConfig(..., activation_offloading=True)",
            "keep activations in host memory between forward and backward",
            "docs/source/reducing_memory_usage.md",
        ],
    ),
    // DeepSpeed
    tells(
        DEEPSPEED,
        ZERO_OPTIMIZERS,
        ZERO_STATE,
        Phase::OptimizerState,
        [
            "\"zero_optimization\": {\"offload_optimizer\": {\"device\": \"cpu\"}}",
            "keep the optimizer's state and its fp32 weights in host memory",
            "docs/_pages/config-json.md; DeepSpeed#3132",
        ],
    ),
    adds(
        DEEPSPEED,
        ZERO_STAGE_1_AND_2,
        ZERO_STATE,
        Phase::OptimizerState,
        [
            "\"zero_optimization\": {\"stage\": 3}",
            "shard the parameters as well: stages 1 and 2 keep all of them on each GPU",
            "docs/_pages/config-json.md; DeepSpeed#237",
        ],
    ),
    tells(
        DEEPSPEED,
        ZERO_3_FETCH,
        ZERO_3_FETCH_CALLS,
        Phase::Sharded,
        [
            "\"zero_optimization\": {\"stage3_max_live_parameters\": 1e8, \"stage3_prefetch_bucket_size\": 1e7}",
            "keep fewer gathered parameters at once (the default of the first is 1e9)",
            "docs/_pages/config-json.md; DeepSpeed#1624",
        ],
    ),
    adds(
        DEEPSPEED,
        ZERO_3_FETCH,
        ZERO_3_FETCH_CALLS,
        Phase::Sharded,
        [
            "\"zero_optimization\": {\"offload_param\": {\"device\": \"cpu\"}}",
            "keep the parameters in host memory between their uses (stage 3)",
            "docs/_pages/config-json.md; LlamaFactory#70",
        ],
    ),
    tells(
        DEEPSPEED,
        ZERO_OPTIMIZERS,
        ZERO_REDUCE_CALLS,
        Phase::Sharded,
        [
            "\"zero_optimization\": {\"reduce_bucket_size\": 5e7}",
            "reduce fewer gradients at a time (the default is 5e8 elements)",
            "docs/_pages/config-json.md",
        ],
    ),
    tells(
        DEEPSPEED,
        &["deepspeed/runtime/utils.py"],
        &["all_gather_dp_groups"],
        Phase::Sharded,
        [
            "\"zero_optimization\": {\"allgather_bucket_size\": 5e7}",
            "gather fewer updated parameters at a time (the default is 5e8 elements)",
            "docs/_pages/config-json.md",
        ],
    ),
    tells(
        DEEPSPEED,
        &["deepspeed/runtime/engine.py"],
        &["_zero3_consolidated_16bit_state_dict", "save_16bit_model"],
        Phase::Saving,
        [
            "\"zero_optimization\": {\"stage3_gather_16bit_weights_on_model_save\": false}",
            "save the shards, and join them later on the host with zero_to_fp32.py",
            "docs/_pages/config-json.md",
        ],
    ),
    // FSDP
    tells(
        FSDP,
        FSDP_STATE_DICT,
        FSDP_FULL_STATE,
        Phase::Saving,
        [
            "FSDP.state_dict_type(model, StateDictType.FULL_STATE_DICT, FullStateDictConfig(offload_to_cpu=True, rank0_only=True))",
            "move each gathered tensor to the host, on rank 0 alone",
            "torch/distributed/fsdp/api.py; Bagel#157",
        ],
    ),
    adds(
        FSDP,
        FSDP_STATE_DICT,
        FSDP_FULL_STATE,
        Phase::Saving,
        [
            "FSDP.state_dict_type(model, StateDictType.SHARDED_STATE_DICT)",
            "or save the shards, without gathering them",
            "torch/distributed/fsdp/api.py",
        ],
    ),
    tells(
        FSDP,
        FSDP_1,
        FSDP_1_UNSHARD,
        Phase::Sharded,
        [
            "FullyShardedDataParallel(model, auto_wrap_policy=...)",
            "wrap each block of the model, so that one block at a time is gathered and not the whole model",
            "docs.pytorch.org fsdp.html; trl#3436",
        ],
    ),
    adds(
        FSDP,
        FSDP_1,
        FSDP_1_UNSHARD,
        Phase::Sharded,
        [
            "FullyShardedDataParallel(model, cpu_offload=CPUOffload(offload_params=True))",
            "keep parameters and gradients in host memory between their uses",
            "torch/distributed/fsdp/api.py; trl#3436",
        ],
    ),
    adds(
        FSDP,
        FSDP_1,
        &["_prefetch_handle"],
        Phase::Sharded,
        [
            "FullyShardedDataParallel(model, backward_prefetch=BackwardPrefetch.BACKWARD_POST)",
            "free a block's parameters before the next are gathered",
            "torch/distributed/fsdp/api.py; trl#3436",
        ],
    ),
    tells(
        FSDP,
        FSDP_2,
        FSDP_2_UNSHARD,
        Phase::Sharded,
        [
            "fully_shard(block)",
            "call it on each block before the whole model, so that one block at a time is gathered",
            "docs.pytorch.org distributed.fsdp.fully_shard.html; torchtune#2071",
        ],
    ),
    adds(
        FSDP,
        FSDP_2,
        FSDP_2_UNSHARD,
        Phase::Sharded,
        [
            "fully_shard(model, offload_policy=CPUOffloadPolicy())",
            "keep parameters, gradients and the optimizer's state in host memory",
            "docs.pytorch.org distributed.fsdp.fully_shard.html; torchtune#2071",
        ],
    ),
    // sentence-transformers
    tells(
        SENTENCE_TRANSFORMERS,
        SBERT_MODELS,
        &["encode"],
        Phase::Evaluation,
        [
            "model.encode(sentences, batch_size=8)",
            "encode fewer sentences at once (the default batch size is 32)",
            "sentence_transformers/sentence_transformer/model.py; sentence-transformers#171",
        ],
    ),
    adds(
        SENTENCE_TRANSFORMERS,
        SBERT_MODELS,
        &["encode"],
        Phase::Evaluation,
        [
            "model.max_seq_length = 256",
            "cut long texts: attention grows with the square of the length",
            "sentence_transformers/base/model.py; sentence-transformers#686",
        ],
    ),
    tells(
        SENTENCE_TRANSFORMERS,
        SBERT_SEARCH,
        &["semantic_search", "paraphrase_mining", "paraphrase_mining_embeddings"],
        Phase::Pairs,
        [
            "util.semantic_search(queries, corpus, query_chunk_size=20, corpus_chunk_size=50000)",
            "score fewer pairs at once",
            "sentence_transformers/util/retrieval.py; sentence-transformers#487",
        ],
    ),
    tells(
        SENTENCE_TRANSFORMERS,
        SBERT_SEARCH,
        &["cos_sim", "pytorch_cos_sim"],
        Phase::Pairs,
        [
            "util.semantic_search(queries, corpus, top_k=5)",
            "in a search, do not make the scores of all pairs: it scores pieces of the corpus and keeps the best",
            "sentence_transformers/util/retrieval.py; sentence-transformers#852",
        ],
    ),
    adds(
        SENTENCE_TRANSFORMERS,
        SBERT_NEGATIVES,
        &["forward"],
        Phase::Any,
        [
            "losses.CachedMultipleNegativesRankingLoss(model, mini_batch_size=16)",
            "the same loss with the memory of a small batch: it computes the embeddings in parts",
            "sentence_transformer/losses/cached_multiple_negatives_ranking.py",
        ],
    ),
    tells(
        SENTENCE_TRANSFORMERS,
        &[
            "sentence_transformers/cross_encoder/model.py",
            "sentence_transformers/cross_encoder/CrossEncoder.py",
        ],
        &["predict", "rank"],
        Phase::Evaluation,
        [
            "model.predict(pairs, batch_size=8)",
            "score fewer pairs at once: lower the batch size",
            "sentence_transformers/cross_encoder/model.py",
        ],
    ),
    // transformers
    tells(
        TRANSFORMERS,
        HF_GATHERS,
        HF_GATHER_CALLS,
        Phase::Predictions,
        [
            "TrainingArguments(..., eval_accumulation_steps=1)",
            "move the predictions to the host after each batch: without it the Trainer keeps those of the whole \
         evaluation on the GPU",
            "src/transformers/training_args.py; transformers#17089, #7232",
        ],
    ),
    tells(
        TRANSFORMERS,
        HF_TRAINER,
        HF_OWN_GATHERS,
        Phase::Predictions,
        [
            "TrainingArguments(..., eval_accumulation_steps=1)",
            "move the predictions to the host after each batch: without it the Trainer keeps those of the whole \
         evaluation on the GPU",
            "src/transformers/training_args.py; transformers#7232",
        ],
    ),
    adds(
        TRANSFORMERS,
        HF_TRAINER,
        HF_EVAL_LOOPS,
        Phase::Predictions,
        [
            "TrainingArguments(..., eval_accumulation_steps=1)",
            "move the predictions to the host after each batch: without it the Trainer keeps those of the whole \
         evaluation on the GPU",
            "src/transformers/training_args.py; ms-swift#3399",
        ],
    ),
    adds(
        TRANSFORMERS,
        HF_TRAINER,
        HF_EVAL_LOOPS,
        Phase::Predictions,
        [
            "Trainer(..., preprocess_logits_for_metrics=lambda logits, labels: logits.argmax(dim=-1))",
            "keep only what compute_metrics needs, not the logits (of a tuple, take the first); compute_metrics then gets \
         classes: leave out its own argmax",
            "src/transformers/trainer.py; transformers#8476",
        ],
    ),
    adds(
        TRANSFORMERS,
        HF_TRAINER,
        HF_EVAL_LOOPS,
        Phase::Predictions,
        [
            "TrainingArguments(..., prediction_loss_only=True)",
            "if no metric needs predictions, compute the loss alone",
            "src/transformers/training_args.py",
        ],
    ),
    tells(
        TRANSFORMERS,
        HF_TRAINER,
        &["prediction_step"],
        Phase::Evaluation,
        [
            "TrainingArguments(..., per_device_eval_batch_size=1)",
            "lower the batch size of the evaluation (the default is 8, whatever that of training is)",
            "src/transformers/training_args.py",
        ],
    ),
    tells(
        TRANSFORMERS,
        HF_TRAINER,
        HF_EVAL_LOOPS,
        Phase::Evaluation,
        [
            "TrainingArguments(..., eval_accumulation_steps=1)",
            "move the predictions of earlier batches to the host: without it they stay on the GPU until the evaluation ends",
            "src/transformers/training_args.py",
        ],
    ),
    adds(
        TRANSFORMERS,
        HF_TRAINER,
        HF_EVAL_LOOPS,
        Phase::Evaluation,
        [
            "TrainingArguments(..., bf16_full_eval=True)",
            "evaluate in 16 bits, if the weights are in fp32",
            "src/transformers/training_args.py",
        ],
    ),
    tells(
        TRANSFORMERS,
        HF_TRAINER,
        &["_save_checkpoint", "_save_optimizer_and_scheduler"],
        Phase::Saving,
        [
            "TrainingArguments(..., save_only_model=True)",
            "save the model without the optimizer's state, if training need not be resumed (not with a sharded state dict)",
            "src/transformers/training_args.py",
        ],
    ),
    tells(
        TRANSFORMERS,
        HF_TRAINER,
        &["training_step"],
        Phase::Training,
        [
            "TrainingArguments(..., per_device_train_batch_size=1, gradient_accumulation_steps=8)",
            "lower the batch size, and keep the effective one by accumulating gradients",
            "src/transformers/training_args.py",
        ],
    ),
    tells(
        TRANSFORMERS,
        HF_MODELING,
        HF_LOADING,
        Phase::Loading,
        [
            "from_pretrained(..., device_map=\"auto\")",
            "spread the weights over several GPUs and host memory",
            "src/transformers/modeling_utils.py; transformers#37436",
        ],
    ),
    adds(
        TRANSFORMERS,
        HF_MODELING,
        HF_LOADING,
        Phase::Loading,
        [
            "from_pretrained(..., quantization_config=BitsAndBytesConfig(load_in_4bit=True))",
            "load the weights in 4 bits",
            "transformers documentation, quantization with bitsandbytes",
        ],
    ),
    adds(
        TRANSFORMERS,
        HF_TRAINER,
        HF_STEPS,
        Phase::OptimizerState,
        [
            "TrainingArguments(..., optim=\"adamw_bnb_8bit\")",
            "use an 8-bit optimizer: its state takes 8 bits instead of 32",
            "src/transformers/training_args.py, OptimizerNames",
        ],
    ),
    adds(
        TRANSFORMERS,
        HF_TRAINER,
        HF_STEPS,
        Phase::OptimizerState,
        [
            "TrainingArguments(..., optim=\"paged_adamw_8bit\")",
            "or one that moves its state to the host when the GPU is full",
            "src/transformers/training_args.py, OptimizerNames",
        ],
    ),
    tells(
        TRANSFORMERS,
        &["transformers/generation/utils.py", "transformers/generation_utils.py"],
        &["generate"],
        Phase::Generation,
        [
            "",
            "generate for fewer sequences at once, with a shorter prompt or a smaller max_new_tokens: the KV cache grows with each",
            "docs/source/en/kv_cache.md",
        ],
    ),
    adds(
        TRANSFORMERS,
        &["transformers/generation/utils.py", "transformers/generation_utils.py"],
        &["beam_search", "_beam_search", "beam_sample", "group_beam_search", "_group_beam_search"],
        Phase::Generation,
        [
            "model.generate(..., num_beams=1)",
            "use fewer beams: each has a KV cache of its own",
            "src/transformers/generation/utils.py",
        ],
    ),
    adds(
        TRANSFORMERS,
        &["transformers/cache_utils.py"],
        &[],
        Phase::Generation,
        [
            "model.generate(..., cache_implementation=\"offloaded\")",
            "keep the KV cache of all layers but the next in host memory",
            "docs/source/en/kv_cache.md",
        ],
    ),
    adds(
        TRANSFORMERS,
        &["transformers/trainer_seq2seq.py"],
        &["prediction_step"],
        Phase::Generation,
        [
            "Seq2SeqTrainingArguments(..., per_device_eval_batch_size=1, generation_num_beams=1)",
            "evaluate fewer sequences at once, with fewer beams",
            "src/transformers/training_args_seq2seq.py",
        ],
    ),
    adds(
        TRANSFORMERS,
        HF_TRAINER,
        &[],
        Phase::Checkpointing,
        [
            "TrainingArguments(..., gradient_checkpointing=True)",
            "in training, recompute activations in backward instead of keeping them",
            "src/transformers/training_args.py",
        ],
    ),
    // Lightning
    tells(
        LIGHTNING,
        LIGHTNING_EVALUATION,
        &["_evaluation_step", "evaluation_step"],
        Phase::Evaluation,
        [
            "",
            "lower the batch size of val_dataloader(), and keep what validation_step collects on the host \
         (.detach().cpu())",
            "src/lightning/pytorch/loops/evaluation_loop.py; pytorch-lightning#5735",
        ],
    ),
    tells(
        LIGHTNING,
        LIGHTNING_TRAINING,
        &["_training_step", "closure"],
        Phase::Training,
        [
            "Trainer(..., accumulate_grad_batches=4)",
            "with a lower batch size in train_dataloader(): the effective batch stays",
            "src/lightning/pytorch/trainer/trainer.py; pytorch-lightning#18059",
        ],
    ),
    tells(
        LIGHTNING,
        LIGHTNING_FSDP,
        &["save_checkpoint", "lightning_module_state_dict"],
        Phase::Saving,
        [
            "FSDPStrategy(state_dict_type=\"sharded\")",
            "save the shards instead of the gathered model",
            "docs/source-pytorch/advanced/model_parallel/fsdp.rst",
        ],
    ),
    adds(
        LIGHTNING,
        LIGHTNING_FSDP,
        &[],
        Phase::Sharded,
        [
            "FSDPStrategy(..., cpu_offload=True)",
            "keep parameters, gradients and the optimizer's state in host memory",
            "docs/source-pytorch/advanced/model_parallel/fsdp.rst",
        ],
    ),
    // Ultralytics
    tells(
        ULTRALYTICS,
        &["ultralytics/engine/validator.py"],
        &["__call__"],
        Phase::Evaluation,
        [
            "model.train(..., batch=4, imgsz=512)",
            "lower the batch size or the size of the images: validation uses them too (model.val takes the same two)",
            "ultralytics/cfg/default.yaml; ultralytics#7636",
        ],
    ),
    adds(
        ULTRALYTICS,
        &["ultralytics/utils/metrics.py", "ultralytics/models/yolo/obb/val.py"],
        &["batch_probiou", "probiou", "box_iou", "mask_iou", "_process_batch"],
        Phase::Evaluation,
        [
            "model.val(..., max_det=100)",
            "compare fewer detections of each image with its labels (the default is 300)",
            "ultralytics/cfg/default.yaml; ultralytics#20843",
        ],
    ),
    tells(
        ULTRALYTICS,
        &["ultralytics/engine/trainer.py"],
        &["_do_train"],
        Phase::Training,
        [
            "model.train(..., batch=4, imgsz=512)",
            "lower the batch size or the size of the images; a fraction such as batch=0.6 chooses the batch by the free memory",
            "ultralytics/cfg/default.yaml; ultralytics#7030",
        ],
    ),
    tells(
        ULTRALYTICS,
        &["ultralytics/engine/predictor.py"],
        &["stream_inference", "inference"],
        Phase::Evaluation,
        [
            "model.predict(..., imgsz=640, half=True)",
            "predict smaller images, in 16 bits",
            "ultralytics/cfg/default.yaml",
        ],
    ),
    // diffusers
    tells(
        DIFFUSERS,
        AUTOENCODERS,
        CODES,
        Phase::Autoencoder,
        [
            "pipe.vae.enable_tiling()",
            "encode and decode pictures in tiles, one after the other",
            "docs/source/en/optimization/memory.md; diffusers#9648, FramePack#25",
        ],
    ),
    tells(
        DIFFUSERS,
        &["diffusers/models/autoencoders/vae.py", "diffusers/models/vae.py"],
        &["forward"],
        Phase::Autoencoder,
        [
            "pipe.vae.enable_tiling()",
            "encode and decode pictures in tiles, one after the other",
            "docs/source/en/optimization/memory.md; Draw2Img#10",
        ],
    ),
    adds(
        DIFFUSERS,
        AUTOENCODERS,
        &["decode", "_decode", "encode", "_encode", "forward"],
        Phase::Autoencoder,
        [
            "pipe.vae.enable_slicing()",
            "with several pictures, one picture at a time",
            "docs/source/en/optimization/memory.md",
        ],
    ),
    tells(
        DIFFUSERS,
        PIPELINES,
        &["__call__"],
        Phase::Denoising,
        [
            "pipe.enable_model_cpu_offload()",
            "keep only the model that works on the GPU; without pipe.to(\"cuda\")",
            "docs/source/en/optimization/memory.md",
        ],
    ),
    adds(
        DIFFUSERS,
        &["diffusers/models/attention_processor.py", "diffusers/models/cross_attention.py"],
        &["get_attention_scores"],
        Phase::Any,
        [
            "pipe.enable_attention_slicing()",
            "compute attention in slices: these scores of all pairs are made whole (not with PyTorch's own fused attention)",
            "src/diffusers/pipelines/pipeline_utils.py",
        ],
    ),
    tells(
        DIFFUSERS,
        &["diffusers/pipelines/pipeline_utils.py", "diffusers/pipeline_utils.py"],
        &["to"],
        Phase::Loading,
        [
            "pipe.enable_model_cpu_offload()",
            "instead of pipe.to(\"cuda\"): only the model that works is on the GPU",
            "docs/source/en/optimization/memory.md",
        ],
    ),
    tells(
        DIFFUSERS,
        &["diffusers/models/modeling_utils.py"],
        &["to"],
        Phase::Loading,
        [
            "pipe.enable_sequential_cpu_offload()",
            "move one layer at a time to the GPU: less memory than enable_model_cpu_offload(), and slower",
            "docs/source/en/optimization/memory.md; lora-fast#1",
        ],
    ),
    adds(
        DIFFUSERS,
        &["diffusers/models/"],
        &[],
        Phase::Checkpointing,
        [
            "unet.enable_gradient_checkpointing()",
            "in training, recompute activations in backward instead of keeping them",
            "src/diffusers/models/modeling_utils.py",
        ],
    ),
    // PEFT
    tells(
        PEFT,
        &["peft/utils/other.py"],
        &["prepare_model_for_kbit_training"],
        Phase::Loading,
        [
            "",
            "leave out prepare_model_for_kbit_training() if the model is not loaded in 8 or 4 bits: it casts weights to fp32",
            "src/peft/utils/other.py; peft#1149",
        ],
    ),
    tells(
        PEFT,
        &["peft/tuners/tuners_utils.py", "peft/tuners/lora/model.py"],
        &["merge_and_unload", "_unload_and_optionally_merge", "merge_adapter"],
        Phase::Merging,
        [
            "model = model.to(\"cpu\").merge_and_unload()",
            "if the weights are not quantized or offloaded, merge on the host, and move the model back: each layer's merged \
         weights are made beside the old ones",
            "src/peft/tuners/lora/layer.py, get_delta_weight; peft#1939",
        ],
    ),
    tells(
        PEFT,
        &["peft/tuners/tuners_utils.py"],
        &["cast_adapter_dtype"],
        Phase::Loading,
        [
            "get_peft_model(model, config, autocast_adapter_dtype=False)",
            "keep the adapter in the type of its layer instead of fp32",
            "src/peft/peft_model.py",
        ],
    ),
    // Accelerate
    tells(
        ACCELERATE,
        &["accelerate/utils/operations.py"],
        &[
            "pad_across_processes",
            "_pad_across_processes",
            "gather",
            "_gpu_gather",
            "_gpu_gather_one",
        ],
        Phase::Predictions,
        [
            "accelerator.gather_for_metrics(predictions.argmax(dim=-1)).cpu()",
            "gather what the metric needs instead of the logits, and keep it on the host",
            "src/accelerate/accelerator.py; ms-swift#3399",
        ],
    ),
    adds(
        ACCELERATE,
        &["accelerate/utils/operations.py"],
        &["convert_to_fp32", "_convert_to_fp32"],
        Phase::Any,
        [
            "",
            "return the loss without the logits from the model's forward: mixed precision copies all that it returns to fp32",
            "src/accelerate/utils/operations.py, ConvertOutputsToFp32",
        ],
    ),
    tells(
        ACCELERATE,
        &["accelerate/utils/modeling.py"],
        &["set_module_tensor_to_device", "load_checkpoint_in_model"],
        Phase::Loading,
        [
            "from_pretrained(..., device_map=\"auto\", max_memory={0: \"…GiB\", \"cpu\": \"…GiB\"})",
            "give the weights about 80 % of the GPU: what does not fit goes to host memory",
            "src/transformers/modeling_utils.py, max_memory; llm2vec#52",
        ],
    ),
    tells(
        ACCELERATE,
        &["accelerate/utils/fsdp_utils.py"],
        &["save_fsdp_model", "save_fsdp_optimizer"],
        Phase::Saving,
        [
            "accelerate launch --fsdp_state_dict_type SHARDED_STATE_DICT",
            "save the shards: the full state is gathered first",
            "docs/source/concept_guides/fsdp1_vs_fsdp2.md",
        ],
    ),
    // torchvision
    adds(
        TORCHVISION,
        &["torchvision/ops/boxes.py"],
        &["box_iou", "_box_inter_union"],
        Phase::Any,
        [
            "",
            "leave out or crop images with very many boxes: each box is compared with all anchors at once",
            "torchvision/ops/boxes.py; vision#7959",
        ],
    ),
    adds(
        TORCHVISION,
        &["torchvision/ops/boxes.py"],
        &["nms", "batched_nms", "_batched_nms_coordinate_trick", "_batched_nms_vanilla"],
        Phase::Any,
        [
            "fasterrcnn_resnet50_fpn(..., rpn_pre_nms_top_n_train=1000, rpn_pre_nms_top_n_test=500)",
            "keep fewer proposals before they are compared with each other",
            "torchvision/models/detection/faster_rcnn.py",
        ],
    ),
    adds(
        TORCHVISION,
        &["torchvision/models/detection/roi_heads.py"],
        &["paste_masks_in_image", "paste_mask_in_image"],
        Phase::Any,
        [
            "maskrcnn_resnet50_fpn(..., box_detections_per_img=50)",
            "fewer detections of an image: the mask of each takes the size of the whole image",
            "torchvision/models/detection/faster_rcnn.py",
        ],
    ),
    adds(
        TORCHVISION,
        &["torchvision/models/detection/transform.py"],
        &["resize", "batch_images"],
        Phase::Any,
        [
            "fasterrcnn_resnet50_fpn(..., min_size=600, max_size=1000)",
            "scale images to fewer pixels (the default of min_size is 800)",
            "torchvision/models/detection/faster_rcnn.py",
        ],
    ),
    // timm, and models of transformers outside its Trainer
    adds(
        TIMM,
        &["timm/models/"],
        &[],
        Phase::Checkpointing,
        [
            "model.set_grad_checkpointing()",
            "in training, recompute activations in backward instead of keeping them",
            "timm/models/vision_transformer.py",
        ],
    ),
    adds(
        TRANSFORMERS,
        &["transformers/models/"],
        &[],
        Phase::Checkpointing,
        [
            "model.gradient_checkpointing_enable()",
            "in training, recompute activations in backward instead of keeping them",
            "src/transformers/modeling_utils.py",
        ],
    ),
    // xformers
    adds(
        XFORMERS,
        &["xformers/ops/fmha/"],
        &[],
        Phase::Any,
        [
            "xformers.ops.memory_efficient_attention(q, k, v, attn_bias=xformers.ops.LowerTriangularMask())",
            "only if the model's attention is causal: pass the mask as this object, not as a tensor of all pairs",
            "xformers/ops/fmha/attn_bias.py",
        ],
    ),
    // vLLM
    tells(
        VLLM,
        VLLM_RUNNERS,
        &["_dummy_sampler_run"],
        Phase::Server,
        [
            "vllm serve ... --max-num-seqs 64",
            "sample for fewer sequences at once",
            "vllm/v1/worker/gpu_model_runner.py; vllm#27508",
        ],
    ),
    tells(
        VLLM,
        VLLM_RUNNERS,
        &["capture_model", "_capture_cudagraphs", "_warmup_and_capture"],
        Phase::Server,
        [
            "vllm serve ... --enforce-eager",
            "work without CUDA graphs, or capture fewer sizes",
            "docs/configuration/conserving_memory.md; vllm#30515",
        ],
    ),
    tells(
        VLLM,
        VLLM_RUNNERS,
        &["profile_run", "_dummy_run"],
        Phase::Server,
        [
            "vllm serve ... --max-num-batched-tokens 2048",
            "compute fewer tokens at once",
            "docs/configuration/optimization.md; vllm#17631",
        ],
    ),
    tells(
        VLLM,
        VLLM_RUNNERS,
        &["_execute_mm_encoder"],
        Phase::Server,
        [
            "vllm serve ... --limit-mm-per-prompt '{\"image\": 1}'",
            "allow fewer pictures in a prompt",
            "docs/configuration/conserving_memory.md",
        ],
    ),
    tells(
        VLLM,
        VLLM_RUNNERS,
        &["load_model"],
        Phase::Server,
        [
            "vllm serve ... --tensor-parallel-size 2",
            "spread the weights over several GPUs, or serve a quantized model",
            "docs/configuration/conserving_memory.md",
        ],
    ),
    tells(
        VLLM,
        VLLM_RUNNERS,
        &["execute_model"],
        Phase::Server,
        [
            "vllm serve ... --max-num-seqs 64 --max-model-len 8192",
            "serve fewer and shorter sequences at once",
            "docs/configuration/conserving_memory.md",
        ],
    ),
    adds(
        VLLM,
        &["vllm/v1/sample/", "vllm/model_executor/layers/sampler.py"],
        &[],
        Phase::Server,
        [
            "vllm serve ... --gpu-memory-utilization 0.85",
            "leave more memory outside the KV cache for the logits of all sequences (the default takes more)",
            "vllm/v1/worker/gpu_model_runner.py; nccl#1790",
        ],
    ),
    // SGLang
    tells(
        SGLANG,
        SGLANG_GRAPHS,
        &["capture", "capture_one_batch_size"],
        Phase::Server,
        [
            "python -m sglang.launch_server ... --mem-fraction-static 0.8",
            "a smaller fraction leaves more memory to CUDA graphs; --disable-cuda-graph needs none for them",
            "docs/advanced_features/hyperparameter_tuning.mdx; sglang#1751, #5285",
        ],
    ),
    // Libraries of arrays
    tells(
        NUMBA,
        &["numba/cuda/cudadrv/driver.py"],
        &["memalloc", "_attempt_allocation"],
        Phase::Arrays,
        [
            "",
            "drop device arrays (del) before new ones are made: Numba frees an array when nothing refers to it any more",
            "docs/source/cuda/memory.rst; dask-cuda#225, numba#4833",
        ],
    ),
    adds(
        NUMBA,
        &["numba/cuda/api.py"],
        &["to_device"],
        Phase::Arrays,
        [
            "cuda.to_device(array, to=device_array)",
            "copy into one device array again and again, instead of a new one each time",
            "numba/cuda/api.py",
        ],
    ),
    tells(
        CUPY,
        &["cupy/cuda/memory.pyx"],
        &[],
        Phase::Arrays,
        [
            "cupy.cuda.set_allocator(cupy.cuda.MemoryPool(cupy.cuda.malloc_managed).malloc)",
            "use managed memory: what does not fit lies in host memory, and is slower",
            "docs/source/user_guide/memory.rst, cupy/cuda/memory.pyx; cupy#1489",
        ],
    ),
    adds(
        CUPY,
        &["cupy/cuda/memory.pyx"],
        &[],
        Phase::Arrays,
        [
            "cupy.get_default_memory_pool().free_all_blocks()",
            "return what the pool keeps to the driver, if another library in this process needs it",
            "docs/source/user_guide/memory.rst",
        ],
    ),
    adds(
        CUPY,
        &["cupy/fft/", "cupy/cuda/cufft.pyx"],
        &[],
        Phase::Arrays,
        [
            "cupy.fft.config.get_plan_cache().clear()",
            "free the plans that CuPy caches, each of which has a workspace",
            "docs/source/user_guide/fft.rst",
        ],
    ),
    tells(
        RAPIDS,
        CUDF_FRAMES,
        &[],
        Phase::Arrays,
        [
            "export CUDF_SPILL=on",
            "cuDF then moves data frames that are not in use to host memory; set it before Python starts",
            "docs/cudf/source/cudf/developer_guide/library_design.md; cudf#6746",
        ],
    ),
    adds(
        RAPIDS,
        RAPIDS_FRAMES,
        &[],
        Phase::Arrays,
        [
            "rmm.reinitialize(managed_memory=True)",
            "use managed memory, before the first data frame: what does not fit lies in host memory",
            "python/rmm/rmm/rmm.py, docs/user_guide/guide.md; cudf#5344",
        ],
    ),
    tells(
        JAX,
        &["jax/_src/interpreters/pxla.py", "jax/_src/dispatch.py"],
        &[],
        Phase::Arrays,
        [
            "export XLA_PYTHON_CLIENT_MEM_FRACTION=.95",
            "JAX takes 75 % of the GPU unless told otherwise (newer versions also read XLA_CLIENT_MEM_FRACTION)",
            "docs.jax.dev gpu_memory_allocation.html; jax#13428",
        ],
    ),
    adds(
        JAX,
        &["jax/_src/interpreters/pxla.py", "jax/_src/dispatch.py"],
        &[],
        Phase::Arrays,
        [
            "export XLA_PYTHON_CLIENT_PREALLOCATE=false",
            "if other programs use the GPU, take memory as it is needed",
            "docs.jax.dev gpu_memory_allocation.html; jax#13428",
        ],
    ),
    // What everything else is built on
    tells(
        BITSANDBYTES,
        &["bitsandbytes/optim/optimizer.py"],
        &["init_state", "get_state_buffer"],
        Phase::OptimizerState,
        [
            "bitsandbytes.optim.PagedAdamW8bit(model.parameters())",
            "its state moves to host memory when the GPU is full",
            "docs/source/explanations/optimizers.mdx; bitsandbytes#1635",
        ],
    ),
    tells(
        PYTORCH,
        &["torch/optim/"],
        &["_init_group"],
        Phase::OptimizerState,
        [
            "",
            "train fewer parameters (LoRA), shard the state (ZeRO, FSDP), or page it out (PagedAdamW8bit)",
            "torch/optim/adamw.py, _init_group",
        ],
    ),
    tells(
        PYTORCH,
        &["torch/serialization.py"],
        &["_cuda_deserialize", "default_restore_location", "restore_location", "_deserialize"],
        Phase::Loading,
        [
            "torch.load(path, map_location=\"cpu\")",
            "load the file to the host: without it each tensor goes back to the GPU that it was saved from",
            "docs.pytorch.org torch.load",
        ],
    ),
    adds(
        PYTORCH,
        &["torch/nn/parallel/scatter_gather.py", "torch/nn/parallel/comm.py"],
        &["gather"],
        Phase::Any,
        [
            "torch.nn.parallel.DistributedDataParallel(model)",
            "with one process per GPU: DataParallel gathers the outputs of all GPUs on the first",
            "docs.pytorch.org DistributedDataParallel",
        ],
    ),
    adds(
        PYTORCH,
        &["torch/nn/parallel/distributed.py"],
        &["__init__", "_ddp_init_helper"],
        Phase::Any,
        [
            "torch.nn.parallel.DistributedDataParallel(model, gradient_as_bucket_view=True)",
            "keep the gradients in the buckets instead of beside them",
            "pytorch#41954",
        ],
    ),
    tells(
        PYTORCH,
        &[],
        STATE_DICTS,
        Phase::Saving,
        [
            "",
            "save from the host: copy each tensor of the state to the CPU before the next is gathered; with FSDP, \
         FullStateDictConfig(offload_to_cpu=True, rank0_only=True) does this; or save a sharded state",
            "torch/distributed/fsdp/api.py; RRHF#30",
        ],
    ),
];

/// What the table says of one stack.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct LibraryAdvice {
    /// What the program was doing. `None` if no frame tells.
    pub(crate) phase: Option<Phase>,
    /// The settings that help, the most specific library first.
    pub(crate) remedies: Vec<Remedy>,
    /// The library of the first of them.
    pub(crate) library: &'static str,
}

impl LibraryAdvice {
    /// Returns true if these settings are the whole advice.
    pub(crate) fn is_complete(&self) -> bool {
        self.phase.is_some_and(Phase::needs_only_library)
    }
}

/// Returns the advice for the request that failed. `None` if no row matches its stack.
pub(crate) fn of_request(diagnosis: &Diagnosis<'_>) -> Option<LibraryAdvice> {
    of_stack(diagnosis.tables, diagnosis.incident?.stack)
}

/// Returns the advice for a stack. `None` if no row matches it.
pub(crate) fn of_stack(tables: &Tables, stack: StackId) -> Option<LibraryAdvice> {
    let frames: Vec<FrameText<'_>> = tables.frames(stack).collect();
    let phase = phase(&frames);
    let mut remedies: Vec<Remedy> = Vec::new();
    let mut library = None;
    for row in TABLE {
        let counts = row.phase == Phase::Any || Some(row.phase) == phase;
        if !counts || !frames.iter().any(|frame| row.matches(frame)) {
            continue;
        }
        library = library.or(Some(row.library.name));
        let remedy = row.remedy();
        if !remedies.iter().any(|other| other.what == remedy.what) {
            remedies.push(remedy);
        }
    }
    Some(LibraryAdvice { phase, remedies, library: library? })
}

/// Returns how the program, if it is of a known library, recomputes activations in backward.
pub(crate) fn checkpointing(diagnosis: &Diagnosis<'_>) -> Option<Remedy> {
    let mut rows = TABLE.iter().filter(|row| row.phase == Phase::Checkpointing);
    rows.find(|row| seen_code::any_frame(diagnosis, |frame| row.matches(frame))).map(Row::remedy)
}

/// Returns the phase that the frames tell, innermost first. Saving counts wherever it is, because training gathers the same
/// things. `None` if no frame tells a phase.
fn phase(frames: &[FrameText<'_>]) -> Option<Phase> {
    let has_call = |names: &[&str]| frames.iter().any(|frame| names.contains(&call_name(frame)));
    // Training gathers losses with the same functions.
    let gathers_predictions = has_call(HF_EVAL_LOOPS) || has_call(HF_KEEPS_PREDICTIONS);
    // A loss compares the pairs of its batch with the functions of a search.
    let is_loss =
        frames.iter().any(|frame| SBERT_NEGATIVES.iter().any(|file| is_in(frame.file, file)));
    let mut innermost = None;
    for frame in frames {
        for row in TABLE.iter().filter(|row| row.decides && row.matches(frame)) {
            if row.phase == Phase::Saving {
                return Some(Phase::Saving);
            }
            let counts = match row.phase {
                Phase::Predictions => gathers_predictions,
                Phase::Pairs => !is_loss,
                _ => true,
            };
            if counts {
                innermost = innermost.or(Some(row.phase));
            }
        }
    }
    innermost
}

/// Returns the name of a frame's function, without its class.
fn call_name<'a>(frame: &FrameText<'a>) -> &'a str {
    frame.function.rsplit('.').next().unwrap_or(frame.function)
}

impl Row {
    fn matches(&self, frame: &FrameText<'_>) -> bool {
        let has_function = self.functions.is_empty() || self.functions.contains(&call_name(frame));
        has_function
            && (self.files.is_empty() || self.files.iter().any(|file| is_in(frame.file, file)))
    }

    fn remedy(&self) -> Remedy {
        match self.code {
            "" => Remedy::advice(self.what),
            line if line.starts_with("export ") => Remedy::line(line, self.what),
            code => Remedy::example(code, self.what),
        }
    }
}

/// Returns true if a path is the file, or lies in the folder if that ends in a slash. On Windows the path has
/// backslashes.
fn is_in(path: &str, file: &str) -> bool {
    let windows;
    let path = match path.contains('\\') {
        true => {
            windows = path.replace('\\', "/");
            &windows
        }
        false => path,
    };
    path.match_indices(file).any(|(at, _)| {
        let begins = at == 0 || path[..at].ends_with('/');
        begins && (file.ends_with('/') || at + file.len() == path.len())
    })
}

#[cfg(test)]
mod tests;
