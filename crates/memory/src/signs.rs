//! What the frames of one stack say, each for itself.

use serde::{Deserialize, Serialize};
use whyoom_trace::FrameText;

use crate::{
    call_site::autograd_node,
    category::Category,
    known_code::{is_optimizer, makes},
};

/// What the program was doing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
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

impl Phase {
    /// All of them, in the order of an iteration.
    pub const ALL: [Self; 4] = [Self::Forward, Self::Backward, Self::Optimizer, Self::Other];

    /// The word for it.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Forward => "forward",
            Self::Backward => "backward",
            Self::Optimizer => "optimizer step",
            Self::Other => "outside the model",
        }
    }
}

/// What single frames say of the stack they are in.
#[derive(Default)]
pub(crate) struct Signs {
    /// Forward or an optimizer, whichever is further in: a closure that an optimizer's step calls is
    /// forward's.
    innermost: Option<Phase>,
    /// Code that torch.compile made is called by functions of these names: a model's, or an optimizer's.
    compiled: bool,
    /// What the innermost frame of known code makes.
    known: Option<Category>,
    head: Head,
    backward: bool,
    /// A frame further in is a `backward` in Python.
    in_backward: bool,
    module_setup: bool,
    workspace: bool,
    python: bool,
    pub(crate) sets_up: bool,
}

/// The last layer of a Hugging Face model: the model's own `forward`, with no other of its layers inside, calls it.
#[derive(Default)]
struct Head {
    in_linear: bool,
    /// Its weight is copied to another type, which autocast keeps.
    casts: bool,
    forwards: u32,
}

impl Head {
    fn note(&mut self, file: &str, is_innermost: bool) {
        self.in_linear |= is_innermost && file.contains("torch/nn/modules/linear.py");
        self.forwards += u32::from(file.contains("transformers/models/"));
    }

    fn makes_logits(&self) -> bool {
        self.in_linear && !self.casts && self.forwards == 1
    }
}

/// A function's name without the class it is in: recordings name `Block.forward`, snapshots `forward`.
pub(crate) fn plain_name(function: &str) -> &str {
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

impl Signs {
    pub(crate) fn note(&mut self, frame: &FrameText<'_>) {
        // What a module makes is not what the function that called the module is named after.
        if self.innermost.is_none() {
            self.known = self.known.or_else(|| makes(frame));
        }
        if frame.is_python() {
            self.note_python(frame);
        } else {
            self.note_native(frame);
        }
    }

    fn note_python(&mut self, frame: &FrameText<'_>) {
        self.python = true;
        self.sets_up |= names_set_up(plain_name(frame.function));
        let in_module = frame.file.contains("torch/nn/modules/module.py");
        let name = plain_name(frame.function);
        self.in_backward |= name == "backward";
        match name {
            _ if is_optimizer(frame) => {
                self.innermost = self.innermost.or(Some(Phase::Optimizer));
            }
            "forward" if frame.file.contains("torch/_functorch/") => self.compiled = true,
            "forward" => {
                self.head.note(frame.file, self.innermost.is_none());
                self.innermost = self.innermost.or(Some(Phase::Forward));
            }
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
            // What a checkpoint did not keep, backward computes again. It may run in a thread of autograd's, whose
            // stack begins here.
            "unpack_hook" | "recompute_fn" | "backward"
                if frame.file.contains("torch/utils/checkpoint.py") =>
            {
                self.backward = true;
            }
            // Hooks that autograd calls, from the same threads.
            "_pre_backward" | "_post_backward" | "_root_post_backward_final_callback"
                if frame.file.contains("fsdp") =>
            {
                self.backward = true;
            }
            // A function of autograd that is written in Python.
            "apply" if self.in_backward && frame.file.contains("torch/autograd/") => {
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
        self.head.casts |= function.contains("autocast::cached_cast");
        // A copy to another device or kind.
        self.sets_up |= function.contains("_to_copy");
        let names_workspace = ["Workspace", "BlasHandle", "BlasLtHandle", "cudnn", "Cudnn"];
        // What recurrent layers, convolutions and normalizations make of cuDNN's is kept for backward.
        let layers =
            ["cudnn_batch_norm", "cudnn_convolution", "cudnn_rnn", "lstm_cudnn", "gru_cudnn"];
        self.workspace |= names_workspace.iter().any(|name| function.contains(name))
            && !layers.iter().any(|layer| function.contains(layer))
            && !(function.contains("rnn_") && function.ends_with("_cudnn"));
    }

    /// A module's backward was under way, whatever the frames say.
    pub(crate) fn in_backward_of_module(&mut self) {
        self.backward = true;
    }

    pub(crate) fn phase(&self) -> Phase {
        let compiled = self.compiled.then_some(Phase::Forward);
        match self.backward {
            true => Phase::Backward,
            false => self.innermost.or(compiled).unwrap_or(Phase::Other),
        }
    }

    /// Whether code that is known made it, whenever that was.
    pub(crate) fn is_known(&self) -> bool {
        self.workspace || self.known.is_some()
    }

    /// Whether only the program's own functions lead there.
    pub(crate) fn is_outside(&self) -> bool {
        let in_library_work = self.workspace || self.module_setup;
        self.python && !in_library_work && self.phase() == Phase::Other
    }

    /// The first sign that decides. What backward recomputes under checkpointing is backward's.
    pub(crate) fn category(&self) -> Category {
        if self.workspace {
            return Category::Workspaces;
        }
        if let Some(known) = self.known {
            return known;
        }
        match self.phase() {
            Phase::Backward => Category::Gradients,
            Phase::Optimizer => Category::OptimizerState,
            Phase::Forward if self.head.makes_logits() => Category::Logits,
            Phase::Forward => Category::Activations,
            Phase::Other if self.module_setup => Category::Parameters,
            Phase::Other if self.python => Category::Inputs,
            Phase::Other => Category::Unattributed,
        }
    }
}
