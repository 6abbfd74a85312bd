//! Whether a run computes in 16 bits already. A tensor's type is not recorded, but some code runs only then.

use whyoom_memory::{Space, Usage};
use whyoom_trace::{Bytes, FrameText, StackId};

use crate::{diagnosis::Diagnosis, seen_code};

/// Tensors of this size are no positions.
const LARGE: Bytes = Bytes::MIB;
/// Stacks beyond these tell nothing new.
const MANY_STACKS: usize = 1024;

/// Words of a command that ask for 16 bits, and values that take it back.
const HALF: [&str; 4] = ["bf16", "fp16", "bfloat16", "float16"];
const OFF: [&str; 4] = ["false", "no", "0", "none"];

/// Whether anything shows that weights or activations are in bf16 or fp16. If not, they may be.
pub(crate) fn is_half(diagnosis: &Diagnosis<'_>) -> bool {
    seen_code::any_frame(diagnosis, is_half_frame)
        || copies_logits(diagnosis)
        || casts_in_forward(diagnosis)
        || diagnosis.command().is_some_and(asks_for_half)
}

fn is_half_frame(frame: &FrameText<'_>) -> bool {
    let name = frame.function.rsplit('.').next().unwrap_or(frame.function);
    let converts = ["bfloat16", "half"].contains(&name);
    frame.function.contains("at::autocast::cached_cast")
        // Backward of a change of type: of weights, activations and loss in fp32 there is none.
        || frame.function.contains("ToCopyBackward")
        || converts && frame.file.contains("torch/nn/modules/module.py")
        // Accelerate wraps a model's forward so where mixed precision is on.
        || name == "forward" && frame.file.contains("accelerate/utils/operations.py")
}

/// Whether the failed request is the copy of the logits in fp32 that losses of transformers make: of logits in
/// fp32 there is none.
fn copies_logits(diagnosis: &Diagnosis<'_>) -> bool {
    let asked = diagnosis.incident.map_or(StackId(0), |incident| incident.stack);
    let innermost = diagnosis.tables.frames(asked).find(FrameText::is_python);
    innermost.is_some_and(|frame| {
        frame.file.contains("transformers/loss/") && frame.function.contains("ForCausalLMLoss")
    })
}

/// Whether a model of transformers changes the type of large tensors in its forward, as its norms do of what is not in
/// fp32. Of a model in fp32 only positions change theirs, which are small.
fn casts_in_forward(diagnosis: &Diagnosis<'_>) -> bool {
    let peak = diagnosis.space.map(Space::peak_by_stack).unwrap_or_default();
    let is_large = |usage: &Usage| usage.bytes.0 / usage.blocks.max(1) >= LARGE.0;
    let mut large = peak.iter().filter(|(_, usage)| is_large(usage)).take(MANY_STACKS);
    large.any(|(stack, _)| {
        let tables = diagnosis.tables;
        let innermost = tables.frames(*stack).find(FrameText::is_python);
        innermost.is_some_and(|frame| frame.file.contains("transformers/models/"))
            && tables.frames(*stack).any(|frame| frame.function.contains("_to_copy"))
    })
}

/// Whether a command's words, with zeros between them, ask for 16 bits.
fn asks_for_half(command: &str) -> bool {
    let mut words = command.split('\0').peekable();
    while let Some(word) = words.next() {
        let (name, own) = word.split_once('=').unzip();
        let value = own.or_else(|| words.peek().copied()).unwrap_or_default();
        let named = HALF.iter().any(|half| name.unwrap_or(word).ends_with(half));
        let is_on = !OFF.contains(&value.to_lowercase().as_str());
        let is_off = word.starts_with("--no");
        if word.starts_with("--") && named && is_on && !is_off
            || own.is_some_and(|own| HALF.contains(&own))
        {
            return true;
        }
        if word.starts_with("--") && own.is_none() && HALF.contains(&value) {
            return true;
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_may_ask_for_half_precision() {
        for command in [
            "python\0train.py\0--bf16",
            "python\0train.py\0--bf16\0True",
            "python\0train.py\0--mixed_precision=fp16",
            "torchrun\0train.py\0--dtype\0bfloat16",
        ] {
            assert!(asks_for_half(command), "{command}");
        }
        for command in [
            "python\0train.py\0--batch\x0064",
            "python\0train.py\0--bf16\0False",
            "python\0train.py\0--bf16=no",
            "python\0bf16.py\0--mixed_precision\0no",
        ] {
            assert!(!asks_for_half(command), "{command}");
        }
    }
}
