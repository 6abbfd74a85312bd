//! The counters that people meet, in plain words.

/// A word and what it means.
pub struct Term {
    /// The word, as tools print it.
    pub word: &'static str,
    /// What it means.
    pub meaning: &'static str,
}

/// The counters that people meet, from the tensor outwards.
pub const GLOSSARY: &[Term] = &[
    Term { word: "requested", meaning: "what the program asked for, to the byte" },
    Term {
        word: "allocated",
        meaning: "blocks given to tensors: requested, rounded up (memory_allocated, \"allocated by PyTorch\")",
    },
    Term {
        word: "active",
        meaning: "allocated, and blocks freed by the program that another stream may still use",
    },
    Term { word: "inactive", meaning: "free blocks inside segments that hold something else" },
    Term {
        word: "reserved",
        meaning: "all segments PyTorch holds: active, inactive and wholly free (memory_reserved; \"cached\" until 1.3)",
    },
    Term {
        word: "reserved but unallocated",
        meaning: "reserved − allocated. After an out-of-memory it lies in segments that live blocks pin",
    },
    Term {
        word: "allocated in private pools",
        meaning: "in PyTorch's message: bytes that CUDA graphs' pools have *free*, in spite of the words",
    },
    Term { word: "allowed", meaning: "a cap set by set_per_process_memory_fraction" },
    Term {
        word: "Tried to allocate",
        meaning: "the segment that was asked of the driver: up to 20 MiB for a tensor of 1 MiB, and so not the tensor's size",
    },
    Term {
        word: "free (of the device)",
        meaning: "what the driver could still give to anybody: cudaMemGetInfo, nvidia-smi",
    },
    Term {
        word: "this process … in use",
        meaning: "reserved, plus the context and what libraries took by themselves",
    },
    Term {
        word: "context",
        meaning: "what CUDA itself takes in each process on each GPU: some hundred MiB",
    },
    Term { word: "segment", meaning: "one piece taken from the driver; blocks are cut from it" },
    Term {
        word: "non-releasable",
        meaning: "free blocks in segments that cannot be returned: inactive, split",
    },
    Term {
        word: "utilization",
        meaning: "peak allocated ÷ peak reserved; what is missing to 1 is fragmentation",
    },
];
