//! What people say in a text, where its figures do not decide: one table, a row for each thing said.

use whyoom_trace::facts::Said;

use crate::{
    diagnosis::Diagnosis,
    finding::{Basis, Evidence, Finding, Remedy, Strength},
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
        headline: "Memory grows until it runs out, according to the log",
        helps: "find what is kept from one round to the next: a list of outputs, a sum of losses, a \
                cache, objects that are created again and not freed",
    },
    Meaning {
        said: Said::TooLarge,
        cause: "working-set",
        headline: "The workload is too large for this GPU, according to the log",
        helps: "use a smaller batch size, input, model or context, or a larger GPU",
    },
    Meaning {
        said: Said::EachProcess,
        cause: "context-overhead",
        headline: "Many processes each take part of this GPU before they start work, according to \
                   the log",
        helps: "use fewer processes per GPU; start workers that need no GPU without one \
                (CUDA_VISIBLE_DEVICES= )",
    },
    Meaning {
        said: Said::StrayContexts,
        cause: "stray-context",
        headline: "A process allocates memory on GPUs that it does not use, according to the log",
        helps: "make only its own GPU visible to each process (CUDA_VISIBLE_DEVICES), or select the \
                device before the first CUDA call; load checkpoints onto the host",
    },
    Meaning {
        said: Said::Pinned,
        cause: "pinned-host",
        headline: "Host memory could not be pinned, according to the log: the GPU is not full",
        helps: "pin less: smaller or fewer buffers, pageable memory, or a higher limit on locked \
                memory",
    },
    Meaning {
        said: Said::OtherProcess,
        cause: "other-process",
        headline: "Another process holds memory of this GPU, according to the log",
        helps: "see which process holds it with `nvidia-smi` or `whyoom who`, and wait for it, stop \
                it, or use another GPU",
    },
    Meaning {
        said: Said::LeftBehind,
        cause: "orphan",
        headline: "A process that should have exited still holds memory of this GPU, according to \
                   the log",
        helps: "find it with `whyoom who` or `sudo fuser -v /dev/nvidia*`, and stop it with its \
                children",
    },
    Meaning {
        said: Said::Unseen,
        cause: "unseen-holder",
        headline: "A process that is not listed holds memory of this GPU, according to the log",
        helps: "look on the host, outside the container, as root: `sudo fuser -v /dev/nvidia*`",
    },
    Meaning {
        said: Said::SharedMemory,
        cause: "host-oom",
        headline: "The host's shared memory ran out, not GPU memory, according to the log",
        helps: "use a larger /dev/shm (docker run --shm-size=8g, or --ipc=host), or fewer workers",
    },
    Meaning {
        said: Said::InAdvance,
        cause: "preallocated",
        headline: "A fraction of this GPU is preallocated, according to the log",
        helps: "use a smaller fraction, set before the framework starts",
    },
    Meaning {
        said: Said::PoolKeeps,
        cause: "mempool-held",
        headline: "A pool keeps memory that was freed, according to the log",
        helps: "trim the pool, or let it keep less",
    },
    Meaning {
        said: Said::Cap,
        cause: "limit",
        headline: "A limit was reached, not the end of the memory, according to the log",
        helps: "raise that limit, or request less at once",
    },
    Meaning {
        said: Said::DeviceHeap,
        cause: "device-heap",
        headline: "The device heap for malloc() is full, according to the log: the GPU may not be",
        helps: "set a larger heap before the first kernel: \
                cudaDeviceSetLimit(cudaLimitMallocHeapSize, bytes)",
    },
    Meaning {
        said: Said::Unchecked,
        cause: "unchecked-error",
        headline: "An error was not checked and caused the later failure, according to the log",
        helps: "check what every CUDA or HIP call returns, and stop at the first that fails",
    },
    Meaning {
        said: Said::HostMemory,
        cause: "host-oom",
        headline: "Host memory ran out, not GPU memory, according to the log",
        helps: "use a higher limit for the job or container, fewer workers, or less data in host \
                memory at once",
    },
    Meaning {
        said: Said::InEvaluation,
        cause: "working-set",
        headline: "Evaluation needs more memory than training, according to the log: it keeps what \
                   backward would free",
        helps: "evaluate without gradients (in PyTorch under torch.no_grad()), in batches no larger than in training, \
                and move each batch's results to the host",
    },
    Meaning {
        said: Said::SetTooLate,
        cause: "late-setting",
        headline: "A setting was applied after the framework had started, according to the log: it \
                   has no effect",
        helps: "set it before the first import of the framework, or in the shell",
    },
    Meaning {
        said: Said::Waits,
        cause: "pending-free",
        headline: "Freed memory waits for its stream, according to the log: synchronizing the \
                   device makes it available",
        helps: "synchronize before the allocation that fails, or free on the stream that used the memory last",
    },
];

/// What a text means by what people say in it.
pub(crate) fn finding(diagnosis: &Diagnosis<'_>) -> Option<Finding> {
    let (said, words) = diagnosis.said_in_words()?;
    let meaning = MEANINGS.iter().find(|meaning| meaning.said == said)?;
    let mut finding = diagnosis.finding(
        meaning.cause,
        Strength::Likely,
        meaning.headline,
        "No numbers in the text confirm or contradict it.",
    );
    finding.evidence.push(Evidence::text("said", words, Basis::Message));
    finding.remedies = vec![
        Remedy::advice(meaning.helps),
        diagnosis.rerun("", "record every allocation: the numbers show what holds the memory"),
    ];
    Some(finding)
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
