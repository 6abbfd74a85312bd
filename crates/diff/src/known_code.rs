//! Code that decides about memory wherever it runs: one table, a row for each. Which of it is on the stacks of one run
//! only is among what differs.

use std::collections::BTreeSet;

use whyoom_memory::{Category, Model, Phase};
use whyoom_trace::{FrameText, StackId, Tables};

/// Code whose presence on stacks decides about memory.
struct KnownCode {
    /// What people call it.
    name: &'static str,
    /// A part of its files' paths. Nothing: compiled code.
    file: &'static str,
    /// A part of its functions' names. Nothing: any function.
    function: &'static str,
    /// What it decides about.
    kinds: &'static [Category],
}

const fn row(
    name: &'static str,
    file: &'static str,
    function: &'static str,
    kinds: &'static [Category],
) -> KnownCode {
    KnownCode { name, file, function, kinds }
}

/// That backward ran at all.
pub(crate) const BACKWARD: &str = "backward pass";
const OF_TRAINING: &[Category] =
    &[Category::Activations, Category::Gradients, Category::OptimizerState, Category::Unattributed];
const OF_BACKWARD: &[Category] =
    &[Category::Activations, Category::Gradients, Category::Temporaries, Category::Logits];
const SHARDED: &[Category] =
    &[Category::Parameters, Category::Gradients, Category::OptimizerState, Category::Temporaries];
const CAST: &[Category] =
    &[Category::Activations, Category::Logits, Category::Gradients, Category::Temporaries];

const KNOWN_CODE: &[KnownCode] = &[
    row("gradient checkpointing", "torch/utils/checkpoint.py", "", OF_BACKWARD),
    row("FSDP", "torch/distributed/fsdp/", "", SHARDED),
    row("ZeroRedundancyOptimizer", "torch/distributed/optim/zero_redundancy", "", SHARDED),
    row("DeepSpeed ZeRO", "deepspeed/runtime/zero/", "", SHARDED),
    row("DistributedDataParallel", "torch/nn/parallel/distributed.py", "", SHARDED),
    row("autocast", "torch/amp/autocast_mode.py", "", CAST),
    row("autocast", "", "autocast::", CAST),
    row("torch.compile", "torch/_inductor/", "", OF_BACKWARD),
    row("torch.compile", "torch/_functorch/", "", OF_BACKWARD),
    row("PEFT", "/peft/", "", SHARDED),
    row("bitsandbytes", "/bitsandbytes/", "", &[Category::Parameters, Category::OptimizerState]),
];

impl KnownCode {
    fn fits(&self, frame: &FrameText<'_>) -> bool {
        match self.file {
            "" => !frame.is_python() && frame.function.contains(self.function),
            file => frame.file.contains(file) && frame.function.contains(self.function),
        }
    }
}

/// The names of known code on any stack.
pub(crate) fn known_code(model: &Model, tables: &Tables) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    let stacks = (0..tables.stack_count()).filter_map(|stack| u32::try_from(stack).ok());
    for stack in stacks.map(StackId) {
        if model.phase(stack) == Phase::Backward {
            found.insert(BACKWARD);
        }
        for frame in tables.frames(stack) {
            found.extend(KNOWN_CODE.iter().filter(|code| code.fits(&frame)).map(|code| code.name));
        }
    }
    found.into_iter().map(str::to_owned).collect()
}

/// What known code decides about.
pub(crate) fn kinds_of(name: &str) -> &'static [Category] {
    let code = KNOWN_CODE.iter().find(|code| code.name == name);
    code.map_or(OF_TRAINING, |code| code.kinds)
}
