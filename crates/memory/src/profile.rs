//! What a stack tells, worked out once for each stack.

use std::hash::{DefaultHasher, Hash, Hasher};

use whyoom_trace::{FrameId, FrameText, ModuleRole, StackId, Tables};

use crate::{
    category::Category,
    history::CallSites,
    signs::{FrameSigns, Phase, Signs, plain_name},
};

/// What a stack tells.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct StackProfile {
    pub(crate) category: Category,
    /// Whether that follows only from when it was made.
    pub(crate) by_phase: bool,
    pub(crate) phase: Phase,
    /// In the outermost module's `forward`: a number for the function, and the line it is at.
    pub(crate) root: Option<(u64, u32)>,
    /// A number for the lines of Python that lead to it.
    pub(crate) python: u64,
    /// Whether it is part of what is made once: by the author's names, or because it comes from the host.
    pub(crate) sets_up: bool,
    /// Whether the program itself made it, outside any module, optimizer and backward.
    pub(crate) is_outside: bool,
}

/// The profiles of all stacks seen so far, and the places of those that were asked for.
#[derive(Debug, Default)]
pub(crate) struct Profiles {
    stacks: Vec<StackProfile>,
    frames: FrameProfiles,
    pub(crate) call_sites: CallSites,
}

impl Profiles {
    pub(crate) fn of(&mut self, stack: StackId, tables: &Tables) -> StackProfile {
        while self.stacks.len() <= stack.0 as usize && self.stacks.len() < tables.stack_count() {
            let next = StackId(self.stacks.len() as u32);
            self.stacks.push(StackProfile::read(next, &mut self.frames, tables));
        }
        self.known(stack)
    }

    /// The profile of a stack that was seen before.
    pub(crate) fn known(&self, stack: StackId) -> StackProfile {
        let unknown = StackProfile {
            category: Category::Unattributed,
            by_phase: false,
            phase: Phase::Other,
            root: None,
            python: 0,
            sets_up: false,
            is_outside: false,
        };
        self.stacks.get(stack.0 as usize).copied().unwrap_or(unknown)
    }
}

/// What a frame tells, worked out once for each frame.
#[derive(Debug, Clone, Copy)]
struct FrameProfile {
    signs: FrameSigns,
    /// Of Python: a number for the function, and the line it is at.
    python: Option<(u64, u32)>,
    is_forward: bool,
}

impl FrameProfile {
    fn read(frame: &FrameText<'_>) -> Self {
        Self {
            signs: FrameSigns::of(frame),
            python: frame.is_python().then(|| (function_number(frame), frame.line)),
            is_forward: is_forward(frame),
        }
    }

    /// The same, of a module's `forward`.
    fn root(&self) -> Option<(u64, u32)> {
        self.python.filter(|_| self.is_forward)
    }
}

/// The profiles of the frames that were met, by their ids, which are dense. Nothing was asked for yet, or it is no frame.
#[derive(Debug, Default)]
struct FrameProfiles(Vec<Option<Option<FrameProfile>>>);

impl FrameProfiles {
    fn of(&mut self, frame: FrameId, tables: &Tables) -> Option<FrameProfile> {
        let index = frame.0 as usize;
        if index >= self.0.len() {
            self.0.resize(index + 1, None);
        }
        let read = || tables.frame_of(frame).as_ref().map(FrameProfile::read);
        *self.0[index].get_or_insert_with(read)
    }
}

impl StackProfile {
    fn read(stack: StackId, frames: &mut FrameProfiles, tables: &Tables) -> Self {
        let mut signs = Signs::default();
        let mut root = None;
        let mut python = DefaultHasher::new();
        for &frame in tables.frame_ids(stack) {
            let Some(frame) = frames.of(frame, tables) else { continue };
            signs.note(&frame.signs);
            if let Some(line) = frame.python {
                line.hash(&mut python);
            }
            root = frame.root().or(root);
        }
        let role = tables.module(stack).map(|module| module.role);
        if let Some(ModuleRole::Backward | ModuleRole::Recompute) = role {
            signs.in_backward_of_module();
        }
        Self {
            category: role.and_then(told).unwrap_or_else(|| signs.category()),
            by_phase: role.and_then(told).is_none() && !signs.is_known(),
            phase: signs.phase(),
            root,
            python: python.finish(),
            sets_up: signs.sets_up,
            is_outside: signs.is_outside(),
        }
    }
}

/// What a module or an optimizer told.
fn told(role: ModuleRole) -> Option<Category> {
    match role {
        ModuleRole::Parameter | ModuleRole::Buffer => Some(Category::Parameters),
        ModuleRole::Gradient => Some(Category::Gradients),
        ModuleRole::OptimizerState => Some(Category::OptimizerState),
        ModuleRole::Forward | ModuleRole::Backward | ModuleRole::Recompute => None,
    }
}

fn is_forward(frame: &FrameText<'_>) -> bool {
    frame.is_python() && plain_name(frame.function) == "forward"
}

/// A number that tells one function from another.
fn function_number(frame: &FrameText<'_>) -> u64 {
    let mut hasher = DefaultHasher::new();
    (frame.file, frame.function).hash(&mut hasher);
    hasher.finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The profile of a stack given as (function, file), innermost first.
    fn profile(frames: &[(&str, &str)]) -> StackProfile {
        let mut tables = Tables::default();
        let ids: Vec<_> =
            frames.iter().map(|(function, file)| tables.frame_text(function, file, 1)).collect();
        let stack = tables.stack(&ids);
        Profiles::default().of(stack, &tables)
    }

    const MODULE: &str = "/lib/site-packages/torch/nn/modules/module.py";
    const COMPILED: &str = "/lib/torch/_functorch/_aot_autograd/runtime_wrappers.py";

    #[test]
    fn frames_tell_what_a_block_is() {
        let cases: &[(&[(&str, &str)], Category)] = &[
            (&[("at::empty", "??"), ("__init__", "/home/me/model.py")], Category::Parameters),
            (&[("convert", MODULE), ("_apply", MODULE), ("to", MODULE)], Category::Parameters),
            (&[("forward", "/home/me/model.py"), ("_call_impl", MODULE)], Category::Activations),
            (&[("Block.forward", "/home/me/model.py")], Category::Activations),
            (&[("Module._apply", MODULE), ("Module.to", MODULE)], Category::Parameters),
            (
                &[
                    ("torch::autograd::generated::MulBackward0::apply(x)", "??"),
                    ("torch::autograd::Engine::thread_main(y)", "??"),
                ],
                Category::Gradients,
            ),
            (
                &[("at::mm", "libtorch_cpu.so"), ("MmBackward0::apply", "libtorch_cpu.so")],
                Category::Gradients,
            ),
            (
                &[
                    ("at::native::mm", "libtorch_cuda.so"),
                    ("forward", "/home/me/model.py"),
                    ("_call_impl", MODULE),
                ],
                Category::Activations,
            ),
            (
                &[
                    ("LlamaRMSNorm.forward", "/lib/transformers/models/llama/modeling_llama.py"),
                    ("Module._call_impl", MODULE),
                    (
                        "_checkpoint_hook.__init__.<locals>.unpack_hook",
                        "/lib/torch/utils/checkpoint.py",
                    ),
                ],
                Category::Gradients,
            ),
            (&[("_init_group", "/lib/torch/optim/adamw.py")], Category::OptimizerState),
            (&[("step", "/home/me/optimizer.py")], Category::OptimizerState),
            (&[("<module>", "/home/me/optimized_training.py")], Category::Inputs),
            (
                &[("forward", COMPILED), ("step", "/lib/torchao/optim/adam.py")],
                Category::OptimizerState,
            ),
            (&[("forward", COMPILED), ("loss", "/home/me/train.py")], Category::Activations),
            (
                &[("forward", "/home/me/m.py"), ("step", "/lib/torch/optim/lbfgs.py")],
                Category::Activations,
            ),
            (
                &[("at::cuda::getChosenWorkspaceSize()", "??"), ("forward", "/home/me/m.py")],
                Category::Workspaces,
            ),
            (&[("load", "/home/me/train.py"), ("main", "/home/me/train.py")], Category::Inputs),
            (&[("__clone", "??")], Category::Unattributed),
            (&[], Category::Unattributed),
        ];
        for (frames, expected) in cases {
            assert_eq!(profile(frames).category, *expected, "{frames:?}");
        }
    }

    const FUNCTIONAL: &str = "/lib/site-packages/torch/nn/functional.py";
    const LINEAR: &str = "/lib/site-packages/torch/nn/modules/linear.py";
    const LLAMA: &str = "/lib/site-packages/transformers/models/llama/modeling_llama.py";
    const LOSS: &str = "/lib/site-packages/transformers/loss/loss_utils.py";
    const CACHE: &str = "/lib/site-packages/transformers/cache_utils.py";
    const COLLECTIVES: &str =
        "/lib/site-packages/torch/distributed/fsdp/_fully_shard/_fsdp_collectives.py";
    const GROUP: &str =
        "/lib/site-packages/torch/distributed/fsdp/_fully_shard/_fsdp_param_group.py";
    const SCRIPT: &str = "/home/me/train.py";

    fn check(cases: &[(&[(&str, &str)], Category)]) {
        for (frames, expected) in cases {
            assert_eq!(profile(frames).category, *expected, "{frames:?}");
        }
    }

    #[test]
    fn scores_and_their_loss_are_logits() {
        check(&[
            (&[("cross_entropy", FUNCTIONAL), ("<module>", SCRIPT)], Category::Logits),
            // The copy in fp32, inside the model's forward.
            (&[("ForCausalLMLoss", LOSS), ("forward", LLAMA)], Category::Logits),
            (&[("forward", LINEAR), ("_call_impl", MODULE), ("forward", LLAMA)], Category::Logits),
            (&[("Linear.forward", LINEAR), ("LlamaForCausalLM.forward", LLAMA)], Category::Logits),
            (&[("forward", LINEAR), ("forward", LLAMA), ("forward", LLAMA)], Category::Activations),
            (
                &[
                    ("torch::autograd::generated::NllLossBackward0::apply(x)", "libtorch_cpu.so"),
                    ("torch::autograd::Engine::thread_main(y)", "libtorch_cpu.so"),
                ],
                Category::Logits,
            ),
            // A function of the program's own that is named after the loss, and calls the model.
            (&[("forward", "/home/me/model.py"), ("cross_entropy_step", SCRIPT)], {
                Category::Activations
            }),
        ]);
    }

    #[test]
    fn a_loss_outside_any_module_still_counts_as_the_programs_own() {
        let loss = profile(&[("cross_entropy", FUNCTIONAL), ("main", SCRIPT)]);
        assert!(loss.is_outside && loss.phase == Phase::Other);
        assert!(!profile(&[("cross_entropy", FUNCTIONAL), ("forward", LLAMA)]).is_outside);
    }

    #[test]
    fn keys_and_values_are_the_kv_cache() {
        let runner = "/lib/site-packages/vllm/v1/worker/gpu_model_runner.py";
        check(&[
            (&[("update", CACHE), ("forward", LLAMA), ("generate", SCRIPT)], Category::KvCache),
            (
                &[("_allocate_kv_cache_tensors", runner), ("__init__", "/lib/vllm/v1/engine.py")],
                Category::KvCache,
            ),
            (&[("forward", LLAMA), ("decode_with_kv_cache", SCRIPT)], Category::Activations),
            (&[("CachedAttention.allocate", SCRIPT), ("main", SCRIPT)], Category::KvCache),
            (
                &[("CachedAttention._attend", SCRIPT), ("CachedAttention.forward", SCRIPT)],
                Category::Activations,
            ),
        ]);
    }

    #[test]
    fn sharded_training_has_gradients_and_parameters() {
        let zero = "/lib/site-packages/deepspeed/runtime/zero/stage_1_and_2.py";
        let backward =
            [("allocate", COLLECTIVES), ("foreach_reduce", COLLECTIVES), ("post_backward", GROUP)];
        let gathered = [("foreach_all_gather", COLLECTIVES), ("unshard", GROUP), ("main", SCRIPT)];
        check(&[
            (&backward, Category::Gradients),
            (&gathered, Category::Parameters),
            (&[("copy_grads_in_partition", zero), ("main", SCRIPT)], Category::Gradients),
            (
                &[("_ddp_init_helper", "/lib/torch/nn/parallel/distributed.py"), ("main", SCRIPT)],
                Category::Gradients,
            ),
        ]);
    }

    #[test]
    fn quantized_weights_adapters_and_states_have_their_kind() {
        let weights = "/lib/site-packages/bitsandbytes/nn/modules.py";
        let adapter = "/lib/site-packages/peft/tuners/lora/layer.py";
        check(&[
            (&[("_quantize", weights), ("main", SCRIPT)], Category::Parameters),
            (&[("update_layer", adapter), ("main", SCRIPT)], Category::Parameters),
            (
                &[("_new_buffer", "/lib/torchao/optim/adam.py"), ("main", SCRIPT)],
                Category::OptimizerState,
            ),
            (
                &[("init_state", "/lib/bitsandbytes/optim/ademamix.py"), ("main", SCRIPT)],
                Category::OptimizerState,
            ),
        ]);
    }

    #[test]
    fn a_function_of_autograd_in_python_has_a_backward() {
        let function = "/lib/site-packages/torch/autograd/function.py";
        let own = "/home/me/scan.py";
        let wrapper = "/lib/site-packages/liger_kernel/ops/utils.py";
        let backward = profile(&[("backward", own), ("wrapper", wrapper), ("apply", function)]);
        assert_eq!((backward.phase, backward.category), (Phase::Backward, Category::Gradients));
        assert_eq!(profile(&[("forward", own), ("apply", function)]).phase, Phase::Forward);
    }

    #[test]
    fn the_root_is_the_outermost_forward() {
        let inner = profile(&[("forward", "a.py"), ("forward", "b.py"), ("main", "c.py")]);
        let outer = profile(&[("forward", "b.py"), ("main", "c.py")]);
        assert!(inner.root.is_some());
        assert_eq!(inner.root, outer.root);
        assert_eq!(inner.phase, Phase::Forward);
    }
}
