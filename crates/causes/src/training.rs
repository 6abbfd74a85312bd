//! What makes a training step need less, each where the run shows that it would.

use whyoom_memory::Category;
use whyoom_trace::Bytes;

use crate::{
    diagnosis::Diagnosis,
    finding::Remedy,
    library_frames::{self, Phase},
    precision, seen_code,
};

/// A kind that has this share of the peak is worth a remedy of its own.
const MUCH: f64 = 0.25;
/// Below this share, what makes a kind smaller hardly helps.
const LITTLE: f64 = 0.1;
/// The greater part.
const MOSTLY: f64 = 0.5;
/// Minimum share of the device that tensors have if it is called full. Chosen, not measured.
const NEARLY_FULL: f64 = 0.85;
/// Code that makes a loss of logits.
const LOSSES: [&str; 6] =
    ["cross_entropy", "log_softmax", "nll_loss", "transformers/loss/", "LogSoftmax", "NllLoss"];
/// Loss functions that never make all logits at once.
const FUSED_LOSSES: [&str; 3] =
    ["linear_cross_entropy", "chunked_cross_entropy", "cut_cross_entropy"];

/// It ran out while the optimizer made its state.
pub(crate) fn for_optimizer(diagnosis: &Diagnosis<'_>) -> Vec<Remedy> {
    let fewer = Remedy::advice(
        "train fewer parameters (LoRA), shard the state (ZeRO, FSDP), or page it out (PagedAdamW8bit)",
    );
    vec![in_eight_bits(diagnosis), fewer]
}

fn in_eight_bits(diagnosis: &Diagnosis<'_>) -> Remedy {
    let code = match seen_code::any_named(diagnosis, &["transformers/trainer.py"]) {
        true => "TrainingArguments(..., optim=\"adamw_bnb_8bit\")",
        false => "bitsandbytes.optim.AdamW8bit(model.parameters())",
    };
    let what = "use an 8-bit optimizer: its state takes 8 bits instead of 32";
    let eight_bit = Remedy::example(code, what);
    match diagnosis.peak_of(Category::OptimizerState) {
        Some(state) => eight_bit.freeing(Bytes(state.0 / 4 * 3)),
        None => eight_bit,
    }
}

pub(crate) fn for_training(diagnosis: &Diagnosis<'_>) -> Vec<Remedy> {
    let mut remedies = Vec::new();
    remedies.extend(fewer_logits(diagnosis));
    remedies.push(smaller_batch(diagnosis));
    if !few_activations(diagnosis) {
        remedies.push(checkpointing(diagnosis));
        if !precision::is_half(diagnosis) {
            remedies.push(mixed_precision());
        }
    }
    if diagnosis.share_at_peak(Category::OptimizerState) >= MUCH {
        remedies.push(in_eight_bits(diagnosis));
    }
    if is_full_of_weights(diagnosis) {
        remedies.extend(fewer_weights(diagnosis));
    }
    remedies
}

/// Returns true if the parameters are most of the peak, or a message of the first step says that the allocator has
/// nearly all of the device: gradients and the optimizer's state are still to come.
fn is_full_of_weights(diagnosis: &Diagnosis<'_>) -> bool {
    let observed = &diagnosis.observed;
    let share = observed.allocated.zip(observed.capacity);
    let is_full = share.is_some_and(|(used, all)| used.share_of(all) >= NEARLY_FULL);
    let phase = library_frames::of_request(diagnosis).and_then(|advice| advice.phase);
    let in_first_step = diagnosis.is_message()
        && phase == Some(Phase::Training)
        && diagnosis.steps_done() == Some(0);
    let is_mostly_weights = diagnosis.share_at_peak(Category::Parameters) >= MOSTLY;
    (is_full && in_first_step || is_mostly_weights) && trains(diagnosis)
}

/// Returns true if the program trains, by its memory or by the frames of the request that failed. Of a forward pass
/// alone that is not known.
fn trains(diagnosis: &Diagnosis<'_>) -> bool {
    let phase = library_frames::of_request(diagnosis).and_then(|advice| advice.phase);
    is_training(diagnosis) || phase == Some(Phase::Training) || diagnosis.asked_in_training()
}

/// Returns what makes weights, gradients and the optimizer's state smaller.
fn fewer_weights(diagnosis: &Diagnosis<'_>) -> [Remedy; 2] {
    let lora = Remedy::example(
        "peft.get_peft_model(model, peft.LoraConfig())",
        "train an adapter (LoRA): of weights that do not change, no gradients and no optimizer state are kept",
    );
    [lora, in_eight_bits(diagnosis)]
}

/// Whether activations have hardly a part in the peak, where it is known what the peak consists of. What the program
/// computes outside any module counts as inputs, and may be kept for backward too.
fn few_activations(diagnosis: &Diagnosis<'_>) -> bool {
    let unknown = [Category::Unattributed, Category::Inputs];
    let unknown: f64 = unknown.into_iter().map(|kind| diagnosis.share_at_peak(kind)).sum();
    let known = diagnosis.space.is_some_and(|space| !space.peak_by_category().is_empty());
    let asked = |kind| diagnosis.incident.is_some_and(|incident| incident.category == kind);
    known
        && unknown < MOSTLY
        && !asked(Category::Activations)
        && diagnosis.share_at_peak(Category::Activations) < LITTLE
}

/// Whether gradients or an optimizer's state were seen.
pub(crate) fn is_training(diagnosis: &Diagnosis<'_>) -> bool {
    let updates = [Category::Gradients, Category::OptimizerState];
    updates.into_iter().any(|kind| diagnosis.peak_of(kind).is_some())
}

/// The whole logits need not exist: a loss can be computed in chunks of tokens, and who generates needs those of
/// the last token.
pub(crate) fn fewer_logits(diagnosis: &Diagnosis<'_>) -> Option<Remedy> {
    let asked = diagnosis.incident.is_some_and(|incident| incident.category == Category::Logits);
    let is_much = asked || diagnosis.share_at_peak(Category::Logits) >= MUCH;
    if !is_much || seen_code::any_named(diagnosis, &FUSED_LOSSES) {
        return None;
    }
    let of_transformers = seen_code::any_named(diagnosis, &["transformers/models/"]);
    let remedy = match is_training(diagnosis) || seen_code::any_named(diagnosis, &LOSSES) {
        true => fused_loss(diagnosis, of_transformers),
        false if of_transformers => Remedy::example(
            "model(..., logits_to_keep=1)",
            "compute the logits of the last token only, if no other is needed",
        ),
        false => return None,
    };
    Some(match diagnosis.peak_of(Category::Logits) {
        Some(logits) => remedy.freeing(logits),
        None => remedy,
    })
}

fn fused_loss(diagnosis: &Diagnosis<'_>, of_transformers: bool) -> Remedy {
    let what = "do not make all logits at once: use a fused or chunked cross-entropy, such as Liger's, if \
                a linear layer makes them";
    if seen_code::any_named(diagnosis, &["transformers/trainer.py"]) {
        return Remedy::example("TrainingArguments(..., use_liger_kernel=True)", what);
    }
    if of_transformers {
        return Remedy::example("AutoLigerKernelForCausalLM.from_pretrained(...)", what);
    }
    Remedy::example(
        "torch.nn.functional.linear_cross_entropy(hidden, head.weight, targets, \
         options=torch.nn.LinearCrossEntropyOptions())",
        format!("{what}; newer versions of PyTorch have one too"),
    )
}

fn smaller_batch(diagnosis: &Diagnosis<'_>) -> Remedy {
    let mut batch = Remedy::advice(
        "lower the batch size or the sequence length: activations shrink in proportion",
    );
    let kinds = [Category::Activations, Category::Logits];
    let shrinks: Bytes = kinds.into_iter().filter_map(|kind| diagnosis.peak_of(kind)).sum();
    if shrinks > Bytes::ZERO {
        batch = batch.freeing(Bytes(shrinks.0 / 2));
        batch.what.push_str("; half the batch frees about half of them");
    }
    if is_training(diagnosis) {
        batch.what.push_str("; gradient accumulation keeps the effective batch");
    }
    batch
}

/// Returns how this program recomputes activations: in the words of its library, or of PyTorch for plain modules.
fn checkpointing(diagnosis: &Diagnosis<'_>) -> Remedy {
    let checkpointing = library_frames::checkpointing(diagnosis).unwrap_or_else(|| {
        Remedy::example(
            "torch.utils.checkpoint.checkpoint(block, x, use_reentrant=False)",
            of_modules(diagnosis),
        )
    });
    match diagnosis.peak_of(Category::Activations) {
        Some(activations) => checkpointing.freeing(Bytes(activations.0 / 2)),
        None => checkpointing,
    }
}

/// Returns what recomputation does. A message without a traceback may be of any model.
fn of_modules(diagnosis: &Diagnosis<'_>) -> &'static str {
    match seen_code::any_frame(diagnosis, |_| true) {
        true => {
            "in training, recompute the activations of a block in backward instead of keeping them"
        }
        false => {
            "in training, recompute the activations of a block in backward instead of keeping them \
             (Hugging Face models: model.gradient_checkpointing_enable())"
        }
    }
}

/// Nothing may tell the type of the weights: the person knows it.
fn mixed_precision() -> Remedy {
    Remedy::example(
        "with torch.autocast(\"cuda\", dtype=torch.bfloat16):",
        "use mixed precision, if the weights are not in bf16 yet: activations take half the bytes",
    )
}
