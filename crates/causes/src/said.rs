//! What people say in a text, where its figures do not decide: one table, a row for each thing said.

use whyoom_trace::facts::Said;

use crate::{
    finding::{Basis, Evidence, Finding, Remedy, Strength},
    scene::Scene,
};

/// What something said means.
struct Meaning {
    said: Said,
    cause: &'static str,
    headline: &'static str,
    /// What helps, whatever the program is.
    helps: &'static str,
}

const MEANINGS: &[Meaning] = &[
    Meaning {
        said: Said::Grows,
        cause: "growth",
        headline: "Memory grows until it runs out, as the text says",
        helps: "find what is kept from one round to the next: a list of outputs, a sum of losses, a cache, objects \
                that are made anew and not freed",
    },
    Meaning {
        said: Said::TooLarge,
        cause: "working-set",
        headline: "The work itself is too large for this GPU, as the text says",
        helps: "a smaller batch size, input, model or context, or a larger GPU",
    },
    Meaning {
        said: Said::EachProcess,
        cause: "context-overhead",
        headline: "Each of many processes takes its share of this GPU before it works, as the text says",
        helps: "fewer processes per GPU; start workers that need no GPU without one (CUDA_VISIBLE_DEVICES= )",
    },
    Meaning {
        said: Said::StrayContexts,
        cause: "stray-context",
        headline: "A process takes memory on GPUs that it does not work on, as the text says",
        helps: "let each process see its own GPU alone (CUDA_VISIBLE_DEVICES), or choose the device before the first \
                CUDA call; load checkpoints onto the host",
    },
    Meaning {
        said: Said::Pinned,
        cause: "pinned-host",
        headline: "Host memory could not be pinned, as the text says: the GPU is not full",
        helps: "pin less: smaller or fewer buffers, pageable memory, or a higher limit of locked memory",
    },
    Meaning {
        said: Said::OtherProcess,
        cause: "other-process",
        headline: "Another process holds memory of this GPU, as the text says",
        helps: "see who holds it with `nvidia-smi` or `whyoom who`, and wait for it, end it, or use another GPU",
    },
    Meaning {
        said: Said::LeftBehind,
        cause: "orphan",
        headline: "A process that was ended still holds memory of this GPU, as the text says",
        helps: "find it with `whyoom who` or `sudo fuser -v /dev/nvidia*`, and end it with its children",
    },
    Meaning {
        said: Said::Unseen,
        cause: "unseen-holder",
        headline: "Memory of this GPU is in use by a process that is not listed, as the text says",
        helps: "look on the host, outside the container, as root: `sudo fuser -v /dev/nvidia*`",
    },
    Meaning {
        said: Said::SharedMemory,
        cause: "host-oom",
        headline: "Shared memory of the host ran out, not GPU memory, as the text says",
        helps: "a larger /dev/shm (docker run --shm-size=8g, or --ipc=host), or fewer workers",
    },
    Meaning {
        said: Said::InAdvance,
        cause: "preallocated",
        headline: "A share of this GPU is taken in advance, as the text says",
        helps: "a smaller share, set before the framework starts",
    },
    Meaning {
        said: Said::PoolKeeps,
        cause: "mempool-held",
        headline: "A pool keeps memory that was freed, as the text says",
        helps: "trim the pool, or let it keep less",
    },
    Meaning {
        said: Said::Cap,
        cause: "limit",
        headline: "A limit was reached, not the end of the memory, as the text says",
        helps: "raise that limit, or ask for less or for fewer at once",
    },
    Meaning {
        said: Said::DeviceHeap,
        cause: "device-heap",
        headline: "The heap of malloc() on the device is full, as the text says: the GPU need not be",
        helps: "a larger heap before the first kernel: cudaDeviceSetLimit(cudaLimitMallocHeapSize, bytes)",
    },
    Meaning {
        said: Said::Unchecked,
        cause: "unchecked-error",
        headline: "An error was not looked at, and what failed later follows from it, as the text says",
        helps: "check what every CUDA or HIP call returns, and stop at the first that fails",
    },
    Meaning {
        said: Said::HostMemory,
        cause: "host-oom",
        headline: "Memory of the host ran out, not of the GPU, as the text says",
        helps: "a higher limit of the job or container, fewer workers, or less data in host memory at once",
    },
    Meaning {
        said: Said::InEvaluation,
        cause: "working-set",
        headline: "Evaluation needs more than training does, as the text says: it keeps what backward would free",
        helps: "evaluate without gradients (in PyTorch under torch.no_grad()), in batches no larger than in training, \
                and move each batch's results to the host",
    },
    Meaning {
        said: Said::SetTooLate,
        cause: "late-setting",
        headline: "A setting came after the framework had started, as the text says: it has no effect",
        helps: "set it before the first import of the framework, or in the shell",
    },
    Meaning {
        said: Said::Waits,
        cause: "pending-free",
        headline: "What was freed waits for its stream, as the text says: a wait for the device gives it back",
        helps: "synchronize before the allocation that fails, or free on the stream that used the memory last",
    },
];

/// What a text means by what people say in it.
pub(crate) fn finding(scene: &Scene<'_>) -> Option<Finding> {
    let (said, words) = scene.said_in_words()?;
    let meaning = MEANINGS.iter().find(|meaning| meaning.said == said)?;
    let mut finding = scene.finding(
        meaning.cause,
        Strength::Likely,
        meaning.headline,
        "No figure in the text shows it, nor speaks against it.",
    );
    finding.evidence.push(Evidence::text("said", words, Basis::Message));
    finding.remedies = vec![
        Remedy::advice(meaning.helps),
        Remedy::line(
            format!("whyoom run{}", some(scene.program())),
            "records every allocation, and says by its figures what holds the memory",
        ),
    ];
    Some(finding)
}

/// The program, or a word for it.
fn some(program: String) -> String {
    if program.is_empty() { " -- COMMAND".to_owned() } else { program }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whatever_is_said_means_something() {
        for said in Said::ALL {
            let meant = MEANINGS.iter().find(|meaning| meaning.said == said);
            let cause = meant.map(|meaning| meaning.cause);
            assert!(cause.is_some_and(|cause| crate::find(cause).is_some()), "{said:?}: {cause:?}");
        }
    }
}
