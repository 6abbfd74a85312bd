//! Remedies that follow from what the memory is: each where the run shows its condition, and none that is in use.

mod pytorch_run;

use pytorch_run::{GIB, MIB, Run, TORCH, TRAIN, advice};
use whyoom_causes::Verdict;

type Frame = (&'static str, &'static str, u32);
type Held = &'static [(u64, &'static [Frame])];

const LAYER: Frame =
    ("forward", "/lib/site-packages/transformers/models/llama/modeling_llama.py", 90);
const MODEL: Frame =
    ("forward", "/lib/site-packages/transformers/models/llama/modeling_llama.py", 400);
const LOSS: Frame = ("cross_entropy", "/lib/site-packages/torch/nn/functional.py", 3700);
const COPY: Frame = ("ForCausalLMLoss", "/lib/site-packages/transformers/loss/loss_utils.py", 50);
const CHECKPOINT: Frame = ("checkpoint", "/lib/site-packages/torch/utils/checkpoint.py", 480);
const CAST: Frame = ("at::autocast::cached_cast(c10::ScalarType)", "libtorch_cpu.so", 0);
const TO_COPY: Frame = ("at::_ops::_to_copy::call(at::Tensor const&)", "libtorch_cpu.so", 0);
const CAST_BACK: Frame =
    ("torch::autograd::generated::ToCopyBackward0::apply(x)", "libtorch_cpu.so", 0);
const STEP: Frame = ("_init_group", "/lib/site-packages/torch/optim/adam.py", 150);
const EIGHT_BIT: Frame = ("zeros", "/lib/site-packages/torchao/optim/subclass_8bit.py", 90);
const LIGER: Frame = (
    "fused_linear_cross_entropy_forward",
    "/lib/site-packages/liger_kernel/ops/fused_linear_cross_entropy.py",
    60,
);
const CACHE: Frame = ("update", "/lib/site-packages/transformers/cache_utils.py", 135);
const GENERATE: Frame = ("generate", "/lib/site-packages/transformers/generation/utils.py", 2500);
const VLLM: Frame =
    ("_allocate_kv_cache_tensors", "/lib/site-packages/vllm/v1/worker/gpu_model_runner.py", 6000);
const TRAINER: Frame = ("training_step", "/lib/site-packages/transformers/trainer.py", 2000);

/// A run that ran out with so many GiB from each of these stacks; the last of them asked for 1 GiB more.
fn out_of_memory(held: Held) -> Verdict {
    out_of_memory_of("python\0train.py", held)
}

fn out_of_memory_of(command: &str, held: Held) -> Verdict {
    let mut run = Run::new(&[TORCH, TRAIN], &[]);
    run.command(command);
    let mut address = GIB;
    for (gibibytes, frames) in held {
        run.at(frames);
        run.segment(address, gibibytes * GIB);
        run.block(address, gibibytes * GIB);
        address += gibibytes * GIB;
    }
    let verdict = run.refused(GIB, 500 * MIB);
    assert_eq!(verdict.primary.cause, "working-set");
    verdict
}

fn advice_for(held: Held) -> String {
    advice(&out_of_memory(held).primary)
}

#[test]
fn a_fused_loss_is_offered_where_logits_are_much() {
    let logits: &[(u64, &[Frame])] =
        &[(3, &[LAYER, MODEL, TRAIN]), (4, &[LOSS, COPY, MODEL, TRAIN])];
    let verdict = out_of_memory(logits);
    let first = &verdict.primary.remedies[0];
    assert!(first.what.contains("fused or chunked cross-entropy"), "{first:?}");
    assert_eq!(first.frees.map(|bytes| bytes.0), Some(4 * GIB));
    assert!(first.code().is_some_and(|code| code.contains("Liger")), "{first:?}");

    let own = advice_for(&[(7, &[LOSS, TRAIN])]);
    assert!(own.contains("torch.nn.functional.linear_cross_entropy"), "{own}");
    let trainer = advice_for(&[(7, &[LOSS, COPY, MODEL, TRAINER, TRAIN])]);
    assert!(trainer.contains("use_liger_kernel=True"), "{trainer}");
}

#[test]
fn no_fused_loss_where_there_is_one_or_little_to_fuse() {
    let cases: [Held; 2] = [
        &[(7, &[LIGER, MODEL, TRAIN])],
        &[(1, &[LOSS, MODEL, TRAIN]), (6, &[LAYER, MODEL, TRAIN])],
    ];
    for held in cases {
        let advice = advice_for(held);
        assert!(!advice.contains("cross-entropy"), "{advice}");
    }
}

#[test]
fn who_only_runs_the_model_needs_the_last_logits() {
    const HEAD: Frame = ("forward", "/lib/site-packages/torch/nn/modules/linear.py", 125);
    let advice = advice_for(&[(7, &[HEAD, MODEL, TRAIN])]);
    assert!(advice.contains("logits_to_keep=1") && !advice.contains("cross-entropy"), "{advice}");
}

#[test]
fn mixed_precision_is_not_offered_to_who_has_it() {
    let activations: Held = &[(7, &[LAYER, MODEL, TRAIN])];
    let offered = advice_for(activations);
    assert!(offered.contains("if the weights are not in bf16 yet"), "{offered}");
    let cases: [(&str, Held); 5] = [
        ("python\0train.py", &[(6, &[LAYER, MODEL, TRAIN]), (1, &[CAST_BACK])]),
        ("python\0train.py", &[(7, &[TO_COPY, LAYER, MODEL, TRAIN])]),
        ("python\0train.py", &[(7, &[CAST, LAYER, MODEL, TRAIN])]),
        ("python\0train.py\0--bf16", activations),
        // The copy of logits in fp32 is made of logits that are not.
        ("python\0train.py", &[(6, &[LAYER, MODEL, TRAIN]), (1, &[COPY, MODEL, TRAIN])]),
    ];
    for (command, held) in cases {
        let advice = advice(&out_of_memory_of(command, held).primary);
        assert!(!advice.contains("autocast"), "{advice}");
    }
}

#[test]
fn checkpointing_is_for_activations_that_are_kept() {
    let kept = advice_for(&[(7, &[LAYER, MODEL, TRAIN])]);
    assert!(kept.contains("gradient_checkpointing_enable"), "{kept}");
    let cases: [Held; 2] =
        [&[(7, &[LAYER, CHECKPOINT, MODEL, TRAIN])], &[(7, &[LOSS, MODEL, TRAIN])]];
    for held in cases {
        let advice = advice_for(held);
        assert!(!advice.contains("gradient_checkpointing_enable"), "{advice}");
    }
}

#[test]
fn an_8_bit_optimizer_is_offered_where_state_is_much_and_in_32_bits() {
    let state = advice_for(&[(3, &[STEP, TRAIN]), (4, &[LAYER, MODEL, TRAIN])]);
    assert!(state.contains("AdamW8bit") && state.contains("gradient accumulation"), "{state}");
    let little = advice_for(&[(1, &[STEP, TRAIN]), (6, &[LAYER, MODEL, TRAIN])]);
    assert!(!little.contains("AdamW8bit"), "{little}");
    let in_use = advice_for(&[(3, &[EIGHT_BIT, TRAIN]), (4, &[LAYER, MODEL, TRAIN])]);
    assert!(!in_use.contains("AdamW8bit"), "{in_use}");
}

#[test]
fn a_large_kv_cache_is_made_smaller() {
    let cache = advice_for(&[(7, &[CACHE, LAYER, MODEL, GENERATE, TRAIN])]);
    assert!(cache.contains("cache_implementation=\"quantized\""), "{cache}");
    assert!(!cache.contains("checkpointing"), "{cache}");
    let vllm = advice_for(&[(7, &[VLLM, TRAIN])]);
    assert!(vllm.contains("--max-model-len") && vllm.contains("--kv-cache-dtype fp8"), "{vllm}");
    // Where there is little of it, other advice is better.
    let little = advice_for(&[(1, &[CACHE, MODEL, TRAIN]), (6, &[LAYER, MODEL, TRAIN])]);
    assert!(!little.contains("KV cache"), "{little}");
}
