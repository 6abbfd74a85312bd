//! What helps in the phase of a program that the failed request came from: one table, a row a phase. To add one: a
//! row here.

use whyoom_trace::StackId;

use crate::{diagnosis::Diagnosis, finding::Remedy};

/// A phase that needs other memory than a training step does.
struct Phase {
    /// Functions that lead there.
    functions: &'static [&'static str],
    /// Lines to paste, and what each does; no line where there is none that needs no filling in.
    fixes: &'static [(&'static str, &'static str)],
}

const PHASES: &[Phase] = &[
    // Saving: a smaller batch changes nothing, for training fits.
    Phase {
        functions: &[
            "state_dict",
            "save_checkpoint",
            "save_pretrained",
            "save_model",
            "_save_checkpoint",
        ],
        fixes: &[(
            "",
            "save from the host: copy each tensor of the state to the CPU before the next is \
             gathered; with FSDP, FullStateDictConfig(offload_to_cpu=True, rank0_only=True) does \
             this; or save a sharded state",
        )],
    },
];

/// What helps where the failed request came from such a phase.
pub(crate) fn fixes(diagnosis: &Diagnosis<'_>) -> Option<Vec<Remedy>> {
    let stack = diagnosis.incident.map_or(StackId(0), |incident| incident.stack);
    // Whole names: `load_state_dict` is no `state_dict`.
    let named = |function: &str, name: &str| function.rsplit('.').next() == Some(name);
    let is_in = |phase: &&Phase| {
        let mut frames = diagnosis.tables.frames(stack);
        frames.any(|frame| phase.functions.iter().any(|name| named(frame.function, name)))
    };
    let phase = PHASES.iter().find(is_in)?;
    let remedy = |(code, what): &(&str, &str)| match *code {
        "" => Remedy::advice(*what),
        code => Remedy::example(code, *what),
    };
    Some(phase.fixes.iter().map(remedy).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_phase_has_functions_and_fixes() {
        for phase in PHASES {
            assert!(!phase.functions.is_empty() && !phase.fixes.is_empty());
            assert!(phase.fixes.iter().all(|(_, what)| !what.ends_with('.')));
        }
    }
}
