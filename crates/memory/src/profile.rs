//! What a stack tells, worked out once for each stack.

use std::hash::{DefaultHasher, Hash, Hasher};

use whyoom_trace::{FrameText, StackId, Tables};

use crate::{call_site::autograd_node, category::Category, history::CallSites};

/// What the program was doing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Phase {
    /// Inside a module's call.
    Forward,
    /// Inside autograd's engine.
    Backward,
    /// Inside an optimizer.
    Optimizer,
    /// Elsewhere, or unknown.
    Other,
}

/// What a stack tells.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct StackProfile {
    pub(crate) category: Category,
    pub(crate) phase: Phase,
    /// In the outermost module's `forward`: a number for the function, and the line it is at.
    pub(crate) root: Option<(u64, u32)>,
    /// A number for the lines of Python that lead to it.
    pub(crate) python: u64,
    /// Whether it is part of what is made once: by the author's names, or because it comes from the host.
    pub(crate) sets_up: bool,
}

/// The profiles of all stacks seen so far, and the places of those that were asked for.
#[derive(Debug, Default)]
pub(crate) struct Profiles {
    stacks: Vec<StackProfile>,
    pub(crate) call_sites: CallSites,
}

impl Profiles {
    pub(crate) fn of(&mut self, stack: StackId, tables: &Tables) -> StackProfile {
        while self.stacks.len() <= stack.0 as usize && self.stacks.len() < tables.stack_count() {
            let next = StackId(self.stacks.len() as u32);
            self.stacks.push(StackProfile::read(next, tables));
        }
        self.known(stack)
    }

    /// The profile of a stack that was seen before.
    pub(crate) fn known(&self, stack: StackId) -> StackProfile {
        let unknown = StackProfile {
            category: Category::Unattributed,
            phase: Phase::Other,
            root: None,
            python: 0,
            sets_up: false,
        };
        self.stacks.get(stack.0 as usize).copied().unwrap_or(unknown)
    }
}

/// What single frames say of the stack they are in.
#[derive(Default)]
struct Signs {
    /// Forward or an optimizer, whichever is further in: a closure that an optimizer's step calls is
    /// forward's.
    innermost: Option<Phase>,
    backward: bool,
    module_setup: bool,
    workspace: bool,
    python: bool,
    sets_up: bool,
}

impl StackProfile {
    fn read(stack: StackId, tables: &Tables) -> Self {
        let mut signs = Signs::default();
        let mut root = None;
        let mut python = DefaultHasher::new();
        for frame in tables.frames(stack) {
            signs.note(&frame);
            if frame.is_python() {
                (function_number(&frame), frame.line).hash(&mut python);
            }
            if is_forward(&frame) {
                root = Some((function_number(&frame), frame.line));
            }
        }
        let (category, phase) = (signs.category(), signs.phase());
        Self { category, phase, root, python: python.finish(), sets_up: signs.sets_up }
    }
}

fn is_forward(frame: &FrameText<'_>) -> bool {
    frame.is_python() && plain_name(frame.function) == "forward"
}

/// A function's name without the class it is in: recordings name `Block.forward`, snapshots `forward`.
fn plain_name(function: &str) -> &str {
    function.rsplit('.').next().unwrap_or(function)
}

/// Whether a function is called what people call those that make what is needed all the time.
fn names_set_up(function: &str) -> bool {
    const NAMES: [&str; 19] = [
        "load",
        "init",
        "setup",
        "set_up",
        "alloc",
        "build",
        "create",
        "prepare",
        "reserve",
        "read",
        "restore",
        "fetch",
        "convert",
        "quant",
        "shard",
        "expand",
        "prefill",
        "materialize",
        "warm",
    ];
    // A comprehension makes all of a collection at once: layers, caches, buffers.
    const COMPREHENSIONS: [&str; 4] = ["<listcomp>", "<dictcomp>", "<setcomp>", "<genexpr>"];
    let name = function.trim_start_matches('_');
    NAMES.iter().any(|beginning| name.starts_with(beginning)) || COMPREHENSIONS.contains(&name)
}

/// A number that tells one function from another.
fn function_number(frame: &FrameText<'_>) -> u64 {
    let mut hasher = DefaultHasher::new();
    (frame.file, frame.function).hash(&mut hasher);
    hasher.finish()
}

impl Signs {
    fn note(&mut self, frame: &FrameText<'_>) {
        if frame.is_python() {
            self.note_python(frame);
        } else {
            self.note_native(frame);
        }
    }

    fn note_python(&mut self, frame: &FrameText<'_>) {
        self.python = true;
        self.sets_up |= names_set_up(plain_name(frame.function));
        let file = frame.file.rsplit('/').next().unwrap_or(frame.file);
        let in_optimizer = frame.file.contains("/torch/optim/") || file.contains("optim");
        let in_module = frame.file.contains("torch/nn/modules/module.py");
        match plain_name(frame.function) {
            _ if in_optimizer => self.innermost = self.innermost.or(Some(Phase::Optimizer)),
            "forward" => self.innermost = self.innermost.or(Some(Phase::Forward)),
            "_call_impl" if in_module => self.innermost = self.innermost.or(Some(Phase::Forward)),
            "__init__"
            | "reset_parameters"
            | "load_state_dict"
            | "_load_from_state_dict"
            | "from_pretrained" => self.module_setup = true,
            "_apply" | "to" | "cuda" | "convert" | "half" | "bfloat16" if in_module => {
                self.module_setup = true;
            }
            "backward"
                if frame.file.contains("torch/_tensor.py")
                    || frame.file.contains("torch/autograd/") =>
            {
                self.backward = true;
            }
            _ => {}
        }
    }

    fn note_native(&mut self, frame: &FrameText<'_>) {
        let function = frame.function;
        // Names may come without their namespaces.
        let name = function.strip_prefix("torch::autograd::").unwrap_or(function);
        let in_torch = name.len() < function.len() || frame.file.contains("libtorch");
        self.backward |= in_torch
            && (name.starts_with("Engine::") || name.starts_with("PyNode::apply"))
            || autograd_node(function).is_some();
        // A copy to another device or kind.
        self.sets_up |= function.contains("_to_copy");
        let names_workspace = ["Workspace", "BlasHandle", "BlasLtHandle", "cudnn", "Cudnn"];
        self.workspace |= names_workspace.iter().any(|name| function.contains(name))
            && !function.contains("cudnn_batch_norm")
            && !function.contains("cudnn_convolution");
    }

    fn phase(&self) -> Phase {
        if self.backward { Phase::Backward } else { self.innermost.unwrap_or(Phase::Other) }
    }

    /// The first sign that decides. What backward recomputes under checkpointing is backward's.
    fn category(&self) -> Category {
        if self.workspace {
            return Category::Workspaces;
        }
        match self.phase() {
            Phase::Backward => Category::Gradients,
            Phase::Optimizer => Category::OptimizerState,
            Phase::Forward => Category::Activations,
            Phase::Other if self.module_setup => Category::Parameters,
            Phase::Other if self.python => Category::Inputs,
            Phase::Other => Category::Unattributed,
        }
    }
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
            (&[("_init_group", "/lib/torch/optim/adamw.py")], Category::OptimizerState),
            (&[("step", "/home/me/optimizer.py")], Category::OptimizerState),
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

    #[test]
    fn the_root_is_the_outermost_forward() {
        let inner = profile(&[("forward", "a.py"), ("forward", "b.py"), ("main", "c.py")]);
        let outer = profile(&[("forward", "b.py"), ("main", "c.py")]);
        assert!(inner.root.is_some());
        assert_eq!(inner.root, outer.root);
        assert_eq!(inner.phase, Phase::Forward);
    }
}
