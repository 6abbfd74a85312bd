//! Whose code advice may contain: a person gets lines of the framework that is at hand, and of no other.

use whyoom_trace::Software;

use crate::{
    diagnosis::Diagnosis,
    finding::{Finding, Remedy},
    fixes,
    library_frames::{self, Phase},
};

/// A framework whose code or options advice may contain.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Framework {
    PyTorch,
    TensorFlow,
    Jax,
    CuPy,
    Rmm,
    Vllm,
    LlamaCpp,
    /// None of these.
    Other,
}

/// Causes that follow from a setting that was seen: their advice is that setting's, whoever asked beside it.
const BY_SETTING: [&str; 2] = ["preallocated", "late-setting"];

/// Words by which a line of code or an option is a framework's.
const MARKS: &[(Framework, &[&str])] = &[
    (
        Framework::PyTorch,
        &[
            "torch",
            "PYTORCH_",
            "PyTorch",
            "DataLoader(",
            "gradient_checkpointing_enable",
            "from_pretrained",
            "attn_implementation",
            "bitsandbytes",
            "_record_memory_history",
            "expandable_segments",
        ],
    ),
    (Framework::TensorFlow, &["tf.", "TF_", "TensorFlow"]),
    (Framework::Jax, &["jax", "XLA_"]),
    (Framework::CuPy, &["cupy"]),
    (Framework::Rmm, &["rmm", "spark.rapids"]),
    (Framework::Vllm, &["--gpu-memory-utilization", "--max-model-len", "--max-num-seqs"]),
    (Framework::LlamaCpp, &["-ngl", "--n-gpu-layers"]),
];

impl Framework {
    /// The one that a program is, or is built on.
    fn of(software: Software) -> Option<Self> {
        Some(match software {
            Software::PyTorch | Software::Mps | Software::DirectMl | Software::ExLlama => {
                Self::PyTorch
            }
            Software::TensorFlow => Self::TensorFlow,
            Software::Xla => Self::Jax,
            Software::CuPy => Self::CuPy,
            Software::Rmm => Self::Rmm,
            Software::Vllm | Software::SgLang | Software::Tgi => Self::Vllm,
            Software::LlamaCpp => Self::LlamaCpp,
            // Libraries and what watches processes tell nothing of who uses them.
            anybodys if anybodys.is_generic() => return None,
            _ => Self::Other,
        })
    }

    /// The one that a piece of advice is for; nothing where it is for everybody.
    fn of_remedy(remedy: &Remedy) -> Option<Self> {
        let line = remedy.code().unwrap_or_default();
        let is_marked = |marks: &[&str]| {
            marks.iter().any(|mark| line.contains(mark) || remedy.what.contains(mark))
        };
        MARKS.iter().find(|(_, marks)| is_marked(marks)).map(|(framework, _)| *framework)
    }
}

/// The framework of a text, as far as it tells one.
fn framework(diagnosis: &Diagnosis<'_>) -> Option<Framework> {
    // Servers of models fail with PyTorch's message, and have options of their own.
    if library_frames::of_request(diagnosis)
        .is_some_and(|advice| advice.phase == Some(Phase::Server))
    {
        return Some(Framework::Vllm);
    }
    let said = diagnosis.software().and_then(Framework::of);
    said.or_else(|| diagnosis.software_around().and_then(Framework::of)).or_else(|| {
        let stack = diagnosis.incident?.stack;
        diagnosis.has_pytorch(stack).then_some(Framework::PyTorch)
    })
}

/// Takes off what is for another framework, and the code from what is for one that is not known to be at hand;
/// puts first what is known to help this very program.
pub(crate) fn keep_fitting(diagnosis: &Diagnosis<'_>, finding: &mut Finding) {
    if !diagnosis.is_message() {
        return;
    }
    if !BY_SETTING.contains(&finding.cause) {
        keep_of(framework(diagnosis), &mut finding.remedies);
    }
    let own = fixes::of(finding.cause, diagnosis.software());
    finding.remedies.splice(0..0, own);
    if finding.remedies.is_empty() {
        finding
            .remedies
            .push(Remedy::line("whyoom who", "shows which processes hold GPU memory now"));
    }
}

fn keep_of(at_hand: Option<Framework>, remedies: &mut Vec<Remedy>) {
    let fits = |remedy: &Remedy| match (Framework::of_remedy(remedy), at_hand) {
        (None, _) | (Some(_), None) => true,
        // A server of models is a program of PyTorch's; its own options come first all the same.
        (Some(Framework::PyTorch), Some(Framework::Vllm)) => remedy.setting.is_none(),
        (Some(one), Some(other)) => one == other,
    };
    remedies.retain(fits);
    if at_hand.is_none() {
        remedies.retain_mut(without_code);
    }
}

/// Leaves the words of a piece of advice whose code is a framework's. Whether any are left.
fn without_code(remedy: &mut Remedy) -> bool {
    if Framework::of_remedy(remedy).is_none() {
        return true;
    }
    remedy.paste = None;
    remedy.shell_line = None;
    remedy.example = None;
    remedy.setting = None;
    Framework::of_remedy(remedy).is_none()
}
