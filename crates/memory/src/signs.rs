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

/// What a frame of Python says by its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum PythonSign {
    Optimizer,
    Compiled,
    /// In the layer that makes logits, or of a Hugging Face model.
    Forward {
        linear: bool,
        transformers: bool,
    },
    ModuleCall,
    ModuleSetup,
    Backward,
    /// A function of autograd, of which a frame further in tells the way.
    Autograd,
    None,
}

/// What a frame of compiled code says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct NativeSigns {
    backward: bool,
    casts: bool,
    workspace: bool,
}

/// What a frame says by itself, whatever stack it is in. It is worked out once: a few thousand frames make up all stacks
/// of a run, and each lies in hundreds of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct FrameSigns {
    makes: Option<Category>,
    sets_up: bool,
    named_backward: bool,
    kind: FrameKind,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum FrameKind {
    Python(PythonSign),
    Native(NativeSigns),
}

impl FrameSigns {
    pub(crate) fn of(frame: &FrameText<'_>) -> Self {
        let makes = makes(frame);
        if !frame.is_python() {
            // A copy to another device or kind.
            let sets_up = frame.function.contains("_to_copy");
            let kind = FrameKind::Native(NativeSigns::of(frame));
            return Self { makes, sets_up, named_backward: false, kind };
        }
        let name = plain_name(frame.function);
        Self {
            makes,
            sets_up: names_set_up(name),
            named_backward: name == "backward",
            kind: FrameKind::Python(PythonSign::of(frame, name)),
        }
    }
}

impl PythonSign {
    fn of(frame: &FrameText<'_>, name: &str) -> Self {
        let in_module = frame.file.contains("torch/nn/modules/module.py");
        match name {
            _ if is_optimizer(frame) => Self::Optimizer,
            "forward" if frame.file.contains("torch/_functorch/") => Self::Compiled,
            "forward" => Self::Forward {
                linear: frame.file.contains("torch/nn/modules/linear.py"),
                transformers: frame.file.contains("transformers/models/"),
            },
            "_call_impl" if in_module => Self::ModuleCall,
            "__init__"
            | "reset_parameters"
            | "load_state_dict"
            | "_load_from_state_dict"
            | "from_pretrained" => Self::ModuleSetup,
            "_apply" | "to" | "cuda" | "convert" | "half" | "bfloat16" if in_module => {
                Self::ModuleSetup
            }
            "backward"
                if frame.file.contains("torch/_tensor.py")
                    || frame.file.contains("torch/autograd/") =>
            {
                Self::Backward
            }
            // What a checkpoint did not keep, backward computes again. It may run in a thread of autograd's, whose
            // stack begins here.
            "unpack_hook" | "recompute_fn" | "backward"
                if frame.file.contains("torch/utils/checkpoint.py") =>
            {
                Self::Backward
            }
            // Hooks that autograd calls, from the same threads.
            "_pre_backward" | "_post_backward" | "_root_post_backward_final_callback"
                if frame.file.contains("fsdp") =>
            {
                Self::Backward
            }
            // A function of autograd that is written in Python.
            "apply" if frame.file.contains("torch/autograd/") => Self::Autograd,
            _ => Self::None,
        }
    }
}

impl NativeSigns {
    fn of(frame: &FrameText<'_>) -> Self {
        let function = frame.function;
        // Names may come without their namespaces.
        let name = function.strip_prefix("torch::autograd::").unwrap_or(function);
        let in_torch = name.len() < function.len() || frame.file.contains("libtorch");
        let names_workspace = ["Workspace", "BlasHandle", "BlasLtHandle", "cudnn", "Cudnn"];
        // What recurrent layers, convolutions and normalizations make of cuDNN's is kept for backward.
        let layers =
            ["cudnn_batch_norm", "cudnn_convolution", "cudnn_rnn", "lstm_cudnn", "gru_cudnn"];
        Self {
            backward: in_torch
                && (name.starts_with("Engine::") || name.starts_with("PyNode::apply"))
                || autograd_node(function).is_some(),
            casts: function.contains("autocast::cached_cast"),
            workspace: names_workspace.iter().any(|name| function.contains(name))
                && !layers.iter().any(|layer| function.contains(layer))
                && !(function.contains("rnn_") && function.ends_with("_cudnn")),
        }
    }
}

impl Signs {
    /// Takes the next frame, from the inside out.
    pub(crate) fn note(&mut self, frame: &FrameSigns) {
        // What a module makes is not what the function that called the module is named after.
        if self.innermost.is_none() {
            self.known = self.known.or(frame.makes);
        }
        self.sets_up |= frame.sets_up;
        match frame.kind {
            FrameKind::Python(sign) => {
                self.python = true;
                self.in_backward |= frame.named_backward;
                self.note_python(sign);
            }
            FrameKind::Native(native) => {
                self.backward |= native.backward;
                self.head.casts |= native.casts;
                self.workspace |= native.workspace;
            }
        }
    }

    fn note_python(&mut self, sign: PythonSign) {
        match sign {
            PythonSign::Optimizer => self.innermost = self.innermost.or(Some(Phase::Optimizer)),
            PythonSign::Compiled => self.compiled = true,
            PythonSign::Forward { linear, transformers } => {
                self.head.in_linear |= self.innermost.is_none() && linear;
                self.head.forwards += u32::from(transformers);
                self.innermost = self.innermost.or(Some(Phase::Forward));
            }
            PythonSign::ModuleCall => self.innermost = self.innermost.or(Some(Phase::Forward)),
            PythonSign::ModuleSetup => self.module_setup = true,
            PythonSign::Backward => self.backward = true,
            PythonSign::Autograd => self.backward |= self.in_backward,
            PythonSign::None => {}
        }
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
