//! The counters that people meet, in plain words.

/// A word and what it means.
pub struct Term {
    /// The word, as tools print it.
    pub word: &'static str,
    /// What else it is called: keys, functions, words of messages.
    pub aliases: &'static [&'static str],
    /// What it means.
    pub meaning: &'static str,
}

/// The counters that people meet, from the tensor outwards.
pub const GLOSSARY: &[Term] = &[
    Term {
        word: "requested",
        aliases: &["requested_bytes", "requested bytes"],
        meaning: "the exact number of bytes the program requested",
    },
    Term {
        word: "allocated",
        aliases: &[
            "memory_allocated",
            "allocated_bytes",
            "max_memory_allocated",
            "allocated by PyTorch",
            "already allocated",
        ],
        meaning: "blocks in use by tensors: requested, rounded up (memory_allocated, \"allocated by \
                  PyTorch\")",
    },
    Term {
        word: "active",
        aliases: &["active_bytes"],
        meaning: "allocated, plus blocks freed by the program that another stream may still use",
    },
    Term {
        word: "inactive",
        aliases: &["inactive_split", "inactive_split_bytes"],
        meaning: "free blocks inside segments that also contain allocated blocks",
    },
    Term {
        word: "reserved",
        aliases: &[
            "memory_reserved",
            "reserved_bytes",
            "max_memory_reserved",
            "memory_cached",
            "cached",
            "reserved in total by PyTorch",
        ],
        meaning: "all segments PyTorch holds: active, inactive and completely free \
                  (memory_reserved; \"cached\" until 1.3)",
    },
    Term {
        word: "reserved but unallocated",
        aliases: &["reserved by PyTorch but unallocated", "unallocated"],
        meaning: "reserved − allocated. After an out-of-memory error it is in segments that live \
                  blocks pin",
    },
    Term {
        word: "allocated in private pools",
        aliases: &["private pools", "private pool"],
        meaning: "in PyTorch's message: despite the wording, the bytes that are *free* in the pools \
                  of CUDA graphs",
    },
    Term {
        word: "allowed",
        aliases: &["per_process_memory_fraction", "set_per_process_memory_fraction"],
        meaning: "a limit set by set_per_process_memory_fraction",
    },
    Term {
        word: "Tried to allocate",
        aliases: &["request"],
        meaning: "the segment requested from the driver: up to 20 MiB for a tensor of 1 MiB, so not \
                  the tensor's size",
    },
    Term {
        word: "free (of the device)",
        aliases: &["free", "mem_get_info", "cudaMemGetInfo", "is free", "memory.free"],
        meaning: "what the driver can still allocate, to any process: cudaMemGetInfo, nvidia-smi",
    },
    Term {
        word: "this process … in use",
        aliases: &["memory in use", "process", "in use", "memory.used"],
        meaning: "reserved, plus the context and what libraries allocated directly",
    },
    Term {
        word: "context",
        aliases: &["cuda context"],
        meaning: "what CUDA itself takes in each process on each GPU: a few hundred MiB",
    },
    Term {
        word: "segment",
        aliases: &["segments", "segment.all"],
        meaning: "a chunk of memory taken from the driver; blocks are split from it",
    },
    Term {
        word: "non-releasable",
        aliases: &["non_releasable", "non-releasable memory"],
        meaning: "free blocks in segments that cannot be released: inactive, split",
    },
    Term {
        word: "utilization",
        aliases: &["fragmentation"],
        meaning: "peak allocated ÷ peak reserved; 1 − utilization is fragmentation",
    },
];

/// The counters of a name, by whichever of its names; else those whose names contain it.
#[must_use]
pub fn find_terms(name: &str) -> Vec<&'static Term> {
    let wanted = letters(name);
    let names = |term: &Term| {
        let names = std::iter::once(term.word).chain(term.aliases.iter().copied());
        names.map(letters).collect::<Vec<_>>()
    };
    let exactly: Vec<_> = GLOSSARY.iter().filter(|term| names(term).contains(&wanted)).collect();
    if !exactly.is_empty() || wanted.len() < SHORTEST {
        return exactly;
    }
    let contains = |term: &&Term| names(term).iter().any(|name| name.contains(&wanted));
    GLOSSARY.iter().filter(contains).collect()
}

/// A shorter part of a name is a part of too many.
const SHORTEST: usize = 4;

/// What remains of a name when the ways of writing it no longer matter: `torch.cuda.memory_reserved()` and
/// `reserved_bytes.all.peak` are the reserved bytes.
fn letters(name: &str) -> String {
    let name = name.rsplit("cuda.").next().unwrap_or(name);
    let name = name.split(['(']).next().filter(|_| name.ends_with("()")).unwrap_or(name);
    let name = name.split(".all").next().unwrap_or(name);
    name.chars().filter(|c| c.is_alphanumeric()).flat_map(char::to_lowercase).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counters_are_found_by_any_of_their_names() {
        let found = |name| find_terms(name).iter().map(|term| term.word).collect::<Vec<_>>();
        for name in [
            "reserved",
            "Reserved",
            "torch.cuda.memory_reserved()",
            "reserved_bytes.all.peak",
            "cached",
        ] {
            assert_eq!(found(name), ["reserved"], "{name}");
        }
        assert_eq!(found("inactive_split_bytes.all.current"), ["inactive"]);
        assert_eq!(found("unallocated"), ["reserved but unallocated"]);
        assert_eq!(found("Tried to allocate"), ["Tried to allocate"]);
        assert!(found("nonsense").is_empty() && found("e").is_empty());
    }
}
