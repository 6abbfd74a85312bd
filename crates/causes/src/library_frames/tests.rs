//! Frames as real tracebacks have them, each from a public thread; the innermost comes first. Lines and users' names are
//! left out.

use super::*;
use crate::finding::Remedy;

/// The function and the file of each frame.
type Frames = &'static [(&'static str, &'static str)];

fn of_frames(frames: Frames) -> Option<LibraryAdvice> {
    let mut tables = Tables::default();
    let ids: Vec<_> =
        frames.iter().map(|(function, file)| tables.frame_text(function, file, 1)).collect();
    let stack = tables.stack(&ids);
    of_stack(&tables, stack)
}

fn code(remedies: &[Remedy]) -> String {
    remedies.iter().filter_map(Remedy::code).collect::<Vec<_>>().join("\n")
}

/// A thread, its frames, the phase that they tell, and a part of the first line.
struct Case {
    thread: &'static str,
    frames: Frames,
    phase: Phase,
    first: &'static str,
}

const CASES: &[Case] = &[
    Case {
        thread: "huggingface/transformers#17089",
        frames: &[
            ("nested_concat", "/venv/lib/python3.7/site-packages/transformers/trainer_pt_utils.py"),
            ("evaluation_loop", "/venv/lib/python3.7/site-packages/transformers/trainer.py"),
            ("evaluate", "/question-answering/trainer_seq2seq_qa.py"),
            ("main", "question-answering/run_seq2seq_qa.py"),
        ],
        phase: Phase::Predictions,
        first: "eval_accumulation_steps=1",
    },
    Case {
        thread: "modelscope/ms-swift#3399",
        frames: &[
            (
                "pad_across_processes",
                "/p/lib/python3.10/site-packages/accelerate/utils/operations.py",
            ),
            ("pad_across_processes", "/p/lib/python3.10/site-packages/accelerate/accelerator.py"),
            ("evaluation_loop", "/p/lib/python3.10/site-packages/transformers/trainer.py"),
            ("evaluate", "/p/lib/python3.10/site-packages/transformers/trainer.py"),
            ("evaluate", "/data/ms-swift-3.0/swift/trainers/trainers.py"),
            ("_maybe_log_save_evaluate", "/p/lib/python3.10/site-packages/transformers/trainer.py"),
        ],
        phase: Phase::Predictions,
        first: "eval_accumulation_steps=1",
    },
    Case {
        thread: "huggingface/trl#3678",
        frames: &[
            ("_compute_loss", "/root/lib/python3.12/site-packages/trl/trainer/grpo_trainer.py"),
            ("compute_loss", "/root/lib/python3.12/site-packages/trl/trainer/grpo_trainer.py"),
            ("training_step", "/root/lib/python3.12/site-packages/transformers/trainer.py"),
            ("_inner_training_loop", "/root/lib/python3.12/site-packages/transformers/trainer.py"),
            ("train", "/root/lib/python3.12/site-packages/transformers/trainer.py"),
            ("<module>", "/root/grpotrainer.py"),
        ],
        phase: Phase::Training,
        first: "gradient_accumulation_steps",
    },
    Case {
        thread: "hiyouga/LlamaFactory#480",
        frames: &[
            ("get_batch_metrics", "/e/lib/python3.8/site-packages/trl/trainer/dpo_trainer.py"),
            ("compute_loss", "/e/lib/python3.8/site-packages/trl/trainer/dpo_trainer.py"),
            ("training_step", "/e/lib/python3.8/site-packages/transformers/trainer.py"),
        ],
        phase: Phase::Training,
        first: "DPOConfig(..., max_length",
    },
    Case {
        thread: "deepspeedai/DeepSpeed#237",
        frames: &[
            (
                "initialize_optimizer_states",
                "/opt/conda/lib/python3.6/site-packages/deepspeed/pt/deepspeed_zero_optimizer.py",
            ),
            (
                "__init__",
                "/opt/conda/lib/python3.6/site-packages/deepspeed/pt/deepspeed_zero_optimizer.py",
            ),
            (
                "_configure_zero_optimizer",
                "/opt/conda/lib/python3.6/site-packages/deepspeed/pt/deepspeed_light.py",
            ),
            ("main", "pretrain_gpt2.py"),
        ],
        phase: Phase::OptimizerState,
        first: "offload_optimizer",
    },
    Case {
        thread: "hiyouga/LlamaFactory#70",
        frames: &[
            (
                "fetch_sub_module",
                "/home/u/.local/lib/python3.7/site-packages/deepspeed/runtime/zero/partitioned_param_coordinator.py",
            ),
            (
                "decorate_context",
                "/home/u/.local/lib/python3.7/site-packages/torch/autograd/grad_mode.py",
            ),
        ],
        phase: Phase::Sharded,
        first: "stage3_max_live_parameters",
    },
    Case {
        thread: "huggingface/trl#3436",
        frames: &[
            (
                "_alloc_padded_unsharded_flat_param",
                "/e/lib/python3.11/site-packages/torch/distributed/fsdp/_flat_param.py",
            ),
            ("unshard", "/e/lib/python3.11/site-packages/torch/distributed/fsdp/_flat_param.py"),
            (
                "_unshard",
                "/e/lib/python3.11/site-packages/torch/distributed/fsdp/_runtime_utils.py",
            ),
            (
                "_prefetch_handle",
                "/e/lib/python3.11/site-packages/torch/distributed/fsdp/_runtime_utils.py",
            ),
            (
                "_pre_backward_hook",
                "/e/lib/python3.11/site-packages/torch/distributed/fsdp/_runtime_utils.py",
            ),
        ],
        phase: Phase::Sharded,
        first: "auto_wrap_policy",
    },
    Case {
        thread: "meta-pytorch/torchtune#2071",
        frames: &[
            (
                "decorate_context",
                "/usr/local/lib/python3.12/dist-packages/torch/utils/_contextlib.py",
            ),
            (
                "wait_for_unshard",
                "/usr/local/lib/python3.12/dist-packages/torch/distributed/_composable/fsdp/_fsdp_param_group.py",
            ),
            (
                "pre_forward",
                "/usr/local/lib/python3.12/dist-packages/torch/distributed/_composable/fsdp/_fsdp_param_group.py",
            ),
        ],
        phase: Phase::Sharded,
        first: "fully_shard(block)",
    },
    Case {
        thread: "ByteDance-Seed/Bagel#157",
        frames: &[
            (
                "_full_pre_state_dict_hook",
                "/opt/conda/lib/python3.11/site-packages/torch/distributed/fsdp/_state_dict_utils.py",
            ),
            (
                "_pre_state_dict_hook",
                "/opt/conda/lib/python3.11/site-packages/torch/distributed/fsdp/_state_dict_utils.py",
            ),
            ("state_dict", "/opt/conda/lib/python3.11/site-packages/torch/nn/modules/module.py"),
            ("fsdp_save_ckpt", "/fsx/Bagel/train/fsdp_utils.py"),
            ("main", "/fsx/Bagel/pretrain_unified_navit.py"),
        ],
        phase: Phase::Saving,
        first: "offload_to_cpu=True, rank0_only=True",
    },
    Case {
        thread: "McGill-NLP/llm2vec#52",
        frames: &[
            (
                "set_module_tensor_to_device",
                "/e/lib/python3.10/site-packages/accelerate/utils/modeling.py",
            ),
            (
                "_load_state_dict_into_meta_model",
                "/e/lib/python3.10/site-packages/transformers/modeling_utils.py",
            ),
            (
                "_load_pretrained_model",
                "/e/lib/python3.10/site-packages/transformers/modeling_utils.py",
            ),
            ("from_pretrained", "/e/lib/python3.10/site-packages/transformers/modeling_utils.py"),
        ],
        phase: Phase::Loading,
        first: "device_map=\"auto\"",
    },
    Case {
        thread: "huggingface/peft#1149",
        frames: &[
            (
                "prepare_model_for_kbit_training",
                "/usr/local/lib/python3.9/site-packages/peft/utils/other.py",
            ),
            ("<module>", "/train.py"),
        ],
        phase: Phase::Loading,
        first: "",
    },
    Case {
        thread: "huggingface/lora-fast#1",
        frames: &[
            ("convert", "/e/lib/python3.12/site-packages/torch/nn/modules/module.py"),
            ("_apply", "/e/lib/python3.12/site-packages/torch/nn/modules/module.py"),
            ("to", "/home/u/work/forks/diffusers/src/diffusers/models/modeling_utils.py"),
            ("pre_forward", "/e/lib/python3.12/site-packages/accelerate/hooks.py"),
        ],
        phase: Phase::Loading,
        first: "enable_sequential_cpu_offload",
    },
    Case {
        thread: "GradientSurfer/Draw2Img#10",
        frames: &[
            ("forward", "/v/lib/python3.10/site-packages/diffusers/models/resnet.py"),
            ("forward", "/v/lib/python3.10/site-packages/diffusers/models/unets/unet_2d_blocks.py"),
            ("_call_impl", "/v/lib/python3.10/site-packages/torch/nn/modules/module.py"),
            ("forward", "/v/lib/python3.10/site-packages/diffusers/models/autoencoders/vae.py"),
        ],
        phase: Phase::Autoencoder,
        first: "enable_tiling()",
    },
    Case {
        thread: "huggingface/sentence-transformers#852",
        frames: &[
            (
                "cos_sim",
                "~/anaconda3/envs/m/lib/python3.8/site-packages/sentence_transformers/util.py",
            ),
            (
                "pytorch_cos_sim",
                "~/anaconda3/envs/m/lib/python3.8/site-packages/sentence_transformers/util.py",
            ),
        ],
        phase: Phase::Pairs,
        first: "util.semantic_search",
    },
    Case {
        thread: "vllm-project/vllm#27508",
        frames: &[
            (
                "_dummy_sampler_run",
                "/opt/conda/lib/python3.13/site-packages/vllm/v1/worker/gpu_model_runner.py",
            ),
            (
                "decorate_context",
                "/opt/conda/lib/python3.13/site-packages/torch/utils/_contextlib.py",
            ),
        ],
        phase: Phase::Server,
        first: "--max-num-seqs",
    },
    Case {
        thread: "vllm-project/vllm#30515",
        frames: &[
            (
                "_warmup_and_capture",
                "/usr/local/lib/python3.12/dist-packages/vllm/v1/worker/gpu_model_runner.py",
            ),
            (
                "_capture_cudagraphs",
                "/usr/local/lib/python3.12/dist-packages/vllm/v1/worker/gpu_model_runner.py",
            ),
            (
                "capture_model",
                "/usr/local/lib/python3.12/dist-packages/vllm/v1/worker/gpu_model_runner.py",
            ),
        ],
        phase: Phase::Server,
        first: "--enforce-eager",
    },
    Case {
        thread: "sgl-project/sglang#1751",
        frames: &[
            ("begin_forward", "/home/u/.local/lib/python3.10/site-packages/flashinfer/decode.py"),
            (
                "init_forward_metadata_capture_cuda_graph",
                "/home/u/.local/lib/python3.10/site-packages/sglang/srt/layers/attention/flashinfer_backend.py",
            ),
            (
                "capture_one_batch_size",
                "/home/u/.local/lib/python3.10/site-packages/sglang/srt/model_executor/cuda_graph_runner.py",
            ),
            (
                "capture",
                "/home/u/.local/lib/python3.10/site-packages/sglang/srt/model_executor/cuda_graph_runner.py",
            ),
        ],
        phase: Phase::Server,
        first: "--mem-fraction-static",
    },
    Case {
        thread: "ultralytics/ultralytics#20843",
        frames: &[
            (
                "__call__",
                "/home/u/anaconda3/envs/aaa/lib/python3.10/site-packages/ultralytics/engine/validator.py",
            ),
            (
                "validate",
                "/home/u/anaconda3/envs/aaa/lib/python3.10/site-packages/ultralytics/engine/trainer.py",
            ),
            (
                "_do_train",
                "/home/u/anaconda3/envs/aaa/lib/python3.10/site-packages/ultralytics/engine/trainer.py",
            ),
            (
                "train",
                "/home/u/anaconda3/envs/aaa/lib/python3.10/site-packages/ultralytics/engine/trainer.py",
            ),
        ],
        phase: Phase::Evaluation,
        first: "model.train(..., batch=4",
    },
    Case {
        thread: "cupy/cupy#1366",
        frames: &[
            ("cupy.cuda.memory.SingleDeviceMemoryPool._malloc", "cupy\\cuda\\memory.pyx"),
            ("cupy.cuda.memory.alloc", "cupy\\cuda\\memory.pyx"),
            ("cupy.core.core.ndarray.__init__", "cupy\\core\\core.pyx"),
            (
                "concatenate",
                "C:\\Users\\u\\Python36\\lib\\site-packages\\cupy\\manipulation\\join.py",
            ),
        ],
        phase: Phase::Arrays,
        first: "malloc_managed",
    },
    Case {
        thread: "rapidsai/dask-cuda#225",
        frames: &[
            ("_check_error", "/raid/e/lib/python3.7/site-packages/numba/cuda/cudadrv/driver.py"),
            (
                "safe_cuda_api_call",
                "/raid/e/lib/python3.7/site-packages/numba/cuda/cudadrv/driver.py",
            ),
            ("allocator", "/raid/e/lib/python3.7/site-packages/numba/cuda/cudadrv/driver.py"),
            (
                "_attempt_allocation",
                "/raid/e/lib/python3.7/site-packages/numba/cuda/cudadrv/driver.py",
            ),
        ],
        phase: Phase::Arrays,
        first: "",
    },
    Case {
        thread: "NVIDIA/cudf#6746",
        frames: &[
            ("inner", "~/anaconda3/envs/rapids16/lib/python3.7/contextlib.py"),
            ("read_csv", "~/anaconda3/envs/rapids16/lib/python3.7/site-packages/cudf/io/csv.py"),
        ],
        phase: Phase::Arrays,
        first: "CUDF_SPILL=on",
    },
    Case {
        thread: "jax-ml/jax#13428",
        frames: &[
            (
                "_execute_compiled",
                "/home/u/anaconda3/envs/multinerf/lib/python3.9/site-packages/jax/_src/dispatch.py",
            ),
            (
                "<lambda>",
                "/home/u/anaconda3/envs/multinerf/lib/python3.9/site-packages/jax/_src/dispatch.py",
            ),
        ],
        phase: Phase::Arrays,
        first: "XLA_PYTHON_CLIENT_MEM_FRACTION",
    },
];

#[test]
fn tracebacks_of_known_libraries_get_the_setting_of_that_library() {
    for case in CASES {
        let advice = of_frames(case.frames).unwrap_or_else(|| panic!("{}", case.thread));
        assert_eq!(advice.phase, Some(case.phase), "{}", case.thread);
        let first = advice.remedies[0].code().unwrap_or_default();
        assert!(first.contains(case.first), "{}: {first}", case.thread);
        assert!(!code(&advice.remedies).contains("site-packages"), "{}", case.thread);
    }
}

#[test]
fn a_frame_adds_its_setting_in_the_phase_that_another_frame_tells() {
    // pytorch/vision#7959: the loss of a detector, in a training step of Lightning.
    let frames: Frames = &[
        ("_box_inter_union", "/usr/local/lib/python3.10/dist-packages/torchvision/ops/boxes.py"),
        ("box_iou", "/usr/local/lib/python3.10/dist-packages/torchvision/ops/boxes.py"),
        (
            "advance",
            "/usr/local/lib/python3.10/dist-packages/pytorch_lightning/loops/training_epoch_loop.py",
        ),
    ];
    let advice = of_frames(frames).unwrap();
    assert_eq!((advice.phase, advice.remedies.len()), (None, 1));
    assert!(advice.remedies[0].what.contains("very many boxes"));
    assert!(!advice.is_complete());
}

#[test]
fn frames_that_tell_nothing_get_no_advice() {
    let cases: [Frames; 5] = [
        // Lightning-AI/pytorch-lightning#18059: whether the closure or the optimizer asked is not seen.
        &[
            ("step", "/e/lib/python3.10/site-packages/pytorch_lightning/core/optimizer.py"),
            (
                "_optimizer_step",
                "/e/lib/python3.10/site-packages/pytorch_lightning/loops/optimization/automatic.py",
            ),
        ],
        &[("load_state_dict", "/e/site-packages/torch/nn/modules/module.py")],
        &[("evaluation_loop", "/home/u/my_transformers/trainer.py")],
        &[("add", "/home/u/trainer_pt_utils.py")],
        &[("forward", "/e/site-packages/transformers/models/llama/modeling_llama.py")],
    ];
    for frames in cases {
        assert_eq!(of_frames(frames), None, "{frames:?}");
    }
}

#[test]
fn every_row_is_whole() {
    assert!(TABLE.len() >= 60, "{}", TABLE.len());
    for row in TABLE {
        assert!(!row.files.is_empty() || !row.functions.is_empty(), "{}", row.what);
        assert!(!row.what.ends_with('.') && !row.source.is_empty(), "{}", row.what);
        assert!(!row.library.looked_up.is_empty());
        assert!(!row.code.contains("site-packages") && !row.code.contains("tensor1"));
        let is_path =
            |file: &&str| file.ends_with('/') || file.ends_with(".py") || file.ends_with(".pyx");
        assert!(row.files.iter().all(is_path), "{:?}", row.files);
        // A folder or an environment of the user's may be called like a library.
        let is_within_library =
            |file: &&str| file.matches('/').count() >= 2 || !file.ends_with('/');
        assert!(row.files.iter().all(is_within_library), "{:?}", row.files);
    }
}

#[test]
fn no_row_of_an_evaluation_recomputes_activations() {
    let without_backward = [Phase::Evaluation, Phase::Predictions, Phase::Generation];
    for row in TABLE.iter().filter(|row| without_backward.contains(&row.phase)) {
        assert!(!row.code.contains("checkpointing"), "{}", row.code);
    }
}
